"""Records of a kill: press, cancels, outcome, release.

Times are monotonic microseconds; only times of the same boot compare. Not here: when a record is
appended (`desk.kill`, `desk.release`).
"""

from collections.abc import Mapping, Sequence

from audit.records.canonical import JSON
from audit.records.kinds import Kind
from audit.records.record import Draft
from fix.durable.journal import CancelNote
from fix.durable.kill_word import Press
from gateway.walk.journal.contents import Contents
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
    payload: dict[str, JSON] = {
        "kill_epoch": press.kill_epoch,
        "press_id": press.press_id,
        "log_id": log,
        "released_by": actor,
        "reason": reason,
        "signatures": dict(signatures),
    }
    if live:
        payload["live"] = list(live)
    return Draft(
        stream="control",
        kind=Kind.KILL_RELEASED,
        payload=payload,
        actor=f"person:{actor}",
        idem_key=f"release:{press.kill_epoch}:{digest_of(payload)[:16]}",
    )


def kill_pressed(
    press: Press, actor: str, reason: str, *, confirmed: bool, confirmed_us: int = 0
) -> Draft:
    """The kill is in force; `confirmed` says that the FIX child lets no new order pass.

    `confirmed_us` is when it said so, monotonic; 0 if nobody asked.
    """
    payload: dict[str, JSON] = {
        "kill_epoch": press.kill_epoch,
        "actor_name": actor,
        "reason": reason,
        "confirmed": confirmed,
    }
    if press.press_id:
        payload |= {"press_id": press.press_id}
    if press.is_of_this_boot:
        payload |= {"boot_id": press.boot_id, "pressed_us": press.pressed_us}
        payload |= {"confirmed_us": confirmed_us} if confirmed_us else {}
    return Draft(
        stream="control",
        kind=Kind.KILL_PRESSED,
        payload=payload,
        actor=actor,
        idem_key=f"kill:{press.kill_epoch}",
    )


def kill_outcome(
    press: Press, outcome: Mapping[str, list[str]], times_us: Mapping[str, int], *, number: int
) -> Draft:
    """How far a sweep has come; it is over when nothing is unknown or open.

    `outcome` has ClOrdIDs under ``confirmed``, ``unknown`` and ``open``. `times_us` has monotonic
    microseconds by field; 0 means never. `number` tells the outcomes of one kill apart.
    """
    unknown, still_open = outcome["unknown"], outcome["open"]
    payload: dict[str, JSON] = {
        "kill_epoch": press.kill_epoch,
        "confirmed": len(outcome["confirmed"]),
        "unknown": len(unknown),
        "open": len(still_open),
        "detail": f"unknown {' '.join(unknown)}; open {' '.join(still_open)}",
    }
    if press.is_of_this_boot:
        payload |= {"boot_id": press.boot_id, "pressed_us": press.pressed_us}
        payload |= {name: moment for name, moment in times_us.items() if moment > 0}
    return Draft(
        stream="control",
        kind=Kind.KILL_OUTCOME,
        payload=payload,
        actor="fix",
        idem_key=f"kill_outcome:{press.kill_epoch}:{number}",
    )


def cancel_sent(note: CancelNote, session: str) -> Draft:
    """A cancel that the FIX child noted before its bytes left; the same note is the same record."""
    payload: dict[str, JSON] = {
        "cl_ord_id": note.cancel_id,
        "orig_cl_ord_id": note.cl_ord_id,
        "session": session,
        "reason": "asked for" if note.asked else _why(note.kill_epoch),
    }
    if note.kill_epoch:
        payload |= {"kill_epoch": note.kill_epoch}
    if note.boot_id:
        payload |= {"boot_id": note.boot_id, "cancelled_us": note.at_us}
    return Draft(
        stream=f"session/{session}",
        kind=Kind.CANCEL_SENT,
        payload=payload,
        actor="fix",
        idem_key=f"cancel:{note.cancel_id}",
    )


def _why(kill_epoch: int) -> str:
    return f"kill {kill_epoch}" if kill_epoch else "sweep"


class KillDrilled(Contents, frozen=True, kw_only=True):
    """A drill: the path of a press was walked, and nothing stopped.

    Attributes:
        live: orders that a kill would have cancelled.
        durable_us: the kill word could be made durable; monotonic, as `pressed_us`.
        confirmed_us: the FIX child answered; None if it did not in time.
    """

    kill_epoch: int
    actor_name: str
    reason: str
    confirmed: bool
    live: int
    boot_id: str
    pressed_us: int
    durable_us: int
    confirmed_us: int | None = None


def kill_drilled(drilled: KillDrilled) -> Draft:
    """A drill that has been carried out."""
    payload = {name: value for name, value in drilled.document().items() if value is not None}
    return Draft(
        stream="control",
        kind=Kind.KILL_DRILLED,
        payload=payload,
        actor=f"person:{drilled.actor_name}",
        idem_key=f"kill_drill:{drilled.boot_id}:{drilled.pressed_us}",
    )


class KillEpoch(Contents, frozen=True, kw_only=True):
    """The epoch that a `kill_pressed` or `kill_released` belongs to."""

    kill_epoch: int


class KillPressed(KillEpoch, frozen=True, kw_only=True):
    """The contents of `kill_pressed`; monotonic times are those of the boot that is named."""

    actor_name: str = ""
    press_id: str = ""
    boot_id: str | None = None
    pressed_us: int | None = None
    confirmed_us: int | None = None


class KillOutcome(KillEpoch, frozen=True, kw_only=True):
    """The contents of `kill_outcome`: how many orders are in each state, and monotonic times."""

    confirmed: int
    unknown: int
    open: int
    boot_id: str | None = None
    last_order_us: int | None = None
    first_cancel_us: int | None = None
    last_cancel_us: int | None = None
    answered_us: int | None = None


class KillReleased(KillEpoch, frozen=True, kw_only=True):
    """The contents of `kill_released`; records of earlier versions name no press."""

    press_id: str = ""
    signatures: dict[str, str] | None = None
    live: tuple[str, ...] = ()


class CancelSent(Contents, frozen=True, kw_only=True):
    cl_ord_id: str
