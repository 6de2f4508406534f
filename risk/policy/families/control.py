"""Numbers of the rules about whether the house itself is in order."""

from typing import Annotated

from risk.policy.families.looser import Looser
from risk.policy.stated import BasisPoints, Count, Micros, PolicyModel


class ControlLimits(PolicyModel):
    """Numbers about the books.

    Attributes:
        differences_max: Open differences between the account's book and the broker's.
        look_age_max: Age of the last look at disk and clock.
        disk_free_min: Free share of the disk.
        clock_step_max: Step of the wall clock between two looks.
    """

    differences_max: Annotated[Count, Looser.HIGHER]
    look_age_max: Annotated[Micros, Looser.HIGHER]
    disk_free_min: Annotated[BasisPoints, Looser.LOWER]
    clock_step_max: Annotated[Micros, Looser.HIGHER]
