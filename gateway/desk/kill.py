"""The kill: close the gate, make it durable, prove the child saw it, then acknowledge.

And its release.

Order (a crash after any step leaves the gate closed):
1. the kill word, shared by mapping with the FIX child and `countersign kill`, closes egress;
2. the FIX child confirms within 100 ms or is killed;
3. the ledger records it (tried with a short deadline: a hung database must not delay the kill; what
   could not be written is kept, with its reason, and written as soon as the ledger takes it, or at
   the next start);
4. the child sweeps live orders until the broker confirmed each gone; how far it is (confirmed,
   unknown, open) is recorded after its patience, and at the end.
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
from gateway.feeds.intake import show_hidden_text
from gateway.installation.press_notes import PressNote, PressNotes
from gateway.walk.journal.kill import kill_outcome, kill_pressed
from gateway.walk.ports import LedgerPort

_log = logging.getLogger(__name__)
CONFIRM_WITHIN_S = 0.1
RECORD_WITHIN_S = 0.5
AWAY = "pressed while the ledger was away"


class KillableChild(Protocol):
    """The part of the FIX child's supervisor that a kill needs."""

    def kill(self, kill_epoch: int, timeout_s: float = CONFIRM_WITHIN_S) -> bool:
        """Make the child confirm the epoch; kill it with SIGKILL otherwise. True when confirmed."""
        ...


class KillLedger(LedgerPort, Protocol):
    """A ledger that also says which record counts under a key."""

    def by_key(self, stream: str, idem_key: str) -> Record | None:
        """Return the record that counts under a draft's key, or None."""
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
        killed: the gate is shut now; False where the press that was named is released already.
    """

    kill_epoch: int
    child_confirmed: bool
    recorded: bool
    durable: bool
    killed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pressed:
    """A press as it goes on record; the same values make the same record."""

    press: Press
    note: PressNote
    confirmed: bool = False
    confirmed_us: int = 0


class KillSwitch:
    """The kill of one gateway."""

    def __init__(
        self, *, word: KillWord, child: KillableChild, ledger: KillLedger, notes: PressNotes
    ) -> None:
        """Keep the parts; presses are serialised."""
        self._notes = notes
        self._missing: dict[int, _Pressed] = {}
        self._word = word
        self._child = child
        self._ledger = ledger
        self._lock = threading.Lock()

    @property
    def state(self) -> tuple[int, bool]:
        """(kill_epoch, killed) as the word has it now."""
        return self._word.read()

    @property
    def newest(self) -> Press:
        """The newest press, with the id that a release must name.

        Raises:
            KillWordError: it has no id yet, and none can be written.
        """
        return self._word.name_press()

    def press(self, *, actor: str, reason: str, made: tuple[int, str] | None = None) -> KillReceipt:
        """Stop all new orders now; returns after the gate is closed, durable and confirmed.

        Args:
            actor: who presses.
            reason: why.
            made: epoch and press id of a press that the caller has made in the word itself. It is
                confirmed and recorded as his; no second one is made.
        """
        with self._lock:
            press, durable = self._close(made)
            confirmed = press.killed and self._child.kill(self._word.read().kill_epoch)
            confirmed_us = monotonic_us() if confirmed else 0
            recorded = self._record(
                _Pressed(
                    press=press,
                    note=PressNote(actor, reason),
                    confirmed=confirmed,
                    confirmed_us=confirmed_us,
                )
            )
        return KillReceipt(
            kill_epoch=press.kill_epoch,
            child_confirmed=confirmed,
            recorded=recorded,
            durable=durable,
            killed=self._word.read().killed,
        )

    def _close(self, made: tuple[int, str] | None) -> tuple[Press, bool]:
        """Shut the gate, unless the caller did; returns the press and whether it is on disk."""
        newest = self._word.newest_press()
        if made == (newest.kill_epoch, newest.press_id):
            return newest, True
        if (
            made is not None and made[0] < newest.kill_epoch and newest.killed
        ):  # pressed again since
            epoch, press_id = made
            return newest._replace(kill_epoch=epoch, press_id=press_id, pressed_us=0), True
        try:
            self._word.press()
        except KillWordError as error:
            _log.critical("the kill is in force but not durable: %s", error)
            return self._word.newest_press(), False
        return self._word.newest_press(), True

    def import_press(self, *, last_recorded_epoch: int) -> None:
        """Record a press that happened while the ledger could not be written.

        As not confirmed: whether a child did confirm it then, nothing kept.
        """
        press = self._word.newest_press()
        if press.killed and press.kill_epoch > last_recorded_epoch:
            self._record(self._kept(press))

    def record_missing(self) -> None:
        """Put presses on record that the ledger could not take when they were made; a chore.

        Takes no lock that a press waits for.

        Raises:
            AuditError: the ledger does not take it yet.
            NotReadyError: another record holds its place; the log says what to do.
        """
        for missing in sorted(self._missing.values(), key=lambda one: one.press.kill_epoch):
            if not self._try_record(missing):
                raise NotReadyError(part=f"kill {missing.press.kill_epoch}", state="not on record")

    def ensure_recorded(self, press: Press) -> None:
        """Put this press on record where the ledger missed it, before its release.

        As not confirmed, for the same reason as in `import_press`. After a restore the word may
        have been made anew: the epoch is on record then, under the id of the press before.

        Raises:
            AuditError: the ledger does not take it.
        """
        pressed = self._missing.get(press.kill_epoch) or self._kept(press)
        try:
            self._append_press(pressed)
        except IdempotencyConflictError as error:  # on record, as somebody's press?
            if not self._on_record(press._replace(press_id=""), error):
                raise

    def _kept(self, press: Press) -> _Pressed:
        """Return a press that the ledger missed with what was kept of it."""
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
        """Record how far a sweep is: orders confirmed gone, of unknown fate, and still open.

        Args:
            confirmed: ClOrdIDs of which the broker said that nothing is left.
            unknown: those without an answer.
            still_open: those that work on.
            kill_epoch: of the press that the sweep belongs to; 0 is the newest one, if it holds.
            times_us: monotonic microseconds by field of the record; 0 never happened.
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
        """Try to put a press on record; what the ledger cannot take now is kept for later."""
        try:
            return self._try_record(pressed)
        except AuditError as error:
            epoch = pressed.press.kill_epoch
            _log.error("kill %s is in force but not yet on record: %s", epoch, error)
            self._missing[epoch] = pressed
            # a crash before the note costs the reason: the next start records the press without
            with contextlib.suppress(OSError):
                self._notes.keep(pressed.press, pressed.note)
            return False

    def _try_record(self, pressed: _Pressed) -> bool:
        """Put a press on record; returns False where another record holds its place.

        Raises:
            AuditError: the ledger does not take it now.
        """
        try:
            self._append_press(pressed)
        except IdempotencyConflictError as error:  # as this press, or by an import of it?
            if not self._on_record(pressed.press, error):
                return False
            self._is_recorded(pressed.press)
        return True

    def _on_record(self, press: Press, conflict: IdempotencyConflictError) -> bool:
        """Say whether the record that holds a press's key counts and is of this press."""
        try:
            held = self._ledger.by_key(conflict.stream, conflict.idem_key)
        except AuditError as error:
            _log.error("kill %s is in force; is it on record? %s", press.kill_epoch, error)
            return False
        if held is not None and held.kind is Kind.KILL_PRESSED:
            named = held.body.get("press_id")  # one of the two may have none: damaged, or old
            same = not named or not press.press_id or named == press.press_id
            if same and held.body["kill_epoch"] == press.kill_epoch:
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
        """Forget what was kept of a press until it was on record."""
        self._missing.pop(press.kill_epoch, None)
        self._notes.drop(press)
