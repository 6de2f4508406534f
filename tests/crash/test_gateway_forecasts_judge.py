"""The judge of forecasts on its own: which one stood, by which record, and how old it is."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from audit.records.kinds import Kind
from audit.records.record import Record
from tests.crash.gateway_desk import HOUR_US
from tests.crash.gateway_forecasts import AGE_MAX_US, ForecastJudge

NOW_US = 1_000 * HOUR_US
OLD, NEW = "A" * 26, "B" * 26
LEAVES = {OLD: bytes([1] * 32), NEW: bytes([2] * 32)}


def record(kind: Kind, seq: int, stream: str, leaf: bytes = b"", **body: Any) -> Record:  # noqa: ANN401 - any field
    one = SimpleNamespace(
        kind=kind, seq=seq, stream=stream, leaf=leaf, body=body, recorded_at_us=NOW_US
    )
    return cast("Record", one)


def judged(named: str, of: str, symbol: str = "SPX1", age_us: int = 0) -> list[str]:
    """Make an old and a new forecast of SPX1, then approve a decision that names one of them."""
    judge = ForecastJudge()
    for seq, name in ((1, OLD), (3, NEW)):
        forecast = {"as_of_us": NOW_US - age_us}
        made = record(
            Kind.FORECAST_MADE, seq, f"forecast/{name}.0", LEAVES[name], forecast=forecast
        )
        line: dict[str, Any] = {
            "event": "made",
            "instrument": "SPX1",
            "forecast_id": name,
            "attempt": 0,
        }
        judge.read(made)
        judge.read(record(Kind.FORECAST_LISTED, seq + 1, "instrument/SPX1", **line))
    said: dict[str, Any] = {"instrument": symbol, "forecast_id": named, "forecast_attempt": 0}
    said |= {"of_seq": 1 if of == OLD else 3, "of_leaf": LEAVES[of].hex()}
    judge.read(record(Kind.FORECAST_TAKEN, 5, "decision/d", **said))
    judge.read(record(Kind.VERDICT_GIVEN, 6, "decision/d", result="approved"))
    return judge.faults


def test_the_forecast_that_stands_and_is_young_is_fine() -> None:
    assert judged(NEW, NEW, age_us=AGE_MAX_US) == []


@pytest.mark.parametrize(
    ("named", "of", "symbol", "age_us", "said"),
    [
        (OLD, OLD, "SPX1", 0, "F1: decision/d names another forecast than the one that stood"),
        (NEW, NEW, "NDX1", 0, "F1: decision/d names another forecast than the one that stood"),
        (NEW, OLD, "SPX1", 0, "F1: decision/d names no record that states its forecast"),
        (NEW, NEW, "SPX1", AGE_MAX_US + 1, "F2: decision/d rests on a forecast that was expired"),
    ],
    ids=["passed over", "of another instrument", "by another record", "expired"],
)
def test_another_or_an_expired_one_is_found(
    named: str, of: str, symbol: str, age_us: int, said: str
) -> None:
    assert judged(named, of, symbol, age_us) == [said]


def test_a_decision_that_names_why_there_is_none_is_left_to_the_verifiers() -> None:
    judge = ForecastJudge()
    body: dict[str, Any] = {"instrument": "SPX1", "missing": "engine_dead"}
    judge.read(record(Kind.FORECAST_TAKEN, 1, "decision/d", **body))
    assert judge.faults == []
