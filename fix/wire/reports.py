"""Inbound messages to typed values: execution reports, cancel rejects and rejects.

Not here: what a report does to an order (`fix.orders.state`) or to the book (the gateway).

Rules:
- Prices, quantities and money stay checked decimal text. `scaled` turns them into integer units
  exactly or raises; nothing is rounded.
- A field that is empty, or that nothing depends on and is garbled, counts as not given.
- A trade is read as far as its order, ExecID, quantity and price go. `unread` names the fields of
  an order's state that are missing then.
- What is not enough raises `ReportError` or `MessageError`; the caller quarantines it.
- A status report (150=I) is never a trade, whatever its LastQty says.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from fix.errors import ReportError
from fix.wire.fees import Fee, fees_of
from fix.wire.fields import MSG_TYPE, read_message
from fix.wire.reader import DECIMAL, INTEGER, FieldReader

_TRADE_TYPES = frozenset("F12")
_BUST, _CORRECTION, _RESTATED, _REPLACED = "H", "G", "D", "5"
_WHOLE_MAX = 2**53 - 1  # above it JSON readers round, so the ledger takes none
STATUS = "I"
_BEFORE_EXEC_TYPE = frozenset({"FIX.4.0", "FIX.4.1", "FIX.4.2"})
_TRANS_TYPES = {"1": _BUST, "2": _CORRECTION, "3": STATUS}
"""ExecTransType (20) to the ExecType (150) that FIX 4.3 put in its place; 0 is new."""
_REPORT_MARKS = frozenset({14, 17, 150})
"""Only an execution report has them all, whatever its MsgType says."""
_ENDED = frozenset("2348C")
_EXEC_TYPES = frozenset("0123456789ABCDEFGHIJKL")
_STATE_TAGS = (39, 151, 14)
_SOLE = frozenset({11, 14, 15, 17, 19, 20, 31, 32, 37, 39, 41, 54, 55, 120, 150, 151})
"""No group of an execution report has one of these, so two values contradict each other."""
_SOLE_OF_STATE = frozenset({11, 14, 20, 37, 39, 41, 150, 151})
"""Those that say which order it is about, or how that order stands."""


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

    `currency` (15) is the money of its prices, `settlement_currency` (120) what it settles in.
    `fees` are the commission and each MiscFee, as the broker states them; `commission` is an
    absolute one alone. `unread` are the tags of a trade that could not be read: OrdStatus,
    LeavesQty, CumQty. `doubled` are the tags with two values on which booking depends; of each
    field the first counts.
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
    settlement_currency: str = ""
    fees: tuple[Fee, ...] = ()
    unread: tuple[int, ...] = ()
    doubled: tuple[int, ...] = ()

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
    def is_ambiguous(self) -> bool:
        """Whether a field that names its order, or says how that stands, has two values."""
        return not _SOLE_OF_STATE.isdisjoint(self.doubled)

    @property
    def contradiction(self) -> str:
        """Which tags have two values, in words; empty if none has."""
        return f"tags with two values: {self.doubled}" if self.doubled else ""

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
    pairs = read_message(raw)
    reader = FieldReader(pairs)
    match reader.text(MSG_TYPE):
        case "8":
            return _execution_report(reader, pairs)
        case "9":
            return CancelReject(
                envelope=_envelope(reader),
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
                envelope=_envelope(reader),
                cl_ord_id=reader.optional(11),
                response=reader.text(531),
                affected=reader.number(533, default=0),
                text=reader.optional(58),
            )
        case "j":
            return BusinessReject(
                envelope=_envelope(reader),
                ref_seq_num=reader.number(45, default=0),
                ref_msg_type=reader.text(372),
                ref_id=reader.optional(379),
                reason=reader.text(380),
                text=reader.optional(58),
            )
        case "3":
            return SessionReject(
                envelope=_envelope(reader),
                ref_seq_num=reader.number(45),
                ref_msg_type=reader.optional(372),
                reason=reader.optional(373),
                text=reader.optional(58),
            )
        case other if is_report(reader.first):
            raise reader.fault(f"MsgType (35) is {other[:24]!r}, the fields are a report's")
        case _:
            return OtherMessage(envelope=_envelope(reader))


def order_told_by(report: ExecutionReport, cl_ord_id: str) -> tuple[tuple[int, str], ...]:
    """Return the fields of an order that a cancel repeats, as a report about it gives them."""
    told = ((35, "D"), (11, cl_ord_id), (55, report.symbol), (54, report.side))
    return (*told, (38, report.order_qty or report.leaves_qty))


def scaled(text: str, digits: int) -> int:
    """Return decimal text as an integer count of 10**-digits, exactly.

    Raises:
        ReportError: not a plain decimal, finer than the unit, or beyond 2^53 - 1 units.
    """
    if not DECIMAL.fullmatch(text):
        raise ReportError(msg_type="-", problem=f"{text[:24]!r} is not a decimal number")
    whole, _, part = text.lstrip("-").partition(".")
    part = part.rstrip("0")
    if len(part) > digits:
        raise ReportError(msg_type="-", problem=f"{text[:24]} is finer than {digits} decimals")
    units: int = int(whole) * 10**digits + int(part.ljust(digits, "0") or "0")
    if units > _WHOLE_MAX:
        raise ReportError(msg_type="-", problem=f"{text[:24]} is beyond 2^53 - 1 units")
    return -units if text.startswith("-") else units


def shares(text: str) -> int | None:
    """Return a quantity in whole shares, or None for text that is no such number."""
    try:
        return scaled(text, 0)
    except ReportError:
        return None


def is_report(tags: Mapping[int, str]) -> bool:
    """Return whether a message is an execution report, or has its fields under another type."""
    return tags.get(MSG_TYPE) == "8" or tags.keys() >= _REPORT_MARKS


def _envelope(reader: FieldReader) -> Envelope:
    number = reader.optional(34)
    return Envelope(
        msg_type=reader.text(MSG_TYPE),
        msg_seq_num=int(number) if INTEGER.fullmatch(number) else 0,
        poss_dup=reader.optional(43) == "Y",
        sending_time=reader.time(52),
    )


def _execution_report(reader: FieldReader, pairs: Sequence[tuple[int, str]]) -> ExecutionReport:
    fees = fees_of(pairs)
    report = ExecutionReport(
        envelope=_envelope(reader),
        order_id=reader.optional(37),
        cl_ord_id=reader.optional(11),
        orig_cl_ord_id=reader.optional(41),
        exec_id=reader.text(17),
        exec_ref_id=reader.optional(19),
        exec_type=_exec_type(reader),
        ord_status=reader.optional(39),
        symbol=reader.optional(55),
        side=reader.optional(54),
        order_qty=reader.decimal(38),
        last_qty=reader.decimal(32),
        last_price=reader.decimal(31),
        leaves_qty=reader.decimal(151),
        cum_qty=reader.decimal(14),
        average_price=reader.decimal(6),
        commission=next((one.amount for one in fees if one.is_absolute_commission), ""),
        currency=reader.optional(15),
        reject_reason=reader.optional(103),
        transact_time=reader.time(60),
        text=reader.optional(58),
        account=reader.optional(1),
        price=reader.optional(44),
        mass_id=reader.optional(584),
        reports_total=_count(reader.optional(911)),
        is_last=reader.optional(912) == "Y",
        settlement_currency=reader.optional(120),
        fees=fees,
        doubled=tuple(sorted(reader.torn & _SOLE)),
    )
    if report.is_trade and not (report.last_qty and report.last_price):
        raise reader.fault("a trade without LastQty (32) or LastPx (31)")
    if report.exec_type not in _EXEC_TYPES and report.last_qty.strip("-0."):
        raise reader.fault(
            f"ExecType (150) {report.exec_type[:24]!r} is unknown, and it has traded"
        )
    if not report.is_trade and not (report.ord_status and report.cum_qty):
        raise reader.fault("without OrdStatus (39) or CumQty (14)")
    values = (report.ord_status, report.leaves_qty, report.cum_qty)
    unread = tuple(tag for tag, value in zip(_STATE_TAGS, values, strict=True) if not value)
    return replace(report, unread=unread, leaves_qty=report.leaves_qty or _leaves(report))


def _leaves(report: ExecutionReport) -> str:
    """Return LeavesQty (151) where a report does not state it; empty if nothing tells it."""
    if report.ord_status in _ENDED:
        return "0"
    if not (report.order_qty and report.cum_qty):
        return ""
    return format(max(Decimal(0), Decimal(report.order_qty) - Decimal(report.cum_qty)), "f")


def _count(text: str) -> int:
    return int(text) if INTEGER.fullmatch(text) else 0


def _exec_type(reader: FieldReader) -> str:
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
