"""All rules in the order in which they run, and all numbers that they declare, by family.

Each file of rules exports its `RULES`, and declares the numbers that officers sign beside what
reads them. A file more is one more line here in `IN_VERDICTS`, and in a family if it has numbers.

Rules:
- A policy of format 2 has every family, one of format 1 none. `modes`, `denied` and `fairness` may
  be left out: then every forecast is a standard one, no shape is denied, and no word is looked for.
- A number of a family applies to every account and class; a class disarms a rule with a reason.
- Every number says in its annotation which direction permits more.
"""

from collections.abc import Iterator
from operator import attrgetter
from typing import Final

from risk.numbers.denied import DenyList
from risk.numbers.lexicon import FairnessLexicon
from risk.numbers.looser import Looser
from risk.numbers.modes import ModeLimits
from risk.numbers.stated import PolicyModel
from risk.rules import ai, freshness, limits, losses
from risk.rules.account import (
    basket,
    concentration,
    credit,
    crossing,
    crowd,
    habit,
    horizon,
    locate,
    restricted,
)
from risk.rules.conduct import (
    closing,
    denied,
    mandate,
    own_trades,
    publications,
    shapes,
    withdrawals,
)
from risk.rules.control import (
    admission,
    authority,
    drift,
    fairness,
    health,
    oversight,
    reconciliation,
    stops,
)
from risk.rules.market import liquidity, moves, stress
from risk.rules.messages import pace, program, rates, repeats
from risk.rules.rule import Rule
from risk.state.paths.budgets import HorizonLimits

IN_VERDICTS: Final[tuple[Rule, ...]] = tuple(
    sorted(
        (
            *admission.RULES,
            *authority.RULES,
            *limits.RULES,
            *concentration.RULES,
            *losses.RULES,
            *rates.RULES,
            *repeats.RULES,
            *liquidity.RULES,
            *crossing.RULES,
            *restricted.RULES,
            *locate.RULES,
            *habit.RULES,
            *basket.RULES,
            *credit.RULES,
            *freshness.RULES,
            *ai.RULES,
            *moves.RULES,
            *stress.RULES,
            *stops.RULES,
            *drift.RULES,
            *oversight.RULES,
            *program.RULES,
            *pace.RULES,
            *withdrawals.RULES,
            *own_trades.RULES,
            *closing.RULES,
            *mandate.RULES,
            *crowd.RULES,
            *fairness.RULES,
            *publications.RULES,
            *health.RULES,
            *reconciliation.RULES,
            *horizon.RULES,
            *shapes.RULES,
            *denied.RULES,
        ),
        key=attrgetter("rule_id"),
    )
)
"""Every rule that can be in a verdict, in the order in which they run and print."""

RULES: Final = tuple(rule for rule in IN_VERDICTS if rule.named)
"""The rules that a policy of format 2 names; R29 judges only while its stop is in force, R48 where
the policy has a lexicon, R54 where it has a deny list."""

CONDUCT: Final = frozenset(rule.rule_id for rule in IN_VERDICTS if rule.conduct)
"""Rules about patterns of own orders: who submits an order is not told which one refused it."""


# A model has the fields of its last base first: the last one's numbers stand on top in a policy.


class AccountLimits(
    crowd.CrowdLimits,
    basket.BasketLimits,
    habit.HabitLimits,
    credit.CreditLimits,
    concentration.ConcentrationLimits,
):
    """Numbers about concentration, credit, baskets and what the books share."""


class LiquidityLimits(
    stress.StressLimits, moves.MoveLimits, locate.LocateLimits, liquidity.VolumeLimits
):
    """Numbers about what a market can take."""


class MessageLimits(
    withdrawals.IdleLimits, program.ProgramLimits, repeats.RepeatLimits, pace.PaceLimits
):
    """Numbers about messages and executions."""


class ConductLimits(
    publications.PublicationLimits,
    closing.ClosingShareLimits,
    own_trades.MatchLimits,
    own_trades.ReversalLimits,
    withdrawals.LevelLimits,
    shapes.ShapeLimits,
    withdrawals.WithdrawalLimits,
):
    """Numbers about what was withdrawn, shown, executed and reversed."""


class Authority(mandate.MandateLimits, authority.Permits):
    """Strategies that may trade, what is not listed may not; and the firm's own duties to quote."""


class ControlLimits(drift.DriftLimits, health.HealthLimits, reconciliation.DifferenceLimits):
    """Numbers about the books, the machine, and how forecasts did."""


class Families(PolicyModel):
    """Numbers of the rules of format 2, by family."""

    account: AccountLimits
    liquidity: LiquidityLimits
    messages: MessageLimits
    conduct: ConductLimits
    authority: Authority
    restricted: restricted.RestrictedNames
    control: ControlLimits
    horizon: HorizonLimits
    modes: ModeLimits | None = None
    denied: DenyList | None = None
    fairness: FairnessLexicon | None = None

    def parts(self) -> Iterator[tuple[str, PolicyModel]]:
        """Yield each family that is there with its name, in order."""
        for name in type(self).model_fields:
            if (part := getattr(self, name)) is not None:
                yield name, part


def loosening(direction: Looser) -> frozenset[str]:
    """Return the names of all families' numbers that permit more in this direction."""
    families = (field.annotation for field in Families.model_fields.values())
    return frozenset(
        name
        for family in (*families, ModeLimits)
        if isinstance(family, type) and issubclass(family, PolicyModel)
        for name, number in family.model_fields.items()
        if direction in number.metadata
    )
