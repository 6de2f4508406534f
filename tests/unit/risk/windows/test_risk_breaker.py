"""The AI circuit breaker trips on what is not usual, once, and not on honest noise."""

import random

from risk.windows.breaker import (
    ANSWERS,
    MINUTE_US,
    MINUTES_MIN,
    RATE_MIN,
    RECENT,
    USUAL_MIN,
    Breaker,
)


def usual(breaker: Breaker, accepted: int = 90, forecasts: int = USUAL_MIN + RECENT) -> None:
    for _ in range(forecasts):
        assert breaker.drafts(100, accepted) is None


def test_acceptance_far_from_its_usual_share_trips_either_way() -> None:
    for accepted in (40, 100):
        breaker = Breaker()
        usual(breaker, 70)
        found = [breaker.drafts(100, accepted) for _ in range(RECENT)]
        anomaly = next(one for one in found if one is not None)
        assert anomaly.signal == "acceptance"
        assert "usually 7000" in anomaly.says


def test_acceptance_is_judged_from_enough_forecasts_only() -> None:
    breaker = Breaker()
    usual(breaker, 90, USUAL_MIN - 1)
    assert all(breaker.drafts(100, 0) is None for _ in range(RECENT))
    assert breaker.drafts(0, 0) is None, "a forecast without drafts says nothing"


def test_a_shift_at_the_bar_passes_and_one_beyond_it_trips() -> None:
    def shifted(to: int) -> bool:
        breaker = Breaker()
        for _ in range(USUAL_MIN + RECENT):
            assert breaker.drafts(10_000, 9_000) is None
        return any(breaker.drafts(10_000, to) is not None for _ in range(RECENT))

    assert not shifted(9_000 - 6 * 300)
    assert shifted(9_000 - 6 * 300 - 1)


def test_honest_noise_does_not_trip() -> None:
    draw = random.Random(7)  # noqa: S311 - made-up noise, not keys
    breaker = Breaker()
    for share in (0.3, 0.9):
        breaker.model()
        for _ in range(2_000):
            accepted = sum(draw.random() < share for _ in range(64))
            assert breaker.drafts(64, accepted) is None


def test_another_model_makes_nothing_usual_and_a_stop_keeps_what_was() -> None:
    breaker = Breaker()
    usual(breaker)
    breaker.model()
    usual(breaker, 10)
    breaker.begin_anew()
    found = [breaker.drafts(100, 60) for _ in range(RECENT)]
    assert found[:-1] == [None] * (RECENT - 1), "a window is filled anew"
    assert found[-1] is not None, "what was usual before the stop is usual still"


def test_three_unusable_answers_of_fifty_trip() -> None:
    breaker = Breaker()
    for number in range(3 * ANSWERS):
        assert breaker.answer(usable=number % 25 != 0) is None, "two in fifty"
    breaker.begin_anew()
    found = [breaker.answer(usable=False) for _ in range(3)]
    assert found[:2] == [None, None]
    assert found[2] is not None
    assert found[2].says.startswith("3 of the last 3 forecasts")
    assert breaker.answer(usable=True) is None


def test_a_burst_of_decisions_trips_once_in_its_minute() -> None:
    breaker = Breaker()
    for minute in range(MINUTES_MIN):
        for _ in range(12):
            assert breaker.decision(minute * 3 * MINUTE_US) is None
    late = 1_000 * MINUTE_US
    found = [breaker.decision(late) for _ in range(RATE_MIN + 5)]
    (place,) = [number for number, one in enumerate(found) if one is not None]
    assert place == RATE_MIN
    few = Breaker()
    assert all(few.decision(late) is None for _ in range(5_000)), "nothing is usual yet"
