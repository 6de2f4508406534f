"""Which fields of a FIX message can name a natural person, and the message without them. Pure.

A name is replaced by a pseudonym, length and checksum are made right again, so what goes on record
is a message like any other; the names come back with `restored`, byte for byte, from their values.

Rules:

- A party is a person unless its role, qualifier or source says that it is a firm, a system or an
  algorithm: what nobody declared counts as a person.
- A short code (447=P, digits) stays: it is a pseudonym already, its key is kept by firm and venue
  (Delegated Regulation (EU) 2017/580, art. 2 and annex table 2).
- Text (58 and the like) stays, as the broker's reason is evidence, unless it names a person that is
  named in this message or known already; then the whole text goes. Encoded text that cannot be read
  goes.
- A field that nobody declared (5700, say) goes as words of nobody known, unless it has no words:
  fewer than three letters are a code. A key of ours that a broker sends back is a key.
- The same name as a word of any other field is replaced there, and the rest of that field stays:
  two ExecIDs that begin with it are still two. Not in what moves sessions, orders and the book.
- How long an encoded text was goes with it.
- A message that does not parse may carry its names anywhere between two delimiters; the same fields
  are looked for there, and length and checksum go too, since they would confirm a guess.

Not here: the tables of fields (`person_tags`), who has which pseudonym, and where values are kept.

Source: FIX 4.4 volumes 2 and 6; EP216 for 2376.
"""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from fix.dialects.person_tags import (
    BEFORE_TAGS,
    FIRM_ROLES,
    FIRM_SOURCES,
    FIRM_SUB_TYPES,
    GROUP_TAGS,
    GROUPS,
    LENGTH_TAGS,
    MACHINE_TAGS,
    NAMED_TAGS,
    NOT_NATURAL,
    PERSON_TAGS,
    SHORT_CODE,
    TEXT_TAGS,
    is_undeclared,
)
from fix.errors import MessageError
from fix.wire.messages import SOH, parse

PSEUDONYM = re.compile(r"psn-[a-z2-7]{16}")
FIELDS_MAX = 60
"""Names kept one by one; a message with more is kept as one value."""
VALUE_BYTES_MAX = 44_000
"""As JSON; of a longer one nothing is kept."""
_SESSION_TYPES = frozenset({"0", "1", "2", "4", "5", "A"})
_PARTIES = {group[0]: group for group in GROUPS}
_SUBS = dict(group[4] for group in GROUPS)
_ENCODED = frozenset(LENGTH_TAGS.values())
_OUR_KEY = re.compile(r"[A-Z2-7]{20}")
_WORDS = re.compile(r"[^\W\d_]{3}|[^\W\d_]{2}\W+[^\W\d_]{2}|(?![\x00-\x7f])[^\W\d_]")
_FIELD = re.compile(r"([1-9][0-9]{0,8})=(.*)", re.DOTALL)
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
    """Return a message without the names of persons.

    Args:
        raw: the message, one character per byte.
        subject: gives the pseudonym of a name.
        named_in: gives the pseudonym of a person that a text names, or None.
        words: gives the pseudonym of words that may name somebody; as `subject` if None.
        public: fields that the broker's profile declares to name no person.
    """
    parts = _parts(raw)
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
    if not sound:  # what is wrong with it stays visible, but confirms no guess
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
    """Return the message as it came in.

    Args:
        text: what `redacted` left.
        values: the values it took out, by path.

    Raises:
        MessageError: a path that names no field of the message.
    """
    if "raw" in values:
        return values["raw"]
    parts = _parts(text)
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
    """Return what stands at a path of a message without names; None if there is no such field."""
    parts = _parts(text)
    _, place, tag = (*path.split("/"), "", "")[:3]
    if not (place.isascii() and place.isdigit() and int(place) < len(parts)):
        return None
    found, value = parts[int(place)]
    return value if str(found) == tag else None


def masked(body: bytes) -> bytes:
    """Return a message with everything that `scrubbings` overwrite as stars.

    Equal before, while and after a message is scrubbed, step by step, so a checksum over it is too.
    """
    parts = _parts(body.decode("latin-1"))
    places = {*_erasable(parts, words=True)}
    if places:
        places |= _spread(parts, _names(parts), places).keys()
        # overwritten already, or in part
        places |= {n for n, (tag, v) in enumerate(parts) if _STAR in v and tag not in MACHINE_TAGS}
    return _starred(body, parts, places)


def masked_before(body: bytes) -> bytes:
    """Return a message as `masked` did when it knew fewer fields: old frames are summed so."""
    parts = _parts(body.decode("latin-1"))
    old = {n for n in _erasable(parts, words=True) if parts[n][0] in BEFORE_TAGS}
    return _starred(body, parts, old)


def _starred(body: bytes, parts: list[tuple[int, str]], places: Collection[int]) -> bytes:
    for place, (tag, value) in enumerate(parts):
        if place in places or tag == 10:  # noqa: PLR2004 - CheckSum
            parts[place] = (tag, _STAR * len(value))
    return _join(parts, reframe=False).encode("latin-1") if places else body


def scrubbings(body: bytes, *, words: bool = True) -> tuple[bytes, ...]:
    """Return what a message becomes step by step; one must be durable before the next is written.

    A name goes from other fields first: they are known by it only.

    Args:
        body: the message's bytes.
        words: free text goes as well, but for session messages.
    """
    parts = _parts(body.decode("latin-1"))
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
    """Return a message's bytes with its checksum made right, where it ends with one."""
    head, mark, last = text.rpartition(f"{SOH}10=")
    if mark and re.fullmatch(rf"[0-9]{{3}}{SOH}", last):
        text = f"{head}{mark}{sum((head + SOH).encode('latin-1')) % 256:03d}{SOH}"
    return text.encode("latin-1")


def name_of(value: str) -> str:
    """Return a field's text as a name: UTF-8 where it is that, without blanks around it."""
    return _read(value)[0].strip()[:200]


def _read(value: str) -> tuple[str, str]:
    """Return a field's text, and in which encoding it was read."""
    try:
        return value.encode("latin-1").decode("utf-8"), "utf-8"
    except (UnicodeEncodeError, UnicodeDecodeError):
        return value, "latin-1"


def _parts(raw: str) -> list[tuple[int, str]]:
    """Return (tag, value) between delimiters; what is no field has tag 0 and its whole text."""
    found = (_FIELD.fullmatch(part) for part in raw.split(SOH))
    return [
        (0, part) if match is None else (int(match[1]), match[2])
        for match, part in zip(found, raw.split(SOH), strict=True)
    ]


def _join(parts: Sequence[tuple[int, str]], *, reframe: bool) -> str:
    """Put a message together; with BodyLength and CheckSum anew where asked."""
    if not reframe:
        return SOH.join(value if tag == 0 else f"{tag}={value}" for tag, value in parts)
    body = SOH.join(f"{tag}={value}" for tag, value in parts[2:-2]) + SOH
    text = f"{parts[0][0]}={parts[0][1]}{SOH}9={len(body)}{SOH}{body}"
    return f"{text}10={sum(text.encode('latin-1')) % 256:03d}{SOH}"


def _people(parts: Sequence[tuple[int, str]]) -> list[int]:
    """Return the places of fields that name a person."""
    return [
        n
        for n, (tag, value) in enumerate(parts)
        if (tag in PERSON_TAGS or tag in _PARTIES or tag in _SUBS)
        and value.strip()
        and not PSEUDONYM.fullmatch(value)
        and (tag in PERSON_TAGS or _is_party(parts, n) or _is_sub_person(parts, n))
    ]


def _is_party(parts: Sequence[tuple[int, str]], place: int) -> bool:
    """Say whether an entry of a group of parties begins here with a person."""
    tag, value = parts[place]
    if tag not in _PARTIES:
        return False
    _, source, role, qualifier, _ = _PARTIES[tag]
    said = dict(reversed(_entry(parts, place, tag)))
    return _is_person(value, said.get(source), said.get(role), said.get(qualifier))


def _is_sub_person(parts: Sequence[tuple[int, str]], place: int) -> bool:
    """Say whether here is a party's own name, telephone or address."""
    sub_type = _SUBS.get(parts[place][0], 0)
    kind = parts[place + 1] if place + 1 < len(parts) else (0, "")
    return bool(sub_type) and not (kind[0] == sub_type and kind[1] in FIRM_SUB_TYPES)


def _entry(parts: Sequence[tuple[int, str]], start: int, id_tag: int) -> list[tuple[int, str]]:
    """Return the fields of one group entry behind its first."""
    found: list[tuple[int, str]] = []
    for tag, value in parts[start + 1 :]:
        if tag == id_tag or tag not in GROUP_TAGS:
            break
        found.append((tag, value))
    return found


def _is_person(value: str, source: str | None, role: str | None, qualifier: str | None) -> bool:
    if source in FIRM_SOURCES or role in FIRM_ROLES or qualifier in NOT_NATURAL:
        return False
    return not (source == "P" and SHORT_CODE.fullmatch(value))


def _erasable(parts: Sequence[tuple[int, str]], *, words: bool) -> frozenset[int]:
    """Return the places that may be overwritten in a file, known by their tags alone."""
    text = [n for n, (tag, value) in enumerate(parts) if words and value and _is_text(tag)]
    return frozenset([*_people(parts), *text])


def _is_text(tag: int) -> bool:
    return tag in TEXT_TAGS or tag == 0 or is_undeclared(tag)


def _names(parts: Sequence[tuple[int, str]]) -> dict[str, str]:
    """Return the names of a message in which nobody has a pseudonym."""
    return {name_of(parts[place][1]): _STAR for place in _people(parts)}


class _Others:
    """Whom a field names that names nobody by its tag."""

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
        known = self._here.get(text.strip().casefold()) or _mentioned(text, self._here)
        known = known or self._named_in(text)
        if known is not None or not (opaque or (is_undeclared(tag) and tag not in self._public)):
            return known
        spoken = opaque or (_WORDS.search(text) and not _OUR_KEY.fullmatch(text))
        return self._words(text) if spoken else None


def _mentioned(text: str, names: Mapping[str, str]) -> str | None:
    lowered = text.casefold()
    return next((who for name, who in names.items() if len(name) > 2 and name in lowered), None)  # noqa: PLR2004


def _spread(
    parts: Sequence[tuple[int, str]], names: Mapping[str, str], taken: Collection[int]
) -> dict[int, tuple[str, str]]:
    """Return place -> (person, text without the name) of other fields with a name as a word."""
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
    """Return the values; of a crowd the whole message as one."""
    named = [
        Named(path=f"raw/{place}/{parts[place][0]}", subject=who, value=parts[place][1])
        for place, who in sorted(people.items())
    ]
    if len(people) > FIELDS_MAX:
        named = [Named(path="raw", subject=people[min(people)], value=raw)]
    return tuple(one for one in named if len(json.dumps(one.value)) <= VALUE_BYTES_MAX)


def _is_sound(raw: str) -> bool:
    try:
        parse(raw)
    except MessageError:
        return False
    return True
