"""Orders and requests to FIX fields, and any bytes to fields. Pure.

Not here: quickfix, and the fields of the session layer (8, 9, 34, 49, 52, 56, 10).

Rules:
- An order is built from an `ApprovedOrder`, which only `risk.approved.approve` makes.
- Numbers are decimal text made from integers: quickfix writes a float of 1e15 as ``1e15``, which
  is not valid FIX.
- ``parse`` raises only `MessageError`, whatever the bytes.
- Wire text has one character per byte (ISO 8859-1), so it maps to bytes and fits into JSON.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from fix.dialects.profile import OrderTags, Profile
from fix.dialects.versions import SPEECH
from fix.errors import MessageError
from fix.wire.fields import MSG_TYPE, SOH, check_frame, checksum, parts_of
from fix.wire.identity import cl_ord_id

if TYPE_CHECKING:  # every rule comes with it, which the session's process never asks
    from risk.approved import ApprovedOrder

Fields = tuple[tuple[int, str], ...]

CL_ORD_ID = 11
ORIG_CL_ORD_ID = 41
NEW_ORDER = "D"
CANCEL_REPLACE = "G"
CANCEL = "F"
MASS_CANCEL = "q"
STATUS_REQUEST = "H"
MASS_STATUS_REQUEST = "AF"

SIDES = {"BUY": "1", "SELL": "2"}
TIMES_IN_FORCE = {"DAY": "0", "GTC": "1", "IOC": "3", "FOK": "4"}

_ASCII = re.compile(r"[\x20-\x7e]+")
_SECONDS_LENGTH = 17
_TRANSACT_TIME = 60
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def decimal_text(units: int, digits: int) -> str:
    """Return `units` of 10**-digits as decimal text: 26958 with 2 digits is ``269.58``."""
    sign, size = ("-", -units) if units < 0 else ("", units)
    whole, part = divmod(size, 10**digits)
    return f"{sign}{whole}.{part:0{digits}d}" if digits else f"{sign}{whole}"


def timestamp(time_us: int, digits: int = 6) -> str:
    """Return microseconds since the epoch as UTCTimestamp, cut to 0, 3 or 6 decimals.

    Source: FIX 4.2 and 4.4 volume 1 (seconds, milliseconds); EP206 (microseconds).
    """
    second, micro = divmod(time_us, 1_000_000)
    text = f"{_second_text(second)}.{micro:06d}"
    return text[: _SECONDS_LENGTH + digits + 1] if digits else text[:_SECONDS_LENGTH]


@lru_cache(maxsize=16)
def _second_text(second: int) -> str:
    return (_EPOCH + timedelta(seconds=second)).strftime("%Y%m%d-%H:%M:%S")


def with_time_digits(fields: Fields, digits: int) -> Fields:
    """Return the fields with TransactTime (60) cut to at most this many decimals."""
    longest = _SECONDS_LENGTH + digits + 1 if digits else _SECONDS_LENGTH
    return tuple(
        (tag, value[:longest] if tag == _TRANSACT_TIME else value) for tag, value in fields
    )


def new_order(
    order: "ApprovedOrder", *, profile: Profile, tick_minor: int, lot: int, transact_time_us: int
) -> Fields:
    """Return the fields of a limit NewOrderSingle for an approved order.

    `tick_minor` is in minor currency units per tick, `lot` in units per lot, `transact_time_us` in
    wall clock microseconds since the epoch.

    Raises:
        MessageError: a field would not be valid.

    Source: FIX 4.4 volume 4, NewOrderSingle (D).
    """
    intent = order.intent
    if intent.qty_lots <= 0 or intent.limit_ticks <= 0 or tick_minor <= 0 or lot <= 0:
        raise MessageError(problem="quantity, price, tick and lot of an order must be positive")
    side, tif = SIDES.get(str(intent.side)), TIMES_IN_FORCE.get(str(intent.tif))
    if side is None or tif is None:
        raise MessageError(
            problem=f"side {intent.side!s} or time in force {intent.tif!s} is unknown"
        )
    told = OrderWords(
        name=cl_ord_id(order.approving_leaf),
        account=intent.account,
        instrument=intent.instrument,
        side=side,
        quantity=str(intent.qty_lots * lot),
        price=decimal_text(intent.limit_ticks * tick_minor, profile.minor_digits),
        time_in_force=tif,
    )
    return limit_order(profile, told, transact_time_us)


class OrderWords(NamedTuple):
    """A limit order in FIX values; `name` is its ClOrdID, `account` ours."""

    name: str
    account: str
    instrument: str
    side: str
    quantity: str
    price: str
    time_in_force: str


def limit_order(profile: Profile, order: OrderWords, transact_time_us: int) -> Fields:
    """Return the fields of a limit NewOrderSingle as this broker takes it.

    `new_order` is the only way of the desk here; a certification run has no approval, so it calls
    this itself (a test keeps it so).

    Raises:
        MessageError: a field would not be valid.

    Source: FIX 4.4 volume 4, NewOrderSingle (D).
    """
    parties, handling, last = _constant(profile.tags)
    fields = (
        (MSG_TYPE, NEW_ORDER),
        (CL_ORD_ID, order.name),
        *parties,
        (1, profile.account or order.account),
        handling,
        (55, order.instrument),
        (54, order.side),
        (60, timestamp(transact_time_us, profile.timestamp_digits)),
        (38, order.quantity),
        (40, "2"),
        (44, order.price),
        (15, profile.currency),
        (59, order.time_in_force),
        *last,
    )
    return _checked(fields)


def cancel(order: Sequence[tuple[int, str]], *, cancel_id: str, transact_time_us: int) -> Fields:
    """Return the OrderCancelRequest for an order, from its fields as sent.

    `transact_time_us` is wall clock, microseconds since the epoch.

    Raises:
        MessageError: the order lacks a field that a cancel repeats.

    Source: FIX 4.4 volume 4, OrderCancelRequest (F).
    """
    sent = dict(order)
    try:
        repeated = tuple((tag, sent[tag]) for tag in (55, 54, 38))
        original = sent[CL_ORD_ID]
    except KeyError as error:
        raise MessageError(problem=f"the order to cancel has no tag {error.args[0]}") from error
    return _checked(
        (
            (MSG_TYPE, CANCEL),
            (ORIG_CL_ORD_ID, original),
            (CL_ORD_ID, cancel_id),
            (1, sent.get(1, "")),
            *repeated,
            (60, timestamp(transact_time_us)),
        )
    )


def cancel_replace(
    order: Sequence[tuple[int, str]],
    *,
    replace_id: str,
    quantity: str,
    price: str,
    transact_time_us: int,
) -> Fields:
    """Return the OrderCancelReplaceRequest for an order, from its fields as last accepted.

    `quantity` is the order's new total, with what was executed; `price` its new limit. Everything
    else is repeated, so each profile's own fields are in it too. `transact_time_us` is wall clock,
    microseconds since the epoch.

    Raises:
        MessageError: the order lacks a field that a replace needs.

    Source: FIX 4.2 and 4.4 volume 4, Order Cancel/Replace Request (G).
    """
    sent = dict(order)
    for tag in (CL_ORD_ID, 55, 54, 38, 40, 44):
        if tag not in sent:
            raise MessageError(problem=f"the order to replace has no tag {tag}")
    changed = {CL_ORD_ID: replace_id, 38: quantity, 44: price}
    changed[_TRANSACT_TIME] = timestamp(transact_time_us)
    kept = tuple(
        (tag, changed.get(tag, text))
        for tag, text in order
        if tag not in {MSG_TYPE, ORIG_CL_ORD_ID}
    )
    return _checked(((MSG_TYPE, CANCEL_REPLACE), (ORIG_CL_ORD_ID, sent[CL_ORD_ID]), *kept))


def mass_cancel(*, cancel_id: str, transact_time_us: int) -> Fields:
    """Return the OrderMassCancelRequest for every order of the session (530=7).

    Source: FIX 4.4 volume 4, OrderMassCancelRequest (q).
    """
    return _checked(
        (
            (MSG_TYPE, MASS_CANCEL),
            (CL_ORD_ID, cancel_id),
            (530, "7"),
            (60, timestamp(transact_time_us)),
        )
    )


def status_request(order: Sequence[tuple[int, str]]) -> Fields:
    """Return the OrderStatusRequest for an order, from its fields as sent.

    Raises:
        MessageError: the order lacks a field that the request repeats.

    Source: FIX 4.4 volume 4, OrderStatusRequest (H).
    """
    sent = dict(order)
    try:
        repeated = tuple((tag, sent[tag]) for tag in (CL_ORD_ID, 55, 54))
    except KeyError as error:
        raise MessageError(problem=f"the order asked for has no tag {error.args[0]}") from error
    return _checked(((MSG_TYPE, STATUS_REQUEST), (1, sent.get(1, "")), *repeated))


def mass_status_request(*, request_id: str) -> Fields:
    """Return the OrderMassStatusRequest for every order of the session (585=7).

    Source: FIX 4.4 volume 4, OrderMassStatusRequest (AF).
    """
    return _checked(((MSG_TYPE, MASS_STATUS_REQUEST), (584, request_id), (585, "7")))


def wire_text(fields: Sequence[tuple[int, str]], *, begin_string: str = "FIX.4.4") -> str:
    """Return a complete message with these fields, MsgType first.

    The engine adds CompIDs, MsgSeqNum and SendingTime, and recomputes length and checksum.
    """
    body = SOH.join(f"{tag}={value}" for tag, value in fields) + SOH
    head = f"8={begin_string}{SOH}9={len(body)}{SOH}{body}"
    return f"{head}10={checksum(head):03d}{SOH}"


def text_for(profile: Profile, fields: Fields) -> str:
    """Return a complete message in the profile's version, its times as long as the broker takes."""
    timed = with_time_digits(fields, profile.timestamp_digits)
    return wire_text(timed, begin_string=SPEECH[profile.version].begin_string)


def parse(raw: str | bytes) -> list[tuple[int, str]]:
    """Return every field of a message in wire order; nothing in it may be wrong or empty.

    For messages of our own; what a broker sends is read by `fix.wire.fields.read_message`.

    Raises:
        MessageError: names the first fault.
    """
    text = raw.decode("latin-1") if isinstance(raw, bytes) else raw
    *fields, last = parts_of(text)
    if last != (0, ""):
        raise MessageError(problem="does not end with a delimiter")
    for place, (tag, value) in enumerate(fields, 1):
        if not tag or not value:
            raise MessageError(problem=f"field {place} is not tag=value")
    check_frame(text, fields)
    return fields


def _parties(tags: OrderTags) -> Fields:
    """Return the Parties group, as short codes: who decided (an algorithm) and who executes.

    452=122 investment decision maker, 12 executing trader; 2376=22 algorithm, 24 natural person.
    """
    group: list[tuple[int, str]] = []
    for code, role, who in ((tags.algorithm_code, "122", "22"), (tags.trader_code, "12", "24")):
        if code:
            group += [(448, code), (447, "P"), (452, role), (2376, who)]
    return ((453, str(len(group) // 4)), *group) if group else ()


@lru_cache(maxsize=16)
def _constant(tags: OrderTags) -> tuple[Fields, tuple[int, str], Fields]:
    """Return what every order has alike: the parties, how it is handled, and its last fields."""
    algorithmic = ((2593, "1"), (2594, "4"), (2595, "Y")) if tags.algorithm_code else ()
    last = (
        (528, tags.order_capacity),
        (1724, tags.origination),
        *algorithmic,
        *((one.tag, one.value) for one in tags.extra),
    )
    return _parties(tags), (21, tags.handling), last


def _checked(fields: Sequence[tuple[int, str]]) -> Fields:
    """Return the fields without empty ones; reject text that could break out of its field."""
    kept = tuple((tag, value) for tag, value in fields if value)
    if _ASCII.fullmatch("".join([value for _, value in kept])):
        return kept
    for tag, value in kept:
        if not _ASCII.fullmatch(value):
            raise MessageError(problem=f"tag {tag} would carry other than printable ASCII")
    return kept
