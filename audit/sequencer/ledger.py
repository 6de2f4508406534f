"""The gateway's interface to its log: append, blobs, checkpoints, subscriptions.

The effect of a call that returns is on disk. After a `LedgerTimeoutError` with `written=None` it
may or may not be: call `resolve`, or append the same drafts again.

Threads: the sequencer writes, a watchdog ends overdue database calls, a notifier runs the
subscribers, a timer makes checkpoints. Every method may be called from any thread.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from queue import SimpleQueue
from typing import Self, TypeVar

from audit.errors import (
    AuditError,
    DraftError,
    LedgerError,
    LedgerStoppedError,
    LedgerTimeoutError,
    LedgerWriteError,
    SubjectRetiredError,
)
from audit.privacy.vault import Sealer
from audit.records.record import Draft, Prepared, Record, prepare
from audit.sequencer.checkpointing import Checkpoints
from audit.sequencer.clock_watch import ClockWatch
from audit.sequencer.config import LedgerConfig
from audit.sequencer.interpreter import tune
from audit.sequencer.lanes import (
    HERE,
    NO_HOOKS,
    Append,
    Guard,
    Hooks,
    Lane,
    Lanes,
    MapHeads,
    Request,
    Resolve,
)
from audit.sequencer.promise import Promise
from audit.sequencer.recovery import position_of
from audit.sequencer.sequencer import Sequencer
from audit.signers.file import Signer
from audit.store.blobs import Blobs
from audit.store.connection import Pool, Store
from audit.store.recent import RecentRecords
from audit.store.tables import DatabaseError
from audit.store.watchdog import Watchdog
from audit.tlog.checkpoint import Checkpoint

__all__ = [
    "HERE",
    "NO_HOOKS",
    "Draft",
    "Guard",
    "Hooks",
    "Lane",
    "Ledger",
    "LedgerConfig",
    "Record",
]

LOG = logging.getLogger(__name__)
_FULL_LANE_S = 0.002
_LAST_TRIES = 2  # a server that has just come back may drop a connection
_T = TypeVar("_T")


class Ledger:
    """The only writer of one log; made by `open`."""

    def __init__(  # noqa: PLR0913, PLR0917 - see `open`, its only caller
        self,
        config: LedgerConfig,
        signer: Signer,
        clock: Callable[[], int],
        on_step: Callable[[str], None],
        on_stop: Callable[[LedgerError], None],
        on_checkpoint: Callable[[Checkpoint], None],
        co_signers: Sequence[Signer] = (),
        vault: Sealer | None = None,
    ) -> None:
        origin = signer.vkey.name
        self._config = config
        self._signers = (signer, *co_signers)
        self._vault = vault
        self._on_stop = on_stop
        self._lanes = Lanes(
            urgent_max=config.urgent_lane_max, decision_max=config.decision_lane_max
        )
        self._watchdog = Watchdog()
        try:
            store = Store(config.dsn, origin, config.lock_wait_s, self._watchdog)
            try:
                position, last = position_of(store, self._signers, config.predecessors)
            except BaseException:
                store.close()
                raise
        except BaseException:
            self._watchdog.close()
            raise
        position.mac = config.mac
        self.found = (position.size, position.frontier.root())  # at the start
        tune()
        self._pool = Pool(config.dsn, self._watchdog)
        self._blobs = Blobs(self._pool)
        self._callbacks: tuple[Callable[[tuple[Record, ...]], None], ...] = ()
        self._news: SimpleQueue[tuple[Record, ...] | None] = SimpleQueue()
        self._closing = threading.Event()
        self.recent = RecentRecords(position.size)
        self._sequencer = Sequencer(
            store=store,
            reopen=lambda wait_s: Store(config.dsn, origin, wait_s, self._watchdog),
            position=position,
            lanes=self._lanes,
            watchdog=self._watchdog,
            config=config.sequencer,
            watch=ClockWatch(clock, config.clock_source, position.recorded_at_us),
            on_step=on_step,
            on_commit=self._pass_on,
            recent=self.recent,
            on_stop=self._stopped,
        )
        self._threads = [
            threading.Thread(target=self._notify, name="ledger-notifier", daemon=True),
            threading.Thread(target=self._keep_time, name="ledger-checkpoints", daemon=True),
        ]
        self._checkpoints = Checkpoints(
            last=last,
            signers=self._signers,
            pool=self._pool,
            size=lambda: self._sequencer.size,
            put=self._put,
            tell=on_checkpoint,
        )
        self._sequencer.start()
        for thread in self._threads:
            thread.start()

    @classmethod
    def open(  # noqa: PLR0913 - what a ledger is made of
        cls,
        config: LedgerConfig,
        signer: Signer,
        clock: Callable[[], int],
        *,
        on_step: Callable[[str], None] = lambda _: None,
        on_stop: Callable[[LedgerError], None] = lambda _: None,
        on_checkpoint: Callable[[Checkpoint], None] = lambda _: None,
        co_signers: Sequence[Signer] = (),
        vault: Sealer | None = None,
    ) -> "Ledger":
        """Check the database and take over the log.

        Args:
            config: see `LedgerConfig`.
            signer: signs checkpoints; its name is the log's origin.
            clock: microseconds UTC.
            on_step: called at `ledger.before_commit` and `ledger.after_commit`.
            on_stop: called once, on the sequencer's thread, when the ledger stops writing.
            on_checkpoint: called with each new checkpoint once it is signed and stored, in order,
                on the thread that made it; an exception is logged and the checkpoint stands.
            co_signers: more keys of the log that sign each checkpoint.
            vault: keeps the keys of personal values; without one no draft may have any.

        Raises:
            LedgerUnsafeError: settings, schema, origin, tree or checkpoint are wrong.
            LedgerFencedError: another sequencer holds the log.
            LedgerWriteError: the database does not answer.
        """
        try:
            return cls(config, signer, clock, on_step, on_stop, on_checkpoint, co_signers, vault)
        except DatabaseError as error:
            raise LedgerWriteError(f"cannot open the ledger: {error}") from error

    @property
    def size(self) -> int:
        """The number of committed records."""
        return self._sequencer.size

    @property
    def last_checkpoint(self) -> Checkpoint | None:
        """The newest signed and stored checkpoint."""
        return self._checkpoints.last

    @property
    def stopped(self) -> LedgerError | None:
        """The reason why nothing can be written any more, or None."""
        return self._sequencer.stopped

    def append(
        self,
        *drafts: Draft,
        lane: Lane = Lane.DECISION,
        guard: Guard | None = None,
        timeout_s: float = 5.0,
        hooks: Hooks = NO_HOOKS,
    ) -> tuple[Record, ...]:
        """Write drafts in one commit, in the order given; durable on return.

        A draft whose (stream, idempotency key) is on record with the same kind and payload returns
        that record and writes nothing.

        Raises:
            DraftError: a kind does not allow its draft.
            BlobMissingError: a payload names a blob that is not stored.
            IdempotencyConflictError: a key is taken by other content.
            GuardMovedError: the section moved after the guard's basis.
            LaneFullError: the decision lane is full.
            LedgerTimeoutError: no answer in time; see its `written`.
            LedgerWriteError: the database refused; nothing is written.
            LedgerStoppedError: the ledger does not write any more.
            SubjectRetiredError: a draft's personal value is of a person who is being erased;
                nothing is written. Append it again. Free text that names him is retried here.
        """
        deadline = time.monotonic() + timeout_s
        prepared = self._prepare(drafts)
        self._blobs.check(self._blobs.unknown(prepared), timeout_s)
        request = Append(prepared=prepared, guard=guard, check=self._check_of(prepared))
        try:
            return self._ask(request, request.done, lane, deadline, hooks)
        except SubjectRetiredError:
            if any(draft.personal for draft in drafts):
                raise
        return self.append(*drafts, lane=lane, guard=guard, timeout_s=deadline - time.monotonic())

    async def append_async(
        self,
        *drafts: Draft,
        lane: Lane = Lane.DECISION,
        guard: Guard | None = None,
        timeout_s: float = 5.0,
    ) -> tuple[Record, ...]:
        """Write drafts as `append` does, but wait in the running event loop.

        A cancelled task withdraws its drafts if they were not sent yet. Sent drafts are carried
        out, and appending them again returns their records.
        """
        deadline = time.monotonic() + timeout_s
        prepared = self._prepare(drafts)
        if unknown := self._blobs.unknown(prepared):
            await asyncio.to_thread(self._blobs.check, unknown, timeout_s)
        promise: Promise[tuple[Record, ...]] = Promise(asyncio.get_running_loop())
        request = Append(
            prepared=prepared, guard=guard, check=self._check_of(prepared), done=promise
        )
        if self.stopped is not None:
            raise self.stopped
        while not self._lanes.offer(request, lane):
            if time.monotonic() > deadline:
                raise LedgerTimeoutError("the urgent lane stayed full", written=False)
            await asyncio.sleep(_FULL_LANE_S)
        return await promise.wait(deadline - time.monotonic())

    def resolve(self, stream: str, idem_key: str, timeout_s: float = 5.0) -> Record | None:
        """Return the record of an idempotency key, or None if there certainly is none.

        The sequencer answers in its order, so all earlier requests are decided by then.

        Raises:
            LedgerTimeoutError: not known yet.
            LedgerStoppedError: the ledger does not write any more; ask a `LedgerReader`.
        """
        request = Resolve(stream=stream, idem_key=idem_key)
        return self._ask(request, request.done, Lane.URGENT, time.monotonic() + timeout_s)

    def put_blob(self, data: bytes) -> str:
        """Store bytes durably and return their SHA-256 in hex; see `Blobs.put`."""
        return self._blobs.put(data, self._config.blob_timeout_s)

    def checkpoint_now(self, timeout_s: float = 5.0) -> Checkpoint | None:
        """Return a checkpoint of the whole log, made now if needed; None for an empty log."""
        return self._checkpoints.now(timeout_s)

    def checkpoint_not_above(self, seq: int, timeout_s: float = 5.0) -> Checkpoint | None:
        """Return the largest checkpoint whose tree ends before a committed record.

        The answer for a record never changes: a checkpoint in flight is waited for.
        """
        return self._checkpoints.not_above(seq, timeout_s)

    def subscribe(self, callback: Callable[[tuple[Record, ...]], None]) -> None:
        """Call back with each batch's records, in the log's order, on the notifier thread.

        Callers of `append` are released first. An exception is logged and the records stand.
        """
        self._callbacks = (*self._callbacks, callback)

    def close(self) -> None:
        """Write all queued requests, make a last checkpoint, stop the threads, release the log."""
        if self._closing.is_set():
            return
        self._closing.set()
        self._threads[1].join()
        for _ in range(_LAST_TRIES if self.stopped is None else 0):
            try:
                self.checkpoint_now()
                break
            except AuditError:
                LOG.exception("last_checkpoint_failed")
        self._lanes.close()
        config = self._config.sequencer
        self._sequencer.join(config.commit_deadline_s + config.in_doubt_s)
        self._news.put(None)
        self._threads[0].join()
        self._pool.close()
        self._watchdog.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(
        self,
        request: Request,
        done: Promise[_T],
        lane: Lane,
        deadline: float,
        hooks: Hooks = NO_HOOKS,
    ) -> _T:
        if self.stopped is not None:
            raise self.stopped
        leads = (
            isinstance(request, Append)
            and (lane is Lane.URGENT or hooks is not NO_HOOKS)
            and self._sequencer.lead(request, hooks, deadline)
        )
        if not leads:
            self._lanes.put(request, lane, deadline)
            hooks.meanwhile(())
        return done.result(deadline - time.monotonic())

    def _put(self, request: MapHeads, deadline: float) -> None:
        if self.stopped is not None:
            raise self.stopped
        self._lanes.put(request, Lane.URGENT, deadline)

    def _prepare(self, drafts: Sequence[Draft]) -> tuple[Prepared, ...]:
        if not drafts:
            raise DraftError("nothing to append")
        shield = (lambda draft: draft) if self._vault is None else self._vault.shield
        shielded = map(shield, drafts)
        return tuple([self._sealed(one) if one.personal else prepare(one) for one in shielded])

    def _sealed(self, draft: Draft) -> Prepared:
        if self._vault is None:
            raise DraftError(f"{draft.kind}: there is no vault to keep its personal values")
        plain, rows = self._vault.seal(self._signers[0].vkey.name, draft)
        return prepare(plain, rows)

    def _check_of(self, prepared: Sequence[Prepared]) -> Callable[[], None] | None:
        """Return a check that refuses personal values of persons who are being erased by then."""
        if self._vault is None:
            return None
        subjects = frozenset([row.subject for item in prepared for row in item.disclosures])
        return partial(self._vault.check_open, subjects) if subjects else None

    def _pass_on(self, records: tuple[Record, ...]) -> None:
        if self._callbacks:  # else the notifier need not wake
            self._news.put(records)

    def _stopped(self) -> None:
        self._on_stop(self.stopped or LedgerStoppedError("stopped"))

    def _notify(self) -> None:
        while (records := self._news.get()) is not None:
            for callback in self._callbacks:
                try:
                    callback(records)
                except Exception:
                    LOG.exception("subscriber_failed seq=%d", records[0].seq)

    def _keep_time(self) -> None:
        every_s = self._config.checkpoint_every_s
        while every_s and not self._closing.wait(every_s):
            try:
                self.checkpoint_now()
            except LedgerStoppedError:
                return
            except AuditError:
                LOG.exception("checkpoint_failed")
