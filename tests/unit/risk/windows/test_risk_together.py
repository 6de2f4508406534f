"""W9: two agents whose orders come together more often than their own rhythms give."""

import random

import pytest

from risk.windows.together import AgentOrder, together_row
from scripts.bench_coordination import measure

ROOT = bytes(range(32))
SECOND_US = 1_000_000
HOUR_US = 3_600 * SECOND_US


def orders(
    agent: str, times_s: list[float], side: str = "BUY", day: str = "X d1"
) -> list[AgentOrder]:
    return [
        AgentOrder(agent=agent, stratum=day, side=side, time_us=round(at * SECOND_US))
        for at in times_s
    ]


def drawn(seed: int, count: int) -> list[float]:
    rng = random.Random(seed)  # noqa: S311 - made-up orders
    return [rng.random() * 3_600 for _ in range(count)]


def test_a_follower_is_flagged_and_a_stranger_is_not() -> None:
    leads = drawn(1, 60)
    follows = [at + 0.4 for at in leads[:40]]
    row = together_row(
        [*orders("a", leads), *orders("b", follows), *orders("c", drawn(2, 60))], ROOT, deals=199
    )
    assert (row.finding, row.group, row.p_value) == ("flagged", "a with b", "1/200")
    assert (row.observed, row.limit, row.unit, row.cases) == (50, 100, "40 together", 160)
    alone = together_row([*orders("a", leads), *orders("c", drawn(2, 60))], ROOT, deals=199)
    assert alone.finding == "not flagged"


def test_sides_and_days_are_compared_apart() -> None:
    leads = drawn(1, 60)
    follows = [at + 0.4 for at in leads]
    for other in (orders("b", follows, side="SELL"), orders("b", follows, day="X d2")):
        row = together_row([*orders("a", leads), *other], ROOT, deals=99)
        assert (row.finding, row.unit) == ("not flagged", "0 together")


@pytest.mark.parametrize(("share", "finding"), [(24, "flagged"), (23, "not flagged")])
def test_two_fifths_of_the_smaller_ones_orders_weigh(share: int, finding: str) -> None:
    leads = [60.0 * n + n * n * 17 % 29 for n in range(60)]
    follows = [at + (0.5 if n < share else 30.0) for n, at in enumerate(leads)]
    row = together_row([*orders("a", leads), *orders("b", follows)], ROOT, deals=199)
    assert row.unit == f"{share} together"
    assert row.finding == finding


@pytest.mark.parametrize(("apart_s", "hits"), [(1.0, 30), (1.000_001, 0)])
def test_a_second_is_the_limit(apart_s: float, hits: int) -> None:
    leads = [100.0 * n for n in range(30)]
    row = together_row(
        [*orders("a", leads), *orders("b", [at + apart_s for at in leads])], ROOT, deals=9
    )
    assert row.unit == f"{hits} together"


def test_a_burst_counts_as_its_first() -> None:
    burst = [0.0, 0.5, 1.4, 2.3]
    row = together_row([*orders("a", burst * 10), *orders("b", burst * 10)], ROOT, deals=9)
    assert row.finding == "insufficient", "one burst is one order, however many there are"


def test_too_few_and_one_alone_are_not_judged() -> None:
    few = together_row([*orders("a", drawn(1, 20)), *orders("b", drawn(2, 19))], ROOT, deals=9)
    assert (few.finding, few.because[:15]) == ("insufficient", "fewer than 20 o")
    one = together_row(orders("a", drawn(1, 40)), ROOT, deals=9)
    assert (one.finding, one.cases) == ("does not apply", 40)
    assert together_row([], ROOT, deals=9).finding == "does not apply"


def test_the_bench_finds_what_it_planted() -> None:
    assert measure(2) == (2, 2, 0)
