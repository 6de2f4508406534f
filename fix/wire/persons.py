"""A FIX message without the names of natural persons. Pure.

Each name is replaced by a pseudonym, and length and checksum are recomputed, so the record has a
valid message. `restored` puts the names back byte for byte.

Rules:
- A party is a person unless its role, qualifier or source declares a firm, a system or an
  algorithm.
- A short code (447=P, digits) stays: it is a pseudonym whose key is kept by firm and venue
  (Delegated Regulation (EU) 2017/580, art. 2 and annex table 2).
- Text (58 and the like) stays, because the broker's reason is evidence. If it names a person of
  this message or a known one, or is encoded and unreadable, the whole text is replaced.
- An undeclared field (5700, for example) is replaced as text of an unknown person, unless it has no
  words (fewer than three letters are a code) or is a ClOrdID of ours.
- A name that is a word of another field is replaced there, and the rest of that field stays, so
  that two ExecIDs remain two. `MACHINE_TAGS` are left alone.
- The length field of an encoded text is replaced with it.
- In a message that does not parse, the same fields are searched between delimiters. Its length and
  checksum are replaced too, since they would confirm a guess.

Not here: the tables of fields (`person_tags`), pseudonyms, and where values are kept.

Source: FIX 4.4 volumes 2 and 6; EP216 for 2376.
"""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from fix.dialects.data_tags import LENGTH_TAGS
from fix.dialects.person_tags import (
    FIRM_ROLES,
    FIRM_SOURCES,
    FIRM_SUB_TYPES,
    GROUP_TAGS,
    GROUPS,
    MACHINE_TAGS,
    NAMED_TAGS,
    NOT_NATURAL,
    PERSON_TAGS,
    SHORT_CODE,
    TEXT_TAGS,
    is_undeclared,
)
from fix.errors import MessageError
from fix.wire.fields import SOH, parts_of, read_message

PSEUDONYM = re.compile(r"psn-[a-z2-7]{16}")
FIELDS_MAX = 60
"""A message with more names is kept as one value."""
VALUE_BYTES_MAX = 44_000
"""A value that is longer as JSON is not kept."""
_SESSION_TYPES = frozenset({"0", "1", "2", "4", "5", "A"})
_PARTIES = {group[0]: group for group in GROUPS}
_SUBS = dict(group[4] for group in GROUPS)
_ENCODED = frozenset(LENGTH_TAGS.values())
_OUR_KEY = re.compile(r"[A-Z2-7]{20}")
_WORDS = re.compile(r"[^\W\d_]{3}|[^\W\d_]{2}\W+[^\W\d_]{2}|(?![\x00-\x7f])[^\W\d_]")
_FRAME = frozenset({9, 10})
_STAR = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """One value that was taken out of a message.

    Attributes:
        path: `raw/<place>/<tag>`, or `raw` for the whole message.
        value: the field's text, one character per byte.
    """

    path: str
    subject: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Redacted:
    """A message without names, and the names."""

    text: str
    named: tuple[Named, ...]


def redacted(
    raw: str,
    subject: Callable[[str], str],
    named_in: Callable[[str], str | None],
    *,
    words: Callable[[str], str] | None = None,
    public: Collection[int] = (),
) -> Redacted:
    """Return a message (one character per byte) without the names of persons.

    `subject` returns the pseudonym of a name, `named_in` that of a person whom a text names, or
    None, and `words` (default: `subject`) the one for a text that may name a person. `public` are
    fields that the profile declares to name no person.
    """
    parts = parts_of(raw)
    people = {place: subject(name_of(parts[place][1])) for place in _people(parts)}
    here = {name_of(parts[place][1]): who for place, who in people.items()}
    other = _Others(here, named_in, words or subject, frozenset(public))
    for place, (tag, value) in enumerate(parts):
        who = None if place in people else other.person_of(tag, value)
        if who is not None:
            people[place] = who
    texts = {**people}
    for place, (who, text) in _spread(parts, here, people).items():
        people[place], texts[place] = who, text
    for place in [*people]:
        if place and LENGTH_TAGS.get(parts[place - 1][0]) == parts[place][0]:
            people[place - 1] = texts[place - 1] = people[place]
    if not people:
        return Redacted(text=raw, named=())
    sound = _is_sound(raw)
    if not sound:  # length and checksum would confirm a guess
        frame = {
            n: people[min(people)]
            for n, (tag, value) in enumerate(parts)
            if tag in _FRAME and value
        }
        people, texts = people | frame, texts | frame
    named = _named(raw, parts, people)
    if len(people) > FIELDS_MAX:
        texts = dict.fromkeys(people, people[min(people)])
    for place, text in texts.items():
        parts[place] = (parts[place][0], text)
    return Redacted(text=_join(parts, reframe=sound), named=named)


def restored(text: str, values: Mapping[str, str]) -> str:
    """Return the original message from `redacted`'s text and its values by path.

    Raises:
        MessageError: a path names no field of the message.
    """
    if "raw" in values:
        return values["raw"]
    parts = parts_of(text)
    frame = False
    for path, value in values.items():
        _, place, tag = (*path.split("/"), "", "")[:3]
        at = int(place) if place.isascii() and place.isdigit() else len(parts)
        if at >= len(parts) or str(parts[at][0]) != tag:
            raise MessageError(problem="a personal value belongs to no field of this message")
        parts[at] = (parts[at][0], value)
        frame = frame or parts[at][0] in _FRAME
    return _join(parts, reframe=bool(values) and not frame)


def subject_at(text: str, path: str) -> str | None:
    """Return the text at a path of a redacted message, None if there is no such field."""
    parts = parts_of(text)
    _, place, tag = (*path.split("/"), "", "")[:3]
    if not (place.isascii() and place.isdigit() and int(place) < len(parts)):
        return None
    found, value = parts[int(place)]
    return value if str(found) == tag else None


def masked(body: bytes) -> bytes:
    """Return a message with all that `scrubbings` overwrites as stars.

    The result is the same before, between and after the steps, and so is a checksum over it.
    """
    parts = parts_of(body.decode("latin-1"))
    places = {*_erasable(parts, words=True)}
    if places:
        places |= _spread(parts, _names(parts), places).keys()
        # overwritten already, or in part
        places |= {n for n, (tag, v) in enumerate(parts) if _STAR in v and tag not in MACHINE_TAGS}
    return _starred(body, parts, places)


def _starred(body: bytes, parts: list[tuple[int, str]], places: Collection[int]) -> bytes:
    for place, (tag, value) in enumerate(parts):
        if place in places or tag == 10:  # noqa: PLR2004 - CheckSum
            parts[place] = (tag, _STAR * len(value))
    return _join(parts, reframe=False).encode("latin-1") if places else body


def scrubbings(body: bytes, *, words: bool = True) -> tuple[bytes, ...]:
    """Return the forms of a message as names are overwritten; each must be durable before the next.

    Names in other fields go first: only the name identifies them. `words` includes free text,
    except in session messages.
    """
    parts = parts_of(body.decode("latin-1"))
    kind = next((value for tag, value in parts if tag == 35), "")  # noqa: PLR2004 - MsgType
    places = _erasable(parts, words=words and kind not in _SESSION_TYPES)
    if not places:
        return (body,)
    spread = _spread(parts, _names(parts), places)
    steps = []
    for step in (spread, places):
        for place in step:
            tag, value = parts[place]
            parts[place] = (tag, _STAR * len(value))
        if step:
            steps.append(_summed(_join(parts, reframe=False)))
    return tuple(steps)


def _summed(text: str) -> bytes:
    """Return a message's bytes with a recomputed checksum, if it ends with one."""
    head, mark, last = text.rpartition(f"{SOH}10=")
    if mark and re.fullmatch(rf"[0-9]{{3}}{SOH}", last):
        text = f"{head}{mark}{sum((head + SOH).encode('latin-1')) % 256:03d}{SOH}"
    return text.encode("latin-1")


def name_of(value: str) -> str:
    """Return a field's text as a name: decoded if it is UTF-8, stripped, at most 200 characters."""
    return _read(value)[0].strip()[:200]


def _read(value: str) -> tuple[str, str]:
    try:
        return value.encode("latin-1").decode("utf-8"), "utf-8"
    except (UnicodeEncodeError, UnicodeDecodeError):
        return value, "latin-1"


def _join(parts: Sequence[tuple[int, str]], *, reframe: bool) -> str:
    """Return the message's text; `reframe` recomputes BodyLength and CheckSum."""
    if not reframe:
        return SOH.join(value if tag == 0 else f"{tag}={value}" for tag, value in parts)
    body = SOH.join(f"{tag}={value}" for tag, value in parts[2:-2]) + SOH
    text = f"{parts[0][0]}={parts[0][1]}{SOH}9={len(body)}{SOH}{body}"
    return f"{text}10={sum(text.encode('latin-1')) % 256:03d}{SOH}"


def _people(parts: Sequence[tuple[int, str]]) -> list[int]:
    return [
        n
        for n, (tag, value) in enumerate(parts)
        if (tag in PERSON_TAGS or tag in _PARTIES or tag in _SUBS)
        and value.strip()
        and not PSEUDONYM.fullmatch(value)
        and (tag in PERSON_TAGS or _is_party(parts, n) or _is_sub_person(parts, n))
    ]


def _is_party(parts: Sequence[tuple[int, str]], place: int) -> bool:
    """Return whether a parties entry that names a person begins at this place."""
    tag, value = parts[place]
    if tag not in _PARTIES:
        return False
    said = dict(reversed(_entry(parts, place, tag)))
    source, role, qualifier = (said.get(other) for other in _PARTIES[tag][1:4])
    if source in FIRM_SOURCES or role in FIRM_ROLES or qualifier in NOT_NATURAL:
        return False
    return not (source == "P" and SHORT_CODE.fullmatch(value))


def _is_sub_person(parts: Sequence[tuple[int, str]], place: int) -> bool:
    """Return whether a PartySubID at this place may be a person's."""
    sub_type = _SUBS.get(parts[place][0], 0)
    kind = parts[place + 1] if place + 1 < len(parts) else (0, "")
    return bool(sub_type) and not (kind[0] == sub_type and kind[1] in FIRM_SUB_TYPES)


def _entry(parts: Sequence[tuple[int, str]], start: int, id_tag: int) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    for tag, value in parts[start + 1 :]:
        if tag == id_tag or tag not in GROUP_TAGS:
            break
        found.append((tag, value))
    return found


def _erasable(parts: Sequence[tuple[int, str]], *, words: bool) -> frozenset[int]:
    """Return the places to overwrite in a file, by their tags alone."""
    text = [n for n, (tag, value) in enumerate(parts) if words and value and _is_text(tag)]
    return frozenset([*_people(parts), *text])


def _is_text(tag: int) -> bool:
    return tag in TEXT_TAGS or tag == 0 or is_undeclared(tag)


def _names(parts: Sequence[tuple[int, str]]) -> dict[str, str]:
    """Return the names in a message, each with a star for its pseudonym."""
    return {name_of(parts[place][1]): _STAR for place in _people(parts)}


class _Others:
    """Finds the persons named by fields whose tag does not declare one."""

    def __init__(
        self,
        here: Mapping[str, str],
        named_in: Callable[[str], str | None],
        words: Callable[[str], str],
        public: frozenset[int],
    ) -> None:
        self._here = {name.casefold(): who for name, who in here.items()}
        self._named_in = named_in
        self._words = words
        self._public = public

    def person_of(self, tag: int, value: str) -> str | None:
        if not value or not _is_text(tag) or PSEUDONYM.fullmatch(value):
            return None
        text, encoding = _read(value)
        opaque = tag in _ENCODED and ("\x1b" in value or (encoding != "utf-8"))
        low = text.casefold()
        inside = (who for name, who in self._here.items() if len(name) > 2 and name in low)  # noqa: PLR2004
        known = self._here.get(low.strip()) or next(inside, None) or self._named_in(text)
        if known is not None or not (opaque or (is_undeclared(tag) and tag not in self._public)):
            return known
        spoken = opaque or (_WORDS.search(text) and not _OUR_KEY.fullmatch(text))
        return self._words(text) if spoken else None


def _spread(
    parts: Sequence[tuple[int, str]], names: Mapping[str, str], taken: Collection[int]
) -> dict[int, tuple[str, str]]:
    """Return {place: (person, text without the name)} of other fields with a name as a word."""
    sought = {n: who for n, who in names.items() if _STAR not in n and _WORDS.search(n)}
    if not sought:
        return {}
    who_by = {name.casefold(): who for name, who in sought.items()}
    names_re = "|".join(sorted(map(re.escape, sought), key=len, reverse=True))
    pattern = re.compile(rf"(?<![^\W_])(?:{names_re})(?![^\W_])", re.IGNORECASE)
    found: dict[int, tuple[str, str]] = {}
    for place, (tag, value) in enumerate(parts):
        if place in taken or tag in MACHINE_TAGS or _is_text(tag) or _OUR_KEY.fullmatch(value):
            continue
        if tag in GROUP_TAGS and tag not in NAMED_TAGS:
            continue
        text, encoding = _read(value)
        if match := pattern.search(text):
            who = who_by.get(match[0].casefold()) or next(iter(who_by.values()))
            found[place] = (who, pattern.sub(who, text).encode(encoding).decode("latin-1"))
    return found


def _named(
    raw: str, parts: Sequence[tuple[int, str]], people: Mapping[int, str]
) -> tuple[Named, ...]:
    """Return the values, or the whole message as one above `FIELDS_MAX`."""
    named = [
        Named(path=f"raw/{place}/{parts[place][0]}", subject=who, value=parts[place][1])
        for place, who in sorted(people.items())
    ]
    if len(people) > FIELDS_MAX:
        named = [Named(path="raw", subject=people[min(people)], value=raw)]
    return tuple(one for one in named if len(json.dumps(one.value)) <= VALUE_BYTES_MAX)


def _is_sound(raw: str) -> bool:
    try:
        read_message(raw)
    except MessageError:
        return False
    return True
