"""The fields of a table of instruments: what each may hold, and what to write instead.

A reader takes a value as TOML has it (text, whole number, decimal) and returns it checked, or
raises `ValueError` with what is wrong and what to write. Not here: where a value stands.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from gateway.errors import IntakeError
from gateway.feeds.instruments.codes import (
    figi_digit,
    is_currency,
    is_figi_form,
    is_isin_form,
    isin_digit,
    said_part,
)
from gateway.feeds.text import refuse_hidden_text
from inference.snapshot import AssetClass
from risk.intent import SYMBOL

WHOLE_MAX: Final = 1_000_000_000
TEXT_MAX: Final = 100
BP_MAX: Final = 100_000
_SHOWN: Final = 60
_PLACES_MAX: Final = 9
_DECIMAL: Final = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")

Reader = Callable[[object], object]


@dataclass(frozen=True, slots=True)
class TableField:
    """One field: its reader, whether every instrument has it, and what it holds."""

    read: Reader
    required: bool
    holds: str
    whole: bool = False


def shown(value: object) -> str:
    """Return a value for an error message, shortened and without invisible characters."""
    return ascii(str(value))[:_SHOWN]


def _text(pattern: str, holds: str) -> Reader:
    form = re.compile(pattern)

    def read(value: object) -> str:
        if type(value) is not str or form.fullmatch(value) is None:
            raise ValueError(f"{shown(value)} is not {holds}")
        return value

    return read


def _whole(minimum: int, maximum: int = WHOLE_MAX) -> Reader:
    def read(value: object) -> int:
        if type(value) is not int or not minimum <= value <= maximum:
            raise ValueError(
                f"{shown(value)} is not a whole number from {minimum} to {maximum}; write it"
                " without quotes, point or separators"
            )
        return value

    return read


def _price(value: object) -> str:
    """Return a price or tick as decimal text without trailing zeros."""
    text = value if type(value) is str else _plain(value)
    if _DECIMAL.fullmatch(text) is None or not Decimal(text):
        raise ValueError(
            f"{shown(value)} is not a price above zero in units of the currency; write one with at"
            ' most nine decimals, such as "0.01"'
        )
    return f"{Decimal(text).normalize():f}"


def _plain(value: object) -> str:
    """Return a TOML number without an exponent, or an empty text."""
    if type(value) is int and 0 < value <= WHOLE_MAX:
        return str(value)
    if isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) <= _PLACES_MAX:
        return f"{value:f}"
    return ""


def _isin(value: object) -> str:
    if type(value) is not str or not is_isin_form(value):
        raise ValueError(
            f"{shown(value)} is not an ISIN; write two letters, nine letters or digits and a check"
            ' digit, such as "US0378331005"'
        )
    return _digit_checked(value, isin_digit(value), "ISIN")


def _figi(value: object) -> str:
    if type(value) is not str or not is_figi_form(value):
        raise ValueError(
            f"{shown(value)} is not a FIGI; write twelve characters with G as the third and no"
            ' vowels, such as "BBG000B9XRY4"'
        )
    return _digit_checked(value, figi_digit(value), "FIGI")


def _digit_checked(value: str, digit: str, sort: str) -> str:
    if value[-1] != digit:
        raise ValueError(
            f"the check digit of {value} would be {digit}: one character is wrong; copy the {sort}"
            " from its source again"
        )
    return value


def _currency(value: object) -> str:
    if type(value) is not str or not is_currency(value):
        part = said_part(value) if type(value) is str else ""
        advice = part or 'write three capitals, such as "USD"'
        raise ValueError(f"{shown(value)} is not a currency of ISO 4217; {advice}")
    return value


def _asset_class(value: object) -> str:
    if value not in tuple(AssetClass):
        raise ValueError(f"{shown(value)} is not an asset class; write {', '.join(AssetClass)}")
    return str(value)


def _issuer(value: object) -> str:
    if type(value) is not str or not 0 < len(value) <= TEXT_MAX or value != value.strip():
        raise ValueError(
            f"{shown(value)} is not a name; write 1 to {TEXT_MAX} characters without spaces at the"
            " ends"
        )
    try:
        refuse_hidden_text(value, where="issuer")
    except IntakeError as error:
        raise ValueError(f"{error.problem}; write the name without it") from None
    return value


_SYMBOL: Final = _text(
    SYMBOL,
    'a symbol; write letters, digits, ".", "_" and "-", as the policy and the broker have it',
)
_MIC: Final = _text(
    r"[A-Z0-9]{4}",
    'a market identifier of ISO 10383; write four capitals or digits, such as "XNYS"',
)
_GROUP: Final = _text(
    r"[a-z0-9]+(-[a-z0-9]+){0,7}",
    'a group; write small letters and digits joined by "-", such as "north-america"',
)
_CALENDAR: Final = _text(
    r"[A-Za-z0-9][A-Za-z0-9_/.-]{0,31}", 'a calendar\'s name; write one such as "XNYS" or "24/7"'
)

FIELDS: Final[dict[str, TableField]] = {
    "symbol": TableField(
        _SYMBOL, required=True, holds="name, as the policy and the broker have it"
    ),
    "asset_class": TableField(_asset_class, required=True, holds=", ".join(AssetClass)),
    "currency": TableField(_currency, required=True, holds="ISO 4217, such as USD"),
    "tick": TableField(_price, required=True, holds="smallest price step, such as 0.01"),
    "lot": TableField(_whole(1), required=True, holds="units per lot", whole=True),
    "multiplier": TableField(_whole(1), required=True, holds="contract multiplier", whole=True),
    "min_qty": TableField(
        _whole(1), required=True, holds="smallest order and quantity step, in lots", whole=True
    ),
    "max_qty": TableField(_whole(1), required=True, holds="largest order, in lots", whole=True),
    "calendar": TableField(_CALENDAR, required=True, holds="trading calendar, such as XNYS"),
    "isin": TableField(_isin, required=False, holds="ISO 6166, with its check digit"),
    "figi": TableField(_figi, required=False, holds="FIGI, with its check digit"),
    "mic": TableField(_MIC, required=False, holds="venue, ISO 10383, such as XNYS"),
    "sector": TableField(_GROUP, required=False, holds="group of a limit, such as health-care"),
    "region": TableField(_GROUP, required=False, holds="group of a limit, such as europe"),
    "issuer": TableField(_issuer, required=False, holds="who issued it"),
    "margin_bp": TableField(
        _whole(0, BP_MAX), required=False, holds="initial margin, basis points", whole=True
    ),
    "adv_lots": TableField(
        _whole(0), required=False, holds="average daily volume, lots", whole=True
    ),
    "borrow_bp": TableField(
        _whole(0, BP_MAX), required=False, holds="yearly borrow fee, basis points", whole=True
    ),
    "locate_lots": TableField(
        _whole(0), required=False, holds="lots located to be sold short", whole=True
    ),
    "reference_price": TableField(
        _price, required=False, holds="price that a draft policy scales limits by, such as 268.35"
    ),
}
