"""Canonical bytes and digests of risk's documents, and their strict reader.

Not here: what the documents mean.

Rules:
- A document holds null, booleans, integers, strings, lists and objects, and never a float.
- Integers beyond 2^53 - 1 are decimal strings, so every JSON reader sees the same number.
- Object keys are ASCII, so sorting by code point equals RFC 8785's sorting by UTF-16 unit, and the
  bytes equal RFC 8785 (a test compares them with the reference library).
"""

import hashlib
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from msgspec import json

from risk.errors import DocumentError

JSON: TypeAlias = "bool | int | str | list[JSON] | dict[str, JSON] | None"
JSON_SAFE: Final = 2**53 - 1
RANGE: Final = 2**63
"""Every integer in risk has a smaller absolute value; other inputs are refused."""


def canonical_bytes(document: JSON) -> bytes:
    """Return the canonical bytes of a document.

    Raises:
        DocumentError: A value outside the profile (float, other type, big integer, bad text).

    Source: RFC 8785 (JSON Canonicalization Scheme), sections 3.2.2 and 3.2.3.
    """
    _check(document)
    try:
        return json.encode(document, order="sorted")
    except UnicodeEncodeError:
        raise DocumentError("text with a lone surrogate") from None


def digest(tag: str, document: JSON) -> str:
    """Return the SHA-256 in hex of a domain tag and a document's canonical bytes."""
    return hashlib.sha256(tag.encode("ascii") + b"\n" + canonical_bytes(document)).hexdigest()


def number(value: int) -> int | str:
    """Return an integer, as a decimal string if beyond 2^53 - 1."""
    if type(value) is not int:
        raise DocumentError("an integer field holds another type")
    return value if -JSON_SAFE <= value <= JSON_SAFE else str(value)


def _check(value: object) -> None:
    # Exact types: a subclass could serialise differently from how it compares.
    if type(value) is str or value is None or type(value) is bool:
        return
    if type(value) is int:
        if not -JSON_SAFE <= value <= JSON_SAFE:
            raise DocumentError("integer beyond 2^53 - 1 must be a decimal string")
    elif type(value) is list:
        for item in value:
            _check(item)
    elif type(value) is dict:
        for key, item in value.items():
            if type(key) is not str or not key.isascii():
                raise DocumentError("object keys must be ASCII text")
            if type(item) is not str:
                _check(item)
    else:
        raise DocumentError(f"type {type(value).__name__} is outside the profile")


@dataclass(slots=True)
class Reader:
    """Reads one JSON object strictly, up to `done()`; methods raise only `DocumentError`."""

    document: object
    _left: dict[str, object] = field(init=False)

    def __post_init__(self) -> None:
        if type(self.document) is not dict:
            raise DocumentError("expected an object")
        self._left = dict(self.document)

    def inner(self, name: str) -> object:
        """Return a field unread, for another reader."""
        if name not in self._left:
            raise DocumentError(f"field {name} is missing")
        return self._left.pop(name)

    def text(self, name: str) -> str:
        """Return a string field."""
        value = self.inner(name)
        if type(value) is not str:
            raise DocumentError(f"field {name} is not text")
        return value

    def number(self, name: str) -> int:
        """Return an integer field, plain or as the decimal string of a large one."""
        value = self.inner(name)
        if type(value) is int:
            return value
        if type(value) is str and len(value) <= 40 and value.lstrip("-").isdecimal():  # noqa: PLR2004 - longer than any number in range
            parsed = int(value)
            if number(parsed) == value:
                return parsed
        raise DocumentError(f"field {name} is not an integer")

    def flag(self, name: str) -> bool:
        """Return a boolean field."""
        value = self.inner(name)
        if type(value) is not bool:
            raise DocumentError(f"field {name} is not true or false")
        return value

    def items(self, name: str) -> list[object]:
        """Return a list field without reading its items."""
        value = self.inner(name)
        if type(value) is not list:
            raise DocumentError(f"field {name} is not a list")
        return list(value)

    def done(self) -> None:
        """Raise if a field was not read."""
        if self._left:
            raise DocumentError("unknown field " + ", ".join(sorted(map(str, self._left))))
