"""Records of orders at the broker that are not ours."""

from audit.records.canonical import JSON
from audit.records.record import Draft
from audit.records.record_kind import Filing, RecordKind
from fix.dialects.profile import ForeignTreatment
from fix.orders.foreign import name_of, works
from fix.wire.reports import CancelReject, ExecutionReport

TEXT_MAX = 64


def foreign_reported(
    session: str,
    said: ExecutionReport | CancelReject,
    *,
    offset: int,
    treatment: ForeignTreatment,
) -> Draft:
    """What the broker says about an order that is not ours; no book changes by it."""
    told = ForeignReported(
        offset=offset,
        order_id=_plain(name_of(said)),
        cl_ord_id=_plain(said.cl_ord_id),
        order_status=_plain(said.ord_status),
        treatment=treatment.value,
        orig_cl_ord_id=_plain(said.orig_cl_ord_id),
        cancel_refused=not isinstance(said, ExecutionReport),
    )
    more = _reported(said) if isinstance(said, ExecutionReport) else {}
    return ForeignReported.draft_of({**told.document(), **more}, session=session)


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


class ForeignReported(RecordKind, frozen=True, kw_only=True):
    """An order that is not ours: names and numbers as the broker's text.

    Attributes:
        order_id: names the order through all its changes: OrderID (37), else its ClOrdID.
        works: whether it may still trade; None where a message does not say so.
        cancel_refused: the message refused a cancel or replace that somebody else asked for.
    """

    filing = Filing("session/{session}", "foreign:{offset}", "fix")

    offset: int
    order_id: str
    cl_ord_id: str
    order_status: str
    treatment: str
    orig_cl_ord_id: str = ""
    exec_id: str = ""
    exec_type: str = ""
    last_qty: str = ""
    last_price: str = ""
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
