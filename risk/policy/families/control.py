"""Numbers of the rules about whether the house and its model are in order."""

from typing import Annotated

from risk.policy.families.looser import Looser
from risk.policy.stated import BasisPoints, Count, Micros, PolicyModel


class ControlLimits(PolicyModel):
    """Numbers about the books, the machine, and how forecasts did.

    Attributes:
        differences_max: Open differences between the account's book and the broker's.
        look_age_max: Age of the last look at disk and clock.
        disk_free_min: Free share of the disk.
        clock_step_max: Step of the wall clock between two looks.
        drift_evidence_max: Evidence that forecasts are not calibrated: an e-value, whole.
        drift_shift_max: Population stability index of the forecasts' ranks, in 1/10,000.
        drift_from: Scored forecasts below which the index says nothing.
    """

    differences_max: Annotated[Count, Looser.HIGHER]
    look_age_max: Annotated[Micros, Looser.HIGHER]
    disk_free_min: Annotated[BasisPoints, Looser.LOWER]
    clock_step_max: Annotated[Micros, Looser.HIGHER]
    drift_evidence_max: Annotated[Count, Looser.HIGHER]
    drift_shift_max: Annotated[BasisPoints, Looser.HIGHER]
    drift_from: Annotated[Count, Looser.HIGHER]
