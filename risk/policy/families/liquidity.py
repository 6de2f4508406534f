"""Numbers of the rules about a market's liquidity."""

from typing import Annotated

from risk.policy.families.looser import Looser
from risk.policy.stated import BasisPoints, Micros, PolicyModel


class LiquidityLimits(PolicyModel):
    """Numbers about what a market can take.

    Attributes:
        adv_share_max: Share of the average daily volume that one order may be.
        adv_day_share_max: Share of it that a day's orders may be together.
        reference_age_max: Age of the instruments' reference data.
    """

    adv_share_max: Annotated[BasisPoints, Looser.HIGHER]
    adv_day_share_max: Annotated[BasisPoints, Looser.HIGHER]
    reference_age_max: Annotated[Micros, Looser.HIGHER]
