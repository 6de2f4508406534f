"""Minor units of a currency: the one table of decimals, and money as text. Pure.

Not here: whether a currency exists (`gateway.feeds.instruments.codes`).
"""

import re
from typing import Final

HUNDREDTHS: Final = 2
"""Decimals of money that is written before its book is known, such as a key's scope."""
_BY_DIGITS: Final = (
    (0, re.compile("BIF|CLP|DJF|GNF|ISK|JPY|KMF|KRW|PYG|RWF|UGX|UYI|VND|VUV|XAF|XOF|XPF")),
    (3, re.compile("BHD|IQD|JOD|KWD|LYD|OMR|TND")),
    (4, re.compile("CLF|UYW")),
)


def minor_digits(currency: str) -> int:
    """Return the decimals of a currency's minor unit.

    Source: ISO 4217, list one.
    """
    return next((digits for digits, codes in _BY_DIGITS if codes.fullmatch(currency)), 2)


def money_text(minor: int, digits: int) -> str:
    """Return minor units as decimal text: 1234 with 2 digits is ``12.34``, with none ``1234``."""
    return grouped_money(minor, digits).replace(",", "")


def grouped_money(minor: int, digits: int) -> str:
    """Return minor units for a reader: 123456789 with 2 digits is ``1,234,567.89``."""
    whole, part = divmod(abs(minor), 10**digits)
    text = f"{whole:,}.{part:0{digits}d}" if digits else f"{whole:,}"
    return f"-{text}" if minor < 0 else text


def rescaled(amount: int, digits: int, to: int) -> int:
    """Return an amount of 10**-`digits` as one of 10**-`to`, cut to whole units."""
    scaled: int = amount * 10**to
    return scaled // int(10**digits)
