"""The writer of the crash tests: the real ledger under load, in a process of its own.

It says in an event file what it saw; a line is one `write`, so it outlives a kill:

    refused <ns>                       the log is held by another
    open <ns> <size>
    start <ns> <key> <drafts>          before the first try
    ack <ns> <key> <seq>:<leaf>,...    after `append` returned
    blob <ns> <digest>                 after `put_blob` returned
    note <ns> <base64>                 a stored checkpoint
    stop <ns> <why>                    the ledger writes no more, or was closed
    broken <ns> <why>                  an error that nobody may see

Times are CLOCK_MONOTONIC, which all processes share. What a key stands for follows from the key
alone, so whoever retries it appends the same drafts.
"""

import base64
import itertools
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from random import Random

from audit.errors import (
    LedgerFencedError,
    LedgerStoppedError,
    LedgerTimeoutError,
    LedgerWriteError,
)
from audit.records.kinds import Kind
from audit.sequencer.config import SequencerConfig
from audit.sequencer.ledger import Draft, Lane, Ledger, LedgerConfig, Record
from audit.tlog.checkpoint import Checkpoint
from tests.crash.ledger_mutants import UNLOCKED, Mutant, install
from tests.doubles.audit_log import SIGNER

COMMIT_DEADLINE_S = 1.0
IN_DOUBT_S = 8.0
OPEN_WITHIN_S = 40.0
MANY_EVERY = 97
MANY = 150
"""More rows than one statement takes: the COPY path."""
REPEAT_EVERY = 11


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What one writer process does.

    Attributes:
        dsn: of the log's database.
        events: the file for its events; its standard error lies beside it.
        name: unique among the writers of a log.
        seed: of the choices that no key fixes.
        pending: keys of earlier writers that were never acknowledged, to try again first.
        threads: how many append at the same time.
        checkpoint_every_s: the ledger's cadence.
        lock_wait_s: the ledger's patience with another holder.
        blobs: a blob is stored after one of so many appends, on a connection of its own; 0: never.
        pause_s: how long an opened ledger rests before the first append.
        appends_max: close the ledger after so many appends of each thread; 0: never.
        rounds: how often the ledger is opened; a round ends when it is closed or stops.
        mutant: what is wrong with this writer's ledger.
    """

    dsn: str
    events: Path
    name: str
    seed: int
    pending: tuple[str, ...] = ()
    threads: int = 4
    checkpoint_every_s: float = 0.05
    lock_wait_s: float = 0.2
    blobs: int = 13
    pause_s: float = 0.0
    appends_max: int = 0
    rounds: int = 1
    mutant: Mutant = Mutant.NONE


def drafts_of(key: str) -> tuple[Draft, ...]:
    """Return the drafts that a key stands for: 1 to 3, now and then many."""
    digest = sha256(key.encode()).digest()
    number = int.from_bytes(digest[:4])
    many = number % MANY_EVERY == 0
    return tuple(
        _draft(f"{key}.{place}", key.split(".")[1], digest[place % 24 :], small=many)
        for place in range(MANY if many else 1 + digest[4] % 3)
    )


def _draft(idem_key: str, thread: str, digest: bytes, *, small: bool) -> Draft:
    """Draft one record: in the shared stream, in a shared session or in the thread's own."""
    text = idem_key * (1 if small else 1 + digest[0] % 40)
    if digest[1] % 3 == 0:
        return Draft(
            stream="control",
            kind=Kind.OPERATOR_NOTE,
            payload={"text": text},
            actor="person:ada",
            idem_key=idem_key,
        )
    return Draft(
        stream="session/shared" if digest[1] % 3 == 1 else f"session/{thread}",
        kind=Kind.FIX_INBOUND,
        payload={
            "offset": int.from_bytes(sha256(idem_key.encode()).digest()[:6]),
            "raw": text,
            "msg_type": "8",
            "digest": sha256(text.encode()).hexdigest(),
        },
        actor="fix",
        idem_key=idem_key,
    )


class Events:
    """The event file of one writer; safe for its threads."""

    def __init__(self, path: Path) -> None:
        """Open it."""
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def say(self, word: str, *values: object) -> None:
        """Write one line with the time."""
        line = " ".join([word, str(time.monotonic_ns()), *map(str, values)])
        os.write(self._file, f"{line}\n".encode())

    def acknowledged(self, key: str, records: Sequence[Record]) -> None:
        """Say which records an append returned."""
        self.say("ack", key, ",".join(f"{r.seq}:{r.leaf.hex()}" for r in records))

    def checkpoint(self, checkpoint: Checkpoint) -> None:
        """Say a stored checkpoint."""
        self.say("note", base64.b64encode(checkpoint.note).decode())


def wandering_clock(seed: int) -> Iterator[int]:
    """Yield microseconds of a clock that is now and then set back, and seldom forward."""
    chance = Random(seed)  # noqa: S311 - a test's clock
    offset_us = 0
    while True:
        if chance.random() < 0.02:
            offset_us -= chance.randrange(3_600_000_000)
        elif chance.random() < 0.002:
            offset_us = chance.randrange(1_000_000)
        yield time.time_ns() // 1000 + offset_us  # noqa: TID251 - a test's clock


class Writer:
    """A ledger under load."""

    def __init__(self, plan: Plan) -> None:
        """Keep the plan; see `run`."""
        self._plan = plan
        self._events = Events(plan.events)
        self._closing = threading.Event()
        self._unanswered: dict[int, str] = {}

    def run(self) -> None:
        """Open the ledger, append until it stops, is done or SIGTERM, and close it."""
        signal.signal(signal.SIGTERM, lambda *_: self._closing.set())
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        install(self._plan.mutant)
        for turn in range(self._plan.rounds):
            ledger = self._opened()
            if ledger is None or not self._hold(ledger, turn):
                return

    def _hold(self, ledger: Ledger, turn: int) -> bool:
        """Append while the log is ours; say whether to come again."""
        self._events.say("open", ledger.size)
        self._closing.wait(self._plan.pause_s)
        threads = [
            threading.Thread(target=self._guarded, args=(ledger, turn, number))
            for number in range(self._plan.threads)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        ledger.close()
        self._events.say("stop", repr(ledger.stopped))
        return not self._closing.is_set()

    def _opened(self) -> Ledger | None:
        """Try until the log is ours."""
        plan = self._plan
        config = LedgerConfig(
            dsn=plan.dsn,
            checkpoint_every_s=plan.checkpoint_every_s,
            lock_wait_s=plan.lock_wait_s,
            sequencer=SequencerConfig(commit_deadline_s=COMMIT_DEADLINE_S, in_doubt_s=IN_DOUBT_S),
        )
        clock = wandering_clock(plan.seed)
        deadline = time.monotonic() + OPEN_WITHIN_S
        while not self._closing.is_set():
            try:
                return Ledger.open(
                    config, SIGNER, clock.__next__, on_checkpoint=self._events.checkpoint
                )
            except LedgerFencedError:
                self._events.say("refused")
            except LedgerWriteError as error:
                if time.monotonic() > deadline:
                    self._events.say("stop", repr(error))
                    return None
            except Exception as error:  # noqa: BLE001 - the harness judges it
                # Without the lock it reads while another writes; what does not fit is refused.
                if plan.mutant not in UNLOCKED or time.monotonic() > deadline:
                    self._events.say("broken", repr(error))
                    return None
            time.sleep(0.01)
        return None

    def _guarded(self, ledger: Ledger, turn: int, number: int) -> None:
        try:
            self._append(ledger, turn, number)
        except LedgerStoppedError:
            pass
        except Exception as error:  # noqa: BLE001 - the harness judges it
            self._events.say("broken", repr(error))

    def _append(self, ledger: Ledger, turn: int, number: int) -> None:
        plan = self._plan
        chance = Random(f"{plan.seed} {turn} {number}")  # noqa: S311 - a test's load
        done: list[str] = []
        old = self._open_keys(turn, number)
        new = (f"{plan.name}.t{number}.{turn}-{count}" for count in itertools.count())
        for count, key in enumerate(itertools.chain(old, new)):
            if self._closing.is_set() or 0 < plan.appends_max <= count:
                return
            self._events.say("start", key, len(drafts_of(key)))
            self._unanswered[number] = key
            self._until_acknowledged(ledger, key, chance)
            self._unanswered.pop(number)
            done.append(key)
            if chance.randrange(REPEAT_EVERY) == 0:
                self._until_acknowledged(ledger, chance.choice(done), chance)
            if plan.blobs and chance.randrange(plan.blobs) == 0:
                self._put_blob(ledger, key)

    def _open_keys(self, turn: int, number: int) -> Sequence[str]:
        """Return what nobody was told about: earlier writers' keys, or this thread's last one."""
        if turn == 0:
            return self._plan.pending[number :: self._plan.threads]
        last = self._unanswered.get(number)
        return () if last is None else (last,)

    def _until_acknowledged(self, ledger: Ledger, key: str, chance: Random) -> None:
        """Append a key's drafts with the same keys until the ledger says that they are on disk."""
        while True:
            lane = chance.choice(list(Lane))
            try:
                records = ledger.append(
                    *drafts_of(key), lane=lane, timeout_s=chance.uniform(0.2, 3.0)
                )
            except (LedgerTimeoutError, LedgerWriteError):
                time.sleep(0.02)
                continue
            self._events.acknowledged(key, records)
            return

    def _put_blob(self, ledger: Ledger, key: str) -> None:
        try:
            digest = ledger.put_blob(key.encode() * 50)
        except LedgerWriteError:
            return
        self._events.say("blob", digest)


def write(plan: Plan) -> None:
    """Be a writer process."""
    handle = os.open(plan.events.with_suffix(".err"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(handle, 2)
    Writer(plan).run()
