"""The judge of a scene: the broker's own orders, fills and wire against our book and ledger.

It takes nothing that the desk was told by the broker for the broker's word.
"""

from collections import Counter
from decimal import Decimal

from audit.records.kinds import Kind
from gateway.clock import pause
from tests.doubles.operator_page import do
from tests.doubles.outside_broker import OutsideBroker
from tests.doubles.scene_desk import SYMBOL, ServedDesk

Fills = dict[str, tuple[int, Decimal]]
"""Lots and price of each trade that stands, by its newest ExecID."""
TRIES = 150
PAUSE_S = 0.2
CENTS = 100
BUY = "1"


def agrees(desk: ServedDesk, broker: OutsideBroker) -> None:
    """Assert that our book is the broker's, that nothing left twice and that the ledger verifies.

    Trades are compared one by one, then the position and the cash that they make.
    """
    for _ in range(TRIES):  # the broker's last words may still be on their way
        if ours(desk) == theirs(broker):
            break
        pause(PAUSE_S)
    assert ours(desk) == theirs(broker)
    assert booked(desk) == sums(broker)
    nothing_left_twice(desk, broker)
    for direction in ("in", "out"):  # neither engine refuses a message of the other
        for kind in ("3", "j"):
            assert broker.wire(kind, direction) == []
    assert desk.app.desk.parts()["book"] == "ready"
    desk.app.ledger.checkpoint_now()
    do("verify", "--key", "keys/ledger.key.pub")


def ours(desk: ServedDesk) -> Fills:
    """Return the trades that we have booked."""
    minor = desk.app.plan.instruments[SYMBOL].tick_minor
    trades = (trade for one in desk.app.orders.traded() for trade in one.trades)
    return {
        trade.exec_ids[-1]: (trade.lots, Decimal(trade.fill.price_ticks * minor) / CENTS)
        for trade in trades
        if trade.fill is not None
    }


def theirs(broker: OutsideBroker) -> Fills:
    """Return the trades that stand at the broker."""
    return {
        exec_id: (qty, Decimal(price))
        for one in broker.orders().values()
        for exec_id, (qty, price) in one["trades"].items()
    }


def booked(desk: ServedDesk) -> tuple[int, Decimal]:
    """Return the position in the book, and the money spent on it."""
    book = desk.app.desk.own.section.book(agents_account(desk))
    return book.lots(SYMBOL), Decimal(book.deposit_minor - book.cash_minor) / CENTS


def agents_account(desk: ServedDesk) -> str:
    """Return the account that the agent's orders are for."""
    own = desk.app.plan.tags.account
    of_init = f"{own}.agent-1"  # the account of the scope that `init` gives its agent
    return of_init if of_init in desk.app.desk.own.section.accounts else f"{own}.agent"


def sums(broker: OutsideBroker) -> tuple[int, Decimal]:
    """Return the position, and the money spent on it with fees, that the broker's trades make."""
    lots, spent = 0, Decimal(0)
    for one in broker.orders().values():
        spent += sum(map(Decimal, one["fees"]))
        sign = 1 if one["side"] == BUY else -1
        for qty, price in one["trades"].values():
            lots += sign * qty
            spent += sign * qty * Decimal(price)
    return lots, spent


def nothing_left_twice(desk: ServedDesk, broker: OutsideBroker) -> None:
    """Assert that each ClOrdID came to the broker once, an order's after its record was made."""
    orders = [one[11] for one in broker.wire("D")]
    names = Counter(orders + [one[11] for kind in ("F", "G") for one in broker.wire(kind)])
    assert [name for name, count in names.items() if count > 1] == []
    announced = {
        str(record.body["cl_ord_id"])
        for record in desk.app.reader.records(kinds=(Kind.ORDER_SENDING,))
    }
    assert set(orders) <= announced
    theirs = (one for one in broker.orders().values() if one["word"])  # those that came by FIX
    assert set(orders) == {name for one in theirs for name in first_of(one)}


def first_of(order: dict[str, object]) -> list[str]:
    """Return the name under which an order first came."""
    before = order["before"]
    assert isinstance(before, list)
    return [str(name) for name in (*before, order["cl_ord_id"])[:1]]
