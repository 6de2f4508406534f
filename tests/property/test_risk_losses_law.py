"""Losses on paths are those of the definition: ratios, step by step, for any book and any paths."""

from dataclasses import replace
from fractions import Fraction
from math import ceil

from hypothesis import given, settings
from hypothesis import strategies as st

from risk.state.paths.arrays import Floors, fits
from risk.state.paths.joint import BookPaths, InstrumentPaths
from risk.state.paths.losses import BP, BookLosses, TripLimits, book_losses, shortfall_of
from tests.doubles.risk_cases import bought, fold

HOUR_US = 3_600_000_000
MOVES = st.integers(-60_000_000, 60_000_000)


@st.composite
def cases(draw: st.DrawFn) -> tuple[BookLosses, int]:
    """A book with or without another holding, on paths of hours or days, and lots to judge."""
    steps, count = draw(st.integers(1, 8)), draw(st.integers(1, 12))
    path = st.lists(MOVES, min_size=steps, max_size=steps).map(tuple)
    several = st.lists(path, min_size=count, max_size=count).map(tuple)
    paths = BookPaths(
        as_of_us=1,
        bar_us=draw(st.sampled_from((HOUR_US, 7 * HOUR_US, 24 * HOUR_US))),
        rule_digest="",
        instruments=tuple(
            InstrumentPaths(symbol=name, moves_1e8=draw(several)) for name in ("SPXN", "NDXN")
        ),
    )
    lots = draw(st.integers(0, 900))
    book = fold(bought(lots, 60_000, instrument="NDXN")) if lots else fold()
    book = replace(
        book,
        peak_minor=book.equity_minor + draw(st.integers(0, 20_000_000)),
        day=replace(book.day, start_minor=book.equity_minor + draw(st.integers(-999_999, 999_999))),
    )
    limits = TripLimits(day_loss_bp=draw(st.integers(1, BP)), drawdown_bp=draw(st.integers(1, BP)))
    losses = book_losses(
        paths, book, "SPXN", twice_lot_minor=2 * 27_000, limits=limits, errors_bp=0
    )
    return losses, draw(st.integers(-3_000, 3_000))


def by_definition(losses: BookLosses, lots: int) -> int:
    """Count the paths on which a limit trips that has not tripped yet, with exact ratios."""
    found = 0
    limits, now = losses.limits, losses.equity_minor
    value = losses.others.get("NDXN", 0)
    others = losses.paths.of("NDXN")
    assert others is not None
    for rest, moves in zip(others, losses.moves, strict=True):
        start, peak, day = losses.day_start_minor, losses.peak_minor, 0
        day_over = Fraction(start - now, start) > Fraction(limits.day_loss_bp, BP)
        sunk = Fraction(peak - now, peak) > Fraction(limits.drawdown_bp, BP)
        before, trips = now, False
        for a, move, of_day in zip(rest, moves, losses.days, strict=True):
            equity = now + (value * a + lots * losses.twice_lot_minor * move) // (2 * 10**8)
            if of_day != day and not trips:
                start, day, day_over = before, of_day, False
            peak = max(peak, equity)
            trips = (
                trips
                or equity <= 0
                or (
                    not day_over
                    and Fraction(start - equity, start) > Fraction(limits.day_loss_bp, BP)
                )
                or (not sunk and Fraction(peak - equity, peak) > Fraction(limits.drawdown_bp, BP))
            )
            before = equity
        found += trips
    return found


@settings(max_examples=300, deadline=None)
@given(cases())
def test_the_trips_are_those_of_the_definition(case: tuple[BookLosses, int]) -> None:
    losses, lots = case
    estimate = losses.at(lots)
    trips = by_definition(losses, lots)
    assert estimate.n_paths == len(losses.moves)
    assert estimate.trip_bp == -(-trips * BP // estimate.n_paths)


@settings(max_examples=200, deadline=None)
@given(cases(), st.sampled_from((1, 10**4, 10**7, 10**9)))
def test_arrays_and_integers_without_bound_agree(case: tuple[BookLosses, int], times: int) -> None:
    """The same book in ever smaller units: 64 bits stop holding it, and nothing changes."""
    losses, lots = case
    larger = replace(
        losses,
        equity_minor=losses.equity_minor * times,
        day_start_minor=losses.day_start_minor * times,
        peak_minor=losses.peak_minor * times,
        others={name: value * times for name, value in losses.others.items()},
        twice_lot_minor=losses.twice_lot_minor * times,
    )
    estimate = larger.at(lots)
    assert estimate.trip_bp == -(-by_definition(larger, lots) * BP // estimate.n_paths)


def test_what_64_bits_do_not_hold_is_not_put_into_arrays() -> None:
    floors = Floors(equity=10**8, day_start=10**8, peak=10**8, day_left=9_900, peak_left=9_700)
    assert fits(2**61, floors, 2 * 10**8)
    assert not fits(2**62, floors, 2 * 10**8)
    assert not fits(0, replace(floors, peak=2**50), 2 * 10**8)


@settings(max_examples=200, deadline=None)
@given(cases(), st.integers(0, 4 * BP))
def test_the_bound_is_the_estimate_plus_the_errors(
    case: tuple[BookLosses, int], errors: int
) -> None:
    """The Monte Carlo error counts against the position, never for it."""
    losses, lots = replace(case[0], errors_bp=errors), case[1]
    held = lots * losses.twice_lot_minor
    others = losses.paths.of("NDXN")
    assert others is not None
    value = losses.others.get("NDXN", 0)
    ends = [
        -((value * rest[-1] + held * moves[-1]) // (2 * 10**8))
        for rest, moves in zip(others, losses.moves, strict=True)
    ]
    shortfall, error = shortfall_of(ends)
    bound = shortfall + Fraction(error * errors, BP)
    found = losses.at(lots)
    assert found.shortfall_bound_bp == ceil(Fraction(ceil(bound) * BP, losses.equity_minor))
    assert found.shortfall_bound_bp >= found.shortfall_bp
