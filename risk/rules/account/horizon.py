"""R52: what the book may lose over the forecast's horizon, on the sampled paths of all of it.

The budgets are those that sizing stays inside, so the strategy's own orders pass; an agent's order
must pass as well. Each estimate is judged with its Monte Carlo error added.

Rules:
- The quantity judged is the position after this order and everything pending on its side.
- An order that only reduces risk is exempt, also without paths.
- Without paths of everything in the book, or with too few or too old ones, the order is rejected.
"""

from typing import Final

from risk.errors import PathsError
from risk.intent import Side
from risk.rules.exposure import equity_of, lots_around, reduces, side_of, touch
from risk.rules.rule import Check, Measured, Rule, RuleCase, RuleRefusal, positive, whole
from risk.state.paths.budgets import HorizonLimits, losses_under
from risk.state.paths.joint import BookPaths
from risk.state.paths.losses import Estimate
from risk.verdict import Bound, Reason, RuleId, Scope, Unit


def _horizon(case: RuleCase) -> tuple[Measured, ...]:
    limits: HorizonLimits = case.families.horizon
    exempt = Reason.REDUCES_RISK if reduces(case) else None
    paths = case.inputs.paths
    found = None if paths is None else _estimate(case, paths)
    if paths is None or found is None:
        if exempt is None:
            raise RuleRefusal(Reason.INPUT_MISSING)
        return (Measured(observed=0, limit=0, reason=exempt, waived=exempt),) * len(R52.checks)
    return (
        Measured(
            observed=found.shortfall_bound_bp, limit=limits.shortfall_max.value, waived=exempt
        ),
        Measured(observed=found.trip_bound_bp, limit=limits.trip_chance_max.value, waived=exempt),
        Measured(observed=found.n_paths, limit=limits.joint_paths_min.value, waived=exempt),
        Measured(
            observed=max(0, whole(case.state.now_us) - positive(paths.as_of_us)),
            limit=limits.joint_paths_age_max.value,
            waived=exempt,
        ),
    )


def _estimate(case: RuleCase, paths: BookPaths) -> Estimate | None:
    """Return what the book risks after the order, or None if paths of some of it are missing."""
    from risk.state.paths.arrays import arrays_of  # noqa: PLC0415 - numpy, only where paths are judged

    equity_of(case)
    read = arrays_of(paths)
    if not read.whole:
        raise RuleRefusal(Reason.NOT_AN_INTEGER)
    whole(read.high)  # a gain of any size would pass both budgets
    whole(read.low)
    positive(paths.bar_us)
    position, buys, sells = lots_around(case)
    quantity = positive(case.intent.qty_lots)
    after = position + buys + quantity
    if side_of(case) is Side.SELL:
        after = position - sells - quantity
    quoted = sum(touch(case)) * positive(case.state.instrument.unit_minor)
    book, symbol = case.state.book, case.intent.instrument
    try:
        losses = losses_under(
            case.policy.account, case.families.horizon, paths, book, symbol, quoted
        )
    except PathsError:
        return None
    return losses.at(after)


R52: Final = Rule(
    rule_id=RuleId.R52,
    version=1,
    title="Horizon: shortfall and chance of a tripped loss limit on the paths of the whole book",
    checks=(
        Check(
            name="shortfall",
            unit=Unit.BASIS_POINTS,
            scope=Scope.ACCOUNT,
            reason=Reason.SHORTFALL_ABOVE_MAXIMUM,
        ),
        Check(
            name="trip_chance",
            unit=Unit.BASIS_POINTS,
            scope=Scope.ACCOUNT,
            reason=Reason.TRIP_CHANCE_ABOVE_MAXIMUM,
        ),
        Check(
            name="paths",
            unit=Unit.COUNT,
            scope=Scope.ACCOUNT,
            bound=Bound.MIN,
            reason=Reason.TOO_FEW_PATHS,
        ),
        Check(
            name="paths_age",
            unit=Unit.MICROSECONDS,
            scope=Scope.ACCOUNT,
            reason=Reason.FORECAST_STALE,
        ),
    ),
    measure=_horizon,
)

RULES: Final = (R52,)
