"""What an inbound message says about a live order: which order, and whether it ended. Pure.

Not here: the list of live orders (`fix.durable.journal`) and the states (`fix.orders.state`).

Rules:
- A repeated message changes nothing: one marked 43=Y under a number that the engine has taken, or
  the same report of an order under the same ExecID (17).
- Every other message is news, also one marked 43=Y: the line was down at its first sending.
- A report that is news and leaves a quantity (151) makes its order live, even an ended or unknown
  one. In doubt a message is news: one cancel too many does no harm, a forgotten order does.
"""

from dataclasses import dataclass

from fix.dialects.profile import Capabilities
from fix.orders.state import leaves_nothing, lives_again
from fix.wire.messages import NEW_ORDER
from fix.wire.reports import (
    BusinessReject,
    CancelReject,
    ExecutionReport,
    Inbound,
    SessionReject,
)

_NO_ID = "0"
REPORTS_KEPT = 50_000
"""How many reports are remembered; an older one that is repeated counts as news."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What one message says about an order of ours.

    Attributes:
        cl_ord_id: of the order; empty if the message is about none.
        ends: nothing of the order is left.
        works: a quantity is left, whatever earlier reports said.
        is_news: False for a repeated message, which has no effect.
    """

    cl_ord_id: str
    ends: bool = False
    works: bool = False
    is_news: bool = True


class Hearing:
    """One session's inbound messages, in the order in which the engine takes them.

    `can` tells whether this broker's "unknown order" means that the order is gone.
    """

    def __init__(self, can: Capabilities) -> None:
        self._can = can
        self._taken = 0
        self._by_seq_num: dict[int, str] = {}
        self._traded: set[str] = set()  # a refusal of an order that has traded is a contradiction
        self._reports: dict[tuple[str, ...], None] = {}

    def sent(self, msg_seq_num: int, cl_ord_id: str) -> None:
        """Note the MsgSeqNum of an order that left: a reject may name nothing else."""
        if msg_seq_num <= next(reversed(self._by_seq_num), 0):
            self._by_seq_num.clear()  # the numbers were reset
        self._by_seq_num[msg_seq_num] = cl_ord_id

    def begun_anew(self) -> None:
        """Forget all numbers: both sides count from 1 again."""
        self._by_seq_num.clear()
        self._taken = 0

    def counted(self, msg_seq_num: int) -> None:
        """Note the last MsgSeqNum that the engine took from the broker, before it connects."""
        self._taken = msg_seq_num

    def take(self, inbound: Inbound) -> Effect:
        """Return what a message says; call it in the order of the inbox."""
        cl_ord_id, ends = self._about(inbound)
        if not self._is_news(inbound, cl_ord_id):
            return Effect(cl_ord_id=cl_ord_id, is_news=False)
        if not isinstance(inbound, ExecutionReport) or not cl_ord_id:
            return Effect(cl_ord_id=cl_ord_id, ends=ends)
        return Effect(cl_ord_id=cl_ord_id, ends=ends, works=not ends and lives_again(inbound))

    def _is_news(self, inbound: Inbound, cl_ord_id: str) -> bool:
        number = inbound.envelope.msg_seq_num
        if inbound.envelope.poss_dup and number <= self._taken:
            return False
        self._taken = number or self._taken  # without the mark it is the next one
        if not isinstance(inbound, ExecutionReport) or inbound.exec_id == _NO_ID:
            return True
        if inbound.is_status:
            return True  # an answer to a status request is always current
        said = (inbound.exec_type, inbound.ord_status, inbound.leaves_qty, inbound.cum_qty)
        key = (cl_ord_id, inbound.exec_id, *said)
        if key in self._reports:
            return False
        self._reports[key] = None
        if len(self._reports) > REPORTS_KEPT:
            del self._reports[next(iter(self._reports))]
        return True

    def _about(self, inbound: Inbound) -> tuple[str, bool]:
        """Return which order of ours a message is about, and whether nothing of it is left."""
        match inbound:
            case ExecutionReport():
                about = inbound.orig_cl_ord_id or inbound.cl_ord_id
                if inbound.is_trade:
                    self._traded.add(about)
                return about, leaves_nothing(inbound)
            case CancelReject():
                gone = self._can.unknown_is_gone or inbound.reason != "1"
                ended = inbound.ord_status in ({"2", "4", "8", "C"} if gone else {"2", "4", "C"})
                return inbound.orig_cl_ord_id, ended
            case BusinessReject():
                about = inbound.ref_id or self._by_seq_num.get(inbound.ref_seq_num, "")
                return about, inbound.ref_msg_type == NEW_ORDER and about not in self._traded
            case SessionReject():
                about = self._by_seq_num.get(inbound.ref_seq_num, "")
                refuses = inbound.ref_msg_type in {NEW_ORDER, ""}
                return about, refuses and about not in self._traded
            case _:
                return "", False
