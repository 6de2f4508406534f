"""Which strategies may trade, on which side, and which instruments must be quoted."""

from typing import Annotated

from risk.policy.families.looser import Looser
from risk.policy.stated import BasisPoints, Day, Name, PolicyModel, Text


class Permit(PolicyModel):
    """A strategy by its name in the intent, and the sides on which it may trade."""

    name: Name
    buys: bool
    sells: bool
    owner: Text
    why: Text
    review_by: Day


class MakerMandate(PolicyModel):
    """An instrument, by its symbol, in which a market-making agreement binds the firm."""

    name: Name
    owner: Text
    why: Text
    review_by: Day


class Authority(PolicyModel):
    """Strategies that may trade, what is not listed may not; and the firm's own duties to quote.

    Attributes:
        mandates: Instruments with a duty; an empty list binds to nothing.
        presence_warn: Share of continuous hours quoted on both sides, below which a result warns.
        size_ratio_max: The larger quoted side, in 1/10,000 of the smaller.
        quoted_spread_max: Distance of the own best quotes, of the bid.
    """

    permits: tuple[Permit, ...]
    mandates: tuple[MakerMandate, ...]
    presence_warn: Annotated[BasisPoints, Looser.LOWER]
    size_ratio_max: Annotated[BasisPoints, Looser.HIGHER]
    quoted_spread_max: Annotated[BasisPoints, Looser.HIGHER]
