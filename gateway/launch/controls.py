"""Functions that make the controls apart from the kill; see `app`."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from audit.records.record import Draft
from audit.sequencer.ledger import Ledger
from audit.store.reader import LedgerReader
from fix.dialects.profile import Profile
from fix.durable.kill_word import KillWord
from gateway import clock
from gateway.desk.persons.cancel_all import CancelAll
from gateway.desk.persons.drill import Drills
from gateway.desk.persons.governing.modes import ModeWanted, refuse_mode
from gateway.desk.persons.statements import log_id
from gateway.feeds.market import Market
from gateway.installation.children.child import overall
from gateway.installation.children.engine import EngineChild
from gateway.installation.children.fix import FixChild
from gateway.installation.children.fix_life import FixChildConfig
from gateway.installation.children.shadow import ShadowFix
from gateway.installation.keys.mode_mark import signed_mode
from gateway.launch.events import Events
from gateway.launch.plan import Plan
from gateway.launch.threads.scoring import ForecastWatch
from gateway.walk.approval import beyond_pilot, held_back
from gateway.walk.journal.control.modes import Mode, mode_entered
from gateway.walk.journal.verdict import VerdictGiven
from gateway.walk.projections.foreign import ForeignOrders
from gateway.walk.projections.kill_times import newest_drill
from gateway.walk.projections.modes import MODE_KINDS, mode_history
from gateway.walk.projections.outbox import Orders
from gateway.walk.projections.standing import Standing
from gateway.walk.projections.stops import open_cancel_all
from gateway.walk.section import Section
from inference.weights.registry import load_pair

NO_REPLACE: Final = "pilot mode replaces no order: cancel it and send a new one"


def make_controls(
    word: KillWord, fix: FixChild, ledger: Ledger, reader: LedgerReader, orders: Orders
) -> tuple[CancelAll, Drills]:
    """Return what cancels every order, and the drills with the newest on record."""

    def live() -> list[str]:
        return sorted(one.cl_ord_id for one in orders.live())

    drilled = newest_drill(reader)
    drills = Drills(word=word, child=fix, ledger=ledger, live=live, newest=drilled)
    cancel_all = CancelAll(ledger, fix.sweep, live, fix.sweep, open_cancel_all(reader))
    return cancel_all, drills


def make_session(plan: Plan, profile: Profile, events: Events) -> FixChild:
    """Return the supervisor of the FIX session, which in shadow mode starts no process."""
    events.mass_status = profile.capabilities.mass_status
    config = FixChildConfig(
        profile=profile,
        folder=plan.state.root / "fix",
        kill_word=plan.state.kill_word,
        log_path=plan.state.logs / "fix.log",
        foreign=events.foreign_names,
        announced=events.announced,
    )
    return (FixChild if plan.sends else ShadowFix)(config, on_event=events.on_fix)


def agreement_of(
    plan: Plan, engine: EngineChild, fix: FixChild, section: Section
) -> dict[str, str]:
    """Return in what the processes agree: policy, build, model and, with a session, dictionary."""
    children = (engine.agreement, *((fix.agreement,) if plan.sends else ()))
    return overall(children, section.status().standing)


def make_foreign(ledger: Ledger, reader: LedgerReader, profile: Profile) -> ForeignOrders:
    """Return the orders at the broker that are not ours, folded from the records so far."""
    foreign = ForeignOrders(reader, profile.name)
    ledger.subscribe(foreign.follow)
    foreign.read(ledger.size)
    return foreign


def make_section(
    plan: Plan,
    word: KillWord,
    ledger: Ledger,
    reader: LedgerReader,
    watching: tuple[ForecastWatch, Market],
) -> Section:
    """Return the section in which verdicts are given, folded, with the run's accounts open."""
    scores, market = watching
    scores.read()  # R30 asks from the first verdict on
    section = Section(
        ledger=ledger,
        reader=reader,
        bundle=plan.policy,
        policy_keys=plan.keyring.public_keys(),
        kill=word.read,
        wall_us=clock.wall_us,
        send_within_us=int(plan.settings.fix.send_within_s * 1_000_000),
        gathering=replace(
            plan.gathering.reading(reader), scores=scores.of_model, session=market.session_reading
        ),
    )
    for fold in (section.differences, section.stops):
        ledger.subscribe(fold.follow)
        fold.read(ledger.size)
    for account in (plan.tags.account, f"{plan.tags.account}.agent"):
        section.open_account(account, plan.equity_minor)
    return section


def make_held_back(plan: Plan, section: Section, orders: Orders) -> Callable[[Standing], str]:
    """Return what says why the mode or a stop keeps an approved order from leaving."""
    limits, instruments = plan.settings.pilot.limits(), plan.instruments

    def why(standing: Standing) -> str:
        if stop := held_back(standing, section):
            return stop
        if plan.tags.mode != Mode.PILOT or standing.approving is None:
            return ""
        symbol = VerdictGiven.of(standing.approving).intent.instrument
        instrument = instruments[symbol]
        return beyond_pilot(standing, limits, section, orders, instrument, clock.wall_us())

    return why if plan.sends else lambda _: "shadow_mode"


def no_replace(plan: Plan) -> str:
    """Return why no order is replaced in this mode, or the empty text."""
    return NO_REPLACE if plan.tags.mode == Mode.PILOT else ""


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
    limits = str(plan.settings.pilot.limits()) if mode is Mode.PILOT else ""
    wanted = ModeWanted(
        mode=mode,
        account=account,
        sender=sender,
        target=target,
        limits=limits,
        model=load_pair(plan.settings.engine.model).manifest_digest,
    )
    log = log_id(reader, plan.origin) if reader.head().size else f"{plan.origin}#new"
    signatures = refuse_mode(
        wanted,
        history,
        log=log,
        signatures=signed_mode(plan.state.keys),
        keys=plan.keyring.public_keys(),
        doctor=plan.doctor,
    )
    bound = (sender, target) in history.sessions and limits == history.limits
    if history.mode == mode and bound:
        return ()
    draft = mode_entered(
        plan.tags,
        before=history.mode,
        sender=sender,
        target=target,
        limits=limits,
        log=log,
        signatures=signatures,
    )
    return (draft,)
