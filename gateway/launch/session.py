"""A FIX session whose folder was lost: the start is refused, or it begins anew on a person's word.

The ledger knows which broker messages are on record and which numbers were used. A folder that is
behind (a disk was lost and the ledger brought back without `fix/`) would settle reports under keys
that are taken and use numbers twice, so the start ends before it writes anything. With
`--new-fix-session REASON` the reason goes on record first; then inbox and numbers go on behind all
that are on record, and orders in flight are asked for as at every start. The same words let a
broker begin its numbers anew, once, where its profile does not allow that.
"""

from dataclasses import dataclass

from audit.records.kinds import Kind
from audit.sequencer.ledger import Ledger
from audit.store.reader import LedgerReader
from fix.dialects.profile import Profile, SessionMode
from fix.durable.continuity import lacking, renew
from fix.durable.resets import resets_of
from fix.session.link import SessionState
from fix.simulator.control import exec_number
from gateway import clock
from gateway.errors import NotReadyError, RequestError, SessionLostError
from gateway.installation.children.fix import FixChild
from gateway.launch.events import note
from gateway.launch.plan import Plan
from gateway.walk.projections.outbox import Orders
from gateway.walk.projections.sequence import Numbers, numbers

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
    refused = numbers_of(plan, reader).refused
    if plan.settings.fix.new_session and not found and refused is None:
        raise RequestError(
            problem=f"{folder} lacks nothing that is on record, and no new beginning of the numbers"
            " was refused: start without --new-fix-session"
        )


OWN_PEER_S = 15.0
"""How long a start waits for its own simulator."""
PEER_S = 5.0
"""How long a start waits for a broker before it serves without one."""


def await_session(fix: FixChild, *, ours: bool) -> str:
    """Wait for the session; a broker that is away is no reason not to serve.

    Raises:
        NotReadyError: our own simulator does not answer: there is nobody to wait for.
    """
    if fix.wait_for(SessionState.READY, OWN_PEER_S if ours else PEER_S):
        return "FIX logged on and reconciled"
    if ours:
        why = what_to_do(fix.refused) if fix.refused else f"after {OWN_PEER_S:g} s"
        raise NotReadyError(part="FIX session", state=f"{fix.state} {why}")
    if fix.refused:
        return f"FIX is REFUSED: {what_to_do(fix.refused)}"
    return (
        f"FIX is {fix.state}: the broker does not answer yet. Every new order ends as not sent"
        " until it does"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """How a session begins.

    Attributes:
        skipped: how many MsgSeqNums it skips beyond those on record, 0 if it just goes on.
        accept: the broker may begin its numbers anew, once.
    """

    skipped: int = 0
    accept: bool = False


def begin_anew(plan: Plan, ledger: Ledger, reader: LedgerReader) -> Beginning:
    """Put a new beginning on record if one was asked for, then make it.

    Raises:
        FixError: the folder is in use, or cannot be written.
        AuditError: the ledger does not take it; nothing was made.
    """
    reason = plan.settings.fix.new_session
    if not reason:
        return Beginning()
    session = _session(plan).name
    lost, refused = _lacking(plan, reader), numbers_of(plan, reader).refused
    detail = f"{reason}: {'; '.join(lost or (str(refused),))}"
    note(ledger, session, plan.tags.run_id, "new_fix_session", detail)
    if not lost:
        return Beginning(accept=True)
    # a crash here leaves a folder that still lacks it, and a next start that is refused
    renew(plan.state.root / "fix", _last_offset(reader, session))
    return Beginning(skipped=SKIPPED, accept=refused is not None)


def numbers_of(plan: Plan, reader: LedgerReader) -> Numbers:
    """Return where the plan's session stands, by the ledger and its folder."""
    found = resets_of(plan.state.root / "fix")
    return numbers(reader, _session(plan), found, clock.wall_us())


def what_to_do(refused: str) -> str:
    """Return a refused beginning with the way on, for an operator."""
    return (
        f"{refused}. Ask the broker; if it says so, go on with COUNTERSIGN_FIX__RESETS=by_broker,"
        " or this once with --new-fix-session 'REASON'"
    )


def simulator_after(plan: Plan, orders: Orders) -> int:
    """Return the last ExecID number that the lost simulator had used, as far as it is on record."""
    if not plan.settings.fix.new_session:
        return 0
    return max((exec_number(exec_id) for _, _, exec_id in orders.reports), default=0)


def _lacking(plan: Plan, reader: LedgerReader) -> tuple[str, ...]:
    profile, known = _session(plan), numbers_of(plan, reader)
    # what a refused beginning left of the old numbers, the child puts back itself
    goes_on = profile.mode is SessionMode.RESUME and known.refused is None
    return lacking(
        plan.state.root / "fix",
        last_offset=_last_offset(reader, profile.name),
        next_sender=known.next_sender if goes_on else 0,
    )


def _session(plan: Plan) -> Profile:
    return plan.profile(plan.settings.fix.port or 1)


def _last_offset(reader: LedgerReader, session: str) -> int:
    """Return where the last message on record stands in the inbox, -1 without one."""
    newest = reader.records(
        stream=f"session/{session}", kinds=(Kind.FIX_INBOUND,), newest_first=True, limit=1
    )
    return next((int(str(record.body["offset"])) for record in newest), -1)
