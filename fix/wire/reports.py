"""Inbound messages to typed values: execution reports, cancel rejects and rejects.

Not here: what a report does to an order (`fix.orders.state`) or to the book (the gateway).

Rules:
- Prices, quantities and money stay checked decimal text. `scaled` turns them into integer units
  exactly or raises; nothing is rounded.
- A malformed message raises `ReportError` or `MessageError`; the caller quarantines it.
- A status report (150=I) is never a trade, whatever its LastQty says.
"""

import re
from dataclasses import dataclass

from fix.errors import ReportError
from fix.wire.messages import parse

_DECIMAL = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,18})?")
_INTEGER = re.compile(r"[0-9]{1,18}")
_TRADE_TYPES = frozenset("F12")
_BUST, _CORRECTION, _RESTATED, _REPLACED = "H", "G", "D", "5"
_WHOLE_MAX = 2**53 - 1  # above it JSON readers round, so the ledger takes none
STATUS = "I"
_BEFORE_EXEC_TYPE = frozenset({"FIX.4.0", "FIX.4.1", "FIX.4.2"})
_TRANS_TYPES = {"1": _BUST, "2": _CORRECTION, "3": STATUS}
"""ExecTransType (20) to the ExecType (150) that FIX 4.3 put in its place; 0 is new."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """Header fields: 35, 34, PossDupFlag (43) and SendingTime (52) as text."""

    msg_type: str
    msg_seq_num: int
    poss_dup: bool
    sending_time: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionReport:
    """ExecutionReport (8): one event of one order. Source: FIX 4.4 volume 4.

    Quantities, prices and commission are decimal text; empty means not given. `exec_id` is unique
    with the session and trade date, and ``0`` on status reports. `reject_reason` is OrdRejReason
    (103). Answers to a mass status request name it in `mass_id` (584), with TotNumReports (911) and
    LastRptRequested (912).
    """

    envelope: Envelope
    order_id: str
    cl_ord_id: str
    orig_cl_ord_id: str
    exec_id: str
    exec_ref_id: str
    exec_type: str
    ord_status: str
    symbol: str
    side: str
    order_qty: str
    last_qty: str
    last_price: str
    leaves_qty: str
    cum_qty: str
    average_price: str
    commission: str
    currency: str
    reject_reason: str
    transact_time: str
    text: str
    account: str = ""
    price: str = ""
    mass_id: str = ""
    reports_total: int = 0
    is_last: bool = False

    @property
    def is_status(self) -> bool:
        """Whether this only answers a status request."""
        return self.exec_type == STATUS

    @property
    def finds_nothing(self) -> bool:
        """Whether this says that a mass status request found no order."""
        return self.is_status and bool(self.mass_id) and self.ord_status == "8"

    @property
    def is_trade(self) -> bool:
        """Whether this reports a new trade."""
        return self.exec_type in _TRADE_TYPES

    @property
    def is_correction(self) -> bool:
        """Whether this corrects the earlier trade `exec_ref_id` (150=G)."""
        return self.exec_type == _CORRECTION

    @property
    def undoes(self) -> bool:
        """Whether this busts (150=H) or corrects (150=G) the trade `exec_ref_id`."""
        return self.exec_type in {_BUST, _CORRECTION}

    @property
    def is_replaced(self) -> bool:
        """Whether the broker carried out a replace (150=5)."""
        return self.exec_type == _REPLACED

    @property
    def is_restatement(self) -> bool:
        """Whether the broker changed the order by itself (150=D)."""
        return self.exec_type == _RESTATED

    @property
    def reinstates(self) -> bool:
        """Whether this may make an ended order work again: a bust, a correction or 150=D."""
        return self.undoes or self.exec_type == _RESTATED

    @property
    def has_leaves(self) -> bool:
        """Whether LeavesQty (151) is above zero."""
        return bool(self.leaves_qty.strip("-0.")) and not self.leaves_qty.startswith("-")


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelReject:
    """OrderCancelReject (9): a cancel was refused; `ord_status` is the order's."""

    envelope: Envelope
    cl_ord_id: str
    orig_cl_ord_id: str
    ord_status: str
    response_to: str
    reason: str
    text: str
    order_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MassCancelReport:
    """OrderMassCancelReport (r): the answer to a mass cancel; response ``0`` means refused."""

    envelope: Envelope
    cl_ord_id: str
    response: str
    affected: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BusinessReject:
    """BusinessMessageReject (j): the broker's application cannot process a message of ours."""

    envelope: Envelope
    ref_seq_num: int
    ref_msg_type: str
    ref_id: str
    reason: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionReject:
    """Reject (3): a message of ours broke a session rule and had no effect."""

    envelope: Envelope
    ref_seq_num: int
    ref_msg_type: str
    reason: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherMessage:
    """A well-formed message of any other type."""

    envelope: Envelope


Inbound = (
    ExecutionReport
    | CancelReject
    | MassCancelReport
    | BusinessReject
    | SessionReject
    | OtherMessage
)


def parse_inbound(raw: str | bytes) -> Inbound:
    """Return the value of one inbound message.

    Raises:
        MessageError: the bytes are not a FIX message.
        ReportError: the message lacks or garbles a field that its type needs.
    """
    fields = dict(reversed(parse(raw)))  # the first of each tag counts
    reader = _FieldReader(fields)
    match fields[35]:
        case "8":
            return _execution_report(reader)
        case "9":
            return CancelReject(
                envelope=reader.envelope(),
                cl_ord_id=reader.text(11),
                orig_cl_ord_id=reader.text(41),
                ord_status=reader.text(39),
                response_to=reader.text(434),
                reason=reader.optional(102),
                text=reader.optional(58),
                order_id=reader.optional(37),
            )
        case "r":
            return MassCancelReport(
                envelope=reader.envelope(),
                cl_ord_id=reader.optional(11),
                response=reader.text(531),
                affected=reader.number(533, default=0),
                text=reader.optional(58),
            )
        case "j":
            return BusinessReject(
                envelope=reader.envelope(),
                ref_seq_num=reader.number(45, default=0),
                ref_msg_type=reader.text(372),
                ref_id=reader.optional(379),
                reason=reader.text(380),
                text=reader.optional(58),
            )
        case "3":
            return SessionReject(
                envelope=reader.envelope(),
                ref_seq_num=reader.number(45),
                ref_msg_type=reader.optional(372),
                reason=reader.optional(373),
                text=reader.optional(58),
            )
        case _:
            return OtherMessage(envelope=reader.envelope())


def order_told_by(report: ExecutionReport, cl_ord_id: str) -> tuple[tuple[int, str], ...]:
    """Return the fields of an order that a cancel repeats, as a report about it gives them."""
    told = ((35, "D"), (11, cl_ord_id), (55, report.symbol), (54, report.side))
    return (*told, (38, report.order_qty or report.leaves_qty))


def scaled(text: str, digits: int) -> int:
    """Return decimal text as an integer count of 10**-digits, exactly.

    Raises:
        ReportError: not a plain decimal, finer than the unit, or beyond 2^53 - 1 units.
    """
    if not _DECIMAL.fullmatch(text):
        raise ReportError(msg_type="-", problem=f"{text[:24]!r} is not a decimal number")
    whole, _, part = text.lstrip("-").partition(".")
    part = part.rstrip("0")
    if len(part) > digits:
        raise ReportError(msg_type="-", problem=f"{text[:24]} is finer than {digits} decimals")
    units: int = int(whole) * 10**digits + int(part.ljust(digits, "0") or "0")
    if units > _WHOLE_MAX:
        raise ReportError(msg_type="-", problem=f"{text[:24]} is beyond 2^53 - 1 units")
    return -units if text.startswith("-") else units


class _FieldReader:
    def __init__(self, fields: dict[int, str]) -> None:
        self._fields = fields

    def fault(self, problem: str) -> ReportError:
        return ReportError(msg_type=self._fields[35], problem=problem)

    def optional(self, tag: int) -> str:
        return self._fields.get(tag, "")

    def text(self, tag: int) -> str:
        value = self._fields.get(tag)
        if value is None:
            raise self.fault(f"has no tag {tag}")
        return value

    def number(self, tag: int, *, default: int | None = None) -> int:
        value = self._fields.get(tag)
        if value is None and default is not None:
            return default
        if value is None or not _INTEGER.fullmatch(value):
            raise self.fault(f"tag {tag} is not a count")
        return int(value)

    def decimal(self, tag: int, *, needed: bool = False) -> str:
        value = self._fields.get(tag, "")
        if not value and not needed:
            return ""
        if not _DECIMAL.fullmatch(value):
            raise self.fault(f"tag {tag} is not a decimal number")
        return value

    def envelope(self) -> Envelope:
        return Envelope(
            msg_type=self._fields[35],
            msg_seq_num=self.number(34),
            poss_dup=self.optional(43) == "Y",
            sending_time=self.optional(52),
        )


def _execution_report(reader: _FieldReader) -> ExecutionReport:
    report = ExecutionReport(
        envelope=reader.envelope(),
        order_id=reader.text(37),
        cl_ord_id=reader.optional(11),
        orig_cl_ord_id=reader.optional(41),
        exec_id=reader.text(17),
        exec_ref_id=reader.optional(19),
        exec_type=_exec_type(reader),
        ord_status=reader.text(39),
        symbol=reader.optional(55),
        side=reader.optional(54),
        order_qty=reader.decimal(38),
        last_qty=reader.decimal(32),
        last_price=reader.decimal(31),
        leaves_qty=reader.decimal(151, needed=True),
        cum_qty=reader.decimal(14, needed=True),
        average_price=reader.decimal(6),
        commission=_commission(reader),
        currency=reader.optional(15),
        reject_reason=reader.optional(103),
        transact_time=reader.optional(60),
        text=reader.optional(58),
        account=reader.optional(1),
        price=reader.optional(44),
        mass_id=reader.optional(584),
        reports_total=_count(reader.optional(911)),
        is_last=reader.optional(912) == "Y",
    )
    if report.is_trade and not (report.last_qty and report.last_price):
        raise reader.fault("a trade without LastQty (32) or LastPx (31)")
    return report


def _count(text: str) -> int:
    return int(text) if _INTEGER.fullmatch(text) else 0


def _exec_type(reader: _FieldReader) -> str:
    """Return ExecType (150); in FIX 4.2 a bust, a correction and a status are ExecTransType (20).

    Source: FIX 4.2 volume 4, ExecutionReport: 20 is required, and 150 says the order's state.
    """
    exec_type = reader.text(150)
    if reader.text(8) not in _BEFORE_EXEC_TYPE:
        return exec_type
    trans_type = reader.text(20)
    if trans_type not in {"0", *_TRANS_TYPES}:
        raise reader.fault("ExecTransType (20) is none of 0, 1, 2, 3")
    return _TRANS_TYPES.get(trans_type, exec_type)


def _commission(reader: _FieldReader) -> str:
    commission = reader.decimal(12)
    if commission and reader.optional(13) not in {"", "3"}:
        raise reader.fault("commission (12) is not absolute (13=3)")
    return commission
