"""The publication of stored checkpoints: tiles, cosignatures, and how far they lag.

Nothing here delays the ledger: `offer` queues the checkpoint and returns. One thread writes full
tiles, one watches the quorum, and each witness has its own (`cosigning`).

Rules:

- A cosignature is stored after it was verified, and counts after it was stored.
- The same tree may be offered several times; everything is stored once.
- Only addresses of the policy are asked.

Source: https://c2sp.org/tlog-witness, https://c2sp.org/tlog-tiles
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from audit.errors import (
    AuditError,
    LedgerError,
    LedgerUnsafeError,
    NoteError,
    TrustPolicyError,
    WitnessError,
)
from audit.store.connection import Pool
from audit.store.tiles import TileStore, TileWriter, pooled
from audit.store.watchdog import Watchdog
from audit.tlog.checkpoint import Checkpoint
from audit.tlog.note import SIGNATURES_MAX, Note, NoteSignature, VerifierKey, parse_note
from audit.tlog.policy import NONE, QuorumPolicy
from audit.tlog.tiles import consistency_from
from audit.witnesses.client import Conflict, Refused, WitnessClient
from audit.witnesses.cosigning import WitnessWorker, Work
from audit.witnesses.quorum_watch import Lags, Quorum, QuorumWatch, next_target

LOG = logging.getLogger(__name__)
_OFFERED_MAX = 256
_WITNESSES_MAX = SIGNATURES_MAX - 8  # the log's own lines: two keys of each type, and grease
_TICK_S = 0.5
_RETRY_S = 5.0
_DATABASE_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PublisherConfig:
    """The configuration of a publisher.

    The user in `dsn` must be able to `SET ROLE countersign_writer`. Without a policy only tiles are
    written. `timeout_s` is for one request. The quorum counts as lost when a checkpoint has waited
    longer than `lost_after_s`.
    """

    dsn: str
    policy: QuorumPolicy | None = None
    timeout_s: float = 5.0
    lost_after_s: float = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WitnessStanding:
    """The state of one witness; `trouble` is None while it cosigns."""

    name: str
    url: str
    cosigned_size: int
    trouble: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """The state of publication; see `QuorumWatch` for its numbers.

    `tiles` is None, or why full tiles are not written; `quorum` is None if the policy asks for no
    witnesses.
    """

    tiles: str | None
    quorum: Quorum | None
    cosigned_size: int
    waiting_s: float
    lags: Lags
    witnesses: tuple[WitnessStanding, ...]


class Publisher:
    """The publisher of one ledger's checkpoints; created before the ledger, stopped after it."""

    def __init__(
        self,
        config: PublisherConfig,
        log_key: VerifierKey,
        clock: Callable[[], int],
        on_change: Callable[[Publication], None] = lambda _: None,
    ) -> None:
        """Check the policy; no witness is asked before `start`.

        The policy need not list `log_key`, the log's own. `clock` gives microseconds UTC. The
        publisher's thread calls `on_change` when the quorum is met or lost.

        Raises:
            WitnessError: a witness has no address, or a malformed one; or there are too many.
        """
        self._addresses = _addresses(config)
        self._watchdog = Watchdog()
        self._pool = Pool(config.dsn, self._watchdog)
        self._rows = pooled(self._pool, _DATABASE_S)
        self._store = TileStore(self._rows)
        self._writer = TileWriter(self._rows, self._store)
        self._policy = None if config.policy is None else config.policy.with_logs([log_key])
        self._config = config
        self._clock = clock
        self._on_change = on_change
        self._changed = threading.Condition()
        self._stopping = False
        self._offered: dict[int, Checkpoint] = {}
        self._notes: dict[int, Note] = {}
        self._watch = QuorumWatch(lost_after_s=config.lost_after_s)
        self._target = 0
        self._tiles: str | None = None
        self._workers: tuple[WitnessWorker, ...] = ()
        self._threads = [threading.Thread(target=self._tile, name="tiles", daemon=True)]
        if self._witnessed:
            self._threads.append(threading.Thread(target=self._look, name="quorum", daemon=True))

    @property
    def _witnessed(self) -> bool:
        return self._policy is not None and self._policy.quorum != NONE

    def offer(self, checkpoint: Checkpoint) -> None:
        """Queue a new checkpoint; returns at once."""
        with self._changed:
            if checkpoint.size in self._offered:
                return
            self._offered[checkpoint.size] = checkpoint
            while len(self._offered) > _OFFERED_MAX:
                self._offered.pop(next(iter(self._offered)))
            self._watch.stored(checkpoint.size, time.monotonic())
            self._changed.notify_all()

    def start(self) -> None:
        """Start publishing; raise LedgerError if the database does not answer."""
        rows = self._rows(
            "SELECT name, key_id, max(size) FROM ledger.cosignature GROUP BY name, key_id", {}
        )
        seen = {(row[0], bytes(row[1])): int(row[2]) for row in rows}
        work = Work(next=self._next, prove=self._prove, store=self._keep, changed=self._told)
        self._workers = tuple(
            WitnessWorker(
                url,
                keys,
                work,
                self._config.timeout_s,
                min(seen.get((key.name, key.key_id), 0) for key in keys),
            )
            for url, keys in self._addresses.items()
        )
        for worker in self._workers:
            worker.start()
        for thread in self._threads:
            thread.start()

    def remembered(self, checkpoint: Checkpoint) -> dict[str, int]:
        """Return the witnesses that have seen a larger tree, with its size. Call it before `start`.

        A witness that does not answer is left out. `checkpoint` is our newest one; it is sent as if
        the witness knew it already.
        """

        def ask(address: tuple[str, tuple[VerifierKey, ...]]) -> int:
            client = WitnessClient(*address, self._config.timeout_s)
            try:
                outcome = client.add_checkpoint(checkpoint.size, (), checkpoint.note)
            except AuditError as error:
                outcome = Refused(status=0, why=str(error))
            client.close()
            if isinstance(outcome, Refused):
                LOG.warning("witness_not_asked url=%s why=%s", address[0], outcome.why)
            return outcome.size if isinstance(outcome, Conflict) else 0

        with ThreadPoolExecutor(max_workers=max(1, len(self._addresses))) as pool:
            sizes = list(pool.map(ask, self._addresses.items()))
        named = zip((keys[0].name for keys in self._addresses.values()), sizes, strict=True)
        return {name: size for name, size in named if size > checkpoint.size}

    def standing(self) -> Publication:
        """Return the current state of publication."""
        now_s = time.monotonic()
        with self._changed:
            return Publication(
                tiles=self._tiles,
                quorum=self._watch.state(now_s) if self._witnessed else None,
                cosigned_size=self._watch.cosigned_size,
                waiting_s=self._watch.waiting_s(now_s),
                lags=self._watch.lags(),
                witnesses=tuple(
                    WitnessStanding(
                        name=worker.name,
                        url=worker.url,
                        cosigned_size=worker.cosigned_size,
                        trouble=worker.trouble,
                    )
                    for worker in self._workers
                ),
            )

    def stop(self, patience_s: float = 2.0) -> None:
        """Stop; if the quorum is met, wait up to `patience_s` for the last checkpoint's."""
        deadline = time.monotonic() + patience_s
        with self._changed:
            while (
                self._watch.state(time.monotonic()) is Quorum.MET
                and self._watch.waiting_s(time.monotonic()) > 0
                and any(worker.trouble is None for worker in self._workers)
                and (left := deadline - time.monotonic()) > 0
            ):
                self._changed.wait(min(left, _TICK_S))
            self._stopping = True
            self._changed.notify_all()
        for worker in self._workers:
            worker.stop()
        for thread in self._threads:
            if thread.is_alive():
                thread.join(_DATABASE_S)
        self._pool.close()
        self._watchdog.close()

    def _next(self, worker: WitnessWorker) -> Checkpoint | None:
        """Wait for a checkpoint that this witness should cosign; None once stopping."""
        with self._changed:
            while not self._stopping:
                self._aim()
                if worker.cosigned_size < self._target:
                    return self._offered[self._target]
                self._changed.wait()
        return None

    def _aim(self) -> None:
        before, newest = self._target, max(self._offered, default=0)
        healthy = (w.cosigned_size for w in self._workers if w.trouble is None)
        self._target = next_target(before, newest, self._watch.cosigned_size, healthy)
        if self._target not in self._offered:
            self._target = newest
        if self._target != before:
            self._changed.notify_all()

    def _told(self) -> None:
        """Wake all workers: a witness got into trouble or out, which may change the target."""
        with self._changed:
            self._changed.notify_all()

    def _prove(self, old_size: int, size: int) -> Sequence[bytes]:
        return consistency_from(self._store.reader(size), old_size, size)

    def _keep(self, checkpoint: Checkpoint, lines: Sequence[NoteSignature]) -> None:
        """Store verified lines, then check whether they complete a quorum."""
        self._rows(
            "INSERT INTO ledger.cosignature (size, name, key_id, line, received_at_us)"
            " SELECT %(size)s, name, key_id, line, %(now)s"
            " FROM unnest(%(names)s::text[], %(ids)s::bytea[], %(lines)s::bytea[])"
            " AS made(name, key_id, line) ON CONFLICT DO NOTHING RETURNING 1",
            {
                "size": checkpoint.size,
                "now": self._clock(),
                "names": [line.name for line in lines],
                "ids": [line.key_id for line in lines],
                "lines": [str(line).encode() for line in lines],
            },
        )
        with self._changed:
            note = self._notes.pop(checkpoint.size, None) or parse_note(checkpoint.note)
            self._notes[checkpoint.size] = note = note.with_signatures(*lines)
            while len(self._notes) > _OFFERED_MAX:
                self._notes.pop(next(iter(self._notes)))
            if self._is_quorum(note):
                self._watch.cosigned(checkpoint.size, time.monotonic())
            self._changed.notify_all()

    def _is_quorum(self, note: Note) -> bool:
        if self._policy is None:
            return False
        try:
            self._policy.satisfied_by(note)
        except (TrustPolicyError, NoteError):
            return False
        return True

    def _tile(self) -> None:
        done = 0
        while (size := self._newest_beyond(done)) is not None:
            try:
                self._writer.write(size)
                done, self._tiles = size, None
            except LedgerUnsafeError as error:
                LOG.critical("tiles_contradict_leaves %s", error)
                self._tiles = str(error)
                return
            except LedgerError as error:
                LOG.warning("tiles_not_written %s", error)
                self._tiles = str(error)
                with self._changed:
                    self._changed.wait_for(lambda: self._stopping, _RETRY_S)

    def _newest_beyond(self, done: int) -> int | None:
        with self._changed:
            while not self._stopping:
                newest = max(self._offered, default=0)
                if newest > done:
                    return newest
                self._changed.wait()
        return None

    def _look(self) -> None:
        """Report that the quorum is met or lost, once for each change."""
        told = Quorum.STARTING
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._stopping, _TICK_S)
                state = self._watch.state(time.monotonic())
                if self._stopping:
                    return
            if state in {told, Quorum.STARTING}:
                continue
            # the first quorum is no news; one that is back after a loss is
            LOG.log(
                logging.WARNING if Quorum.LOST in {told, state} else logging.INFO,
                "quorum_%s",
                state,
            )
            told = state
            try:
                self._on_change(self.standing())
            except Exception:
                LOG.exception("quorum_change_not_recorded")


def _addresses(config: PublisherConfig) -> dict[str, tuple[VerifierKey, ...]]:
    """Return each address with its witnesses' keys; empty if the policy asks for no quorum."""
    found: dict[str, tuple[VerifierKey, ...]] = {}
    policy = config.policy
    if policy is None or policy.quorum == NONE:
        return found
    if len(policy.witnesses) > _WITNESSES_MAX:
        raise WitnessError(
            f"the policy has {len(policy.witnesses)} witness keys; readers of notes take "
            f"{SIGNATURES_MAX} lines, so at most {_WITNESSES_MAX} can cosign one checkpoint"
        )
    for witness in policy.witnesses:
        if witness.url is None:
            name = witness.name.decode("utf-8", "replace")
            raise WitnessError(f"the policy has no address for its witness {name!r}")
        url = witness.url.decode("utf-8", "replace").rstrip("/")
        WitnessClient(url, (), config.timeout_s)  # refuses a malformed address
        found[url] = (*found.get(url, ()), witness.key)
    return found
