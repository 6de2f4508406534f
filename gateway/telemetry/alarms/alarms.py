"""The alarms of one gateway: their watch, the webhook if any, and the lines of the page."""

from dataclasses import dataclass

from gateway.telemetry.alarms.catalogue import MEANING, Alarm
from gateway.telemetry.alarms.watch import Watch
from gateway.telemetry.alarms.webhook import Webhook


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmLine:
    """One alarm of the closed list; `detail` is empty while it is not raised."""

    alarm: Alarm
    meaning: str
    held_for_s: float
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarms:
    """The running watch; without a webhook nothing leaves the process."""

    watch: Watch
    webhook: Webhook | None

    def start(self) -> None:
        """Start watching, and delivering."""
        if self.webhook is not None:
            self.webhook.start()
        self.watch.start()

    def stop(self) -> None:
        """Stop both; what is not delivered is recorded as lost."""
        self.watch.stop()
        if self.webhook is not None:
            self.webhook.stop()

    def lines(self) -> tuple[AlarmLine, ...]:
        """Return every alarm, those that are raised first."""
        raised = self.watch.standing()
        lines = (
            AlarmLine(alarm=one, meaning=said, held_for_s=held_s, detail=raised.get(one, ""))
            for one, (said, held_s) in MEANING.items()
        )
        return tuple(sorted(lines, key=lambda line: not line.detail))
