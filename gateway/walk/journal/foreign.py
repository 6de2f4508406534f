"""Records of orders at the broker that are not ours."""

from audit.records.canonical import JSON
from audit.records.kinds import Kind
from audit.records.record import Draft
from fix.dialects.profile import ForeignTreatment
from fix.orders.foreign import name_of, works
from fix.wire.reports import CancelReject, ExecutionReport
from gateway.walk.journal.contents import Contents

TEXT_MAX = 64


def foreign_reported(
    session: str,
    said: ExecutionReport | CancelReject,
    *,
    offset: int,
    treatment: ForeignTreatment,
) -> Draft:
    """What the broker says about an order that is not ours; no book changes by it."""
    payload: dict[str, JSON] = {
        "offset": offset,
        "order_id": _plain(name_of(said)),
        "cl_ord_id": _plain(said.cl_ord_id),
        "order_status": _plain(said.ord_status),
        "treatment": treatment.value,
    }
    if isinstance(said, ExecutionReport):
        payload |= _reported(said)
    else:
        payload["cancel_refused"] = True
    if said.orig_cl_ord_id:
        payload["orig_cl_ord_id"] = _plain(said.orig_cl_ord_id)
    return Draft(
        stream=f"session/{session}",
        kind=Kind.FOREIGN_REPORTED,
        payload=payload,
        actor="fix",
        idem_key=f"foreign:{offset}",
    )


def _reported(report: ExecutionReport) -> dict[str, JSON]:
    traded = {"last_qty": report.last_qty, "last_price": report.last_price}
    return {
        "exec_id": _plain(report.exec_id),
        "exec_type": _plain(report.exec_type),
        "instrument": _plain(report.symbol),
        "side": _plain(report.side),
        "order_account": _plain(report.account),
        "quantity": report.order_qty,
        "price": report.price[:TEXT_MAX],
        "filled": report.cum_qty,
        "leaves": report.leaves_qty,
        "works": works(report),
        **(traded if report.is_trade or report.undoes else {}),
    }


class ForeignReported(Contents, frozen=True, kw_only=True):
    """The contents of `foreign_reported`: names and numbers as the broker's text.

    Attributes:
        order_id: names the order through all its changes: OrderID (37), else its ClOrdID.
        works: whether it may still trade; None where a message does not say so.
        cancel_refused: the message refused a cancel or replace that somebody else asked for.
    """

    order_id: str
    cl_ord_id: str
    order_status: str
    treatment: str
    instrument: str = ""
    side: str = ""
    order_account: str = ""
    quantity: str = ""
    price: str = ""
    filled: str = ""
    leaves: str = ""
    works: bool | None = None
    cancel_refused: bool = False


def _plain(text: str) -> str:
    """Return text in characters that any record takes."""
    return "".join(c for c in text if c.isascii() and c.isprintable())[:TEXT_MAX]
