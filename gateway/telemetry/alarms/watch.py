"""The thread that raises and clears alarms; it reads states and waits for nobody.

Rules:
- An alarm is raised when its condition has held for its time, and cleared when the condition has
  been away for `AWAY_S`, so a flapping part sends few messages.
- A start raises again what still stands: after a crash nothing is forgotten, only repeated.
- A condition that cannot be read is itself an alarm (`part_down`).
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from gateway.telemetry.alarms.catalogue import MEANING, Alarm, Notice

_log = logging.getLogger(__name__)
EVERY_S: Final = 0.5
AWAY_S: Final = 30.0
MINUTE_US: Final = 60_000_000
_US: Final = 1_000_000

Conditions = Callable[[], Mapping[Alarm, str]]


@dataclass(slots=True)
class _Standing:
    """A condition: since when it holds, when it was last seen (monotonic), and if it was told."""

    since_us: int
    seen_us: int
    detail: str
    told: bool = False


class Watch:
    """Watches conditions; `round` may be called without the thread."""

    def __init__(
        self,
        conditions: Sequence[Conditions],
        tell: Callable[[Notice], None],
        wall_us: Callable[[], int],
        monotonic_us: Callable[[], int],
    ) -> None:
        """Tell each notice to `tell`, which must not wait."""
        self._conditions = tuple(conditions)
        self._tell = tell
        self._wall_us = wall_us
        self._monotonic_us = monotonic_us
        self._standing: dict[Alarm, _Standing] = {}
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="alarms", daemon=True)

    def standing(self) -> dict[Alarm, str]:
        """Return the raised alarms with their details."""
        return {name: one.detail for name, one in dict(self._standing).items() if one.told}

    def start(self) -> None:
        """Start watching."""
        self._thread.start()

    def stop(self) -> None:
        """Stop watching."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()

    def round(self) -> None:
        """Read every condition once; raise and clear."""
        now_us, holds = self._monotonic_us(), self._read()
        for name, detail in holds.items():
            one = self._standing.setdefault(name, _Standing(now_us, now_us, detail))
            one.seen_us, one.detail = now_us, detail
            if not one.told and now_us - one.since_us >= MEANING[name][1] * _US:
                one.told = True
                self._say(name, "raised", detail)
        for name, one in tuple(self._standing.items()):
            if name in holds:
                continue
            if not one.told:
                del self._standing[name]
            elif now_us - one.seen_us >= AWAY_S * _US:
                del self._standing[name]
                self._say(name, "cleared", one.detail)

    def _read(self) -> dict[Alarm, str]:
        holds: dict[Alarm, str] = {}
        for condition in self._conditions:
            try:
                holds |= condition()
            except Exception as error:  # noqa: BLE001 - an alarm that cannot be read is one
                holds[Alarm.PART_DOWN] = f"a condition cannot be read: {type(error).__name__}"
        return holds

    def _say(self, name: Alarm, event: str, detail: str) -> None:
        _log.error("alarm %s %s: %s", name.value, event, detail)
        self._tell(Notice(alarm=name, event=event, detail=detail, at_us=self._wall_us()))

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self.round()
            except Exception:  # noqa: BLE001 - the loop's top: the next round must come
                _log.exception("alarms cannot be watched")
            self._stopping.wait(EVERY_S)


class Lately:
    """Says for a while what happened once, such as a trade that the broker took back."""

    def __init__(self, alarm: Alarm, for_us: int, wall_us: Callable[[], int]) -> None:
        """Raise the alarm for so long after each time."""
        self._alarm, self._for_us, self._wall_us = alarm, for_us, wall_us
        self._seen: deque[tuple[int, str]] = deque(maxlen=20)

    def happened(self, at_us: int, detail: str) -> None:
        """Note what happened, and when (wall clock)."""
        self._seen.append((at_us, detail))

    def conditions(self) -> dict[Alarm, str]:
        """Return the alarm if something happened lately."""
        since_us = self._wall_us() - self._for_us
        said = [detail for at_us, detail in tuple(self._seen) if at_us >= since_us]
        return {self._alarm: "; ".join(said)[:500]} if said else {}


class Burst:
    """Counts what happens in the last minute, such as the broker's refusals."""

    def __init__(self, count_max: int, monotonic_us: Callable[[], int]) -> None:
        """Raise the alarm above `count_max` in a minute."""
        self._times: deque[int] = deque(maxlen=count_max + 1)
        self._monotonic_us = monotonic_us

    def happened(self) -> None:
        """Count one."""
        self._times.append(self._monotonic_us())

    def conditions(self) -> dict[Alarm, str]:
        """Return the alarm if the last minute has too many."""
        times, most = tuple(self._times), self._times.maxlen
        recent = [one for one in times if self._monotonic_us() - one < MINUTE_US]
        if most is None or len(recent) < most:
            return {}
        return {Alarm.REJECT_BURST: f"{len(recent)} orders or more within a minute"}
