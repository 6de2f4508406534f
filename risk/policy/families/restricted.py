"""The restricted list: instruments and issuers that nobody here may trade."""

from risk.policy.stated import Day, PolicyModel, Text


class RestrictedName(PolicyModel):
    """A symbol or an issuer as the table of instruments names it.

    Attributes:
        why: For officers; an agent is told only that the name is restricted.
    """

    name: Text
    owner: Text
    why: Text
    review_by: Day


class RestrictedNames(PolicyModel):
    """Names that may not be traded; an empty list restricts nothing."""

    names: tuple[RestrictedName, ...]
