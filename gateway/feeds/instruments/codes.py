"""ISIN, FIGI, MIC and currency codes: form and check digits.

Not here: whether a code was ever assigned, except for currencies (`pycountry` has ISO 4217).
"""

import re
from collections.abc import Iterable
from typing import Final

import pycountry

from risk.forms.money import minor_digits as minor_digits  # noqa: PLC0414 - looked for beside the codes

_ISIN: Final = re.compile(r"[A-Z]{2}[A-Z0-9]{9}[0-9]")
_FIGI: Final = re.compile(r"[B-DF-HJ-NP-TV-Z]{2}G[B-DF-HJ-NP-TV-Z0-9]{8}[0-9]")
_NOT_FIGI: Final = frozenset({"BS", "BM", "GG", "GB", "GH", "KY", "VG"})
_PARTS: Final = {
    **dict.fromkeys(("GBX", "GBp"), ("GBP", "pence")),
    **dict.fromkeys(("ZAC", "ZAc"), ("ZAR", "cents")),
    **dict.fromkeys(("ILA", "ILX"), ("ILS", "agorot")),
    **dict.fromkeys(("USX", "USc"), ("USD", "cents")),
}
"""Codes of venues and vendors for a hundredth of a currency."""
_NOT_MONEY: Final = frozenset({"XTS", "XXX"})


def is_isin_form(text: str) -> bool:
    """Return whether a text has the form of an ISIN, whatever its check digit."""
    return _ISIN.fullmatch(text) is not None


def isin_digit(text: str) -> str:
    """Return the check digit of an ISIN's first eleven characters.

    Source: ISO 6166, the Luhn sum over the digits, where A is 10 and Z is 35.
    """
    digits = "".join(str(int(one, 36)) for one in text[:11])
    return _luhn(int(one) for one in digits)


def is_figi_form(text: str) -> bool:
    """Return whether a text has the form of a FIGI, whatever its check digit.

    Source: OMG, Financial Instrument Global Identifier 1.1, section 6.1.2.
    """
    return _FIGI.fullmatch(text) is not None and text[:2] not in _NOT_FIGI


def figi_digit(text: str) -> str:
    """Return the check digit of a FIGI's first eleven characters.

    Source: as `is_figi_form`: every second character's value is doubled, the digits are summed.
    """
    values = [int(one, 36) for one in text[:11]]
    total = sum(sum(divmod(2 * value if at % 2 else value, 10)) for at, value in enumerate(values))
    return str(-total % 10)


def is_currency(text: str) -> bool:
    """Return whether ISO 4217 has this alphabetic code for money."""
    found = pycountry.currencies.get(alpha_3=text)
    return text not in _NOT_MONEY and found is not None and found.alpha_3 == text


def said_part(text: str) -> str:
    """Return how to list what is quoted in a part of a currency; "" if a code is none."""
    if text not in _PARTS:
        return ""
    currency, parts = _PARTS[text]
    return (
        f'it is the {parts} of {currency}; write "{currency}", and tick and all prices in'
        f" {currency} (100 {parts} are 1.00); a tick below 0.01 {currency} cannot be listed"
    )


def _luhn(digits: Iterable[int]) -> str:
    total = 0
    for at, digit in enumerate(reversed(list(digits))):
        total += sum(divmod(2 * digit, 10)) if at % 2 == 0 else digit
    return str(-total % 10)
