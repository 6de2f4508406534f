"""Functions that make one part each, put its undoing on the stack and return it; see `app`."""

import logging
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import Final

from audit.errors import LedgerUnsafeError
from audit.privacy.vault import Vault
from audit.records.kinds import Kind
from audit.records.record import Record
from audit.sequencer.clock_watch import read_clock
from audit.sequencer.config import SequencerConfig
from audit.sequencer.ledger import Ledger, LedgerConfig
from audit.store.reader import LedgerReader
from fix.dialects.profile import Profile
from fix.durable.kill_word import KillWord
from fix.session.link import SessionState
from gateway import clock
from gateway.desk.controls.kill import KillSwitch
from gateway.desk.controls.statements import all_signed, release_statement
from gateway.errors import InstrumentsError, NotReadyError, SettingsError
from gateway.evidence.replay.pairs import Pairs
from gateway.feeds.instruments.fit import unnamed
from gateway.installation.children.engine import EngineChild
from gateway.installation.children.engine_process import EngineChildConfig
from gateway.installation.children.fix import FixChild
from gateway.installation.children.simulator import Simulator
from gateway.installation.database import enter
from gateway.installation.keys.log_id import log_id
from gateway.installation.keys.log_keys import predecessors
from gateway.installation.keys.rotation import record_changes
from gateway.installation.keys.row_keys import RowKeys
from gateway.installation.keys.succession import OfficerHistory
from gateway.installation.policies.on_record import (
    early_on_record,
    refuse_stray_officers,
    stray_said,
    untried_on_record,
)
from gateway.installation.policies.policy import BUNDLE
from gateway.installation.press_notes import PressNotes
from gateway.installation.trial import refuse_unfinished
from gateway.launch.events import Events
from gateway.launch.feeds import changed_terms
from gateway.launch.plan import Plan
from gateway.launch.session import refuse_lost, simulator_after
from gateway.launch.threads.beside import BesideTheEngine
from gateway.launch.threads.publisher import Publishing
from gateway.surfaces.web.views.lists import Views
from gateway.walk.journal.control.kill import KillEpoch, KillPressed, KillReleased
from gateway.walk.journal.control.own_keys import OwnKeys
from gateway.walk.journal.form import refuse_earlier
from gateway.walk.journal.run import ENGINE, processes_agreed
from gateway.walk.ports import SamplingPlan, Tools
from gateway.walk.projections.outbox import Orders, history_of
from gateway.walk.reconciliation.book_check import BookCheck, CheckTools
from gateway.walk.sampled.agreed import AgreedEngine
from gateway.walk.section import Section
from inference.engine.port import EngineConfig, EngineState
from inference.forecast.placebo import TableModel
from inference.speculation.rounds import DrafterKind
from inference.weights.registry import load_pair, load_table
from inference.weights.text_pair import codec_for

_log = logging.getLogger(__name__)

SYMBOLS_SHOWN: Final = 5
"""How many symbols a line of the start names."""


def start_engine(plan: Plan, stack: ExitStack, events: Events) -> EngineChild:
    """Start the engine child; it becomes ready in the background."""
    settings = plan.settings.engine
    engine = EngineChild(
        EngineChildConfig(
            engine=EngineConfig(
                model_dir=str(settings.model),
                drafter=DrafterKind(settings.drafter),
                spec_k=settings.spec_k,
            ),
            state_dir=plan.state.root / "engine",
            start_timeout_s=settings.start_timeout_s,
            fault=plan.engine_fault,
            program=plan.engine_program,
        ),
        on_event=events.on_engine,
    )
    engine.start()
    stack.callback(engine.stop)
    return engine


def start_database(plan: Plan, stack: ExitStack, say: Callable[[str], None]) -> str:
    """Start or adopt PostgreSQL unless a DSN is given, and return the DSN to work with.

    Raises:
        LedgerUnsafeError: outside development, the login has too many rights.
        NoLedgerError: a restore was interrupted here.
    """
    refuse_unfinished(plan.state.root)
    own = plan.settings.ledger.dsn is None
    say(f"database   {'starting' if own else 'connecting to'} PostgreSQL")
    dsn, unsafe = enter(plan.settings.ledger, plan.state.root, stack)
    if unsafe:
        if not plan.tags.dev:
            raise LedgerUnsafeError(unsafe)
        _log.warning("login_unsafe %s", unsafe)
        say(f"database   {unsafe}")
    return dsn


def open_ledger(
    plan: Plan, stack: ExitStack, dsn: str, orders: Orders, vault: Vault
) -> tuple[Ledger, LedgerReader, Publishing]:
    """Open the ledger with its publisher, and fold the orders from it.

    The reader checks each row's MAC, because its answers may lead to an effect.

    Raises:
        EarlierLedgerError: its records are of a form that is no longer read.
        RowRefusedError: a row is not this gateway's.
    """
    publishing = Publishing(plan, dsn)
    stack.callback(publishing.stop)  # after the ledger, to publish its last checkpoint
    rows = RowKeys(plan.state, plan.origin)
    before = LedgerReader(dsn, row_key=rows.found)
    stack.callback(before.close)
    refuse_earlier(before)
    publishing.refuse_older(before)
    refuse_lost(plan, before)
    ledger = Ledger.open(
        LedgerConfig(
            dsn=dsn,
            checkpoint_every_s=plan.settings.ledger.checkpoint_every_s,
            predecessors=predecessors(plan.state.ledger_key, plan.signer.vkey),
            clock_source=read_clock,
            sequencer=SequencerConfig(patient=True),
            mac=rows.begin().mac,
        ),
        plan.signer,
        clock.wall_us,
        on_stop=lambda error: _log.critical("the ledger stopped: %s", error),
        on_checkpoint=publishing.offer,
        co_signers=plan.co_signers,
        vault=vault,
    )
    stack.callback(lambda: rows.saw(ledger.size))  # once it is closed
    stack.callback(ledger.close)
    reader = LedgerReader(dsn, row_key=rows.settle(ledger), recent=ledger.recent)
    stack.callback(reader.close)
    record_changes(ledger, reader, plan.state.ledger_key, plan.signer.vkey)
    publishing.start(ledger)
    ledger.subscribe(orders.follow)
    orders.begin(history_of(reader))  # nothing decides before the start
    return ledger, reader, publishing


def make_views(
    plan: Plan,
    stack: ExitStack,
    dsn: str,
    reader: LedgerReader,
    tools: Tools,
    publishing: Publishing,
) -> Views:
    """Return the pages' values; a single record is shown even without our MAC."""
    stored = LedgerReader(dsn)  # checks no MAC: its answers are shown, never acted on
    stack.callback(stored.close)
    pairs = Pairs(plan.settings.engine.model)
    return Views(reader, tools.table, publishing.policy, stored=stored, pairs=pairs)


def restore_kill(
    word: KillWord, reader: LedgerReader, keys: Mapping[str, bytes], origin: str
) -> str:
    """Bring the kill word to the ledger's state; return a warning for the operator, or "".

    Where the two differ, the stop wins. A recorded release is valid if both roles signed it for
    this ledger and the recorded press. It never opens a gate that the word has closed: after a
    crash between record and gate, or with a forged record, the kill stays and must be released
    again.
    """
    epoch, killed, released, press_id = 0, False, False, ""
    officers = OfficerHistory(reader, keys, origin)
    for record in reader.records(stream="control", kinds=(Kind.KILL_PRESSED, Kind.KILL_RELEASED)):
        named = KillEpoch.of(record).kill_epoch
        if named > epoch:
            press_id = ""
        epoch = max(epoch, named)
        released = record.kind is Kind.KILL_RELEASED
        if not released and named == epoch:
            press_id = KillPressed.of(record).press_id
        killed = not (
            released
            and named == epoch
            and _releases(record, press_id, word, reader, officers.at(record.seq), origin)
        )
    state = word.restore(epoch, killed=killed)
    if not (state.killed and released):
        return ""
    why = "its signatures do not hold" if killed else "the kill word does not know of it"
    words = (
        f"kill {state.kill_epoch} stays in force: the ledger holds a release, but {why};"
        " release again: countersign release --reason '...'"
    )
    _log.warning("kill_stays %s", words)
    return words


def _releases(
    release: Record,
    press_id: str,
    word: KillWord,
    reader: LedgerReader,
    keys: Mapping[str, bytes],
    origin: str,
) -> bool:
    """Return whether both roles signed a recorded release for the press before it.

    If press and release differ (the word was lost and restored in between), the word itself must
    have this press as released. With a lost word the kill then comes back.
    """
    given = KillReleased.of(release)
    if not given.press_id:
        return False
    epoch, named, signatures = given.kill_epoch, given.press_id, given.signatures
    now = word.newest_press()
    agreed = (now.kill_epoch, now.killed) == (epoch, False)
    signed = release_statement(log_id(reader, origin), epoch, named, given.live)
    ours = named == press_id or (agreed and named == now.press_id)
    return ours and all_signed(signed, signatures, keys)


def start_counterparty(
    plan: Plan, stack: ExitStack, orders: Orders
) -> tuple[Simulator | None, Profile, bool]:
    """Start or adopt the simulator; return it, the session's profile, whether it was adopted."""
    if plan.simulator is None:
        return None, plan.profile(0), False
    config = replace(plan.simulator, exec_after=simulator_after(plan, orders))
    simulator = Simulator(config, plan.state.logs / "simulator.log")
    adopted = simulator.start()
    stack.callback(simulator.stop)
    return simulator, plan.profile(simulator.port), adopted


def make_tools(plan: Plan, ledger: Ledger, engine: EngineChild) -> Tools:
    """Return the tools of `decide`."""
    settings, pair = plan.settings.engine, load_pair(plan.settings.engine.model)
    table, codec = load_table(pair), codec_for(pair)
    return Tools(
        ledger=ledger,
        engine=AgreedEngine(
            engine,
            lambda: engine.agreement.agreed,
            ledger,
            lambda agreed: processes_agreed(plan.tags, ENGINE, agreed),
            lambda: engine.refusal,
        ),
        model=pair.manifest_digest,
        codec=codec,
        table=table,
        placebo=TableModel(table, codec),
        plan=SamplingPlan(
            paths=settings.paths,
            horizon=settings.horizon,
            spec_k=settings.spec_k if settings.drafter != "none" else 0,
            deadline_s=settings.deadline_s,
        ),
        seed_root=lambda opened_seq: seed_root(ledger, opened_seq),
        meanwhile=BesideTheEngine(),
    )


def make_book_check(
    plan: Plan,
    ledger: Ledger,
    reader: LedgerReader,
    orders: Orders,
    books: Section,
    session: str,
) -> BookCheck:
    """Return what compares the book with the broker."""
    return BookCheck(
        CheckTools(
            ledger=ledger,
            reader=reader,
            orders=orders,
            books=books,
            session=session,
            instruments=plan.instruments,
            pause=clock.pause,
            foreign=plan.profile(plan.settings.fix.port or 1).foreign_orders,
        )
    )


def make_kill_switch(
    plan: Plan, word: KillWord, fix: FixChild, ledger: Ledger, reader: LedgerReader
) -> KillSwitch:
    """Return the kill switch, with its press notes in the state folder."""
    notes = PressNotes(plan.state.root)
    return KillSwitch(word=word, child=fix, ledger=OwnKeys(ledger, reader), notes=notes)


def part_states(
    ledger: Ledger, engine: EngineChild, fix: FixChild | None, section: Section
) -> dict[str, str]:
    """Return "ready" or what is wrong of ledger, engine, session if any, book and policy."""

    def ready(good: bool, otherwise: object) -> str:  # noqa: FBT001 - a fact
        return "ready" if good else str(otherwise)

    policy = section.status().standing
    session = {}
    if fix is not None:
        state = f"{fix.state} {fix.refused}".rstrip()
        session = {"fix": ready(fix.state is SessionState.READY, state)}
    return {
        "ledger": ready(ledger.stopped is None, ledger.stopped),
        "engine": ready(
            engine.state is EngineState.READY, f"{engine.state} {engine.refusal}".rstrip()
        ),
        **session,
        "book": section.differences.state,
        "policy": ready(policy == "ACTIVE", policy),
    }


def recorded_epoch(reader: LedgerReader) -> int:
    """Return the highest recorded kill epoch."""
    pressed = reader.records(stream="control", kinds=(Kind.KILL_PRESSED,))
    return max((KillEpoch.of(r).kill_epoch for r in pressed), default=0)


def seed_root(ledger: Ledger, opened_seq: int) -> tuple[bytes, int]:
    """Return root and size of the largest checkpoint not above a decision's opening record.

    A checkpoint in flight is waited for, so that only one answer is possible (decision 037).

    Raises:
        NotReadyError: there is no checkpoint.
        audit.errors.LedgerError: the ledger cannot tell now.
    """
    checkpoint = ledger.checkpoint_not_above(opened_seq)
    if checkpoint is None:
        raise NotReadyError(part="ledger", state="without a checkpoint")
    return checkpoint.root, checkpoint.size


def unnamed_said(plan: Plan) -> str:
    """Return the operator's line about instruments that the policy does not name, or ""."""
    symbols = list(unnamed(plan.table.listings, plan.policy.policy))
    if not symbols:
        return ""
    shown = ", ".join(symbols[:SYMBOLS_SHOWN])
    more = f" and {len(symbols) - SYMBOLS_SHOWN} more" if len(symbols) > SYMBOLS_SHOWN else ""
    return (
        f"policy     does not name {shown}{more}: every intent on"
        f" {'them' if len(symbols) > 1 else 'it'} is refused"
        " (UNKNOWN_INSTRUMENT). Make a policy that does: countersign policy new next.toml"
        f" --from {plan.keyring.folder / BUNDLE} --instruments {plan.settings.instruments}"
    )


def refuse_stray_policy(plan: Plan, reader: LedgerReader) -> None:
    """Refuse a policy or officers that neither are the newest on record nor follow them.

    Otherwise whoever may write the key folder could bring back looser limits that both officers
    signed once. `run` always uses the shipped policy.

    Raises:
        SettingsError: it is so; says what the policy must name.
    """
    if plan.tags.dev:
        return
    refuse_stray_officers(plan.keyring.public_keys(), plan.origin, reader)
    policy, mode = plan.policy.policy, plan.tags.mode
    said = stray_said(policy, reader) or early_on_record(policy, mode, reader, clock.wall_us())
    said = said or untried_on_record(plan.policy, mode, reader)
    if said:
        problem = f"the policy in {plan.keyring.folder} {said}"
        raise SettingsError(name="COUNTERSIGN_KEYS", problem=problem)


def refuse_changed_terms(plan: Plan, reader: LedgerReader, orders: Orders) -> None:
    """Refuse a table that changes or drops an instrument which has orders on record.

    Raises:
        InstrumentsError: the table does so; nothing was recorded.
    """
    found = changed_terms(plan.instruments, reader, orders)
    if found:
        file = plan.settings.instruments or "the playback's table"
        raise InstrumentsError(file=str(file), faults=found)
