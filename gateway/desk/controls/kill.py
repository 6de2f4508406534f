"""The kill switch: close the gate, confirm, record, sweep.

A crash after any step leaves the gate closed:

1. The kill word, which the FIX child and `countersign kill` map too, closes egress.
2. The FIX child confirms within 100 ms or is killed.
3. The ledger records the press. The deadline is short: a hung database must not delay the kill. A
   press that was not recorded is kept with its reason and recorded when the ledger takes it, or at
   the next start.
4. The child sweeps live orders until the broker has confirmed that each is gone. The outcome
   (confirmed, unknown, open) is recorded when the sweep's timeout ends, and at the end.
"""

import contextlib
import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from audit.errors import AuditError, IdempotencyConflictError
from audit.records.kinds import Kind
from audit.records.record import Record
from audit.sequencer.ledger import Lane
from fix.durable.kill_word import KillWord, Press, monotonic_us
from fix.errors import KillWordError
from gateway import clock
from gateway.errors import NotReadyError
from gateway.feeds.text import show_hidden_text
from gateway.installation.press_notes import PressNote, PressNotes
from gateway.walk.journal.control.kill import KillPressed, kill_outcome, kill_pressed
from gateway.walk.ports import LedgerPort

_log = logging.getLogger(__name__)
CONFIRM_WITHIN_S = 0.1
RECORD_WITHIN_S = 0.5
AWAY = "pressed while the ledger was away"


class KillableChild(Protocol):
    """The part of the FIX child's supervisor that a kill needs."""

    def kill(self, kill_epoch: int, timeout_s: float = CONFIRM_WITHIN_S) -> bool:
        """Return whether the child confirmed the epoch in time; it is dead otherwise."""


class KillLedger(LedgerPort, Protocol):
    """A ledger that can also look up a record by its idempotency key."""

    def by_key(self, stream: str, idem_key: str) -> Record | None:
        """Return the valid record under a key, or None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KillReceipt:
    """The answer to a press.

    Attributes:
        child_confirmed: the FIX child confirmed; if False, it was killed.
        recorded: the press is in the ledger.
        durable: the press is on disk; if False, the gate is closed in every process, but a power
            cut may open it.
        killed: the gate is closed now; False where the named press has been released already.
    """

    kill_epoch: int
    child_confirmed: bool
    recorded: bool
    durable: bool
    killed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pressed:
    """A press with what its record needs; the same values make the same record."""

    press: Press
    note: PressNote
    confirmed: bool = False
    confirmed_us: int = 0


class KillSwitch:
    """The kill of one gateway; presses are serialised."""

    def __init__(
        self, *, word: KillWord, child: KillableChild, ledger: KillLedger, notes: PressNotes
    ) -> None:
        self._notes = notes
        self._missing: dict[int, _Pressed] = {}
        self._word = word
        self._child = child
        self._ledger = ledger
        self._lock = threading.Lock()

    @property
    def state(self) -> tuple[int, bool]:
        """Kill epoch, and whether the kill is in force, as the kill word has it."""
        return self._word.read()

    @property
    def newest(self) -> Press:
        """The newest press, with the id that a release must name.

        Raises:
            KillWordError: the press has no id, and none can be written.
        """
        return self._word.name_press()

    def press(self, *, actor: str, reason: str, made: tuple[int, str] | None = None) -> KillReceipt:
        """Stop all new orders; return once the gate is closed, durable and confirmed.

        `made` names (epoch, press id) a press that the caller made in the kill word. It is
        confirmed and recorded as the caller's; no second press is made.
        """
        with self._lock:
            press, durable = self._close(made)
            confirmed = press.killed and self._child.kill(self._word.read().kill_epoch)
            pressed = _Pressed(
                press=press,
                note=PressNote(actor, reason),
                confirmed=confirmed,
                confirmed_us=monotonic_us() if confirmed else 0,
            )
            recorded = self._record(pressed)
        return KillReceipt(
            kill_epoch=press.kill_epoch,
            child_confirmed=confirmed,
            recorded=recorded,
            durable=durable,
            killed=self._word.read().killed,
        )

    def _close(self, made: tuple[int, str] | None) -> tuple[Press, bool]:
        """Close the gate unless the caller did; return the press and whether it is on disk."""
        newest = self._word.newest_press()
        if made == (newest.kill_epoch, newest.press_id):
            return newest, True
        if made is not None and made[0] < newest.kill_epoch and newest.killed:
            epoch, press_id = made  # pressed again since
            return newest._replace(kill_epoch=epoch, press_id=press_id, pressed_us=0), True
        try:
            self._word.press()
        except KillWordError as error:
            _log.critical("the kill is in force but not durable: %s", error)
            return self._word.newest_press(), False
        return self._word.newest_press(), True

    def import_press(self, *, last_recorded_epoch: int) -> None:
        """Record a press that the ledger missed.

        It is recorded as not confirmed: nothing kept whether the child confirmed it.
        """
        press = self._word.newest_press()
        if press.killed and press.kill_epoch > last_recorded_epoch:
            self._record(self._kept(press))

    def record_missing(self) -> None:
        """Record the presses that the ledger could not take when they were made.

        Housekeeping calls it; it takes no lock that a press waits for.

        Raises:
            AuditError: the ledger still does not take the record.
            NotReadyError: another record has its idempotency key; the log says what to do.
        """
        for missing in sorted(self._missing.values(), key=lambda one: one.press.kill_epoch):
            if not self._try_record(missing):
                raise NotReadyError(part=f"kill {missing.press.kill_epoch}", state="not on record")

    def ensure_recorded(self, press: Press) -> None:
        """Record a press before its release, if the ledger missed it; see `import_press`.

        After a restore the kill word may be new: the epoch is then on record under another id.

        Raises:
            AuditError: the ledger does not take the record.
        """
        pressed = self._missing.get(press.kill_epoch) or self._kept(press)
        try:
            self._append_press(pressed)
        except IdempotencyConflictError as error:  # on record, as somebody's press?
            if not self._on_record(press._replace(press_id=""), error):
                raise

    def _kept(self, press: Press) -> _Pressed:
        return _Pressed(press=press, note=self._notes.of(press) or PressNote("kill word", AWAY))

    def record_outcome(
        self,
        *,
        confirmed: list[str],
        unknown: list[str],
        still_open: list[str],
        kill_epoch: int = 0,
        times_us: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        """Record the progress of a sweep: ClOrdIDs that are gone, of unknown fate, and still open.

        Epoch 0 is the newest press, if it is in force. Times are monotonic microseconds by field of
        the record; 0: it did not happen.
        """
        press = self._word.newest_press()
        if not press.killed and not kill_epoch:
            return
        if kill_epoch and kill_epoch != press.kill_epoch:  # the ledger was away until another press
            press = press._replace(kill_epoch=kill_epoch, pressed_us=0)
        outcome = {"confirmed": confirmed, "unknown": unknown, "open": still_open}
        draft = kill_outcome(press, outcome, times_us, number=clock.wall_us())
        self._ledger.append(draft, lane=Lane.URGENT)

    def _record(self, pressed: _Pressed) -> bool:
        """Try to record a press; keep it for later when the ledger does not take it."""
        try:
            return self._try_record(pressed)
        except AuditError as error:
            epoch = pressed.press.kill_epoch
            _log.error("kill %s is in force but not yet on record: %s", epoch, error)
            self._missing[epoch] = pressed
            # a crash before the note loses the reason: the next start records the press without it
            with contextlib.suppress(OSError):
                self._notes.keep(pressed.press, pressed.note)
            return False

    def _try_record(self, pressed: _Pressed) -> bool:
        """Record a press; return False if another record has its idempotency key."""
        try:
            self._append_press(pressed)
        except IdempotencyConflictError as error:  # as this press, or by an import of it?
            if not self._on_record(pressed.press, error):
                return False
            self._is_recorded(pressed.press)
        return True

    def _on_record(self, press: Press, conflict: IdempotencyConflictError) -> bool:
        """Return whether the record under a press's key is valid and of this press."""
        try:
            held = self._ledger.by_key(conflict.stream, conflict.idem_key)
        except AuditError as error:
            _log.error(
                "kill %s is in force; unknown whether it is on record: %s", press.kill_epoch, error
            )
            return False
        if held is not None and held.kind is Kind.KILL_PRESSED:
            recorded = KillPressed.of(held)
            named = recorded.press_id  # an old record or a damaged word has none
            same = not named or not press.press_id or named == press.press_id
            if same and recorded.kill_epoch == press.kill_epoch:
                return True
        _log.critical(
            "kill %s is in force and not on record: %s; stop and run `countersign fsck`",
            press.kill_epoch,
            conflict,
        )
        return False

    def _append_press(self, pressed: _Pressed) -> None:
        draft = kill_pressed(
            pressed.press,
            pressed.note.actor,
            show_hidden_text(pressed.note.reason)[:500],
            confirmed=pressed.confirmed,
            confirmed_us=pressed.confirmed_us,
        )
        self._ledger.append(draft, lane=Lane.URGENT, timeout_s=RECORD_WITHIN_S)
        self._is_recorded(pressed.press)

    def _is_recorded(self, press: Press) -> None:
        self._missing.pop(press.kill_epoch, None)
        self._notes.drop(press)
