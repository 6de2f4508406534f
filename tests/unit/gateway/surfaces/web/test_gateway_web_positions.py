"""The positions page shows the book that the rules use, over all runs of its account."""

from typing import cast

import pytest

from audit.records.kinds import Kind
from audit.records.record import Draft
from audit.store.reader import LedgerReader
from gateway.evidence.statement import account_runs
from gateway.surfaces.web.views.lists import Views
from gateway.walk.journal.control.scope import AgentScoped
from gateway.walk.journal.standing import Standing
from tests.doubles.adjusting import adjusted
from tests.doubles.memory_desk import AGENT_ACCOUNT, MemoryDesk
from tests.doubles.small_desk import RUN


def views(desk: MemoryDesk) -> Views:
    return Views(cast("LedgerReader", desk.log), desk.small.table)


def traded(desk: MemoryDesk, lots: int, **more: str) -> Standing:
    order = desk.rest()
    told(desk, order, **({"t32": str(lots), "t14": str(lots)} | more))
    return order


def told(desk: MemoryDesk, order: Standing, **changes: str) -> None:
    desk.settled(desk.report(desk.standing(order.decision_id), **changes))


def restarted(desk: MemoryDesk, run_id: str, account: str = RUN, currency: str = "USD") -> None:
    """Put another run on record, as a start does."""
    first = desk.log.of_kind(Kind.RUN_STARTED)[0].body
    payload = dict(first) | {"run_id": run_id, "account": account, "currency": currency}
    desk.log.append(
        Draft(
            stream="control",
            kind=Kind.RUN_STARTED,
            payload=payload,
            actor="gateway",
            idem_key=f"run:{run_id}",
        )
    )


def test_every_account_that_holds_something_is_listed(desk: MemoryDesk) -> None:
    scoped = f"{RUN}.fund-b"
    for key, account in (("desk-b", scoped), ("desk-c", "elsewhere.fund-c")):
        of_key = AgentScoped(key=key, account=account, scope={}, scope_digest="0" * 64)
        desk.log.append(of_key.draft())
    view = views(desk).positions("", "")
    assert view is not None
    assert view.names == (RUN, AGENT_ACCOUNT, scoped)
    assert view.holdings == ()
    desk.small.desk.own.section.open_beside(scoped, RUN)
    opening = [{"instrument": "SPXN", "quantity": 40, "price": "250.00"}]
    adjusted(desk, ref="o", sort="opening", account=scoped, amount="500.00", positions=opening)
    traded(desk, 9)
    view = views(desk).positions("", scoped)
    assert view is not None
    assert [one.account for one in view.holdings] == [AGENT_ACCOUNT, scoped]
    section = desk.small.desk.own.section
    assert all(one.book == section.book(one.account) for one in view.holdings)
    assert (view.account, view.book) == (scoped, view.holdings[1].book)
    assert scoped in account_runs(cast("LedgerReader", desk.log)), "its statement can be asked for"
    assert views(desk).positions("", "elsewhere.fund-c") is None


def test_the_currency_is_that_of_the_account(desk: MemoryDesk) -> None:
    restarted(desk, "run-2", currency="EUR")
    shown = views(desk)
    view, older = shown.positions("", ""), shown.positions(RUN, "")
    assert view is not None
    assert older is not None
    assert (view.currency, older.currency, shown.frame().currency) == ("EUR", "USD", "EUR")
    assert shown.frame().account == RUN


def test_an_account_that_spans_runs_is_folded_over_all_its_records(desk: MemoryDesk) -> None:
    traded(desk, 9)
    restarted(desk, "run-2")
    traded(desk, 7)
    view = views(desk).positions("", "agent")
    assert view is not None
    assert view.run_id == "run-2"
    assert view.book == desk.small.desk.own.section.book(AGENT_ACCOUNT)
    assert (view.book.lots("SPXN"), view.fills) == (16, 2)


def test_an_older_runs_page_counts_no_later_run_of_its_account(desk: MemoryDesk) -> None:
    traded(desk, 9)
    restarted(desk, "run-2")
    traded(desk, 7)
    view = views(desk).positions(RUN, "agent")
    assert view is not None
    assert (view.book.lots("SPXN"), view.fills) == (9, 1)


def test_a_run_of_another_account_ends_no_page(desk: MemoryDesk) -> None:
    order = traded(desk, 9)
    restarted(desk, "run-2", account="elsewhere")
    told(desk, order, t32="1", t14="10")
    view = views(desk).positions(RUN, "agent")
    assert view is not None
    assert view.book.lots("SPXN") == 10, "a late report is of the account's own run"


def test_the_page_opens_on_the_account_that_trades(desk: MemoryDesk) -> None:
    empty = views(desk).positions("", "")
    assert empty is not None
    assert empty.account == RUN
    traded(desk, 9)
    view, own = views(desk).positions("", ""), views(desk).positions("", "own")
    assert view is not None
    assert own is not None
    assert (view.account, own.account) == (AGENT_ACCOUNT, RUN)


@pytest.mark.parametrize(
    ("account", "shown"), [("own", RUN), ("agent", AGENT_ACCOUNT), (RUN, RUN), ("agents", None)]
)
def test_an_unknown_account_is_not_another_one(
    desk: MemoryDesk, account: str, shown: str | None
) -> None:
    view = views(desk).positions("", account)
    assert (None if view is None else view.account) == shown


def test_a_trade_that_was_taken_back_is_no_fill_and_its_order_is_not_filled(
    desk: MemoryDesk,
) -> None:
    order = desk.rest()
    assert order.verdict is not None
    lots = str(order.verdict.body["intent"]["qty_lots"])
    told(desk, order, t17="T1", t32=lots, t14=lots, t151="0", t39="2")
    shown = views(desk)
    assert [row.outcome for row in shown.decisions(run_id="", outcome="", before=None).rows] == [
        "filled"
    ]
    told(desk, order, t150="H", t19="T1", t14="0", t151=lots, t39="0")
    view = shown.positions("", "")
    assert view is not None
    assert view.fills == 0
    (row,) = shown.decisions(run_id="", outcome="", before=None).rows
    assert (row.outcome, row.order_state) == ("approved", "new")
    assert shown.decisions(run_id="", outcome="filled", before=None).rows == ()
    (again,) = shown.decisions(run_id="", outcome="new", before=None).rows
    assert again.decision_id == order.decision_id
    page = shown.decision(order.decision_id)
    assert page is not None
    assert page.outcome == "approved"
