"""A kill's release, signed by two roles: recorded first, then the gate opens.

An order that may still work at the broker must be named in the request and in the statement that
both roles sign (decision 029).

Not here: the press (`kill`), a release without a running gateway (`launch.commands.kill`).
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from audit.errors import AuditError
from audit.sequencer.ledger import Lane
from gateway.desk.controls.statements import all_signed, refuse_unnamed, release_statement
from gateway.desk.parts import DeskParts
from gateway.errors import NotReadyError, ReleaseRefusedError
from gateway.installation.keys.log_id import log_id
from gateway.walk.journal.control.kill import kill_released
from gateway.walk.projections.kill_times import newest_kill


def release_press(
    own: DeskParts,
    actor: str,
    kill_epoch: int,
    signatures: dict[str, str],
    reason: str,
    live: Sequence[str] = (),
) -> dict[str, Any]:
    """Release a kill: record first, then open the gate.

    `live` are the ClOrdIDs that may still work at the broker, as in the signed statement;
    signatures are hex by role.

    Raises:
        ReleaseRefusedError: a signature is missing or wrong, another epoch is in force, or an
            order that may work is not named.
    """
    press = own.kill_switch.newest
    if not press.killed or press.kill_epoch != kill_epoch:
        raise ReleaseRefusedError(
            problem=f"kill epoch {kill_epoch} is not in force (now {press.kill_epoch})"
        )
    if not press.press_id:
        raise ReleaseRefusedError(problem="the newest press is incomplete: press again first")
    own.kill_switch.ensure_recorded(press)
    refuse_unnamed(_may_work(own), live)
    log = log_id(own.reader, own.origin)
    signed = release_statement(log, kill_epoch, press.press_id, live)
    if not all_signed(signed, signatures, own.keyring.public_keys()):
        raise ReleaseRefusedError(
            problem="both roles, risk and compliance, must sign the statement of this press"
            " in this ledger; GET /v1/kill has it"
        )
    draft = kill_released(press, log, actor, reason, signatures, live)
    own.tools.ledger.append(draft, lane=Lane.URGENT)
    # a crash here leaves a release on record and the gate closed: the same two release it again
    own.word.release(kill_epoch, press.press_id)
    return {"kill_epoch": kill_epoch, "killed": False, "live": list(live)}


def kill_state(own: DeskParts) -> dict[str, Any]:
    """Return the kill's state and the statement that releases it.

    The statement is left out while the ledger cannot be read.
    """
    press = own.kill_switch.newest
    state: dict[str, Any] = {"kill_epoch": press.kill_epoch, "killed": press.killed}
    if press.killed and press.press_id:
        state["press_id"] = press.press_id
        with suppress(AuditError, NotReadyError):
            log, live = log_id(own.reader, own.origin), _may_work(own)
            signed = release_statement(log, press.kill_epoch, press.press_id, live)
            state |= {"log_id": log, "live": live, "to_sign": signed.decode()}
    with suppress(AuditError):
        found = newest_kill(own.reader)
        state |= {"on_record": found} if found is not None else {}
    return state


def _may_work(own: DeskParts) -> list[str]:
    return sorted(one.cl_ord_id for one in own.orders.live())
