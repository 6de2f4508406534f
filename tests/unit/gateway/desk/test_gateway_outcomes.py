"""Forecasts are scored when a later snapshot has their bars; whoever has the log gets the same."""

import json
from pathlib import Path
from typing import cast

import pytest
from msgspec.structs import replace

from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway.evidence.answers.outcomes import scores_of, wrongly_scored
from gateway.evidence.answers.printing import scores_text
from gateway.launch.threads.scoring import ForecastWatch
from gateway.walk.journal.control.oversight.scores import ForecastScored
from inference.forecast.outcome import move_1e8
from inference.snapshot import snapshot_from_document
from tests.doubles.full_policy import gathered_policy
from tests.doubles.memory_desk import MemoryDesk
from tests.unit.gateway.desk.test_gateway_format_2 import desk_under

ALL = gathered_policy()


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> MemoryDesk:
    """A desk that played 26 decisions; the tests only add to its log."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        made = desk_under(tmp_path_factory.mktemp("desk"), ALL, monkeypatch, live=False)
    made.small.play(26)
    return made


def reader(desk: MemoryDesk) -> LedgerReader:
    return cast("LedgerReader", desk.log)


def watch(desk: MemoryDesk) -> ForecastWatch:
    found = ForecastWatch(reader(desk), desk.log)
    found.look()
    found.look()  # reads its own records
    return found


def scored(desk: MemoryDesk) -> list[ForecastScored]:
    return [ForecastScored.of(r) for r in desk.log.records(kinds=(Kind.FORECAST_SCORED,))]


def test_first_and_last_bar_are_scored_from_the_first_snapshot_that_has_them(
    desk: MemoryDesk,
) -> None:
    watch(desk)
    found = scored(desk)
    horizon = max(one.step for one in found)
    sessions = 26 // 2
    assert sum(one.step == 1 for one in found) == 2 * (sessions - 1)
    assert sum(one.step == horizon for one in found) == 2 * (sessions - horizon)
    assert {one.step for one in found} == {1, horizon}
    for one in found:
        taken = desk.log.record(one.snapshot_seq)
        assert taken is not None
        blob = desk.log.blob(taken.body["snapshot_blob"])
        assert blob is not None
        bars = {bar.close_time_us: bar for bar in snapshot_from_document(json.loads(blob)).bars}
        closes = [bars[at].close_ticks for at in (one.base_us, one.came_us)]
        assert one.came_1e8 == move_1e8(*closes)
        assert one.forecast_seq < one.snapshot_seq
        assert one.table is not None
        assert 0 <= one.target.rank <= one.target.paths


def test_a_forecast_is_scored_once_whatever_rests_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = desk_under(tmp_path, ALL, monkeypatch)
    desk.ask()
    desk.ask()
    desk.small.play(4)
    first = desk.log.of_kind(Kind.FORECAST_TAKEN)[0].body["forecast_id"]
    taken = [r for r in desk.log.of_kind(Kind.FORECAST_TAKEN) if r.body["forecast_id"] == first]
    assert len(taken) > 1
    watch(desk)
    own = [one for one in scored(desk) if one.scored_id == f"{first}.0"]
    assert [one.step for one in own] == [1]
    made = desk.log.record(own[0].forecast_seq)
    assert made is not None
    assert made.stream == f"forecast/{own[0].scored_id}"
    assert wrongly_scored(reader(desk)) == (len(scored(desk)), ())


def test_a_restart_scores_nothing_twice_and_knows_what_was_scored(desk: MemoryDesk) -> None:
    first = watch(desk)
    before = len(scored(desk))
    again = watch(desk)
    assert len(scored(desk)) == before
    digest = scored(desk)[0].model_digest
    one, two = first.of_model(digest), again.of_model(digest)
    assert one is not None
    assert two is not None
    assert (one.scored, one.evidence_milli, one.shift_bp) == (
        two.scored,
        two.evidence_milli,
        two.shift_bp,
    )
    assert one.scored == sum(s.step == 1 for s in scored(desk))
    assert first.newest == one


def test_the_figures_are_means_beside_the_tables(desk: MemoryDesk) -> None:
    watch(desk)
    ours = [s for s in scored(desk) if s.instrument == "SPXN" and s.step == 1]
    line = next(
        one
        for one in scores_of(reader(desk)).document()["lines"]
        if (one["instrument"], one["step"]) == ("SPXN", 1)
    )
    assert line["crps_1e8"] == sum(s.target.crps_1e8 for s in ours) // len(ours)
    of_table = sum(s.table.crps_1e8 for s in ours if s.table is not None)
    assert line["of_table_bp"] == sum(s.target.crps_1e8 for s in ours) * 10_000 // of_table
    assert "SPXN" in scores_text(scores_of(reader(desk)))


def test_scores_are_computed_again_and_a_false_one_is_named(desk: MemoryDesk) -> None:
    watch(desk)
    count = len(scored(desk))
    assert wrongly_scored(reader(desk)) == (count, ())
    true = scored(desk)[-1]
    false = replace(true, scored_id="another", target=replace(true.target, crps_1e8=0))
    desk.log.append(false.draft())
    seen, wrong = wrongly_scored(reader(desk))
    assert seen == count + 1
    assert len(wrong) == 1
