"""Which fields of a FIX message can name a natural person, and the message without them. Pure.

A name is replaced by a pseudonym, length and checksum are made right again, so what goes on record
is a message like any other; the names come back with `restored`, byte for byte, from their values.

Rules:

- A party is a person unless its role, qualifier or source says that it is a firm, a system or an
  algorithm: what nobody declared counts as a person.
- A short code (447=P, digits) stays: it is a pseudonym already, its key is kept by firm and venue
  (Delegated Regulation (EU) 2017/580, art. 2 and annex table 2).
- Text (58 and the like) stays, as the broker's reason is evidence, unless it names a person that is
  named in this message or known already; then the whole text goes.
- A message that does not parse may carry its names anywhere between two delimiters; the same fields
  are looked for there, and length and checksum go too, since they would confirm a guess.

Not here: who has which pseudonym, and where values are kept.

Source: FIX 4.4 volumes 2 and 6; EP216 for 2376.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fix.errors import MessageError
from fix.messages import SOH, parse

PERSON_TAGS: Mapping[int, str] = {
    50: "SenderSubID: the trader or clerk behind the sender",
    57: "TargetSubID: the trader or clerk behind the receiver",
    116: "OnBehalfOfSubID: the person behind the firm it is sent for",
    129: "DeliverToSubID: the person behind the firm it is meant for",
    109: "ClientID: a client, who may be a natural person",
    467: "IndividualAllocID: an allocation to one client",
    553: "Username of a logon",
    554: "Password: never kept",
    925: "NewPassword: never kept",
}
"""Fields that name a person wherever they stand, and why."""

NOT_PERSONS: Mapping[int, str] = {
    1: "Account: the firm's account",
    49: "SenderCompID: a firm",
    56: "TargetCompID: a firm",
    76: "ExecBroker: a firm",
    115: "OnBehalfOfCompID: a firm",
    128: "DeliverToCompID: a firm",
    142: "SenderLocationID: a desk",
    143: "TargetLocationID: a desk",
}
"""Fields that are often taken for names, and why they stay."""

TEXT_TAGS: Mapping[int, str] = {
    58: "Text",
    147: "Subject",
    148: "Headline",
    355: "EncodedText",
}
"""Free text, which may name somebody."""

FIRM_ROLES: Mapping[str, str] = {
    "1": "executing firm",
    "2": "broker of credit",
    "4": "clearing firm",
    "6": "introducing firm",
    "7": "entering firm",
    "10": "settlement location",
    "13": "order origination firm",
    "14": "giveup clearing firm",
    "15": "correspondent clearing firm",
    "16": "executing system",
    "17": "contra firm",
    "18": "contra clearing firm",
    "19": "sponsoring firm",
    "20": "underlying contra firm",
    "21": "clearing organisation",
    "22": "exchange",
    "24": "customer account",
    "25": "correspondent clearing organisation",
    "26": "correspondent broker",
    "28": "custodian",
    "31": "sub custodian",
    "34": "regulatory body",
    "35": "liquidity provider",
    "38": "position account",
    "54": "sender location",
    "55": "session id",
    "63": "systematic internaliser",
    "64": "multilateral trading facility",
    "66": "market maker",
    "73": "execution venue",
}
"""PartyRole (452) of firms, accounts and systems."""
FIRM_SOURCES = frozenset("BGN")
"""PartyIDSource (447) of firms: BIC, MIC, LEI."""
NOT_NATURAL = frozenset({"22", "23"})
"""PartyRoleQualifier (2376): an algorithm, a legal entity."""
SHORT_CODE = re.compile(r"[0-9]{1,10}")
FIRM_SUB_TYPES = frozenset({"1", "3", "4", "5", "10", "14", "15", "16", "17", "24", "25", "26"})
"""PartySubIDType (803) of firms, systems and registrations; all others may be a person's."""

PSEUDONYM = re.compile(r"psn-[a-z2-7]{16}")
FIELDS_MAX = 60
"""Names kept one by one; a message with more is kept as one value."""
WHOLE_CHARS_MAX = 30_000
_SESSION_TYPES = frozenset({"0", "1", "2", "4", "5", "A"})
_GROUPS = (
    # (id, source, role, qualifier or 0, (sub id, sub type)) of Parties and nested parties
    (448, 447, 452, 2376, (523, 803)),
    (524, 525, 538, 0, (545, 805)),
    (949, 950, 951, 0, (953, 954)),
)
_GROUP_TAGS = frozenset(
    {tag for group in _GROUPS for tag in (*group[:4], *group[4])} | {756, 802, 804, 952}
)
NAMED_TAGS = frozenset(
    {*PERSON_TAGS, *TEXT_TAGS, *(group[0] for group in _GROUPS), *(g[4][0] for g in _GROUPS)}
)
"""Every field whose value can be, or can hold, a person's name."""
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
    raw: str, subject: Callable[[str], str], named_in: Callable[[str], str | None]
) -> Redacted:
    """Return a message without the names of persons.

    Args:
        raw: the message, one character per byte.
        subject: gives the pseudonym of a name.
        named_in: gives the pseudonym of a person that a text names, or None.
    """
    parts = _parts(raw)
    people = {place: subject(name_of(parts[place][1])) for place in _people(parts)}
    here = {name_of(parts[place][1]).casefold(): who for place, who in people.items()}
    for place, (tag, value) in enumerate(parts):
        if tag in TEXT_TAGS and not PSEUDONYM.fullmatch(value):
            who = _mentioned(name_of(value), here) or named_in(name_of(value))
            if who is not None:
                people[place] = who
    if not people:
        return Redacted(text=raw, named=())
    sound = _is_sound(raw)
    if not sound:  # what is wrong with it stays visible, but confirms no guess
        first = people[min(people)]
        people |= {n: first for n, (tag, value) in enumerate(parts) if tag in _FRAME and value}
    if len(people) > FIELDS_MAX:
        people = dict.fromkeys(people, people[min(people)])
        named = _whole(raw, people[min(people)])
    else:
        named = tuple(
            Named(path=f"raw/{place}/{parts[place][0]}", subject=who, value=parts[place][1])
            for place, who in sorted(people.items())
        )
    for place, who in people.items():
        parts[place] = (parts[place][0], who)
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
    """Return a message with everything that `scrubbed` may overwrite as stars.

    Equal before, while and after a message is scrubbed, so a checksum over it is too.
    """
    parts = _parts(body.decode("latin-1"))
    places = _erasable(parts, words=True)
    if not places:
        return body
    for place, (tag, value) in enumerate(parts):
        if place in places or tag == 10:  # noqa: PLR2004 - CheckSum
            parts[place] = (tag, _STAR * len(value))
    return _join(parts, reframe=False).encode("latin-1")


def scrubbed(body: bytes, *, words: bool = True) -> bytes:
    """Return a message of the same length with names as stars and its checksum made right.

    Args:
        body: the message's bytes.
        words: free text goes as well, but for session messages.
    """
    parts = _parts(body.decode("latin-1"))
    kind = next((value for tag, value in parts if tag == 35), "")  # noqa: PLR2004 - MsgType
    places = _erasable(parts, words=words and kind not in _SESSION_TYPES)
    if not places:
        return body
    for place in places:
        tag, value = parts[place]
        parts[place] = (tag, _STAR * len(value))
    text = _join(parts, reframe=False)
    head, mark, last = text.rpartition(f"{SOH}10=")
    if mark and re.fullmatch(rf"[0-9]{{3}}{SOH}", last):
        text = f"{head}{mark}{sum((head + SOH).encode('latin-1')) % 256:03d}{SOH}"
    return text.encode("latin-1")


def name_of(value: str) -> str:
    """Return a field's text as a name: UTF-8 where it is that, without blanks around it."""
    try:
        text = value.encode("latin-1").decode("utf-8")
    except (UnicodeEncodeError, UnicodeDecodeError):
        text = value
    return text.strip()[:200]


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
    places = [n for n, (tag, _) in enumerate(parts) if tag in PERSON_TAGS]
    for id_tag, source, role, qualifier, subs in _GROUPS:
        for n, (tag, value) in enumerate(parts):
            if tag != id_tag:
                continue
            entry = _entry(parts, n, id_tag)
            said = dict(reversed(entry))
            if _is_person(value, said.get(source), said.get(role), said.get(qualifier)):
                places.append(n)
            places += _sub_people(parts, n, len(entry), *subs)
    return sorted(n for n in places if parts[n][1].strip() and not PSEUDONYM.fullmatch(parts[n][1]))


def _entry(parts: Sequence[tuple[int, str]], start: int, id_tag: int) -> list[tuple[int, str]]:
    """Return the fields of one group entry behind its first."""
    found: list[tuple[int, str]] = []
    for tag, value in parts[start + 1 :]:
        if tag == id_tag or tag not in _GROUP_TAGS:
            break
        found.append((tag, value))
    return found


def _is_person(value: str, source: str | None, role: str | None, qualifier: str | None) -> bool:
    if source in FIRM_SOURCES or role in FIRM_ROLES or qualifier in NOT_NATURAL:
        return False
    return not (source == "P" and SHORT_CODE.fullmatch(value))


def _sub_people(
    parts: Sequence[tuple[int, str]], start: int, count: int, sub_id: int, sub_type: int
) -> list[int]:
    """Return the places of a party's own names, telephones and addresses."""
    found = []
    for n in range(start + 1, start + 1 + count):
        if parts[n][0] == sub_id:
            kind = parts[n + 1] if n + 1 < len(parts) else (0, "")
            if not (kind[0] == sub_type and kind[1] in FIRM_SUB_TYPES):
                found.append(n)
    return found


def _erasable(parts: Sequence[tuple[int, str]], *, words: bool) -> frozenset[int]:
    """Return the places that may be overwritten in a file."""
    text = [n for n, (tag, value) in enumerate(parts) if words and value and tag in TEXT_TAGS]
    return frozenset([*_people(parts), *text])


def _mentioned(text: str, names: Mapping[str, str]) -> str | None:
    lowered = text.casefold()
    return next((who for name, who in names.items() if len(name) > 2 and name in lowered), None)  # noqa: PLR2004


def _whole(raw: str, subject: str) -> tuple[Named, ...]:
    """Return the whole message as one value; of one too long for that, nothing is kept."""
    if len(raw) > WHOLE_CHARS_MAX:
        return ()
    return (Named(path="raw", subject=subject, value=raw),)


def _is_sound(raw: str) -> bool:
    try:
        parse(raw)
    except MessageError:
        return False
    return True
