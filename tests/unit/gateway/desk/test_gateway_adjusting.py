"""Adjustments of a book: signed by two, folded, idempotent, refused where they do not fit."""

from typing import Any

import pytest

from audit.records.kinds import Kind
from gateway.desk.officers.adjustment import adjust
from gateway.errors import AdjustmentRefusedError
from gateway.installation.keys.keyring import SIGNING_ROLES
from gateway.walk.projections.book import BOOK_KINDS, Twin, book_events
from gateway.walk.reconciliation.book_check import traded_lots
from risk.state.book import Book
from risk.state.busts import BookFold
from tests.doubles.adjusting import adjusted, signed_adjustment
from tests.doubles.memory_desk import AGENT_ACCOUNT, MemoryDesk
from tests.doubles.small_desk import EQUITY_MINOR
from tests.doubles.walk_scenes import quantity

OPENING = {
    "sort": "opening",
    "ref": "opening:2018-01-02",
    "amount": "500000.00",
    "positions": [{"instrument": "SPXN", "quantity": 400, "price": "250.00"}],
}


def book_of(desk: MemoryDesk) -> Book:
    return desk.small.desk.own.section.book(AGENT_ACCOUNT)


def bought(desk: MemoryDesk) -> int:
    """Buy some at the broker, filled at once; return the lots."""
    order = desk.rest(50)
    lots = quantity(order)
    whole = {"t32": str(lots), "t14": str(lots), "t151": "0", "t39": "2"}
    desk.settled(desk.report(order, **whole))
    return lots


def sound(desk: MemoryDesk) -> None:
    """Require what must hold after every adjustment, whoever folds the records."""
    book = book_of(desk)
    cost = sum(position.cost_minor for position in book.positions)
    assert book.deposit_minor + book.realised_minor - book.fees_minor == book.cash_minor + cost
    again = BookFold(Book.empty(AGENT_ACCOUNT, EQUITY_MINOR))
    for record in desk.log.records(kinds=BOOK_KINDS, account=AGENT_ACCOUNT):
        for event in book_events(record):
            again.take(event)
    assert again.book == book
    own = desk.small.desk.own
    told = traded_lots(own.orders).get((AGENT_ACCOUNT, "SPXN"), 0)
    told += own.section.differences.adjusted(AGENT_ACCOUNT, "SPXN")
    assert told == book.lots("SPXN"), "the check against the broker would raise an alarm"


def test_an_opening_gives_the_book_its_positions_cash_and_equity(desk: MemoryDesk) -> None:
    adjusted(desk, **OPENING)
    book = book_of(desk)
    assert (book.lots("SPXN"), book.cash_minor) == (400, 50_000_000)
    assert book.deposit_minor == book.equity_minor == book.peak_minor == 60_000_000
    assert (book.day.start_minor, book.day.low_minor) == (60_000_000, 60_000_000)
    twin = desk.small.desk.own.section.twin_book(Twin.PLACEBO, AGENT_ACCOUNT)
    assert (twin.lots("SPXN"), twin.equity_minor) == (400, 60_000_000)
    sound(desk)
    lots = bought(desk)
    assert book_of(desk).lots("SPXN") == 400 + lots
    sound(desk)


def test_a_second_opening_says_where_book_and_file_differ(desk: MemoryDesk) -> None:
    adjusted(desk, **OPENING)
    other = OPENING | {"ref": "opening:2018-01-03"}
    with pytest.raises(AdjustmentRefusedError, match="agrees with its book"):
        adjusted(desk, **other)
    other |= {"amount": "500000.01", "positions": []}
    with pytest.raises(AdjustmentRefusedError, match="SPXN 400 lots here, 0 in the file; cash"):
        adjusted(desk, **other)
    assert len(desk.log.of_kind(Kind.BOOK_ADJUSTED)) == 1


def test_a_split_changes_lots_average_price_and_mark_and_no_money(desk: MemoryDesk) -> None:
    lots = bought(desk)
    before = book_of(desk)
    adjusted(desk, sort="split", account="", instrument="SPXN", ratio="2:1")
    after = book_of(desk)
    old, new = before.position("SPXN"), after.position("SPXN")
    assert old is not None
    assert new is not None
    assert (new.lots, new.cost_minor, after.cash_minor) == (
        2 * lots,
        old.cost_minor,
        before.cash_minor,
    )
    assert abs(new.mark_ticks - old.mark_ticks / 2) <= 0.5
    sound(desk)
    # a bust of the trade from before takes everything out again
    (trade,) = next(s for s in desk.small.desk.own.orders.traded()).trades
    order = desk.small.desk.own.orders.traded()[0]
    gone = {"t150": "H", "t19": trade.exec_ids[0], "t17": "GONE", "t32": "0", "t31": "0"}
    desk.settled(desk.report(order, **gone, t14="0", t151="51", t39="0"))
    assert book_of(desk).lots("SPXN") == 0


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            {"sort": "split", "account": "", "instrument": "SPXN", "ratio": "2:1"},
            "no account holds",
        ),
        ({"sort": "split", "account": "", "instrument": "SPXN"}, "give the ratio"),
        ({"sort": "dividend", "instrument": "SPXN", "amount": "5.00"}, "never held SPXN"),
        ({"sort": "dividend", "instrument": "ELSE", "amount": "5.00"}, "not in this gateway's"),
        ({"sort": "cash", "amount": "0.00"}, "not zero"),
        ({"sort": "cash", "amount": "-1000000.01"}, "fewer than go out"),
        ({"sort": "cash", "amount": "0.001"}, "write an amount"),
        ({"sort": "fee", "amount": ""}, "write an amount"),
        (
            {"sort": "fee", "amount": "1.00", "quantity": 5, "price": "9.00"},
            "--price, --quantity: no part of a fee",
        ),
        ({"sort": "cash", "amount": "1.00", "ratio": "2:1"}, "--ratio: no part of a cash"),
        ({"sort": "fee", "amount": "1.00", "account": "other"}, "account other is not open"),
        ({"sort": "fee", "amount": "1.00", "account": ""}, "name the account"),
        ({"sort": "trade", "instrument": "SPXN", "quantity": 5, "price": "9.00"}, "name the side"),
        ({"sort": "trade", "instrument": "SPXN", "side": "BUY", "price": "9.00"}, "positive"),
        ({"sort": "trade", "instrument": "SPXN", "side": "BUY", "quantity": 5}, "price"),
        (
            {"sort": "give_up", "instrument": "SPXN", "side": "SELL", "quantity": 5, "price": "9"},
            "holds 0 lots",
        ),
        (OPENING | {"positions": [{"instrument": "ELSE", "quantity": 1, "price": "1"}]}, "ELSE"),
        (OPENING | {"positions": OPENING["positions"] * 2}, "stands twice"),  # type: ignore[operator]
    ],
)
def test_what_would_not_apply_is_refused_and_leaves_nothing(
    change: dict[str, Any], why: str, desk: MemoryDesk
) -> None:
    before = book_of(desk)
    with pytest.raises(AdjustmentRefusedError, match=why):
        adjusted(desk, **change)
    assert desk.log.of_kind(Kind.BOOK_ADJUSTED) == []
    assert book_of(desk) == before


def test_a_split_waits_until_orders_and_holds_have_ended(desk: MemoryDesk) -> None:
    bought(desk)
    order = desk.rest(20)
    with pytest.raises(AdjustmentRefusedError, match=order.decision_id):
        adjusted(desk, sort="split", account="", instrument="SPXN", ratio="2:1")


def test_a_split_that_leaves_fractions_is_refused(desk: MemoryDesk) -> None:
    lots = bought(desk)
    with pytest.raises(AdjustmentRefusedError, match="fractions"):
        adjusted(desk, sort="split", account="", instrument="SPXN", ratio=f"1:{lots + 1}")


def test_income_costs_and_transfers_are_told_apart(desk: MemoryDesk) -> None:
    bought(desk)
    before = book_of(desk)
    adjusted(desk, ref="d", sort="dividend", instrument="SPXN", amount="12.50")
    adjusted(desk, ref="f", sort="fee", amount="2.00")
    middle = book_of(desk)
    assert middle.realised_minor - before.realised_minor == 1_250
    assert middle.fees_minor - before.fees_minor == 200
    adjusted(desk, ref="c", sort="cash", amount="-1000.00")
    after = book_of(desk)
    assert after.equity_minor == middle.equity_minor - 100_000
    moved = (after.deposit_minor, after.peak_minor, after.day.start_minor, after.day.low_minor)
    were = (middle.deposit_minor, middle.peak_minor, middle.day.start_minor, middle.day.low_minor)
    assert moved == tuple(one - 100_000 for one in were), "a transfer is no loss"
    sound(desk)


def test_a_trade_by_phone_and_its_give_up_book_like_trades(desk: MemoryDesk) -> None:
    trade = {"instrument": "SPXN", "quantity": 10, "price": "268.50", "reference": "X77"}
    adjusted(desk, ref="t", sort="trade", side="BUY", fee="1.00", **trade)
    book = book_of(desk)
    assert (book.lots("SPXN"), book.fees_minor, book.late_fills) == (10, 100, 0)
    sound(desk)
    adjusted(desk, ref="g", sort="give_up", side="SELL", **trade)
    assert (book_of(desk).lots("SPXN"), book_of(desk).realised_minor) == (0, 0)
    sound(desk)


def test_the_same_again_changes_nothing_and_a_name_is_used_once(desk: MemoryDesk) -> None:
    first = adjusted(desk, sort="fee", amount="2.00")
    again = adjusted(desk, sort="fee", amount="2.00")
    assert (first["again"], again["again"], first["seqs"]) == (False, True, again["seqs"])
    with pytest.raises(AdjustmentRefusedError, match="is the name of record"):
        adjusted(desk, sort="fee", amount="3.00")
    assert book_of(desk).fees_minor == 200


@pytest.mark.parametrize("missing", SIGNING_ROLES)
def test_both_officers_must_have_signed_these_terms(missing: str, desk: MemoryDesk) -> None:
    own, request = desk.small.desk.own, signed_adjustment(desk, sort="fee", amount="2.00")
    one = {role: text for role, text in request.signatures.items() if role != missing}
    for changed in ({"signatures": one}, {"amount": "1.00"}, {"ref": "two"}, {"reason": "x"}):
        with pytest.raises(AdjustmentRefusedError, match="must sign"):
            adjust(own, "otto", request.model_copy(update=changed))
    assert book_of(desk).fees_minor == 0


def test_a_verdict_rests_on_the_adjusted_book(desk: MemoryDesk) -> None:
    adjusted(desk, **OPENING)
    response = desk.ask(5_000, exposure_bp=2_000)
    given = desk.verdict(response.decision_id).body
    assert given["basis_seq"] >= desk.log.of_kind(Kind.BOOK_ADJUSTED)[-1].seq
    assert given["intent"]["side"] == "BUY"
    # a fifth of the equity of 600,000, of which 400 lots are held already
    assert 0 < given["intent"]["qty_lots"] < 100
