"""A dump: a whole log as JSON lines."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from audit.verifier.parts.canonical import INT_MAX, unbase64
from audit.verifier.parts.log import LogVerifier
from audit.verifier.parts.records import NUMBERS
from audit.verifier.parts.report import INCOMPLETE, TAMPERED, Bad, Report
from audit.verifier.parts.trust.checkpoint import Outside

_TEXT = ("stream", "kind", "actor", "idem_key")
_BYTES = ("prev", "payload_digest", "leaf", "header", "payload")
DUMP_FIELDS: dict[str, dict[str, Any]] = {
    "head": {"origin": str, "size": int, "root": bytes, "frontier": bytes},
    "checkpoint": {"size": int, "note": bytes},
    "blob": {"digest": bytes, "data": bytes},
    "entry": {
        **dict.fromkeys(_TEXT, str),
        **dict.fromkeys(NUMBERS, int),
        **dict.fromkeys(_BYTES, bytes),
        "account": str | None,
    },
    "end": {"entries": int},
}


def verify_dump(
    lines: Iterable[bytes],
    vkeys: Sequence[str],
    notes: Sequence[bytes] = (),
    outside: Outside | None = None,
) -> Report:
    """Return the report on a dump: one head, checkpoints, blobs, entries, the end.

    The end announces the number of records. The tree must contain the checkpoints in `notes`.
    """
    log = LogVerifier(vkeys, notes, outside)
    expected = None
    try:
        for line in lines:
            if expected is not None:
                log.report.find(TAMPERED, "the dump goes on after its end")
                break
            expected = take_line(log, line)
    except Bad as error:
        log.report.find(TAMPERED, f"the dump is malformed: {error}")
    except Exception as error:  # noqa: BLE001 - whatever the input breaks is a finding
        log.report.caught(error)
    if expected is None:
        log.report.find(INCOMPLETE, "the dump has no end")
    return log.finish(expected)


def take_line(log: LogVerifier, line: bytes) -> int | None:
    """Give one line of a dump to the verifier; return the announced number at the end."""
    kind, row = _read_line(line)
    match kind:
        case "head":
            log.head(row)
        case "checkpoint":
            log.checkpoint(row["size"], row["note"])
        case "blob":
            log.blob(row["digest"], row["data"])
        case "entry":
            log.entry(row)
        case _:
            return int(row["entries"])
    return None


def _read_line(line: bytes) -> tuple[str, dict[str, Any]]:
    """Return a line's type and its fields; bytes are base64 in the line."""
    try:
        row = json.loads(line.decode(), object_pairs_hook=_unrepeated)
    except (ValueError, RecursionError) as error:
        raise Bad(f"not JSON: {type(error).__name__}") from error
    kind = row.pop("type", None) if isinstance(row, dict) else None
    fields = DUMP_FIELDS.get(kind) if isinstance(kind, str) else None
    if fields is None or row.keys() != fields.keys():
        raise Bad(f"a line of type {kind!r} has other fields")
    for name, wanted in fields.items():
        value = row[name]
        if wanted is bytes:
            row[name] = value = unbase64(value)
        large = isinstance(value, int) and abs(value) > INT_MAX
        if isinstance(value, bool) or not isinstance(value, wanted) or large:
            raise Bad(f"{name} of a line of type {kind} has another type")
    return str(kind), row


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        raise Bad("a line has a field twice")
    return row
