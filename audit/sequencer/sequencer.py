"""The one thread at a time that orders, chains and commits.

Its own thread drains the lanes (no timer: while one batch commits, the next one gathers and is
built on top of it), writes each batch with a compare-and-swap on the stored head, and then answers
the callers. While it has nothing to do, a caller may commit its own append (`lead`).
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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from audit.errors import (
    LedgerError,
    LedgerFencedError,
    LedgerStoppedError,
    LedgerTimeoutError,
    LedgerWriteError,
)
from audit.records.record import Record
from audit.sequencer.batch import Builder, LogPosition, fill, keys_of
from audit.sequencer.clock_watch import ClockWatch
from audit.sequencer.config import SequencerConfig
from audit.sequencer.lanes import Append, Hooks, Lanes, Request
from audit.sequencer.promise import wake
from audit.store.connection import Store
from audit.store.pipe import CommitOutcome
from audit.store.recent import RecentRecords
from audit.store.tables import DatabaseError
from audit.store.watchdog import Watchdog

LOG = logging.getLogger(__name__)
BEFORE_COMMIT = "ledger.before_commit"
AFTER_COMMIT = "ledger.after_commit"
_ATTEMPTS = 2
_RETRY_S = 0.2
_SLICE_S = 0.001
_LEAD_S = 0.05  # how long a caller waits for its own commit before it leaves it to the thread
_PATIENT_S = 2.0


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
        recent: RecentRecords,
        on_stop: Callable[[], None],
    ) -> None:
        """Take over a store whose head is `position`.

        `reopen` makes a new store, waiting so many seconds for the lock. `on_step` is called at
        named steps, for crash tests; `on_commit` with each batch's records in order, after its
        callers, before whom `recent` has them; `on_stop` once, when nothing is written any more.
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
        self._recent = recent
        self._on_stop = on_stop
        self._flight: Builder | None = None
        self._flying: list[Request] = []
        self._held: list[Request] = []
        self._untold: deque[Builder] = deque()
        self._turn = threading.Lock()  # held by whoever builds, writes or answers
        self._early: DatabaseError | CommitOutcome | None = None
        self._fault: Exception | None = None
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

    def lead(self, request: Append, hooks: Hooks, deadline: float) -> bool:
        """Carry out a request on its caller's thread; return False if that is not to be.

        Only while the thread has nothing to do. Its turn is taken, so there is one writer, and
        given back around each hook. What does not go well is left to the thread.
        """
        builder = None
        if self._turn.acquire(blocking=False):
            with self._given_back():
                builder = self._launch_here(request)
        if builder is None:
            return False
        with ExitStack() as otherwise:
            otherwise.callback(self._lanes.nudge)
            hooks.meanwhile(builder.batch.appended[0][1])
            otherwise.pop_all()
        landed = False
        if self._turn.acquire(timeout=_left_s(deadline)):  # else the thread has it
            with self._given_back():
                landed = self._await_here(builder, deadline)
        try:
            if landed:
                hooks.landed(builder.batch.appended[0][1])
        finally:
            if landed and self._turn.acquire(timeout=_left_s(deadline)):
                with self._given_back():
                    self._tell()
        return True

    @contextmanager
    def _given_back(self) -> Iterator[None]:
        """Give the turn back, and wake the thread for what is left to it."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - the thread raises it
            self._fault = error
        finally:
            left = self._early is not None or self._fault is not None
            self._turn.release()
            if left:
                self._lanes.nudge()

    def _launch_here(self, request: Append) -> Builder | None:
        idle = not (self._flight or self._untold or self._fault or self.stopped)
        builder = self._build([request], None) if idle and self._lanes.quiet else None
        if (
            builder is None
            or builder.unsure
            or not builder.finish().rows
            or not request.done.take()
        ):
            return None
        self._flight, self._flying = builder, [request]
        try:
            self._write(builder)
        except DatabaseError as error:
            self._early = error
        return builder

    def _await_here(self, builder: Builder, deadline: float) -> bool:
        """Return whether the batch landed; if not, the thread goes on with it."""
        if self._flight is not builder or self._early is not None:
            return False
        self._early = self._ask(min(_LEAD_S, _left_s(deadline)))
        if self._early is not CommitOutcome.COMMITTED:
            self._lanes.nudge()
            return False
        self._early = None
        self._flight = None
        self._landed(builder)
        return True

    def _run(self) -> None:
        """Work until the lanes are closed and empty, or something is wrong."""
        goes_on, rows_max = True, self._config.batch_rows_max
        while goes_on:
            requests = self._lanes.drain(rows_max, wait=self._flight is None)
            with self._turn:
                try:
                    goes_on = self._step(requests)
                except Exception as error:
                    LOG.exception("sequencer_stopped")
                    self._recent.end()
                    self._stop(error)
                    goes_on = False
                if not goes_on:
                    self._store.close()

    def _step(self, requests: list[Request]) -> bool:
        """Build a batch on top of the one that is being committed, and send it after that."""
        self._held = requests
        self._tell()  # a caller that ran out of time has not told of its batch
        if self._fault is not None:
            raise self._fault
        if self._flight is not None:
            self._go_on(self._flight)
        elif self._held:
            self._launch(self._build(self._held, None))
        else:
            return not self._lanes.closed
        return True

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
                fill(builder, more)
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
        fill(builder, requests)
        return builder

    def _look_up(self, requests: Sequence[Request]) -> Mapping[tuple[str, str], Record]:
        """Return the records that hold the requests' keys (`keys_of`)."""
        asked = keys_of(requests, self._position.heads)
        if not asked:
            return {}
        with self._watchdog.within(self._store.connection, self._config.commit_deadline_s):
            return self._store.existing(asked)

    def _write(self, builder: Builder) -> None:
        self._on_step(BEFORE_COMMIT)  # a crash here leaves nothing of the batch
        edge = builder.frontier
        old = self._store.head
        head = replace(old, size=edge.size, root=edge.root(), frontier=edge.to_bytes())
        self._store.send(builder.batch.rows, head, self._config.commit_deadline_s)
        # a crash here leaves the whole batch or nothing; the next opening finds which

    def _ask(self, timeout_s: float) -> CommitOutcome | DatabaseError | None:
        """Return the answer to the batch in flight, None while there is none."""
        early, self._early = self._early, None
        if early is not None:
            return early
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
        position = builder.advance()
        self._recent.landed(builder.batch.rows, position.size)
        self._position = position
        self._untold.append(builder)

    def _tell(self) -> None:
        while self._untold:
            self._release(self._untold.popleft())

    def _release(self, builder: Builder) -> None:
        """Answer the callers, then tell the subscribers; only `_tell` calls this."""
        batch = builder.batch
        batch.answer(builder.frontier)
        wake([request.done for request in batch.requests()])
        if batch.rows:  # a crash here leaves subscribers uninformed; they fold the log at the start
            self._on_commit(tuple([row.record for row in batch.rows]))

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


def _left_s(deadline: float) -> float:
    return max(0.0, deadline - time.monotonic())
