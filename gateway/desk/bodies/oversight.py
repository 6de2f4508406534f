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
from gateway.walk.journal.control.oversight.annotations import AnnotationSort
from gateway.walk.journal.control.oversight.cases import CaseState
from gateway.walk.journal.control.oversight.publications import Medium
from risk.intent import Symbol
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
    medium: Annotated[str, Field(pattern=f"^({'|'.join(Medium)})$")]
    reference: Annotated[
        str, Field(pattern=r"^[\x21-\x7e]{1,200}$", description="address or number, no spaces")
    ]


class EndRequest(RequestModel):
    """Why an act that is on record does not count, with both officers' signatures."""

    reason: Annotated[Words, Field(min_length=1)]
    signatures: Signatures


class AnnotationBody(RequestModel):
    """An annotation; the same client key is one annotation."""

    sort: Annotated[
        str,
        Field(
            pattern=f"^({'|'.join(AnnotationSort)})$",
            description="dissent: you would have decided otherwise",
        ),
    ] = AnnotationSort.REMARK.value
    text: Annotated[
        str,
        Field(min_length=1, max_length=2_000, description="your words; name nobody"),
        AfterValidator(readable),
    ]
    instead: Annotated[
        str | None,
        Field(
            pattern=f"^({'|'.join(ReviewAnswer)})$",
            description="of a dissent: the order that you would have wanted",
        ),
    ] = None
    about_seq: Annotated[
        int | None, Field(ge=0, description="record of the decision that it is about")
    ] = None
    client_key: ClientKey


class ReviewBody(RequestModel):
    """A sample to draw: decisions that were proposed on these days, UTC."""

    first_day: Day
    last_day: Day
    count: Annotated[int, Field(ge=1, le=50)] = 5


class ReviewAnswerBody(RequestModel):
    """A reviewer's answer to one decision of a sample."""

    answer: Annotated[str, Field(pattern=f"^({'|'.join(ReviewAnswer)})$")]
    note: Annotated[str, Field(min_length=1, max_length=500)]


class CaseNoteBody(RequestModel):
    """A note on a case; the same client key is one note."""

    text: LongText
    client_key: ClientKey


class CaseStateBody(RequestModel):
    """Another state of a case, and why."""

    state: Annotated[str, Field(pattern=f"^({'|'.join(CaseState)})$")]
    reason: LongText
