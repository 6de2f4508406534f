"""What a policy is made of: names, days, packs, and numbers that state their unit and reasons.

Rules:
- Every number has unit, owner, rationale and review date; nothing has a default.
- Parsing is strict: no unknown field, no float, no number as text.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from risk.forms.canonical import JSON_SAFE

Text = Annotated[str, Field(min_length=1, max_length=600)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
Day = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
PackCode = Annotated[str, Field(pattern=r"^[A-Z]{2}$")]
Whole = Annotated[int, Field(ge=0, le=JSON_SAFE)]


class PolicyModel(BaseModel):
    """A part of a policy: strict, closed and frozen."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class PackUsed(PolicyModel):
    """A pack of a jurisdiction that a policy was merged with, by the digest of its content."""

    code: PackCode
    version: Annotated[int, Field(ge=1, le=10_000)]
    digest: Digest


class Stated(PolicyModel):
    """A number with the reasons for it."""

    value: Whole
    owner: Text
    rationale: Text
    review_by: Day


class Lots(Stated):
    """A quantity in lots."""

    unit: Literal["lots"]


class Minor(Stated):
    """Money in minor units of the policy's currency."""

    unit: Literal["minor"]


class BasisPoints(Stated):
    """A ratio in 1/10,000."""

    unit: Literal["bp"]


class Percent(Stated):
    """A ratio in 1/100."""

    unit: Literal["pct"]


class Micros(Stated):
    """A duration in microseconds."""

    unit: Literal["us"]


class Count(Stated):
    """A plain count."""

    unit: Literal["count"]


class Ticks(Stated):
    """A price distance in ticks."""

    unit: Literal["ticks"]


class PerSecond(Stated):
    """A rate per second."""

    unit: Literal["per_s"]


class LogReturn(Stated):
    """A log return in 1e-8."""

    unit: Literal["log_return_1e8"]
