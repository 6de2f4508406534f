"""The journal kept in step with what leaves and with what the broker says.

Not here: sending (`fix.session.worker`), and what a message means (`fix.orders`).
"""

from collections.abc import Callable

from fix.dialects.profile import Capabilities
from fix.durable.inbox import Entry
from fix.durable.journal import Journal
from fix.errors import FixError
from fix.orders.hearing import Hearing
from fix.orders.live import LiveOrder
from fix.orders.naming import order_id_of, order_told_of
from fix.orders.replacing import counts_about, says_replaced
from fix.orders.state import OrderState, after_report, is_overtaken
from fix.wire.fields import MSG_TYPE
from fix.wire.messages import CANCEL_REPLACE, CL_ORD_ID, ORIG_CL_ORD_ID, Fields
from fix.wire.reports import (
    BusinessReject,
    CancelReject,
    ExecutionReport,
    Inbound,
    SessionReject,
    order_told_by,
    parse_inbound,
)


class Accounting:
    """One session's orders and replaces in the journal; on the worker's thread."""

    def __init__(self, journal: Journal, can: Capabilities) -> None:
        """Continue a journal; `can` are the broker's capabilities."""
        self._journal = journal
        self._can = can
        self._hearing = Hearing(can)
        self._order_ids: dict[str, str] = {}  # the broker's OrderID (37): our first ClOrdID
        self._replaces: dict[int, str] = {}  # by MsgSeqNum: a Reject (3) may name nothing else

    def counted(self, msg_seq_num: int) -> None:
        """Note the last MsgSeqNum that the engine took from the broker, before it connects."""
        self._hearing.counted(msg_seq_num)

    def begun_anew(self) -> None:
        """Forget all numbers: both sides count from 1 again."""
        self._hearing.begun_anew()
        self._replaces.clear()

    def may_replace(self, name: str) -> bool:
        """Return whether a live order has this ClOrdID now, and no replace under way."""
        first = self._journal.first_name(name)
        order = next((one for one in self._journal.live() if one.cl_ord_id == first), None)
        here = order is not None and not order.asked and order.wire_name == name
        return self._can.replace and here

    def leaving(self, fields: Fields, offset: int, words: str = "") -> None:
        """Note an order (D) or a replace (G) before it can leave; `words` as in `Journal.opened`.

        Raises:
            OSError: the disk refused; it must not leave.
        """
        sent = dict(fields)
        if sent[MSG_TYPE] == CANCEL_REPLACE:
            first = self._journal.first_name(sent[ORIG_CL_ORD_ID])
            self._journal.replacing(first, fields, offset)
            # a crash here leaves a replace that never left; a kill cancels both ClOrdIDs
        else:
            order = LiveOrder(cl_ord_id=sent[CL_ORD_ID], fields=fields, inbox_offset=offset)
            self._journal.opened(order, words)

    def left(self, fields: Fields, msg_seq_num: int) -> None:
        """Note the MsgSeqNum of what left."""
        sent = dict(fields)
        if sent[MSG_TYPE] == CANCEL_REPLACE:
            self._replaces[msg_seq_num] = sent[CL_ORD_ID]
        else:
            self._hearing.sent(msg_seq_num, sent[CL_ORD_ID])

    def stayed(self, fields: Fields, offset: int, why: str) -> None:
        """Note that an order or a replace did not leave and never will."""
        sent = dict(fields)
        if sent[MSG_TYPE] == CANCEL_REPLACE:
            self._journal.kept(self._journal.first_name(sent[CL_ORD_ID]), offset)
        else:
            self._journal.closed(sent[CL_ORD_ID], offset, why)

    def take(
        self, entry: Entry, is_strangers: Callable[[str, Inbound], bool]
    ) -> tuple[str, Inbound] | None:
        """Apply a message, unless it is a repeat; return which order it counts for.

        `is_strangers` says whether a message is about an order that is not ours. A message that
        cannot be read changes nothing: the gateway quarantines it, and the order
        stays live.
        """
        try:
            inbound = parse_inbound(entry.raw)
        except FixError:
            return None
        heard, journal = self._hearing.take(inbound), self._journal
        order = self._told_of(inbound, heard.cl_ord_id)
        cl_ord_id = journal.first_name(heard.cl_ord_id) if order is None else order.cl_ord_id
        if not heard.is_news or is_strangers(cl_ord_id, inbound):
            return None
        self._answered(inbound, entry.next_offset)
        order = journal.order(cl_ord_id)
        if order is not None and not counts_about(inbound, heard.cl_ord_id, order):
            return None  # about a ClOrdID that the broker may not have yet, or not any more
        report = inbound if isinstance(inbound, ExecutionReport) else None
        if report is not None and heard.works and not _is_old(report, order):
            fields = order_told_by(report, cl_ord_id)
            journal.reopened(
                LiveOrder(cl_ord_id=cl_ord_id, fields=fields, inbox_offset=entry.next_offset)
            )
        if heard.ends:
            after = None if report is None else after_report(OrderState.NEW, report)
            why = inbound.envelope.msg_type
            journal.closed(cl_ord_id, entry.next_offset, why, filled=after is OrderState.FILLED)
        return cl_ord_id, inbound

    def _told_of(self, inbound: Inbound, name: str) -> LiveOrder | None:
        """Return the order of ours that a message is about, by any of its names."""
        journal = self._journal
        if not isinstance(inbound, ExecutionReport):
            return journal.order(name)
        found = order_told_of(
            (inbound.orig_cl_ord_id, inbound.cl_ord_id),
            inbound.order_id,
            journal.order,
            lambda order_id: journal.order(self._order_ids.get(order_id, "")),
        )
        if found is not None and (order_id := order_id_of(inbound.order_id)):
            first = self._order_ids.setdefault(order_id, found.cl_ord_id)
            self._order_ids[order_id] = first if first == found.cl_ord_id else ""  # of two orders
        return found

    def _answered(self, inbound: Inbound, offset: int) -> None:
        """Note what a message says about a replace under way."""
        match inbound:
            case ExecutionReport() | CancelReject():
                name = inbound.cl_ord_id
            case BusinessReject():
                name = inbound.ref_id or self._replaces.get(inbound.ref_seq_num, "")
            case SessionReject():
                name = self._replaces.get(inbound.ref_seq_num, "")
            case _:
                return
        order = self._journal.order(name) if name else None
        if order is None or order.asked_name != name:
            return
        if not isinstance(inbound, ExecutionReport):
            self._journal.kept(order.cl_ord_id, offset)
        elif says_replaced(inbound, name):
            self._journal.replaced(order.cl_ord_id, offset)


def _is_old(report: ExecutionReport, order: LiveOrder | None) -> bool:
    """Return whether a report is older than the fill that ended its order."""
    return order is not None and order.filled and is_overtaken(report, order.quantity)
