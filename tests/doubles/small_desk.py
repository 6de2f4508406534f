"""A desk over a real ledger: the walk is real, only the model and the broker stand in.

The engine is `RowEngine`; the broker answers in process by one published deck of outcomes. A few
sessions of the playback leave records of every sort.
"""

from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path

from audit.records.kinds import Kind
from audit.records.record import Draft
from audit.sequencer.ledger import Ledger
from audit.store.reader import LedgerReader
from fix.dialects.order_profile import order_profile
from fix.dialects.profile import simulator_profile
from fix.durable.kill_word import KillWord
from gateway.clock import monotonic_us, wall_us
from gateway.desk.controls.cancel_all import CancelAll
from gateway.desk.controls.drill import Drills
from gateway.desk.controls.kill import KillSwitch
from gateway.desk.desk import Desk
from gateway.desk.intake.strategies import OVERLAY, overlay
from gateway.desk.parts import DeskParts
from gateway.feeds.market import Market
from gateway.feeds.sessions import PLAYED, Playback, PlaybackSession, load_playback
from gateway.installation.keys.keyring import Keyring
from gateway.installation.policies.policy import development_policy
from gateway.installation.press_notes import PressNotes
from gateway.launch.parts import seed_root
from gateway.telemetry.spans import Telemetry
from gateway.walk.approval import held_back
from gateway.walk.dispatch import DispatchTools
from gateway.walk.journal.control.own_keys import OwnKeys
from gateway.walk.journal.form import RECORD_RULES
from gateway.walk.ports import Case, SamplingPlan, Tags, Tools
from gateway.walk.projections.foreign import ForeignOrders
from gateway.walk.projections.gathering import Gathering
from gateway.walk.projections.outbox import Orders, history_of
from gateway.walk.reconciliation.resends import Resends
from gateway.walk.section import Section
from gateway.walk.settlement import SettleTools, settle
from inference.codec.codec import ReturnCodec
from inference.forecast.placebo import TableModel
from inference.speculation.rounds import QTable
from risk.forms.documents import document_of
from risk.policy.policy import policy_digest
from risk.policy.signing import SignedPolicy, signed_policy_document
from risk.state.inputs.health import MachineLook
from risk.state.inputs.reference import Listed
from risk.state.instrument import Instrument
from tests.doubles.answering_broker import AnswersAtOnce
from tests.doubles.row_engine import RowEngine
from tests.doubles.set_clock import Clock

EQUITY_MINOR = 100_000_000
RUN = "run-pages"


INSTRUMENTS = {
    p.symbol: Instrument(
        symbol=p.symbol,
        asset_class="index",
        tick_minor=p.tick_minor,
        lot=p.lot,
        multiplier=p.multiplier,
        currency=p.currency,
        min_qty=1,
    )
    for p in PLAYED
}
PROFILE = simulator_profile(1).model_copy(update={"name": "EMSSIM"})
"""The one session: orders are announced for it, and its broker's words are settled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallDesk:
    """A desk with what a test needs around it."""

    desk: Desk
    keyring: Keyring
    reader: LedgerReader
    ledger: Ledger
    table: QTable
    playback: Playback
    broker: AnswersAtOnce
    settling: SettleTools
    tags: Tags

    def play(self, decisions: int) -> None:
        """Play the first decisions of 2018: quote, decide, send, settle, and mark at the close."""
        played = list(self.playback.sessions(decisions))
        for _, group in groupby(played, key=lambda one: one.session):
            sessions = tuple(group)
            for one in sessions:
                self._mark(one, "open", one.market_time_us, (one.bid_ticks + one.ask_ticks) // 2)
                self.desk.own.market.open_session(one)
            for one in sessions:
                self.desk.make(self._case(one))
                self.answer()
            self.desk.own.market.close_session(sessions[0].close_time_us)
            for one in sessions:
                self._mark(one, "close", one.close_time_us, one.close_ticks)

    def answer(self) -> None:
        """Settle what the broker has to say."""
        for received in self.broker.answers():
            settle(received, self.settling)

    def _case(self, session: PlaybackSession) -> Case:
        own = self.desk.own
        instrument = own.instruments[session.instrument]
        return Case(
            decision_id=f"{RUN}-{session.index:05d}",
            tags=self.tags,
            instrument=instrument,
            snapshot=session.snapshot,
            strategy=OVERLAY,
            author="playback",
            tick=lambda: own.market.tick(session.instrument),
            propose=overlay(own.section.policy, instrument),
            labels={
                "session_index": session.session,
                "session_date": session.session_date.isoformat(),
            },
        )

    def _mark(self, session: PlaybackSession, kind: str, time_us: int, ticks: int) -> None:
        self.ledger.append(
            Draft(
                stream=f"market/{session.instrument}",
                kind=Kind.MARK_TAKEN,
                payload={
                    **self.tags.document(),
                    "instrument": session.instrument,
                    "market_time_us": time_us,
                    "price_ticks": ticks,
                    "kind": kind,
                    "session_index": session.session,
                    "session_date": session.session_date.isoformat(),
                },
                actor="playback",
                idem_key=f"mark:{RUN}:{kind}:{time_us}",
            )
        )


def _settling(
    ledger: Ledger, reader: LedgerReader, orders: Orders, market: Market, section: Section
) -> SettleTools:
    return SettleTools(
        ledger=ledger,
        orders=orders,
        session=PROFILE.name,
        minor_digits=2,
        instrument=INSTRUMENTS.__getitem__,
        market_now_us=market.now_us,
        differences=section.differences,
        resends=Resends(reader, PROFILE.name),
    )


def small_desk(  # noqa: PLR0913, PLR0917 - what a desk is made of
    ledger: Ledger,
    reader: LedgerReader,
    state: Path,
    table: QTable,
    wall: Clock = wall_us,
    send_within_us: int = 10_000_000,
    monotonic: Clock = monotonic_us,
    market: Market | None = None,
) -> SmallDesk:
    """Put a desk together over an open ledger; the run is on record when this returns."""
    keyring = Keyring.create(state / "keys")
    tags = Tags(account=RUN, run_id=RUN, mode="paper", dev=True)
    _start(ledger, _playback(), tags, development_policy(keyring))
    orders, market, broker = Orders(), market or Market(), AnswersAtOnce()
    ledger.subscribe(orders.follow)
    orders.begin(history_of(reader))
    word = KillWord(state / "kill.word", create=True)
    section = _section(ledger, reader, keyring, word, wall, send_within_us, monotonic)
    desk = Desk(
        own=DeskParts(
            tags=tags,
            tools=_tools(ledger, table, 16 if section.policy.families is None else 96),
            section=section,
            orders=orders,
            reader=reader,
            market=market,
            instruments=INSTRUMENTS,
            dispatching=DispatchTools(
                ledger=ledger,
                orders=orders,
                broker=broker,
                profile=PROFILE,
                instrument=INSTRUMENTS.__getitem__,
                section=lambda: desk.own.section,
                scopes=lambda: desk.scopes,
                settling=lambda: True,
                deadlines=section.deadlines,
                wall_us=wall,
                market_now_us=market.now_us,
                held_back=lambda one: held_back(one.stops, one.standing.approving, section),
            ),
            cancels=broker,
            kill_switch=KillSwitch(
                word=word, child=broker, ledger=OwnKeys(ledger, reader), notes=PressNotes(state)
            ),
            word=word,
            keyring=keyring,
            origin="pages.test",
            parts=lambda: {"ledger": "ready"},
            telemetry=Telemetry(),
            foreign=(foreign := ForeignOrders(reader, PROFILE.name)),
            cancel_all=CancelAll(ledger, broker.sweep, lambda: _live(orders)),
            drills=Drills(word=word, child=broker, ledger=ledger, live=lambda: _live(orders)),
        )
    )
    for follow in (section.differences.follow, section.stops.follow, foreign.follow):
        ledger.subscribe(follow)
    return SmallDesk(
        desk=desk,
        keyring=keyring,
        reader=reader,
        ledger=ledger,
        table=table,
        playback=_playback(),
        broker=broker,
        settling=_settling(ledger, reader, orders, market, section),
        tags=tags,
    )


@cache
def _playback() -> Playback:
    """Read the series once: a desk is made for every test."""
    return load_playback()


def _live(orders: Orders) -> list[str]:
    return sorted(one.cl_ord_id for one in orders.live())


def _section(
    ledger: Ledger,
    reader: LedgerReader,
    keyring: Keyring,
    word: KillWord,
    wall: Clock,
    send_within_us: int,
    monotonic: Clock,
) -> Section:
    section = Section(
        ledger=ledger,
        reader=reader,
        bundle=development_policy(keyring),
        policy_keys=keyring.public_keys(),
        kill=word.read,
        wall_us=wall,
        send_within_us=send_within_us,
        monotonic_us=monotonic,
        gathering=Gathering(
            listed={
                name: Listed(symbol=name, sector="broad", adv_lots=1_000_000, margin_bp=2_500)
                for name in INSTRUMENTS
            },
            table_digest="0" * 64,
            listed_at_us=_playback().first_as_of_us(),
            health=lambda: MachineLook(age_us=0, disk_free_bp=5_000, clock_step_us=0),
        ).reading(reader),
    )
    for account in (RUN, f"{RUN}.agent"):
        section.open_account(account, EQUITY_MINOR)
    return section


def _tools(ledger: Ledger, table: QTable, paths: int) -> Tools:
    codec = ReturnCodec()
    return Tools(
        ledger=ledger,
        engine=RowEngine(table=table, codec=codec),
        model="0" * 64,
        codec=codec,
        table=table,
        placebo=TableModel(table=table, codec=codec),
        plan=SamplingPlan(paths=paths, horizon=10, spec_k=4, deadline_s=5.0),
        seed_root=lambda opened_seq: seed_root(ledger, opened_seq),
    )


def _start(
    ledger: Ledger,
    playback: Playback,
    tags: Tags,
    policy: SignedPolicy,
) -> None:
    ledger.append(
        Draft(
            stream="control",
            kind=Kind.RUN_STARTED,
            payload={
                **tags.document(),
                "profile": "simulator",
                "record_rules": RECORD_RULES,
                "git": "",
                "versions": {},
                "models": {},
                "playback": playback.source(),
                "first_as_of_us": playback.first_as_of_us(),
                "data_cutoff_us": 1_514_764_799_999_999,
                "equity_minor": EQUITY_MINOR,
                "instruments": [document_of(i) for i in INSTRUMENTS.values()],
                "order_profile": order_profile(PROFILE),
                "fix_profile": {"name": PROFILE.name},
            },
            actor="gateway",
            idem_key=f"run_started:{RUN}",
        ),
        Draft(
            stream="control",
            kind=Kind.POLICY_ACTIVATED,
            payload={
                "policy_digest": policy_digest(policy.policy),
                **signed_policy_document(policy),
                "signed_by": [f"{one.role}:{one.signer}" for one in policy.signatures],
                "reason": "start of the run",
            },
            actor="gateway",
            idem_key=f"policy:{RUN}",
        ),
    )
    ledger.checkpoint_now()
