"""A live order, as the FIX child keeps it."""

from dataclasses import dataclass

from fix.wire.messages import Fields


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveOrder:
    """An order that may be working at the broker.

    Attributes:
        fields: the NewOrderSingle as it was to be sent.
        inbox_offset: end of the inbox when it was handed over; its reports come after it.
    """

    cl_ord_id: str
    fields: Fields
    inbox_offset: int
