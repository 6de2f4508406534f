"""Numbers of the rules about whether the house itself is in order."""

from typing import Annotated

from risk.policy.families.looser import Looser
from risk.policy.stated import Count, PolicyModel


class ControlLimits(PolicyModel):
    """Numbers about the books.

    Attributes:
        differences_max: Open differences between the account's book and the broker's.
    """

    differences_max: Annotated[Count, Looser.HIGHER]
