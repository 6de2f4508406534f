"""ISIN, FIGI, MIC and currency codes: form, check digits and minor units.

Not here: whether a code was ever assigned, except for currencies (`pycountry` has ISO 4217).
"""

import re
from collections.abc import Iterable
from typing import Final

import pycountry

_ISIN: Final = re.compile(r"[A-Z]{2}[A-Z0-9]{9}[0-9]")
_FIGI: Final = re.compile(r"[B-DF-HJ-NP-TV-Z]{2}G[B-DF-HJ-NP-TV-Z0-9]{8}[0-9]")
_NOT_FIGI: Final = frozenset({"BS", "BM", "GG", "GB", "GH", "KY", "VG"})
_NOT_MONEY: Final = frozenset({"XTS", "XXX"})
_NO_DECIMALS: Final = re.compile(
    "BIF|CLP|DJF|GNF|ISK|JPY|KMF|KRW|PYG|RWF|UGX|UYI|VND|VUV|XAF|XOF|XPF"
)
_THREE_DECIMALS: Final = re.compile("BHD|IQD|JOD|KWD|LYD|OMR|TND")
_FOUR_DECIMALS: Final = re.compile("CLF|UYW")


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


def minor_digits(currency: str) -> int:
    """Return the decimals of a currency's minor unit.

    Source: ISO 4217, list one.
    """
    by_digits = ((0, _NO_DECIMALS), (3, _THREE_DECIMALS), (4, _FOUR_DECIMALS))
    return next((digits for digits, codes in by_digits if codes.fullmatch(currency)), 2)


def _luhn(digits: Iterable[int]) -> str:
    total = 0
    for at, digit in enumerate(reversed(list(digits))):
        total += sum(divmod(2 * digit, 10)) if at % 2 == 0 else digit
    return str(-total % 10)
