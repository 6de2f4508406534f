"""What a restore judges beside the outsider's verifier: cosignatures, values, later checkpoints.

The tree does not cover the rows of the first two, so each is compared with what the tree covers.

Rules:

- A cosignature is one signature line, stored under its own name and key id, of a checkpoint that is
  there. The verifier judges the signature, if a policy names the witness.
- An encrypted value belongs to a record that commits to a value at that position and names its
  subject, and has the form that a vault writes. With the subject's key at hand it must open, to the
  value that the record commits to.
- A value that a record names may be missing only if the erasure of its subject is on record under
  a checkpoint. A caller's own commitments name no subject and have no values.
"""

import contextlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from audit.errors import AuditError, NoteError, VaultError
from audit.privacy.vault import Vault, has_sealed_form
from audit.records.kinds import Kind
from audit.records.personal import Sealed, commitment
from audit.records.record import parse_payload
from audit.records.sound import named_by
from audit.store.tables import TupleConnection
from audit.tlog.merkle import HASH_BYTES
from audit.tlog.note import NoteSignature
from audit.verifier.verify import (
    CHANGED,
    INCOMPLETE,
    NO_TIME,
    NOT_CHECKABLE,
    TAMPERED,
    Bad,
    Outside,
    Report,
    SeenCheckpoint,
    Trust,
)

_ROWS = 100
_VALUES_SQL = """
SELECT seq, e.stream, e.idem_key, e.payload, e.commitments, d.position, d.subject, d.sealed
FROM (SELECT seq, stream, idem_key, payload, commitments FROM ledger.entry
      WHERE commitments <> '') e
FULL JOIN ledger.disclosure d USING (seq) ORDER BY seq, d.position
"""
_ERASED_SQL = """
SELECT payload FROM ledger.entry
WHERE kind = %s AND seq < (SELECT coalesce(max(size), 0) FROM ledger.checkpoint)
"""


class Cosignatures:
    """Cosignature rows, which come before their checkpoints."""

    def __init__(self) -> None:
        self._lines: dict[int, list[bytes]] = {}

    def take(self, report: Report, row: dict[str, Any]) -> None:
        """Take a row; its columns must be those of its line."""
        size, text = row["size"], row["line"].rstrip(b"\n") + b"\n"
        try:
            line = NoteSignature.parse(text.decode())
        except (NoteError, UnicodeDecodeError):
            report.find(TAMPERED, f"a cosignature of {size} is not a signature line")
            return
        if (line.name, line.key_id) != (row["name"], row["key_id"]):
            report.find(TAMPERED, f"a cosignature of {size} is stored under another name or key")
        self._lines.setdefault(size, []).append(text)

    def of(self, size: int) -> bytes:
        """Return the lines of a checkpoint and forget them."""
        return b"".join(self._lines.pop(size, []))

    def finish(self, report: Report) -> None:
        """Report the rows whose checkpoint never came."""
        for size in sorted(self._lines):
            report.find(TAMPERED, f"a cosignature of {size}, and no such checkpoint")


class Later:
    """The signatures of checkpoints from outside that are of a larger tree than the backup's.

    Which keys count is known only after all changes of keys, from outside and in the log.
    """

    def __init__(self, outside: Outside) -> None:
        """Start with none; raise Bad if a key or the policy is malformed."""
        self._trust = Trust(outside.vkeys, outside.policy)
        self._given = outside.rotations
        self._logged: list[object] = []
        self._notes: list[bytes] = []

    def add(self, note: bytes) -> None:
        """Take a checkpoint."""
        self._notes.append(note)

    def entry(self, row: Mapping[str, Any]) -> None:
        """Take a record of the log; it may change keys."""
        if self._notes and row["kind"] in {Kind.KEY_ROTATED, Kind.KEY_REVOKED}:
            with contextlib.suppress(AuditError):  # the verifier reports it
                self._logged.append(parse_payload(row["payload"]).get("statement"))

    def finish(self, report: Report, origin: str) -> None:
        """Judge the checkpoints; call it after all records were taken and judged."""
        if not self._notes or not self._trust.keys:
            return
        self._follow(origin)
        for note in self._notes:
            try:
                self._judge(report, self._trust.open(note), origin)
            except Bad as error:
                report.find(TAMPERED, f"a kept checkpoint: {error}")

    def _follow(self, origin: str) -> None:
        """Apply all changes of keys; the verifier reports malformed ones."""
        self._trust.give(Report(), self._given, origin)
        for statement in self._logged:
            with contextlib.suppress(Bad):
                self._trust.follow(statement, origin)
        with contextlib.suppress(Bad):
            self._trust.settle(Report())

    def _judge(self, report: Report, seen: SeenCheckpoint, origin: str) -> None:
        text = f"the kept checkpoint of {seen.head.size}"
        why = self._trust.counts(seen.signers, seen.head.size, self._trust.made_us([seen]))
        if seen.head.origin != origin:
            report.find(TAMPERED, f"{text} is of the log {seen.head.origin}, not {origin}")
        elif not seen.signers:
            report.find(TAMPERED, f"{text} is signed by no trusted key{CHANGED}")
        elif why == "replaced":
            report.find(TAMPERED, f"{text} is signed only by a key that had been replaced")
        elif why:
            report.find(NOT_CHECKABLE, f"{text} is signed only by a key that is revoked: {NO_TIME}")


@dataclass(slots=True)
class _Counts:
    """How many values were held against their records, and which are missing, by subject."""

    rows: int = 0
    opened: int = 0
    missing: Counter[str] = field(default_factory=Counter)
    first: dict[str, int] = field(default_factory=dict)


def judge_values(
    connection: TupleConnection, report: Report, origin: str, vault: Vault | None
) -> None:
    """Compare every encrypted value with its record, in a log that was just verified.

    Reads inside the caller's transaction; memory grows with subjects only. `origin` is the log's
    name, which values are bound to; `vault` has the subject keys, if they are at hand.

    Raises:
        CanonicalError: a payload is malformed, which the verifier has reported.
    """
    counts = _Counts()
    with connection.cursor(name="judge_values") as cursor:
        cursor.itersize = _ROWS
        for seq, rows in groupby(cursor.execute(_VALUES_SQL), key=lambda row: row[0]):
            _judge_record(report, counts, seq, list(rows), (origin, vault))
    erased = set(_erased(connection)) if counts.missing else set()
    for subject in sorted(counts.missing.keys() - erased):
        text = (
            f"{counts.missing[subject]} values about {subject} are missing, the first of this"
            " record, and no erasure of that subject is on record and signed"
        )
        report.find(INCOMPLETE, text, counts.first[subject])
    gone = sum(counts.missing[subject] for subject in counts.missing.keys() & erased)
    if counts.rows or gone:
        opened = "" if vault is None else f", {counts.opened} were opened with keys of this vault"
        report.say(
            f"{counts.rows} encrypted values belong to their records{opened};"
            f" {gone} are erased, on record"
        )


def _judge_record(
    report: Report,
    counts: _Counts,
    seq: int,
    rows: list[tuple[Any, ...]],
    bound: tuple[str, Vault | None],
) -> None:
    """Judge the values of one record, and count those that it names and that are missing."""
    origin, vault = bound
    _, stream, idem_key, payload, commitments, *_ = rows[0]
    named = {} if payload is None else named_by(payload, len(commitments) // HASH_BYTES)
    for position, subject, sealed in (row[5:] for row in rows if row[5] is not None):
        row = Sealed(position=position, subject=subject, sealed=sealed)
        about = named.pop(position, None)
        why = ""
        if about is None:
            why = "which commits to none there, or names nobody for it"
        elif about.subject != subject:
            why = "which names another subject there"
        elif not has_sealed_form(sealed):
            why = "in no form that a vault writes"
        elif vault is not None and subject in vault.subjects():
            place = {"log": origin, "stream": stream, "idem_key": idem_key, "path": about.path}
            digest = commitments[HASH_BYTES * position :][:HASH_BYTES]
            why = "" if _opens(vault, row, place, digest) else "which it does not open to"
            counts.opened += not why
        counts.rows += not why
        if why:
            report.find(TAMPERED, f"an encrypted value at position {position}, {why}", seq)
    for about in named.values():
        counts.missing[about.subject] += 1
        counts.first.setdefault(about.subject, seq)


def _opens(vault: Vault, row: Sealed, place: dict[str, str], digest: bytes) -> bool:
    """Return whether a value opens in its place to what the record commits to."""
    try:
        return commitment(vault.open(row, **place)) == digest.hex()
    except VaultError:
        return False


def _erased(connection: TupleConnection) -> Iterator[str]:
    """Yield the subjects whose erasure is on record and signed."""
    with connection.cursor(name="judge_erased") as cursor:
        for (payload,) in cursor.execute(_ERASED_SQL, (Kind.SUBJECT_ERASED,)):
            yield str(parse_payload(payload).get("subject"))
