"""The book is held against the broker's own bytes: what our fold lost or invented is found."""

from collections.abc import Iterable
from dataclasses import replace

from audit.records.kinds import Kind
from audit.records.record import Record
from gateway.desk.bodies.order_requests import ReplaceRequest
from gateway.walk.journal.control.difference import DifferenceCause
from gateway.walk.projections.outbox import Orders
from gateway.walk.reconciliation.book_check import PAUSE_S, TRIES, BookCheck, CheckTools
from tests.doubles.memory_desk import AGENT, AGENT_ACCOUNT, MemoryDesk


def check_of(desk: MemoryDesk, orders: Orders | None = None) -> BookCheck:
    own = desk.small.desk.own
    return BookCheck(
        CheckTools(
            ledger=own.tools.ledger,
            reader=own.reader,
            orders=own.orders if orders is None else orders,
            books=own.section,
            session=desk.small.settling.session,
            instruments=own.instruments,
            pause=lambda _: None,
        )
    )


def told(desk: MemoryDesk) -> list[tuple[object, ...]]:
    names = ("reason", "account", "cl_ord_id", "book_lots", "broker_lots", "source")
    records = desk.log.records(kinds=(Kind.BOOK_DIFFERENCE,))
    return [tuple(one.body.get(name) for name in names) for one in records]


def traded(desk: MemoryDesk) -> str:
    """Trade two orders in part, with a bust, a duplicate and a cancel; returns one's ClOrdID."""
    first, second = desk.rest(50), desk.rest(60)
    fill = desk.report(first, t17="A", t32="5", t14="5")
    desk.settled(fill)
    desk.settled(desk.report(desk.standing(first.decision_id), t17="B", t32="2", t14="7"))
    desk.settled(fill)
    bust = {"t150": "H", "t17": "C", "t19": "A", "t14": "2", "t151": "99"}
    desk.settled(desk.report(desk.standing(first.decision_id), **bust))
    desk.settled(desk.report(second, t32="9", t14="9"))
    over = {"t150": "4", "t39": "4", "t151": "0", "t14": "9", "t41": second.cl_ord_id, "t11": "X"}
    desk.settled(desk.report(desk.standing(second.decision_id), **over))
    assert desk.lots() == 11
    return first.cl_ord_id


def test_a_book_that_follows_the_reports_agrees(desk: MemoryDesk) -> None:
    traded(desk)
    check = check_of(desk)
    assert check.run("reconciliation") == 0
    assert told(desk) == []
    order = desk.rest(70)
    desk.settled(desk.report(order))
    assert check.run("run_end") == 0, "and goes on from where it has read"


def test_a_replaced_orders_total_is_the_one_under_its_new_name(desk: MemoryDesk) -> None:
    """After a replace the broker goes on under the new ClOrdID alone."""
    order = desk.rest(50)
    desk.settled(desk.report(order, t17="A", t32="5", t14="5"))
    request = ReplaceRequest(client_key="r", qty_lots=60)
    name = desk.small.desk.order_desk.replace(AGENT, order.cl_ord_id, request).replace.replace_id
    done = {"t150": "5", "t39": "1", "t14": "5", "t32": "0", "t31": "0", "t38": "60", "t151": "55"}
    order = desk.standing(order.decision_id)
    desk.settled(desk.report(order, **done, t17="B", t11=name, t41=order.cl_ord_id))
    check = check_of(desk)
    assert check.run("reconciliation") == 0
    desk.settled(desk.report(order, t17="C", t11=name, t32="7", t14="12", t38="60", t151="48"))
    assert desk.lots() == 12
    assert check.run("reconciliation") == 0
    assert check_of(desk).run("run_end") == 0, "also when it reads everything at once"


def without(records: Iterable[Record], kind: Kind, name: str) -> list[Record]:
    return [r for r in records if not (r.kind is kind and r.body.get("cl_ord_id") == name)]


def test_an_order_that_the_fold_lost_is_found(desk: MemoryDesk) -> None:
    """As when a batch was told late and dropped: the order has no name, its fills are strangers."""
    name = traded(desk)
    lossy = Orders()
    lossy.fold(without(desk.small.reader.records(), Kind.ORDER_SENDING, name))
    assert check_of(desk, lossy).run("reconciliation") > 0
    assert ("CUM_QTY", None, name, 0, 2, "reconciliation") in told(desk)
    section = desk.small.desk.own.section
    assert section.differences.blocks("SPXN")
    before = len(told(desk))
    assert check_of(desk, lossy).run("run_end") > 0
    assert len(told(desk)) == before, "told once"


def test_a_fill_that_the_fold_lost_is_found(desk: MemoryDesk) -> None:
    name = traded(desk)
    lossy = Orders()
    lost = [
        r
        for r in desk.small.reader.records()
        if not (r.kind is Kind.ORDER_REPORTED and r.body["exec_id"] == "B")
    ]
    lossy.fold(lost)
    assert check_of(desk, lossy).run("run_end") == 2
    assert sorted(told(desk), key=str) == [
        ("ACCOUNT_LOTS", AGENT_ACCOUNT, "", 11, 9, "run_end"),
        ("CUM_QTY", AGENT_ACCOUNT, name, 0, 2, "run_end"),
    ]


def test_a_difference_that_goes_away_by_itself_is_none(desk: MemoryDesk) -> None:
    """A report is being settled while the check looks."""
    name = traded(desk)
    late = Orders()
    records = list(desk.small.reader.records())
    late.fold(without(records, Kind.ORDER_SENDING, name))
    check = check_of(desk, late)
    own = desk.small.desk.own
    tools = check._tools  # noqa: SLF001 - to let the fold come along while it waits

    def comes_along(_: float) -> None:
        late.__init__()  # type: ignore[misc]
        late.fold(records)

    object.__setattr__(tools, "pause", comes_along)
    assert check.run("reconciliation") == 0
    assert told(desk) == []
    assert own.section.differences.state == "ready"


def test_what_was_found_when_it_was_settled_is_not_told_a_second_time(desk: MemoryDesk) -> None:
    order, other = desk.rest(50), desk.rest(60)
    desk.settled(desk.report(order, t11="NOBODYSORDERNOBODYSO", t32="4", t14="4"))
    desk.settled(desk.report(order, t31="1.005", t14="1"))
    desk.settled(desk.report(other, t14="7"))
    causes = [row[0] for row in told(desk)]
    assert causes == [
        DifferenceCause.UNKNOWN_ORDER,
        DifferenceCause.UNBOOKABLE,
        DifferenceCause.CUM_QTY,
    ]
    assert check_of(desk).run("run_end") == 3
    assert [row[0] for row in told(desk)] == causes


def test_an_older_report_that_comes_again_is_no_news_of_the_total(desk: MemoryDesk) -> None:
    order = desk.rest(50)
    first = desk.report(order, t17="T1")
    desk.settled(first)
    second = desk.report(desk.standing(order.decision_id), t17="T2")
    desk.settled(second)
    desk.settled(first)
    assert check_of(desk).run("reconciliation") == 0
    assert told(desk) == []


def test_what_is_apart_is_looked_at_again_and_told_when_it_stays_so(desk: MemoryDesk) -> None:
    name = traded(desk)
    lossy = Orders()
    lossy.fold(without(desk.small.reader.records(), Kind.ORDER_SENDING, name))
    check = check_of(desk, lossy)
    pauses: list[float] = []
    object.__setattr__(check._tools, "pause", pauses.append)  # noqa: SLF001 - to count
    check.run("reconciliation")
    assert pauses == [PAUSE_S] * (TRIES - 1)
    before = len(told(desk))
    check.run("reconciliation")
    assert (len(pauses), len(told(desk))) == (TRIES - 1, before), "it is known by now"


def test_what_the_broker_counts_in_shares_is_compared_in_lots(desk: MemoryDesk) -> None:
    """As if each lot had ten shares: what was booked as lots is a tenth of what he says."""
    name = traded(desk)
    check = check_of(desk)
    lots = {symbol: replace(one, lot=10) for symbol, one in desk.small.desk.own.instruments.items()}
    object.__setattr__(check._tools, "instruments", lots)  # noqa: SLF001 - to count in lots
    check.run("reconciliation")
    apart = {row[2]: (row[3], row[4]) for row in told(desk) if row[0] == "CUM_QTY"}
    assert apart[name] == (2, 0), "two shares are no whole lot of ten"
