"""What joint paths say about losses of a book: shortfall, and the chance that a limit trips.

Rules:
- Integers only. A loss is rounded up, an error is rounded up, so rounding never permits more.
- An estimate from a sample is uncertain: each one comes with its Monte Carlo error, and what is
  compared with a budget is the estimate plus the policy's number of errors.
- Every lot held and pending counts; each instrument's paths move its price of now.
- Days are counted in steps from now: with daily bars each step ends a day. A limit that has already
  tripped cannot trip again, so it is left out.

Source: expected shortfall and its asymptotic error from the influence function, Acerbi and Tasche
(2002); upper end of a proportion, Wilson (1927).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt
from operator import mul
from typing import Final

from risk.errors import PathsError
from risk.intent import Side
from risk.state.book import Book
from risk.state.paths.joint import BookPaths, days_of
from risk.state.paths.marginal import ONE_1E8

BP: Final = 10_000
TAIL: Final = 40
"""One in forty: a shortfall at 97.5 %."""
_SCALE: Final = 2 * ONE_1E8
"""Values are twice the mid times a move in 1e-8."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TripLimits:
    """The loss limits whose trip is asked for: R11 and R12, basis points."""

    day_loss_bp: int
    drawdown_bp: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a position risks over the paths; basis points, of equity or of certainty.

    Attributes:
        shortfall_bp: Mean loss at the horizon in the worst 2.5 % of paths, of equity.
        shortfall_error_bp: Its standard error.
        shortfall_bound_bp: The estimate plus the policy's number of errors.
        trip_bp: Share of paths in which a loss limit trips.
        trip_bound_bp: Upper end of that share, at the same number of errors.
    """

    n_paths: int
    shortfall_bp: int
    shortfall_error_bp: int
    shortfall_bound_bp: int
    trip_bp: int
    trip_bound_bp: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BookLosses:
    """A book on its joint paths, with one instrument's quantity left open.

    Attributes:
        paths: The joint paths of the whole book.
        symbol: The open instrument.
        others: Twice the value of everything else, minor units, by instrument; each has paths.
        moves: Moves of the open instrument, 1e-8, shape [paths, steps].
        twice_lot_minor: Twice the value of one lot of it.
        days: Day of each step, from 0.
    """

    equity_minor: int
    day_start_minor: int
    peak_minor: int
    paths: BookPaths
    symbol: str
    others: dict[str, int]
    moves: tuple[tuple[int, ...], ...]
    twice_lot_minor: int
    days: tuple[int, ...]
    limits: TripLimits
    errors_bp: int

    def at(self, lots: int) -> Estimate:
        """Return the estimate for a quantity of the open instrument, in signed lots."""
        held = lots * self.twice_lot_minor
        worst, n, trips = self._on_arrays(held) or self._walked(held)
        shortfall, error = _shortfall(worst, n)
        bound = -(-(shortfall * BP + error * self.errors_bp) // BP)
        return Estimate(
            n_paths=n,
            shortfall_bp=self._bp(shortfall),
            shortfall_error_bp=self._bp(error),
            shortfall_bound_bp=self._bp(bound),
            trip_bp=-(-trips * BP // n),
            trip_bound_bp=proportion_bound(trips, n, self.errors_bp),
        )

    def _on_arrays(self, held: int) -> tuple[list[int], int, int] | None:
        """Return the worst losses, paths and trips, or None if 64 bits cannot hold the numbers."""
        from risk.state.paths.arrays import Floors, arrays_of, fits, judged  # noqa: PLC0415 - numpy, only where paths are judged

        read = arrays_of(self.paths)
        floors = Floors(
            equity=self.equity_minor,
            day_start=self.day_start_minor,
            peak=self.peak_minor,
            day_left=BP - self.limits.day_loss_bp,
            peak_left=BP - self.limits.drawdown_bp,
        )
        values = {**self.others, self.symbol: held}
        largest = read.largest * sum(map(abs, values.values()))
        if not read.symbols or not fits(largest, floors, _SCALE):
            return None
        worst, trips = judged(read, values, floors, self.days, _SCALE)
        return worst, read.moves.shape[2], trips

    def _walked(self, held: int) -> tuple[list[int], int, int]:
        """Return the same path by path, in Python's integers."""
        values = {**self.others, self.symbol: held}
        losses, trips = [], 0
        for joint in zip(*(self.paths.of(name) or () for name in values), strict=True):
            steps = zip(*joint, strict=True)
            changes = [sum(map(mul, values.values(), step)) // _SCALE for step in steps]
            losses.append(-changes[-1])
            trips += self._trips(changes)
        return _worst(losses), len(losses), trips

    def _bp(self, loss_minor: int) -> int:
        return -(-loss_minor * BP // self.equity_minor)

    def _trips(self, path: Sequence[int]) -> bool:
        """Return whether a loss limit trips on a path of changes in value, that has not yet.

        A day's loss of more than L basis points is an equity below (10,000 - L) of its start, and
        likewise of the peak, so one product is compared instead of a ratio.
        """
        day_left, peak_left = BP - self.limits.day_loss_bp, BP - self.limits.drawdown_bp
        now = before = self.equity_minor
        peak, day = self.peak_minor, 0
        day_floor, peak_floor = self.day_start_minor * day_left, peak * peak_left
        today, sunk = now * BP < day_floor, now * BP < peak_floor
        for change, of_day in zip(path, self.days, strict=True):
            equity = now + change
            if equity <= 0:
                return True
            if of_day != day:
                day_floor, day, today = before * day_left, of_day, False
            if equity > peak:
                peak, peak_floor = equity, equity * peak_left
            scaled = equity * BP
            if (scaled < day_floor and not today) or (scaled < peak_floor and not sunk):
                return True
            before = equity
        return False


def book_losses(
    paths: BookPaths,
    book: Book,
    symbol: str,
    *,
    twice_lot_minor: int,
    limits: TripLimits,
    errors_bp: int,
) -> BookLosses:
    """Return a book's losses with the quantity of one instrument left open.

    `twice_lot_minor` is twice the value of one lot of it at the mid.

    Raises:
        PathsError: there are no paths of the instrument or of one that the book has, or the book
            has no equity.
    """
    own = paths.of(symbol)
    if own is None or book.equity_minor <= 0 or twice_lot_minor <= 0:
        raise PathsError(f"{symbol}: no paths, or a book without equity")
    steps, others = len(own[0]), _others(book, symbol)
    for name in others:
        if paths.of(name) is None:
            raise PathsError(f"{name}: in the book, and no paths of it")
    return BookLosses(
        equity_minor=book.equity_minor,
        day_start_minor=max(1, book.day.start_minor),
        peak_minor=max(1, book.peak_minor),
        paths=paths,
        symbol=symbol,
        others=others,
        moves=own,
        twice_lot_minor=twice_lot_minor,
        days=days_of(steps, paths.bar_us),
        limits=limits,
        errors_bp=errors_bp,
    )


def instruments_of(book: Book, symbol: str) -> tuple[str, ...]:
    """Return what else a book holds or may come to hold, sorted."""
    return tuple(sorted(_others(book, symbol)))


def shortfall_of(losses: Sequence[int]) -> tuple[int, int]:
    """Return the mean of the worst 2.5 % of losses and its standard error, both rounded up."""
    return _shortfall(_worst(losses), len(losses))


def _worst(losses: Sequence[int]) -> list[int]:
    return sorted(losses, reverse=True)[: len(losses) // TAIL + 1]


def _shortfall(worst: Sequence[int], n: int) -> tuple[int, int]:
    """Return the same for the largest of `n` losses; the smallest of them stands last."""
    edge = worst[-1]
    over = [TAIL * (loss - edge) for loss in worst[:-1]]
    shortfall = edge - (-sum(over) // n)
    if n == 1:
        return shortfall, abs(shortfall)
    # variance of the influences times n squared, so that no division loses anything
    spread = max(0, n * sum(one * one for one in over) - sum(over) ** 2)
    return shortfall, isqrt(spread // (n * n * (n - 1))) + 1


def proportion_bound(found: int, n: int, errors_bp: int) -> int:
    """Return the upper end of a share, basis points rounded up; never zero for a finite sample."""
    z, one = errors_bp, BP
    root = isqrt(z * z * (found * (n - found) * one * one // n + z * z // 4)) + 1
    upper = found * one * one + z * z // 2 + root
    return min(BP, -(-upper * BP // (n * one * one + z * z)))


def _others(book: Book, symbol: str) -> dict[str, int]:
    """Return twice the value, minor units, of everything else held and pending, by instrument."""
    found: dict[str, int] = {}
    for held in book.positions:
        if held.instrument != symbol and held.lots:
            found[held.instrument] = 2 * held.value_minor
    for order in book.reservations:
        if order.instrument == symbol:
            continue
        marked = book.position(order.instrument)
        price = order.limit_ticks if marked is None else marked.mark_ticks
        lots = order.open_lots if order.side is Side.BUY else -order.open_lots
        found.setdefault(order.instrument, 0)
        found[order.instrument] += 2 * lots * price * order.unit_minor
    return found
