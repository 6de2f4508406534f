"""What became of each open order, asked of the broker after every logon. Pure.

Not here: sending the status requests and recording the result.

Rules:
- Until reconciliation is over, the session is RECONCILING and takes no new order.
- Where the broker takes it, one mass status request (AF) goes first, also without an open order,
  because its answer names orders that are not ours too. It is over with its last report (912=Y, or
  as many as 911 says), with a reject, or when the broker is silent for `MASS_PATIENCE_US`.
- Each open order without an answer then gets a status request (H), and a second one after half the
  time. The answer, or any replayed report about the order, settles it. An order that the mass
  answer left out is asked for too: nobody says that its list is complete.
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
from fix.wire.messages import MASS_STATUS_REQUEST, STATUS_REQUEST, Fields, status_request
from fix.wire.reports import BusinessReject, ExecutionReport, Inbound, SessionReject

PATIENCE_US = 5_000_000
MASS_PATIENCE_US = 1_000_000
"""How long the broker may be silent while it answers a mass status request."""


class Fate(StrEnum):
    """What reconciliation found about an order."""

    ASKED = "ASKED"
    KNOWN = "KNOWN"
    NOT_RECEIVED = "NOT_RECEIVED"
    QUARANTINED = "QUARANTINED"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenOrder:
    """A sending, sent, unknown or working order, with the fields that the broker has.

    `names` are all its ClOrdIDs, where replaces gave it more than one.
    """

    cl_ord_id: str
    fields: Fields
    names: frozenset[str] = frozenset()

    def is_named(self, name: str) -> bool:
        """Return whether a ClOrdID is the order's, or one that a replace gave or took."""
        return name == self.cl_ord_id or name in self.names


@dataclass(frozen=True, slots=True, kw_only=True)
class MassAsked:
    """A mass status request that was asked.

    Attributes:
        request_id: its MassStatusReqID (584).
        number: MsgSeqNum under which it left; 0 if it did not.
        heard_us: when it left or was last answered, monotonic.
        told: orders that its answer named so far.
        over: how it ended; empty while it is being answered.
    """

    request_id: str
    number: int = 0
    heard_us: int = 0
    told: int = 0
    over: str = ""

    def left(self, number: int, now_us: int, refused: str = "") -> Self:
        """Note that it left under a number, or why it did not."""
        over = f"not sent: {refused}" if refused else ""
        return replace(self, number=number, heard_us=now_us, over=over)

    def heard(self, inbound: Inbound, now_us: int) -> Self:
        """Apply one inbound message."""
        if self.over:
            return self
        match inbound:
            case ExecutionReport() if inbound.mass_id == self.request_id:
                told = self.told if inbound.finds_nothing else self.told + 1
                counted = 0 < inbound.reports_total <= told
                over = inbound.is_last or counted or inbound.finds_nothing
                words = f"answered: {told} orders" if over else ""
                return replace(self, told=told, heard_us=now_us, over=words)
            case BusinessReject() if inbound.ref_msg_type == MASS_STATUS_REQUEST:
                return replace(self, over=f"refused: 35=j 380={inbound.reason} {inbound.text}")
            case SessionReject() if self._is_named(inbound):
                return replace(self, over=f"refused: 35=3 373={inbound.reason} {inbound.text}")
            case _:
                return self

    def waited(self, now_us: int) -> Self:
        """End it if the broker is silent for too long."""
        if self.over or now_us - self.heard_us < MASS_PATIENCE_US:
            return self
        return replace(self, over=f"not answered to the end: {self.told} orders")

    def _is_named(self, reject: SessionReject) -> bool:
        if reject.ref_msg_type:
            return reject.ref_msg_type == MASS_STATUS_REQUEST
        return self.number > 0 and reject.ref_seq_num == self.number


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciliation:
    """One logon's reconciliation; every method returns a new value.

    `started_us` is monotonic; `fates` has one entry for each of `orders`. While `mass` is being
    answered, nothing else is asked.
    """

    logon_no: int
    started_us: int
    patience_us: int
    orders: tuple[OpenOrder, ...]
    fates: tuple[Fate, ...]
    asked_twice: bool = False
    mass: MassAsked | None = None
    asked_singly: bool = False

    @classmethod
    def begin(
        cls,
        orders: Iterable[OpenOrder],
        *,
        logon_no: int,
        now_us: int,
        patience_us: int = PATIENCE_US,
        mass: MassAsked | None = None,
    ) -> Self:
        """Begin with every open order of the session; then send `questions()`.

        `mass` has left already, if the broker takes a mass status request.
        """
        asked = tuple(orders)
        return cls(
            logon_no=logon_no,
            started_us=now_us,
            patience_us=patience_us,
            orders=asked,
            fates=(Fate.ASKED,) * len(asked),
            mass=mass,
        )

    @property
    def is_mass(self) -> bool:
        """Whether the mass status request is being answered."""
        return self.mass is not None and not self.mass.over

    def questions(self) -> tuple[Fields, ...]:
        """Return a status request for each unanswered order; none while the mass answer comes."""
        if self.is_mass:
            return ()
        return tuple(status_request(order.fields) for order in self._asked())

    def ask_again_at(self, now_us: int) -> tuple[Self, tuple[Fields, ...]]:
        """Return the second round of requests, once, when half of `patience_us` is over."""
        if self.is_mass or self.asked_twice or now_us - self.started_us < self.patience_us // 2:
            return self, ()
        return replace(self, asked_twice=True), self.questions()

    def mass_over(self, now_us: int) -> tuple[Self, tuple[Fields, ...]]:
        """Return the first single requests, once, when the mass answer is over.

        The time for single answers begins then.
        """
        if self.mass is None or self.asked_singly:
            return self, ()
        after = replace(self, mass=self.mass.waited(now_us), started_us=now_us)
        if after.is_mass:
            return after, ()
        return replace(after, asked_singly=True), after.questions()

    def heard(self, inbound: Inbound, now_us: int = 0) -> Self:
        """Apply one inbound message; messages about other orders change nothing."""
        after = self._settled_by(inbound)
        if self.mass is None:
            return after
        return replace(after, mass=self.mass.heard(inbound, now_us))

    def _settled_by(self, inbound: Inbound) -> Self:
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
        if self.is_mass:
            return False
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
            found if order.is_named(cl_ord_id) and fate is not Fate.KNOWN else fate
            for order, fate in zip(self.orders, self.fates, strict=True)
        )
        return replace(self, fates=fates)


def strangers(journal: Iterable[LiveOrder], ledger_ids: Iterable[str]) -> tuple[LiveOrder, ...]:
    """Return the journal's live orders that the ledger lacks; there should be none."""
    known = frozenset(ledger_ids)
    return tuple(order for order in journal if order.cl_ord_id not in known)
