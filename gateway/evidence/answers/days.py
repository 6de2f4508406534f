"""The flow of a range of UTC days, kept up as the log grows.

The first question reads the records from the beginning of its first day; each later one only what
was committed since. A question about an earlier day reads again from there.
"""

import threading
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from audit.records.record import Record
from audit.store.reader import LedgerReader
from gateway.clock import date_of, range_us
from gateway.evidence.answers.flow import (
    FLOW_KINDS,
    LEGS,
    FlowCounts,
    FlowFold,
    RefusalGroup,
    rank,
)
from risk.rules.catalogue import IN_VERDICTS

TITLES: Final = {rule.rule_id.value: rule.title for rule in IN_VERDICTS}
PERCENTS: Final = (50, 90, 99)
CLOSED: Final = ("access", "forecast", "rules")
"""Who has a closed list of reasons; other reasons may be text, and are no labels of a metric."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusalLine:
    """How often one group refused, and the newest record that did."""

    group: RefusalGroup
    title: str
    count: int
    newest_seq: int

    def document(self) -> dict[str, Any]:
        """Return it for the API and the command line."""
        return {
            "by": self.group.by,
            "action": self.group.action,
            "rule": self.group.rule,
            "title": self.title,
            "reason": self.group.reason,
            "count": self.count,
            "newest_seq": self.newest_seq,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class LegLine:
    """How long one part of the way took, in microseconds; nearest rank, None without a case."""

    leg: str
    said: str
    count: int
    p50_us: int | None
    p90_us: int | None
    p99_us: int | None

    def document(self) -> dict[str, Any]:
        """Return it for the API and the command line."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowReport:
    """The flow of the days from `first` to `last`, from the records below `size`."""

    first: str
    last: str
    size: int
    verdicts: tuple[tuple[str, int], ...]
    refusals: tuple[RefusalLine, ...]
    legs: tuple[LegLine, ...]

    def document(self) -> dict[str, Any]:
        """Return it for the API and the command line."""
        return {
            "from": self.first,
            "to": self.last,
            "size": self.size,
            "verdicts": dict(self.verdicts),
            "refusals": [line.document() for line in self.refusals],
            "times": [line.document() for line in self.legs],
        }


@dataclass(slots=True)
class _Day:
    verdicts: Counter[str] = field(default_factory=Counter)
    refusals: Counter[RefusalGroup] = field(default_factory=Counter)
    newest: dict[RefusalGroup, int] = field(default_factory=dict)
    times: dict[str, "array[int]"] = field(default_factory=dict)


@dataclass(slots=True)
class DayTally:
    """The fold's findings, by UTC day."""

    days: dict[str, _Day] = field(default_factory=dict)

    def judged(self, record: Record, result: str) -> None:
        """Count a verdict on its day."""
        self._day(record.recorded_at_us).verdicts[result] += 1

    def refused(self, record: Record, group: RefusalGroup, count: int) -> None:
        """Count a refusal on its day."""
        day = self._day(record.recorded_at_us)
        day.refusals[group] += count
        day.newest[group] = record.seq

    def took(self, opened_us: int, leg: str, us: int) -> None:
        """Keep a time on the day on which the decision began."""
        self._day(opened_us).times.setdefault(leg, array("q")).append(us)

    def report(self, first: str, last: str, size: int) -> FlowReport:
        """Return the days' flow."""
        chosen = [day for date, day in self.days.items() if first <= date <= last]
        verdicts: Counter[str] = Counter()
        refusals: Counter[RefusalGroup] = Counter()
        newest: dict[RefusalGroup, int] = {}
        for day in chosen:
            verdicts.update(day.verdicts)
            refusals.update(day.refusals)
            for group, seq in day.newest.items():
                newest[group] = max(seq, newest.get(group, seq))
        return FlowReport(
            first=first,
            last=last,
            size=size,
            verdicts=tuple(sorted(verdicts.items())),
            refusals=tuple(
                RefusalLine(
                    group=group, title=TITLES.get(group.rule, ""), count=n, newest_seq=newest[group]
                )
                for group, n in sorted(refusals.items(), key=lambda one: (-one[1], str(one[0])))
            ),
            legs=tuple(_leg_line(leg, said, chosen) for leg, said in LEGS.items()),
        )

    def _day(self, time_us: int) -> _Day:
        return self.days.setdefault(date_of(time_us), _Day())


def _leg_line(leg: str, said: str, days: Iterable[_Day]) -> LegLine:
    taken = sorted(us for day in days for us in day.times.get(leg, ()))
    p50, p90, p99 = (rank(taken, p) for p in PERCENTS) if taken else (None, None, None)
    return LegLine(leg=leg, said=said, count=len(taken), p50_us=p50, p90_us=p90, p99_us=p99)


class FlowDays:
    """The flow of any range of days. Thread-safe."""

    def __init__(self, reader: Callable[[], LedgerReader]) -> None:
        """Read nothing before the first question."""
        self._reader = reader
        self._lock = threading.Lock()
        self._since = ""
        self._seq = -1
        self._tally = DayTally()
        self._fold = FlowFold(self._tally)

    def between(self, first: str, last: str) -> FlowReport:
        """Return the flow of the UTC days from `first` to `last`.

        Raises:
            RequestError: a day is not a date, or they are in the wrong order.
            LedgerError: the database does not answer.
        """
        begins, _ = range_us(first, last)
        reader = self._reader()
        with self._lock:
            if not self._since or first < self._since:
                self._since = first
                self._seq = first_seq(reader, begins) - 1
                self._tally = DayTally()
                self._fold = FlowFold(self._tally)
            size = reader.log_size()
            found = reader.records(kinds=FLOW_KINDS, after_seq=self._seq, before_seq=size)
            for record in found:
                self._fold.take(record)
                self._seq = record.seq
            self._seq = max(self._seq, size - 1)
            return self._tally.report(first, last, size)


class LiveFlow:
    """The flow since the start of this process, from the ledger's notifier. Thread-safe."""

    def __init__(self) -> None:
        """Start with nothing counted."""
        self._lock = threading.Lock()
        self._counts = FlowCounts()
        self._fold = FlowFold(self._counts)

    def follow(self, batch: Sequence[Record]) -> None:
        """Count a committed batch."""
        with self._lock:
            for record in batch:
                self._fold.take(record)

    def refusals(self) -> Mapping[tuple[str, str, str, str], int]:
        """Return the counts by who, action, rule and reason; reasons of closed lists only."""
        with self._lock:
            found: Counter[tuple[str, str, str, str]] = Counter()
            for group, count in self._counts.refusals.items():
                reason = group.reason if group.by in CLOSED else ""
                found[group.by, group.action, group.rule, reason] += count
        return found

    def times(self) -> Iterator[tuple[str, int, int]]:
        """Yield each part of the way that was timed: its name, how often, the sum in us."""
        with self._lock:
            found = [(leg, n, self._counts.sums_us[leg]) for leg, n in self._counts.times.items()]
        yield from found


def first_seq(reader: LedgerReader, time_us: int) -> int:
    """Return the number of the first record from a time on; the log's size if there is none.

    Recorded times never go back, so it halves the log: about 30 reads of one record.
    """
    low, high = 0, reader.log_size()
    while low < high:
        middle = (low + high) // 2
        record = next(reader.records(after_seq=middle - 1, before_seq=high, limit=1), None)
        if record is None:  # only disavowed rows are left there
            high = middle
        elif record.recorded_at_us < time_us:
            low = record.seq + 1
        else:
            high = middle
    return low
