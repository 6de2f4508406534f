"""Names of persons as text: one form to keep them in, and whether words mention one. Pure.

Source: Unicode 15 section 3.13, D145 (canonical caseless match).
"""

import re
import unicodedata
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Mention:
    """What to look for in words, made once for each name.

    Attributes:
        text: the name, folded.
        within_words: False for a name that must stand as a word.
    """

    text: str
    within_words: bool

    def is_in(self, words: str) -> bool:
        """Say whether words, folded, mention the name."""
        if self.text not in words:
            return False
        return self.within_words or _stands_alone(self.text, words)


def mention_of(name: str) -> Mention | None:
    """Return what to look for to find a name; None if it is too short to be told from words."""
    if len(name) < WORD_CHARS_MIN:
        return None
    return Mention(folded(name), within_words=len(name) >= PART_CHARS_MIN)


def _stands_alone(sought: str, words: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(sought)}(?!\w)", words) is not None
