"""Orders at the broker that are not ours, folded from records: they survive every restart.

Not here: what is foreign (`fix.orders.foreign`). No book changes by them: a trade of a stranger on
our account belongs into the book as an adjustment of two persons.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from audit.records.kinds import Kind
from audit.records.record import Record
from fix.orders.state import state_named
from gateway.walk.journal.foreign import ForeignReported
from gateway.walk.ports import RecordsPort

KEPT_MAX: Final = 1_000
"""How many are kept; one that works is never dropped."""
TOLD_MAX: Final = 5_000
_SIDES: Final = {"1": "BUY", "2": "SELL", "5": "SELL SHORT", "6": "SELL SHORT EXEMPT"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignOrder:
    """One order that is not ours, by the broker's last word; numbers are decimal text.

    Attributes:
        name: the broker's OrderID, else its ClOrdID.
        works: whether it may still trade.
        traded: whether something of it was filled.
        first_us, said_us: when its first and its last record were made, wall clock.
    """

    name: str
    cl_ord_id: str = ""
    instrument: str = ""
    side: str = ""
    order_account: str = ""
    quantity: str = ""
    price: str = ""
    filled: str = ""
    leaves: str = ""
    state: str = ""
    treatment: str = ""
    works: bool = False
    first_us: int = 0
    said_us: int = 0
    reports: int = 0
    seq: int = 0

    @property
    def traded(self) -> bool:
        """Whether something of it was filled."""
        return bool(self.filled.strip("0."))


class ForeignOrders:
    """The foreign orders of one session, up to the last record read; safe from any thread."""

    def __init__(self, reader: RecordsPort, session: str) -> None:
        """Start with nothing read."""
        self._reader = reader
        self._stream = f"session/{session}"
        self._orders: dict[str, ForeignOrder] = {}
        self._seq = -1
        self._lock = threading.Lock()

    def read(self, size: int) -> None:
        """Fold the records below a size of the log."""
        with self._lock:
            if size <= self._seq + 1:
                return
            kinds = (Kind.FOREIGN_REPORTED,)
            for record in self._reader.records(
                stream=self._stream, kinds=kinds, after_seq=self._seq, before_seq=size
            ):
                self._take(record)
            self._seq = size - 1

    def follow(self, batch: Sequence[Record]) -> None:
        """Fold a batch of the ledger's notifier; if it does not follow, read the log."""
        with self._lock:
            follows = batch[0].seq == self._seq + 1
            if follows:
                for record in batch:
                    if record.kind is Kind.FOREIGN_REPORTED and record.stream == self._stream:
                        self._take(record)
                self._seq = batch[-1].seq
        if not follows:
            self.read(batch[-1].seq + 1)

    def listed(self, *, working: bool = False) -> tuple[ForeignOrder, ...]:
        """Return them, the one that was heard of last first; only the working ones if asked."""
        with self._lock:
            found = tuple(one for one in self._orders.values() if one.works or not working)
        return tuple(sorted(found, key=lambda one: -one.seq))

    def working(self) -> tuple[str, ...]:
        """Return the names of those that may still trade."""
        return tuple(one.name for one in self.listed(working=True)[:TOLD_MAX])

    def _take(self, record: Record) -> None:
        told = ForeignReported.of(record)
        name = told.order_id
        before = self._orders.pop(name, None)
        order = before or ForeignOrder(name=name, first_us=record.recorded_at_us)
        if not told.cancel_refused:
            order = replace(
                order,
                cl_ord_id=told.cl_ord_id or order.cl_ord_id,
                instrument=told.instrument or order.instrument,
                side=_SIDES.get(told.side, told.side) or order.side,
                order_account=told.order_account or order.order_account,
                quantity=told.quantity or order.quantity,
                price=told.price or order.price,
                filled=told.filled,
                leaves=told.leaves,
                works=bool(told.works),
            )
        self._orders[name] = replace(
            order,
            state=state_named(told.order_status),
            treatment=told.treatment,
            said_us=record.recorded_at_us,
            reports=order.reports + 1,
            seq=record.seq,
        )
        if len(self._orders) > KEPT_MAX:
            over = next((key for key, one in self._orders.items() if not one.works), None)
            if over is not None:
                del self._orders[over]
