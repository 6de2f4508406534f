"""Bodies of publications, annotations, reviews and cases."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from gateway.desk.bodies.model import (
    CODE,
    ClientKey,
    Day,
    Microseconds,
    RequestModel,
    Signatures,
    Words,
    readable,
)
from gateway.walk.journal.words import AnnotationSort, CaseState, Medium
from risk.forms.names import Symbol
from risk.windows.review import ReviewAnswer

LongText = Annotated[str, Field(min_length=1, max_length=2_000)]


class PublicationBody(RequestModel):
    """An act of the firm's own: what it is about, when, who spoke, and where it stands."""

    ref: Annotated[str, Field(pattern=CODE, description="your name of the act")]
    instrument: Annotated[
        Symbol | Literal["*"], Field(description="symbol; * keeps the firm out of every one")
    ]
    published_us: Annotated[Microseconds | None, Field(description="market time; absent: now")] = (
        None
    )
    author: Annotated[str, Field(pattern=CODE, description="code of desk or person, not a name")]
    medium: Annotated[str, Field(pattern=f"^({'|'.join(Medium)})$", description=", ".join(Medium))]
    reference: Annotated[
        str, Field(pattern=r"^[\x21-\x7e]{1,200}$", description="address or number, no spaces")
    ]


class EndRequest(RequestModel):
    """Why an act that is on record does not count, with both officers' signatures."""

    reason: Annotated[Words, Field(min_length=1, description="why it does not count; recorded")]
    signatures: Signatures = Field(default_factory=dict)


class RemarkBody(RequestModel):
    """Words about a decision; the same client key is one remark."""

    text: Annotated[
        str,
        Field(min_length=1, max_length=2_000, description="your words; name nobody"),
        AfterValidator(readable),
    ]
    about_seq: Annotated[
        int | None, Field(ge=0, description="record of the decision that it is about")
    ] = None
    client_key: ClientKey


class AnnotationBody(RemarkBody):
    """An annotation of a person: a remark, or a dissent."""

    sort: Annotated[
        str,
        Field(
            pattern=f"^({'|'.join(AnnotationSort)})$",
            description="remark; dissent: you would have decided otherwise",
        ),
    ] = AnnotationSort.REMARK.value
    instead: Annotated[
        str | None,
        Field(
            pattern=f"^({'|'.join(ReviewAnswer)})$",
            description="of a dissent: the order that you would have wanted",
        ),
    ] = None


class ReviewBody(RequestModel):
    """A sample to draw: decisions that were proposed on these days, UTC."""

    first_day: Annotated[Day, Field(description="first UTC day, such as 2026-11-16")]
    last_day: Annotated[Day | None, Field(description="last day; absent: the first")] = None
    count: Annotated[int, Field(ge=1, le=50, description="how many decisions, 50 at most")] = 5


class ReviewAnswerBody(RequestModel):
    """A reviewer's answer to one decision of a sample."""

    answer: Annotated[
        str, Field(pattern=f"^({'|'.join(ReviewAnswer)})$", description="buy, sell or none")
    ]
    note: Annotated[str, Field(min_length=1, max_length=500, description="why; recorded")]


class CaseNoteBody(RequestModel):
    """A note on a case; the same client key is one note."""

    text: Annotated[LongText, Field(description="what was found; recorded")]
    client_key: ClientKey


class CaseStateBody(RequestModel):
    """Another state of a case, and why."""

    state: Annotated[
        str, Field(pattern=f"^({'|'.join(CaseState)})$", description=", ".join(CaseState))
    ]
    reason: Annotated[LongText, Field(description="why; recorded")]
