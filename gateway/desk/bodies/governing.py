"""Bodies of overrides and trials of a draft."""

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from gateway.desk.bodies.model import RequestModel, Words
from risk.forms.names import Symbol

_EXACT_MAX: Final = 2**53 - 1


class OverrideTerms(RequestModel):
    """What an override is for; both officers sign every field."""

    override_id: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$", description="random bits, hex")]
    account: Annotated[str, Field(pattern=r"^[\x21-\x7e]{1,64}$")]
    instrument: Symbol
    side: Literal["BUY", "SELL"]
    rule: Annotated[str, Field(pattern=r"^R[0-9]{2}$", description="whose limit is lifted")]
    check: Annotated[
        str, Field(pattern=r"^[a-z_]{1,40}$", description="of the rule, as a verdict names it")
    ]
    qty_max_lots: Annotated[int, Field(ge=1, le=_EXACT_MAX, description="the largest order")]
    notional_max_minor: Annotated[
        int, Field(ge=1, le=_EXACT_MAX, description="its largest worth at its limit, minor units")
    ]
    policy_digest: Annotated[
        str, Field(pattern=r"^[0-9a-f]{64}$", description="the policy in force")
    ]
    not_before_us: Annotated[int, Field(ge=0, le=_EXACT_MAX, description="wall clock")]
    expires_us: Annotated[
        int, Field(ge=0, le=_EXACT_MAX, description="wall clock, at most a day later")
    ]
    reason: Annotated[Words, Field(min_length=1, description="why; name nobody")]


class OverrideRequest(OverrideTerms):
    """An override with both officers' signatures of its statement, hex by role."""

    signatures: dict[
        Literal["risk", "compliance"], Annotated[str, Field(pattern=r"^[0-9a-f]{128}$")]
    ]


class WithdrawRequest(RequestModel):
    """Why an override is withdrawn."""

    reason: Annotated[Words, Field(min_length=1, description="why; recorded, so name nobody")]


class TrialBody(RequestModel):
    """A draft, and its trial as `countersign policy try` made it."""

    policy: dict[str, Any]
    trial: dict[str, Any]
