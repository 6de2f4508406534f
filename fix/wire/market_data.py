"""Requests for market data (35=V), and their answers (W, X, Y, j, 3) as typed values. Pure.

Not here: the book that the entries make (`fix.feed.book`), which request is asked when.

Source: FIX 4.2 and 4.4 volume 3, MarketDataRequest (V) to MarketDataRequestReject (Y); FIX 5.0 SP2
volume 3.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from fix.dialects.market_data import Updates
from fix.errors import ReportError
from fix.wire.fields import MSG_TYPE, read_message
from fix.wire.messages import Fields

REQUEST: Final = "V"
SNAPSHOT: Final = "W"
INCREMENTAL: Final = "X"
REJECT: Final = "Y"
BID, OFFER, TRADE, EMPTY_BOOK = "0", "1", "2", "J"
NEW, CHANGE, DELETE = "0", "1", "2"
REASONS: Final[Mapping[str, str]] = {
    "0": "unknown symbol",
    "1": "duplicate MDReqID",
    "2": "insufficient bandwidth",
    "3": "insufficient permissions",
    "4": "unsupported subscription type",
    "5": "unsupported market depth",
    "6": "unsupported update type",
    "7": "unsupported aggregated book",
    "8": "unsupported entry type",
    "9": "unsupported trading session",
    "A": "unsupported scope",
    "B": "unsupported open-close-settle flag",
    "C": "unsupported implicit delete",
    "D": "insufficient credit",
}
"""MDReqRejReason (281)."""
_SUBSCRIBE, _UNSUBSCRIBE = "1", "2"
_ENTRIES = 268
_ENTRY_FIELDS: Final = frozenset({269, 279})
_SENT, _FIRST_SENT, _POSS_DUP = 52, 122, 43
_DAY_US: Final = 86_400_000_000
_STAMP: Final = re.compile(r"(\d{8})-(\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z?")
_TIME: Final = re.compile(r"(\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z?")
_SIZE: Final = re.compile(r"[0-9]{1,15}(\.[0-9]{0,15})?|\.[0-9]{1,15}")
_TRADEABLE: Final = ("1", "4")
"""MDQuoteType (1070): tradeable; indicative and tradeable."""
_PRICE: Final = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?|-?\.[0-9]{1,15}")


@dataclass(frozen=True, slots=True, kw_only=True)
class BookEntry:
    """One entry of a book; prices are decimal text.

    Attributes:
        action: NEW, CHANGE or DELETE; NEW in a snapshot.
        kind: BID, OFFER, TRADE, or another MDEntryType (269); "" where a change names none.
        entry_id: MDEntryID (278), and `ref_id` the one that it replaces (280); "" without.
        place: MDPriceLevel (1023) or MDEntryPositionNo (290); "" without.
        size: MDEntrySize (271); "" without.
        currency: Currency (15); "" without.
        conditions: QuoteCondition (276), apart by spaces; None without.
        indicative: MDQuoteType (1070) says that nobody trades at it.
        event_us: MDEntryDate and MDEntryTime (272, 273); None without a time.
    """

    action: str
    kind: str
    entry_id: str = ""
    ref_id: str = ""
    place: str = ""
    symbol: str = ""
    price: str = ""
    size: str = ""
    currency: str = ""
    conditions: str | None = None
    indicative: bool = False
    event_us: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BookMessage:
    """A snapshot (W) or changes (X) of books; `symbol` is the message's own, "" without."""

    whole: bool
    request_id: str
    symbol: str
    sent_us: int
    entries: tuple[BookEntry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRefused:
    """A request was refused: by Y with its `request_id`, or as a message (j, 3) by its number."""

    request_id: str
    number: int
    reason: str


def request(
    request_id: str, symbol: str, updates: Updates, *, before_44: bool, ends: bool = False
) -> Fields:
    """Return the MarketDataRequest for the top of one book, or the one that `ends` it."""
    incremental = updates is Updates.INCREMENTAL
    return (
        (MSG_TYPE, REQUEST),
        (262, request_id),
        (263, _UNSUBSCRIBE if ends else _SUBSCRIBE),
        (264, "1"),
        (265, "1" if incremental else "0"),
        *(((266, "Y"),) if before_44 else ()),
        (267, "3"),
        *((269, kind) for kind in (BID, OFFER, TRADE)),
        (146, "1"),
        (55, symbol),
    )


def read_answer(raw: str) -> BookMessage | RequestRefused | None:
    """Return what a message says about market data; None for another type.

    Raises:
        MessageError: it is not a FIX message.
        ReportError: it lacks or garbles a field that it needs.
    """
    pairs = read_message(raw)
    first = dict(reversed(pairs))  # of a tag that comes again, the first
    msg_type = first[MSG_TYPE]
    if msg_type in {SNAPSHOT, INCREMENTAL}:
        return _book(msg_type, pairs, first)
    if msg_type == REJECT:
        code = first.get(281, "")
        said = " ".join(word for word in (REASONS.get(code, ""), first.get(58, "")) if word)
        reason = f"281={code or 'missing'}{f': {said}' if said else ''}"
        return RequestRefused(request_id=first.get(262, ""), number=0, reason=reason)
    if msg_type in {"j", "3"}:
        code = f"380={first.get(380, '?')}" if msg_type == "j" else f"373={first.get(373, '?')}"
        number = first.get(45, "")
        return RequestRefused(
            request_id=first.get(379, ""),
            number=int(number) if number.isdecimal() and len(number) <= 9 else 0,  # noqa: PLR2004
            reason=f"35={msg_type} {code} {first.get(58, '')}".rstrip(),
        )
    return None


def _book(msg_type: str, pairs: list[tuple[int, str]], first: Mapping[int, str]) -> BookMessage:
    resent = first.get(_POSS_DUP) == "Y"
    sent = first.get(_FIRST_SENT if resent else _SENT, first.get(_SENT, ""))
    sent_us = _stamp_us(sent)
    if sent_us is None:
        raise ReportError(msg_type=msg_type, problem=f"SendingTime {sent[:30]!r} is no time")
    whole = msg_type == SNAPSHOT
    inside = {tag for group in _groups(pairs) for tag in group}
    return BookMessage(
        whole=whole,
        request_id=first.get(262, ""),
        symbol="" if 55 in inside else first.get(55, ""),  # noqa: PLR2004
        sent_us=sent_us,
        entries=tuple(_entry(group, msg_type, sent_us) for group in _groups(pairs)),
    )


def _groups(pairs: list[tuple[int, str]]) -> Iterator[dict[int, str]]:
    """Yield the fields of each entry, which begin with the field after NoMDEntries (268)."""
    start = next((n for n, (tag, _) in enumerate(pairs) if tag == _ENTRIES), None)
    if start is None or pairs[start + 1][0] not in _ENTRY_FIELDS:
        return
    begins, group = pairs[start + 1][0], dict[int, str]()
    for tag, value in pairs[start + 1 :]:
        if tag == begins and group:
            yield group
            group = {}
        group.setdefault(tag, value)
    yield group


def _entry(group: Mapping[int, str], msg_type: str, sent_us: int) -> BookEntry:
    price = group.get(270, "")
    if price and not _PRICE.fullmatch(price):
        raise ReportError(msg_type=msg_type, problem=f"MDEntryPx {price[:30]!r} is no price")
    size = group.get(271, "")
    if size and not _SIZE.fullmatch(size):
        raise ReportError(msg_type=msg_type, problem=f"MDEntrySize {size[:30]!r} is no quantity")
    action = NEW if msg_type == SNAPSHOT else group.get(279, "")
    if action not in {NEW, CHANGE, DELETE}:
        raise ReportError(msg_type=msg_type, problem=f"MDUpdateAction {action[:9]!r} is unknown")
    return BookEntry(
        action=action,
        kind=group.get(269, ""),
        entry_id=group.get(278, ""),
        ref_id=group.get(280, ""),
        place=group.get(1023, group.get(290, "")),
        symbol=group.get(55, ""),
        price=price,
        size=size,
        currency=group.get(15, ""),
        conditions=group.get(276),
        indicative=group.get(1070, _TRADEABLE[0]) not in _TRADEABLE,
        event_us=_entry_us(group.get(272, ""), group.get(273, ""), sent_us),
    )


def _entry_us(date: str, time: str, sent_us: int) -> int | None:
    """Return an entry's time; without a date it is the last such time that is not in the future."""
    if not _TIME.fullmatch(time):
        return None
    if date:
        return _stamp_us(f"{date}-{time}")
    sent = datetime.fromtimestamp(sent_us / 1_000_000, tz=UTC)
    found = _stamp_us(f"{sent:%Y%m%d}-{time}")
    ahead_us = 0 if found is None else found - sent_us
    return found if found is None or ahead_us < _DAY_US // 2 else found - _DAY_US


def _stamp_us(text: str) -> int | None:
    """Return a UTCTimestamp in microseconds since the epoch, cut to them; None if it is none."""
    found = _STAMP.fullmatch(text)
    if found is None:
        return None
    try:
        whole = datetime.strptime(f"{found[1]}-{found[2]}", "%Y%m%d-%H:%M:%S").replace(tzinfo=UTC)
    except ValueError:
        return None
    return int(whole.timestamp()) * 1_000_000 + int(f"{found[3] or '0':0<6}"[:6])
