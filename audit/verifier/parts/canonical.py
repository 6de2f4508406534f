"""Canonical JSON (RFC 8785), base64, hex and decimals; each value has one valid spelling."""

import base64
import itertools
import json
import re
from typing import Any

from audit.verifier.parts.report import Bad

ZERO_HASH = bytes(32)
DIGEST = re.compile(r"[0-9a-f]{64}")
INT_MAX, DEPTH_MAX, ENTRY_MAX = 2**53 - 1, 32, 65_535
"""Limits that every log keeps: integers, nesting, bytes of a header or payload."""
DECIMAL = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)
SIZE_MAX = 2**63 - 1


def canonical(value: object) -> bytes:
    """Return a value without floats in RFC 8785's form; the caller orders the keys."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def text_of(value: object) -> str:
    """Return a value as texts name it: a text as it is, "None" for null, other values as JSON."""
    if isinstance(value, str):
        return value
    return "None" if value is None else canonical(value).decode()


def parse_canonical(data: bytes, depth: int = DEPTH_MAX) -> Any:  # noqa: ANN401 - any JSON
    """Return the value of JSON in exact canonical form, without floats or large integers."""

    def ordered(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = [key.encode("utf-16-be") for key, _ in pairs]
        if any(a >= b for a, b in itertools.pairwise(keys)):
            raise Bad("keys out of order")
        return dict(pairs)

    def refuse(text: str) -> None:
        raise Bad(f"number {text}")

    def whole(text: str) -> int:
        if abs(number := int(text)) > INT_MAX:
            refuse(text)
        return number

    hooks: dict[str, Any] = {"parse_float": refuse, "parse_constant": refuse, "parse_int": whole}
    try:
        value = json.loads(data.decode(), object_pairs_hook=ordered, **hooks)
        exact = canonical(value) == data
    except (ValueError, RecursionError) as error:
        raise Bad(f"not canonical JSON: {error}") from error
    if not exact or (data.count(b"[") + data.count(b"{") > depth and _deeper(value, depth)):
        raise Bad("not canonical JSON, or nested too deep")
    return value


def _deeper(value: object, depth: int) -> bool:
    level: list[Any] = [value]
    for _ in range(depth + 1):
        nests = [item for item in level if isinstance(item, dict | list)]
        level = [x for nest in nests for x in (nest.values() if isinstance(nest, dict) else nest)]
    return bool(level)


def unbase64(text: object) -> bytes:
    """Return the bytes of base64 in its one exact encoding."""
    try:
        data = base64.b64decode(text, validate=True) if isinstance(text, str) else None
    except ValueError as error:
        raise Bad("not base64") from error
    if data is None or base64.b64encode(data).decode() != text:
        raise Bad("not base64")
    return data


def unhash(text: str) -> bytes:
    """Return a SHA-256 digest written in base64."""
    digest = unbase64(text)
    if len(digest) != len(ZERO_HASH):
        raise Bad("a line is not a SHA-256 hash")
    return digest


def decimal(text: str) -> int:
    """Return a number below 2^63, written without sign or leading zeros."""
    if DECIMAL.fullmatch(text) is None or int(text) > SIZE_MAX:
        raise Bad(f"{text[:30]!r} is not a plain decimal")
    return int(text)


def unhex(digest: object) -> bytes:
    """Return a SHA-256 digest written in lower-case hex."""
    if not isinstance(digest, str) or DIGEST.fullmatch(digest) is None:
        raise Bad("not a SHA-256 in hex")
    return bytes.fromhex(digest)
