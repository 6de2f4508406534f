"""What an adjustment of a book does follows from the terms that both officers signed.

Amounts, prices and quantities of the terms are text; the units of the instrument and the decimals
of the money are those on record. A split of which no first day was signed begins at its time.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from audit.verifier.parts.canonical import text_of
from audit.verifier.parts.contents.statements.governing import signed_roles
from audit.verifier.parts.contents.statements.seen import (
    Earlier,
    VerifiedRecord,
    is_given,
    list_of,
    mapping_of,
    same,
)
from audit.verifier.parts.contents.statements.verdicts import Findings
from audit.verifier.parts.trust.brokerfile import SCALE, units_of
from audit.verifier.parts.trust.officers import OFFICERS

_SIGNED_WORDS = ("ref", "sort", "instrument", "reference", "reason", "evidence")
_NOTHING: Mapping[str, Any] = {
    "lots": {},
    "amount_minor": 0,
    "fill": None,
    "split": None,
    "positions": [],
    "effective_us": None,
    "marks": None,
    "mark_ticks": None,
    "trade": None,
}
"""What moves a book, in an adjustment that moves nothing."""
_RATIO = re.compile(r"([1-9][0-9]{0,3}):([1-9][0-9]{0,3})", re.ASCII)
_FIRST_LAST = re.compile(r"([1-9][0-9]{0,15})-([1-9][0-9]{0,15})", re.ASCII)
_FIRST_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_MINUTE_US = 60_000_000
"""A split without a first day begins when it is judged, which is just before it is recorded."""


def judge_adjustment(seen: Earlier, said: VerifiedRecord) -> Findings:
    """Yield what an adjustment has or does that its terms do not say."""
    body, terms = said.body, mapping_of(said.body.get("terms"))
    if len(signed_roles(body)) < len(OFFICERS):
        yield "it has not both officers' signatures"
    other = [name for name in _SIGNED_WORDS if not same(terms.get(name, ""), body.get(name, ""))]
    if is_given(terms.get("account")) and not same(terms["account"], body.get("account")):
        other.append("account")
    if other:
        yield f"it has another {', '.join(other)} than was signed"
    if terms.get("sort") != "split" and not is_given(terms.get("account")):
        yield "its terms name no account"
    symbol, digits = terms.get("instrument"), seen.profile.get("minor_digits")
    if not seen.whole and (digits is None or (is_given(symbol) and not seen.knows(symbol))):
        return  # a bundle that does not show the units
    wanted = _effect_of(seen, body, terms)
    if wanted is None:
        yield "its terms do not say what it does"
        return
    wanted = {**_NOTHING, **wanted}
    for name, value in wanted.items():
        if not same(body.get(name, _NOTHING[name]), value):
            yield f"its {name} is not what was signed"


def minor_of(seen: Earlier, text: object) -> int | None:
    """Return an amount in text in whole minor units, None if it is none."""
    digits, units = seen.profile.get("minor_digits"), units_of(text_of(text))
    if type(digits) is not int or digits < 0 or units is None:
        return None
    minor, rest = divmod(units * 10**digits, 10**SCALE)
    return None if rest else minor


def _effect_of(
    seen: Earlier, body: Mapping[str, Any], terms: Mapping[str, Any]
) -> Mapping[str, Any] | None:
    """Return what the terms do to the record's account; None if they do not say it."""
    match terms.get("sort"):
        case "fee" | "cash" | "dividend" as sort:
            amount = minor_of(seen, terms.get("amount"))
            if amount is None:
                return None
            return {"amount_minor": -amount if sort == "fee" else amount}
        case "opening":
            return _opened(seen, terms)
        case "trade" | "give_up":
            return _traded_beside(seen, terms)
        case "split":
            return _split_of(seen, body, terms)
        case "mark":
            return _marked_anew(seen, terms)
        case _:
            return None


def _whole_of(total: int | None, unit: object) -> int | None:
    """Return how many units a total is, None if it is not whole."""
    if total is None or type(unit) is not int or unit <= 0 or total % unit:
        return None
    return total // unit


def _line_of(seen: Earlier, terms: Mapping[str, Any]) -> tuple[int, int, int] | None:
    """Return the lots, ticks and unit of a line of terms: instrument, quantity and price."""
    one = seen.instrument(terms.get("instrument"))
    quantity = terms.get("quantity")
    lots = _whole_of(quantity if type(quantity) is int else None, one.get("lot"))
    ticks = _whole_of(minor_of(seen, terms.get("price")), one.get("tick_minor"))
    unit = seen.unit_of(terms.get("instrument"))
    return None if lots is None or ticks is None or unit is None else (lots, ticks, unit)


def _opened(seen: Earlier, terms: Mapping[str, Any]) -> Mapping[str, Any] | None:
    cash, positions = minor_of(seen, terms.get("amount")), []
    for line in map(mapping_of, list_of(terms.get("positions"))):
        found = _line_of(seen, line)
        if found is None:
            return None
        symbol, (lots, ticks, unit) = line.get("instrument"), found
        positions.append(
            {"instrument": symbol, "lots": lots, "price_ticks": ticks, "unit_minor": unit}
        )
    if cash is None:
        return None
    held = {text_of(one["instrument"]): one["lots"] for one in positions}
    return {"amount_minor": cash, "positions": positions, "lots": dict(sorted(held.items()))}


def _traded_beside(seen: Earlier, terms: Mapping[str, Any]) -> Mapping[str, Any] | None:
    side, symbol, fee = terms.get("side"), terms.get("instrument"), terms.get("fee")
    fee_minor = minor_of(seen, fee if is_given(fee) else "0")
    found = _line_of(seen, terms)
    if found is None or fee_minor is None or side not in {"BUY", "SELL"}:
        return None
    lots, ticks, unit = found
    fill = {
        "fee_minor": fee_minor,
        "instrument": symbol,
        "price_ticks": ticks,
        "qty_lots": lots,
        "side": side,
        "unit_minor": unit,
    }
    quantity = text_of(terms.get("quantity"))
    trade = {
        "instrument": symbol,
        "price": terms.get("price"),
        "quantity": quantity,
        "side": side,
    }
    moved = {text_of(symbol): lots if side == "BUY" else -lots}
    return {"fill": fill, "trade": trade, "lots": moved}


def _split_of(
    seen: Earlier, body: Mapping[str, Any], terms: Mapping[str, Any]
) -> Mapping[str, Any] | None:
    found = _RATIO.fullmatch(text_of(terms.get("ratio")))
    begins = _day_us(terms, body)
    if found is None or begins is None:
        return None
    new, old = (int(part) for part in found.groups())
    symbol = text_of(terms.get("instrument"))
    held = seen.held.lots(body.get("account"), symbol) if seen.whole else None
    if held is None:
        more = mapping_of(body.get("lots"))
    else:
        more = {symbol: held * new // old - held} if held else {}
    return {"split": [new, old], "effective_us": begins, "lots": more}


def _day_us(terms: Mapping[str, Any], body: Mapping[str, Any]) -> int | None:
    """Return the beginning (UTC) of a split's first day; without one, its own time, if it fits."""
    day = terms.get("effective")
    if is_given(day):
        if not _FIRST_DAY.fullmatch(text_of(day)):
            return None
        try:
            begins = datetime.fromisoformat(text_of(day)).replace(tzinfo=UTC)
        except ValueError:
            return None
        return int(begins.timestamp()) * 1_000_000
    begins_us, now_us = body.get("effective_us"), body.get("market_time_us")
    if type(begins_us) is not int or type(now_us) is not int:
        return None
    return begins_us if 0 <= now_us - begins_us <= _MINUTE_US else now_us


def _marked_anew(seen: Earlier, terms: Mapping[str, Any]) -> Mapping[str, Any] | None:
    found = _FIRST_LAST.fullmatch(text_of(terms.get("marks")))
    if found is None:
        return None
    marks = [int(part) for part in found.groups()]
    if not is_given(terms.get("price")):
        return {"marks": marks}
    unit = seen.instrument(terms.get("instrument")).get("tick_minor")
    ticks = _whole_of(minor_of(seen, terms.get("price")), unit)
    return None if ticks is None else {"marks": marks, "mark_ticks": ticks}
