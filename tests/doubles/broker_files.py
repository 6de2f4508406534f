"""A broker's own files of fills, the log that they must match, and a log that was written again.

What the broker said is kept when it is said, before anything of ours reads it.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from typing_extensions import override

from audit.records.kinds import Kind
from audit.records.record import Draft
from audit.signers.file import FileSigner
from audit.tlog.checkpoint import Checkpoint, make_checkpoint
from fix.wire.identity import cl_ord_id
from gateway.walk.journal.forecast import seeds_digest
from inference.forecast.joint import joint_seed
from inference.speculation.seeds import decision_seed, prompt_label, trajectory_seeds
from tests.doubles.audit_log import MemoryLog, columns, empty_position
from tests.doubles.memory_desk import MemoryDesk
from tests.doubles.signing_anew import signing
from tests.doubles.walk_scenes import quantity

COLUMNS = "cl_ord_id,exec_id,instrument,side,quantity,price,account,time"
LOG = "memory.test"
SIGNER = FileSigner(LOG, Ed25519PrivateKey.from_private_bytes(bytes(range(32))))


@dataclass(slots=True)
class SignedLog(MemoryLog):
    """A log in memory with a key of its own.

    Attributes:
        names: how the leaves and orders of the log that it was written from are named here.
    """

    names: dict[str, str] = field(default_factory=dict)

    @override
    def head(self) -> dict[str, Any]:
        """Return the stored head."""
        return {**MemoryLog.head(self), "origin": LOG}

    @override
    def checkpoint(self) -> None:
        """Map the heads and sign with the log's own key."""
        MemoryLog.checkpoint(self)
        frontier = self.position.frontier
        self.checkpoints[-1] = make_checkpoint(frontier.size, frontier.root(), SIGNER)

    def renamed(self, text: str) -> str:
        """Return text with the names of this log."""
        for old, new in self.names.items():
            text = text.replace(old, new)
        return text


@dataclass(slots=True)
class Broker:
    """What a broker sent, kept on its side of the line; and the log of the desk that it serves."""

    desk: MemoryDesk
    sent: list[str] = field(default_factory=list)

    def says(self, raw: str) -> None:
        """Send a message, and keep it."""
        self.sent.append(raw)
        self.desk.settled(raw)

    def ledger(self) -> SignedLog:
        """Return the desk's log, signed; from here on orders have the names of that log.

        A memory ledger has no roots for seeds, so the log gets a checkpoint behind its first two
        records, the run and its policy: every later record has the next number.
        """
        log = SignedLog(position=replace(empty_position(), log=LOG))
        for record in self.desk.log.records():
            log.rows.append(columns(record))
        for digest in self.desk.log._blobs:  # noqa: SLF001 - what a dump has
            log.blobs[bytes.fromhex(digest)] = self.desk.log.blob(digest) or b""
        log = written_again(log, _moved, rooted=True)
        named = f"{LOG}#{bytes(log.rows[0]['leaf']).hex()}"
        log = written_again(log, signing(self.desk.small.desk.own.keyring, named), log.names)
        self.sent = [log.renamed(raw) for raw in self.sent]
        return log

    def fix_log(self, mark: str = "|") -> bytes:
        """Return everything as a FIX log."""
        lines = (f"20180102-15:00:00.000 : {raw}".replace("\x01", mark) for raw in self.sent)
        return "\n".join([*lines, ""]).encode("latin-1")

    def csv(self, edit: Callable[[list[str]], Iterable[str]] = list) -> bytes:
        """Return the trades as CSV, with other rows by `edit`."""
        rows = []
        for raw in self.sent:
            told = dict(part.split("=", 1) for part in raw.split("\x01") if part)
            if told["35"] == "8" and told["150"] == "F":
                cells = [told[tag] for tag in ("11", "17", "55", "54", "32", "31")]
                rows.append(",".join([*cells, told.get("1", ""), told["60"]]))
        return "\n".join([COLUMNS, *edit(rows), ""]).encode()


_FIRST = 2
"""How many records of a desk's log come before the checkpoint that its seeds follow."""


def _moved(draft: Draft) -> Draft:
    """Name records behind the first ones by their next numbers."""
    return replace(draft, payload=_renumbered(dict(draft.payload)))


def _renumbered(value: Any) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, list):
        return [_renumbered(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {name: _next(name, below) for name, below in value.items()}


def _next(name: str, value: Any) -> Any:  # noqa: ANN401 - any JSON
    if name.endswith("_seq") and isinstance(value, int):
        return value + (value >= _FIRST)
    if name == "marks" and isinstance(value, list):
        return [one + (one >= _FIRST) for one in value]
    if name == "marks" and isinstance(value, str) and value:
        return "-".join(str(one) for one in _next(name, list(map(int, value.split("-")))))
    return _renumbered(value)


_NAMING = frozenset({Kind.VERDICT_GIVEN, Kind.REPLACE_REQUESTED, Kind.CANCEL_REQUESTED})
"""Kinds after whose leaf a message to the broker is named."""


def _with_digest(payload: dict[str, Any]) -> dict[str, Any]:
    """Return a payload whose message was renamed, with the digest of the new message."""
    for name in {"digest", "raw_digest"} & payload.keys() if "raw" in payload else ():
        payload[name] = sha256(payload["raw"].encode("latin-1")).hexdigest()
    return payload


def written_again(
    old: SignedLog,
    change: Callable[[Draft], Draft],
    names: Mapping[str, str] | None = None,
    *,
    rooted: bool = False,
) -> SignedLog:
    """Return a log as somebody with all keys would write it: changed, named anew, signed.

    Every hash is computed again. What names a changed leaf (the ClOrdIDs, in records and in raw
    messages too) names the new one, and seeds follow from the new roots, so that the log is sound
    in itself. `names` are how `old` had renamed them; `rooted` makes a checkpoint behind the first
    records.
    """
    log = SignedLog(position=replace(empty_position(), log=LOG), blobs=old.blobs)
    roots: dict[str, Checkpoint] = {}
    seeds: dict[str, bytes] = {}
    for row in old.rows:
        if row["kind"] == Kind.STREAM_HEADS:
            log.checkpoint()
            continue
        draft = Draft(
            stream=row["stream"],
            kind=Kind(row["kind"]),
            payload=_with_digest(json.loads(log.renamed(bytes(row["payload"]).decode()))),
            actor=row["actor"],
            idem_key=log.renamed(row["idem_key"]),
        )
        log.append(change(_seeded(draft, log, roots, seeds)))
        before, leaf = bytes(row["leaf"]), bytes(log.rows[-1]["leaf"])
        log.names[before.hex()] = leaf.hex()
        if draft.kind in _NAMING:
            log.names[cl_ord_id(before)] = cl_ord_id(leaf)
        if rooted and len(log.rows) == _FIRST:
            log.checkpoint()
    if log.rows[-1]["kind"] != Kind.STREAM_HEADS:
        log.checkpoint()
    for first, second in (names or {}).items():
        log.names[first] = log.names.get(second, second)
    return log


def _seeded(
    draft: Draft, log: SignedLog, roots: dict[str, Checkpoint], seeds: dict[str, bytes]
) -> Draft:
    """Return a request with the seeds of its forecast's root: the last before its first opening.

    A set of joint paths gets the seed of its members' seeds.
    """
    payload: dict[str, Any] = dict(draft.payload)
    if draft.kind is Kind.PATHS_JOINED:
        named = [f"{one['forecast_id']}.{one['attempt']}" for one in payload["members"]]
        found = [seeds[one] for one in named if one in seeds]
        joint = joint_seed(found).hex() if len(found) == len(named) else payload["seed"]
        return replace(draft, payload=payload | {"seed": joint})
    forecast_id, _, number = draft.stream.removeprefix("forecast/").rpartition(".")
    if draft.kind is Kind.TOKENS_DRAWN:
        found_seed = seeds.get(f"{forecast_id}.{number}")
        return replace(draft, payload=payload | {"seed": found_seed.hex()}) if found_seed else draft
    if draft.kind is Kind.SNAPSHOT_TAKEN and log.checkpoints:
        roots.setdefault(forecast_id, log.checkpoints[-1])
    root = roots.get(forecast_id) if draft.kind is Kind.FORECAST_REQUESTED else None
    if root is None:
        return draft
    seed = decision_seed(root.root, prompt_label(payload["prompt_ids"]), int(number))
    seeds[f"{forecast_id}.{number}"] = seed
    drawn = seeds_digest(trajectory_seeds(seed, payload["paths"]))
    drawn = drawn if payload["seeds_digest"] else ""
    fresh = {"seed_root": root.root.hex(), "seed_size": root.size, "seeds_digest": drawn}
    return replace(draft, payload=payload | fresh)


def officers(played: Broker, tmp_path: Path, *more: tuple[str, bytes]) -> list[str]:
    """Return the options with both officers' public keys, or with others for some roles."""
    asked: list[str] = []
    for role, raw in {**played.desk.small.desk.own.keyring.public_keys(), **dict(more)}.items():
        file = tmp_path / f"{role}.pub"
        file.write_text(f"countersign-officer-public {role} {role}-officer {raw.hex()}\n")
        asked += ["--officer", str(file)]
    return asked


def two_orders(desk: MemoryDesk) -> Broker:
    """Return a broker that filled one order in two parts and a second one in part."""
    broker = Broker(desk)
    first = desk.rest(50)
    broker.says(desk.report(first, t12="0.50", t13="3"))
    all_of_it = str(quantity(first))
    rest = {"t32": str(quantity(first) - 1), "t14": all_of_it, "t151": "0", "t39": "2"}
    broker.says(desk.report(desk.standing(first.decision_id), **rest))
    second = desk.rest(20)
    broker.says(desk.report(second, t17="A", t32="3", t14="3"))
    return broker
