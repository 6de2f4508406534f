"""A flight knows what is worth drafting and why not; a forecast at fault cannot be made."""

from dataclasses import replace
from hashlib import sha256
from typing import Any

import numpy as np
import pytest

from inference.errors import ForecastError
from inference.flight import MAX_MISSES, Flight, Step, softmax
from inference.forecast import Forecast, ForecastSource
from inference.rounds import Outcome, PlainReason, row_bytes
from inference.seeds import Purpose, accept_draw, pick, token_draw

FORECAST = Forecast(
    instrument="SPXN",
    as_of_us=1,
    horizon=2,
    bar_us=1,
    source=ForecastSource.TARGET,
    n_paths=2,
    n_dropped=0,
    expected_1e8=-(1 << 63),
    step_vol_1e8=1,
    horizon_vol_1e8=0,
    p_up_bp=0,
    interval_low_1e8=5,
    interval_high_1e8=5,
    levels_bp=(500, 9_500),
    quantiles_1e8=((1, 2), (1, (1 << 63) - 1)),
    codec_digest="c",
    model_digest="m",
    capture_digest="e",
)
FORECASTS: dict[str, dict[str, Any]] = {
    "expected too small": {"expected_1e8": -(1 << 63) - 1},
    "expected too large": {"expected_1e8": 1 << 63},
    "step volatility too large": {"step_vol_1e8": 1 << 63},
    "horizon volatility too large": {"horizon_vol_1e8": 1 << 63},
    "interval too low": {"interval_low_1e8": -(1 << 63) - 1},
    "interval too high": {"interval_high_1e8": 1 << 63},
    "a quantile too large": {"quantiles_1e8": ((1, 2), (1, 1 << 63))},
    "p_up below nought": {"p_up_bp": -1},
    "p_up above one": {"p_up_bp": 10_001},
    "no step volatility": {"step_vol_1e8": 0},
    "horizon volatility below nought": {"horizon_vol_1e8": -1},
    "one path": {"n_paths": 1},
    "less than none dropped": {"n_dropped": -1},
    "no horizon": {"horizon": 0, "quantiles_1e8": ((), ())},
    "no bar": {"bar_us": 0},
    "levels the wrong way": {"levels_bp": (9_500, 500)},
    "a level twice": {"levels_bp": (500, 500)},
    "no levels": {"levels_bp": (), "quantiles_1e8": ()},
    "a level more": {"levels_bp": (500, 5_000, 9_500)},
    "a step less": {"quantiles_1e8": ((1, 2), (1,))},
    "quantiles that cross": {"quantiles_1e8": ((1, 2), (1, 1))},
    "an interval upside down": {"interval_low_1e8": 6},
}


@pytest.mark.parametrize("name", FORECASTS)
def test_a_forecast_with_one_thing_wrong_cannot_be_made(name: str) -> None:
    with pytest.raises(ForecastError):
        replace(FORECAST, **FORECASTS[name])


def test_a_forecast_at_every_border_can() -> None:
    assert replace(FORECAST, p_up_bp=10_000).n_paths == 2


def flight_with(**changes: Any) -> Flight:  # noqa: ANN401 - any field, any value
    given: dict[str, Any] = {
        "key": "k",
        "index": 0,
        "seed": 5,
        "spec_k": 4,
        "n_tokens": 10,
        "greedy": False,
    }
    return Flight(**(given | {"table_base": 0} | changes))


@pytest.mark.parametrize(
    ("changes", "drafts"),
    [
        ({}, 4),
        ({"produced": 5}, 4),
        ({"produced": 6}, 3),
        ({"produced": 8}, 1),
        ({"produced": 9}, 0),
        ({"produced": 11}, 0),
        ({"spec_k": 0}, 0),
        ({"misses": MAX_MISSES - 1}, 4),
        ({"misses": MAX_MISSES}, 0),
    ],
    ids=str,
)
def test_as_many_drafts_as_can_still_be_followed(changes: dict[str, int], drafts: int) -> None:
    assert flight_with(**changes).look_ahead() == drafts


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"spec_k": 0}, PlainReason.FIRST_TOKEN),
        ({"produced": 1, "spec_k": 0, "misses": MAX_MISSES}, PlainReason.SPECULATION_OFF),
        ({"produced": 9, "misses": MAX_MISSES}, PlainReason.DRAFTS_REJECTED),
        ({"produced": 9}, PlainReason.LAST_TOKEN),
        ({"produced": 8}, PlainReason.NOT_SCHEDULED),
    ],
    ids=str,
)
def test_why_a_step_was_plain(changes: dict[str, int], reason: PlainReason) -> None:
    assert flight_with(**changes).why_plain() is reason


def test_an_oracle_picks_as_the_sampler_does() -> None:
    """Draws and picks of one seed, by hand: the first entry whose running sum passes the mark."""
    row = (0.1, 0.0, 0.6, 0.3)
    for position in range(200):
        draw = token_draw(5, Purpose.SAMPLE, position)
        assert 0.0 < draw < 1.0
        mark = draw * sum(row)
        passed = [place for place in range(4) if mark < sum(row[: place + 1])]
        assert pick(row, draw) == passed[0]
        assert 0.0 < accept_draw(5, position, 0) < 1.0


def greedy_step() -> tuple[Flight, Step]:
    flight = flight_with(produced=1, greedy=True)
    return flight, Step([flight], [2], 10)


@pytest.mark.parametrize(
    ("emitted", "accepted", "outcome"),
    [
        ((10,), 0, Outcome.RECOVERED),
        ((10, 11), 1, Outcome.RECOVERED),
        ((10, 11, 12), 2, Outcome.BONUS),
    ],
)
def test_a_greedy_step_keeps_the_rows_up_to_the_one_that_decided(
    emitted: tuple[int, ...], accepted: int, outcome: Outcome
) -> None:
    flight, step = greedy_step()
    logits = np.arange(9, dtype=np.float32).reshape(3, 3)
    step.close(logits, [emitted], [10, 11])
    (kept,) = flight.rounds
    assert (kept.accepted, kept.outcome, kept.token) == (accepted, outcome, emitted[-1])
    assert (kept.step, kept.drafts, kept.truncated) == (1, (10, 11), 0)
    assert kept.p_rows == tuple(
        np.ascontiguousarray(row).tobytes() for row in softmax(logits)[: accepted + 1]
    )
    # no drafter's rows were handed over: a draft had all its mass on itself
    verified = min(2, accepted + 1)
    assert kept.q_rows == (row_bytes((1.0, 0.0, 0.0)), row_bytes((0.0, 1.0, 0.0)))[:verified]
    assert kept.draws == tuple(accept_draw(5, 1, j) for j in range(verified))
    whole = np.rint(logits[: accepted + 1] * 1024).astype("<i4").tobytes()
    assert kept.logits_digest == sha256(whole).digest()
    assert (flight.produced, flight.drafted, flight.accepted) == (1 + len(emitted), 2, accepted)
    assert flight.misses == (0 if accepted else 1)


def test_a_step_beyond_the_end_says_how_much_is_dropped() -> None:
    flight = flight_with(produced=9, greedy=True)
    step = Step([flight], [2], 10)
    step.close(np.zeros((3, 3), dtype=np.float32), [(10, 11, 12)], [10, 11])
    assert flight.rounds[0].truncated == 2


def test_a_step_without_its_rows_is_no_step() -> None:
    step = Step([flight_with(produced=1)], [1], 10)
    with pytest.raises(RuntimeError, match="without handing over its rows"):
        step.close(np.zeros((2, 3), dtype=np.float32), [(10, 11)], [10])


def test_a_request_whose_prompt_is_unfinished_makes_no_round() -> None:
    flight, step = greedy_step()
    step.close(np.zeros((3, 3), dtype=np.float32), [()], [10, 11])
    assert (flight.rounds, flight.produced, flight.drafted) == ([], 0 + 1, 0)
