"""A back-fill: checked against what stands, on record before it, and never a bar of its own."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from audit.errors import LedgerTimeoutError
from audit.records.kinds import Kind
from gateway.desk.intake.filling import FillRequest, fill
from gateway.errors import FeedRefusedError
from gateway.feeds.live.filling import runs
from gateway.feeds.live.items import BARS, BarItem, PostedBar, bar_item
from gateway.feeds.news.posted import parse_event
from tests.doubles.feeds import FedDesk, KeptInMemory, bars, fed_desk
from tests.doubles.memory_desk import memory_desk
from tests.doubles.small_desk import INSTRUMENTS

DIGEST = "ab" * 32


@pytest.fixture
def fed(tmp_path: Path) -> FedDesk:
    made = fed_desk(memory_desk(tmp_path, live=False))
    made.feeding.table = KeptInMemory()
    return made


def posted(fed: FedDesk, count: int = 60) -> list[BarItem]:
    found = bars(count, fed.clock.wall_us())
    return [bar_item(PostedBar(**one), INSTRUMENTS["SPXN"]) for one in found]


def filled(fed: FedDesk, items: list[Any], feed: Any = BARS, *, check: bool = False) -> Any:  # noqa: ANN401 - JSON
    request = FillRequest(feed=feed, file="missed.csv", digest=DIGEST, check=check, items=[{}])
    return fill(fed.feeding, "olga", request, items)


def records(fed: FedDesk) -> list[dict[str, Any]]:
    found = [dict(r.body) for r in fed.desk.log.of_kind(Kind.FEED_CONDITION)]
    return [body for body in found if body["condition"] == "filled"]


def test_a_gap_is_filled_and_the_record_says_from_what(fed: FedDesk) -> None:
    whole = posted(fed)
    fed.feeding.take(BARS, [*whole[:20], *whole[23:]])
    assert fed.market.missing(BARS, "SPXN", "alpha") == 3
    assert filled(fed, whole[18:25], check=True) == {
        "new": 3,
        "repeats": 4,
        "missing": {"SPXN": 3},
    }
    assert not records(fed), "a check records nothing"
    assert filled(fed, whole[18:25]) == {"new": 3, "repeats": 4, "missing": {"SPXN": 0}}
    series = fed.market.series(BARS, "SPXN")
    assert series is not None
    assert series.last_run() == whole
    (record,) = records(fed)
    assert record["detail"] == f"3 from missed.csv (sha256 {DIGEST}), by olga: 21-23"
    assert (record["source"], record["sequence"]) == ("alpha", 23)
    assert filled(fed, whole[18:25])["new"] == 0
    assert len(records(fed)) == 1, "what stands is a repeat and no new record"


def test_a_part_of_a_gap_leaves_the_rest_missing(fed: FedDesk) -> None:
    whole = posted(fed)
    fed.feeding.take(BARS, [*whole[:20], *whole[30:]])
    assert filled(fed, whole[20:24])["missing"] == {"SPXN": 6}
    series = fed.market.series(BARS, "SPXN")
    assert series is not None
    assert len(series.last_run()) == 30, "nothing bridges what is missing"


def test_a_whole_history_may_come_before_the_first_bar(fed: FedDesk) -> None:
    whole = posted(fed)
    fed.feeding.take(BARS, whole[50:])
    assert filled(fed, whole) == {"new": 50, "repeats": 10, "missing": {"SPXN": 0}}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"sequence": 20}, "another bar stands under its sequence: close "),
        ({"event_us": 1}, "sequence 21 does not close after sequence 20"),
        ({"event_us": 2**52}, "ahead: event time "),
        ({"low_ticks": 10**9}, "crossed: low "),
        ({"close_ticks": 0, "low_ticks": 0}, "not_positive"),
    ],
)
def test_what_contradicts_is_refused_and_nothing_of_the_file_is_taken(
    fed: FedDesk, changes: dict[str, int], said: str
) -> None:
    whole = posted(fed)
    fed.feeding.take(BARS, [*whole[:20], *whole[25:]])
    wrong = [whole[19], replace(whole[20], **changes), whole[21]]  # type: ignore[arg-type]  # ints
    with pytest.raises(FeedRefusedError) as refused:
        filled(fed, wrong)
    assert refused.value.item == 2
    assert said.replace("not_positive", "non_positive: low 0") in str(refused.value)
    assert fed.market.missing(BARS, "SPXN", "alpha") == 5
    assert not records(fed)


def test_without_its_record_nothing_is_filled(fed: FedDesk) -> None:
    whole = posted(fed)
    fed.feeding.take(BARS, [*whole[:20], *whole[21:]])
    fed.desk.log.refuses = LedgerTimeoutError("away", written=False)
    with pytest.raises(LedgerTimeoutError):
        filled(fed, whole)
    assert fed.market.missing(BARS, "SPXN", "alpha") == 1


def test_events_are_filled_once_and_not_changed(fed: FedDesk) -> None:
    now_us = fed.clock.wall_us()
    event = {
        "source": "wire",
        "sequence": 1,
        "id": "fomc-1",
        "published_us": now_us - 5,
        "event_type": "macro",
        "headline": "a",
        "origin": "b",
    }
    assert filled(fed, [parse_event(event)], "events")["new"] == 1
    assert filled(fed, [parse_event(event)], "events")["repeats"] == 1
    assert len(fed.market.narrative.news("SPXN", now_us)) == 1
    with pytest.raises(FeedRefusedError, match="another event came before"):
        filled(fed, [parse_event({**event, "headline": "c"})], "events")


def test_sequences_are_told_as_runs() -> None:
    assert runs([1, 2, 3, 7, 9, 10]) == "1-3, 7, 9-10"
    assert runs(range(0, 20, 2)).endswith("8, 10 and 4 more")
