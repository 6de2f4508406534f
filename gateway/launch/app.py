"""The composition root: starts and stops every part in a fixed order.

Start: state lock, kill word, engine (slowest, in the background), database, ledger, simulator, FIX
child, inbox, abandoned decisions and unsent approvals, reconciliation, HTTP. Stop: the reverse.

Not here: what a part does, how it is made (`parts`).
"""

from collections.abc import Callable, Container, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

from audit.privacy.erasure import Privacy
from audit.privacy.vault import Vault
from audit.sequencer.ledger import Ledger
from audit.store.reader import LedgerReader
from fix.dialects.profile import Profile
from fix.durable.inbox import forget
from fix.durable.kill_word import KillWord
from fix.session.link import SessionState
from gateway import clock
from gateway.desk.controls.kill import KillSwitch
from gateway.desk.controls.orders import PacedCancels
from gateway.desk.desk import Desk
from gateway.desk.intake.receipts import Receipts
from gateway.desk.officers.governing.overrides import end_overrides
from gateway.desk.parts import DeskParts
from gateway.feeds.instruments.fit import misfits
from gateway.feeds.market import Market
from gateway.installation.children.engine import EngineChild
from gateway.installation.children.fix import FixChild
from gateway.installation.children.simulator import Simulator
from gateway.launch.controls import (
    agreement_of,
    enter_mode,
    make_controls,
    make_foreign,
    make_held_back,
    make_section,
    make_session,
    make_session_proof,
    no_replace,
)
from gateway.launch.events import Events
from gateway.launch.feeds import make_feeding, make_market, said_hours, start_line
from gateway.launch.parts import (
    make_book_check,
    make_kill_switch,
    make_tools,
    make_views,
    open_ledger,
    part_states,
    recorded_epoch,
    refuse_changed_terms,
    refuse_stray_policy,
    restore_kill,
    start_counterparty,
    start_database,
    start_engine,
    unnamed_said,
)
from gateway.launch.plan import Plan
from gateway.launch.session import await_session, numbers_of, session_of, start_session
from gateway.launch.threads.alarms import Watched, start_alarms
from gateway.launch.threads.conduct import start_conduct
from gateway.launch.threads.files import start_files
from gateway.launch.threads.housekeeping import Housekeeping
from gateway.launch.threads.keeper import start_keeper
from gateway.launch.threads.pulse import start_pulse
from gateway.launch.threads.sampler import SamplerWatch
from gateway.launch.threads.scoring import ForecastWatch
from gateway.launch.threads.settler import Settler
from gateway.privacy.erasure import complete, make_privacy
from gateway.surfaces.server import Server, build_site, entrance_of
from gateway.surfaces.web.doors import SIGN_IN
from gateway.surfaces.web.sessions import Sessions
from gateway.telemetry.spans import Telemetry
from gateway.walk import failpoints
from gateway.walk.dispatch import DispatchTools, withdraw_late
from gateway.walk.forecast import seal_open_forecasts
from gateway.walk.journal.control.own_keys import OwnKeys
from gateway.walk.projections.outbox import Orders
from gateway.walk.projections.sequence import epoch_of
from gateway.walk.reconciliation import recovery
from gateway.walk.reconciliation.asking import Budget, Chaser
from gateway.walk.reconciliation.book_check import BookCheck
from gateway.walk.reconciliation.cancels import CancelRecords
from gateway.walk.reconciliation.resends import Resends
from gateway.walk.section import Section
from gateway.walk.settlement import SettleTools

DEVELOPER: Final = "operator"
"""The user whom the address that `run` prints signs in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """The running parts."""

    plan: Plan
    desk: Desk
    ledger: Ledger
    reader: LedgerReader
    orders: Orders
    market: Market
    engine: EngineChild
    fix: FixChild
    settler: Settler
    book_check: BookCheck
    simulator: Simulator | None
    server: Server
    housekeeping: Housekeeping
    dsn: str
    sessions: Sessions

    def page_address(self) -> str:
        """Return the pages' address; in a development run it signs the operator in, once."""
        link = self.sessions.link(DEVELOPER) if self.plan.tags.dev else None
        return f"{self.server.address}{SIGN_IN}?once={link}" if link else f"{self.server.address}/"


@contextmanager
def running(plan: Plan, say: Callable[[str], None]) -> Iterator[App]:
    """Yield the started gateway; on exit stop every part. `say` gets one line per step.

    Raises:
        AuditError, FixError, GatewayError, InferenceError: a part cannot start.
    """
    with ExitStack() as stack:
        yield _Starter(plan, stack, say).start()


class _Starter:
    """The start, step by step; each step puts its own undoing on the stack."""

    def __init__(self, plan: Plan, stack: ExitStack, say: Callable[[str], None]) -> None:
        self._plan = plan
        self._stack = stack
        self._say = say
        self._telemetry = Telemetry()
        self._forecasts: Housekeeping | None = None
        self._market = make_market(plan)
        self._orders = Orders(plan.tags.mode)
        pace = plan.profile(plan.settings.fix.port or 1).pace
        self._budget = Budget(pace.questions_per_s)
        self._events = Events(plan.tags.run_id, self._orders, self._budget)

    def start(self) -> App:
        plan, settings = self._plan, self._plan.settings
        failpoints.arm(plan.failpoint)
        self._stack.enter_context(plan.state.lock())
        self._vault = Vault(plan.state.vault)
        server = Server(settings.api, door=plan.state.door)
        self._stack.callback(server.stop)
        word = KillWord(plan.state.kill_word, create=True)
        self._stack.callback(word.close)
        engine = start_engine(plan, self._stack, self._events)
        dsn = self._dsn = start_database(plan, self._stack, self._say)
        ledger, reader, self._publishing = open_ledger(
            plan, self._stack, dsn, self._orders, self._vault
        )
        privacy = self._privacy(dsn, ledger, reader)
        self._say(f"ledger     {ledger.size} records")
        self._restore_kill(word, reader)
        simulator, profile, adopted = start_counterparty(plan, self._stack, self._orders)
        if simulator is not None:
            self._events.stranger = simulator.stranger
            self._say(f"broker     simulator on port {simulator.port}{' (adopted)' * adopted}")
        fix = make_session(plan, profile, self._events)
        kill_switch = make_kill_switch(plan, word, fix, ledger, reader)
        desk = self._desk(ledger, reader, engine, fix, word, kill_switch, profile)
        self._desk_made = desk
        self._settler = self._make_settler(fix, ledger, reader, profile)
        self._events.fix, self._events.ledger = fix, ledger
        self._events.kill_switch, self._events.settler = kill_switch, self._settler
        books, session = desk.own.section, self._settler.session
        check = make_book_check(plan, ledger, reader, self._orders, books, session)
        self._events.proof = make_session_proof(plan, desk, fix, ledger, check, self._market)
        self._events.book_check, self._housekeeping = check, self._chores(desk, fix)
        self._begin_run(ledger, reader)
        kill_switch.import_press(last_recorded_epoch=recorded_epoch(reader))
        self._connect(fix, ledger, reader)
        self._lines = start_line(plan, desk.own.feeding, self._stack)
        self._pulse = start_pulse(self._stack, ledger, self._dsn)
        self._conduct = start_conduct(self._stack, desk.own, self._scores.look)
        views = make_views(plan, self._stack, dsn, reader, desk.own.tools, self._publishing)
        entrance, log = entrance_of(desk, plan.keyring), self._publishing.log_files(reader)
        site = build_site(desk, plan.keyring, views, privacy, log=log, entrance=entrance)
        ledger.subscribe(site.state.flow.follow)
        watched = Watched(scores=self._scores, sampler=SamplerWatch(desk))
        server.start(start_alarms(plan, self._stack, desk, ledger, site, watched))
        entrance.refusals.start()
        self._stack.callback(entrance.refusals.close)
        self._stack.callback(server.stop)  # stops first, so that its last refusals are counted
        start_files(plan, self._stack, desk.own.feeding)
        if plan.fed:  # a played market's strategy asks at once
            # after the site is built: calendars and routes both swap the warning filters
            self._forecasts = start_keeper(self._stack, desk, watched.sampler)
        plan.state.say_address(server.address)
        app = App(
            plan=plan,
            desk=desk,
            ledger=ledger,
            reader=reader,
            orders=self._orders,
            market=self._market,
            engine=engine,
            fix=fix,
            settler=self._settler,
            book_check=check,
            simulator=simulator,
            server=server,
            housekeeping=self._housekeeping,
            dsn=dsn,
            sessions=entrance.sessions,
        )
        self._say(f"page       {app.page_address()}")
        return app

    def _chores(self, desk: Desk, fix: FixChild) -> Housekeeping:
        feeding, chaser = desk.own.feeding, Chaser(fix, self._orders, self._budget)
        return Housekeeping(
            {
                "folding orders again": self._orders.mend,
                "expiring holds": desk.holds.expire,
                "ending overrides": lambda: end_overrides(desk.own),
                "withdrawing late approvals": lambda: withdraw_late(desk.own.dispatching),
                "recording a kill": desk.kill_switch.record_missing,
                "recording how sweeps went": self._events.record_outcomes,
                "reconciling again": self._events.reconcile_again,
                "asking after silent orders": lambda: chaser.ask(clock.monotonic_us()),
                "proving the session": self._events.prove,
                **({} if feeding is None else {"watching the feeds": feeding.watch}),
            }
        )

    def _make_settler(
        self, fix: FixChild, ledger: Ledger, reader: LedgerReader, profile: Profile
    ) -> Settler:
        plan = self._plan
        return Settler(
            fix,
            SettleTools(
                ledger=OwnKeys(ledger, reader),
                orders=self._orders,
                session=profile.name,
                minor_digits=profile.minor_digits,
                instrument=lambda symbol: plan.instruments[symbol],
                market_now_us=self._market.now_us,
                persons=self._vault,
                public_tags=profile.public_tags,
                forget=lambda offset: forget(plan.state.fix / "inbox", offset),
                differences=self._desk_made.own.section.differences,
                epoch=lambda: epoch_of(reader, profile.name, fix.resets()),
                resends=Resends(reader, profile.name),
                foreign=profile.foreign_orders,
            ),
            reader,
            self._telemetry,
        )

    def _desk(
        self,
        ledger: Ledger,
        reader: LedgerReader,
        engine: EngineChild,
        fix: FixChild,
        word: KillWord,
        kill_switch: KillSwitch,
        profile: Profile,
    ) -> Desk:
        plan = self._plan
        self._scores = ForecastWatch(reader, ledger)
        section = make_section(plan, word, ledger, reader, (self._scores, self._market))
        tools = make_tools(plan, ledger, engine)
        cancel_all, drills = make_controls(word, fix, ledger, reader, self._orders)
        self._events.cancel_all = cancel_all
        self._events.foreign = foreign = make_foreign(ledger, reader, profile)
        dispatching = DispatchTools(
            ledger=ledger,
            orders=self._orders,
            broker=fix,
            profile=profile,
            instrument=lambda symbol: plan.instruments[symbol],
            section=lambda: self._desk_made.own.section,
            scopes=lambda: self._desk_made.scopes,
            settling=lambda: self._settler.ready,
            deadlines=section.deadlines,
            wall_us=clock.wall_us,
            market_now_us=self._market.now_us,
            persons=self._vault,
            away=lambda: "" if fix.state is SessionState.READY else fix.state.value.lower(),
            held_back=make_held_back(plan, section, self._orders),
            no_replace=no_replace(plan),
        )
        return Desk(
            DeskParts(
                tags=plan.tags,
                tools=tools,
                section=section,
                orders=self._orders,
                reader=reader,
                market=self._market,
                instruments=plan.instruments,
                dispatching=dispatching,
                cancels=PacedCancels(fix, profile.pace.cancels_per_s),
                kill_switch=kill_switch,
                word=word,
                keyring=plan.keyring,
                origin=plan.origin,
                parts=lambda: self._parts(ledger, engine, fix, section),
                telemetry=self._telemetry,
                witnessed=self._publishing.document,
                receipts=Receipts(ledger, plan.origin, plan.tags.run_id),
                feeding=make_feeding(plan, self._market, ledger, section, (self._dsn, self._stack)),
                session=lambda: session_of(fix, profile, self._events),
                agreement=lambda: agreement_of(plan, engine, fix, section),
                pace=engine.pace.now,
                foreign=foreign,
                cancel_all=cancel_all,
                drills=drills,
                policy_misfits=lambda policy: tuple(misfits(plan.table.listings, policy, profile)),
            )
        )

    def _privacy(self, dsn: str, ledger: Ledger, reader: LedgerReader) -> Privacy:
        plan, vault = self._plan, self._vault
        privacy = make_privacy(
            plan.settings, plan.state, dsn=dsn, ledger=ledger, reader=reader, vault=vault
        )
        complete(privacy, self._say)
        return privacy

    def _restore_kill(self, word: KillWord, reader: LedgerReader) -> None:
        plan = self._plan
        refuse_stray_policy(plan, reader)  # first: with other officers' keys no release would hold
        if kept := restore_kill(word, reader, plan.keyring.public_keys(), plan.origin):
            self._say(f"kill       {kept}")

    def _begin_run(self, ledger: Ledger, reader: LedgerReader) -> None:
        refuse_changed_terms(self._plan, reader, self._orders)
        for said in (unnamed_said(self._plan), *said_hours(self._plan)):
            if said:
                self._say(said)
        for draft in (*enter_mode(self._plan, reader, self._orders), *self._plan.opening_records()):
            ledger.append(draft)
        self._desk_made.begin()
        ledger.checkpoint_now()

    def _connect(self, fix: FixChild, ledger: Ledger, reader: LedgerReader) -> None:
        """Settle the inbox, end what a crash left, log on, reconcile.

        Nothing is sent: an approval that was found unsent is withdrawn.
        """
        if not self._plan.sends:
            self._stack.callback(self._settler.stop)
            self._end_left(ledger, ())
            self._settler.start()
            self._say("session    none: shadow mode sends nothing")
            return
        # the FIX child stops first, so that messages of its last sweep are still settled
        self._stack.callback(self._settler.stop)
        begins = start_session(self._plan, fix, ledger, reader, self._stack)
        self._events.record_resets()
        self._events.cancels = CancelRecords(
            ledger, reader, self._settler.session, fix.noted_cancels
        )
        self._events.cancels.take()
        self._settler.drain()
        self._end_left(ledger, self._events.cancels)
        self._settler.start()
        known = numbers_of(self._plan, reader)
        fix.logon(
            min_next_sender=known.next_sender + begins.skipped,
            adopt=begins.skipped > 0,
            epoch=known.epoch,
            accept=begins.accept,
        )
        self._say(f"session    {await_session(fix, ours=self._plan.simulator is not None)}")

    def _end_left(self, ledger: Ledger, sent: Container[str]) -> None:
        """End what an earlier run left; `sent` has the ids of cancels that left."""
        now_us, own = self._market.now_us(), self._desk_made.own
        recovery.stop_baskets(ledger, own.reader)
        recovery.end_unsent_cancels(
            ledger, self._orders, self._settler.session, sent, market_time_us=now_us
        )
        recovery.mark_unknown(ledger, self._orders, market_time_us=now_us)
        left = seal_open_forecasts(ledger, own.section.forecasts, own.tags.mode)
        if left:
            self._say(f"recovery   {left} forecasts of an earlier run sealed as abandoned")
        if ended := recovery.close_abandoned(
            ledger,
            self._orders,
            own.section.differences,
            market_time_us=now_us,
            # a played market begins anew, and its holds end
            keep=self._desk_made.holds.resume if self._plan.fed else lambda _: False,
        ):
            self._say(f"recovery   {ended} decisions of an earlier run brought to their end")

    def _parts(
        self, ledger: Ledger, engine: EngineChild, fix: FixChild, section: Section
    ) -> dict[str, str]:
        return {
            **part_states(ledger, engine, fix if self._plan.sends else None, section),
            "database": self._pulse.state,
            "housekeeping": self._housekeeping.state,
            "conduct": self._conduct.state,
            **({} if self._forecasts is None else {"forecasts": self._forecasts.state}),
            "settler": self._settler.state,
            "orders": self._orders.state,
            **self._publishing.parts(),
            **{name: line.state for name, line in self._lines.items()},
        }
