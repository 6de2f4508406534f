"""Names of persons as text: one form to keep them in, and whether words mention one. Pure.

Source: Unicode 15 section 3.13, D145 (canonical caseless match).
"""

import re
import unicodedata

PART_CHARS_MIN = 4
"""A name of so many characters is looked for within words too: who knows what was put around it."""
WORD_CHARS_MIN = 3
"""A shorter one is none that could be told from other words."""


def plain_name(name: str) -> str:
    """Return a name as it is kept."""
    return unicodedata.normalize("NFC", name).strip()


def folded(text: str) -> str:
    """Return a text so that all that match it canonically, in any case, are equal."""
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", text).casefold())


def is_named(name: str, words: str) -> bool:
    """Say whether words mention a name.

    Args:
        name: as it is kept.
        words: folded.
    """
    sought = folded(name)
    if sought not in words or len(name) < WORD_CHARS_MIN:
        return False
    if len(name) >= PART_CHARS_MIN:
        return True
    return re.search(rf"(?<!\w){re.escape(sought)}(?!\w)", words) is not None
