r"""Where a person's name occurs in free text that was recorded before the person was known. Pure.

A leaf cannot be changed, so an erasure can only report where. A name is searched for as whole
words, however they are set (`names`): in a record's text as it is, with escapes resolved, and as
UTF-8 that was read as ISO 8859-1 (as in our FIX text).

Not searched for: a name that cannot be told from other words, a surname alone, and blobs.
"""

import re
from collections.abc import Iterable, Iterator

from audit.privacy.names import is_caseless, is_telling, likened, mention_of, plain_name

ODD = r"\\[23]|\\u([^0]|0[^0]|00[^01])"
r"""Matches a record that may hold a name in other characters than the name's own: non-ASCII bytes,
or a `\u` escape that is not a control's.

A regular expression of Python and PostgreSQL, for bytes as PostgreSQL's `lower(encode(..,
'escape'))` writes them: `\303\274`.
"""
_RUN = re.compile(r"[a-z0-9]+")
_ESCAPE = re.compile(r"\\+(?:u([0-9A-Fa-f]{4})|[nrtbf])?")


class Wanted:
    """The names to search for."""

    def __init__(self, names: Iterable[str]) -> None:
        """Leave out names that cannot be told from other words."""
        telling = sorted({plain_name(name) for name in names if is_telling(name)})
        found = {name: mention_of(name, within_words=is_caseless(name)) for name in telling}
        self._mentions = tuple(mention for mention in found.values() if mention is not None)
        self.names = tuple(name for name, mention in found.items() if mention is not None)

    @property
    def traces(self) -> tuple[str, ...]:
        """Texts, in small letters, one of which every record with a name holds if `ODD` is absent.

        Each ASCII name's longest run of letters and digits.
        """
        plain = [one for one in map(likened, self.names) if one.isascii()]
        return tuple(dict.fromkeys(max(_RUN.findall(one), key=len, default="") for one in plain))

    def is_in(self, *parts: bytes) -> bool:
        """Return whether a record's bytes hold a name."""
        texts = {likened(text) for part in parts for text in _readings(part)}
        return any(mention.is_in(text) for mention in self._mentions for text in texts)


def _readings(data: bytes) -> Iterator[str]:
    """Yield a document's text as it is, and with escapes and encodings resolved."""
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
