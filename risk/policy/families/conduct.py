"""Numbers of the rules about patterns of own orders."""

from typing import Annotated

from risk.policy.families.looser import Looser
from risk.policy.stated import BasisPoints, Count, Micros, PolicyModel, Ticks


class ConductLimits(PolicyModel):
    """Numbers about what was withdrawn, shown, executed and reversed.

    Attributes:
        withdrawn_times: Lots of the other side withdrawn, for each lot executed or wanted here.
        withdrawn_rest: Orders that lived shorter than this count as withdrawn.
        ladder_max: Price levels of this side that one instrument may have, with the new order.
        growing_max: Of them, levels in a row whose lots grow with the distance from the touch.
        quoted_max: Quotes of this side withdrawn unexecuted in half a minute.
        levels_max: Own price levels that may stand on the other side.
        reversal_move_max: Move since own executions that may be reversed on the same forecast.
        reversal_window: How long own executions count for that.
        wash_window: How long an own execution of the other side counts as a match.
        wash_ticks: Distance of price within which it does.
        wash_quantity: Difference of quantity within which it does.
        closing_window: Time after the open and before the close in which a share counts.
        closing_share_max: Own share of what traded in that window, with the new order.
        publication_window: How long an own publication on an instrument keeps it from trading.
    """

    withdrawn_times: Annotated[Count, Looser.HIGHER]
    withdrawn_rest: Annotated[Micros, Looser.LOWER]
    ladder_max: Annotated[Count, Looser.HIGHER]
    growing_max: Annotated[Count, Looser.HIGHER]
    quoted_max: Annotated[Count, Looser.HIGHER]
    levels_max: Annotated[Count, Looser.HIGHER]
    reversal_move_max: Annotated[BasisPoints, Looser.HIGHER]
    reversal_window: Annotated[Micros, Looser.LOWER]
    wash_window: Annotated[Micros, Looser.LOWER]
    wash_ticks: Annotated[Ticks, Looser.LOWER]
    wash_quantity: Annotated[BasisPoints, Looser.LOWER]
    closing_window: Annotated[Micros, Looser.LOWER]
    closing_share_max: Annotated[BasisPoints, Looser.HIGHER]
    publication_window: Annotated[Micros, Looser.LOWER]
