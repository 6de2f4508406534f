"""Bodies of criteria, justifications, swaps and runs of the tests of fairness."""

from typing import Annotated, Any, Literal

from pydantic import Field

from gateway.desk.bodies.model import (
    CODE,
    Day,
    Digest,
    Microseconds,
    RequestModel,
    Signature,
    Words,
)
from gateway.walk.journal.words import TESTS, Mechanism
from inference.forecast.attributes import Attribute
from risk.forms.names import Side

_Text = Annotated[str, Field(max_length=200)]
_Distance = Annotated[int, Field(ge=0, le=2**53 - 1)]
_P = Annotated[str, Field(pattern=r"^[0-9]{1,6}/[1-9][0-9]{0,5}$")]
_Term = Annotated[str, Field(min_length=2, max_length=60)]
_TestedAttribute = Annotated[
    str, Field(pattern=f"^({'|'.join(one for one in Attribute if one != Attribute.NEUTRAL)})$")
]


class CriteriaBody(RequestModel):
    """Criteria, and both officers' signatures over them, hex by role."""

    criteria: dict[str, Any]
    signatures: dict[str, str]


class JustificationBody(RequestModel):
    """An entry to register; its terms are what both officers sign."""

    ref: Annotated[str, Field(pattern=CODE, description="your name of the entry")]
    mechanism: Annotated[str, Field(pattern=f"^({'|'.join(Mechanism)})$")]
    attribute: Annotated[str, Field(pattern=CODE, description="as the lexicon names it")]
    asset_class: Annotated[str, Field(pattern=CODE)]
    side: Annotated[str, Field(pattern=f"^$|^({'|'.join(Side)})$", description="empty: both")] = ""
    horizon_us_max: Annotated[int, Field(ge=1, le=2**53 - 1)]
    bound_bp: Annotated[int, Field(ge=0, le=10_000)]
    valid_from_us: Microseconds
    valid_to_us: Microseconds
    evidence: Annotated[list[Digest], Field(min_length=1, max_length=16)]
    dissent: Words = ""
    supersedes: Annotated[str, Field(pattern=f"^$|{CODE}")] = ""
    signatures: dict[str, Signature] = Field(default_factory=dict)


class EffectBody(RequestModel):
    """What identity or placebo did; a placebo without its words is `absent`."""

    result: Literal["tested", "absent"] = "tested"
    distance_1e8: _Distance = 0
    flips: bool = False
    p_value: _P = "1/1"


class SwapRowBody(EffectBody):
    """What one pair did."""

    attribute: _TestedAttribute
    terms: Annotated[
        list[Annotated[list[_Term], Field(min_length=2, max_length=2)]],
        Field(min_length=1, max_length=8),
    ]
    flagged: bool
    significant: bool = False


class SwapsBody(RequestModel):
    """A run of the swaps, as `countersign swaps` made it."""

    decision_id: Annotated[str, Field(min_length=1, max_length=128)]
    model: Digest
    swaps_digest: Digest
    paths: Annotated[int, Field(ge=1, le=2048)]
    identity: EffectBody
    placebo: EffectBody
    floor_1e8: _Distance
    iqr_1e8: _Distance
    bound_1e8: _Distance
    pairs: Annotated[list[SwapRowBody], Field(min_length=1, max_length=8)]


class FairnessRowBody(RequestModel):
    """One test of one group; `finding` is how it ended."""

    test: _Text
    attribute: _Text
    finding: Annotated[str, Field(pattern=r"^(flagged|not flagged|insufficient|does not apply)$")]
    subject: _Text | None = None
    group: _Text | None = None
    cases: Annotated[int, Field(ge=0)] | None = None
    observed: int | None = None
    limit: int | None = None
    unit: _Text | None = None
    p_value: _Text | None = None
    because: _Text | None = None


class FairnessRunBody(RequestModel):
    """A run of the tests, as `countersign fairness` made it."""

    first_day: Day
    last_day: Day
    size: Annotated[int, Field(ge=1)]
    root: Digest
    cases: Annotated[int, Field(ge=1)]
    deals: Annotated[int, Field(ge=1, le=100_000)]
    criteria: dict[str, Any]
    criteria_digest: Digest
    results: Annotated[list[FairnessRowBody], Field(min_length=1, max_length=400)]
    tests: Annotated[str, Field(pattern=f"^{TESTS}$")]
