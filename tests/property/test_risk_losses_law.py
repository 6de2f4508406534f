"""Losses on paths are those of the definition: ratios, step by step, for any book and any paths."""

from dataclasses import replace
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from risk.state.paths.joint import BookPaths, InstrumentPaths
from risk.state.paths.losses import BP, BookLosses, TripLimits, book_losses
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
        template_digest="",
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
    rests = losses.rest or ((0,) * len(losses.days),) * len(losses.moves)
    for rest, moves in zip(rests, losses.moves, strict=True):
        start, peak, day = losses.day_start_minor, losses.peak_minor, 0
        day_over = Fraction(start - now, start) > Fraction(limits.day_loss_bp, BP)
        sunk = Fraction(peak - now, peak) > Fraction(limits.drawdown_bp, BP)
        before, trips = now, False
        for a, move, of_day in zip(rest, moves, losses.days, strict=True):
            equity = now + (a + lots * losses.twice_lot_minor * move) // (2 * 10**8)
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
