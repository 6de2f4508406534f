"""The flow of orders: refusals by rule and reason, and times of the way, from records alone."""

import json
from collections import Counter
from typing import cast

import pytest
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families

from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway.clock import date_of
from gateway.errors import RequestError
from gateway.evidence.answers.days import FlowDays, LiveFlow, first_seq
from gateway.evidence.answers.flow import LEGS, rank
from gateway.evidence.answers.printing import flow_text
from gateway.surfaces.api.app import build_api
from gateway.walk.journal.control.access import AccessRefused
from gateway.walk.journal.verdict import VerdictGiven
from risk.verdict import Action
from tests.doubles.dead_engine import without_engine
from tests.doubles.memory_desk import MemoryDesk


def days_of(desk: MemoryDesk) -> FlowDays:
    return FlowDays(lambda: cast("LedgerReader", desk.log))


def today(desk: MemoryDesk) -> str:
    return date_of(desk.wall())


def busy(desk: MemoryDesk) -> None:
    """An order that rests, a hold that is approved, one that is refused, and a rejected intent."""
    desk.answer(desk.hold(), approve=False)
    desk.rest()
    desk.answer(desk.hold())
    desk.log.append(
        AccessRefused(who="nobody", reason="unknown_key", count=3, from_us=0, window_s=60).draft(
            random="1"
        )
    )


def test_every_breach_on_record_is_counted_under_its_rule_and_reason(desk: MemoryDesk) -> None:
    busy(desk)
    wanted: Counter[tuple[str, str]] = Counter()
    results: Counter[str] = Counter()
    for record in desk.log.of_kind(Kind.VERDICT_GIVEN):
        given = VerdictGiven.of(record)
        results[given.result] += 1
        hit = {
            (one.rule_id.value, one.reason.value)
            for one in given.verdict.results
            if one.action >= Action.THROTTLE
        }
        wanted.update(hit)
    report = days_of(desk).between(today(desk), today(desk))
    found = {
        (one.group.rule, one.group.reason): one.count for one in report.refusals if one.group.rule
    }
    assert found == wanted
    assert ("R31", "NEEDS_A_PERSON") in found
    assert dict(report.verdicts) == results
    others = {(one.group.by, one.group.reason): one.count for one in report.refusals}
    assert others["person", "refused by a person"] == 1
    assert others["access", "unknown_key"] == 3
    for line in report.refusals:
        assert desk.log.record(line.newest_seq) is not None


def test_a_failed_forecast_counts_for_each_decision_that_got_none(desk: MemoryDesk) -> None:
    without_engine(desk)
    refused = [desk.ask(), desk.ask()]
    assert {one.result for one in refused} == {"no_forecast"}
    report = days_of(desk).between(today(desk), today(desk))
    counted = {one.group.reason: one for one in report.refusals if one.group.by == "forecast"}
    assert list(counted) == ["engine_dead"]
    assert counted["engine_dead"].count == len(refused)
    newest = desk.log.record(counted["engine_dead"].newest_seq)
    assert newest is not None
    assert newest.stream == f"decision/{refused[-1].decision_id}"
    assert newest.kind is Kind.FORECAST_TAKEN


def test_times_are_those_of_the_records(desk: MemoryDesk) -> None:
    standing = desk.rest()
    report = days_of(desk).between(today(desk), today(desk))
    stream = {one.kind: one for one in desk.log.records(stream=f"decision/{standing.decision_id}")}
    times = {one.leg: one for one in report.legs}
    assert list(times) == list(LEGS)
    verdict = stream[Kind.VERDICT_GIVEN].recorded_at_us
    took = verdict - stream[Kind.INTENT_RECEIVED].recorded_at_us
    assert times["received_to_verdict"].p50_us == took
    announced = stream[Kind.ORDER_SENDING].recorded_at_us
    assert times["approved_to_announced"].p99_us == announced - verdict
    wire = verdict + int(stream[Kind.ORDER_SENT].body["decision_to_wire_us"])
    assert times["announced_to_wire"].p50_us == max(0, wire - announced)
    assert times["received_to_fill"].count == 0
    assert times["received_to_fill"].p50_us is None


def test_a_later_question_reads_only_what_is_new(desk: MemoryDesk) -> None:
    days = days_of(desk)
    busy(desk)
    first = days.between(today(desk), today(desk))
    read: list[int] = []
    whole = desk.log.records

    def watched(**asked: object) -> object:
        for record in whole(**asked):  # type: ignore[arg-type]
            read.append(record.seq)
            yield record

    desk.log.records = watched  # type: ignore[method-assign, assignment]
    again = days.between(today(desk), today(desk))
    assert read == []
    assert again == first
    desk.ask()
    read.clear()  # the desk reads, too
    more = days.between(today(desk), today(desk))
    assert min(read) >= first.size
    fresh = days_of(desk).between(today(desk), today(desk))
    assert more == fresh


def test_an_earlier_day_is_read_again_and_a_later_one_is_empty(desk: MemoryDesk) -> None:
    busy(desk)
    days = days_of(desk)
    later = days.between("2999-01-01", "2999-01-02")
    assert later.refusals == ()
    whole = days.between("2000-01-01", "2009-12-31")
    assert whole.refusals == ()
    assert days.between(today(desk), today(desk)).refusals


@pytest.mark.parametrize(
    "asked",
    [("", ""), ("yesterday", "x"), ("2026-11-20", "2026-11-19"), ("1900-01-01", "2026-01-01")],
)
def test_days_that_are_none_are_refused(desk: MemoryDesk, asked: tuple[str, str]) -> None:
    with pytest.raises(RequestError):
        days_of(desk).between(*asked)


def test_the_first_record_of_a_day_is_found_by_halves(desk: MemoryDesk) -> None:
    busy(desk)
    reader = cast("LedgerReader", desk.log)
    records = list(desk.log.records())
    for record in records:
        earliest = next(r.seq for r in records if r.recorded_at_us >= record.recorded_at_us)
        assert first_seq(reader, record.recorded_at_us) == earliest
    assert first_seq(reader, records[-1].recorded_at_us + 1) == len(records)


def test_a_decision_that_began_before_the_first_day_has_no_times(desk: MemoryDesk) -> None:
    held = desk.hold()
    desk.wall.ahead_us = 2 * 86_400_000_000
    report = days_of(desk).between(today(desk), today(desk))
    assert all(leg.count == 0 for leg in report.legs)
    assert held


def test_the_metrics_follow_the_same_fold(desk: MemoryDesk) -> None:
    api = build_api(desk.small.desk, desk.small.keyring)
    live: LiveFlow = api.state.flow
    desk.log.subscribe(live.follow)
    busy(desk)
    report = days_of(desk).between(today(desk), today(desk))
    key = {"Authorization": f"Bearer {desk.small.keyring.token('monitor')}"}
    text = TestClient(api).get("/metrics", headers=key).text
    found = {
        tuple(one.labels[name] for name in ("by", "action", "rule", "reason")): one.value
        for family in text_string_to_metric_families(text)
        for one in family.samples
        if one.name == "countersign_refusals_total"
    }
    rules = {
        ("rules", one.group.action, one.group.rule, one.group.reason): one.count
        for one in report.refusals
        if one.group.rule
    }
    assert {labels: n for labels, n in found.items() if labels[0] == "rules"} == rules
    assert 'countersign_way_timed_total{leg="received_to_verdict"}' in text


def test_the_route_needs_a_key_that_may_watch_and_is_on_record(desk: MemoryDesk) -> None:
    busy(desk)
    api = TestClient(build_api(desk.small.desk, desk.small.keyring))
    asked = {"Authorization": f"Bearer {desk.small.keyring.token('auditor')}"}
    answer = api.get(f"/v1/flow?from={today(desk)}", headers=asked)
    assert answer.status_code == 200
    body = answer.json()
    assert body["refusals"][0]["count"] >= 1
    assert json.dumps(body)
    (noted,) = desk.log.of_kind(Kind.READ_RECORDED)[-1:]
    assert noted.body["object"] == "flow"
    assert api.get("/v1/flow?from=x", headers=asked).status_code == 400
    agent = {"Authorization": f"Bearer {desk.small.keyring.token('agent')}"}
    assert api.get("/v1/flow", headers=agent).status_code == 403


def test_the_text_names_rule_reason_and_record(desk: MemoryDesk) -> None:
    busy(desk)
    text = flow_text(days_of(desk).between(today(desk), today(desk)))
    assert "NEEDS_A_PERSON" in text
    assert "R31" in text
    assert "received_to_verdict" in text


def test_ranks() -> None:
    assert [rank([1, 2, 3, 4], p) for p in (50, 90, 99)] == [2, 4, 4]
    assert [rank([7], p) for p in (50, 90, 99)] == [7, 7, 7]
