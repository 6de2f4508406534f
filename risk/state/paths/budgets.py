"""A policy's two budgets on the joint paths: what a target may be inside them.

Not here: the order that follows (`risk/sizing.py`), and what rejects one (`risk/rules`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from risk.errors import PathsError
from risk.numbers.looser import Looser
from risk.numbers.sections import AccountPolicy
from risk.numbers.stated import BasisPoints, Count, Micros, PolicyModel
from risk.state.book import Book
from risk.state.paths.joint import BookPaths
from risk.state.paths.losses import BookLosses, Estimate, TripLimits, book_losses


class HorizonLimits(PolicyModel):
    """Two budgets on the joint paths, for sizing and for the rule alike.

    Attributes:
        shortfall_max: Mean loss over the horizon in the worst 2.5 % of paths, of equity.
        trip_chance_max: Chance that a loss limit (day or drawdown) trips inside the horizon.
        errors_added: Standard errors added to each estimate, in 1/10,000; 16,449 is 95 %.
        joint_paths_min: Paths below which an estimate says nothing.
        joint_paths_age_max: Age of the oldest forecast among the paths.
        joint_correlation: What a pair of instruments without enough of a common past counts as.
    """

    shortfall_max: Annotated[BasisPoints, Looser.HIGHER]
    trip_chance_max: Annotated[BasisPoints, Looser.HIGHER]
    errors_added: Annotated[BasisPoints, Looser.LOWER]
    joint_paths_min: Annotated[Count, Looser.LOWER]
    joint_paths_age_max: Annotated[Micros, Looser.HIGHER]
    joint_correlation: Annotated[BasisPoints, Looser.LOWER]


class Binding(StrEnum):
    """What limited the target."""

    TARGET_VOLATILITY = "TARGET_VOLATILITY"
    EXPOSURE_MAX = "EXPOSURE_MAX"
    SHORTFALL = "SHORTFALL"
    TRIP_CHANCE = "TRIP_CHANCE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Budgets:
    """The two budgets, and what they left of a target.

    Attributes:
        unbound_bp: The target before the budgets.
        at_target: What the position risks at the target.
        paths_digest: Names the joint paths.
    """

    binding: Binding
    unbound_bp: int
    shortfall_max_bp: int
    trip_chance_max_bp: int
    at_target: Estimate
    paths_digest: str


def losses_under(
    account: AccountPolicy,
    horizon: HorizonLimits,
    paths: BookPaths | None,
    book: Book,
    symbol: str,
    twice_lot_minor: int,
) -> BookLosses:
    """Return a book's losses on its paths, with the policy's loss limits and errors.

    Raises:
        PathsError: there are no paths, or as in `book_losses`.
    """
    if paths is None:
        raise PathsError(f"{symbol}: no joint paths")
    return book_losses(
        paths,
        book,
        symbol,
        twice_lot_minor=twice_lot_minor,
        limits=TripLimits(
            day_loss_bp=account.day_loss_max.value,
            drawdown_bp=account.drawdown_max.value,
        ),
        errors_bp=horizon.errors_added.value,
    )


def exceeded(limits: HorizonLimits, found: Estimate) -> Binding | None:
    """Return the first budget that an estimate's bound exceeds, or None."""
    if found.shortfall_bound_bp > limits.shortfall_max.value:
        return Binding.SHORTFALL
    if found.trip_bound_bp > limits.trip_chance_max.value:
        return Binding.TRIP_CHANCE
    return None


def inside(
    limits: HorizonLimits,
    losses: BookLosses,
    target_bp: int,
    *,
    capped: bool,
    lots_of: Callable[[int], int],
) -> tuple[int, Budgets]:
    """Return the largest target inside both budgets, and what bound it.

    It is found by halving, and checked itself. Zero, if not even that is inside: then the rest of
    the book breaks a budget. `capped` says whether the target was cut to the policy's largest
    exposure; `lots_of` returns the lots of a target.

    Raises:
        PathsError: there are fewer paths than the policy asks for.
    """
    if len(losses.moves) < limits.joint_paths_min.value:
        raise PathsError(f"{len(losses.moves)} paths, need {limits.joint_paths_min.value}")
    best = losses.at(lots_of(target_bp))
    left_bp, bound = target_bp, exceeded(limits, best)
    if bound is not None:
        left_bp, high, best = 0, target_bp, losses.at(0)
        while high - left_bp > 1:
            middle = (left_bp + high) // 2
            found = losses.at(lots_of(middle))
            over = exceeded(limits, found)
            if over is None:
                left_bp, best = middle, found
            else:
                high, bound = middle, over
    from risk.state.paths.arrays import paths_digest  # noqa: PLC0415 - numpy, only where paths are judged

    free = Binding.EXPOSURE_MAX if capped else Binding.TARGET_VOLATILITY
    return left_bp, Budgets(
        binding=bound or free,
        unbound_bp=target_bp,
        shortfall_max_bp=limits.shortfall_max.value,
        trip_chance_max_bp=limits.trip_chance_max.value,
        at_target=best,
        paths_digest=paths_digest(losses.paths),
    )
