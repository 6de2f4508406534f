"""The stops apart from the kill: pause, reduce-only, and their end.

A stop is recorded first and counts for every verdict after its record. An order that was approved
before it and has not been announced is withdrawn. One that was announced before it leaves.

Rules:

- Any operator or approver may stop. Each press is a stop of its own.
- A stop ends when the person who pressed it resumes, or one officer signs its statement, which
  names each stop by 128 random bits. The AI circuit breaker, which the gateway opens, and secure
  reasoning need both.

Not here: what a stop refuses (`risk.rules.control.stops`), the kill (`kill`), who may call
(`surfaces`).
"""

import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Final

from audit.sequencer.ledger import Lane
from gateway.desk.controls.statements import signed_by, statement
from gateway.desk.parts import DeskParts
from gateway.errors import StopRefusedError
from gateway.installation.keys.keyring import SIGNING_ROLES
from gateway.installation.keys.log_id import log_id
from gateway.walk.journal.control.stops import stop_begun, stop_ended
from gateway.walk.projections.stops import StopPress
from risk.state.state import Stop

RESUME: Final = "stop resume"
BY_BOTH: Final = frozenset({Stop.BREAKER, Stop.SECURE})
_ID_BYTES: Final = 16


def resume_statement(log: str, stop_ids: Sequence[str]) -> bytes:
    """Return the statement by which one officer ends these stops."""
    return statement(RESUME, log, *(f"stop {one}" for one in stop_ids))


def stops_state(own: DeskParts) -> dict[str, Any]:
    """Return the stops in force, who pressed them, and the statement that ends all of them."""
    own.section.stops.read(own.reader.log_size())
    found = own.section.stops.open()
    state: dict[str, Any] = {
        "in_force": [stop.value for stop in own.section.stops.in_force()],
        "stops": [one.document() for one in found],
    }
    if found:
        log = log_id(own.reader, own.origin)
        signed = resume_statement(log, [one.stop_id for one in found])
        state |= {"log_id": log, "to_sign": signed.decode()}
    return state


def begin_stop(own: DeskParts, actor: str, stop: Stop, reason: str) -> dict[str, Any]:
    """Put a stop in force; it holds for every verdict and every announcement from its record on.

    Raises:
        AuditError: the ledger does not take it: the stop is not in force.
    """
    stop_id = secrets.token_hex(_ID_BYTES)
    stops = own.section.stops
    with stops.beginning(stop):
        (record,) = own.tools.ledger.append(
            stop_begun(stop, stop_id, actor, reason), lane=Lane.URGENT
        )
        # a crash here leaves a stop on record: the next start folds it
        stops.read(record.seq + 1)
    return {"stop": stop.value, "stop_id": stop_id, "seq": record.seq}


def resume(
    own: DeskParts, actor: str, stop: Stop | None, reason: str, signatures: Mapping[str, str]
) -> dict[str, Any]:
    """End the stops in force, or those of one sort.

    Raises:
        StopRefusedError: a stop is another person's and no officer signed, or none is in force.
    """
    stops = own.section.stops
    stops.read(own.reader.log_size())
    found = [one for one in stops.open() if stop in {None, one.stop}]
    if not found:
        raise StopRefusedError(problem="no such stop is in force: countersign stops")
    ids = [one.stop_id for one in found]
    log = log_id(own.reader, own.origin)
    officers = signed_by(resume_statement(log, ids), signatures, own.keyring.public_keys())
    _refuse_others(found, actor, officers)
    valid = {role: signatures[role] for role in officers}
    draft = stop_ended(ids, actor, reason, log=log, signatures=valid)
    (record,) = own.tools.ledger.append(draft, lane=Lane.URGENT)
    stops.read(record.seq + 1)
    return {"ended": [one.document() for one in found], "seq": record.seq}


def _refuse_others(found: Sequence[StopPress], actor: str, officers: Sequence[str]) -> None:
    if any(one.stop in BY_BOTH for one in found) and tuple(officers) != SIGNING_ROLES:
        raise StopRefusedError(
            problem="the AI circuit breaker and secure reasoning end by both officers' signatures"
            " of what GET /v1/stops shows as `to_sign`"
            " (countersign resume --risk-key FILE --compliance-key FILE)"
        )
    others = sorted({one.actor for one in found if one.actor != actor})
    if others and not officers:
        raise StopRefusedError(
            problem=f"pressed by {', '.join(others)}, and you are {actor}: let that person resume,"
            " or one officer sign what GET /v1/stops shows as `to_sign`"
            " (countersign resume --risk-key FILE)"
        )


def cancel_all(own: DeskParts, actor: str, reason: str) -> dict[str, Any]:
    """Cancel every live order; see `CancelAll.ask`.

    Raises:
        StopRefusedError: there is no FIX session here, or it is down.
    """
    if own.cancel_all is None:
        raise StopRefusedError(
            problem="this gateway has no FIX session: there is nothing to cancel"
        )
    return own.cancel_all.ask(actor, reason)
