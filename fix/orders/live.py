"""A live order, as the FIX child keeps it."""

from dataclasses import dataclass

from fix.wire.messages import CL_ORD_ID, Fields

_QTY = 38


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveOrder:
    """An order that may be working at the broker.

    Attributes:
        cl_ord_id: its first ClOrdID, which stays its name here.
        fields: the NewOrderSingle as it was to be sent, or the replace that the broker confirmed.
        inbox_offset: up to where the inbox was accounted for when it was handed over; its reports
            come after it.
        asked: the replace that the broker has not answered yet; empty without one.
        filled: of an ended one, whether a full fill ended it.
    """

    cl_ord_id: str
    fields: Fields
    inbox_offset: int
    asked: Fields = ()
    filled: bool = False

    @property
    def wire_name(self) -> str:
        """The ClOrdID under which the broker has it, as far as it said so."""
        return dict(self.fields).get(CL_ORD_ID, self.cl_ord_id)

    @property
    def quantity(self) -> str:
        """Its OrderQty (38), shares; empty if it is not known."""
        return dict(self.fields).get(_QTY, "")

    @property
    def asked_name(self) -> str:
        """The ClOrdID of the unanswered replace; empty without one."""
        return dict(self.asked).get(CL_ORD_ID, "")
