"""What became of each open order, asked of the broker after every logon. Pure.

Not here: sending the status requests and recording the result.

Rules:
- Until reconciliation is over, the session is RECONCILING and takes no new order.
- Each open order gets a status request (H), and a second one after half the time. The answer, or
  any replayed report about the order, settles it.
- An order unknown to the broker never arrived: its reservation is released, and nothing is sent
  again. A new attempt is a new decision.
- An order without an answer is quarantined: it keeps its worst-case reservation and needs a
  person. Other orders go on.
- The journal holds no order that the ledger lacks: SENDING is committed before the hand-over.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self

from fix.orders.live import LiveOrder
from fix.orders.state import OrderEvent, event_of
from fix.wire.messages import STATUS_REQUEST, Fields, status_request
from fix.wire.reports import BusinessReject, ExecutionReport, Inbound

PATIENCE_US = 5_000_000


class Fate(StrEnum):
    """What reconciliation found about an order."""

    ASKED = "ASKED"
    KNOWN = "KNOWN"
    NOT_RECEIVED = "NOT_RECEIVED"
    QUARANTINED = "QUARANTINED"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenOrder:
    """A sending, sent, unknown or working order, with the fields committed with SENDING."""

    cl_ord_id: str
    fields: Fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciliation:
    """One logon's reconciliation; every method returns a new value.

    `started_us` is monotonic; `fates` has one entry for each of `orders`.
    """

    logon_no: int
    started_us: int
    patience_us: int
    orders: tuple[OpenOrder, ...]
    fates: tuple[Fate, ...]
    asked_twice: bool = False

    @classmethod
    def begin(
        cls,
        orders: Iterable[OpenOrder],
        *,
        logon_no: int,
        now_us: int,
        patience_us: int = PATIENCE_US,
    ) -> Self:
        """Begin with every open order of the session; then send `questions()`."""
        asked = tuple(orders)
        return cls(
            logon_no=logon_no,
            started_us=now_us,
            patience_us=patience_us,
            orders=asked,
            fates=(Fate.ASKED,) * len(asked),
        )

    def questions(self) -> tuple[Fields, ...]:
        """Return a status request for each unanswered order."""
        return tuple(status_request(order.fields) for order in self._asked())

    def ask_again_at(self, now_us: int) -> tuple[Self, tuple[Fields, ...]]:
        """Return the second round of requests, once, when half of `patience_us` is over."""
        if self.asked_twice or now_us - self.started_us < self.patience_us // 2:
            return self, ()
        return replace(self, asked_twice=True), self.questions()

    def heard(self, inbound: Inbound) -> Self:
        """Apply one inbound message; messages about other orders change nothing."""
        match inbound:
            case ExecutionReport():
                about = inbound.orig_cl_ord_id or inbound.cl_ord_id
                unknown = event_of(inbound) is OrderEvent.NOT_KNOWN_THERE
                return self._settle(about, Fate.NOT_RECEIVED if unknown else Fate.KNOWN)
            case BusinessReject() if inbound.ref_msg_type == STATUS_REQUEST:
                return self._settle(inbound.ref_id, Fate.QUARANTINED)
            case _:
                return self

    def is_over(self, now_us: int) -> bool:
        """Return whether every order is settled or the time is up."""
        return Fate.ASKED not in self.fates or now_us - self.started_us >= self.patience_us

    def closed(self) -> dict[str, Fate]:
        """Return every order's fate; one without an answer is quarantined."""
        return {
            order.cl_ord_id: Fate.QUARANTINED if fate is Fate.ASKED else fate
            for order, fate in zip(self.orders, self.fates, strict=True)
        }

    def _asked(self) -> tuple[OpenOrder, ...]:
        pairs = zip(self.orders, self.fates, strict=True)
        return tuple(order for order, fate in pairs if fate is Fate.ASKED)

    def _settle(self, cl_ord_id: str, found: Fate) -> Self:
        fates = tuple(
            found if order.cl_ord_id == cl_ord_id and fate is not Fate.KNOWN else fate
            for order, fate in zip(self.orders, self.fates, strict=True)
        )
        return replace(self, fates=fates)


def strangers(journal: Iterable[LiveOrder], ledger_ids: Iterable[str]) -> tuple[LiveOrder, ...]:
    """Return the journal's live orders that the ledger lacks; there should be none."""
    known = frozenset(ledger_ids)
    return tuple(order for order in journal if order.cl_ord_id not in known)
