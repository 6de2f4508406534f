"""Which mode a ledger is in, and to which mode its accounts and sessions belong, from records.

Not here: which mode may begin (`desk.persons.governing.modes`).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from audit.records.kinds import Kind
from audit.records.record import Record
from gateway.walk.journal.control.modes import Mode, ModeEntered, ModelPromoted
from gateway.walk.journal.run import RunStarted

MODE_KINDS = (
    Kind.RUN_STARTED,
    Kind.MODE_ENTERED,
    Kind.BOOK_DIFFERENCE,
    Kind.DIFFERENCE_RESOLVED,
    Kind.DIGESTS_REGISTERED,
    Kind.MODEL_PROMOTED,
)


@dataclass(slots=True)
class ModeHistory:
    """What the records say about modes.

    Attributes:
        mode: of the newest served run; empty before the first.
        changed_seq: the record that the next change's statement names.
        accounts: account -> mode, of served runs.
        sessions: (SenderCompID, TargetCompID) -> mode.
        limits: of pilot mode, as the newest change of mode has them; empty in another mode.
        reconciled: served runs in paper or shadow mode that ended without an open difference.
        registered: whether digests are registered.
        promoted: SHA-256 of the manifests of model pairs that passed the promotion gate.
    """

    mode: str = ""
    changed_seq: int = -1
    accounts: dict[str, str] = field(default_factory=dict)
    sessions: dict[tuple[str, str], str] = field(default_factory=dict)
    limits: str = ""
    reconciled: int = 0
    registered: bool = False
    promoted: set[str] = field(default_factory=set)
    _open: int = 0
    _running: str = ""

    def end(self) -> None:
        """Count the present run as ended."""
        if self._running in {Mode.PAPER, Mode.SHADOW} and self._open <= 0:
            self.reconciled += 1
        self._running = ""

    def take(self, record: Record) -> None:
        """Fold one record."""
        match record.kind:
            case Kind.RUN_STARTED:
                self.end()
                run = RunStarted.of(record)
                if not run.dev:
                    self.accounts.setdefault(run.account, run.mode)
                    self.mode = self._running = run.mode
            case Kind.MODE_ENTERED:
                entered = ModeEntered.of(record)
                self.accounts.setdefault(entered.account, entered.mode)
                self.sessions.setdefault((entered.sender, entered.target), entered.mode)
                self.changed_seq, self.limits = record.seq, entered.limits
            case Kind.BOOK_DIFFERENCE:
                self._open += 1
            case Kind.DIFFERENCE_RESOLVED:
                self._open -= 1
            case Kind.DIGESTS_REGISTERED:
                self.registered = True
            case Kind.MODEL_PROMOTED:
                self.promoted.add(ModelPromoted.of(record).model_digest)
            case _:
                pass


def mode_history(records: Iterable[Record]) -> ModeHistory:
    """Return the history that these records of `MODE_KINDS` tell, with the last run as ended."""
    history = ModeHistory()
    for record in records:
        history.take(record)
    history.end()
    return history
