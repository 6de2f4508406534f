"""Numbers about what the sampled paths of the whole book may lose."""

from typing import Annotated

from risk.policy.families.looser import Looser
from risk.policy.stated import BasisPoints, Count, Micros, PolicyModel


class HorizonLimits(PolicyModel):
    """Two budgets on the joint paths, for sizing and for the rule alike.

    Attributes:
        shortfall_max: Mean loss over the horizon in the worst 2.5 % of paths, of equity.
        trip_chance_max: Chance that a loss limit (day or drawdown) trips inside the horizon.
        errors_added: Standard errors added to each estimate, in 1/10,000; 16,449 is 95 %.
        joint_paths_min: Paths below which an estimate says nothing.
        joint_paths_age_max: Age of the oldest forecast among the paths.
    """

    shortfall_max: Annotated[BasisPoints, Looser.HIGHER]
    trip_chance_max: Annotated[BasisPoints, Looser.HIGHER]
    errors_added: Annotated[BasisPoints, Looser.LOWER]
    joint_paths_min: Annotated[Count, Looser.LOWER]
    joint_paths_age_max: Annotated[Micros, Looser.HIGHER]
