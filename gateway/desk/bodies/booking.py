"""Bodies of adjustments, resolutions and splits."""

from typing import Annotated, Final, Literal

from pydantic import Field

from gateway.desk.bodies.model import PRICE_PATTERN, RequestModel, Signatures, Words
from risk.forms.names import Symbol

AMOUNT_PATTERN = r"^$|^-?[0-9]{1,12}(\.[0-9]{1,4})?$"
QUANTITY_MAX: Final = 10**12


class ResolveRequest(RequestModel):
    """A person's resolution of a difference between the book and the broker."""

    right: Annotated[
        Literal["book", "broker"],
        Field(description="book: nothing changes; broker: the book is adjusted, two signatures"),
    ]
    reason: Annotated[Words, Field(min_length=1)]
    evidence: Annotated[
        Words, Field(min_length=1, description="what shows it: a file's digest, a call, a ticket")
    ]
    price: Annotated[
        str, Field(pattern=rf"^$|{PRICE_PATTERN}", description="of the adjustment, decimal text")
    ] = ""
    account: Annotated[str, Field(max_length=64, pattern=r"^[\x21-\x7e]*$")] = ""
    side: Literal["", "BUY", "SELL"] = ""
    lots: Annotated[
        int,
        Field(
            ge=-1_000_000_000,
            le=1_000_000_000,
            description="of the adjustment, as listed: the broker's lots less the book's",
        ),
    ] = 0
    ends: Annotated[
        str,
        Field(pattern=r"^[A-Z2-7]{0,20}$", description="ClOrdID of an order that is at an end"),
    ] = ""
    exec_ids: Annotated[
        list[Annotated[str, Field(pattern=r"^[!-~]{1,64}$")]],
        Field(max_length=64, description="the broker's ExecIDs of the trades that it books"),
    ] = Field(default_factory=list)
    signatures: Signatures = Field(default_factory=dict)


class PositionLine(RequestModel):
    """A position of an opening; the quantity is in units of the instrument, negative if short."""

    instrument: Symbol
    quantity: Annotated[int, Field(ge=-QUANTITY_MAX, le=QUANTITY_MAX)]
    price: Annotated[str, Field(pattern=PRICE_PATTERN, description="average price paid")]


class AdjustRequest(RequestModel):
    """An adjustment of a book beside its orders; which fields count depends on its sort."""

    ref: Annotated[
        str,
        Field(
            pattern=r"^[A-Za-z0-9._:-]{1,64}$",
            description="your name of it; the same again changes nothing",
        ),
    ]
    sort: Literal["opening", "split", "dividend", "fee", "cash", "trade", "give_up", "mark"]
    account: Annotated[
        str,
        Field(
            max_length=64,
            pattern=r"^[\x21-\x7e]*$",
            description="account; not for a split, which is of all",
        ),
    ] = ""
    instrument: Annotated[Symbol | Literal[""], Field(description="symbol")] = ""
    amount: Annotated[
        str,
        Field(
            pattern=AMOUNT_PATTERN,
            description="of a dividend, fee or transfer, -5.00 goes out; of an opening, all",
        ),
    ] = ""
    side: Annotated[
        Literal["", "BUY", "SELL"], Field(description="BUY or SELL, of a trade or give-up")
    ] = ""
    quantity: Annotated[
        int, Field(ge=0, le=QUANTITY_MAX, description="of a trade or give-up, in units")
    ] = 0
    price: Annotated[
        str,
        Field(
            pattern=rf"^$|{PRICE_PATTERN}",
            description="of a trade or give-up; what wrong marks should have been",
        ),
    ] = ""
    fee: Annotated[str, Field(pattern=AMOUNT_PATTERN, description="of a trade or give-up")] = ""
    ratio: Annotated[
        str,
        Field(
            pattern=r"^$|^[1-9][0-9]{0,3}:[1-9][0-9]{0,3}$",
            description="of a split: 2:1 makes two of each one",
        ),
    ] = ""
    effective: Annotated[
        str,
        Field(
            pattern=r"^$|^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
            description="a split's first day: bars from before it are restated",
        ),
    ] = ""
    marks: Annotated[
        str,
        Field(
            pattern=r"^$|^[1-9][0-9]{0,15}-[1-9][0-9]{0,15}$",
            description="first and last record of wrong marks: 1041-1099",
        ),
    ] = ""
    positions: Annotated[list[PositionLine], Field(max_length=2_000)] = Field(default_factory=list)
    reference: Annotated[
        str,
        Field(
            max_length=64, pattern=r"^[\x21-\x7e]*$", description="the broker's ExecID or ticket"
        ),
    ] = ""
    reason: Annotated[Words, Field(min_length=1, description="why; recorded")]
    evidence: Annotated[Words, Field(min_length=1, description="what shows it; recorded")]
    signatures: Signatures = Field(default_factory=dict)


class AllocationBody(RequestModel):
    """What each client account is to get, in lots."""

    parts: Annotated[
        dict[str, Annotated[int, Field(ge=0, le=1_000_000_000)]],
        Field(min_length=1, max_length=50),
    ]
