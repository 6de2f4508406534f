"""A small log for tests: drafts, and a whole log in memory built by the real batch builder."""

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.records.canonical import JSON
from audit.records.kinds import Kind
from audit.records.record import Draft, Record, prepare
from audit.sequencer.batch import Builder, LogPosition
from audit.sequencer.lanes import Append, Guard, MapHeads
from audit.signers.file import FileSigner
from audit.tlog.checkpoint import Checkpoint, make_checkpoint
from audit.tlog.merkle import Frontier
from audit.tlog.note import Note, parse_note
from audit.verifier.verify import LogVerifier, Report

ORIGIN = "tests.example/log"
SIGNER = FileSigner(ORIGIN, Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
OTHER_SIGNER = FileSigner(ORIGIN, Ed25519PrivateKey.from_private_bytes(bytes(32)))
RUN: dict[str, JSON] = {"account": "acc", "run_id": "r1", "mode": "paper", "dev": True}
TIME_US = 1_545_868_800_000_000


def note(text: str, key: str | None = None) -> Draft:
    """Draft a line in the control stream."""
    return Draft(
        stream="control",
        kind=Kind.OPERATOR_NOTE,
        payload={"text": text},
        actor="person:ada",
        idem_key=key or f"note:{text}",
    )


def refused(decision: str, account: str = "acc") -> Draft:
    """Draft a record that moves an account's section."""
    return Draft(
        stream=f"decision/{decision}",
        kind=Kind.RESERVATION_RELEASED,
        payload={"account": account, "reason": "test"},
        actor="gateway",
        idem_key="released",
    )


def started() -> Draft:
    """Draft the record of the run that the decisions name."""
    return Draft(
        stream="control",
        kind=Kind.RUN_STARTED,
        payload={
            **RUN,
            "profile": "test",
            "git": "0",
            "versions": {},
            "models": {},
            "playback": {},
            "first_as_of_us": TIME_US,
            "data_cutoff_us": TIME_US,
        },
        actor="gateway",
        idem_key="run_started:r1",
    )


def policy(name: str) -> Draft:
    """Draft an activated policy, which one role signed."""
    document: dict[str, JSON] = {"name": name, "signatures_min": 1}
    digest = policy_digest(name)
    return Draft(
        stream="control",
        kind=Kind.POLICY_ACTIVATED,
        payload={
            "policy_digest": digest,
            "policy": document,
            "signatures": [{"role": "risk", "signer": "ada", "signature": "0" * 128}],
            "signed_by": ["risk:ada"],
            "reason": "test",
        },
        actor="gateway",
        idem_key=f"policy:{digest}",
    )


def policy_digest(name: str) -> str:
    """Return the digest of a policy that `policy` drafts."""
    document = json.dumps({"name": name, "signatures_min": 1}, separators=(",", ":"))
    return sha256(f"countersign.policy/1\n{document}".encode()).hexdigest()


def asked(decision: str, digest: str) -> Draft:
    """Draft an intent that names a policy."""
    return Draft(
        stream=f"decision/{decision}",
        kind=Kind.INTENT_RECEIVED,
        payload={
            **RUN,
            "decision_id": decision,
            "client_key": "k",
            "request": {},
            "policy_digest": digest,
        },
        actor="gateway",
        idem_key="intent:k",
    )


def inbound(offset: int) -> Draft:
    """Draft a raw FIX message as it came in."""
    return Draft(
        stream="session/EMS",
        kind=Kind.FIX_INBOUND,
        payload={
            "offset": offset,
            "raw": "8=FIX.4.4\x01",
            "msg_type": "8",
            "digest": sha256(b"8=FIX.4.4\x01").hexdigest(),
        },
        actor="fix",
        idem_key=f"inbound:{offset}",
    )


def reported(decision: str, offset: int) -> Draft:
    """Draft the end of an order that was read from an inbound message."""
    return Draft(
        stream=f"decision/{decision}",
        kind=Kind.ORDER_ENDED,
        payload={
            "account": "acc",
            "cl_ord_id": "ABC",
            "reason": "expired",
            "order_state": "EXPIRED",
            "session": "EMS",
            "inbox_offset": offset,
        },
        actor="fix",
        idem_key=f"report:{offset}",
    )


def opening(decision: str, blob: str) -> Draft:
    """Draft the first record of a decision, a request that names a blob."""
    return Draft(
        stream=f"decision/{decision}",
        kind=Kind.INTENT_RECEIVED,
        payload={
            **RUN,
            "decision_id": decision,
            "client_key": "opening",
            "request": {"wish_blob": blob},
        },
        actor="gateway",
        idem_key="intent:opening",
    )


def cancelling(decision: str) -> Draft:
    """Draft a request to cancel; no verdict has to stand before it."""
    return Draft(
        stream=f"decision/{decision}",
        kind=Kind.CANCEL_REQUESTED,
        payload={
            "account": "acc",
            "decision_id": decision,
            "orig_cl_ord_id": "AAA",
            "session": "EMS",
            "requested_by": "ada",
            "role": "operator",
            "client_key": "k",
            "reason": "test",
        },
        actor="person:ada",
        idem_key="cancel_requested:ada:k",
    )


def sealed(decision: str) -> Draft:
    """Draft the last record of a decision."""
    return Draft(
        stream=f"decision/{decision}",
        kind=Kind.DECISION_SEALED,
        payload={"outcome": "filled"},
        actor="gateway",
        idem_key="sealed",
    )


def empty_position() -> LogPosition:
    """Return where a new log stands."""
    return LogPosition(
        log=ORIGIN,
        frontier=Frontier(),
        heads={},
        changed={},
        sections={},
        firm_seq=-1,
        recorded_at_us=0,
    )


def append(*drafts: Draft, guard: Guard | None = None) -> Append:
    """Make a request as `Ledger.append` does."""
    return Append(prepared=tuple(prepare(draft) for draft in drafts), guard=guard)


@dataclass(slots=True)
class MemoryLog:
    """A log without a database: the real builder, the real checkpoints, rows as dictionaries."""

    position: LogPosition = field(default_factory=empty_position)
    rows: list[dict[str, Any]] = field(default_factory=list)
    checkpoints: list[Checkpoint] = field(default_factory=list)
    blobs: dict[bytes, bytes] = field(default_factory=dict)
    now_us: int = TIME_US

    def append(self, *drafts: Draft) -> None:
        """Commit some drafts."""
        self._commit(append(*drafts))

    def checkpoint(self) -> None:
        """Map the heads and sign."""
        self._commit(MapHeads())
        frontier = self.position.frontier
        self.checkpoints.append(make_checkpoint(frontier.size, frontier.root(), SIGNER))

    def _commit(self, request: Append | MapHeads) -> None:
        self.now_us += 1
        builder = Builder(self.position, {}, self.now_us)
        builder.add(request)
        for row in builder.finish().rows:
            self.rows.append({**columns(row.record), "account": row.account})
        self.position = builder.advance()

    def head(self) -> dict[str, Any]:
        """Return the head as it would be stored."""
        frontier = self.position.frontier
        return {
            "origin": ORIGIN,
            "size": frontier.size,
            "root": frontier.root(),
            "frontier": frontier.to_bytes(),
        }

    def verify(self, *keys: str) -> Report:
        """Run the outsider's verifier over it."""
        log = LogVerifier(keys)
        log.head(self.head())
        for checkpoint in self.checkpoints:
            log.checkpoint(checkpoint.size, checkpoint.note)
        for digest, data in self.blobs.items():
            log.blob(digest, data)
        for row in self.rows:
            log.entry(row)
        return log.finish()


def columns(record: Record) -> dict[str, Any]:
    """Return a record's columns."""
    return {
        name: str(value) if name == "kind" else value
        for name in Record.__struct_fields__
        for value in (getattr(record, name),)
    }


def small_log() -> MemoryLog:
    """Return a log of two decisions, notes and three checkpoints, all signed."""
    log = MemoryLog()
    blob = b"snapshot"
    log.blobs[sha256(blob).digest()] = blob
    log.append(started(), opening("d1", sha256(blob).hexdigest()))
    log.append(cancelling("d1"))
    log.append(note("two"), sealed("d1"))
    log.checkpoint()
    log.append(opening("d2", sha256(blob).hexdigest()), refused("d2"))
    log.append(sealed("d2"))
    log.checkpoint()
    log.append(note("three"))
    log.checkpoint()
    return log


def ungreased(log: MemoryLog) -> MemoryLog:
    """Leave only the log's own signature lines, as logs before the grease line had them."""
    for at, checkpoint in enumerate(log.checkpoints):
        note = parse_note(checkpoint.note)
        lines = tuple(line for line in note.signatures if line.name == ORIGIN)
        bare = Note(text=note.text, signatures=lines).to_bytes()
        log.checkpoints[at] = replace(checkpoint, note=bare)
    return log


def dump_of(log: MemoryLog) -> list[bytes]:
    """Return the lines of the log's dump."""

    def line(kind: str, row: dict[str, Any]) -> bytes:
        plain = {
            name: base64.b64encode(value).decode() if isinstance(value, bytes) else value
            for name, value in row.items()
        }
        return json.dumps({"type": kind, **plain}).encode() + b"\n"

    return [
        line("head", log.head()),
        *(line("checkpoint", {"size": c.size, "note": c.note}) for c in log.checkpoints),
        *(line("blob", {"digest": d, "data": b}) for d, b in log.blobs.items()),
        *(line("entry", row) for row in log.rows),
        line("end", {"entries": len(log.rows)}),
    ]


def flipped(value: object) -> Iterator[object]:
    """Yield values that differ from a column's in one byte, letter or unit."""
    match value:
        case b"":
            yield bytes(32)
        case bytes():
            for place in {0, len(value) // 2, len(value) - 1} if value else set():
                yield value[:place] + bytes([value[place] ^ 1]) + value[place + 1 :]
        case int():
            yield value + 1
            yield value ^ 2
        case str():
            for place in {0, len(value) - 1} if value else set():
                yield value[:place] + chr(ord(value[place]) ^ 1) + value[place + 1 :]
        case _:
            yield "x"
