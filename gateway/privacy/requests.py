"""Request bodies about personal values: erase, hold, lift a hold, disclose."""

from typing import Annotated

from pydantic import Field

from gateway.desk.bodies.model import RequestModel, Words

Person = Annotated[str, Field(min_length=1, max_length=200)]
"""A pseudonym or a name."""


class EraseRequest(RequestModel):
    """Whom to forget, by pseudonym or name, and the legal basis, which is recorded.

    Several pseudonyms of one person are erased together: all of them, or none.
    """

    subject: Person | Annotated[list[Person], Field(min_length=1, max_length=100)]
    basis: Annotated[Words, Field(min_length=1, max_length=300)]


class HoldRequest(RequestModel):
    """What must be kept, and why: `all`, `subject:PERSON` or `decision:ID`."""

    scope: Annotated[str, Field(min_length=1, max_length=220)]
    reason: Annotated[Words, Field(min_length=1, max_length=300)]


class LiftRequest(RequestModel):
    """Which hold ends, and why."""

    hold_id: Annotated[str, Field(min_length=1, max_length=40)]
    reason: Annotated[Words, Field(min_length=1, max_length=300)]


class DiscloseRequest(RequestModel):
    """Which record's personal values to read, and why; both are recorded."""

    seq: Annotated[int, Field(ge=0, le=2**53 - 1)]
    reason: Annotated[Words, Field(min_length=1, max_length=300)]
