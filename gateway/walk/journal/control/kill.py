"""Records of a kill: press, cancels, outcome, release.

Times are monotonic microseconds; only times of the same boot compare. Not here: when a record is
appended (`desk.kill`, `desk.release`).
"""

from collections.abc import Mapping, Sequence

from audit.records.record import Draft
from audit.records.record_kind import Contents, Filing, RecordKind
from fix.durable.journal import CancelNote
from fix.durable.kill_word import Press
from gateway.walk.journal.decision import digest_of


def kill_released(
    press: Press,
    log: str,
    actor: str,
    reason: str,
    signatures: dict[str, str],
    live: Sequence[str] = (),
) -> Draft:
    """Two roles signed: after this record the gate may open.

    It names the orders that are still live, as the signed statement does. After a crash between the
    record and the gate, another person may release the same press again.
    """
    released = KillReleased(
        kill_epoch=press.kill_epoch,
        press_id=press.press_id,
        log_id=log,
        released_by=actor,
        reason=reason,
        signatures=dict(signatures),
        live=tuple(live),
    )
    return released.draft(digest=digest_of(released.document())[:16])


def kill_pressed(
    press: Press, actor: str, reason: str, *, confirmed: bool, confirmed_us: int = 0
) -> Draft:
    """The kill is in force; `confirmed` says that the FIX child lets no new order pass.

    `confirmed_us` is when it said so, monotonic; 0 if nobody asked.
    """
    ours = press.is_of_this_boot
    return KillPressed(
        kill_epoch=press.kill_epoch,
        actor_name=actor,
        reason=reason,
        confirmed=confirmed,
        press_id=press.press_id,
        boot_id=press.boot_id if ours else None,
        pressed_us=press.pressed_us if ours else None,
        confirmed_us=(confirmed_us or None) if ours else None,
    ).draft()


def kill_outcome(
    press: Press, outcome: Mapping[str, list[str]], times_us: Mapping[str, int], *, number: int
) -> Draft:
    """How far a sweep has come; it is over when nothing is unknown or open.

    `outcome` has ClOrdIDs under ``confirmed``, ``unknown`` and ``open``. `times_us` has monotonic
    microseconds by field; 0 means never. `number` tells the outcomes of one kill apart.
    """
    unknown, still_open, ours = outcome["unknown"], outcome["open"], press.is_of_this_boot
    times = {name: moment for name, moment in times_us.items() if ours and moment > 0}
    return KillOutcome(
        kill_epoch=press.kill_epoch,
        confirmed=len(outcome["confirmed"]),
        unknown=len(unknown),
        open=len(still_open),
        detail=f"unknown {' '.join(unknown)}; open {' '.join(still_open)}",
        boot_id=press.boot_id if ours else None,
        pressed_us=press.pressed_us if ours else None,
        **times,
    ).draft(number=number)


def cancel_sent(note: CancelNote, session: str) -> Draft:
    """A cancel that the FIX child noted before its bytes left; the same note is the same record."""
    return CancelSent(
        cl_ord_id=note.cancel_id,
        orig_cl_ord_id=note.cl_ord_id,
        session=session,
        reason="asked for" if note.asked else _why(note.kill_epoch),
        kill_epoch=note.kill_epoch,
        boot_id=note.boot_id,
        cancelled_us=note.at_us if note.boot_id else None,
    ).draft()


def _why(kill_epoch: int) -> str:
    return f"kill {kill_epoch}" if kill_epoch else "sweep"


class KillDrilled(RecordKind, frozen=True, kw_only=True):
    """A drill: the path of a press was walked, and nothing stopped.

    Attributes:
        live: orders that a kill would have cancelled.
        durable_us: the kill word could be made durable; monotonic, as `pressed_us`.
        confirmed_us: the FIX child answered; None if it did not in time.
    """

    filing = Filing("control", "kill_drill:{boot_id}:{pressed_us}", "person:{actor_name}")

    kill_epoch: int
    actor_name: str
    reason: str
    confirmed: bool
    live: int
    boot_id: str
    pressed_us: int
    durable_us: int
    confirmed_us: int | None = None


class KillEpoch(Contents, frozen=True, kw_only=True):
    """The epoch that a `kill_pressed` or `kill_released` belongs to."""

    kill_epoch: int


class KillPressed(RecordKind, frozen=True, kw_only=True):
    """A press; monotonic times are those of the boot that is named."""

    filing = Filing(
        "control",
        "kill:{kill_epoch}",
        "{actor_name}",
        firm_wide=True,
        also="elapsed_us open source",
    )

    kill_epoch: int
    actor_name: str
    reason: str
    confirmed: bool
    press_id: str = ""
    boot_id: str | None = None
    pressed_us: int | None = None
    confirmed_us: int | None = None


class KillOutcome(RecordKind, frozen=True, kw_only=True):
    """How many orders are in each state, and monotonic times."""

    filing = Filing("control", "kill_outcome:{kill_epoch}:{number}", "fix", also="elapsed_us")

    kill_epoch: int
    confirmed: int
    unknown: int
    open: int
    detail: str
    boot_id: str | None = None
    pressed_us: int | None = None
    last_order_us: int | None = None
    first_cancel_us: int | None = None
    last_cancel_us: int | None = None
    answered_us: int | None = None


class KillReleased(RecordKind, frozen=True, kw_only=True):
    """A release: which press, by whom, and the orders that were live."""

    filing = Filing(
        "control",
        "release:{kill_epoch}:{digest}",
        "person:{released_by}",
        firm_wide=True,
        early="log_id press_id signatures",
    )

    kill_epoch: int
    press_id: str
    log_id: str
    released_by: str
    reason: str
    signatures: dict[str, str]
    live: tuple[str, ...] = ()


class CancelSent(RecordKind, frozen=True, kw_only=True):
    """A cancel that was noted; of no kill, its epoch is 0."""

    filing = Filing(
        "session/{session}", "cancel:{cl_ord_id}", "fix", also="msg_seq_num raw raw_digest result"
    )

    cl_ord_id: str
    orig_cl_ord_id: str
    session: str = ""
    reason: str = ""
    kill_epoch: int = 0
    boot_id: str = ""
    cancelled_us: int | None = None
