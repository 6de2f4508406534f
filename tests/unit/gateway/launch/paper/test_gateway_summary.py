"""The summary of a run: a forecast counts once, whatever the number of decisions that name it."""

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway.desk.intake.strategies import OVERLAY, overlay
from gateway.launch.paper.acceptance_rate import TableFigure
from gateway.launch.paper.summary import summarise
from gateway.walk.ports import Case
from tests.doubles.dead_engine import without_engine
from tests.doubles.memory_desk import MemoryDesk, memory_desk
from tests.doubles.small_desk import EQUITY_MINOR, RUN


def case_of(desk: MemoryDesk, decision_id: str) -> Case:
    """Return a case of the strategy, on the bars of now."""
    own = desk.small.desk.own
    instrument = own.instruments["SPXN"]
    return Case(
        decision_id=decision_id,
        tags=desk.small.tags,
        instrument=instrument,
        snapshot=own.market.session("SPXN").snapshot,
        strategy=OVERLAY,
        author="playback",
        tick=lambda: own.market.tick("SPXN"),
        propose=overlay(own.section.policy, instrument),
    )


def summary_of(desk: MemoryDesk, run_id: str = RUN) -> dict[str, Any]:
    tools = desk.small.desk.own.tools
    return summarise(
        cast("LedgerReader", desk.log),
        run_id=run_id,
        account=RUN,
        equity_minor=EQUITY_MINOR,
        target_vol_bp=1_000,
        figure=TableFigure(table=tools.table, codec=tools.codec),
    )


def test_two_decisions_on_one_forecast_count_it_once(tmp_path: Path) -> None:
    desk = memory_desk(tmp_path)
    desk.small.desk.make(case_of(desk, "first"))
    alone = summary_of(desk)
    desk.small.desk.make(case_of(desk, "second"))
    both = summary_of(desk)
    assert len(desk.log.of_kind(Kind.FORECAST_MADE)) == 1
    assert (both["decisions"], both["forecasts"], both["no_forecasts"]) == (2, 1, 0)
    for name in ("forecasts", "mean_accepted", "table_accepted", "forecast_ms_p50"):
        assert both[name] == alone[name], name
        assert both[name], name
    later = case_of(desk, "third")
    desk.small.desk.make(replace(later, tags=replace(later.tags, run_id="later")))
    assert (summary_of(desk, "later")["decisions"], summary_of(desk, "later")["forecasts"]) == (
        1,
        1,
    )


def test_each_decision_without_a_forecast_counts(tmp_path: Path) -> None:
    desk = memory_desk(tmp_path)
    without_engine(desk)
    for name in ("first", "second"):
        desk.small.desk.make(case_of(desk, name))
    found = summary_of(desk)
    assert (found["decisions"], found["forecasts"], found["no_forecasts"]) == (2, 0, 2)
    assert found["outcomes"] == {"no_forecast": 2}
