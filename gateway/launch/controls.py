"""Functions that make the controls apart from the kill; see `app`."""

from audit.records.record import Draft
from audit.sequencer.ledger import Ledger
from audit.store.reader import LedgerReader
from fix.dialects.profile import Profile
from fix.durable.kill_word import KillWord
from gateway.desk.persons.cancel_all import CancelAll
from gateway.desk.persons.drill import Drills
from gateway.desk.persons.modes import ModeWanted, refuse_mode
from gateway.desk.persons.statements import log_id
from gateway.installation.children.fix import FixChild
from gateway.installation.children.fix_life import FixChildConfig
from gateway.installation.children.shadow import ShadowFix
from gateway.installation.keys.mode_mark import signed_mode
from gateway.launch.events import Events
from gateway.launch.plan import Plan
from gateway.walk.journal.control.modes import Mode, mode_entered
from gateway.walk.projections.kill_times import newest_drill
from gateway.walk.projections.modes import MODE_KINDS, mode_history
from gateway.walk.projections.outbox import Orders


def make_controls(
    word: KillWord, fix: FixChild, ledger: Ledger, reader: LedgerReader, orders: Orders
) -> tuple[CancelAll, Drills]:
    """Return what cancels every order, and the drills with the newest on record."""

    def live() -> list[str]:
        return sorted(one.cl_ord_id for one in orders.live())

    drilled = newest_drill(reader)
    drills = Drills(word=word, child=fix, ledger=ledger, live=live, newest=drilled)
    return CancelAll(ledger, fix.sweep, live), drills


def make_session(plan: Plan, profile: Profile, events: Events) -> FixChild:
    """Return the supervisor of the FIX session, which in shadow mode starts no process."""
    config = FixChildConfig(
        profile=profile,
        folder=plan.state.root / "fix",
        kill_word=plan.state.kill_word,
        log_path=plan.state.logs / "fix.log",
    )
    return (FixChild if plan.sends else ShadowFix)(config, on_event=events.on_fix)


def enter_mode(plan: Plan, reader: LedgerReader) -> tuple[Draft, ...]:
    """Return the record of a mode that begins, or of a new account or session in it.

    Raises:
        ModeRefusedError: the mode may not begin; says everything that is missing.
    """
    if plan.tags.dev:
        return ()
    broker, mode = plan.profile(plan.settings.fix.port or 1), Mode(plan.tags.mode)
    sender, target = broker.sender_comp_id, broker.target_comp_id
    history = mode_history(reader.records(stream="control", kinds=MODE_KINDS))
    account = plan.tags.account
    wanted = ModeWanted(mode=mode, account=account, sender=sender, target=target)
    log = log_id(reader, plan.origin) if reader.head().size else f"{plan.origin}#new"
    signatures = refuse_mode(
        wanted,
        history,
        log=log,
        signatures=signed_mode(plan.state.keys),
        keys=plan.keyring.public_keys(),
    )
    if history.mode == mode and (sender, target) in history.sessions:
        return ()
    draft = mode_entered(
        plan.tags,
        before=history.mode,
        sender=sender,
        target=target,
        log=log,
        signatures=signatures,
    )
    return (draft,)
