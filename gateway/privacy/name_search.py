r"""Where a person's name stands in a log's bytes, in whatever form it was written there. Pure.

The log is brought to one form, not the name to all of its forms: bytes become characters, each
remembering which bytes it came from, and two texts are the same when they are a canonical caseless
match. So every mixture is found: composed and decomposed letters, any case, UTF-8 and ISO 8859-1
(and UTF-8 taken for it), `\u00e9`, `\xe9`, `\"` at any depth, `%C3%A9`, `&eacute;`, `+` as a blank.

Rules:

- A name is found as a whole: not inside a longer word, and never half a character. Scripts that
  write words without blanks between them have no such edge.
- What is shorter than three letters (an ideograph counts as two) or a number of fewer than six
  digits is found only where persons are named: as the whole value of a FIX field or of a JSON,
  query or `key=value` field that is a person's. Elsewhere it is a word or a figure like any other.

Not here: files, and what is looked for (`name_needles`). A name that somebody hyphenated, encrypted
or compressed is not found, nor one in letters of full width, nor a surname alone.

Source: Unicode 15 section 3.13, D145 (canonical caseless match); section 3.11 (canonical ordering).
"""

import html
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from audit.privacy.names import folded
from fix.dialects.person_tags import NAMED_TAGS
from gateway.privacy.name_needles import Needle, is_wordless, shown

PERSONAL_KEYS = frozenset(
    ("client", "detail", "name", "person", "reason", "text", "trader", "user", "username", "value")
)
"""Keys of documents whose value is, or may be, a person's name."""
_BEFORE_CHARS = 80
_CODE_MAX = 0x10FFFF
_HIGH, _LOW, _PAIR = range(0xD800, 0xDC00), range(0xDC00, 0xE000), 0x10000
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "0": "\0"}

_ENTITIES = rb"&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z]{2,8});"
_JSON_ESCAPES = rb"\\(?:u[0-9A-Fa-f]{4}|[nrtbf\"\\/])"
_ESCAPES = (
    rb"%[0-9A-Fa-f]{2}|\\+(?:u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|x[0-9A-Fa-f]{2}|[nrtbf0\"'/]?)|"
    + _ENTITIES
)
_RAW = {code + 0xDC00: code for code in range(0x80, 0x100)}
"""Bytes that are no UTF-8, as the decoder marks them, to ISO 8859-1."""
_ENTITY = re.compile(_ENTITIES + rb"\Z")
_ESCAPE = re.compile(_ESCAPES)
_TAGS = "|".join([*map(str, sorted(NAMED_TAGS)), "[5-9][0-9]{3}", "[1-3][0-9]{4}"])
_KEYS = "|".join(sorted(PERSONAL_KEYS))
_TAGGED = (
    (re.compile(rf"(?<![0-9])(?:{_TAGS})=\Z"), re.compile(r"[\x01|^\"'\r\n]|\Z")),
    (re.compile(rf"[\"'](?:{_KEYS})[\"']\s*:\s*[\"']\Z"), re.compile(r"[\"']")),
    (re.compile(rf"(?<!\w)(?:{_KEYS})=[\"']\Z"), re.compile(r"[\"']")),
    (re.compile(rf"(?<!\w)(?:{_KEYS})=\Z"), re.compile(r"[\"'&;,)\s]|\Z")),
)


class _Reading(NamedTuple):
    """A way to read bytes.

    Attributes:
        escapes: what is taken for a character, None for nothing.
        latin: bytes are ISO 8859-1 even where they might be UTF-8.
    """

    escapes: re.Pattern[bytes] | None
    latin: bool = False


_PLAIN = _Reading(None)
_JSON = _Reading(re.compile(_JSON_ESCAPES))
_ANY = _Reading(_ESCAPE)
_SPECIAL: Mapping[re.Pattern[bytes] | None, re.Pattern[bytes]] = {
    None: re.compile(rb"[\x80-\xff]"),
    _JSON.escapes: re.compile(rb"[\x80-\xff]|" + _JSON_ESCAPES),
    _ANY.escapes: re.compile(rb"[\x80-\xff]|" + _ESCAPES),
}


@dataclass(frozen=True, slots=True)
class _Char:
    """A character and the bytes that it was written with; of one raw byte, `text` is that byte."""

    text: str
    start: int
    end: int
    is_byte: bool = False


@dataclass(slots=True)
class _View:
    """A reading of the bytes, in the one form."""

    text: str = ""
    _parts: list[str] = field(default_factory=list)
    _places: list[int] = field(default_factory=list)
    _spans: list[tuple[int, int]] = field(default_factory=list)
    _length: int = 0

    def add(self, text: str, start: int, end: int) -> None:
        """Add a run of one-byte characters, or with `end` a character of all these bytes."""
        if text:
            self._places.append(self._length)
            self._spans.append((start, end))
            self._parts.append(text)
            self._length += len(text)

    def close(self) -> "_View":
        """Make the text."""
        self.text = "".join(self._parts)
        return self

    def bytes_of(self, place: int) -> tuple[int, int]:
        """Return the range of bytes of the character at a place of the text."""
        n = bisect_right(self._places, place) - 1
        start, end = self._spans[n]
        if end:
            return start, end
        start += place - self._places[n]
        return start, start + 1


def places(data: bytes, wanted: Sequence[Needle]) -> list[tuple[int, int]]:
    """Return the ranges of bytes that are one of the names, in order and apart."""
    found = {
        hit
        for view, sought in _views(data, wanted)
        for needle in sought
        for hit in _hits(view, needle)
        if not _goes_on(data, hit, needle.text)
    }
    apart: list[tuple[int, int]] = []
    for start, end in sorted(found):
        if apart and start < apart[-1][1]:
            apart[-1] = (apart[-1][0], max(end, apart[-1][1]))
        else:
            apart.append((start, end))
    return apart


def _goes_on(data: bytes, hit: tuple[int, int], name: str) -> bool:
    """Say whether an escaped letter stands beside it: to some readings that is no letter."""
    before = _ENTITY.search(data, max(0, hit[0] - _BEFORE_CHARS), hit[0])
    behind = _ESCAPE.match(data, hit[1])
    return _is_letter(before, name[0]) or _is_letter(behind, name[-1])


def _is_letter(escape: re.Match[bytes] | None, edge: str) -> bool:
    char = None if escape is None else _char(escape[0].decode("ascii"), 0, 0)
    return char is not None and _joins(char.text, edge)


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_" or unicodedata.category(char).startswith("M")


def _views(data: bytes, wanted: Sequence[Needle]) -> Iterator[tuple[_View, Sequence[Needle]]]:
    """Yield the readings of the bytes in which a name is, each with what to look for in it."""
    other = [n for n in wanted if not n.mistaken and not n.text.isascii()]
    escaped = any(mark in data for mark in (b"\\", b"%", b"&"))
    readings = (
        (data, _PLAIN, wanted),
        (data, _JSON, wanted if b"\\" in data else ()),
        (data, _ANY, wanted if escaped else ()),
        (data.replace(b"+", b" "), _ANY, wanted if b"+" in data else ()),
        (data, _PLAIN._replace(latin=True), () if data.isascii() else other),
        (data, _ANY._replace(latin=True), other if b"\\x" in data or b"%" in data else ()),
    )
    for bytes_, reading, sought in readings:
        present = _present(bytes_, reading, sought)
        if present:
            yield _read(bytes_, reading), present


def _present(data: bytes, reading: _Reading, wanted: Sequence[Needle]) -> Sequence[Needle]:
    """Return what is in a reading at all, without asking where: the log is mostly others' lines."""
    if not wanted:
        return ()
    raw = data.decode("latin-1").encode() if reading.latin else data
    if reading.escapes is not None:
        raw = reading.escapes.sub(lambda match: _plainly(match[0], latin=reading.latin), raw)
    words = folded(raw.decode("utf-8", "surrogateescape").translate(_RAW))
    alike = shown(words)
    return [n for n in wanted if n.may_be_in(words if n.mistaken else alike)]


def _plainly(escape: bytes, *, latin: bool) -> bytes:
    """Return what an escape stands for; the halves of a pair are left apart."""
    char = _char(escape.decode("ascii"), 0, 0)
    if char is None:
        return escape
    if char.is_byte and not latin:
        return char.text.encode("latin-1")
    return char.text.encode("utf-8", "surrogatepass")


def _read(data: bytes, reading: _Reading) -> _View:
    """Return the view in which what the reading knows is taken apart."""
    view = _View()
    at = 0
    run: list[_Char] = []
    for match in _SPECIAL[reading.escapes].finditer(data):
        char = _char(match[0].decode("latin-1"), match.start(), match.end())
        if char is None:
            continue
        if match.start() > at:
            _take(view, run, latin=reading.latin)
            view.add(data[at : match.start()].decode("ascii").lower(), at, 0)
            run = []
        run.append(char)
        at = match.end()
    _take(view, run, latin=reading.latin)
    view.add(data[at:].decode("ascii").lower(), at, 0)
    return view.close()


def _char(token: str, start: int, end: int) -> _Char | None:
    """Return what a token stands for; None if it is no escape after all."""
    if token[0] == "&":
        text = html.unescape(token)
        return _Char(text, start, end) if len(text) == 1 else None
    if token[0] == "%":
        return _Char(chr(int(token[1:], 16)), start, end, is_byte=True)
    if token[0] != "\\":  # raw
        return _Char(token, start, end, is_byte=True)
    kind, digits = (token.lstrip("\\") + " ")[0], token.lstrip("\\")[1:]
    if kind == "x":
        return _Char(chr(int(digits, 16)), start, end, is_byte=True)
    if kind in "uU":
        code = int(digits, 16)
        return _Char(chr(code), start, end) if code <= _CODE_MAX else None
    return _Char(_CONTROLS.get(kind, "\\" if kind == " " else kind), start, end)


def _take(view: _View, run: Sequence[_Char], *, latin: bool) -> None:
    """Add neighbouring characters to a view, in the one form."""
    for char in _ordered(_folded(_ordered(_decomposed(_joined(run, latin=latin))))):
        view.add(char.text, char.start, char.end)


def _joined(run: Sequence[_Char], *, latin: bool) -> Iterator[_Char]:
    """Yield characters: bytes as UTF-8 or else ISO 8859-1, surrogates in pairs as one."""
    n = 0
    while n < len(run):
        char, more = run[n], 1
        if char.is_byte and not latin:
            more = next((k for k in (4, 3, 2) if _utf8(run[n : n + k], k)), 1)
            text = _utf8(run[n : n + more], more) or char.text
            char = _Char(text, char.start, run[n + more - 1].end)
        elif ord(char.text) in _HIGH and n + 1 < len(run) and ord(run[n + 1].text) in _LOW:
            more = 2
            code = _PAIR + ((ord(char.text) - _HIGH.start) << 10) + ord(run[n + 1].text)
            char = _Char(chr(code - _LOW.start), char.start, run[n + 1].end)
        yield char
        n += more


def _utf8(run: Sequence[_Char], count: int) -> str:
    """Return the one character of so many bytes, or nothing."""
    if len(run) < count or not all(char.is_byte for char in run):
        return ""
    try:
        text = bytes(ord(char.text) for char in run).decode("utf-8")
    except UnicodeDecodeError:
        return ""
    return text if len(text) == 1 else ""


def _decomposed(chars: Iterable[_Char]) -> Iterator[_Char]:
    for char in chars:
        for text in unicodedata.normalize("NFD", char.text):
            yield _Char(text, char.start, char.end)


def _folded(chars: Iterable[_Char]) -> Iterator[_Char]:
    for char in chars:
        for text in unicodedata.normalize("NFD", char.text.casefold()):
            yield _Char(text, char.start, char.end)


def _ordered(chars: Iterable[_Char]) -> Iterator[_Char]:
    """Yield characters with marks in canonical order."""
    marks: list[_Char] = []
    for char in chars:
        if unicodedata.combining(char.text):
            marks.append(char)
            continue
        yield from sorted(marks, key=_class_of)
        marks = []
        yield char
    yield from sorted(marks, key=_class_of)


def _class_of(char: _Char) -> int:
    return unicodedata.combining(char.text)


def _hits(view: _View, needle: Needle) -> Iterator[tuple[int, int]]:
    """Yield the ranges of bytes that are a name."""
    found = needle.pattern.search(view.text)
    while found is not None:
        at, end = found.span()
        if _stands_alone(view.text, at, end) and (
            needle.anywhere or _is_tagged(view.text, at, end)
        ):
            yield from _whole(view, at, end)
        found = needle.pattern.search(view.text, at + 1)


def _stands_alone(text: str, at: int, end: int) -> bool:
    """Say whether a place of a text is no part of a longer word."""
    before, after = text[at - 1 : at], text[end : end + 1]
    if after and unicodedata.category(after).startswith("M"):
        return False
    return not (_joins(before, text[at]) or _joins(after, text[end - 1]))


def _joins(outside: str, edge: str) -> bool:
    return bool(outside) and _is_word(outside) and _is_word(edge) and not is_wordless(edge)


def _is_tagged(text: str, at: int, end: int) -> bool:
    """Say whether a place of a text is the whole value of a field that names a person."""
    before = text[max(0, at - _BEFORE_CHARS) : at]
    return any(left.search(before) and right.match(text, end) for left, right in _TAGGED)


def _whole(view: _View, at: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the bytes of a place, unless it begins or ends within a character."""
    spans = [view.bytes_of(place) for place in range(at, end)]
    start, stop = min(span[0] for span in spans), max(span[1] for span in spans)
    if at and view.bytes_of(at - 1)[1] > start:
        return
    if end < len(view.text) and view.bytes_of(end)[0] < stop:
        return
    yield start, stop
