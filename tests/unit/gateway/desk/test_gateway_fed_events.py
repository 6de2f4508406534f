"""Events that feeds deliver: what is claimed of the narrative, and what a snapshot sees of it."""

import json
from pathlib import Path
from typing import Any, cast

import pytest

from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway.desk.intake.earlier import case_of
from gateway.errors import FeedRefusedError
from gateway.evidence.replay.replay import replay
from gateway.feeds.live.items import BARS, QUOTES, PostedBar, PostedQuote, bar_item, quote_item
from gateway.feeds.news.posted import EVENTS, parse_event
from gateway.walk.ports import NarrativeReach
from tests.doubles.feeds import FedDesk, KeptInMemory, bars, fed_desk, quote
from tests.doubles.memory_desk import TABLE, memory_desk
from tests.doubles.small_desk import INSTRUMENTS

SECOND = 1_000_000
SPXN = INSTRUMENTS["SPXN"]


@pytest.fixture
def fed(tmp_path: Path) -> FedDesk:
    return fed_desk(memory_desk(tmp_path, live=False))


def put(fed: FedDesk, number: int) -> None:
    posted = PostedQuote(**quote(number, fed.clock.wall_us()))
    fed.feeding.take(QUOTES, [quote_item(posted, SPXN)])


def fill(fed: FedDesk) -> None:
    posted = bars(60, fed.clock.wall_us())
    fed.feeding.take(BARS, [bar_item(PostedBar(**one), SPXN) for one in posted])


def conditions(fed: FedDesk, feed: str) -> list[str]:
    found = fed.desk.log.of_kind(Kind.FEED_CONDITION)
    return [str(r.body["condition"]) for r in found if r.body["feed"] == feed]


def event(number: int, time_us: int, **changes: object) -> dict[str, Any]:
    return {
        "source": "wire",
        "sequence": number,
        "id": f"event-{number}",
        "published_us": time_us,
        "event_type": "macro",
        "headline": "The central bank leaves its rate unchanged",
        "origin": "central bank: statement",
        **changes,
    }


def tell(fed: FedDesk, *values: dict[str, Any]) -> list[str]:
    said = fed.feeding.take(EVENTS, [parse_event(value) for value in values])
    return [one["condition"] for one in said["conditions"]]


def narrative_checks(fed: FedDesk) -> set[tuple[str, str]]:
    verdict = fed.desk.log.of_kind(Kind.VERDICT_GIVEN)[-1].body["verdict"]
    found = [r for r in verdict["results"] if r["check"].startswith("narrative")]
    return {(r["outcome"], r["reason"]) for r in found}


def replays(fed: FedDesk, decision_id: str) -> None:
    assert replay(cast("LedgerReader", fed.desk.log), TABLE, decision_id).lines


def test_without_an_events_feed_no_narrative_is_claimed(fed: FedDesk) -> None:
    fill(fed)
    put(fed, 1)
    answer = fed.desk.ask()
    assert answer.result == "approved"
    (taken,) = fed.desk.log.of_kind(Kind.FORECAST_TAKEN)
    assert taken.body["narrative"] == "absent"
    (given,) = fed.desk.log.of_kind(Kind.VERDICT_GIVEN)
    assert given.body["narrative_as_of_us"] is None
    assert given.body["state"]["narrative_absent"] is True
    assert narrative_checks(fed) == {("NOT_APPLICABLE", "NARRATIVE_ABSENT")}
    replays(fed, answer.decision_id)


def test_a_fed_event_reaches_the_snapshot_and_its_time_is_the_narratives(fed: FedDesk) -> None:
    fill(fed)
    put(fed, 1)
    now_us = fed.clock.wall_us()
    about = {"instruments": ["NDXN"]}
    ahead = {"scheduled": True}
    assert (
        tell(
            fed,
            event(1, now_us - 9 * SECOND),
            event(2, now_us - 8 * SECOND, **about),
            event(3, now_us + 3600 * SECOND, **ahead),
        )
        == []
    )
    answer = fed.desk.ask()
    assert answer.result == "approved"
    (taken,) = fed.desk.log.of_kind(Kind.FORECAST_TAKEN)
    (inputs,) = fed.desk.log.of_kind(Kind.SNAPSHOT_TAKEN)
    assert (taken.body["narrative"], inputs.body["n_news"]) == ("fed", 1)
    assert inputs.body["as_of_us"] == now_us - 9 * SECOND, "the newest input, not the clock"
    assert taken.body["narrative_as_of_us"] == now_us - 8 * SECOND
    assert narrative_checks(fed) == {("PASS", "WITHIN_LIMIT")}
    replays(fed, answer.decision_id)


def test_a_narrative_that_nobody_completed_for_too_long_is_refused(fed: FedDesk) -> None:
    fill(fed)
    put(fed, 1)
    long_ago = fed.clock.wall_us() - 5 * 86_400 * SECOND
    tell(fed, event(1, long_ago))
    answer = fed.desk.ask()
    assert answer.result == "rejected"
    assert ("BREACH", "NARRATIVE_STALE") in narrative_checks(fed)
    replays(fed, answer.decision_id)
    put(fed, 2)
    tell(fed, {"source": "wire", "complete_us": fed.clock.wall_us(), "through": 1})
    assert fed.desk.ask().result == "approved"


def test_a_word_of_completeness_counts_only_without_a_hole(fed: FedDesk) -> None:
    now_us = fed.clock.wall_us()
    assert tell(fed, event(1, now_us - 9 * SECOND), event(3, now_us - 7 * SECOND)) == ["gap"]
    word = {"source": "wire", "complete_us": now_us, "through": 3}
    assert tell(fed, word) == ["gap"]
    assert fed.market.reach().as_of_us == now_us - 9 * SECOND
    tell(fed, event(2, now_us - 8 * SECOND))
    assert fed.market.reach().as_of_us == now_us


def test_the_slowest_source_says_how_far_the_narrative_is_complete(fed: FedDesk) -> None:
    now_us = fed.clock.wall_us()
    tell(fed, event(1, now_us - 9 * SECOND), event(1, now_us - 5 * SECOND, source="calendar"))
    assert fed.market.reach().as_of_us == now_us - 9 * SECOND
    ends = {"source": "wire", "complete_us": now_us, "through": 1, "ends": True}
    assert tell(fed, ends) == []
    assert fed.market.reach().as_of_us == now_us - 5 * SECOND


def test_an_event_from_the_future_is_refused_unless_it_is_scheduled(fed: FedDesk) -> None:
    later = fed.clock.wall_us() + 60 * SECOND
    assert tell(fed, event(1, later)) == ["ahead"]
    assert conditions(fed, EVENTS) == ["ahead"]
    assert tell(fed, event(1, later, scheduled=True)) == []


def test_events_come_back_after_a_restart(fed: FedDesk, tmp_path: Path) -> None:
    table = fed.feeding.table = KeptInMemory()
    tell(fed, event(1, fed.clock.wall_us() - SECOND))
    after = fed_desk(memory_desk(tmp_path / "after", live=False))
    after.market.narrative.bring_back(table.events)
    assert after.market.narrative.news("SPXN", after.clock.wall_us())
    assert tell(after, json.loads(table.events[0].document)) == []
    with pytest.raises(FeedRefusedError, match="another event came before"):
        tell(after, event(1, 5))


def test_a_hold_that_is_made_again_after_a_restart_claims_no_more(fed: FedDesk) -> None:
    fill(fed)
    put(fed, 1)
    name, own = fed.desk.hold(), fed.desk.small.desk.own
    standing, reader = own.orders.get(name), cast("LedgerReader", fed.desk.log)
    assert standing is not None
    records = tuple(reader.records(stream=f"decision/{name}"))
    policy = own.section.policy
    again = case_of(standing, records, reader, policy, INSTRUMENTS, own.market.tick)
    assert again is not None
    assert again.reach == NarrativeReach(absent=True, as_of_us=None)
