"""The composition root: every part of the gateway made, started and stopped in one stated order.

Start: state lock, kill word, keys, engine (slowest, in the background), database, ledger,
    simulator, FIX child, inbox, abandoned decisions, logon and reconciliation, unsent approvals,
    HTTP. Stop: the reverse. Not here: what any part does.
"""

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from audit.errors import AuditError
from audit.kinds import Kind
from audit.ledger import Ledger, LedgerConfig
from audit.queries import LedgerReader
from audit.record import Draft, Record
from audit.tables import migrate
from fix.errors import ChildError
from fix.kill import KillWord
from fix.session_link import Frame, SessionState
from gateway import clock, failpoints
from gateway.desk import Desk, DeskParts
from gateway.dispatch import DispatchTools, dispatch
from gateway.engine_child import EngineChild
from gateway.engine_process import EngineChildConfig
from gateway.errors import NotReadyError
from gateway.fix_child import FixChild, FixChildConfig
from gateway.killing import KillSwitch
from gateway.market import Market
from gateway.orders import Orders, Standing
from gateway.postgres import EmbeddedPostgres
from gateway.profiles import Plan
from gateway.recovery import Chaser, close_abandoned, highest_sent, mark_unknown, reconcile
from gateway.section import Section
from gateway.server import Server, build_site
from gateway.settlement import SettleTools
from gateway.settler import Settler
from gateway.simulator import Simulator
from gateway.stopping import write_address
from gateway.telemetry import Telemetry
from gateway.walk import SamplingPlan, Tools
from gateway.web.views import Views
from inference.codec import ReturnCodec
from inference.engine import EngineConfig, EngineState
from inference.placebo import TableModel
from inference.registry import load_pair, load_table
from inference.rounds import DrafterKind
from risk.approved import ApprovedOrder

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """The running parts, as runners and tests need them."""

    plan: Plan
    desk: Desk
    ledger: Ledger
    reader: LedgerReader
    orders: Orders
    market: Market
    engine: EngineChild
    fix: FixChild
    settler: Settler
    simulator: Simulator | None
    server: Server
    chaser: Chaser
    dsn: str

    def housekeep(self) -> None:
        """Do what time asks for: end unanswered holds, ask after orders nobody reported."""
        self.desk.expire_holds()
        self.chaser.ask(clock.wall_us())


@contextmanager
def running(plan: Plan, say: Callable[[str], None]) -> Iterator[App]:
    """Yield the started gateway; stops every part on the way out, whatever happened.

    Args:
        plan: everything that was decided before the start (profile, state, keys, policy, run id).
        say: told one line per step, for the operator.

    Raises:
        AuditError, FixError, GatewayError, InferenceError: a part cannot start; says which and why.
    """
    with ExitStack() as stack:
        yield _Starter(plan, stack, say).start()


class _Starter:
    """The start, step by step; each step leaves its own undoing on the stack."""

    def __init__(self, plan: Plan, stack: ExitStack, say: Callable[[str], None]) -> None:
        self._plan = plan
        self._stack = stack
        self._say = say
        self._telemetry = Telemetry()
        self._market = Market()
        self._orders = Orders()
        self._reconciling = threading.Lock()

    def start(self) -> App:
        plan, settings = self._plan, self._plan.settings
        failpoints.arm(plan.failpoint)
        self._stack.enter_context(plan.state.lock())
        server = Server(settings.api)
        self._stack.callback(server.stop)
        word = KillWord(plan.state.kill_word, create=True)
        self._stack.callback(word.close)
        engine = self._engine()
        dsn = self._database()
        ledger, reader = self._ledger(dsn)
        self._restore_kill(word, reader)
        simulator, profile = self._counterparty()
        fix = FixChild(
            FixChildConfig(
                profile=profile,
                folder=plan.state.root / "fix",
                kill_word=plan.state.kill_word,
                log_path=plan.state.logs / "fix.log",
            ),
            on_event=self._on_fix,
        )
        kill_switch = KillSwitch(word=word, child=fix, ledger=ledger)
        desk = self._desk(ledger, reader, engine, fix, word, kill_switch, profile)
        kill_switch.on_press = lambda: threading.Thread(target=fix.sweep, daemon=True).start()
        self._settler = Settler(
            fix,
            SettleTools(
                ledger=ledger,
                orders=self._orders,
                session=profile.name,
                minor_digits=profile.minor_digits,
                instrument=lambda symbol: plan.instruments[symbol],
                market_now_us=self._market_us,
            ),
            reader,
        )
        self._desk_made, self._fix, self._ledger_made = desk, fix, ledger
        self._begin_run(ledger)
        kill_switch.import_press(last_recorded_epoch=_recorded_epoch(reader))
        self._connect(fix, ledger, reader)
        server.start(build_site(desk, plan.keyring, Views(reader, desk.own.tools.table)))
        write_address(plan.state, server.address)
        self._say(f"page       {server.address}/")
        return App(
            plan=plan,
            desk=desk,
            ledger=ledger,
            reader=reader,
            orders=self._orders,
            market=self._market,
            engine=engine,
            fix=fix,
            settler=self._settler,
            simulator=simulator,
            server=server,
            chaser=Chaser(fix, self._orders),
            dsn=dsn,
        )

    def _engine(self) -> EngineChild:
        settings = self._plan.settings.engine
        engine = EngineChild(
            EngineChildConfig(
                engine=EngineConfig(
                    model_dir=str(settings.model),
                    drafter=DrafterKind(settings.drafter),
                    spec_k=settings.spec_k,
                ),
                state_dir=self._plan.state.root / "engine",
                start_timeout_s=settings.start_timeout_s,
                fault=self._plan.engine_fault,
                program=self._plan.engine_program,
            ),
            on_event=self._on_engine,
        )
        engine.start()
        self._stack.callback(engine.stop)
        return engine

    def _database(self) -> str:
        settings = self._plan.settings.ledger
        if settings.dsn is None:
            self._say("database   starting PostgreSQL")
            server = EmbeddedPostgres(self._plan.state.root)
            dsn = server.start()
            self._stack.callback(server.stop)
        else:
            dsn = settings.dsn
        migrate(dsn)
        return dsn

    def _ledger(self, dsn: str) -> tuple[Ledger, LedgerReader]:
        settings = self._plan.settings.ledger
        ledger = Ledger.open(
            LedgerConfig(dsn=dsn, checkpoint_every_s=settings.checkpoint_every_s),
            self._plan.signer,
            clock.wall_us,
            on_stop=lambda error: _log.critical("the ledger stopped: %s", error),
        )
        self._stack.callback(ledger.close)
        reader = LedgerReader(dsn)
        self._stack.callback(reader.close)
        self._orders.fold(_order_records(reader))  # history first: nothing decides before the start
        ledger.subscribe(self._orders.fold)
        self._say(f"ledger     {ledger.size} records")
        return ledger, reader

    def _restore_kill(self, word: KillWord, reader: LedgerReader) -> None:
        """Bring the word at least to what the ledger says.

        A lost file must not open a closed gate.
        """
        epoch, killed = 0, False
        for record in reader.records(
            stream="control", kinds=(Kind.KILL_PRESSED, Kind.KILL_RELEASED)
        ):
            epoch = max(epoch, int(str(record.body["kill_epoch"])))
            killed = record.kind is Kind.KILL_PRESSED
        word.restore(epoch, killed=killed)

    def _counterparty(self) -> tuple[Simulator | None, Any]:
        """Start or adopt the simulator when the plan has one.

        Return it with the session's profile.
        """
        if self._plan.simulator is None:
            return None, self._plan.profile(0)
        simulator = Simulator(self._plan.simulator, self._plan.state.logs / "simulator.log")
        adopted = simulator.start()
        self._stack.callback(simulator.stop)
        self._say(f"broker     simulator on port {simulator.port}{' (adopted)' if adopted else ''}")
        return simulator, self._plan.profile(simulator.port)

    def _desk(
        self,
        ledger: Ledger,
        reader: LedgerReader,
        engine: EngineChild,
        fix: FixChild,
        word: KillWord,
        kill_switch: KillSwitch,
        profile: Any,  # noqa: ANN401 - fix.profile.Profile
    ) -> Desk:
        plan = self._plan
        send_within_us = int(plan.settings.fix.send_within_s * 1_000_000)
        section = Section(
            ledger=ledger,
            reader=reader,
            bundle=plan.policy,
            policy_keys=plan.keyring.public_keys(),
            kill=word.read,
            wall_us=clock.wall_us,
            send_within_us=send_within_us,
        )
        for account in (plan.tags.account, f"{plan.tags.account}.agent"):
            section.open_account(account, plan.equity_minor)
        settings = plan.settings.engine
        pair = load_pair(settings.model)
        table, codec = load_table(pair), ReturnCodec()
        tools = Tools(
            ledger=ledger,
            engine=engine,
            codec=codec,
            table=table,
            placebo=TableModel(table, codec),
            plan=SamplingPlan(
                paths=settings.paths,
                horizon=settings.horizon,
                spec_k=settings.spec_k if settings.drafter != "none" else 0,
                deadline_s=settings.deadline_s,
            ),
            seed_root=lambda: _seed_root(ledger),
        )
        dispatching = DispatchTools(
            ledger=ledger,
            orders=self._orders,
            broker=fix,
            profile=profile,
            instrument=lambda symbol: plan.instruments[symbol],
            approve=self._approve,
            wall_us=clock.wall_us,
            market_now_us=self._market_us,
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
                kill_switch=kill_switch,
                word=word,
                keyring=plan.keyring,
                origin=plan.origin,
                parts=lambda: self._parts(ledger, engine, fix, section),
                count=lambda name, value: self._telemetry.count(name, result=value),
            )
        )

    def _begin_run(self, ledger: Ledger) -> None:
        """Put the run on record: who, which policy, which instruments, which mode."""
        for draft in self._plan.opening_records():
            ledger.append(draft)
        ledger.checkpoint_now()

    def _connect(self, fix: FixChild, ledger: Ledger, reader: LedgerReader) -> None:
        """Settle what waits in the inbox, end what a crash left, log on, reconcile.

        Send what is due.
        """
        now_us = self._market_us()
        # the FIX child stops first: what its last sweep brings in is still settled
        self._stack.callback(self._settler.stop)
        fix.start()
        self._stack.callback(fix.stop)
        self._settler.drain()
        mark_unknown(ledger, self._orders, market_time_us=now_us)
        ended = close_abandoned(ledger, self._orders, market_time_us=now_us)
        if ended:
            self._say(f"recovery   {ended} decisions of an earlier run brought to their end")
        self._settler.start()
        fix.logon(min_next_sender=highest_sent(reader) + 1)
        if not fix.wait_for(SessionState.READY, 15.0):
            raise NotReadyError(part="FIX session", state=f"{fix.state} after 15 s")
        for standing in self._orders.unsent():
            dispatch(standing, self._desk_made.own.dispatching)
        self._say("session    FIX logged on and reconciled")

    def _on_fix(self, name: str, event: Frame) -> None:
        """Take an event of the FIX child; never waits."""
        if name == "inbox":
            self._settler.wake()
        elif name == "session" and event.get("state") == SessionState.RECONCILING:
            logon_no = int(str(event["logon_no"]))
            threading.Thread(
                target=self._reconcile, args=(logon_no,), name="reconcile", daemon=True
            ).start()
        elif name == "sweep" and event.get("phase") == "ended":
            threading.Thread(target=self._sweep_ended, args=(event,), daemon=True).start()

    def _reconcile(self, logon_no: int) -> None:
        with self._reconciling, contextlib.suppress(ChildError, AuditError):
            reconcile(self._fix, self._orders, logon_no)
            _, killed = self._desk_made.own.word.read()
            if killed:
                self._fix.sweep()

    def _sweep_ended(self, event: Frame) -> None:
        def names(field: str) -> list[str]:
            found = event.get(field)
            return [str(one) for one in found] if isinstance(found, list) else []

        with contextlib.suppress(AuditError):
            self._desk_made.kill_switch.record_outcome(
                confirmed=names("confirmed"), unknown=names("unknown"), still_open=names("open")
            )

    def _on_engine(self, name: str, detail: Any) -> None:  # noqa: ANN401 - a mapping of texts
        """Put the engine's life on record, off its own threads."""
        threading.Thread(target=self._record_engine, args=(name, dict(detail)), daemon=True).start()

    def _record_engine(self, name: str, detail: dict[str, str]) -> None:
        ledger = getattr(self, "_ledger_made", None)
        if ledger is None or name == "stopped":
            return
        text = "; ".join(f"{k}={v}" for k, v in sorted(detail.items()))[:500]
        with contextlib.suppress(AuditError):
            ledger.append(
                Draft(
                    stream="control",
                    kind=Kind.ENGINE_EVENT,
                    payload={"event": name, "detail": text, "run_id": self._plan.tags.run_id},
                    actor="engine",
                    idem_key=f"engine:{self._plan.tags.run_id}:{clock.monotonic_us()}",
                )
            )

    def _approve(self, standing: Standing) -> ApprovedOrder:
        return self._desk_made.approved_order(standing)

    def _market_us(self) -> int:
        return self._market.now_us()

    def _parts(
        self, ledger: Ledger, engine: EngineChild, fix: FixChild, section: Section
    ) -> dict[str, str]:
        def ready(good: bool, otherwise: object) -> str:  # noqa: FBT001 - a fact
            return "ready" if good else str(otherwise)

        policy = section.status().standing
        return {
            "ledger": ready(ledger.stopped is None, ledger.stopped),
            "engine": ready(engine.state is EngineState.READY, engine.state),
            "fix": ready(fix.state is SessionState.READY, fix.state),
            "policy": ready(policy == "ACTIVE", policy),
        }


def _order_records(reader: LedgerReader) -> Iterator[Record]:
    """Yield the records that the orders' projection folds."""
    return (r for r in reader.records() if r.stream.startswith("decision/"))


def _recorded_epoch(reader: LedgerReader) -> int:
    pressed = reader.records(stream="control", kinds=(Kind.KILL_PRESSED,))
    return max((int(str(r.body["kill_epoch"])) for r in pressed), default=0)


def _seed_root(ledger: Ledger) -> tuple[bytes, int]:
    """Return root and size of the last checkpoint: the seed that nobody chose."""
    checkpoint = ledger.last_checkpoint or ledger.checkpoint_now()
    if checkpoint is None:
        raise NotReadyError(part="ledger", state="without a checkpoint")
    return checkpoint.root, checkpoint.size
