"""What feeds deliver to a desk: conditions on record, marks, and refusals that name them."""

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.errors import LedgerTimeoutError
from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway.errors import FeedRefusedError, NotReadyError, RequestError
from gateway.evidence.replay.replay import replay
from gateway.feeds.live.conditions import far_from
from gateway.feeds.live.items import (
    BARS,
    QUOTES,
    BarItem,
    PostedBar,
    PostedQuote,
    QuoteItem,
    bar_item,
    quote_item,
)
from gateway.feeds.live.splits import BarSplit
from gateway.walk.journal.run import MarkTaken
from tests.doubles.feeds import FedDesk, KeptInMemory, bars, fed_desk, quote
from tests.doubles.memory_desk import TABLE, memory_desk
from tests.doubles.small_desk import INSTRUMENTS

SECOND = 1_000_000
SPXN = INSTRUMENTS["SPXN"]


@pytest.fixture
def fed(tmp_path: Path) -> FedDesk:
    return fed_desk(memory_desk(tmp_path, live=False))


def item(fed: FedDesk, number: int, **changes: object) -> QuoteItem:
    return quote_item(PostedQuote(**quote(number, fed.clock.wall_us(), **changes)), SPXN)


def put(fed: FedDesk, number: int, **changes: object) -> dict[str, Any]:
    return fed.feeding.take(QUOTES, [item(fed, number, **changes)])


def fill(fed: FedDesk, count: int = 60) -> None:
    posted = bars(count, fed.clock.wall_us())
    fed.feeding.take(BARS, [bar_item(PostedBar(**one), SPXN) for one in posted])


def conditions(fed: FedDesk, feed: str = QUOTES) -> list[str]:
    found = fed.desk.log.of_kind(Kind.FEED_CONDITION)
    return [str(r.body["condition"]) for r in found if r.body["feed"] == feed]


def refusal(fed: FedDesk) -> str:
    with pytest.raises(RequestError) as refused:
        fed.desk.ask()
    assert not fed.desk.log.of_kind(Kind.INTENT_RECEIVED)
    return str(refused.value)


def test_fresh_quotes_and_enough_bars_let_an_intent_pass(fed: FedDesk) -> None:
    fill(fed)
    put(fed, 1)
    answer = fed.desk.ask()
    assert answer.result == "approved"
    (taken,) = fed.desk.log.of_kind(Kind.QUOTE_TAKEN)
    assert (taken.body["bid_ticks"], taken.body["seq_gap"]) == (item(fed, 1).bid_ticks, 0)
    reader = cast("LedgerReader", fed.desk.log)
    assert replay(reader, TABLE, answer.decision_id).lines, "it recomputes from its records"


def test_a_stale_quote_is_refused_with_its_age_and_its_limit(fed: FedDesk) -> None:
    fill(fed)
    put(fed, 1)
    fed.clock.passes(41 * SECOND)
    assert refusal(fed) == "SPXN: quote is stale: last 41 s ago, limit 5 s"
    fed.feeding.watch()
    fed.feeding.watch()
    assert conditions(fed) == ["ok", "stale"]
    put(fed, 2)
    assert len(fed.market.snapshot("SPXN").bars) == 60


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"bid": "300.00"}, "SPXN: quote is crossed: bid 30000 is above ask"),
        ({"bid": "0"}, "SPXN: quote is not positive: bid 0"),
        ({"event_time_us": 1}, "SPXN: quote is backwards: event time 1 after"),
        ({"sequence": 9}, "SPXN: quote is after a gap: 7 missing before sequence 9"),
    ],
)
def test_a_refusal_names_the_condition_until_the_next_sound_quote(
    fed: FedDesk, changes: dict[str, Any], said: str
) -> None:
    fill(fed)
    put(fed, 1)
    assert put(fed, **{"number": 2, **changes})["conditions"][0]["item"] == 1
    assert said in refusal(fed)
    put(fed, 10 if "sequence" in changes else 3)
    assert fed.desk.ask().result == "approved"


def test_a_refusal_says_how_many_bars_are_missing(fed: FedDesk) -> None:
    assert "no quote since the start" in refusal(fed)
    put(fed, 1)
    assert "no bars, 49 are needed; post them to /v1/market/bars" in refusal(fed)
    fill(fed, 12)
    assert "37 bars are missing, alpha delivered 12 of 49" in refusal(fed)


def test_a_missed_bar_is_never_bridged_and_can_come_later(fed: FedDesk) -> None:
    posted = [bar_item(PostedBar(**one), SPXN) for one in bars(60, fed.clock.wall_us())]
    late = posted.pop(30)
    assert fed.feeding.take(BARS, posted)["conditions"][0]["condition"] == "gap"
    put(fed, 1)
    assert "20 bars are missing, alpha delivered 29 of 49; earlier ones" in refusal(fed)
    assert fed.feeding.take(BARS, [late])["conditions"] == []
    put(fed, 2)
    assert fed.desk.ask().result == "approved"
    assert conditions(fed, BARS) == ["ok", "gap"]  # within the minute; `watch` records the rest
    fed.clock.passes(61 * SECOND)
    fed.feeding.watch()
    assert conditions(fed, BARS) == ["ok", "gap", "ok"]


def test_bars_of_long_ago_are_stale(fed: FedDesk) -> None:
    fill(fed)
    fed.clock.passes(121 * 3600 * SECOND)
    put(fed, 1)
    assert "SPXN: bars are stale: last close 122 h ago, limit 120 h" in refusal(fed)


def test_a_flood_of_bad_items_leaves_few_records(fed: FedDesk) -> None:
    for number in range(1, 400):
        put(fed, number, **({"bid": "300.00"} if number % 2 else {}))
    assert conditions(fed) == ["crossed", "ok"]
    fed.feeding.watch()
    fed.clock.passes(61 * SECOND)
    put(fed, 400, bid="300.00")
    assert conditions(fed) == ["crossed", "ok", "crossed"]


def test_the_same_item_is_a_repeat_and_another_under_its_sequence_refused(fed: FedDesk) -> None:
    first = item(fed, 1)
    assert fed.feeding.take(QUOTES, [first]) == {"taken": 1, "repeats": 0, "conditions": []}
    assert fed.feeding.take(QUOTES, [first]) == {"taken": 0, "repeats": 1, "conditions": []}
    other = replace(first, ask_ticks=first.ask_ticks + 1)
    with pytest.raises(FeedRefusedError, match="item 2: SPXN sequence 1 of alpha: another item"):
        fed.feeding.take(QUOTES, [item(fed, 2), other])
    assert "quote is in conflict" in refusal(fed)
    assert conditions(fed) == ["ok", "conflict"]
    assert fed.market.tick("SPXN").quote.seq_gap == 1


def test_a_second_source_leads_when_the_first_is_quiet(fed: FedDesk) -> None:
    fill(fed)
    put(fed, 5)
    assert put(fed, 1, source="beta")["conditions"] == []
    assert fed.market.tick("SPXN").quote.time_us == standing(fed, "alpha")
    fed.clock.passes(4 * SECOND)
    put(fed, 2, source="beta")
    fed.clock.passes(4 * SECOND)
    assert fed.market.tick("SPXN").quote.time_us == standing(fed, "beta")
    assert fed.market.snapshot("SPXN").bars


def standing(fed: FedDesk, source: str) -> int:
    found = fed.market.series(QUOTES, "SPXN")
    assert found is not None
    assert found.standing is not None
    assert found.source == source
    return found.standing.event_us


def test_while_two_sources_contradict_each_other_neither_is_used(fed: FedDesk) -> None:
    fill(fed)
    put(fed, 1)
    far = {"source": "beta", "bid": "280.00", "ask": "280.10"}
    (told,) = put(fed, 1, **far)["conditions"]
    assert told["condition"] == "biased"
    assert refusal(fed).startswith("SPXN: quote is biased: alpha and beta are 4")
    assert fed.market.tick("SPXN").quote.seq_gap == 1, "a decision under way must see it"
    assert conditions(fed) == ["ok", "biased"]
    put(fed, 2)
    assert conditions(fed) == ["ok", "biased", "biased"], "alpha is contradicted too"
    put(fed, 2, source="beta")
    assert fed.desk.ask().result == "approved"


def test_a_contradiction_ends_with_the_quotes_that_make_it(fed: FedDesk) -> None:
    fill(fed)
    put(fed, 1, source="beta", bid="280.00", ask="280.10")
    fed.clock.passes(6 * SECOND)
    put(fed, 1)
    assert fed.market.snapshot("SPXN").bars


def one_bar(fed: FedDesk, number: int, times: float = 1, **changes: object) -> BarItem:
    """Return a bar that closed some minutes ago, at so many times the last price."""
    last = bars(1, fed.clock.wall_us())[0] | {"sequence": number} | changes
    last["close_time_us"] += (number - 60) * 60 * SECOND
    prices = {name: f"{float(last[name]) * times:.2f}" for name in ("open", "high", "low", "close")}
    return bar_item(PostedBar(**(last | prices)), SPXN)


def test_a_bar_in_another_unit_is_refused_and_corrected_under_its_number(fed: FedDesk) -> None:
    """A bar in pence stood, the right one was in conflict with it, and no forecast came again."""
    fill(fed)
    put(fed, 1)
    (told,) = fed.feeding.take(BARS, [one_bar(fed, 61, 100)])["conditions"]
    assert told["condition"] == "outside"
    assert "of sequence 60 are more than 5 times apart: post it in the same unit" in told["detail"]
    assert refusal(fed).startswith("SPXN: bars are far from the last close: high ")
    (again,) = fed.feeding.take(BARS, [one_bar(fed, 61, 100)])["conditions"]
    assert again["condition"] == "outside", "it is no repeat"
    assert fed.feeding.take(BARS, [one_bar(fed, 61)])["conditions"] == []
    assert fed.feeding.take(BARS, [one_bar(fed, 62, 1.01)])["conditions"] == []
    assert fed.market.last_sequence(BARS, "SPXN", "alpha") == 62
    assert fed.market.waiting() == ()
    assert fed.desk.ask().result == "approved"
    assert conditions(fed, BARS) == ["ok", "outside"], "sound again within a minute"


@given(st.floats(0.001, 1000).filter(lambda one: abs(one - 5) > 0.2 and abs(5 * one - 1) > 0.2))
def test_a_bar_stands_within_five_times_the_last_close(times: float) -> None:
    before = BarItem(
        source="alpha",
        instrument="SPXN",
        sequence=1,
        event_us=1,
        open_ticks=10**6,
        high_ticks=10**6,
        low_ticks=10**6,
        close_ticks=10**6,
    )
    ticks = round(10**6 * times)
    for bar in (replace(before, high_ticks=ticks), replace(before, low_ticks=ticks)):
        assert bool(far_from(bar, before)) == (not 0.2 <= times <= 5)


def test_a_doubted_bar_is_told_again_after_a_restart_and_taken_with_its_split(
    fed: FedDesk, tmp_path: Path
) -> None:
    table = fed.feeding.table = fed.feeding.waits = KeptInMemory()
    fill(fed)
    bar = one_bar(fed, 61, 0.1)
    fed.feeding.take(BARS, [bar])
    assert table.waiting == {"alpha": [bar]}
    after = fed_desk(memory_desk(tmp_path / "after", live=False))
    after.feeding.table = after.feeding.waits = table
    after.market.bring_back(table.rows, table.waiting["alpha"])
    after.feeding.watch()
    put(after, 1)
    assert "bars are far from the last close" in refusal(after)
    before_us = table.rows[-1].event_us
    after.market.splits["SPXN"] = (BarSplit(ref="a", before_us=before_us, new=10, old=1),)
    after.feeding.watch()
    assert after.market.last_sequence(BARS, "SPXN", "alpha") == 61
    assert (table.rows[-1], table.waiting) == (bar, {"alpha": []})


def test_a_wrong_bar_that_stands_is_left_behind_with_its_source(fed: FedDesk) -> None:
    """The way back: a new source brings the history, and the old one falls silent."""
    fill(fed)
    fed.feeding.take(BARS, [one_bar(fed, 61, 2)])
    with pytest.raises(FeedRefusedError, match="another item came before"):
        fed.feeding.take(BARS, [one_bar(fed, 61)])
    posted = [one | {"source": "alpha-2"} for one in bars(60, fed.clock.wall_us())]
    fed.feeding.take(BARS, [bar_item(PostedBar(**one), SPXN) for one in posted])
    fed.feeding.take(BARS, [one_bar(fed, 61, source="alpha-2")])
    put(fed, 1)
    assert "bars are biased: alpha" in refusal(fed)
    for number in range(62, 69):
        fed.clock.passes(24 * 3600 * SECOND)
        new = replace(one_bar(fed, 61, source="alpha-2"), sequence=number)
        assert fed.feeding.take(BARS, [new])["conditions"] == []
    put(fed, 2)
    assert fed.desk.ask().result == "approved", "alpha is quiet"


def test_two_sources_whose_closes_differ_are_not_used(fed: FedDesk) -> None:
    fill(fed)
    put(fed, 1)
    posted = bars(60, fed.clock.wall_us())[-1] | {"source": "beta", "sequence": 1}
    high, close = "900.00", "800.00"
    one = bar_item(PostedBar(**(posted | {"high": high, "close": close})), SPXN)
    (told,) = fed.feeding.take(BARS, [one])["conditions"]
    assert told["condition"] == "biased"
    assert "SPXN: bars are biased: alpha and beta are " in refusal(fed)


def test_a_fifth_source_waits_until_one_is_quiet(fed: FedDesk) -> None:
    for name in ("alpha", "beta", "gamma", "delta"):
        put(fed, 1, source=name)
    with pytest.raises(FeedRefusedError, match="have 4 sources already; epsilon can come when"):
        put(fed, 1, source="epsilon")
    fed.clock.passes(6 * SECOND)
    assert put(fed, 1, source="epsilon")["conditions"] == []


def test_bars_that_could_not_be_kept_are_kept_later(fed: FedDesk) -> None:
    table = fed.feeding.table = KeptInMemory()
    table.away = True
    posted = [bar_item(PostedBar(**one), SPXN) for one in bars(3, fed.clock.wall_us())]
    with pytest.raises(NotReadyError):
        fed.feeding.take(BARS, posted)
    table.away = False
    fed.feeding.take(BARS, posted)
    assert table.rows == posted
    fed.feeding.take(BARS, posted)
    assert len(table.rows) == 3, "a repeat is not kept again"


def test_a_new_board_goes_on_from_the_bars_that_were_kept(fed: FedDesk, tmp_path: Path) -> None:
    table = fed.feeding.table = KeptInMemory()
    fill(fed)
    after = fed_desk(memory_desk(tmp_path / "after", live=False))
    after.market.bring_back(table.rows)
    assert after.market.last_sequence(BARS, "SPXN", "alpha") == 60
    put(after, 1)
    assert after.desk.ask().result == "approved"
    assert after.feeding.take(BARS, [table.rows[9]]) == {
        "taken": 0,
        "repeats": 1,
        "conditions": [],
    }


def test_a_bar_that_waits_is_taken_at_its_close_after_a_restart(
    fed: FedDesk, tmp_path: Path
) -> None:
    """A line of a followed file is not read again, and an answered request is not posted again."""
    table = fed.feeding.table = fed.feeding.waits = KeptInMemory()
    fill(fed)
    posted = bars(60, fed.clock.wall_us())[-1]
    soon = posted | {"sequence": 61, "close_time_us": fed.clock.wall_us() + 150 * SECOND}
    early = bar_item(PostedBar(**soon), SPXN)
    (told,) = fed.feeding.take(BARS, [early])["conditions"]
    assert told["condition"] == "ahead"

    after = fed_desk(memory_desk(tmp_path / "after", live=False))
    after.feeding.table = after.feeding.waits = table
    after.market.bring_back(table.rows, table.waiting["alpha"])
    after.feeding.watch()
    assert after.market.last_sequence(BARS, "SPXN", "alpha") == 60, "it has not closed"
    after.clock.passes(151 * SECOND)
    after.feeding.watch()
    assert after.market.last_sequence(BARS, "SPXN", "alpha") == 61
    assert table.rows[-1] == early
    assert table.waiting == {"alpha": []}, "it waits no longer"


def test_an_early_bar_that_could_not_be_kept_is_not_acknowledged(fed: FedDesk) -> None:
    table = fed.feeding.table = fed.feeding.waits = KeptInMemory()
    posted = bars(1, fed.clock.wall_us())[0]
    soon = posted | {"close_time_us": fed.clock.wall_us() + 150 * SECOND}
    early = bar_item(PostedBar(**soon), SPXN)
    table.away = True
    with pytest.raises(NotReadyError):
        fed.feeding.take(BARS, [early])
    table.away = False
    fed.feeding.watch()
    assert table.waiting == {"alpha": [early]}


def test_a_bar_that_stands_does_not_wait_after_a_crash_between_its_two_tables(
    fed: FedDesk, tmp_path: Path
) -> None:
    table = fed.feeding.table = KeptInMemory()
    fill(fed)
    after = fed_desk(memory_desk(tmp_path / "after", live=False))
    after.market.bring_back(table.rows, [replace(table.rows[-1], close_ticks=1)])
    assert after.market.waiting() == ()


def test_without_its_record_a_condition_has_no_effect(fed: FedDesk) -> None:
    fed.desk.log.refuses = LedgerTimeoutError("away", written=False)
    with pytest.raises(LedgerTimeoutError):
        put(fed, 1)
    fed.desk.log.refuses = None
    assert "no quote since the start" in refusal(fed)


def test_holdings_are_marked_at_a_fresh_quotes_middle_and_not_too_often(fed: FedDesk) -> None:
    fed.feeding.watch()
    put(fed, 1)
    fed.feeding.watch()
    fed.feeding.watch()
    marks = fed.desk.log.of_kind(Kind.MARK_TAKEN)
    assert [r.body["account"] for r in marks] == ["run-pages", "run-pages.agent"]
    assert {MarkTaken.of(r).kind for r in marks} == {"open"}
    first = item(fed, 1)
    assert {MarkTaken.of(r).price_ticks for r in marks} == {
        (first.bid_ticks + first.ask_ticks) // 2
    }
    fed.clock.passes(61 * SECOND)
    fed.feeding.watch()
    assert len(fed.desk.log.of_kind(Kind.MARK_TAKEN)) == 2, "a stale quote marks nothing"
    put(fed, 2)
    fed.feeding.watch()
    assert len(fed.desk.log.of_kind(Kind.MARK_TAKEN)) == 4


def test_a_source_whose_quotes_are_not_sound_contradicts_nobody(fed: FedDesk) -> None:
    """Its last sound quote is too old, though it goes on to deliver."""
    fill(fed)
    put(fed, 1, source="beta", bid="280.00", ask="280.10")
    fed.clock.passes(6 * SECOND)
    put(fed, 2, source="beta", bid="280.00", ask="279.00")
    assert put(fed, 1)["conditions"] == []
    assert fed.market.snapshot("SPXN").bars
