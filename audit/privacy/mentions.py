r"""Where a person's name stands in words that went on record before anybody knew the person. Pure.

What is in a leaf stays in it: an erasure can only say where. A name is looked for in its exact
words, however they were set (`names`), as whole words: in a record's texts as they are, as UTF-8
that was taken for ISO 8859-1 (as FIX text of ours is), and behind `\u` escapes.

Not looked for: a name of fewer than three letters or a number of fewer than six digits, which are
other people's words too, a surname alone, and blobs.
"""

import contextlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from audit.privacy.names import WORD_CHARS_MIN, Mention, likened, mention_of, plain_name

DIGITS_MIN = 6
ODD = r"\\[23]|\\u([^0]|0[^0]|00[^01])"
r"""What a record has that may hold a name in other characters than the name's own: some beyond
ASCII, or a `\u` escape that is no control's.

A regular expression, Python's and PostgreSQL's, for bytes as PostgreSQL's `lower(encode(..,
'escape'))` writes them: `\303\274`.
"""
_RUN = re.compile(r"[a-z0-9]+")
_ESCAPE = re.compile(r"\\+u([0-9A-Fa-f]{4})")


class Wanted:
    """What to look for to find some names."""

    def __init__(self, names: Iterable[str]) -> None:
        """Leave out names that could not be told from words."""
        plain = sorted({plain_name(name) for name in names})
        found = [(name, _mention(name)) for name in plain]
        self._mentions = tuple(mention for _, mention in found if mention is not None)
        self.names = tuple(name for name, mention in found if mention is not None)

    @property
    def traces(self) -> tuple[str, ...]:
        """What a record that holds a name has, unless it has something of `ODD`; in small letters.

        Of each name its longest run of plain letters and digits; none of a name with others.
        """
        plain = [one for one in map(likened, self.names) if one.isascii()]
        return tuple(dict.fromkeys(max(_RUN.findall(one), key=len, default="") for one in plain))

    def is_in(self, *parts: bytes) -> bool:
        """Say whether a record's bytes hold a name."""
        texts = {likened(text) for part in parts for text in _readings(part)}
        return any(mention.is_in(text) for mention in self._mentions for text in texts)


def _mention(name: str) -> Mention | None:
    """Return what to look for; None for what could be another word."""
    letters = sum(map(str.isalpha, name))
    if letters > 1 and name.lower() == name.upper():  # a script that need not put blanks between
        return Mention((likened(name),), within_words=True)
    long = letters >= WORD_CHARS_MIN or sum(map(str.isdecimal, name)) >= DIGITS_MIN
    found = mention_of(name) if long else None
    return None if found is None else replace(found, within_words=False)


def _readings(data: bytes) -> Iterator[str]:
    """Yield the text of a document, as it is and as it may have been meant."""
    text = data.decode("utf-8", "replace")
    with contextlib.suppress(ValueError, RecursionError):
        text = "\n".join(_strings(json.loads(text)))
    plain = _ESCAPE.sub(lambda escape: chr(int(escape[1], 16)), text)
    for one in {text, plain}:
        yield one
        if not one.isascii():
            yield one.encode("latin-1", "replace").decode("utf-8", "replace")


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, one in value.items():
            yield key
            yield from _strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from _strings(one)
