"""The alarms of one gateway: their watch, and the webhook if there is one."""

from dataclasses import dataclass

from gateway.telemetry.alarms.watch import Watch
from gateway.telemetry.alarms.webhook import Webhook


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
