"""Sequence numbers of a FIX session, by the ledger, from the last reset on.

The FIX child writes each reset to a file before the session goes on. It is recorded here before an
order leaves under the new numbers. Because a number can occur again after a reset, (epoch,
MsgSeqNum) names a message. Not here: which resets are allowed (`fix.dialects.profile`), and a lost
folder (`launch.session`).
"""

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass

from audit.errors import IdempotencyConflictError
from audit.records.kinds import Kind
from audit.sequencer.ledger import Lane, Ledger
from audit.store.reader import LedgerReader
from fix.dialects.profile import Profile
from fix.durable.resets import Reset, last_start_us
from gateway.walk.journal.order import OrderSent
from gateway.walk.journal.session import reset_in, session_reset


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionNumbers:
    """The numbers of a session, by the ledger and the session's folder.

    Attributes:
        epoch: number of the last allowed reset; 0 without one.
        last_reset: number of the last reset, allowed or refused; 0 without one.
        next_sender: one above our highest known number in this epoch.
        refused: the last reset, if it was refused.
    """

    epoch: int
    last_reset: int
    next_sender: int
    refused: Reset | None


def numbers(
    reader: LedgerReader, profile: Profile, found: Iterable[Reset], now_us: int, mode: str = ""
) -> SessionNumbers:
    """Return the numbers of a session; `found` are the resets in its folder.

    Orders of another `mode` left in another session and are not counted; one that names none is. A
    schedule of the profile resets the numbers without a record.
    """
    resets = {one.reset_no: one for one in (*found, *recorded(reader, profile.name))}
    allowed = [one for one in resets.values() if one.allowed]
    last = max(resets, default=0)
    newest = max(allowed, key=lambda one: one.reset_no, default=None)
    epoch, floor, since_us = (
        (0, 1, 0) if newest is None else (newest.reset_no, newest.new_sender, newest.at_us)
    )
    for record in reader.records(kinds=(Kind.ORDER_SENT,)):
        sent = OrderSent.of(record)
        if sent.session_epoch == epoch and (not mode or sent.mode in {mode, ""}):
            floor = max(floor, sent.msg_seq_num + 1)
            since_us = max(since_us, record.recorded_at_us)
    if since_us < last_start_us(profile, now_us):
        floor = 1  # the schedule has reset the numbers since
    refused = None if last == 0 or resets[last].allowed else resets[last]
    return SessionNumbers(epoch=epoch, last_reset=last, next_sender=floor, refused=refused)


def epoch_of(reader: LedgerReader, session: str, found: Iterable[Reset]) -> int:
    """Return the present epoch; a reset in the folder (`found`) counts before it is recorded."""
    known = (*found, *recorded(reader, session))
    return max((one.reset_no for one in known if one.allowed), default=0)


def recorded(reader: LedgerReader, session: str) -> tuple[Reset, ...]:
    """Return the recorded resets, oldest first."""
    records = reader.records(stream=f"session/{session}", kinds=(Kind.SESSION_EVENT,))
    return tuple(reset for reset in map(reset_in, records) if reset is not None)


def record_resets(ledger: Ledger, session: str, run_id: str, found: Iterable[Reset]) -> None:
    """Record resets; one that is on record changes nothing.

    Raises:
        AuditError: when the ledger does not take one; no order may leave under the new numbers.
    """
    for one in found:
        draft = session_reset(session, run_id, one)
        with contextlib.suppress(IdempotencyConflictError):  # on record, by an earlier run
            ledger.append(draft, lane=Lane.URGENT)
