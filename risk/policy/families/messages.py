"""Numbers of the rules about pace."""

from typing import Annotated

from risk.policy.families.looser import Looser
from risk.policy.stated import Count, PolicyModel


class MessageLimits(PolicyModel):
    """Numbers about messages and executions.

    Attributes:
        second_max: Messages in any second.
        day_max: Messages in a day.
        window_ratio_max: Messages for each execution in half a minute.
        day_ratio_max: Messages for each execution in a day.
        ratio_from: Messages below which the ratio says nothing.
    """

    second_max: Annotated[Count, Looser.HIGHER]
    day_max: Annotated[Count, Looser.HIGHER]
    window_ratio_max: Annotated[Count, Looser.HIGHER]
    day_ratio_max: Annotated[Count, Looser.HIGHER]
    ratio_from: Annotated[Count, Looser.HIGHER]
