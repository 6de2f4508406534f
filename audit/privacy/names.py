"""Names of persons as text: the form to keep them in, and whether words mention one. Pure.

Words are pasted from anywhere, so a mention is looked for in a form that leaves out how a text was
set: width, ligatures and case, blanks and commas, dashes, apostrophes, and what is not shown at
all. A name's words are found in their order and beginning with any later one: "Byron, Ada". One
word of several, as a surname alone, is no mention: it is other people's too.

Source: Unicode 15 section 3.13, D145 and D146 (canonical and compatibility caseless match), and
the property Default_Ignorable_Code_Point.
"""

import re
import unicodedata
from dataclasses import dataclass

PART_CHARS_MIN = 4
"""A name of so many characters is looked for within words too: who knows what was put around it."""
WORD_CHARS_MIN = 3
"""A shorter one is none that could be told from other words."""
DIGITS_MIN = 6
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
"""What is not shown."""
_DASH = re.compile("[\\-\u058a\u05be\u2010-\u2015\u2043\u2212\ufe58\ufe63\uff0d]")
_APOSTROPHE = re.compile("['`\u00b4\u02b9\u02bb-\u02bf\u02c8\u2018-\u201b\u2032\u055a\ua78c\uff07]")
_BETWEEN = re.compile(r"[\s,]+")


def plain_name(name: str) -> str:
    """Return a name as it is kept."""
    return unicodedata.normalize("NFC", name).strip()


def likened(text: str) -> str:
    """Return a text so that all that read alike are equal, however they were set."""
    shown = _APOSTROPHE.sub("'", _DASH.sub("-", _UNSEEN.sub("", text)))
    cased = unicodedata.normalize("NFKD", unicodedata.normalize("NFD", shown).casefold())
    same = unicodedata.normalize("NFKD", cased.casefold())
    return _BETWEEN.sub(" ", _UNSEEN.sub("", same)).strip()


def orders_of(name: str) -> list[list[str]]:
    """Return a name's words as they are, and beginning with each later one."""
    words = [word for word in _BETWEEN.split(name) if word]
    return [words[n:] + words[:n] for n in range(len(words))]


def is_caseless(name: str) -> bool:
    """Return whether a name's script has no case; such a script need not put blanks around it."""
    return name.lower() == name.upper() and sum(map(str.isalpha, name)) > 1


def is_telling(name: str) -> bool:
    """Return whether a name can be told from other people's words and numbers."""
    letters, digits = (sum(map(kind, name)) for kind in (str.isalpha, str.isdecimal))
    return letters >= WORD_CHARS_MIN or digits >= DIGITS_MIN or is_caseless(name)


@dataclass(frozen=True, slots=True)
class Mention:
    """What to look for in words, made once for each name.

    Attributes:
        texts: the name, likened, in each order of its words.
        within_words: False for a name that must stand as a word.
    """

    texts: tuple[str, ...]
    within_words: bool

    def is_in(self, words: str) -> bool:
        """Return whether words, likened, mention the name."""
        return any(
            text in words and (self.within_words or _stands_alone(text, words))
            for text in self.texts
        )


def mention_of(name: str, *, within_words: bool | None = None) -> Mention | None:
    """Return what to look for to find a name; None if it is too short to be told from words.

    Args:
        name: the name.
        within_words: whether it is found in the middle of words; None: if it is long.
    """
    whole = likened(name)
    length = min(len(name), len(unicodedata.normalize("NFC", whole)))
    texts = tuple(dict.fromkeys(" ".join(words) for words in orders_of(whole)))
    if not texts or (length < WORD_CHARS_MIN and not within_words):
        return None
    return Mention(texts, length >= PART_CHARS_MIN if within_words is None else within_words)


def _stands_alone(sought: str, words: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(sought)}(?!\w)", words) is not None
