"""A FIX session whose folder was lost: the start is refused, or it begins anew on a person's word.

The ledger knows which broker messages are on record and which numbers were used. A folder that is
behind (a disk was lost and the ledger brought back without `fix/`) would settle reports under keys
that are taken and use numbers twice, so the start ends before it writes anything. With
`--new-fix-session REASON` the reason goes on record first; then inbox and numbers go on behind all
that are on record, and orders in flight are asked for as at every start.
"""

from audit.kinds import Kind
from audit.ledger import Ledger
from audit.queries import LedgerReader
from fix.continuity import lacking, renew
from fix.ems_control import exec_number
from fix.profile import Profile, SessionMode
from gateway.errors import RequestError, SessionLostError
from gateway.events import note
from gateway.orders import Orders
from gateway.profiles import Plan
from gateway.recovery import highest_sent

SKIPPED = 100_000
"""MsgSeqNums left out of a new beginning: the broker counts heartbeats and cancels as well, which
are not on record. A number too high is filled by the protocol (SequenceReset), one too low refused.
"""


def refuse_lost(plan: Plan, reader: LedgerReader) -> None:
    """Hold the session's folder against the ledger, before anything is written.

    Raises:
        SessionLostError: it lacks what is on record, and nobody said that it is lost.
        RequestError: somebody said so, and it lacks nothing.
    """
    found = _lacking(plan, reader)
    folder = str(plan.state.root / "fix")
    if found and not plan.settings.fix.new_session:
        raise SessionLostError(folder=folder, lacking=found)
    if plan.settings.fix.new_session and not found:
        raise RequestError(
            problem=f"{folder} lacks nothing that is on record: start without --new-fix-session"
        )


def begin_anew(plan: Plan, ledger: Ledger, reader: LedgerReader) -> int:
    """Put a new beginning on record if one was asked for, then make it.

    Returns:
        How many MsgSeqNums the session skips beyond those on record, 0 if it just goes on.

    Raises:
        FixError: the folder is in use, or cannot be written.
        AuditError: the ledger does not take it; nothing was made.
    """
    reason = plan.settings.fix.new_session
    if not reason:
        return 0
    session = _session(plan).name
    detail = f"{reason}: {'; '.join(_lacking(plan, reader))}"
    note(ledger, session, plan.tags.run_id, "new_fix_session", detail)
    # a crash here leaves a folder that still lacks it, and a next start that is refused
    renew(plan.state.root / "fix", _last_offset(reader, session))
    return SKIPPED


def simulator_after(plan: Plan, orders: Orders) -> int:
    """Return the last ExecID number that the lost simulator had used, as far as it is on record."""
    if not plan.settings.fix.new_session:
        return 0
    return max((exec_number(exec_id) for _, _, exec_id in orders.reports), default=0)


def _lacking(plan: Plan, reader: LedgerReader) -> tuple[str, ...]:
    profile = _session(plan)
    goes_on = profile.mode is SessionMode.RESUME
    return lacking(
        plan.state.root / "fix",
        last_offset=_last_offset(reader, profile.name),
        next_sender=highest_sent(reader) + 1 if goes_on else 0,
    )


def _session(plan: Plan) -> Profile:
    return plan.profile(plan.settings.fix.port or 1)


def _last_offset(reader: LedgerReader, session: str) -> int:
    """Return where the last message on record stands in the inbox, -1 without one."""
    newest = reader.records(
        stream=f"session/{session}", kinds=(Kind.FIX_INBOUND,), newest_first=True, limit=1
    )
    return next((int(str(record.body["offset"])) for record in newest), -1)
