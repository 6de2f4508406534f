"""Orders at the broker that are not ours, as people see them.

Not here: cancelling one (nobody does, unless the profile says so), and booking what it traded (an
adjustment of two persons).
"""

from gateway.desk.bodies.model import RequestModel
from gateway.installation.keys.keyring import Caller
from gateway.walk.projections.foreign import ForeignOrder, ForeignOrders


class ForeignLine(RequestModel):
    """One order that is not ours, by the broker's last word; numbers are decimal text.

    `name` is the broker's OrderID (37), `account` its tag 1, `treatment` what the profile said.
    """

    name: str
    cl_ord_id: str
    account: str
    instrument: str
    side: str
    quantity: str
    price: str
    filled: str
    leaves: str
    state: str
    live: bool
    treatment: str
    first_heard_us: int
    last_heard_us: int
    reports: int
    record_seq: int


class ForeignList(RequestModel):
    """Orders that are not ours, the one that was heard of last first."""

    orders: tuple[ForeignLine, ...]


def foreign_lines(
    caller: Caller, orders: ForeignOrders | None, *, live: bool, limit: int
) -> tuple[ForeignLine, ...]:
    """Return the orders that are not ours; an agent sees its own orders only, so none of these."""
    if orders is None or not caller.sees(""):
        return ()
    return tuple(map(_line, orders.listed(working=live)[:limit]))


def _line(one: ForeignOrder) -> ForeignLine:
    return ForeignLine(
        name=one.name,
        cl_ord_id=one.cl_ord_id,
        account=one.order_account,
        instrument=one.instrument,
        side=one.side,
        quantity=one.quantity,
        price=one.price,
        filled=one.filled,
        leaves=one.leaves,
        state=one.state,
        live=one.works,
        treatment=one.treatment,
        first_heard_us=one.first_us,
        last_heard_us=one.said_us,
        reports=one.reports,
        record_seq=one.seq,
    )
