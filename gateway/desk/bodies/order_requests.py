"""Requests about one order, and orders as they are shown: the API's and the pages' own words.

Not here: what a cancel or a replace does (`orders` and `replacing` of `gateway.desk.controls`).
"""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from gateway.desk.bodies.model import RequestModel, Words

CancelState = Literal["requested", "sent", "confirmed", "rejected", "not_sent", "too_late"]
"""How far a request to cancel is: on record, handed to the broker, or over."""


class CancelRequest(RequestModel):
    """A request to cancel one order."""

    client_key: Annotated[
        str,
        Field(
            pattern=r"^[A-Za-z0-9._-]{1,64}$",
            description="idempotency key: the same key again returns the same request",
        ),
    ]
    reason: Annotated[Words, Field(description="why; recorded, never read by a rule")] = ""


class CancelLine(RequestModel):
    """One request to cancel an order, and what became of it."""

    cancel_id: Annotated[str, Field(description="ClOrdID of the cancel; names the request's leaf")]
    requested_by: str
    requested_us: int
    reason: str
    state: Annotated[
        CancelState,
        Field(
            description="requested: on record; sent: it left for the broker; confirmed: the broker"
            " cancelled the order; rejected: the broker refused, the order goes on; not_sent: it"
            " did not leave and never will; too_late: the order ended first"
        ),
    ]
    detail: str
    record_seq: int


ReplaceState = Literal[
    "requested", "sent", "replaced", "rejected", "not_sent", "not_received", "too_late"
]
"""How far a request to replace is: on record, handed to the broker, or over."""


class ReplaceRequest(RequestModel):
    """A request to change an order's quantity, its limit, or both; its side stays."""

    client_key: Annotated[
        str,
        Field(
            pattern=r"^[A-Za-z0-9._-]{1,64}$",
            description="idempotency key: the same key again returns the same request",
        ),
    ]
    qty_lots: Annotated[
        int | None,
        Field(ge=1, le=10**9, description="the order's new total, with what was executed, in lots"),
    ] = None
    limit_price: Annotated[
        str | None,
        Field(pattern=r"^[0-9]{1,12}(\.[0-9]{1,8})?$", description="the new limit, decimal text"),
    ] = None
    reason: Annotated[Words, Field(description="why; recorded, never read by a rule")] = ""

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if self.qty_lots is None and self.limit_price is None:
            raise ValueError("give qty_lots, limit_price or both")
        return self


class ReplaceLine(RequestModel):
    """One request to replace an order, and what became of it."""

    replace_id: Annotated[
        str, Field(description="ClOrdID of the replace; names the request's leaf")
    ]
    requested_by: str
    requested_us: int
    reason: str
    qty_lots: int
    limit_price: str
    state: Annotated[
        ReplaceState,
        Field(
            description="requested: on record; sent: it left for the broker; replaced: the broker"
            " works the new terms; rejected: the broker refused, the order goes on as before;"
            " not_sent: it did not leave and never will; not_received: the broker never had it;"
            " too_late: the order ended first"
        ),
    ]
    detail: str
    record_seq: int


class OrderLine(RequestModel):
    """One order as it stands, under the terms that the broker confirmed; quantities in lots."""

    cl_ord_id: Annotated[str, Field(description="its first ClOrdID, which stays its name here")]
    decision_id: str
    permalink: Annotated[str, Field(description="the decision's page")]
    account: str
    author: str
    instrument: str
    side: str
    quantity: str
    qty_lots: int
    limit_price: str
    time_in_force: str
    state: Annotated[str, Field(description="state of the order, as `fix.orders.state` names it")]
    live: Annotated[bool, Field(description="the broker may still trade it")]
    filled_lots: int
    leaves_lots: int
    average_price: str | None
    broker_order_id: Annotated[str | None, Field(description="the broker's OrderID (37)")]
    announced_us: int
    reported_us: Annotated[int | None, Field(description="of the broker's last report")]
    age_s: Annotated[int | None, Field(description="while it is live")]
    cancels: tuple[CancelLine, ...]
    replaces: tuple[ReplaceLine, ...] = ()


class OrderList(RequestModel):
    """Orders, newest first."""

    orders: tuple[OrderLine, ...]


class CancelResponse(RequestModel):
    """What became of a request to cancel, and the order as it stands."""

    result: CancelState
    reason: str | None = None
    cancel: CancelLine
    order: OrderLine


class ReplaceResponse(RequestModel):
    """What became of a request to replace, and the order as it stands."""

    result: ReplaceState
    reason: str | None = None
    replace: ReplaceLine
    order: OrderLine
