"""A large ledger for measuring: real records, chains, maps and checkpoints, by the real writer.

Unlike a gateway it writes large batches, from one writer, and waits for no callers. The mix:
decisions of eight records, 32 open at a time and eight on one forecast, a FIX session that carries
two messages for each decision, and a checkpoint about every 500 records.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from hashlib import sha256
from itertools import count

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.records.canonical import JSON
from audit.records.kinds import Kind
from audit.records.record import Draft, prepare
from audit.sequencer.batch import Builder
from audit.sequencer.lanes import Append, MapHeads
from audit.sequencer.recovery import position_of
from audit.signers.file import FileSigner
from audit.store.connection import LogHead, Store
from audit.store.tables import WRITER_ROLE, connect
from audit.store.watchdog import Watchdog
from audit.tlog.checkpoint import make_checkpoint

ORIGIN = "bench.example/log"
SIGNER = FileSigner(ORIGIN, Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
START_US = 1_545_868_800_000_000
CHECKPOINT_EVERY = 500
BATCHES_PER_COMMIT = 8
OPEN_DECISIONS = 32
DECISIONS_EACH = 8
"""Decisions that rest on one forecast."""
_SNAPSHOT = b"snapshot of the bench"


def write_big_log(dsn: str, records: int, progress: Callable[[int], None]) -> int:
    """Fill an empty, migrated database with at least `records` records; return how many."""
    watchdog = Watchdog()
    store = Store(dsn, ORIGIN, 5.0, watchdog)
    try:
        position, _ = position_of(store, (SIGNER,))
        with connect(dsn, role=WRITER_ROLE) as notes:
            notes.execute(
                "INSERT INTO ledger.blob VALUES (%b, %b)", (sha256(_SNAPSHOT).digest(), _SNAPSHOT)
            )
            drafts = _drafts()
            while position.size < records:
                rows, signed = [], []
                for _ in range(BATCHES_PER_COMMIT):
                    builder = Builder(position, {}, START_US + position.size * 2_000)
                    for _ in range(CHECKPOINT_EVERY):
                        builder.add(Append(prepared=(prepare(next(drafts)),)))
                    builder.add(MapHeads())
                    rows += builder.finish().rows
                    position = builder.advance()
                    size, root = position.size, position.frontier.root()
                    signed.append((size, make_checkpoint(size, root, SIGNER).note))
                frontier = position.frontier
                head = LogHead(
                    origin=ORIGIN,
                    size=frontier.size,
                    root=frontier.root(),
                    frontier=frontier.to_bytes(),
                    fence=store.head.fence,
                )
                if not store.commit(rows, head):
                    raise RuntimeError("somebody else writes this log")
                notes.cursor().executemany("INSERT INTO ledger.checkpoint VALUES (%b, %b)", signed)
                progress(position.size)
        return position.size
    finally:
        store.close()
        watchdog.close()


def _drafts() -> Iterator[Draft]:
    """Yield drafts without end: open decisions in turn, their messages, sometimes a note."""
    numbers = count()
    going = deque(_decision(next(numbers)) for _ in range(OPEN_DECISIONS))
    while True:
        decision = going.popleft()
        draft = next(decision, None)
        if draft is None:
            decision = _decision(next(numbers))
            draft = next(decision)
        going.append(decision)
        yield draft


def _decision(number: int) -> Iterator[Draft]:
    """Yield one decision's drafts, including those in other streams."""
    name, order = f"20181227-{number:08d}", f"{number:020X}"
    forecast_id = f"BENCH{number // DECISIONS_EACH:021d}"

    def draft(kind: Kind, key: str, stream: str = "", **payload: JSON) -> Draft:
        return Draft(
            stream=stream or f"decision/{name}",
            kind=kind,
            payload=payload,
            actor="gateway" if kind is not Kind.OPERATOR_NOTE else "person:ada",
            idem_key=key,
        )

    if number % DECISIONS_EACH == 0:
        stream = f"forecast/{forecast_id}.0"
        yield draft(
            Kind.SNAPSHOT_TAKEN,
            "snapshot",
            stream,
            run_id="bench",
            mode="paper",
            dev=True,
            forecast_id=forecast_id,
            attempt=0,
            instrument="SPXN",
            as_of_us=START_US + number,
            snapshot_blob=sha256(_SNAPSHOT).hexdigest(),
            news_digest="0" * 64,
            bars_digest="1" * 64,
            n_bars=1,
            n_news=0,
            inputs={"instrument": "SPXN"},
        )
        yield draft(
            Kind.FORECAST_SEALED, "sealed", stream, mode="paper", instrument="SPXN", outcome="made"
        )
    yield draft(
        Kind.FORECAST_TAKEN,
        "forecast:0",
        account="desk-1",
        run_id="bench",
        mode="paper",
        dev=True,
        decision_id=name,
        attempt=0,
        instrument="SPXN",
        forecast_id=forecast_id,
        forecast_attempt=0,
    )
    raw = f"8=FIX.4.4\x019=120\x0135=D\x0149=CSIGN\x0156=EMS\x0111={order}\x0138=100\x0110=000\x01"
    yield draft(
        Kind.ORDER_SENT,
        f"sent:{order}",
        cl_ord_id=order,
        msg_seq_num=number,
        raw=raw,
        raw_digest=sha256(raw.encode()).hexdigest(),
    )
    for part in (0, 1):
        offset = number * 2 + part
        yield draft(
            Kind.FIX_INBOUND,
            f"inbound:{offset}",
            "session/EMS",
            offset=offset,
            raw=raw.replace("35=D", "35=8"),
            msg_type="8",
            digest=sha256(raw.encode()).hexdigest(),
        )
        yield draft(
            Kind.ORDER_REPORTED,
            f"report:{offset}",
            account="desk-1",
            cl_ord_id=order,
            report={"exec_id": f"E{offset}", "last_qty": 50, "cum_qty": 50 * (part + 1)},
            session="EMS",
            inbox_offset=offset,
        )
    if number % 16 == 0:
        yield draft(Kind.OPERATOR_NOTE, f"note:{number}", "control", text=f"shift {number} ok")
    yield draft(Kind.RESERVATION_RELEASED, "released", account="desk-1", reason="filled")
    yield draft(Kind.DECISION_SEALED, "sealed", outcome="filled")
