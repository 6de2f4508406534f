"""Open differences between the book and the broker, folded from records, and what they block.

Only a person ends a difference. While one is open its instrument is not ready: new intents are
refused (R00, `BOOK_DIFFERS`) and unsent approvals withdrawn; cancels and reports flow on. Not here:
how a difference is found (`quarantine`, `book_check`) or resolved (`desk.resolution`).

Rules:
- The ledger alone says what is open; a restart forgets nothing.
- A difference with new numbers replaces the earlier one of its subject.
- A resolved difference is not recorded again while the two totals stay as far apart as then, or, of
  another cause, while the broker's total is the same and no further ExecID is named, in whatever
  words the broker tells it.
- Units beyond whole lots are a difference by themselves, whatever the lots say.
- An adjustment belongs to its order: compared are the booked fills plus the adjustments.
- While an order differs, every change of either side is recorded, also that they agree again.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from audit.records.kinds import Kind
from audit.records.record import Record
from gateway.walk.journal.control.adjustment import BookAdjusted
from gateway.walk.journal.control.difference import (
    BREACHES,
    BookDifference,
    DifferenceCause,
    DifferenceResolved,
    Found,
)
from gateway.walk.journal.words import EVERY
from gateway.walk.ports import RecordsPort

DIFFERENCE_KINDS: Final = (
    Kind.BOOK_DIFFERENCE,
    Kind.DIFFERENCE_RESOLVED,
    Kind.BOOK_ADJUSTED,
)


_COUNTED: Final = frozenset({DifferenceCause.CUM_QTY, DifferenceCause.ACCOUNT_LOTS})
"""Causes that are two numbers; they may be equal, or differ by what a person accepted."""
_UNTAKEN: Final = frozenset(
    {DifferenceCause.UNKNOWN_ORDER, DifferenceCause.UNBOOKABLE, DifferenceCause.UNREADABLE}
)
"""Causes for which a report of an order was not taken; which one depends on its words alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """An open difference, with its record."""

    seq: int
    leaf: bytes
    recorded_at_us: int
    found: Found

    def document(self) -> dict[str, Any]:
        """Return it for the API and the command line."""
        found = self.found
        return {
            "seq": self.seq,
            "leaf": self.leaf.hex(),
            "recorded_at_us": self.recorded_at_us,
            "reason": found.cause.value,
            "account": found.account,
            "instrument": found.instrument,
            "cl_ord_id": found.cl_ord_id,
            "book_lots": found.book_lots,
            "broker_lots": found.broker_lots,
            "resent": found.resent,
            "detail": found.detail,
            "exec_id": found.exec_id,
            "odd_units": found.odd_units,
        }


@dataclass(slots=True)
class KnownDifferences:
    """The fold behind `Differences`, record by record."""

    open: dict[tuple[str, ...], Difference] = field(default_factory=dict)
    accepted: dict[tuple[str, ...], int] = field(default_factory=dict)
    accepted_odd: dict[tuple[str, ...], int] = field(default_factory=dict)
    adjusted: dict[tuple[str, str], int] = field(default_factory=dict)
    of_order: dict[str, int] = field(default_factory=dict)
    resolved: dict[str, int] = field(default_factory=dict)
    # by fact: the broker's total that was resolved, and every ExecID that was named
    settled: dict[tuple[str, ...], int | None] = field(default_factory=dict)
    exec_ids: dict[tuple[str, ...], set[str]] = field(default_factory=dict)

    def take(self, record: Record) -> None:
        """Fold one record."""
        if record.kind is Kind.BOOK_DIFFERENCE:
            found = BookDifference.of(record).found
            self.exec_ids.setdefault(_fact(found), set()).add(found.exec_id)
            self.open[found.subject if found.cl_ord_id or found.account else (str(record.seq),)] = (
                Difference(
                    seq=record.seq,
                    leaf=record.leaf,
                    recorded_at_us=record.recorded_at_us,
                    found=found,
                )
            )
        elif record.kind is Kind.DIFFERENCE_RESOLVED:
            self._resolve(DifferenceResolved.of(record))
        elif record.kind is Kind.BOOK_ADJUSTED:
            done = BookAdjusted.of(record)
            for symbol, lots in done.lots.items():
                key = (done.account, symbol)
                self.adjusted[key] = self.adjusted.get(key, 0) + lots

    def _resolve(self, resolved: DifferenceResolved) -> None:
        place = next((k for k, d in self.open.items() if d.seq == resolved.of_seq), None)
        if place is None:
            return
        found = self.open.pop(place).found
        self.resolved[found.cl_ord_id] = resolved.of_seq
        self.settled[_fact(found)] = (
            found.broker_lots if resolved.broker_lots is None else resolved.broker_lots
        )
        if resolved.with_seq is not None:
            return  # resolved together with another difference of its order
        # records of earlier versions adjust by the sides at detection
        book = found.book_lots if resolved.book_lots is None else resolved.book_lots
        broker = found.broker_lots if resolved.broker_lots is None else resolved.broker_lots
        if book is None or broker is None:
            return
        adjustment = resolved.adjustment
        self.accepted_odd[_order_or_account(found)] = found.odd_units
        self.accepted[_order_or_account(found)] = 0 if adjustment is not None else broker - book
        if adjustment is None:
            return
        if found.cl_ord_id:
            name = found.cl_ord_id
            self.of_order[name] = self.of_order.get(name, 0) + broker - book
        # ACCOUNT_LOTS makes the book equal to its trades: nothing stays beside the orders
        if found.cause is not DifferenceCause.ACCOUNT_LOTS:
            key = (resolved.account, adjustment.instrument)
            signed = adjustment.side.sign * adjustment.qty_lots
            self.adjusted[key] = self.adjusted.get(key, 0) + signed

    def repeats(self, found: Found) -> bool:
        """Return whether a message says again what persons resolved."""
        if found.cause in BREACHES or found.broker_lots is None:
            return False
        fact = _fact(found)
        known = {"", *self.exec_ids.get(fact, ())}
        return self.settled.get(fact) == found.broker_lots and found.exec_id in known

    def newest(self, cl_ord_id: str) -> Found | None:
        """Return what an order's newest open difference found, breaches of its limits apart."""
        found = [
            d
            for d in self.open.values()
            if cl_ord_id and d.found.cl_ord_id == cl_ord_id and d.found.cause not in BREACHES
        ]
        return max(found, key=lambda one: one.seq).found if found else None


class Differences:
    """The open differences, up to the last record read; safe from any thread."""

    def __init__(self, reader: RecordsPort) -> None:
        """Start with nothing read."""
        self._reader = reader
        self._known = KnownDifferences()
        self._seq = -1
        self._lock = threading.Lock()

    def read(self, size: int) -> None:
        """Fold the records below a size of the log."""
        with self._lock:
            if size <= self._seq + 1:
                return
            for record in self._reader.records(
                stream="control", kinds=DIFFERENCE_KINDS, after_seq=self._seq, before_seq=size
            ):
                self._known.take(record)
            self._seq = size - 1

    def follow(self, batch: Sequence[Record]) -> None:
        """Fold a batch of the ledger's notifier; if it does not follow, read the log."""
        with self._lock:
            follows = batch[0].seq == self._seq + 1
            if follows:
                for record in batch:
                    self._known.take(record)
                self._seq = batch[-1].seq
        if not follows:
            self.read(batch[-1].seq + 1)

    def open(self) -> tuple[Difference, ...]:
        """Return the open differences, oldest first."""
        with self._lock:
            return tuple(sorted(self._known.open.values(), key=lambda one: one.seq))

    def blocks(self, instrument: str) -> bool:
        """Return whether an instrument is not ready."""
        return any(d.found.instrument in {instrument, EVERY} for d in self.open())

    def is_news(self, found: Found, *, healing: bool = True) -> bool:
        """Return whether a difference must be recorded.

        With `healing`, it is also news that an open difference has disappeared.
        """
        with self._lock:
            before, newest = (
                self._known.open.get(found.subject),
                self._known.newest(found.cl_ord_id),
            )
            same = newest is None or _sides(newest) == _sides(found)
            if before is not None and before.found == found and same:
                return False
            if found.cause not in _COUNTED or found.book_lots is None or found.broker_lots is None:
                return not self._known.repeats(found)
            if newest is not None and same:
                return False  # recorded under another cause, for example unbookable
            if newest is not None and healing:
                return True
            apart = found.broker_lots - found.book_lots
            key = _order_or_account(found)
            known = self._known.accepted.get(key, 0), self._known.accepted_odd.get(key, 0)
            return (apart, found.odd_units) != known

    def adjusted(self, account: str, instrument: str) -> int:
        """Return the signed lots that persons booked in an account, beside its orders."""
        with self._lock:
            return self._known.adjusted.get((account, instrument), 0)

    def adjusted_of(self, cl_ord_id: str) -> int:
        """Return the lots that resolutions added to an order's booked lots."""
        with self._lock:
            return self._known.of_order.get(cl_ord_id, 0)

    def resolved_of(self, cl_ord_id: str) -> int:
        """Return how many lots of the broker's total of an order need no report any more.

        Adjusted lots are booked; where the book was right, the broker's total exceeds it, also by
        a lot that is only begun.
        """
        with self._lock:
            accepted = self._known.accepted.get((cl_ord_id,), 0)
            begun = 1 if self._known.accepted_odd.get((cl_ord_id,), 0) else 0
            return self._known.of_order.get(cl_ord_id, 0) + max(0, accepted + begun)

    def resolution_of(self, cl_ord_id: str) -> int | None:
        """Return the last resolved difference of an order; None while one is open."""
        with self._lock:
            if self._known.newest(cl_ord_id) is not None:
                return None
            return self._known.resolved.get(cl_ord_id)

    def total_told(self, cl_ord_id: str, booked: int) -> tuple[int | None, int]:
        """Return the broker's last total of an order, None if it is unknown, and its odd units.

        Without a difference it equals `booked`, the order's fills and adjustments.
        """
        with self._lock:
            newest = self._known.newest(cl_ord_id)
            if newest is not None:
                return newest.broker_lots, newest.odd_units
            key = (cl_ord_id,)
            lots = booked + self._known.accepted.get(key, 0)
            return lots, self._known.accepted_odd.get(key, 0)

    def of_one_order(self, one: Difference) -> tuple[Difference, ...]:
        """Return the other open differences of its order, oldest first."""
        name = one.found.cl_ord_id
        return tuple(
            d for d in self.open() if name and d.found.cl_ord_id == name and d.seq != one.seq
        )

    @property
    def state(self) -> str:
        """`ready`, or how many are open; without details, because callers without a key read it."""
        found = len(self.open())
        return f"{found} unresolved; countersign differences lists them" if found else "ready"


def _fact(found: Found) -> tuple[str, ...]:
    """Return what persons resolve; an order's total may be told again in another report's words."""
    told = found.cl_ord_id and found.cause in _UNTAKEN
    return found.subject[1:] if told else found.subject


def _sides(found: Found) -> tuple[int | None, ...]:
    return (found.book_lots, found.broker_lots, found.odd_units)


def _order_or_account(found: Found) -> tuple[str, ...]:
    return (found.cl_ord_id,) if found.cl_ord_id else (found.account, found.instrument)
