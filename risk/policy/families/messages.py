"""Numbers of the rules about pace."""

from typing import Annotated

from risk.policy.families.looser import Looser
from risk.policy.stated import BasisPoints, Count, PolicyModel


class MessageLimits(PolicyModel):
    """Numbers about messages and executions.

    Attributes:
        second_max: Messages in any second.
        day_max: Messages in a day.
        window_ratio_max: Messages for each execution in half a minute.
        day_ratio_max: Messages for each execution in a day.
        ratio_from: Messages below which the ratio says nothing.
        repeats_max: Orders of one side executed in one instrument in ten minutes.
        program_burst: Messages within a second that are a burst, 5 to 10.
        program_bursts: Bursts in a day that make trading a program.
        brief_max: Orders in a day that ended unexecuted within a second.
        brief_share_max: Their share of the day's orders.
        brief_from: Orders in the day below which the share says nothing.
        idle_second_max: Messages in one instrument in a second without an execution.
    """

    second_max: Annotated[Count, Looser.HIGHER]
    day_max: Annotated[Count, Looser.HIGHER]
    window_ratio_max: Annotated[Count, Looser.HIGHER]
    day_ratio_max: Annotated[Count, Looser.HIGHER]
    ratio_from: Annotated[Count, Looser.HIGHER]
    repeats_max: Annotated[Count, Looser.HIGHER]
    program_burst: Annotated[Count, Looser.HIGHER]
    program_bursts: Annotated[Count, Looser.HIGHER]
    brief_max: Annotated[Count, Looser.HIGHER]
    brief_share_max: Annotated[BasisPoints, Looser.HIGHER]
    brief_from: Annotated[Count, Looser.HIGHER]
    idle_second_max: Annotated[Count, Looser.HIGHER]
