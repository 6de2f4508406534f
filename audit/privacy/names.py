"""Names of persons as text: the form to keep them in, and whether a text mentions one. Pure.

Text is pasted from anywhere, so mentions are compared in a form without typography: width,
ligatures, case, blanks, commas, dashes, apostrophes and invisible characters. A name's words match
in their order, rotated too: "Byron, Ada". One word of several, such as a surname, is no mention,
because other people have it too.

Source: Unicode 15 section 3.13, D145 and D146 (canonical and compatibility caseless match), and
the property Default_Ignorable_Code_Point.
"""

import re
import unicodedata
from dataclasses import dataclass

PART_CHARS_MIN = 4
"""A name of at least this length is also searched for within words."""
WORD_CHARS_MIN = 3
"""A shorter name cannot be told from other words."""
DIGITS_MIN = 6
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
"""Invisible characters."""
_DASH = re.compile("[\\-\u058a\u05be\u2010-\u2015\u2043\u2212\ufe58\ufe63\uff0d]")
_APOSTROPHE = re.compile("['`\u00b4\u02b9\u02bb-\u02bf\u02c8\u2018-\u201b\u2032\u055a\ua78c\uff07]")
_BETWEEN = re.compile(r"[\s,]+")


def plain_name(name: str) -> str:
    """Return a name in the form to keep it in."""
    return unicodedata.normalize("NFC", name).strip()


def likened(text: str) -> str:
    """Return a text without typography, so that texts that read alike are equal."""
    shown = _APOSTROPHE.sub("'", _DASH.sub("-", _UNSEEN.sub("", text)))
    cased = unicodedata.normalize("NFKD", unicodedata.normalize("NFD", shown).casefold())
    same = unicodedata.normalize("NFKD", cased.casefold())
    return _BETWEEN.sub(" ", _UNSEEN.sub("", same)).strip()


def orders_of(name: str) -> list[list[str]]:
    """Return the rotations of a name's words."""
    words = [word for word in _BETWEEN.split(name) if word]
    return [words[n:] + words[:n] for n in range(len(words))]


def is_caseless(name: str) -> bool:
    """Return whether a name's script has no case; such scripts may not separate words by blanks."""
    return name.lower() == name.upper() and sum(map(str.isalpha, name)) > 1


def is_telling(name: str) -> bool:
    """Return whether a name can be told from other people's words and numbers."""
    letters, digits = (sum(map(kind, name)) for kind in (str.isalpha, str.isdecimal))
    return letters >= WORD_CHARS_MIN or digits >= DIGITS_MIN or is_caseless(name)


@dataclass(frozen=True, slots=True)
class Mention:
    """A name to search for, likened, in each order of its words; perhaps also within words."""

    texts: tuple[str, ...]
    within_words: bool

    def is_in(self, words: str) -> bool:
        """Return whether a likened text mentions the name."""
        return any(
            text in words and (self.within_words or _stands_alone(text, words))
            for text in self.texts
        )


def mention_of(name: str, *, within_words: bool | None = None) -> Mention | None:
    """Return a name's `Mention`, None if it is too short to be told from other words.

    `within_words` None: True for a name of at least `PART_CHARS_MIN` characters.
    """
    whole = likened(name)
    length = min(len(name), len(unicodedata.normalize("NFC", whole)))
    texts = tuple(dict.fromkeys(" ".join(words) for words in orders_of(whole)))
    if not texts or (length < WORD_CHARS_MIN and not within_words):
        return None
    return Mention(texts, length >= PART_CHARS_MIN if within_words is None else within_words)


def _stands_alone(sought: str, words: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(sought)}(?!\w)", words) is not None
