"""The one thread that orders, chains and commits.

It drains the lanes (no timer: while one batch commits, the next one gathers and is built on top of
it), writes each batch with a compare-and-swap on the stored head, and then answers the callers.
Idempotency keys are not looked up beforehand: the database refuses a second one. Only then, or if
an answer depends on it, are the keys looked up and the batch built again. If a batch is lost, the
batch built on it is thrown away.

Callers and subscribers hear of batches in the log's order: `_landed` queues each committed batch,
and only `_tell` takes them, from the front of that queue.

A commit without an answer is *in doubt*. The sequencer opens a new connection, takes the session
lock (so the old back end is gone), raises the fence (so nothing late can land), and reads the head.
The new root means committed, the old root not committed. Any other root means that another
sequencer wrote, and this one stops for good. It never guesses.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from audit.errors import (
    LedgerError,
    LedgerFencedError,
    LedgerStoppedError,
    LedgerTimeoutError,
    LedgerWriteError,
)
from audit.records.record import Record
from audit.sequencer.batch import Builder, LogPosition
from audit.sequencer.clock_watch import ClockWatch
from audit.sequencer.lanes import Append, Lanes, Request, Resolve
from audit.sequencer.promise import wake
from audit.store.connection import LogHead, Store
from audit.store.pipe import CommitOutcome
from audit.store.tables import DatabaseError
from audit.store.watchdog import Watchdog

LOG = logging.getLogger(__name__)
BEFORE_COMMIT = "ledger.before_commit"
AFTER_COMMIT = "ledger.after_commit"
_ATTEMPTS = 2
_RETRY_S = 0.2
_SLICE_S = 0.001
_PATIENT_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SequencerConfig:
    """How patient the sequencer is.

    Attributes:
        batch_rows_max: rows of one commit.
        commit_deadline_s: a commit that takes longer is in doubt.
        in_doubt_s: how long to ask the database about a commit in doubt before stopping.
        patient: keep asking until the ledger is closed, so that a database that hangs for a minute
            does not stop the log.
    """

    batch_rows_max: int = 1024
    commit_deadline_s: float = 10.0
    in_doubt_s: float = 30.0
    patient: bool = False


class Sequencer:
    """Owns the position and the fenced store; requests reach it through the lanes."""

    def __init__(  # noqa: PLR0913 - the composition of the ledger
        self,
        *,
        store: Store,
        reopen: Callable[[float], Store],
        position: LogPosition,
        lanes: Lanes,
        watchdog: Watchdog,
        config: SequencerConfig,
        watch: ClockWatch,
        on_step: Callable[[str], None],
        on_commit: Callable[[tuple[Record, ...]], None],
        on_stop: Callable[[], None],
    ) -> None:
        """Take over a store whose head is `position`.

        `reopen` makes a new store, waiting so many seconds for the lock. `on_step` is called at the
        named steps, for crash tests; `on_commit` with each batch's records, in order, after its
        callers are answered; `on_stop` once, when the sequencer stops writing.
        """
        self._store = store
        self._reopen = reopen
        self._position = position
        self._lanes = lanes
        self._watchdog = watchdog
        self._config = config
        self._watch = watch
        self._on_step = on_step
        self._on_commit = on_commit
        self._on_stop = on_stop
        self._flight: Builder | None = None
        self._flying: list[Request] = []
        self._held: list[Request] = []
        self._untold: deque[Builder] = deque()
        self._thread = threading.Thread(target=self._run, name="ledger-sequencer", daemon=True)
        self.stopped: LedgerError | None = None

    @property
    def size(self) -> int:
        """The number of committed records."""
        return self._position.size

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def join(self, timeout_s: float) -> bool:
        """Wait for the thread after the lanes were closed; return whether it ended."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._work()
        except Exception as error:
            LOG.exception("sequencer_stopped")
            self._stop(error)
        finally:
            self._store.close()

    def _work(self) -> None:
        """Build a batch on top of the one that is being committed, and send it after that."""
        while True:
            rows_max = self._config.batch_rows_max
            self._held = self._lanes.drain(rows_max, wait=self._flight is None)
            if self._flight is not None:
                self._go_on(self._flight)
            elif self._held:
                self._launch(self._build(self._held, None))
            else:
                return

    def _go_on(self, flight: Builder) -> None:
        builder = self._build(self._held, None, flight) if self._held else None
        while (answer := self._ask(_SLICE_S)) is None:
            room = self._config.batch_rows_max - (len(builder.batch.rows) if builder else 0)
            whole = builder is not None and builder.whole
            more = self._lanes.drain(room, wait=False) if room > 0 and not whole else []
            if not more:
                continue
            self._held += more
            if builder is None:
                builder = self._build(self._held, None, flight)
            else:
                _fill(builder, more)
        self._flight = None
        if answer is not CommitOutcome.COMMITTED:
            self._recover(flight, answer)
            if self._held:
                self._launch(self._build(self._held, None))
            return
        self._landed(flight)
        try:  # send the next batch first, so that the database does not wait for our callers
            if builder is not None:
                builder.rebase(self._position)
                self._launch(builder)
        finally:
            self._tell()

    def _launch(self, builder: Builder) -> None:
        """Send a batch that was built on the position, without the requests withdrawn by now."""
        going = [request for request in self._held if request.done.take()]
        if len(going) < len(self._held):
            builder = self._build(going, None)
        self._held, self._flying = [], going
        if builder.unsure:
            self._tell()  # carrying out takes commits; callers of landed batches need not wait
            self._carry_out(going)
        elif not builder.finish().rows:
            self._untold.append(builder)
            self._tell()
        else:
            self._flight = builder
            try:
                self._write(builder)
            except DatabaseError as error:
                self._flight = None
                self._recover(builder, error)

    def _recover(self, builder: Builder, answer: CommitOutcome | DatabaseError) -> None:
        """Find out whether a refused or unanswered batch landed; if not, do it again."""
        if answer is CommitOutcome.NOT_OURS:
            raise LedgerFencedError("the stored head is not this sequencer's")
        if isinstance(answer, DatabaseError):
            LOG.warning("commit_in_doubt error=%r", answer)
            if self._committed(builder):
                self._landed(builder)
                self._tell()
                return
        self._carry_out(self._flying)

    def _carry_out(self, requests: Sequence[Request]) -> None:
        """Carry out requests one batch at a time, looking up their idempotency keys first."""
        problem: CommitOutcome | DatabaseError | None = None
        for _ in range(_ATTEMPTS):
            builder = None
            try:
                builder = self._build(requests, self._look_up(requests))
                if builder.finish().rows:
                    self._write(builder)
                    problem = self._store.answer(self._config.commit_deadline_s)
                    if problem is CommitOutcome.NOT_OURS:
                        raise LedgerFencedError("the stored head is not this sequencer's")
                    if problem is not CommitOutcome.COMMITTED:
                        continue
            except DatabaseError as error:
                LOG.warning("commit_in_doubt error=%r", error)
                problem = error
                if not self._committed(builder) or builder is None:
                    continue
            self._landed(builder)
            self._tell()
            return
        refusal = LedgerWriteError(f"the database refused: {problem}")
        for request in requests:
            request.done.set_exception(refusal)

    def _build(
        self,
        requests: Sequence[Request],
        existing: Mapping[tuple[str, str], Record] | None,
        after: Builder | None = None,
    ) -> Builder:
        builder = Builder(self._position, existing, self._watch.now_us(), after)
        if any(isinstance(request, Append) for request in requests) and not (
            after is not None and after.attested
        ):
            evidence = self._watch.draft(builder.frontier.size)
            if evidence is not None:
                builder.attest(evidence)
        _fill(builder, requests)
        return builder

    def _look_up(self, requests: Sequence[Request]) -> Mapping[tuple[str, str], Record]:
        """Return the records that hold the requests' keys, in known streams.

        A `Resolve` asks even for unknown streams: a sequencer that has been replaced does not know
        the newest ones, and finds out this way.
        """
        heads = self._position.heads
        asked = [
            key
            for request in requests
            for key in _keys(request)
            if key[0] in heads or isinstance(request, Resolve)
        ]
        if not asked:
            return {}
        with self._watchdog.within(self._store.connection, self._config.commit_deadline_s):
            return self._store.existing(asked)

    def _write(self, builder: Builder) -> None:
        self._on_step(BEFORE_COMMIT)  # a crash here leaves nothing of the batch
        rows, head = builder.batch.rows, self._head_after(builder)
        self._store.send(rows, head, self._config.commit_deadline_s)
        # a crash here leaves the whole batch or nothing; the next opening finds which

    def _ask(self, timeout_s: float) -> CommitOutcome | DatabaseError | None:
        """Return the answer to the batch in flight, None while there is none."""
        try:
            return self._store.answer(timeout_s)
        except DatabaseError as error:
            return error

    def _landed(self, builder: Builder) -> None:
        """Move the position to the end of a committed batch, and queue the batch for `_tell`."""
        if builder.batch.rows:  # a crash here leaves callers unanswered; they ask by their keys
            self._on_step(AFTER_COMMIT)
        if builder.attested:
            self._watch.recorded()
        self._position = builder.advance()
        self._untold.append(builder)

    def _tell(self) -> None:
        while self._untold:
            self._release(self._untold.popleft())

    def _release(self, builder: Builder) -> None:
        """Answer the callers, then tell the subscribers; only `_tell` calls this."""
        batch = builder.batch
        for request, error in batch.refused:
            request.done.refuse(error)
        for append, records in batch.appended:
            append.done.keep(records)
        for resolve, record in batch.resolved:
            resolve.done.keep(record)
        for mapped in batch.mapped:
            mapped.done.keep((builder.frontier.size, builder.frontier.root()))
        wake([request.done for request in batch.requests()])
        if batch.rows:  # a crash here leaves subscribers uninformed; they fold the log at the start
            self._on_commit(tuple([row.record for row in batch.rows]))

    def _head_after(self, builder: Builder) -> LogHead:
        frontier = builder.frontier
        return LogHead(
            origin=self._store.head.origin,
            size=frontier.size,
            root=frontier.root(),
            frontier=frontier.to_bytes(),
            fence=self._store.head.fence,
        )

    def _committed(self, builder: Builder | None) -> bool:
        """Return whether a batch in doubt was committed; None was never sent.

        Raises:
            LedgerTimeoutError: the database did not answer in time.
            LedgerFencedError: another sequencer wrote.
        """
        self._store.close()  # a crash here leaves the doubt; the next opening resolves it alike
        deadline = time.monotonic() + self._config.in_doubt_s
        while True:
            try:
                left = deadline - time.monotonic()
                self._store = self._reopen(max(_PATIENT_S if self._config.patient else 0.0, left))
                break
            except (DatabaseError, LedgerFencedError) as error:
                patient = self._config.patient and not self._lanes.closed
                if time.monotonic() > deadline and not patient:
                    raise LedgerTimeoutError(f"commit in doubt: {error}", written=None) from error
                time.sleep(_RETRY_S)
        found = (self._store.head.size, self._store.head.root)
        if found == (self._position.size, self._position.frontier.root()):
            return False
        if builder is not None and found == (builder.frontier.size, builder.frontier.root()):
            return True
        raise LedgerFencedError(f"head is at {found[0]}, which this sequencer did not write")

    def _stop(self, error: Exception) -> None:
        """Stop for good: sent requests are in doubt, waiting ones were never written."""
        self.stopped = LedgerStoppedError(f"the sequencer stopped: {error}")
        doubt = LedgerTimeoutError(f"the sequencer stopped: {error}", written=None)
        for request in self._flying:
            request.done.set_exception(doubt)
        for request in (*self._held, *self._lanes.close()):
            if request.done.take():
                request.done.set_exception(self.stopped)
        self._on_stop()


def _fill(builder: Builder, requests: Sequence[Request]) -> None:
    """Add requests, and write the map that they ask for now, while another batch commits."""
    for request in requests:
        builder.add(request)
    if builder.batch.mapped:
        builder.finish()


def _keys(request: Request) -> Sequence[tuple[str, str]]:
    match request:
        case Append():
            return [(item.draft.stream, item.draft.idem_key) for item in request.prepared]
        case Resolve():
            return [(request.stream, request.idem_key)]
        case _:
            return ()
