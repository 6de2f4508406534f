r"""Where a person's name stands in words that went on record before anybody knew the person. Pure.

What is in a leaf stays in it: an erasure can only say where. A name is looked for in its exact
words, however they were set (`names`), as whole words: in a record's text as it is, behind escapes,
and as UTF-8 that was taken for ISO 8859-1 (as FIX text of ours is).

Not looked for: a name that cannot be told from other words, a surname alone, and blobs.
"""

import re
from collections.abc import Iterable, Iterator

from audit.privacy.names import is_caseless, is_telling, likened, mention_of, plain_name

ODD = r"\\[23]|\\u([^0]|0[^0]|00[^01])"
r"""What a record has that may hold a name in other characters than the name's own: some beyond
ASCII, or a `\u` escape that is no control's.

A regular expression, Python's and PostgreSQL's, for bytes as PostgreSQL's `lower(encode(..,
'escape'))` writes them: `\303\274`.
"""
_RUN = re.compile(r"[a-z0-9]+")
_ESCAPE = re.compile(r"\\+(?:u([0-9A-Fa-f]{4})|[nrtbf])?")


class Wanted:
    """What to look for to find some names."""

    def __init__(self, names: Iterable[str]) -> None:
        """Leave out names that could not be told from words."""
        telling = sorted({plain_name(name) for name in names if is_telling(name)})
        found = {name: mention_of(name, within_words=is_caseless(name)) for name in telling}
        self._mentions = tuple(mention for mention in found.values() if mention is not None)
        self.names = tuple(name for name, mention in found.items() if mention is not None)

    @property
    def traces(self) -> tuple[str, ...]:
        """What a record that holds a name has, unless it has something of `ODD`; in small letters.

        Of each name its longest run of plain letters and digits; none of a name with others.
        """
        plain = [one for one in map(likened, self.names) if one.isascii()]
        return tuple(dict.fromkeys(max(_RUN.findall(one), key=len, default="") for one in plain))

    def is_in(self, *parts: bytes) -> bool:
        """Return whether a record's bytes hold a name."""
        texts = {likened(text) for part in parts for text in _readings(part)}
        return any(mention.is_in(text) for mention in self._mentions for text in texts)


def _readings(data: bytes) -> Iterator[str]:
    """Yield a document's text as it is, and as it may have been meant."""
    text = data.decode("utf-8", "replace")
    plain = _ESCAPE.sub(_unescaped, text).encode("utf-16", "surrogatepass")
    for one in {text, plain.decode("utf-16", "replace")}:
        yield one
        if not one.isascii():
            yield one.encode("latin-1", "replace").decode("utf-8", "replace")


def _unescaped(escape: re.Match[str]) -> str:
    if escape[1]:
        return chr(int(escape[1], 16))
    return " " if escape[0][-1].isalpha() else ""
