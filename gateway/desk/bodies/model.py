"""The strict body that every request and answer is, and the texts that many of them have."""

from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from gateway.errors import IntakeError
from gateway.feeds.text import refuse_hidden_text

CODE: Final = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
"""The name of an entry, an act, a desk or a person's code."""
Day = Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
"""A UTC day."""
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
"""SHA-256, hex."""
Microseconds = Annotated[int, Field(ge=0, le=2**53 - 1)]
"""Market time, UTC."""
ClientKey = Annotated[
    str, Field(pattern=r"^[!-~]{1,80}$", description="repeats an earlier request of this key")
]
"""The caller's name of a request; the same again is the same request."""


def readable(text: str) -> str:
    """Return a text that shows all that it holds; ValueError if it hides something, or is blank."""
    if text and not text.strip():
        raise ValueError("it says nothing")
    try:
        refuse_hidden_text(text, where="text")
    except IntakeError as refusal:
        raise ValueError(refusal.problem) from None
    return text


PRICE_PATTERN: Final = r"^[0-9]{1,9}(\.[0-9]{1,4})?$"
"""A price as decimal text; not of the digits of every script, as in other forms."""

Words = Annotated[str, Field(max_length=500), AfterValidator(readable)]
"""Text that a person or an agent writes into the record."""

Signature = Annotated[str, Field(pattern=r"^[0-9a-f]{128}$")]
"""Ed25519, hex."""
Signatures = dict[Literal["risk", "compliance"], Signature]
"""Officers' signatures, hex by role."""


class RequestModel(BaseModel):
    """A strict, closed body of a request or an answer."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)
