"""The page of forecasts: what stands, what is missing, and of whom the read is on record."""

from pathlib import Path

from audit.records.kinds import Kind
from tests.doubles.memory_desk import memory_desk
from tests.doubles.page_desk import page_desk
from tests.doubles.walk_scenes import without_a_forecast


def test_the_page_says_which_forecast_stands_for_each_instrument(tmp_path: Path) -> None:
    desk = memory_desk(tmp_path)
    desk.ask()
    page = page_desk(tmp_path, desk).read("/forecasts")
    (opened,) = desk.log.of_kind(Kind.SNAPSHOT_TAKEN)
    assert opened.body["forecast_id"][:10] in page
    assert "none yet" in page, "nobody asked for the other instrument"
    (noted,) = desk.log.of_kind(Kind.READ_RECORDED)
    assert noted.body["object"] == "forecasts"


def test_a_failure_is_shown_with_its_reason(tmp_path: Path) -> None:
    desk = memory_desk(tmp_path)
    without_a_forecast(desk)
    page = page_desk(tmp_path, desk).read("/forecasts")
    assert "engine deadline" in page
