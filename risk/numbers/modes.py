"""Numbers about how much is spent on a forecast."""

from typing import Annotated

from risk.numbers.looser import Looser
from risk.numbers.stated import BasisPoints, Count, LogReturn, PolicyModel


class ModeLimits(PolicyModel):
    """The modes of a forecast, and which of its paths count.

    Attributes:
        fast_divisor: Divides the paths of a fast forecast; 1 leaves them.
        fast_look_ahead: Most drafts of a round in a fast forecast.
        deep_factor: Multiplies the paths of a deep forecast; 1 leaves them.
        turbulence: Evidence at which the regime changes, 1/10,000 nats (CUSUM).
        conflict: Conflict of words and numbers from which a forecast is deep.
        path_move_max: Cumulative log return at any step above which a path is dropped; 0: none.
        template_when_away: 1: the table alone answers while the engine cannot; 0: no forecast.
        direct_sampler: Where no word acts, draw a forecast from the model's rows, without drafts:
            0: never; 1: a fast one, and the first of an instrument; 2: always.
    """

    fast_divisor: Annotated[Count, Looser.HIGHER]
    fast_look_ahead: Count
    deep_factor: Annotated[Count, Looser.LOWER]
    turbulence: BasisPoints
    conflict: Annotated[BasisPoints, Looser.HIGHER]
    path_move_max: LogReturn
    template_when_away: Annotated[Count, Looser.HIGHER]
    direct_sampler: Annotated[Count, Looser.HIGHER]
