"""The section in which verdicts are given: fold to a basis, evaluate, append by compare-and-swap.

Playback, agents and renewals pass here one by one; nothing goes around the lock. The ledger refuses
a verdict, which is its reservation too, if a record that it rests on was committed after the basis;
the section then folds on and judges again.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial

from audit.errors import GuardMovedError, LedgerTimeoutError
from audit.records.record import Draft, Record
from audit.sequencer.ledger import Guard, Hooks
from audit.store.reader import LedgerReader
from gateway import clock
from gateway.errors import NotReadyError
from gateway.walk import deadlines
from gateway.walk.deadlines import Deadlines, SteadyWall
from gateway.walk.failpoints import reach
from gateway.walk.journal.decision import policy_named
from gateway.walk.journal.verdict import KEPT, VerdictGiven, result_of, result_under, verdict_given
from gateway.walk.ports import Case, Judged, LedgerPort, Tick
from gateway.walk.projections.book import BOOK_KINDS, Twin, book_events
from gateway.walk.projections.differences import Differences
from gateway.walk.projections.forecasts import ForecastsOnRecord
from gateway.walk.projections.gathering import (
    BasisFold,
    FirmBooks,
    Gathering,
    firm_books,
    moment_of,
    twin_fold,
)
from gateway.walk.projections.stops import LedgerKillEpoch, Stops
from gateway.walk.sampled.joint import JointPaths
from gateway.walk.sampled.planning import LookedInto
from inference.forecast.forecast import Forecast
from risk.approved import Approval, ApprovedOrder, KeptOrders, Terms
from risk.evaluate import evaluate
from risk.intent import Intent
from risk.numbers.standing import PolicyStatus
from risk.policy.policy import Policy
from risk.policy.signing import SignedPolicy, check_signatures, status_at
from risk.state.book import Book, Released, apply
from risk.state.busts import BookFold
from risk.state.state import KillState, RiskState, Stop
from risk.verdict import Verdict

MAX_TRIES = 16


class Section:
    """The critical section of one firm; safe from any thread."""

    def __init__(  # noqa: PLR0913 - what a section is made of
        self,
        *,
        ledger: LedgerPort,
        reader: LedgerReader,
        bundle: SignedPolicy,
        policy_keys: dict[str, bytes],
        kill: Callable[[], tuple[int, bool]],
        wall_us: Callable[[], int],
        send_within_us: int,
        monotonic_us: Callable[[], int] = clock.monotonic_us,
        gathering: Gathering | None = None,
    ) -> None:
        self.deadlines = Deadlines(monotonic_us)
        self._monotonic_us = monotonic_us
        self.steady_us = SteadyWall(wall_us, monotonic_us)
        self.policy_named = policy_named(bundle.policy)
        self._ledger = ledger
        self._reader = reader
        self._checked = check_signatures(bundle, policy_keys)
        self.kill, self._wall_us = kill, wall_us
        self._send_within_us = send_within_us
        self._gathering = gathering
        self._lock = threading.RLock()
        self._folds: dict[str, BasisFold] = {}
        self._deciding: dict[str, threading.RLock] = {}
        self._deposits: dict[str, int] = {}
        self.kept = KeptOrders(KEPT)
        self._twins: dict[tuple[Twin, str], BasisFold] = {}
        self._kill_epoch = LedgerKillEpoch(reader)
        self.differences = Differences(reader)
        self.stops = Stops(reader)
        self.looked, self.forecasts = LookedInto(reader), ForecastsOnRecord(reader)
        self.paths = JointPaths(self.forecasts, lambda: self.policy, self._appended)
        self.foresee: Callable[[ApprovedOrder], None] = lambda _: None

    def _appended(self, draft: Draft) -> Record:
        (record,) = self._ledger.append(draft)
        return record

    @property
    def accounts(self) -> frozenset[str]:
        """The accounts that are open."""
        return frozenset(self._folds)

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return self._checked.policy

    def open_account(self, account: str, equity_minor: int) -> None:
        """Open an account with its deposit; its earlier records are folded at first use."""
        with self._lock:
            self._deposits[account] = equity_minor
            self._folds[account] = BasisFold(
                books=BookFold(Book.empty(account, equity_minor)),
                kinds=(*BOOK_KINDS,),
                events=book_events,
                account=account,
            )
            for twin in Twin:
                self._twins[twin, account] = twin_fold(twin, account, equity_minor)

    def open_beside(self, account: str, beside: str) -> None:
        """Open an account with the deposit of another one, unless it is open."""
        with self._lock:
            if account not in self._folds:
                self.open_account(account, self._deposits[beside])

    def book(self, account: str) -> Book:
        """Return the account's book at the last committed record."""
        with self._lock:
            return self._advance(self._folds[account]).book

    @contextmanager
    def deciding(self, account: str) -> Iterator[None]:
        """Let one decision of an account at a time go from its book to its verdict.

        Otherwise an order in another instrument could come into the book between the two, of which
        the joint paths know nothing, and a sound order would be refused.
        """
        with self._lock:
            turn = self._deciding.setdefault(account, threading.RLock())
        with turn:
            yield

    def book_without(self, account: str, decision_id: str) -> Book:
        """Return the book without one decision's own reservation, for its renewal."""
        book = self.book(account)
        return apply(book, Released(decision_id=decision_id, time_us=book.as_of_us))

    def twin_book(self, twin: Twin, account: str) -> Book:
        """Return the book of the account's twin."""
        with self._lock:
            return self._advance(self._twins[twin, account]).book

    def status(self) -> PolicyStatus:
        """Return the policy's status by a wall clock that never goes back."""
        return status_at(self._checked, self.steady_us())

    def follow(self, bundle: SignedPolicy, keys: Mapping[str, bytes], activated: Draft) -> Record:
        """Put a policy in force with the record of its activation; no verdict comes between.

        Raises:
            audit.errors.AuditError: it is not on record; if that is unknown, none is in force.
        """
        with self._lock:
            try:
                (record,) = self._ledger.append(activated)
            except LedgerTimeoutError:  # in doubt, stop: an unsigned policy refuses every intent
                self._checked = replace(self._checked, signed_by=())
                raise
            self._checked = check_signatures(bundle, keys)
            self.policy_named = policy_named(bundle.policy)
            return record

    def now(self) -> deadlines.Moment:
        """Read both clocks; a deadline that begins now ends on the clock that reaches it first."""
        return deadlines.now(self._wall_us, self._monotonic_us)

    def judge(
        self,
        case: Case,
        intent: Intent,
        forecast: Forecast,
        tick: Tick,
        *,
        approval: Approval | None = None,
        if_rejected: Draft | None = None,
    ) -> Judged:
        """Evaluate one intent; commit the verdict and its reservation.

        With an `approval` this renews a held intent; it is approved only inside the agreed band. A
        verdict that rejects it is committed with `if_rejected`.

        Raises:
            audit.errors.AuditError: when the ledger cannot take the verdict; nothing is approved.
        """
        with self._lock:
            fold = self._folds[case.tags.account]
            for _ in range(MAX_TRIES):
                self._advance(fold)
                renewal = approval is not None
                state = self._state_now(case, fold, intent, forecast, tick, renewal=renewal)
                state, verdict = self.stops.overrides.judge(self.policy, state, intent)
                began = self.now()
                end = self._send_end(began, approval)
                result = result_under(intent, verdict, state, end.wall_us, approval)
                reach("decide.evaluated")  # a crash here leaves no verdict: nothing is approved
                draft = verdict_given(
                    case,
                    intent,
                    verdict,
                    state,
                    basis_seq=fold.basis_seq,
                    result=result,
                    send_before_us=end.wall_us,
                    approval=approval,
                )
                self._remember(case.decision_id, result, began, end)
                terms = (intent, verdict, end.wall_us, state.kill.egress_epoch, approval)
                keep = partial(self._keep, terms if result == "approved" else None)
                try:
                    guard = Guard(section=case.tags.account, basis_seq=fold.basis_seq)
                    end_of = (if_rejected,) if if_rejected and result == "rejected" else ()
                    record, *_ = self._ledger.append(
                        draft, *end_of, guard=guard, hooks=Hooks(meanwhile=keep)
                    )
                except GuardMovedError:
                    continue  # a record that the verdict rests on was committed meanwhile
                keep((record,))
                return Judged(
                    record=record, intent=intent, verdict=verdict, result=result, state=state
                )
            raise NotReadyError(part="section", state="moved under every try")

    def approved(self, given: VerdictGiven, leaf: bytes) -> ApprovedOrder | None:
        """Return the order that the verdict with this leaf approved here, if it is still kept."""
        said = (given.verdict_document["verdict_digest"], given.send_before_us, given.kill_epoch)
        order = self.kept.get(leaf)
        same = order and (order.verdict_digest, order.send_before_us, order.kill_epoch) == said
        return order if same else None

    def _keep(self, terms: Terms | None, records: Sequence[Record]) -> None:
        """Keep an order that is sent next, while its verdict is committed if this thread does it.

        Nobody asks for one whose verdict was not committed.
        """
        if terms is None:
            return
        for record in records:
            if order := self.kept.keep(record.leaf, terms):
                self.foresee(order)

    def judge_replace(
        self,
        case: Case,
        intent: Intent,
        forecast: Forecast,
        tick: Tick,
        draft: Callable[[Verdict, RiskState, int], Draft],
        refuse: Callable[[], None],
    ) -> tuple[Record | None, Verdict]:
        """Evaluate an order as a replace would leave it; commit the draft if the rules allow it.

        The order's own reservation is left out. `draft` takes verdict, state and basis. `refuse`
        raises what keeps the order as it is; no verdict comes between it and the commit.

        Raises:
            audit.errors.AuditError: when the ledger cannot take it; nothing is replaced.
        """
        with self._lock:
            fold = self._folds[case.tags.account]
            for _ in range(MAX_TRIES):
                self._advance(fold)
                refuse()
                state = self._state_now(case, fold, intent, forecast, tick, renewal=True)
                verdict = evaluate(self.policy, state, intent)
                if result_of(verdict.action) != "approved":
                    return None, verdict
                made = draft(verdict, state, fold.basis_seq)
                guard = Guard(section=case.tags.account, basis_seq=fold.basis_seq)
                with suppress(GuardMovedError):
                    return self._ledger.append(made, guard=guard)[0], verdict
            raise NotReadyError(part="section", state="moved under every try")

    def stops_now(self) -> tuple[Stop, ...]:
        """Return the stops in force by every record committed so far."""
        self.stops.read(self._reader.log_size())
        return self.stops.in_force()

    def send_end(self) -> deadlines.Moment:
        """Return when a message approved now must have left."""
        return self.now().after(self._send_within_us)

    def adjust(
        self, account: str, drafts: Callable[[Mapping[str, Book]], Sequence[Draft]]
    ) -> tuple[Record, ...]:
        """Commit what `drafts` makes of the books of all accounts, as they are at that moment.

        No verdict is given meanwhile. If the book moved first, the drafts are made again.
        """
        with self._lock:
            for _ in range(MAX_TRIES):
                folds = {name: self._advance(fold) for name, fold in self._folds.items()}
                made = drafts({name: fold.book for name, fold in folds.items()})
                guard = Guard(section=account, basis_seq=folds[account].basis_seq)
                with suppress(GuardMovedError):
                    return self._ledger.append(*made, guard=guard)
            raise NotReadyError(part="section", state="moved under every try")

    def judge_twin(
        self, twin: Twin, case: Case, intent: Intent, forecast: Forecast, tick: Tick
    ) -> tuple[Verdict, RiskState]:
        """Evaluate a twin's intent against its own book; commit nothing."""
        with self._lock:
            fold = self._advance(self._twins[twin, case.tags.account])
            state = self._state(case, fold, intent, forecast, tick, renewal=False)
            return evaluate(self.policy, state, intent), state

    def hold_end_us(self, held: Record) -> int:
        """Return the wall time at which a recorded hold ends; after a set-back, the earlier one."""
        life_us = self.policy.approval.ttl.value
        name = deadlines.hold_of(VerdictGiven.of(held).decision_id)
        end = self.deadlines.end(name) or self.now()
        at_most = replace(end, wall_us=held.recorded_at_us + life_us)
        self.deadlines.keep(name, end.earlier(at_most))
        return end.earlier(at_most).wall_us

    def _send_end(self, began: deadlines.Moment, approval: Approval | None) -> deadlines.Moment:
        """Return when an order approved now must have left, or the agreement's end if earlier."""
        end = began.after(self._send_within_us)
        if approval is None:
            return end
        agreed = self.deadlines.end(deadlines.agreement_of(approval.decision_id)) or began
        return end.earlier(replace(agreed, wall_us=approval.expires_us))

    def _remember(
        self, decision_id: str, result: str, began: deadlines.Moment, end: deadlines.Moment
    ) -> None:
        """Keep the deadline of a verdict before it is committed; an unknown deadline is over."""
        if result == "approved":
            self.deadlines.keep(deadlines.sending_of(decision_id), end)
        elif result == "held":
            life_us = self.policy.approval.ttl.value
            self.deadlines.keep(deadlines.hold_of(decision_id), began.after(life_us))

    def _state_now(
        self,
        case: Case,
        fold: BasisFold,
        intent: Intent,
        forecast: Forecast,
        tick: Tick,
        *,
        renewal: bool,
    ) -> RiskState:
        """Return the state with what the records say of stops and of the broker's book."""
        state = self._state(case, fold, intent, forecast, tick, renewal=renewal)
        differs = self.differences.blocks(case.instrument.symbol)
        return replace(state, book_differs=differs, stops=self.stops.in_force())

    def _state(
        self,
        case: Case,
        fold: BasisFold,
        intent: Intent,
        forecast: Forecast,
        tick: Tick,
        *,
        renewal: bool,
    ) -> RiskState:
        gathering = None if self.policy.families is None else self._gathering
        # first, for it moves this fold too: a book of before would stand under a later basis
        firm = None if gathering is None else self._firm()
        word_epoch, killed = self.kill()
        now_us = tick.instant.now_us()
        symbol = case.instrument.symbol
        return RiskState(
            now_us=now_us,
            book=fold.book,
            instrument=case.instrument,
            quote=tick.quote,
            forecast=forecast,
            narrative_as_of_us=case.reach.as_of_us,
            narrative_absent=case.reach.absent,
            kill=KillState(
                killed=killed, kill_epoch=self._kill_epoch.value, egress_epoch=word_epoch
            ),
            recent=fold.history.relevant(intent, now_us),
            policy_status=self.status(),
            renewal=renewal,
            inputs=None
            if gathering is None or firm is None
            else replace(
                gathering.inputs(
                    symbol,
                    fold.book,
                    firm,
                    fold.past.activity(symbol, now_us),
                    moment_of(case, fold, forecast, now_us, self.policy),
                ),
                paths=case.book_paths,
            ),
        )

    def _firm(self) -> FirmBooks:
        """Return the books of every account, each as folded at this moment."""
        head = self._reader.log_size() - 1
        folds = [self._advance(fold, head) for fold in self._folds.values()]
        return firm_books(folds, self.differences.open())

    def _advance(self, fold: BasisFold, head: int | None = None) -> BasisFold:
        """Fold the records committed since, until `head`, and the kill epoch."""
        head = self._reader.log_size() - 1 if head is None else head
        if head > fold.basis_seq:
            for record in self._reader.records(
                kinds=fold.kinds,
                account=fold.account,
                after_seq=fold.basis_seq,
                before_seq=head + 1,
            ):
                fold.take(record)
            fold.basis_seq = head
        self.differences.read(head + 1)
        self.stops.read(head + 1)
        self._kill_epoch.read(head + 1)
        return fold
