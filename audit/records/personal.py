"""Personal values: their commitment in the leaf, and the disclosure that proves one. Pure.

A payload never holds a personal value, only a pseudonym for its subject and the field's place. The
leaf binds the value by a salted commitment in the header's `commitments`. Value and salt are stored
elsewhere, encrypted (`vault`); once they are forgotten, every proof still verifies.

    disclosure = base64url(canonical([salt, path, value])), without padding, ASCII
    commitment = SHA-256(disclosure), hex, at `commitments[index]` of the record's header

`salt` is base64url of 32 bytes, `path` names the field that the value was taken from, `value` is
text. A disclosure file is one disclosure and a newline. With the header, its hash verifies it;
without the salt, nobody can confirm a guess of the value.

The payload's field `personal` lists {index, path, retention, subject}. The salt is a keyed digest
of value and place under the subject's key. So the same draft sealed twice is the same record, and
another value under the same idempotency key is a conflict.

Source: RFC 9901 (SD-JWT) sections 4.2.1 to 4.2.3; here the commitment is hex, as all our digests.
"""

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from audit.errors import CanonicalError, DisclosureError
from audit.records.canonical import JSON, canonical, parse

SALT_BYTES = 32
DISCLOSURE_CHARS_MAX = 60_000
PATH_CHARS_MAX = 200
FIELD = "personal"
"""The payload's field that lists the values stored elsewhere."""
WORDS: Mapping[str, tuple[str, ...]] = {
    "approval_given": ("reason",),
    "approval_refused": ("reason",),
    "key_revoked": ("reason",),
    "kill_pressed": ("reason",),
    "kill_released": ("reason",),
    "ledger_restored": ("reason",),
    "operator_note": ("text",),
    "session_event": ("detail",),
    "kill_drilled": ("reason",),
    "stop_begun": ("reason",),
    "stop_ended": ("reason",),
    "cancel_all_asked": ("reason",),
    "flatten_asked": ("reason",),
    "mode_entered": ("reason",),
    "digests_registered": ("reason",),
    "override_ended": ("reason",),
    "decision_annotated": ("text",),
}
"""Fields of free text, by kind; text that names a known person becomes a personal value."""
_SUBJECT = re.compile(r"psn-[a-z2-7]{16}")
_PARTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Personal:
    """One personal value of a draft.

    Attributes:
        subject: a pseudonym.
        path: the payload's field that the value was taken from.
        value: never appears in a payload, log or error message.
        retention: a class of `audit.privacy.retention`: how long the value must be kept.
    """

    subject: str
    path: str
    value: str
    retention: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """A disclosure, encrypted: one row of `ledger.disclosure`, without its record's number."""

    position: int
    subject: str
    sealed: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One personal field as a payload names it."""

    index: int
    path: str
    retention: str
    subject: str


def is_subject(text: str) -> bool:
    """Return whether a text has the form of a pseudonym."""
    return _SUBJECT.fullmatch(text) is not None


def described(personal: Sequence[Personal]) -> list[JSON]:
    """Return the payload's list of personal values, without the values."""
    return [
        {"index": n, "path": one.path, "retention": one.retention, "subject": one.subject}
        for n, one in enumerate(personal)
    ]


def fields_of(payload: Mapping[str, Any]) -> tuple[Field, ...]:
    """Return the personal fields that a payload names; raise DisclosureError for another form."""
    found = payload.get(FIELD, [])
    try:
        return tuple(
            Field(
                index=int(one["index"]),
                path=str(one["path"]),
                retention=str(one["retention"]),
                subject=str(one["subject"]),
            )
            for one in found
        )
    except (TypeError, KeyError, ValueError) as error:
        raise DisclosureError("the payload's list of personal fields is malformed") from error


def disclosure(salt: bytes, path: str, value: str) -> str:
    """Return the disclosure, whose hash is the commitment.

    Raises:
        DisclosureError: the salt is not 32 bytes; or path or value is too long or not Unicode.
    """
    if len(salt) != SALT_BYTES or len(path) > PATH_CHARS_MAX:
        raise DisclosureError("a salt has 32 bytes, a path at most 200 characters")
    try:
        text = _encode(canonical([_encode(salt), path, value]))
    except CanonicalError as error:
        raise DisclosureError("a personal value is not Unicode text") from error
    if len(text) > DISCLOSURE_CHARS_MAX:
        raise DisclosureError("a personal value is too long")
    return text


def commitment(text: str) -> str:
    """Return the commitment to a disclosure, hex."""
    return sha256(text.encode("ascii", "strict")).hexdigest()


def parse_disclosure(data: str | bytes) -> tuple[bytes, str, str]:
    """Return (salt, path, value) of a disclosure or its file; raise DisclosureError for others."""
    text = data.decode("ascii", "replace") if isinstance(data, bytes) else data
    text = text.removesuffix("\n")
    if len(text) > DISCLOSURE_CHARS_MAX:
        raise DisclosureError("the disclosure is too long")
    try:
        parts = parse(_decode(text))
    except CanonicalError as error:
        raise DisclosureError("the disclosure does not hold canonical JSON") from error
    if not isinstance(parts, list) or len(parts) != _PARTS:
        raise DisclosureError("a disclosure holds salt, path and value")
    salt, path, value = parts
    if not (isinstance(salt, str) and isinstance(path, str) and isinstance(value, str)):
        raise DisclosureError("salt, path and value of a disclosure are text")
    raw = _decode(salt)
    if disclosure(raw, path, value) != text:
        raise DisclosureError("the disclosure is not in its exact form")
    return raw, path, value


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def _decode(text: str) -> bytes:
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise DisclosureError("the disclosure is not base64url") from error
    if _encode(data) != text:
        raise DisclosureError("the disclosure is not base64url without padding")
    return data
