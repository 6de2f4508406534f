"""Where the book and the broker differ, folded from records: what is open, and what it blocks.

A difference is an alarm that only a person ends. While one is open its instrument is not ready: new
intents for it are refused (R00, `BOOK_DIFFERS`), what is approved and unsent is withdrawn; cancels
and reports flow as ever. Not here: how a difference is found (`quarantine`, `book_check`) and how a
person resolves it (`desk.resolution`).

Rules kept:
- The ledger alone says what is open, so a restart forgets nothing.
- A difference told again with other numbers takes the place of the first.
- What was resolved is not told again: the order's two totals may stay apart by as much as then.
- An adjustment belongs to its order: what is compared is the booked fills and what was adjusted.
- While an order differs each change of either side is told, also that they agree by now.
"""

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from audit.records.kinds import Kind
from audit.records.record import Record
from gateway.walk.journal.difference import (
    BREACHES,
    BookDifference,
    DifferenceCause,
    DifferenceResolved,
    Found,
)

EVERY: Final = "*"
"""The instrument of a difference that may be about any."""

DIFFERENCE_KINDS: Final = (Kind.BOOK_DIFFERENCE, Kind.DIFFERENCE_RESOLVED)


_COUNTED: Final = frozenset({DifferenceCause.CUM_QTY, DifferenceCause.ACCOUNT_LOTS})
"""Causes that are two numbers: equal ones, or such as a person accepted, are no difference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """An open difference, with the record that told of it."""

    seq: int
    leaf: bytes
    recorded_at_us: int
    found: Found

    def document(self) -> dict[str, Any]:
        """Write it for the API and the command line."""
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
        }


class RecordsPort(Protocol):
    """The part of the ledger's reader that is needed here."""

    def records(
        self,
        *,
        stream: str | None = None,
        kinds: Iterable[Kind] | None = None,
        after_seq: int = -1,
        before_seq: int | None = None,
    ) -> Iterable[Record]:
        """Yield records in order."""
        ...


@dataclass(slots=True)
class _Known:
    open: dict[tuple[str, ...], Difference] = field(default_factory=dict)
    accepted: dict[tuple[str, ...], int] = field(default_factory=dict)
    adjusted: dict[tuple[str, str], int] = field(default_factory=dict)
    of_order: dict[str, int] = field(default_factory=dict)
    resolved: dict[str, int] = field(default_factory=dict)

    def take(self, record: Record) -> None:
        if record.kind is Kind.BOOK_DIFFERENCE:
            found = BookDifference.of(record).found
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

    def _resolve(self, resolved: DifferenceResolved) -> None:
        place = next((k for k, d in self.open.items() if d.seq == resolved.of_seq), None)
        if place is None:
            return
        found = self.open.pop(place).found
        self.resolved[found.cl_ord_id] = resolved.of_seq
        if resolved.with_seq is not None:
            return  # another difference of the order was resolved, and this one with it
        # records of before these two fields were adjusted by the numbers at detection
        book = found.book_lots if resolved.book_lots is None else resolved.book_lots
        broker = found.broker_lots if resolved.broker_lots is None else resolved.broker_lots
        if book is None or broker is None:
            return
        adjustment = resolved.adjustment
        self.accepted[_order_or_account(found)] = 0 if adjustment is not None else broker - book
        if adjustment is None:
            return
        if found.cl_ord_id:
            name = found.cl_ord_id
            self.of_order[name] = self.of_order.get(name, 0) + broker - book
        if (
            found.cause is not DifferenceCause.ACCOUNT_LOTS
        ):  # that one made the book what the trades are
            key = (resolved.account, adjustment.instrument)
            signed = adjustment.side.sign * adjustment.qty_lots
            self.adjusted[key] = self.adjusted.get(key, 0) + signed

    def newest(self, cl_ord_id: str) -> Found | None:
        found = [
            d
            for d in self.open.values()
            if cl_ord_id and d.found.cl_ord_id == cl_ord_id and d.found.cause not in BREACHES
        ]
        return max(found, key=lambda one: one.seq).found if found else None


class Differences:
    """The open differences, as far as they are read; safe from any thread."""

    def __init__(self, reader: RecordsPort) -> None:
        """Start with nothing read."""
        self._reader = reader
        self._known = _Known()
        self._seq = -1
        self._lock = threading.Lock()

    def read(self, size: int) -> None:
        """Fold what was committed below a size of the log."""
        with self._lock:
            if size <= self._seq + 1:
                return
            for record in self._reader.records(
                stream="control", kinds=DIFFERENCE_KINDS, after_seq=self._seq, before_seq=size
            ):
                self._known.take(record)
            self._seq = size - 1

    def follow(self, batch: Sequence[Record]) -> None:
        """Fold a batch of the ledger's notifier; one that does not follow is read from the log."""
        with self._lock:
            follows = batch[0].seq == self._seq + 1
            if follows:
                for record in batch:
                    self._known.take(record)
                self._seq = batch[-1].seq
        if not follows:
            self.read(batch[-1].seq + 1)

    def open(self) -> tuple[Difference, ...]:
        """Return what is open, oldest first, as far as it is read."""
        with self._lock:
            return tuple(sorted(self._known.open.values(), key=lambda one: one.seq))

    def blocks(self, instrument: str) -> bool:
        """Whether an instrument is not ready."""
        return any(d.found.instrument in {instrument, EVERY} for d in self.open())

    def is_news(self, found: Found, *, healing: bool = True) -> bool:
        """Whether a difference is neither resolved with these numbers nor open with them.

        Args:
            found: the two sides.
            healing: whether it is news too that an open difference is none any more.
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
                return True
            if newest is not None and same:
                return False  # told with another cause, as one that could not be booked
            if newest is not None and healing:
                return True
            apart = found.broker_lots - found.book_lots
            return apart != self._known.accepted.get(_order_or_account(found), 0)

    def adjusted(self, account: str, instrument: str) -> int:
        """Return the signed lots that resolutions put into an account's book beside its orders."""
        with self._lock:
            return self._known.adjusted.get((account, instrument), 0)

    def adjusted_of(self, cl_ord_id: str) -> int:
        """Return the lots that resolutions added to what is booked of an order."""
        with self._lock:
            return self._known.of_order.get(cl_ord_id, 0)

    def resolved_of(self, cl_ord_id: str) -> int:
        """Return how many lots of an order's total need no report any more, as persons said.

        Adjusted lots are in the book; where the book is right the broker tells so many too many.
        """
        with self._lock:
            accepted = self._known.accepted.get((cl_ord_id,), 0)
            return self._known.of_order.get(cl_ord_id, 0) + max(0, accepted)

    def resolution_of(self, cl_ord_id: str) -> int | None:
        """Return the difference of an order that was resolved last; None while one is open."""
        with self._lock:
            if self._known.newest(cl_ord_id) is not None:
                return None
            return self._known.resolved.get(cl_ord_id)

    def total_told(self, cl_ord_id: str, booked: int) -> int | None:
        """Return the total that the broker told last of an order; None if it cannot be said.

        Args:
            cl_ord_id: the order.
            booked: what its fills and adjustments come to; without a difference he said so too.
        """
        with self._lock:
            newest = self._known.newest(cl_ord_id)
            if newest is not None:
                return newest.broker_lots
            return booked + self._known.accepted.get((cl_ord_id,), 0)

    def of_one_order(self, one: Difference) -> tuple[Difference, ...]:
        """Return the other open differences of its order, oldest first."""
        name = one.found.cl_ord_id
        return tuple(
            d for d in self.open() if name and d.found.cl_ord_id == name and d.seq != one.seq
        )

    @property
    def state(self) -> str:
        """`ready`, or how many are open; not of what: readiness is told to who has no key."""
        found = len(self.open())
        return f"{found} unresolved; countersign differences lists them" if found else "ready"


def _sides(found: Found) -> tuple[int | None, int | None]:
    return (found.book_lots, found.broker_lots)


def _order_or_account(found: Found) -> tuple[str, ...]:
    return (found.cl_ord_id,) if found.cl_ord_id else (found.account, found.instrument)
