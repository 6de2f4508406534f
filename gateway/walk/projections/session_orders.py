"""The orders of one FIX session: what its broker says is about these, and about no other's.

ClOrdIDs are ours and unique, but MsgSeqNums, epochs and OrderIDs begin anew with each session, and
a broker that names an order which went to another has no say in it. Orders of ledgers from before
sessions were named belong to every session.
"""

from dataclasses import dataclass

from fix.orders.naming import order_told_of
from gateway.walk.journal.standing import Standing
from gateway.walk.projections.outbox import Orders


@dataclass(frozen=True, slots=True)
class SessionOrders:
    """The orders that went to a session; every method raises NotReadyError as `Orders` does."""

    orders: Orders
    session: str

    def by_cl_ord_id(self, cl_ord_id: str) -> Standing | None:
        """Return the standing of the order with a ClOrdID, or None."""
        return self._here(self.orders.by_cl_ord_id(cl_ord_id))

    def by_cancel_id(self, cancel_id: str) -> Standing | None:
        """Return the standing of the order that a request to cancel or replace is for, or None."""
        return self._here(self.orders.by_cancel_id(cancel_id))

    def by_broker_id(self, order_id: str) -> Standing | None:
        """Return the standing of the order with an OrderID (37) at the broker, or None."""
        return self.orders.by_broker_id(self.session, order_id)

    def by_msg_seq_num(self, epoch: int, number: int) -> Standing | None:
        """Return the standing of the order that left under a MsgSeqNum (34), or None."""
        return self.orders.by_msg_seq_num(self.session, epoch, number)

    def by_replace_number(self, epoch: int, number: int) -> Standing | None:
        """Return the standing of the order whose replace left under a MsgSeqNum (34), or None."""
        return self.orders.by_replace_number(self.session, epoch, number)

    def told_of(self, names: tuple[str, str], order_id: str) -> Standing | None:
        """Return the standing of the order that a report is about (`fix.orders.naming`), or None.

        `names` are its OrigClOrdID (41) and ClOrdID (11), `order_id` its OrderID (37).
        """
        return order_told_of(names, order_id, self._by_any_name, self._by_own_order_id)

    def live(self) -> tuple[Standing, ...]:
        """Return the orders that may be working at this session's broker."""
        return tuple(one for one in self.orders.live() if one.is_at(self.session))

    def elsewhere(self) -> tuple[Standing, ...]:
        """Return the orders that may be working at another session's broker."""
        return tuple(one for one in self.orders.live() if not one.is_at(self.session))

    def placed_here(self) -> tuple[Standing, ...]:
        """Return every order of this session and mode that was announced, oldest first."""
        return tuple(one for one in self.orders.placed_here() if one.is_at(self.session))

    def names(self) -> frozenset[str]:
        """Return every known ClOrdID, of whichever session: all of them are ours."""
        return self.orders.names()

    def _here(self, found: Standing | None) -> Standing | None:
        return found if found is not None and found.is_at(self.session) else None

    def _by_any_name(self, name: str) -> Standing | None:
        return self.by_cl_ord_id(name) or self.by_cancel_id(name)

    def _by_own_order_id(self, order_id: str) -> Standing | None:
        if self.orders.shares_id(self.session, order_id):
            return None
        found = self.by_broker_id(order_id)
        return found if found is not None and found.cl_ord_id else None
