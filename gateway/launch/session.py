"""The start of the FIX session; what to do when its folder was lost.

A folder that is behind the ledger (the ledger was restored without `fix/`) would settle reports
under keys that are taken and use sequence numbers twice, so the start is refused before it writes.
With `--new-fix-session REASON` the reason is recorded first. Then inbox and numbers continue behind
all recorded ones, and orders in flight are asked for as at every start. The same option lets a
broker reset its numbers once where its profile does not allow that.
"""

from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from audit.records.kinds import Kind
from audit.sequencer.ledger import Ledger
from audit.store.reader import LedgerReader
from fix.dialects.engine_settings import ids_of
from fix.dialects.profile import Profile, SessionMode
from fix.durable.continuity import claim, lacking, owner_of, renew
from fix.durable.resets import resets_of
from fix.errors import ChildError
from fix.session.link import SessionState
from fix.simulator.control import exec_number
from gateway import clock
from gateway.errors import NotReadyError, RequestError, SessionLostError, SettingsError
from gateway.installation.children.fix import FixChild
from gateway.launch.events import Events, note
from gateway.launch.plan import Plan
from gateway.telemetry.session import SessionStatus, session_status
from gateway.walk.journal.run import FIX, processes_agreed
from gateway.walk.journal.session import FixInbound
from gateway.walk.projections.outbox import Orders
from gateway.walk.projections.sequence import SessionNumbers, numbers

SKIPPED = 100_000
"""MsgSeqNums skipped by a new session: the broker also counted messages that are not on record.
The protocol fills a gap (SequenceReset) and refuses a number that is too low.
"""


def refuse_lost(plan: Plan, reader: LedgerReader) -> None:
    """Compare the session's folder with the ledger before anything is written.

    Raises:
        SettingsError: the folder belongs to the session of another profile.
        SessionLostError: the folder is behind, and no new session was asked for.
        RequestError: a new session was asked for without need.
    """
    refuse_other_session(plan.state.fix, _session(plan))
    found = _lacking(plan, reader)
    folder = str(plan.state.fix)
    if found and not plan.settings.fix.new_session:
        raise SessionLostError(folder=folder, lacking=found)
    refused = numbers_of(plan, reader).refused
    if plan.settings.fix.new_session and not found and refused is None:
        raise RequestError(
            problem=f"{folder} lacks nothing that is on record, and no reset of the numbers was"
            " refused: start without --new-fix-session"
        )


def refuse_other_session(folder: Path, profile: Profile) -> None:
    """Refuse a folder of another session: its inbox would be settled twice, under both names.

    Raises:
        SettingsError: the folder belongs to the session of another profile.
    """
    found, owner = owner_of(folder), _named(profile)
    if found and found != owner:
        raise SettingsError(
            name="COUNTERSIGN_FIX__PROFILE",
            problem=f"{folder} belongs to the session {found}, the profile says {owner}: use"
            " another state folder and account, or the old profile's name, version and CompIDs",
        )


def _named(profile: Profile) -> str:
    return f"{profile.name} {'-'.join(ids_of(profile))}"


OWN_PEER_S = 15.0
"""How long a start waits for its own simulator."""
PEER_S = 5.0
"""How long a start waits for a broker before it serves without one."""


def await_session(fix: FixChild, *, ours: bool) -> str:
    """Wait for the session and return a line about it; serve even if the broker is away.

    Raises:
        NotReadyError: our own simulator does not answer.
    """
    if fix.wait_for(SessionState.READY, OWN_PEER_S if ours else PEER_S):
        return "FIX logged on and reconciled"
    if ours:
        why = what_to_do(fix.refused) if fix.refused else f"after {OWN_PEER_S:g} s"
        raise NotReadyError(part="FIX session", state=f"{fix.state} {why}")
    if fix.refused:
        return f"FIX is REFUSED: {what_to_do(fix.refused)}"
    why = fix.detail or "the broker does not answer yet"
    return f"FIX is {fix.state}: {why}. Every new order ends as not sent until it is READY"


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """How many MsgSeqNums a session skips, and whether the broker may reset its numbers once."""

    skipped: int = 0
    accept: bool = False


def begin_anew(plan: Plan, ledger: Ledger, reader: LedgerReader) -> Beginning:
    """Record a new session if one was asked for, then begin it.

    Raises:
        FixError: the folder is in use, or cannot be written.
        AuditError: the ledger does not take the record; nothing was changed.
    """
    reason, folder = plan.settings.fix.new_session, plan.state.fix
    if not reason:
        claim(folder, _named(_session(plan)))
        return Beginning()
    session = _session(plan).name
    lost, refused = _lacking(plan, reader), numbers_of(plan, reader).refused
    detail = f"{reason}: {'; '.join(lost or (str(refused),))}"
    note(ledger, session, plan.tags.run_id, "new_fix_session", detail)
    claim(folder, _named(_session(plan)))
    if not lost:
        return Beginning(accept=True)
    # a crash here leaves a folder that is still behind: the next start is refused
    renew(folder, last_offset(reader, session))
    return Beginning(skipped=SKIPPED, accept=refused is not None)


def start_session(
    plan: Plan, fix: FixChild, ledger: Ledger, reader: LedgerReader, stack: ExitStack
) -> Beginning:
    """Start the FIX child and record what it agreed on; it does not connect yet.

    Raises:
        ChildError: it did not come up, or disagrees with the gateway; that is on record.
        FixError, AuditError: as `begin_anew`.
    """
    begins = begin_anew(plan, ledger, reader)
    try:
        fix.start(last_reset=numbers_of(plan, reader).last_reset)
    except ChildError as error:
        note(ledger, _session(plan).name, plan.tags.run_id, "fix_not_started", error.problem)
        raise
    # our own simulator ends with us, and so do its orders; a broker's orders live on
    sweep = plan.settings.fix.cancel_at_stop
    stack.callback(fix.stop, sweep=sweep, alone=plan.simulator is None)
    ledger.append(processes_agreed(plan.tags, FIX, fix.agreement.agreed))
    return begins


def numbers_of(plan: Plan, reader: LedgerReader) -> SessionNumbers:
    """Return the sequence numbers of the plan's session, by the ledger and its folder."""
    found = resets_of(plan.state.fix)
    return numbers(reader, _session(plan), found, clock.wall_us(), plan.tags.mode)


def session_of(fix: FixChild, profile: Profile, events: Events) -> SessionStatus:
    """Return the session's status, from memory."""
    status = session_status(
        profile,
        fix.vitals,
        state=fix.state,
        detail=fix.detail,
        logon_no=fix.logon_no,
        reconciled=events.reconciled,
        now_us=clock.monotonic_us(),
    )
    return replace(status, foreign=len(events.foreign_names()))


def what_to_do(refused: str) -> str:
    """Return why a session was refused, and what the operator can do."""
    return (
        f"{refused}. Ask the broker; if it says so, go on with COUNTERSIGN_FIX__RESETS=by_broker,"
        " or this once with --new-fix-session 'REASON'"
    )


def simulator_after(plan: Plan, orders: Orders) -> int:
    """Return the last recorded ExecID number of the simulator, if a new session was asked for."""
    if not plan.settings.fix.new_session:
        return 0
    return max((exec_number(exec_id) for _, _, exec_id in orders.reports), default=0)


def _lacking(plan: Plan, reader: LedgerReader) -> tuple[str, ...]:
    profile, known = _session(plan), numbers_of(plan, reader)
    # after a refused reset the child restores the old numbers itself
    goes_on = profile.mode is SessionMode.RESUME and known.refused is None
    return lacking(
        plan.state.fix,
        last_offset=last_offset(reader, profile.name),
        next_sender=known.next_sender if goes_on else 0,
    )


def _session(plan: Plan) -> Profile:
    return plan.profile(plan.settings.fix.port or 1)


def last_offset(reader: LedgerReader, session: str) -> int:
    """Return the inbox offset of a session's last message on record, -1 without one."""
    newest = reader.records(
        stream=f"session/{session}", kinds=(Kind.FIX_INBOUND,), newest_first=True, limit=1
    )
    return next((FixInbound.of(record).offset for record in newest), -1)
