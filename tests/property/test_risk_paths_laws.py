"""Joining paths: whole ones, each instrument's own, the same each time, one alone unchanged."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from risk.errors import PathsError
from risk.state.paths.arrays import paths_digest
from risk.state.paths.joint import join_paths
from risk.state.paths.losses import proportion_bound, shortfall_of
from risk.state.paths.marginal import ONE_1E8, Marginal
from risk.state.paths.template import MIN_WINDOWS, WARM_UP, make_template

BAR_US = 86_400_000_000
BARS = 140
MOVES = st.integers(-30_000_000, 30_000_000)


@st.composite
def marginals(draw: st.DrawFn, count: int = 2) -> tuple[Marginal, ...]:
    """Instruments with the same number and length of paths, and a common past."""
    paths, steps = draw(st.integers(2, 40)), draw(st.integers(1, 6))
    path = st.lists(MOVES, min_size=steps, max_size=steps).map(tuple)
    closes = st.lists(st.integers(5_000, 15_000), min_size=BARS, max_size=BARS).map(tuple)
    return tuple(
        Marginal(
            instrument=f"I{n}",
            as_of_us=BARS * BAR_US,
            bar_us=BAR_US,
            times_us=tuple(BAR_US * (bar + 1) for bar in range(BARS)),
            closes_ticks=draw(closes),
            moves_1e8=tuple(draw(st.lists(path, min_size=paths, max_size=paths))),
        )
        for n in range(count)
    )


@settings(max_examples=60, deadline=None)
@given(marginals(count=3))
def test_each_instrument_keeps_its_own_whole_paths(found: tuple[Marginal, ...]) -> None:
    joined = join_paths(found[0], found[1:])
    for one in found:
        assert Counter(joined.of(one.instrument)) == Counter(one.moves_1e8)
    assert joined.of("I0") == found[0].moves_1e8


@settings(max_examples=30, deadline=None)
@given(marginals())
def test_the_same_paths_give_the_same_match(found: tuple[Marginal, ...]) -> None:
    first, second = found
    again = join_paths(first, (second,))
    assert paths_digest(join_paths(first, (second,))) == paths_digest(again)


@settings(max_examples=30, deadline=None)
@given(marginals(count=1))
def test_one_instrument_alone_is_unchanged(found: tuple[Marginal, ...]) -> None:
    (one,) = found
    joined = join_paths(one, ())
    assert joined.of(one.instrument) == one.moves_1e8
    assert not joined.template_digest


@settings(max_examples=30, deadline=None)
@given(marginals())
def test_the_same_past_puts_rank_to_rank(found: tuple[Marginal, ...]) -> None:
    """Instruments that always moved alike: the best path goes with the best one."""
    first, second = found
    alike = Marginal(
        instrument="I1",
        as_of_us=second.as_of_us,
        bar_us=BAR_US,
        times_us=first.times_us,
        closes_ticks=first.closes_ticks,
        moves_1e8=second.moves_1e8,
    )
    joined = join_paths(first, (alike,))
    pairs = sorted(
        zip(*(joined.of(name) or () for name in ("I0", "I1")), strict=True),
        key=lambda pair: pair[0][-1],
    )
    ends = [pair[1][-1] for pair in pairs]
    strictly = len({pair[0][-1] for pair in pairs}) == len(pairs)
    assert not strictly or ends == sorted(ends)


@settings(max_examples=20, deadline=None)
@given(marginals())
def test_paths_that_do_not_fit_are_not_joined(found: tuple[Marginal, ...]) -> None:
    first, second = found
    with pytest.raises(PathsError, match="twice"):
        join_paths(first, (first,))
    fewer = _with(second, moves=second.moves_1e8[1:])
    if len(first.moves_1e8) == 2:  # one path divides every number: the first of each is taken
        assert len((join_paths(first, (fewer,))).of("I0") or ()) == 1
    else:
        with pytest.raises(PathsError, match="differ"):
            join_paths(first, (fewer,))
    needed = WARM_UP + MIN_WINDOWS + first.steps
    make_template((first, _with(second, bars=needed)), 4)
    with pytest.raises(PathsError, match="windows"):
        make_template((first, _with(second, bars=needed - 1)), 4)


def test_a_path_below_a_price_of_zero_is_refused() -> None:
    with pytest.raises(PathsError, match="below zero"):
        Marginal(
            instrument="I0",
            as_of_us=1,
            bar_us=BAR_US,
            times_us=(),
            closes_ticks=(),
            moves_1e8=((-ONE_1E8 - 1,),),
        )


@given(st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=200))
def test_a_shortfall_lies_between_the_mean_and_the_worst(losses: list[int]) -> None:
    shortfall, error = shortfall_of(losses)
    assert sum(losses) <= shortfall * len(losses)
    assert shortfall <= max(losses)
    assert error >= 0


@given(st.integers(1, 2_000), st.data())
def test_the_bound_of_a_share_is_above_it_and_grows_with_it(n: int, data: st.DataObject) -> None:
    found = data.draw(st.integers(0, n - 1))
    low, high = (proportion_bound(one, n, 16_449) for one in (found, found + 1))
    assert 0 < found * 10_000 / n <= low <= high <= 10_000 or found == 0 < low <= high
    assert proportion_bound(found, n, 0) <= low


def _with(
    one: Marginal, *, moves: tuple[tuple[int, ...], ...] | None = None, bars: int = BARS
) -> Marginal:
    return Marginal(
        instrument=one.instrument,
        as_of_us=one.as_of_us,
        bar_us=one.bar_us,
        times_us=one.times_us[-bars:],
        closes_ticks=one.closes_ticks[-bars:],
        moves_1e8=one.moves_1e8 if moves is None else moves,
    )
