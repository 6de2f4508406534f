"""Which strategies may trade, and on which side."""

from risk.policy.stated import Day, Name, PolicyModel, Text


class Permit(PolicyModel):
    """A strategy by its name in the intent, and the sides on which it may trade."""

    name: Name
    buys: bool
    sells: bool
    owner: Text
    why: Text
    review_by: Day


class Authority(PolicyModel):
    """Strategies that may trade; what is not listed may not."""

    permits: tuple[Permit, ...]
