"""The thread that looks for patterns of conduct in what the ledger tells, and opens cases.

Rules:
- It reads committed records only and stops nothing: the rules of the gate refuse.
- It folds the orders on record from the ledger's first, so a start finds every case again; what is
  on record already is not written a second time.
- Coordination is looked for in the last hour; a pair of agents makes one case a day of the market.

Not here: the patterns and their thresholds (`risk.windows.conduct`), cases (`gateway.desk`).
"""

from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway.desk.officers.stops import begin_stop
from gateway.desk.parts import DeskParts
from gateway.evidence.answers.patterns import FLOW_KINDS, PatternFlow
from gateway.launch.threads.breaker import BreakerWatch
from gateway.launch.threads.housekeeping import Housekeeping
from gateway.walk.journal.control.oversight.cases import (
    OPENED,
    PREFIX,
    CaseOpened,
    case_id_of,
)
from gateway.walk.journal.decision import GATEWAY
from gateway.walk.journal.verdict import VerdictGiven
from gateway.walk.ports import LedgerPort
from risk.state.state import Stop
from risk.windows.conduct.coordination import coordinated
from risk.windows.conduct.events import SECOND_US, ConductAlarm, ConductEvent
from risk.windows.conduct.front_running import FrontRunning
from risk.windows.conduct.ignition import Ignition
from risk.windows.conduct.layering import Layering
from risk.windows.conduct.spoofing import Spoofing
from risk.windows.conduct.stop_run import StopRun
from risk.windows.conduct.stuffing import Stuffing
from risk.windows.conduct.wash import Wash

HOUR_US: Final = 3_600 * SECOND_US
DAY_US: Final = 24 * HOUR_US
PAIR: Final = 2
Found = tuple[ConductAlarm, tuple[int, ...]]
"""An alarm, and the numbers that name its case beside indicator and instrument."""


class Pattern(Protocol):
    """A detector."""

    def take(self, event: ConductEvent) -> ConductAlarm | None:
        """Read an event; return an alarm if it completes the pattern."""


def start_conduct(stack: ExitStack, own: DeskParts, score: Callable[[], None]) -> Housekeeping:
    """Start looking, every half second, until the gateway stops; `state` says what fails.

    Forecasts are scored on the same thread, by `score`, and reasoning is watched: apart from the
    chores that end holds.
    """

    def press(stop: Stop, says: str) -> None:
        if stop not in own.section.stops.in_force():
            begin_stop(own, GATEWAY, stop, says)

    chores = {
        "watching for anomalous reasoning": BreakerWatch(own.reader, press).look,
        "looking for patterns of conduct": ConductWatch(own.reader, own.tools.ledger).look,
        "scoring forecasts": score,
    }
    thread = Housekeeping(chores, name="conduct")
    stack.enter_context(thread.in_background())
    return thread


def patterns() -> tuple[Pattern, ...]:
    """Return the detectors that records alone can feed, with nothing read."""
    return (
        Spoofing(),
        Layering(),
        Wash(),
        Stuffing(),
        Ignition(),
        FrontRunning(),
        StopRun(),
    )


@dataclass(slots=True)
class ConductWatch:
    """Reads on from where it stood; one thread calls `look`."""

    reader: LedgerReader
    ledger: LedgerPort
    _flow: PatternFlow = field(default_factory=PatternFlow)
    _patterns: tuple[Pattern, ...] = field(default_factory=patterns)
    _hours: dict[str, deque[ConductEvent]] = field(default_factory=dict)
    _seq: int = -1
    _unwritten: list[Found] = field(default_factory=list)
    _opened: set[str] = field(default_factory=set)

    def look(self) -> None:
        """Read what is new and open the cases that follow.

        Raises:
            AuditError: the ledger does not answer; the next call goes on from there.
        """
        size = self.reader.log_size()
        for record in self.reader.records(kinds=FLOW_KINDS, after_seq=self._seq, before_seq=size):
            for event in self._flow.take(record):
                self._take(event)
            self._seq = record.seq
        if self._seq < size - 1:
            self._seq = size - 1
            for hour in self._hours.values():
                self._unwritten += self._together(hour)
        while self._unwritten:
            self._open(*self._unwritten[0])
            # a crash here leaves a case on record: the next start finds the same one
            del self._unwritten[0]

    def _take(self, event: ConductEvent) -> None:
        found = (pattern.take(event) for pattern in self._patterns)
        self._unwritten += [(alarm, alarm.evidence) for alarm in found if alarm is not None]
        hour = self._hours.setdefault(event.owner, deque())
        hour.append(event)
        while hour[0].time_us < event.time_us - HOUR_US:
            hour.popleft()

    def _together(self, hour: deque[ConductEvent]) -> list[Found]:
        """Return the pairs of agents; what names a case of theirs is the day."""
        if len({one.agent for one in hour}) < PAIR:
            return []
        day = hour[-1].time_us // DAY_US
        return [(replace(one, time_us=hour[-1].time_us), (day,)) for one in coordinated(hour)]

    def _open(self, alarm: ConductAlarm, named: tuple[int, ...]) -> None:
        case_id = case_id_of(alarm.indicator, alarm.who, alarm.instrument, named)
        if case_id in self._opened or self.reader.by_key(PREFIX + case_id, OPENED) is not None:
            self._opened.add(case_id)
            return
        orders = {
            record.stream
            for seq in alarm.evidence
            if (record := self.reader.record(seq)) is not None
        }
        given = [
            VerdictGiven.of(record)
            for stream in sorted(orders)
            for record in self.reader.records(stream=stream, kinds=(Kind.VERDICT_GIVEN,))
        ]
        self.ledger.append(
            CaseOpened(
                case_id=case_id,
                indicator=alarm.indicator.value,
                who=alarm.who,
                instrument=alarm.instrument,
                at_us=alarm.time_us,
                evidence=alarm.evidence,
                agents=tuple(sorted({one.intent.author for one in given})),
                accounts=tuple(sorted({one.account for one in given})),
            ).draft()
        )
