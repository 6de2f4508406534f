"""What marks the holdings, and how a wrong mark is corrected with the peak that it made."""

from pathlib import Path
from typing import Any

import pytest

from audit.records.kinds import Kind
from gateway.errors import AdjustmentRefusedError, RequestError
from gateway.feeds.live.items import BARS, QUOTES, PostedBar, PostedQuote, bar_item, quote_item
from gateway.walk.journal.run import MarkTaken
from gateway.walk.projections.book import BOOK_KINDS, Twin, book_events
from risk.state.book import Book
from risk.state.busts import BookFold
from tests.doubles.adjusting import adjusted
from tests.doubles.feeds import FedDesk, bars, fed_desk, quote
from tests.doubles.memory_desk import AGENT_ACCOUNT, memory_desk
from tests.doubles.small_desk import EQUITY_MINOR, INSTRUMENTS
from tests.doubles.walk_scenes import quantity

S = 1_000_000
SPXN = INSTRUMENTS["SPXN"]


@pytest.fixture
def fed(tmp_path: Path) -> FedDesk:
    return fed_desk(memory_desk(tmp_path, live=False))


def put(fed: FedDesk, number: int, **changes: object) -> dict[str, Any]:
    posted = PostedQuote.model_validate(quote(number, fed.clock.wall_us(), **changes))
    return fed.feeding.take(QUOTES, [quote_item(posted, SPXN)])


def holding(fed: FedDesk) -> None:
    """Deliver bars and hold something."""
    posted = bars(60, fed.clock.wall_us())
    fed.feeding.take(BARS, [bar_item(PostedBar(**one), SPXN) for one in posted])
    put(fed, 1)
    order = fed.desk.standing(fed.desk.ask(400).decision_id)
    lots = str(quantity(order))
    fed.desk.settled(fed.desk.report(order, t39="2", t32=lots, t14=lots, t151="0"))


def marked(fed: FedDesk, number: int, **changes: object) -> list[int]:
    """Post a quote a minute later and return the prices of the account's marks so far."""
    fed.clock.passes(61 * S)
    put(fed, number, **changes)
    fed.feeding.watch()
    found = [MarkTaken.of(one) for one in fed.desk.log.of_kind(Kind.MARK_TAKEN)]
    return [one.price_ticks for one in found if one.account == AGENT_ACCOUNT]


def book(fed: FedDesk) -> Book:
    return fed.desk.small.desk.own.section.book(AGENT_ACCOUNT)


NO_MARK: dict[str, dict[str, object]] = {
    "ten times": {"bid": "2685.00", "ask": "2685.10"},
    "a tenth": {"bid": "26.85", "ask": "26.86"},
    "one side": {"bid": "0.01", "ask": "2685.00"},
    "wide": {"bid": "200.00", "ask": "300.00"},
    "less wide": {"bid": "268.00", "ask": "275.00"},
    "not firm": {"firm": False},
    "nothing bid": {"bid_size": "0"},
    "nothing offered": {"ask_size": "0.00"},
    "pence": {"currency": "GBX"},
    "pence too": {"currency": "usd"},
}


@pytest.mark.parametrize("name", NO_MARK)
def test_a_quote_that_is_none_marks_nothing_and_the_last_sane_mark_stays(
    fed: FedDesk, name: str
) -> None:
    """Attacks sec_feed f2 and f5: such quotes led and marked holdings."""
    holding(fed)
    sane = marked(fed, 2)
    before = book(fed)
    assert marked(fed, 3, **NO_MARK[name]) == sane
    assert book(fed).peak_minor == before.peak_minor
    assert book(fed).positions == before.positions, "its time says how old the mark is"
    assert len(marked(fed, 4)) == len(sane) + 1


@pytest.mark.parametrize("name", ["ten times", "a tenth"])
def test_nothing_is_decided_at_a_price_far_from_the_last_close(fed: FedDesk, name: str) -> None:
    """Attack sec_feed f1: with one source an order left at ten times the price."""
    holding(fed)
    put(fed, 2, **NO_MARK[name])
    with pytest.raises(RequestError, match="SPXN: quote is far from the last close: middle"):
        fed.desk.ask(410)
    assert fed.market.tick("SPXN").quote.seq_gap == 1, "a decision under way must see it"
    put(fed, 3)
    assert fed.market.tick("SPXN").quote.seq_gap == 0


def test_nothing_is_decided_after_a_bar_far_from_the_quote(fed: FedDesk) -> None:
    """Attack sec_feed f6: a last bar at ten times the price."""
    posted = bars(60, fed.clock.wall_us())
    posted[-1] |= {"open": "2685.00", "high": "2690.00", "low": "2680.00", "close": "2685.00"}
    fed.feeding.take(BARS, [bar_item(PostedBar(**one), SPXN) for one in posted])
    put(fed, 1)
    with pytest.raises(RequestError, match="far from the last close"):
        fed.desk.ask()


def test_why_nothing_is_marked_is_on_record_and_when_it_ends(fed: FedDesk) -> None:
    holding(fed)
    marked(fed, 2)
    marked(fed, 3, bid="2685.00", ask="2685.10")
    marked(fed, 4)
    found = [one.body for one in fed.desk.log.of_kind(Kind.FEED_CONDITION)]
    said = [(one["condition"], str(one["detail"])) for one in found if one["feed"] == QUOTES]
    outside = next(detail for condition, detail in said if condition == "outside")
    assert "ticks is 9" in outside
    assert outside.endswith("limit 2000 bp")
    fed.clock.passes(61 * S)
    put(fed, 5)
    fed.feeding.watch()
    newest = fed.desk.log.of_kind(Kind.FEED_CONDITION)[-1]
    assert newest.body["condition"] == "ok"


@pytest.mark.parametrize(
    ("changes", "condition"),
    [
        (NO_MARK["one side"], "wide"),
        (NO_MARK["wide"], "wide"),
        (NO_MARK["not firm"], "not_firm"),
        (NO_MARK["nothing bid"], "not_firm"),
        (NO_MARK["pence"], "currency"),
    ],
)
def test_a_quote_that_is_none_does_not_lead(
    fed: FedDesk, changes: dict[str, object], condition: str
) -> None:
    """Attack sec_feed f2: a wide quote of a source with an earlier name led."""
    holding(fed)
    put(fed, 1, source="beta")
    told = put(fed, 1, source="AAA", **changes)
    assert [one["condition"] for one in told["conditions"]] == [condition]
    put(fed, 2, source="beta")
    fed.clock.passes(3 * S)
    put(fed, 3, source="beta")
    lead = fed.market.series(QUOTES, "SPXN")
    assert lead is not None
    assert lead.source != "AAA"
    assert fed.market.fresh_middle("SPXN") == 26_837


def wrong_marks(fed: FedDesk) -> tuple[Book, str]:
    """Mark sanely, then twice at a fifth more; return the book before and the wrong records."""
    holding(fed)
    marked(fed, 2)
    before = book(fed)
    marked(fed, 3, bid="315.00", ask="315.10")
    marked(fed, 4, bid="316.00", ask="316.10")
    assert book(fed).peak_minor > before.peak_minor
    seqs = [
        one.seq
        for one in fed.desk.log.of_kind(Kind.MARK_TAKEN)
        if MarkTaken.of(one).account == AGENT_ACCOUNT
    ][-2:]
    return before, f"{seqs[0]}-{seqs[1]}"


@pytest.mark.parametrize("price", ["", "268.36"])
def test_a_corrected_mark_takes_its_peak_with_it(fed: FedDesk, price: str) -> None:
    before, records = wrong_marks(fed)
    twin = fed.desk.small.desk.own.section.twin_book(Twin.PLACEBO, AGENT_ACCOUNT)
    adjusted(fed.desk, sort="mark", instrument="SPXN", marks=records, price=price)
    after = book(fed)
    assert after.peak_minor == max(before.peak_minor, after.equity_minor)
    assert after.equity_minor == (before.equity_minor if not price else after.equity_minor)
    (position,) = after.positions
    assert position.mark_ticks == (26_836 if price else before.positions[0].mark_ticks)
    again = BookFold(Book.empty(AGENT_ACCOUNT, EQUITY_MINOR))
    for record in fed.desk.log.records(kinds=BOOK_KINDS, account=AGENT_ACCOUNT):
        for event in book_events(record):
            again.take(event)
    assert again.book == after, "whoever folds the records has the same book"
    corrected = fed.desk.small.desk.own.section.twin_book(Twin.PLACEBO, AGENT_ACCOUNT)
    assert corrected.peak_minor <= twin.peak_minor


def test_after_the_true_price_again_the_drawdown_of_a_wrong_mark_is_gone(fed: FedDesk) -> None:
    """Attack sec_feed f5: the peak stayed, and R12 refused for good."""
    _, records = wrong_marks(fed)
    marked(fed, 5)
    fallen = book(fed)
    assert fallen.equity_minor < fallen.peak_minor
    adjusted(fed.desk, sort="mark", instrument="SPXN", marks=records)
    after = book(fed)
    assert after.equity_minor == fallen.equity_minor
    assert after.peak_minor - after.equity_minor < fallen.peak_minor - fallen.equity_minor
    assert after.day.low_minor <= after.equity_minor


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({}, "name the first and last record"),
        ({"marks": "1-1"}, "hold no mark of SPXN"),
        ({"marks": "1-999999", "instrument": "ELSE"}, "not in this gateway's"),
        ({"marks": "1-999999", "price": "0.00"}, "not a positive price"),
        ({"marks": "1-999999", "account": ""}, "name the account"),
    ],
)
def test_a_correction_that_corrects_nothing_is_refused(
    fed: FedDesk, changes: dict[str, str], why: str
) -> None:
    holding(fed)
    marked(fed, 2)
    with pytest.raises(AdjustmentRefusedError, match=why):
        adjusted(fed.desk, **({"sort": "mark", "instrument": "SPXN"} | changes))
    assert not fed.desk.log.of_kind(Kind.BOOK_ADJUSTED)
