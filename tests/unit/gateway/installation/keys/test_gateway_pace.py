"""A key's pace: a minute's window, or a bucket that refills evenly; what was given back is free."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.installation.keys.pace import MINUTE_US, KeyPace
from gateway.installation.keys.scopes import KeyScope
from risk.intent import Side

SECOND_US = 1_000_000
START_US = 1_793_491_200_000_000


def scope(per_minute: int, at_once: int | None = None) -> KeyScope:
    return KeyScope(
        instruments=("*",),
        sides=(Side.BUY,),
        order_notional_max_minor=1,
        day_notional_max_minor=1,
        intents_per_minute=per_minute,
        intents_at_once=at_once,
        expires_us=1 << 52,
        account="one",
    )


def passed(pace: KeyPace, under: KeyScope, times_us: list[int]) -> list[int]:
    """Return which of the times were admitted."""
    found = []
    for one in times_us:
        if pace.wait_us(under, one, 1) == 0:
            pace.take(under, one, 1)
            found.append(one)
    return found


@given(st.integers(1, 600), st.integers(1, 40), st.lists(st.integers(0, 2 * SECOND_US)))
def test_no_stretch_of_time_has_more_than_what_may_come_at_once_and_refills(
    per_minute: int, at_once: int, gaps_us: list[int]
) -> None:
    at_once, now_us, times = min(at_once, per_minute), START_US, []
    for gap in gaps_us:
        now_us += gap
        times.append(now_us)
    under = scope(per_minute, at_once)
    taken = passed(KeyPace((), under), under, times)
    for first, begin in enumerate(taken):
        for last in range(first, len(taken)):
            allowed = at_once + (taken[last] - begin) / (MINUTE_US // per_minute)
            assert last - first + 1 <= allowed + 1e-6


def test_an_even_pace_is_never_refused_for_a_little_unevenness() -> None:
    under = scope(600, 8)
    even = [START_US + n * SECOND_US // 10 + n % 3 * 40_000 for n in range(1_200)]
    assert passed(KeyPace((), under), under, even) == even


def test_five_times_too_many_leave_the_rate_and_what_may_come_at_once() -> None:
    under = scope(600, 8)
    many = [START_US + n * SECOND_US // 50 for n in range(3_000)]
    assert 600 <= len(passed(KeyPace((), under), under, many)) <= 608


def test_without_a_bucket_no_minute_has_more() -> None:
    under, pace = scope(3), KeyPace((), scope(3))
    first = [START_US, START_US + 10, START_US + 20 * SECOND_US]
    assert passed(pace, under, first) == first
    now_us = START_US + 30 * SECOND_US
    assert pace.wait_us(under, now_us, 1) == 30 * SECOND_US
    assert pace.wait_us(under, now_us, 2) == 30 * SECOND_US + 10
    assert pace.wait_us(under, now_us, 4) is None, "never so many at once"
    assert pace.wait_us(under, START_US + MINUTE_US, 1) == 0


@pytest.mark.parametrize(("at_once", "lately"), [(None, 1), (2, 2)])
def test_only_a_rate_of_records_has_back_what_led_to_none(at_once: int | None, lately: int) -> None:
    """A bucket bounds how often one asks: a busy desk must not be asked the more for it."""
    under = scope(2, at_once)
    pace = KeyPace((), under)
    pace.take(under, START_US, 2)
    assert pace.wait_us(under, START_US, 1)
    pace.give_back(under, START_US, 1)
    assert (pace.wait_us(under, START_US, 1) == 0) == (at_once is None)
    assert pace.lately(START_US) == lately


@pytest.mark.parametrize("at_once", [None, 2])
def test_a_pace_begins_with_what_was_asked_before(at_once: int | None) -> None:
    under = scope(2, at_once)
    assert KeyPace((START_US, START_US), under).wait_us(under, START_US + 1, 1)
