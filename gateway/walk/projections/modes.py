"""Which mode a ledger is in, to which mode its accounts and sessions belong, what may run there.

Not here: which mode may begin (`desk.persons.governing.modes`).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from audit.records.kinds import Kind
from audit.records.record import Record
from gateway.walk.journal.control.modes import (
    DigestsRegistered,
    Mode,
    ModeEntered,
    ModelPromoted,
    PromotionTested,
)
from gateway.walk.journal.run import PolicyActivated, RunStarted
from gateway.walk.journal.session import OPENED, RECONCILED, SessionEvent
from gateway.walk.ports import RecordsPort
from gateway.walk.projections.differences import DIFFERENCE_KINDS, KnownDifferences
from risk.policy.deployment import DeploymentLimits

MODE_KINDS = (
    Kind.RUN_STARTED,
    Kind.POLICY_ACTIVATED,
    Kind.MODE_ENTERED,
    Kind.SESSION_EVENT,
    *DIFFERENCE_KINDS,
    Kind.DIGESTS_REGISTERED,
    Kind.PROMOTION_TESTED,
    Kind.MODEL_PROMOTED,
)
COUNTED = frozenset({Mode.PAPER, Mode.PILOT})
"""Modes whose sessions count; shadow has no session, and live is where they lead."""


@dataclass(slots=True)
class ModeHistory:
    """What the records say about modes.

    Attributes:
        mode: of the newest served run; empty before the first.
        changed_seq: the record that the next change's statement names.
        accounts: account -> mode, of served runs.
        sessions: (SenderCompID, TargetCompID) -> mode.
        limits: of pilot mode, as the newest change of mode has them; empty in another mode.
        reconciled_sessions: those of `COUNTED` modes, oldest first.
        registered: what the newest registration names, by SHA-256 (hex). A policy that followed in
            a mode with money, tried and signed by both officers, takes the place of the one named.
        promoted: SHA-256 of the manifests of model pairs that passed the promotion gate, and that
            no newer report of the gate refuses.
    """

    mode: str = ""
    changed_seq: int = -1
    accounts: dict[str, str] = field(default_factory=dict)
    sessions: dict[tuple[str, str], str] = field(default_factory=dict)
    limits: str = ""
    reconciled_sessions: list[SessionEvent] = field(default_factory=list)
    registered: dict[str, str] = field(default_factory=dict)
    promoted: set[str] = field(default_factory=set)
    _known: KnownDifferences = field(default_factory=KnownDifferences)
    _served: bool = False
    _logon: tuple[str, int] | None = None
    _pending: SessionEvent | None = None

    @property
    def reconciled(self) -> int:
        """How many sessions were reconciled, whatever their span."""
        return len(self.reconciled_sessions)

    def meeting(self, wanted: DeploymentLimits) -> tuple[int, int]:
        """Return how many sessions have the span that a policy wants, and on how many days."""
        least_us = wanted.session_span_min.value
        long = [one for one in self.reconciled_sessions if one.span_us >= least_us]
        return len(long), len({one.trading_day for one in long})

    def end(self) -> None:
        """Count the session before a logon or the end, unless the books differ then."""
        if self._pending is not None and not self._known.open:
            self.reconciled_sessions.append(self._pending)
        self._pending = self._logon = None

    def take(self, record: Record) -> None:  # noqa: C901 - one case for each kind
        """Fold one record."""
        match record.kind:
            case Kind.RUN_STARTED:
                self.end()
                run = RunStarted.of(record)
                self._served = not run.dev
                if self._served:
                    self.accounts.setdefault(run.account, run.mode)
                    self.mode = run.mode
            case Kind.MODE_ENTERED:
                entered = ModeEntered.of(record)
                self.accounts.setdefault(entered.account, entered.mode)
                self.sessions.setdefault((entered.sender, entered.target), entered.mode)
                self.changed_seq, self.limits = record.seq, entered.limits
            case Kind.SESSION_EVENT:
                self._session(SessionEvent.of(record))
            case Kind.DIGESTS_REGISTERED:
                self.registered = DigestsRegistered.of(record).digests
            case Kind.POLICY_ACTIVATED:
                if self._served and self.mode and Mode(self.mode).risks_money:
                    self.registered["policy"] = PolicyActivated.of(record).policy_digest
            case Kind.PROMOTION_TESTED:
                tested = PromotionTested.of(record)
                if not tested.passed:
                    self.promoted.discard(tested.model_digest)
            case Kind.MODEL_PROMOTED:
                self.promoted.add(ModelPromoted.of(record).model_digest)
            case _:
                self._known.take(record)

    def _session(self, said: SessionEvent) -> None:
        """Take a logon, or its reconciliation: neither counts without the other, nor idly."""
        if said.event == OPENED:
            self.end()
            self._logon = said.run_id, said.logon_no
        elif (
            said.event == RECONCILED
            and self._logon == (said.run_id, said.logon_no)
            and said.mode in COUNTED
            and said.orders + said.positions > 0
            and said.trading_day
        ):
            self._pending = said


def mode_history(records: Iterable[Record]) -> ModeHistory:
    """Return the history that these records of `MODE_KINDS` tell, with the last run as ended."""
    history = ModeHistory()
    for record in records:
        history.take(record)
    history.end()
    return history


def modes_on_record(reader: RecordsPort) -> ModeHistory:
    """Return the history that a ledger tells."""
    return mode_history(reader.records(kinds=MODE_KINDS))
