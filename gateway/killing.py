"""The kill: close the gate, make it durable, prove the child saw it, then acknowledge.

And its release.

Order (a crash after any step leaves the gate closed):
1. the kill word, shared by mapping with the FIX child and `countersign kill`, closes egress;
2. the FIX child confirms within 100 ms or is killed;
3. the ledger records it (tried with a short deadline: a hung database must not delay the kill; what
   could not be written is written at the next start);
4. the child sweeps live orders; the outcome (confirmed, unknown, open) is recorded.
"""

import contextlib
import logging
import threading
from dataclasses import dataclass
from typing import Protocol

from audit.errors import AuditError, IdempotencyConflictError
from audit.kinds import Kind
from audit.ledger import Lane
from audit.record import Draft
from fix.errors import KillWordError
from fix.kill import KillWord
from gateway import clock
from gateway.intake import show_hidden_text
from gateway.walk import LedgerPort

_log = logging.getLogger(__name__)
CONFIRM_WITHIN_S = 0.1
RECORD_WITHIN_S = 0.5


class KillableChild(Protocol):
    """The part of the FIX child's supervisor that a kill needs."""

    def kill(self, kill_epoch: int, timeout_s: float = CONFIRM_WITHIN_S) -> bool:
        """Make the child confirm the epoch; kill it with SIGKILL otherwise. True when confirmed."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class KillReceipt:
    """What the presser is told.

    Attributes:
        kill_epoch: the epoch that is now closed.
        child_confirmed: the FIX child confirmed; False means it was killed instead.
        recorded: the ledger holds the press already.
        durable: the press is on disk; False means the gate is shut in every process, but a power
            cut might open it: the disk refused.
    """

    kill_epoch: int
    child_confirmed: bool
    recorded: bool
    durable: bool


class KillSwitch:
    """The kill of one gateway."""

    def __init__(self, *, word: KillWord, child: KillableChild, ledger: LedgerPort) -> None:
        """Keep the parts; presses are serialised."""
        self._word = word
        self._child = child
        self._ledger = ledger
        self._lock = threading.Lock()

    @property
    def state(self) -> tuple[int, bool]:
        """(kill_epoch, killed) as the word has it now."""
        return self._word.read()

    def press(self, *, actor: str, reason: str) -> KillReceipt:
        """Stop all new orders now; returns after the gate is closed, durable and confirmed."""
        with self._lock:
            epoch, durable = self._close()
            confirmed = self._child.kill(epoch)
            recorded = self._record(epoch, actor=actor, reason=reason, confirmed=confirmed)
        return KillReceipt(
            kill_epoch=epoch, child_confirmed=confirmed, recorded=recorded, durable=durable
        )

    def _close(self) -> tuple[int, bool]:
        """Shut the gate; returns the epoch and whether it is on disk."""
        try:
            return self._word.press(), True
        except KillWordError as error:
            _log.critical("the kill is in force but not durable: %s", error)
            return self._word.read().kill_epoch, False

    def import_press(self, *, last_recorded_epoch: int) -> None:
        """Record a press that happened while the ledger could not be written."""
        epoch, killed = self._word.read()
        if killed and epoch > last_recorded_epoch:
            self._record(
                epoch, actor="kill word", reason="pressed while the ledger was away", confirmed=True
            )

    def ensure_recorded(self, epoch: int) -> None:
        """Put the press of this epoch on record where the ledger missed it, before its release.

        Raises:
            AuditError: the ledger does not take it.
        """
        with contextlib.suppress(IdempotencyConflictError):  # on record, as somebody's press
            self._append_press(
                epoch, "kill word", "pressed while the ledger was away", confirmed=True
            )

    def record_outcome(
        self, *, confirmed: list[str], unknown: list[str], still_open: list[str]
    ) -> None:
        """Record how a sweep ended: orders confirmed gone, of unknown fate, and still open."""
        epoch, killed = self._word.read()
        if not killed:
            return
        draft = Draft(
            stream="control",
            kind=Kind.KILL_OUTCOME,
            payload={
                "kill_epoch": epoch,
                "confirmed": len(confirmed),
                "unknown": len(unknown),
                "open": len(still_open),
                "detail": f"unknown {' '.join(unknown)}; open {' '.join(still_open)}",
            },
            actor="fix",
            idem_key=f"kill_outcome:{epoch}:{clock.wall_us()}",
        )
        self._ledger.append(draft, lane=Lane.URGENT)

    def _record(self, epoch: int, *, actor: str, reason: str, confirmed: bool) -> bool:
        try:
            self._append_press(epoch, actor, reason, confirmed=confirmed)
        except AuditError as error:
            _log.error("kill %s is in force but not yet on record: %s", epoch, error)
            return False
        return True

    def _append_press(self, epoch: int, actor: str, reason: str, *, confirmed: bool) -> None:
        draft = Draft(
            stream="control",
            kind=Kind.KILL_PRESSED,
            payload={
                "kill_epoch": epoch,
                "actor_name": actor,
                "reason": show_hidden_text(reason)[:500],
                "confirmed": confirmed,
            },
            actor=actor,
            idem_key=f"kill:{epoch}",
        )
        self._ledger.append(draft, lane=Lane.URGENT, timeout_s=RECORD_WITHIN_S)
