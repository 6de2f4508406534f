"""What the engine adds to GJR: only what differs by the band counts, and its P&L is by hand."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec.structs import replace as struct_replace
from typing_extensions import override

from audit.records.canonical import canonical
from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway.evidence.answers import engine_adds as answer
from gateway.evidence.answers.engine_adds import (
    ADDS_KINDS,
    EngineAdds,
    engine_adds,
    interval,
    print_adds,
)
from inference.speculation.rounds import row_bytes, row_values
from tests.doubles.memory_desk import TABLE, MemoryDesk, memory_desk
from tests.doubles.row_engine import RowEngine
from tests.doubles.scaled_desk import scaled_desk
from tests.doubles.small_desk import INSTRUMENTS, RUN

SESSIONS = 10


class Restless(RowEngine):
    """A target that sees more volatility than GJR does, so it wants less."""

    @override
    def _target(self, token_ids: tuple[int, ...]) -> bytes:
        values = row_values(super()._target(token_ids))
        return row_bytes(tuple(0.6 * value + 0.4 / len(values) for value in values))


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> MemoryDesk:
    desk = scaled_desk(tmp_path_factory.mktemp("adds"))
    own = desk.small.desk.own
    engine = Restless(table=TABLE, codec=own.tools.codec)
    desk.small.desk.own = replace(own, tools=replace(own.tools, engine=engine))
    desk.small.play(SESSIONS)
    return desk


def found_in(desk: MemoryDesk, account: str = "") -> EngineAdds:
    return engine_adds(cast("LedgerReader", desk.log), account)


def targets(desk: MemoryDesk) -> list[tuple[str, int, int]]:
    """Return each decision's instrument and both target exposures."""
    twins = {one.stream: one.body["sizing"] for one in desk.log.of_kind(Kind.GJR_JUDGED)}
    return [
        (
            one.body["sizing"]["instrument"],
            one.body["sizing"]["target_exposure_bp"],
            twins[one.stream]["target_exposure_bp"],
        )
        for one in desk.log.of_kind(Kind.INTENT_PROPOSED)
    ]


def test_only_targets_that_differ_by_the_band_count(played: MemoryDesk) -> None:
    band = played.small.desk.own.section.policy.sizing.no_trade_band.value
    found = found_in(played)
    beyond = [one for one in targets(played) if abs(one[1] - one[2]) >= band]
    assert len(beyond) > 0
    assert found.compared == SESSIONS
    said = [(one.instrument, one.engine_bp, one.gjr_bp) for one in found.differing]
    assert said == beyond
    assert {one.band_bp for one in found.differing} == {band}
    assert all((one.held_lots > 0) == (one.engine_bp > one.gjr_bp) for one in found.differing)


def leaves_again(of_both: list[tuple[str, int, int]], band: int) -> bool:
    """Return whether some instrument's difference exceeds a band and then does not."""
    for name in INSTRUMENTS:
        beyond = [abs(one[1] - one[2]) >= band for one in of_both if one[0] == name]
        if any(first and not after for first, after in pairwise(beyond)):
            return True
    return False


def test_a_difference_inside_the_band_is_held_no_longer_and_leaving_it_costs(
    played: MemoryDesk,
) -> None:
    """The same records under a wider band, which some differences leave again."""
    of_both = targets(played)
    gaps = [abs(one[1] - one[2]) for one in of_both]
    band = next(gap for gap in sorted(set(gaps)) if leaves_again(of_both, gap))
    found = EngineAdds(RUN)
    for record in played.log.records(kinds=ADDS_KINDS):
        if record.kind is Kind.POLICY_ACTIVATED:
            body: Any = record.body
            body["policy"]["sizing"]["no_trade_band"]["value"] = band
            found.take(struct_replace(record, payload=canonical(body)))
        else:
            found.take(record)
    assert found.compared == SESSIONS
    assert 0 < len(found.differing) == sum(gap >= band for gap in gaps) < SESSIONS
    assert found.closed_minor > 0


def test_the_money_is_that_of_an_account_of_the_difference(played: MemoryDesk) -> None:
    """Counted again from quotes and marks, cash and position of one instrument at a time."""
    found = found_in(played)
    total = 0.0
    for name in sorted({one.instrument for one in found.differing}):
        unit = INSTRUMENTS[name].unit_minor
        differing = {f"decision/{o.decision_id}": o for o in found.differing}
        cash, lots, mark = 0.0, 0, 0
        for record in played.log.records():
            if record.kind is Kind.MARK_TAKEN and record.body["instrument"] == name:
                mark = record.body["price_ticks"]
            if record.kind is not Kind.GJR_JUDGED or record.body["quote"] is None:
                continue
            if record.body["sizing"]["instrument"] != name:
                continue
            quote = record.body["quote"]
            bid, ask = quote["bid_ticks"], quote["ask_ticks"]
            wanted = differing[record.stream].held_lots if record.stream in differing else 0
            traded = wanted - lots
            cash -= traded * unit * (ask if traded > 0 else bid)
            cash -= abs(traded) * unit * (bid + ask) / 2 / 10_000
            lots = wanted
        total += cash + lots * unit * mark
    money = found.gross_minor - found.cost_minor
    assert money == pytest.approx(total, abs=3 * SESSIONS)
    assert money != 0
    assert sum(found._days.values()) == money  # noqa: SLF001 - the days are the same money


def test_the_answer_says_that_there_are_too_few(played: MemoryDesk) -> None:
    document = found_in(played).document()
    assert document["interval_minor"] is None
    assert document["few"].startswith(f"too few for an interval: {document['days']} days")
    text = print_adds(cast("LedgerReader", played.log), RUN, as_json=False)
    assert "too few for an interval" in text
    assert "no evidence of skill" in text
    assert document["orders"][0]["decision_id"] in text
    again: dict[str, Any] = json.loads(
        print_adds(cast("LedgerReader", played.log), RUN, as_json=True)
    )
    assert again == document
    sealed = {one.stream: one.body["outcome"] for one in played.log.of_kind(Kind.DECISION_SEALED)}
    fates = [sealed.get(f"decision/{one['decision_id']}", "open") for one in document["orders"]]
    assert [one["fate"] for one in document["orders"]] == fates
    assert sum(document["fates"].values()) == document["differing"]


def test_with_enough_days_there_is_an_interval_around_the_sum(
    played: MemoryDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer, "DAYS_MIN", 2)
    monkeypatch.setattr(answer, "DIFFERING_MIN", 1)
    found = found_in(played)
    assert found.interval_minor is not None
    low, high = found.interval_minor
    assert low <= found.gross_minor - found.cost_minor <= high
    assert found.few == ""


def test_the_blocks_are_the_same_for_everybody_and_cover_the_truth() -> None:
    days = [(-1) ** day * (day % 7) * 100 + 20 for day in range(250)]
    low, high = interval(days)
    assert (low, high) == interval(days)
    assert low < sum(days) < high
    assert interval([5] * 100) == (500, 500)


def test_decisions_without_a_twin_are_counted_with_the_reason(tmp_path: Path) -> None:
    desk = memory_desk(tmp_path, live=False)
    desk.small.play(2)
    found = found_in(desk)
    assert (found.compared, dict(found.without)) == (0, {"no_fitted_scale": 2})
    text = print_adds(cast("LedgerReader", desk.log), "", as_json=False)
    assert "no decision of" in text
    assert "2 no_fitted_scale" in text


def test_an_agents_wish_and_another_account_are_not_compared(tmp_path: Path) -> None:
    desk = memory_desk(tmp_path)
    desk.ask()
    found = found_in(desk, f"{RUN}.agent")
    assert (found.compared, dict(found.without)) == (0, {})
    assert found_in(desk, "nobody").compared == 0
