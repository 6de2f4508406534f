"""Functions that make the controls apart from the kill, and the mode of a start; see `app`.

Not here: which mode may begin (`desk.persons.governing.modes`).
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from audit.records.kinds import Kind
from audit.records.record import Draft
from audit.sequencer.ledger import Ledger
from audit.store.reader import LedgerReader
from fix.dialects.profile import Profile
from fix.durable.kill_word import KillWord
from fix.session.link import SessionState
from gateway import clock
from gateway.desk.controls.cancel_all import CancelAll
from gateway.desk.controls.drill import Drills
from gateway.desk.desk import Desk
from gateway.desk.officers.governing.modes import (
    ModeWanted,
    RunsNow,
    refuse_mode,
)
from gateway.feeds.market import Market
from gateway.installation.children.child import overall
from gateway.installation.children.engine import EngineChild
from gateway.installation.children.fix import FixChild
from gateway.installation.children.fix_life import FixChildConfig
from gateway.installation.children.shadow import ShadowFix
from gateway.installation.keys.kept_signatures import kept_signatures
from gateway.installation.keys.log_id import log_id
from gateway.installation.policies.trials import never_tried_said
from gateway.installation.settings import Settings
from gateway.launch.events import Events
from gateway.launch.plan import Plan
from gateway.launch.setup.register import present_digests
from gateway.launch.threads.scoring import ForecastWatch
from gateway.launch.threads.sessions import SessionProof, SessionTools
from gateway.walk.approval import beyond_pilot, held_back
from gateway.walk.journal.control.adjustment import BookAdjusted
from gateway.walk.journal.control.modes import Mode, mode_entered
from gateway.walk.projections.asked import Going
from gateway.walk.projections.foreign import ForeignOrders
from gateway.walk.projections.kill_times import newest_drill
from gateway.walk.projections.modes import modes_on_record
from gateway.walk.projections.outbox import Orders
from gateway.walk.projections.stops import open_cancel_all
from gateway.walk.reconciliation.book_check import BookCheck
from gateway.walk.section import Section
from inference.weights.registry import load_pair
from risk.policy.signing import SignedPolicy

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
        folder=plan.state.fix,
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
            plan.gathering.reading(reader),
            scores=scores.of_model,
            session=market.session_reading,
            due=market.bars_due_us,
        ),
    )
    for adjusted in reader.records(kinds=[Kind.BOOK_ADJUSTED]):
        market.take_adjusted(BookAdjusted.of(adjusted))
    for fold in (section.differences, section.stops):
        ledger.subscribe(fold.follow)
        fold.read(ledger.size)
    for account in (plan.tags.account, f"{plan.tags.account}.agent"):
        section.open_account(account, plan.equity_minor)
    return section


def make_held_back(plan: Plan, section: Section, orders: Orders) -> Callable[[Going], str]:
    """Return what says why the mode or a stop keeps a message from leaving."""
    limits, instruments = plan.settings.pilot.limits(), plan.instruments

    def why(going: Going) -> str:
        if stop := held_back(going.stops, going.standing.approving, section):
            return stop
        if plan.tags.mode != Mode.PILOT:
            return ""
        if going.requested_by:
            return NO_REPLACE
        standing, instrument = going.standing, instruments[going.given.instrument]
        return beyond_pilot(standing, limits, section, orders, instrument, clock.wall_us())

    return why if plan.sends else lambda _: "shadow_mode"


def no_replace(plan: Plan) -> str:
    """Return why no order is replaced in this mode, or the empty text."""
    return NO_REPLACE if plan.tags.mode == Mode.PILOT else ""


def limits_of(settings: Settings, mode: Mode) -> str:
    """Return the further limits of pilot in one line, as officers sign them; else empty."""
    return str(settings.pilot.limits()) if mode is Mode.PILOT else ""


def runs_now(
    settings: Settings, policy: SignedPolicy, reader: LedgerReader, orders: Orders
) -> RunsNow:
    """Return what would serve with these settings and this policy, for the needs of a mode.

    Raises:
        SettingsError: a file that is compared cannot be read.
        InferenceError: the model pair does not match its manifest.
    """
    return RunsNow(
        deployment=policy.policy.deployment,
        digests=present_digests(settings),
        untried=never_tried_said(policy, reader),
        live=len(orders.live()),
    )


def enter_mode(plan: Plan, reader: LedgerReader, orders: Orders) -> tuple[Draft, ...]:
    """Return the record of a mode that begins, or of a new account or session in it.

    Raises:
        ModeRefusedError: the mode may not begin; says everything that is missing.
    """
    if plan.tags.dev:
        return ()
    broker, mode = plan.profile(plan.settings.fix.port or 1), Mode(plan.tags.mode)
    sender, target = broker.sender_comp_id, broker.target_comp_id
    history, now = modes_on_record(reader), RunsNow(live=len(orders.live()))
    if mode.risks_money:
        now = runs_now(plan.settings, plan.policy, reader, orders)
    limits = limits_of(plan.settings, mode)
    wanted = ModeWanted(
        mode=mode,
        account=plan.tags.account,
        sender=sender,
        target=target,
        limits=limits,
        model=load_pair(plan.settings.engine.model).manifest_digest,
    )
    log = log_id(reader, plan.origin) if reader.log_size() else f"{plan.origin}#new"
    signatures = refuse_mode(
        wanted,
        history,
        log=log,
        signatures=kept_signatures(plan.state.keys),
        keys=plan.keyring.public_keys(),
        doctor=plan.doctor,
        now=now,
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


def make_session_proof(
    plan: Plan, desk: Desk, fix: FixChild, ledger: Ledger, check: BookCheck, market: Market
) -> SessionProof:
    """Return what records that a served session was reconciled."""
    section = desk.own.section

    def span_us() -> int | None:
        limits = section.policy.deployment
        return None if limits is None else limits.session_span_min.value

    def positions() -> Mapping[tuple[str, str], int]:
        books = [section.book(account) for account in sorted(section.accounts)]
        return {(b.account, one.instrument): one.lots for b in books for one in b.positions}

    return SessionProof(
        SessionTools(
            ledger=ledger,
            orders=desk.own.orders,
            tags=plan.tags,
            session=desk.own.dispatching.profile.name,
            logon=lambda: fix.logon_no if fix.state is SessionState.READY else 0,
            check=check.run,
            positions=positions,
            span_us=span_us,
            closed=market.said_closed,
            wall_us=clock.wall_us,
            monotonic_us=clock.monotonic_us,
        )
    )
