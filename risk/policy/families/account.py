"""Numbers of the rules about what an account may hold and owe."""

from typing import Annotated

from risk.policy.families.looser import Looser
from risk.policy.stated import BasisPoints, Count, Minor, PolicyModel


class AccountLimits(PolicyModel):
    """Numbers about concentration, credit, baskets and what the books share.

    Attributes:
        instrument_share_max: Share of equity in one instrument; above it a person decides.
        sector_share_max: Share of equity in one sector; above it a person decides.
        credit_max: Everything held and pending; the broker's line or less.
        credit_warn_at: Share of the line above which a result warns.
        habit_lots_times: An order's quantity, in medians of the last fifty orders.
        habit_value_times: An order's value, in the largest of them.
        habit_from: Orders below which half of the order limits stand in.
        basket_max: Value of all orders of one basket together.
        model_share_max: Share of the firm's gross value that forecasts of one model decided.
        agreement_max: Share of pairs of strategies that last wanted the same side.
    """

    instrument_share_max: Annotated[BasisPoints, Looser.HIGHER]
    sector_share_max: Annotated[BasisPoints, Looser.HIGHER]
    credit_max: Annotated[Minor, Looser.HIGHER]
    credit_warn_at: Annotated[BasisPoints, Looser.HIGHER]
    habit_lots_times: Annotated[Count, Looser.HIGHER]
    habit_value_times: Annotated[Count, Looser.HIGHER]
    habit_from: Annotated[Count, Looser.LOWER]
    basket_max: Annotated[Minor, Looser.HIGHER]
    model_share_max: Annotated[BasisPoints, Looser.HIGHER]
    agreement_max: Annotated[BasisPoints, Looser.HIGHER]
