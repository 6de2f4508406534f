"""A flight knows what is worth drafting and why not; a forecast at fault cannot be made."""

from dataclasses import replace
from hashlib import sha256
from typing import Any

import numpy as np
import pytest

from inference.codec.alphabet import Alphabet
from inference.engine.flight import MAX_MISSES, Flight, Floats, Sighting, Step, softmax
from inference.errors import ForecastError
from inference.forecast.forecast import Forecast, ForecastSource
from inference.speculation.rounds import PlainReason, RoundOutcome, row_bytes
from inference.speculation.seeds import Purpose, accept_draw, pick, token_draw

ALPHABET, WIDER = Alphabet.of_range(10, 3), Alphabet.of_range(10, 4)
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
        ({}, 0),
        ({"drafts_first": True}, 4),
        ({"drafts_first": True, "spec_k": 0}, 0),
        ({"drafts_first": True, "n_tokens": 1}, 0),
        ({"produced": 1}, 4),
        ({"produced": 5}, 4),
        ({"produced": 6}, 3),
        ({"produced": 8}, 1),
        ({"produced": 9}, 0),
        ({"produced": 11}, 0),
        ({"produced": 1, "spec_k": 0}, 0),
        ({"produced": 1, "misses": MAX_MISSES - 1}, 4),
        ({"produced": 1, "misses": MAX_MISSES}, 0),
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
    return flight, Step([flight], [2], ALPHABET)


@pytest.mark.parametrize(
    ("emitted", "accepted", "outcome"),
    [
        ((10,), 0, RoundOutcome.RECOVERED),
        ((10, 11), 1, RoundOutcome.RECOVERED),
        ((10, 11, 12), 2, RoundOutcome.BONUS),
    ],
)
def test_a_greedy_step_keeps_the_rows_up_to_the_one_that_decided(
    emitted: tuple[int, ...], accepted: int, outcome: RoundOutcome
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
    step = Step([flight], [2], ALPHABET)
    step.close(np.zeros((3, 3), dtype=np.float32), [(10, 11, 12)], [10, 11])
    assert flight.rounds[0].truncated == 2


def test_a_step_without_its_rows_is_no_step() -> None:
    step = Step([flight_with(produced=1)], [1], ALPHABET)
    with pytest.raises(RuntimeError, match="without handing over its rows"):
        step.close(np.zeros((2, 3), dtype=np.float32), [(10, 11)], [10])


def test_a_request_whose_prompt_is_unfinished_makes_no_round() -> None:
    flight, step = greedy_step()
    step.close(np.zeros((3, 3), dtype=np.float32), [()], [10, 11])
    assert (flight.rounds, flight.produced, flight.drafted) == ([], 0 + 1, 0)


def drafted_step() -> tuple[Step, Floats, list[list[int]]]:
    """Two trajectories, two drafts and one: the first rejected at once, the second accepted."""
    flights = [flight_with(produced=1), flight_with(produced=4, seed=6, index=1)]
    step = Step(flights, [2, 1], WIDER)
    logits = np.log(np.random.default_rng(3).dirichlet([1.0] * 4, size=5)).astype(np.float32)
    targets = softmax(logits)
    q = np.random.default_rng(4).dirichlet([1.0] * 4, size=3).astype(np.float32)
    step.recover(targets[[0, 1, 3]], q)
    step.sample(targets[[2, 4]])
    return step, logits, [[11], [12, 13]]


def test_a_witness_sees_each_token_with_the_rows_of_its_own_place() -> None:
    step, logits, emitted = drafted_step()
    targets, seen = softmax(logits), list[Sighting]()
    step.close(logits, emitted, [10, 11, 12], keep_rounds=False, witness=seen.append)
    q = step.q_used
    assert q is not None
    wanted = [
        (5, 1, 1, targets[0], q[0], False),
        (6, 4, 2, targets[3], q[2], True),
        (6, 5, 3, targets[4], None, False),
    ]
    assert len(seen) == len(wanted)
    for sighting, (seed, position, bin_, target, draft, accepted) in zip(seen, wanted, strict=True):
        assert (sighting.seed, sighting.position, sighting.bin) == (seed, position, bin_)
        assert sighting.target.tolist() == sighting.used.tolist() == target.tolist()
        assert (None if sighting.draft is None else sighting.draft.tolist()) == (
            None if draft is None else draft.tolist()
        )
        assert sighting.accepted is accepted
    first, second = step.flights
    assert (first.rounds, first.produced, first.misses) == ([], 2, 1)
    assert (second.produced, second.drafted, second.accepted, second.misses) == (6, 1, 1, 0)


@pytest.mark.parametrize(("row", "flight"), [(0, 0), (1, 0), (2, 1)])
def test_a_row_that_a_draft_was_tested_against_must_be_the_targets(row: int, flight: int) -> None:
    step, logits, emitted = drafted_step()
    assert step.p_used is not None
    step.p_used = step.p_used.copy()
    step.p_used[row] = step.p_used[row][::-1]
    step.close(logits, emitted, [10, 11, 12])
    faults = [bool(one.fault) for one in step.flights]
    assert faults == [flight == 0, flight == 1]
    assert [len(one.rounds) for one in step.flights] == [0 if bad else 1 for bad in faults]


@pytest.mark.parametrize("flight", [0, 1])
def test_a_row_that_a_last_token_was_drawn_from_must_be_the_targets(flight: int) -> None:
    step, logits, emitted = drafted_step()
    assert step.last_rows is not None
    step.last_rows = step.last_rows.copy()
    step.last_rows[flight] = step.last_rows[flight][::-1]
    step.close(logits, emitted, [10, 11, 12])
    assert [bool(one.fault) for one in step.flights] == [flight == 0, flight == 1]


def test_a_row_may_differ_in_its_last_bits_only() -> None:
    for gap, good in ((0.5e-5, True), (2e-5, False)):
        step, logits, emitted = drafted_step()
        assert step.p_used is not None
        step.p_used = step.p_used + np.float32(gap)
        step.close(logits, emitted, [10, 11, 12])
        assert [one.fault == "" for one in step.flights] == [good, good]


def test_a_step_keeps_the_rows_of_what_was_decided_and_no_other() -> None:
    step, logits, emitted = drafted_step()
    step.close(logits, emitted, [10, 11, 12])
    p, q = step.p_used, step.q_used
    assert p is not None
    assert q is not None
    (first,), (second,) = (one.rounds for one in step.flights)
    assert (first.outcome, first.accepted, first.drafts) == (RoundOutcome.RECOVERED, 0, (10, 11))
    assert first.p_rows == (p[0].tobytes(),)
    assert first.q_rows == (q[0].tobytes(),)
    assert (second.outcome, second.accepted, second.drafts) == (RoundOutcome.BONUS, 1, (12,))
    assert second.p_rows == (p[2].tobytes(), softmax(logits)[4].tobytes())
    assert second.q_rows == (q[2].tobytes(),)
    assert second.draws == (accept_draw(6, 4, 0),)
