"""The families of numbers that a policy of format 2 has.

Rules:
- A policy of format 2 has every family, one of format 1 none. `modes`,
  `denied` and `fairness` may be left out: then every forecast is a standard one, no shape is
  denied, and no word is looked for.
- A number of a family applies to every account and class; a class disarms a rule with a reason.
- Every number says in its annotation which direction permits more.
"""

from collections.abc import Iterator

from risk.policy.families.account import AccountLimits
from risk.policy.families.authority import Authority
from risk.policy.families.conduct import ConductLimits
from risk.policy.families.control import ControlLimits
from risk.policy.families.horizon import HorizonLimits
from risk.policy.families.liquidity import LiquidityLimits
from risk.policy.families.listed.denied import DenyList
from risk.policy.families.listed.fairness import FairnessLexicon
from risk.policy.families.looser import Looser
from risk.policy.families.messages import MessageLimits
from risk.policy.families.modes import ModeLimits
from risk.policy.families.restricted import RestrictedNames
from risk.policy.stated import PolicyModel


class Families(PolicyModel):
    """Numbers of the rules of format 2, by family."""

    account: AccountLimits
    liquidity: LiquidityLimits
    messages: MessageLimits
    conduct: ConductLimits
    authority: Authority
    restricted: RestrictedNames
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
