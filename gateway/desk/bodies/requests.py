"""What a caller may ask of the desk, and its answers: strict, closed bodies with units.

A body that does not fit is refused before anything runs.
"""

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field

from gateway.desk.bodies.model import PRICE_PATTERN, RequestModel, Signatures, Words
from risk.forms.names import Symbol
from risk.windows.allocation import WHOLE_BP

MAX_EXPOSURE_BP = 100_000


class AllocationShare(RequestModel):
    """One client account's share of an order."""

    client: Annotated[
        str, Field(pattern=r"^[A-Za-z0-9._-]{1,32}$", description="account code, not a name")
    ]
    share_bp: Annotated[int, Field(ge=1, le=10_000, description="share, basis points")]


def _whole(shares: list[AllocationShare] | None) -> list[AllocationShare] | None:
    if shares is None:
        return None
    if len({one.client for one in shares}) != len(shares):
        raise ValueError("each client stands once")
    if sum(one.share_bp for one in shares) != WHOLE_BP:
        raise ValueError("the shares sum to 10,000 basis points")
    return shares


class IntentRequest(RequestModel):
    """An agent's wish: a target exposure in one instrument."""

    model_config = ConfigDict(  # added to the parent's
        json_schema_extra={
            "examples": [
                {
                    "client_key": "rebalance-0001",
                    "instrument": "SPXN",
                    "target_exposure_bp": 2000,
                    "directional": False,
                    "max_qty_lots": 500,
                    "limit_price": None,
                    "reason": "raise equity exposure to 20 % of equity",
                }
            ]
        },
    )

    client_key: Annotated[
        str,
        Field(
            pattern=r"^[A-Za-z0-9._-]{1,64}$",
            description="idempotency key: the same key again returns the same decision",
        ),
    ]
    instrument: Symbol
    target_exposure_bp: Annotated[
        int,
        Field(
            ge=-MAX_EXPOSURE_BP,
            le=MAX_EXPOSURE_BP,
            description="wanted exposure, basis points of equity, signed",
        ),
    ]
    directional: Annotated[
        bool,
        Field(
            description="true: the intent claims a direction, so the model-confidence rule applies"
        ),
    ] = False
    max_qty_lots: Annotated[
        int | None, Field(ge=1, le=1_000_000_000, description="the agent's own cap, lots")
    ] = None
    limit_price: Annotated[
        str | None,
        Field(
            pattern=PRICE_PATTERN,
            description="limit price, decimal text; none: touch plus the policy's allowance",
        ),
    ] = None
    reason: Annotated[
        Words, Field(description="why, in the agent's words; recorded, never read by a rule")
    ] = ""

    person: Annotated[
        Words | None,
        Field(
            min_length=1,
            max_length=200,
            description="the person who decided (MiFIR RTS 24: investment decision within the"
            " firm); on record as a pseudonym, the name only encrypted",
        ),
    ] = None

    allocation: Annotated[
        list[AllocationShare] | None,
        Field(
            min_length=1,
            max_length=50,
            description="split of the order across client accounts; on record before the order"
            " trades, and no other split is accepted afterwards",
        ),
        AfterValidator(_whole),
    ] = None

    def limit_minor(self) -> Decimal | None:
        """Return the limit price as a Decimal in currency units, or None."""
        return None if self.limit_price is None else Decimal(self.limit_price)


class RuleLine(RequestModel):
    """One rule's result: pass when observed <= limit; margin = limit - observed."""

    rule: str
    action: str
    reason: str
    observed: str | None
    limit: str | None
    margin: str | None
    unit: str


class ApprovalQuestion(RequestModel):
    """What a person is asked to approve, and how far market and size may move until then."""

    intent_digest: str
    expires_us: Annotated[
        int | None,
        Field(description="the hold ends then, microseconds UTC; sooner if time says so"),
    ]
    band: dict[str, int | str]


class WordsEffect(RequestModel):
    """What the narrative changed: the same forecast and order with its words heard and blanked.

    Log returns, volatilities and the shortfall (mean of the worst 2.5 % of paths, for a long
    position) are in 1e-8, chances and exposures in basis points, lots are signed.
    """

    result: Annotated[
        Literal["no_news", "missing", "measured"],
        Field(description="no_news: there were no words; missing: `reason` says why"),
    ]
    reason: str = ""
    heard: dict[str, int] | None = None
    blanked: dict[str, int] | None = None
    difference: Annotated[
        dict[str, int | None] | None,
        Field(description="heard less blanked, with the Monte Carlo error of the mean"),
    ] = None


class SignedReceipt(RequestModel):
    """The gateway's signature over an answer: `countersign verify-receipt` checks it."""

    form: str
    log: Annotated[str, Field(description="the log's origin")]
    key: Annotated[
        str, Field(pattern=r"^[0-9a-f]{64}$", description="Ed25519 public key of the run, hex")
    ]
    key_seq: Annotated[int, Field(ge=0, description="record that has the key: receipt_key")]
    signature: Annotated[str, Field(pattern=r"^[0-9a-f]{128}$")]


class WouldPass(RequestModel):
    """The minimal edit: what would have passed at that moment. No permission: ask again for it."""

    qty_lots: Annotated[
        int, Field(description="largest quantity that passed every rule; 0: none did")
    ]
    limit_ticks: Annotated[
        int, Field(description="at this limit: the intent's, or the nearest inside the collar")
    ]
    low_ticks: Annotated[int | None, Field(description="lowest limit inside the price collar")]
    high_ticks: Annotated[int | None, Field(description="highest one")]
    stopped_by: Annotated[
        tuple[str, ...], Field(description="what stopped the next larger quantity: rule and reason")
    ]
    room_used_by: Annotated[
        tuple[str, ...],
        Field(description="decisions whose waiting orders use up the room: without them it passes"),
    ]
    searched: Annotated[str, Field(description="how far the search looked")]


class IntentResponse(RequestModel):
    """The verdict on an intent, and the fate of its order."""

    decision_id: str
    result: Annotated[
        Literal["approved", "held", "rejected", "no_trade", "no_forecast", "not_sent", "unknown"],
        Field(
            description="approved: the order left for the broker; not_sent: it did not and never"
            " will (`reason` says why; ask again under a new client_key); unknown: nobody can say"
            " yet, the broker is asked, do not order it again"
        ),
    ]
    reason: Annotated[
        str | None,
        Field(
            description="why: the rule and reason of a rejection or hold (`conduct` for every rule"
            " about conduct), the sizing's reason for no trade, the code of a forecast that failed,"
            " or why an order did not leave or is not known to have left"
        ),
    ] = None
    verdict: str | None
    approval: Annotated[
        ApprovalQuestion | None,
        Field(description="the request to a person, where a rule asked for one"),
    ] = None
    rules: tuple[RuleLine, ...]
    cl_ord_id: str | None
    side: Annotated[str | None, Field(description="of the order, if one was announced")] = None
    quantity: Annotated[str | None, Field(description="as sent, tag 38")] = None
    limit_price: Annotated[str | None, Field(description="as sent, tag 44")] = None
    order_state: Annotated[
        str | None, Field(description="as `GET /v1/orders/{id}` names it, when this was answered")
    ] = None
    words: Annotated[
        WordsEffect | None,
        Field(description="what news did to forecast and order; none: no order was sized"),
    ] = None
    would_pass: Annotated[
        WouldPass | None,
        Field(description="of a rejected or held intent; none after a restart, or for conduct"),
    ] = None
    permalink: Annotated[str | None, Field(description="the decision's page")] = None
    record_seq: int | None
    record_leaf: str | None
    as_of_seq: Annotated[
        int | None,
        Field(
            description="newest record of the decision that the answer tells of; give it to"
            " GET /v1/events as Last-Event-ID to follow what happens next"
        ),
    ] = None
    receipt: str
    signed: Annotated[
        SignedReceipt | None, Field(description="signature over all other fields of the answer")
    ] = None


class ApprovalRequest(RequestModel):
    """A person's answer to a held decision."""

    approve: bool
    intent_digest: Annotated[
        str, Field(pattern=r"^[0-9a-f]{64}$", description="digest of the intent that was read")
    ]
    sheet_digest: Annotated[
        str,
        Field(
            pattern=r"^([0-9a-f]{64})?$",
            description="digest of the sheet that was read; needed to approve",
        ),
    ] = ""
    note: Annotated[Words, Field(min_length=1, description="why; it is kept")]


class KillRequest(RequestModel):
    """A kill's reason. Invisible characters are recorded by number: a kill is never refused."""

    reason: Annotated[str, Field(min_length=1, max_length=500)]
    kill_epoch: Annotated[
        int | None, Field(ge=1, le=2**53 - 1, description="of a press made in the kill word")
    ] = None
    press_id: Annotated[
        str | None, Field(pattern=r"^[0-9a-f]{32}$", description="of that press")
    ] = None

    @property
    def made(self) -> tuple[int, str] | None:
        """Epoch and id of a press that the caller has already made, or None."""
        if self.kill_epoch is None or self.press_id is None:
            return None
        return self.kill_epoch, self.press_id


class ReleaseRequest(RequestModel):
    """Two signatures over the release statement of one press, hex by role."""

    kill_epoch: Annotated[int, Field(ge=1)]
    signatures: Signatures
    reason: Words = ""
    live: Annotated[
        list[Annotated[str, Field(pattern=r"^[!-~]{1,64}$")]],
        Field(max_length=10_000, description="orders that may still work, as the statement has"),
    ] = Field(default_factory=list)
