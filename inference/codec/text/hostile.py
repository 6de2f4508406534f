"""Headlines as quoted data: what of a headline may stand in a prompt.

Text from outside is hostile until shown otherwise. A headline keeps letters, digits and a few
marks, so it cannot close its quotation, begin a role, a markup, a JSON value or a control token; it
is cut to a fixed length; and where the tokenizer still finds a control token in it, it is withheld.

Not here: where news comes from, and which items are quarantined before a snapshot is taken.
"""

import unicodedata
from collections.abc import Callable
from typing import Final

MAX_CHARACTERS: Final = 120
"""Longest headline in a prompt."""
OPEN: Final = "<<<"
CLOSE: Final = ">>>"
WITHHELD: Final = "withheld"
"""Stands for a headline with nothing left, or with a control token."""
_MARKS: Final = frozenset(" .,%'()+-&$")


def quoted(headline: str, holds_control: Callable[[str], bool]) -> str:
    """Return a headline between its marks; `holds_control` finds the tokenizer's control tokens."""
    text = cleaned(headline)
    if not text or holds_control(headline) or holds_control(text):
        text = WITHHELD
    return f"{OPEN}{text}{CLOSE}"


def cleaned(headline: str) -> str:
    """Return the letters, digits and marks of a headline, cut to its longest length.

    Every other character becomes a space, and spaces in a row become one.
    """
    plain = unicodedata.normalize("NFKC", headline[: 8 * MAX_CHARACTERS])
    kept = "".join(one if one.isalnum() or one in _MARKS else " " for one in plain)
    return " ".join(kept.split())[:MAX_CHARACTERS].rstrip()
