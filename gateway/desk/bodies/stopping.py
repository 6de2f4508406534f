"""Bodies of stops apart from the kill, and of closing positions."""

from typing import Annotated, Literal

from pydantic import Field

from gateway.desk.bodies.model import RequestModel, Signatures, Words
from risk.forms.names import Symbol


class StopRequest(RequestModel):
    """The reason of a stop, of cancelling every order, of a drill, or of the next policy."""

    reason: Annotated[Words, Field(min_length=1, description="why; recorded")]


class ResumeRequest(RequestModel):
    """The end of the stops in force, or of one sort; one officer's signature if another pressed."""

    reason: Annotated[Words, Field(min_length=1)]
    stop: Annotated[
        Literal["pause", "reduce-only", "breaker", "secure"] | None,
        Field(description="which; none: every stop"),
    ] = None
    signatures: Signatures = Field(default_factory=dict)


class FlattenRequest(RequestModel):
    """A request to close positions."""

    reason: Annotated[Words, Field(min_length=1)]
    instrument: Annotated[
        Symbol | None, Field(description="the only one to close; none: the whole book")
    ] = None
    dry_run: Annotated[
        bool, Field(description="true: say what would be asked for; nothing is recorded or sent")
    ] = False
