"""The broker's own fill file: CSV with a header, or a FIX log with ExecutionReports (35=8)."""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from audit.verifier.parts.report import Bad
from audit.verifier.parts.trust.wire import exec_type_of, wire_fields

SCALE = 18
"""Decimals that a number of a broker's file may have; amounts are integers of 10**-18."""
_NUMBER = re.compile(r"(-?)([0-9]{1,18})(?:\.([0-9]{1,18}))?", re.ASCII)
_NEXT_MESSAGE = re.compile(r"(?<=[\x01|]10=[0-9]{3}[\x01|])(?=8=FIX)")
_DAY = re.compile(r"[12][0-9]{7}", re.ASCII)
_COLUMNS = {  # our name: the FIX name that a header may have instead
    "cl_ord_id": "clordid",
    "exec_id": "execid",
    "instrument": "symbol",
    "side": "side",
    "quantity": "lastqty",
    "price": "lastpx",
    "account": "account",
    "time": "transacttime",
    "exec_type": "exectype",
    "exec_ref_id": "execrefid",
    "orig_cl_ord_id": "origclordid",
    "fee": "commission",
    "currency": "currency",
}
_NEEDED = ("cl_ord_id", "exec_id", "instrument", "side", "quantity", "price")
_TAGS = {  # of an ExecutionReport, FIX 4.2 to 5.0
    "cl_ord_id": 11,
    "exec_id": 17,
    "instrument": 55,
    "side": 54,
    "quantity": 32,
    "price": 31,
    "account": 1,
    "time": 60,
    "exec_type": 150,
    "exec_ref_id": 19,
    "orig_cl_ord_id": 41,
    "fee": 12,
    "currency": 15,
}
_SIDES = {"1": "BUY", "B": "BUY", "BUY": "BUY", "2": "SELL", "S": "SELL", "SELL": "SELL"}
_SIDES |= {"5": "SELL", "6": "SELL"}  # sell short, sell short exempt
TRADE, BUST, CORRECTION, OTHER = "trade", "bust", "correction", ""
_TYPES = {"": TRADE, "F": TRADE, "1": TRADE, "2": TRADE, "TRADE": TRADE}
_TYPES |= {"H": BUST, "BUST": BUST, "CANCEL": BUST, "G": CORRECTION, "CORRECT": CORRECTION}


class BrokerFill(NamedTuple):
    """One trade as the broker tells it; amounts are integers of 10**-18, day is YYYYMMDD or ""."""

    line: int
    cl_ord_id: str
    orig_cl_ord_id: str
    exec_id: str
    exec_ref_id: str
    event: str
    instrument: str
    side: str
    quantity: int
    price: int
    account: str
    day: str
    time: str
    fee: int | None
    currency: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerFile:
    """What brokers' files tell, and which trades of the ledger they must have.

    Attributes:
        names: of the files, for people.
        fills: trades that stand, after busts and corrections, each with its names (ExecIDs).
        first_day: YYYYMMDD from which on every trade of the ledger must be in it; "" is every day.
        last_day: YYYYMMDD up to which, inclusive.
        accounts: the only accounts whose trades must be in it; empty means all.
    """

    names: Sequence[str] = ()
    fills: Sequence[tuple[BrokerFill, Sequence[str]]] = ()
    first_day: str = ""
    last_day: str = ""
    accounts: Sequence[str] = ()

    def covers(self, day: str, account: str) -> bool:
        """Return whether a trade of this day and account must be in the file."""
        inside = (not self.first_day or self.first_day <= day) and (
            not self.last_day or day <= self.last_day
        )
        return inside and (not self.accounts or account in self.accounts)


@dataclass(slots=True)
class _Net:
    """The trades of files that stand after busts and corrections."""

    fills: dict[tuple[str, ...], tuple[BrokerFill, list[str]]] = field(default_factory=dict)
    seen: dict[tuple[str, ...], list[BrokerFill]] = field(default_factory=dict)
    alias: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)

    def take(self, name: str, fill: BrokerFill, *, again: bool) -> None:
        """Take one line; a FIX log may have the same report `again`.

        A broker that gives two trades one ExecID has traded twice.
        """
        where = f"{name} line {fill.line}"
        key = (fill.orig_cl_ord_id or fill.cl_ord_id, fill.exec_id)
        before = self.seen.setdefault((*key, fill.event), [])
        same = [
            one for one in before if one._replace(line=0, time="") == fill._replace(line=0, time="")
        ]
        if again and same:
            return
        if same or (before and fill.event != TRADE):
            raise Bad(f"{where}: ExecID {fill.exec_id} of line {before[0].line} again")
        before.append(fill)
        if fill.event == TRADE:
            place = key if len(before) == 1 else (*key, str(len(before)))
            self.fills[place] = (fill, [fill.exec_id])
            self.alias.setdefault(key, key)
            return
        first = self.alias.get((key[0], fill.exec_ref_id), (key[0], fill.exec_ref_id))
        if fill.event == CORRECTION:
            names = [*self.fills.get(first, (fill, [fill.exec_ref_id]))[1], fill.exec_id]
            self.fills[first] = (fill, names)
            self.alias[key] = first
        else:  # a trade of an earlier file may be busted in this one
            self.fills.pop(first, None)


def read_broker_files(
    files: Sequence[tuple[str, bytes]],
    first_day: str = "",
    last_day: str = "",
    accounts: Sequence[str] = (),
) -> BrokerFile:
    """Return what files (name and content) tell; Bad names the line that cannot be read.

    Without days given, they are those of the first and the last message or line with a time.
    """
    net, days = _Net(), set[str]()
    for name, data in files:
        is_log = b"8=FIX" in data
        for day, fill in _fix_lines(name, data) if is_log else _csv_lines(name, data):
            days |= {day} - {""}
            if fill is not None:
                net.take(name, fill, again=is_log)
    for given in (first_day, last_day):
        if given and not _DAY.fullmatch(given):
            raise Bad(f"{given} is not a day: write YYYYMMDD")
    if not net.fills and not days and not (first_day and last_day):
        raise Bad("the broker's file has no fill and no day: name the days that it covers")
    return BrokerFile(
        names=[name for name, _ in files],
        fills=list(net.fills.values()),
        first_day=first_day or min(days, default=""),
        last_day=last_day or max(days, default=""),
        accounts=accounts,
    )


def _csv_lines(name: str, data: bytes) -> Iterator[tuple[str, BrokerFill | None]]:
    try:
        text = data.decode("utf-8-sig")
    except ValueError as error:
        raise Bad(f"{name} is not UTF-8") from error
    first = text.partition("\n")[0]
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=";" if ";" in first else ",")
    try:
        header = [_column(cell) for cell in next(rows, [])]
        missing = [column for column in _NEEDED if column not in header]
        if missing or len({c for c in header if c}) < len([c for c in header if c]):
            raise Bad(
                f"{name} line 1: the header lacks {', '.join(missing)}"
                if missing
                else f"{name} line 1: a column stands twice in the header"
            )
        for row in rows:
            if not row:
                continue
            if len(row) != len(header):
                raise Bad(f"{name} line {rows.line_num}: {len(row)} cells, not {len(header)}")
            cells = {c: cell.strip() for c, cell in zip(header, row, strict=True) if c}
            fill = _fill_of(f"{name} line {rows.line_num}", rows.line_num, cells)
            yield fill.day, fill if fill.event else None
    except csv.Error as error:
        raise Bad(f"{name} line {rows.line_num}: {error}") from error


def _column(cell: str) -> str:
    """Return our name of a header's cell, or "" for a column that nobody reads."""
    plain = re.sub(r"[^a-z]", "", cell.lower())
    found = (ours for ours, fix in _COLUMNS.items() if plain in {ours.replace("_", ""), fix})
    return next(found, "")


def _fix_lines(name: str, data: bytes) -> Iterator[tuple[str, BrokerFill | None]]:
    for number, line in enumerate(data.decode("latin-1").replace("^A", "\x01").split("\n"), 1):
        for text in _NEXT_MESSAGE.split(line):
            fields = _fields_of(text)
            day = _day(fields.get("52", ""))
            event = exec_type_of(fields) or "-"
            if fields.get("35") != "8" or event not in _TYPES:
                yield day, None
                continue
            cells = {column: fields.get(str(tag), "") for column, tag in _TAGS.items()}
            fill = _fill_of(f"{name} line {number}", number, {**cells, "exec_type": event})
            yield day, fill
            if fields.get("43") != "Y":  # a report sent again may be of any day
                yield fill.day, None


def _fields_of(text: str) -> dict[str, str]:
    """Return a FIX message's fields; some logs write | for the delimiter."""
    start = text.find("8=FIX")
    return (
        wire_fields(text[start:].strip(), "\x01" if "\x01" in text else "|") if start >= 0 else {}
    )


def _fill_of(where: str, line: int, cells: Mapping[str, str]) -> BrokerFill:
    """Return one line's fill; a line of another type has the event OTHER."""
    event = _TYPES.get(cells.get("exec_type", "").upper(), OTHER)
    side = _SIDES.get(cells["side"].upper())
    if event and side is None:
        raise Bad(f"{where}: side {cells['side']!r} is neither BUY nor SELL")
    for column in ("exec_id", "instrument") if event else ():
        if not cells[column]:
            raise Bad(f"{where}: {column} is empty")
    if event in {BUST, CORRECTION} and not cells.get("exec_ref_id"):
        raise Bad(f"{where}: a {event} without exec_ref_id, the ExecID of its trade")
    quantity = _number(where, "quantity", cells["quantity"] or "0")
    if event in {TRADE, CORRECTION} and quantity <= 0:
        raise Bad(f"{where}: the quantity of a trade must be positive")
    fee = cells.get("fee", "")
    return BrokerFill(
        line=line,
        cl_ord_id=cells["cl_ord_id"],
        orig_cl_ord_id=cells.get("orig_cl_ord_id", ""),
        exec_id=cells["exec_id"],
        exec_ref_id=cells.get("exec_ref_id", ""),
        event=event,
        instrument=cells["instrument"],
        side=side or "",
        quantity=quantity,
        price=_number(where, "price", cells["price"] or "0"),
        account=cells.get("account", ""),
        day=_day(cells.get("time", "")),
        time=cells.get("time", ""),
        fee=_number(where, "fee", fee) if fee else None,
        currency=cells.get("currency", ""),
    )


def _day(text: str) -> str:
    """Return the day of a FIX or ISO time as YYYYMMDD, or "" if there is none."""
    found = _DAY.match(re.sub(r"[^0-9]", "", text[:10]))
    return found.group() if found else ""


def units_of(text: str) -> int | None:
    """Return decimal text as an integer of 10**-18, or None if it is none."""
    found = _NUMBER.fullmatch(text)
    if found is None:
        return None
    sign, whole, part = found.groups()
    return int(f"{sign}{whole}{(part or '').ljust(SCALE, '0')}")


def _number(where: str, column: str, text: str) -> int:
    value = units_of(text)
    if value is None:
        raise Bad(f"{where}: {column} {text[:24]!r} is not a decimal number")
    return value


def decimal_of(units: int, digits: int = SCALE) -> str:
    """Return an integer of 10**-digits as decimal text for people."""
    whole, part = divmod(abs(units), 10**digits)
    sign, fraction = "-" if units < 0 else "", f"{part:0{digits}d}".rstrip("0")
    return f"{sign}{whole}.{fraction}" if fraction else f"{sign}{whole}"


def moment_of(time: str) -> str:
    """Return a FIX or ISO time in the form of `stamp`, or "" if it names no second."""
    at = re.sub(r"[^0-9]", "", time)[:14]
    if len(at) < 14:  # noqa: PLR2004 - YYYYMMDDHHMMSS
        return ""
    return f"{at[:4]}-{at[4:6]}-{at[6:8]}T{at[8:10]}:{at[10:12]}:{at[12:]}Z"
