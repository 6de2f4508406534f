"""Finding listed terms in a text: word by word, folded (NFKC, lower case).

Not here: which terms are listed (`risk.windows.fairness.criteria`, a policy's lexicon).
"""

import re
import unicodedata
from typing import Final

MASK: Final = "[masked]"
_WORD: Final = re.compile(r"\w+", re.UNICODE)


def found_terms(text: str, terms: frozenset[str]) -> tuple[str, ...]:
    """Return the listed terms that a text has as words, sorted."""
    return tuple(sorted({word for word, _, _ in _words(text)} & terms))


def folded_words(text: str) -> tuple[str, ...]:
    """Return the words of a text as they are compared, in their order."""
    return tuple(word for word, _, _ in _words(text))


def is_findable(term: str) -> bool:
    """Return whether a text can have this term: it is one word, folded."""
    return folded_words(term) == (term,)


def masked(text: str, terms: frozenset[str]) -> str:
    """Return the text with each listed word replaced by `MASK`."""
    kept, at = [], 0
    folded = unicodedata.normalize("NFKC", text)
    for word, start, end in _words(text):
        if word in terms:
            kept += [folded[at:start], MASK]
            at = end
    return "".join([*kept, folded[at:]]) if kept else text


def _words(text: str) -> list[tuple[str, int, int]]:
    """Return the folded words of a text with their places in its NFKC form."""
    folded = unicodedata.normalize("NFKC", text)
    return [
        (part.casefold(), found.start() + place, found.start() + place + len(part))
        for found in _WORD.finditer(folded)
        for place, part in _parts(found.group())
    ]


def _parts(word: str) -> list[tuple[int, str]]:
    """Split a word at underscores, so that `client_gender` is two words."""
    parts, at = [], 0
    for part in word.split("_"):
        if part:
            parts.append((at, part))
        at += len(part) + 1
    return parts
