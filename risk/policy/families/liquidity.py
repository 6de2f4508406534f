"""Numbers of the rules about a market's liquidity."""

from typing import Annotated

from risk.policy.families.looser import Looser
from risk.policy.stated import BasisPoints, Count, Micros, PolicyModel


class LiquidityLimits(PolicyModel):
    """Numbers about what a market can take.

    Attributes:
        adv_share_max: Share of the average daily volume that one order may be.
        adv_day_share_max: Share of it that a day's orders may be together.
        reference_age_max: Age of the instruments' reference data.
        locate_age_max: Age of the table of instruments that says what may be sold short.
        move_max: Move from the last bar's close to the touch.
        move_times: The latest moves, in medians of the twenty before.
        bars_age_max: Age of the last bar.
        stress_share_max: Share of the instruments whose last move is unusual.
        stress_fall_max: Mean fall of all instruments over their last bar.
    """

    adv_share_max: Annotated[BasisPoints, Looser.HIGHER]
    adv_day_share_max: Annotated[BasisPoints, Looser.HIGHER]
    reference_age_max: Annotated[Micros, Looser.HIGHER]
    locate_age_max: Annotated[Micros, Looser.HIGHER]
    move_max: Annotated[BasisPoints, Looser.HIGHER]
    move_times: Annotated[Count, Looser.HIGHER]
    bars_age_max: Annotated[Micros, Looser.HIGHER]
    stress_share_max: Annotated[BasisPoints, Looser.HIGHER]
    stress_fall_max: Annotated[BasisPoints, Looser.HIGHER]
