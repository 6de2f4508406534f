"""A ledger for evidence without a database: the real builder's records behind the reader's door."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256

from typing_extensions import override

from audit.records.kinds import Kind
from audit.records.record import Record
from audit.store.reader import LedgerReader
from audit.tlog.checkpoint import Checkpoint
from audit.tlog.cosignature import cosign
from audit.tlog.note import NoteSignature, parse_note
from tests.doubles.audit_log import MemoryLog, cancelling, note, opening, sealed, started
from tests.doubles.cosigners import Cosigner
from tests.doubles.memory_tree import consistency_path, inclusion_path

COSIGNED_AT_S = 1_800_000_000


class MemoryReader(LedgerReader):
    """Answers as the reader role would, from a log in memory."""

    def __init__(self, log: MemoryLog) -> None:
        """Read a log; what is appended later is seen too."""
        self._log = log
        self.lines: dict[int, list[NoteSignature]] = {}

    def cosign(self, size: int, witness: Cosigner) -> None:
        """Let a witness cosign the checkpoint of a size."""
        text = parse_note(self._of(size).note).text
        self.lines.setdefault(size, []).append(cosign(text, witness, COSIGNED_AT_S))

    def _of(self, size: int) -> Checkpoint:
        return next(found for found in self._log.checkpoints if found.size == size)

    def _all(self) -> list[Record]:
        rows = [dict(row) for row in self._log.rows]
        for row in rows:
            row.pop("account")
        return [Record(**{**row, "kind": Kind(row["kind"])}) for row in rows]

    @override
    def records(
        self,
        *,
        stream: str | None = None,
        kinds: Iterable[Kind] | None = None,
        account: str | None = None,
        after_seq: int = -1,
        before_seq: int | None = None,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> Iterator[Record]:
        wanted = None if kinds is None else set(kinds)
        found = [
            record
            for record in self._all()
            if (stream is None or record.stream == stream)
            and (wanted is None or record.kind in wanted)
            and after_seq < record.seq
            and (before_seq is None or record.seq < before_seq)
            and (account is None or record.body.get("account") == account)
        ]
        yield from (found[::-1] if newest_first else found)[:limit]

    @override
    def record(self, seq: int) -> Record | None:
        return next((r for r in self._all() if r.seq == seq), None)

    @override
    def by_key(self, stream: str, idem_key: str) -> Record | None:
        found = (r for r in self._all() if (r.stream, r.idem_key) == (stream, idem_key))
        return next(found, None)

    @override
    def blob(self, digest: str) -> bytes | None:
        return self._log.blobs.get(bytes.fromhex(digest))

    @override
    def checkpoint_after(self, seq: int) -> Checkpoint | None:
        return next((found for found in self._log.checkpoints if found.size > seq), None)

    @override
    def cosigned_after(self, seq: int) -> Checkpoint | None:
        sizes = [size for size in sorted(self.lines) if size > seq]
        return self._of(sizes[0]) if sizes else None

    @override
    def cosigned_note(self, checkpoint: Checkpoint) -> bytes:
        lines = sorted(self.lines.get(checkpoint.size, []), key=lambda x: (x.name, x.key_id))
        return parse_note(checkpoint.note).with_signatures(*lines).to_bytes()

    @override
    def stream_range(self, stream: str, first: int, last: int) -> tuple[Record, ...]:
        return tuple(r for r in self.records(stream=stream) if first <= r.stream_seq <= last)

    @override
    def inclusion_proof(self, seq: int, size: int) -> tuple[bytes, ...]:
        return inclusion_path([r.leaf for r in self._all()[:size]], seq)

    @override
    def consistency_proof(self, old_size: int, size: int) -> tuple[bytes, ...]:
        return consistency_path([r.leaf for r in self._all()[:size]], old_size)


@dataclass(frozen=True, slots=True)
class Evidence:
    """A log of two sealed decisions under three checkpoints, and its reader."""

    log: MemoryLog
    reader: MemoryReader
    sizes: tuple[int, ...]


def evidence(third: str = "one") -> Evidence:
    """Return the log that the golden evidence is taken from; nobody has cosigned it yet."""
    log = MemoryLog()
    blob = b'{"bars":[]}'
    digest = sha256(blob).hexdigest()
    log.blobs[bytes.fromhex(digest)] = blob
    log.append(started(), opening("d1", digest))
    log.append(cancelling("d1"))
    log.append(note(third), sealed("d1"))
    log.checkpoint()
    log.append(opening("d2", digest), cancelling("d2"))
    log.append(sealed("d2"))
    log.checkpoint()
    log.append(note("two"))
    log.checkpoint()
    return Evidence(log, MemoryReader(log), tuple(c.size for c in log.checkpoints))
