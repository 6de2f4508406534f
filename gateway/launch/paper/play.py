"""The verb `run`: plays the sessions of 2018 in paper mode, summarises, verifies, then serves.

Ctrl-C ends the playback after the present decision and leaves a ledger that verifies.
"""

import json
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from audit.errors import LedgerStoppedError, LedgerTimeoutError, LedgerWriteError
from audit.sequencer.ledger import Lane
from audit.upkeep.dump import verify_database
from gateway import clock
from gateway.desk.intake.strategies import OVERLAY, overlay
from gateway.errors import LedgerLostError
from gateway.evidence.decisions import newest_decision
from gateway.feeds.scales import scales_for
from gateway.feeds.sessions import Playback, PlaybackSession, load_playback
from gateway.installation.keys.log_keys import own_vkeys
from gateway.installation.settings import Settings
from gateway.launch.app import App, running
from gateway.launch.paper.acceptance_rate import TableFigure
from gateway.launch.paper.demo_agent import AgentReport, run_demo_agent
from gateway.launch.paper.summary import summarise
from gateway.launch.plan import Plan, development_plan
from gateway.launch.run import await_engine, interruptible
from gateway.telemetry.console import Progress, log_to_stderr, table
from gateway.walk.journal.run import mark_taken, run_finished
from gateway.walk.journal.standing import Stage
from gateway.walk.ports import Case

SETTLE_WITHIN_S = 3.0


def run_development(settings: Settings) -> int:
    """Play, summarise, verify, then serve until Ctrl-C or exit; return the exit code."""
    playback = replace(load_playback(), scales=scales_for(settings.engine.model))
    return play(development_plan(settings, playback), playback)


def play(plan: Plan, playback: Playback) -> int:
    """Play a plan's sessions; see `run_development`."""
    settings = plan.settings
    log_to_stderr(settings.log_level)
    progress = Progress(sys.stdout)
    progress.say(
        f"run        {plan.tags.run_id}, paper mode, development keys: one person has both roles"
    )
    with (
        interruptible() as stop,
        running(plan, progress.say) as app,
        app.housekeeping.in_background(),
    ):
        _warn_if_killed(app, progress)
        if not await_engine(app, progress, stop):
            progress.say("stopped    before the engine was up; nothing was decided")
            return 0
        before_bytes = app.reader.size_bytes()
        total = settings.playback.decisions or 2 * len(playback.days)
        sessions = playback.sessions(settings.playback.decisions)
        try:
            agent = _play(app, sessions, total, progress, stop)
        except (LedgerTimeoutError, LedgerWriteError, LedgerStoppedError) as error:
            raise LedgerLostError(detail=" ".join(str(error).split())) from error
        code = _finish(app, agent, progress, before_bytes, played_out=not stop.is_set())
        if not settings.playback.exit and not stop.is_set():
            progress.say(f"serving    {app.page_address()}  (Ctrl-C ends)")
            stop.wait()
    return code


def _play(
    app: App,
    sessions: Iterator[PlaybackSession],
    total: int,
    progress: Progress,
    stop: threading.Event,
) -> AgentReport | None:
    agent: AgentReport | None = None
    day: list[PlaybackSession] = []
    done = 0
    for session in sessions:
        if stop.is_set():
            break
        if day and session.session != day[0].session:
            _close_day(app, day)
            day = []
            if agent is None and app.plan.settings.playback.demo_agent:
                agent = _demo(app)
        day.append(session)
        open_session(app, session)
        decision = app.desk.make(case_of(app, session))
        done += 1
        said = f"{session.session_date} {session.instrument} {decision.result}"
        progress.tenth("decisions", done, total, said)
        app.housekeeping.round()
    if day:
        _close_day(app, day)
    if agent is None and app.plan.settings.playback.demo_agent and not stop.is_set() and done:
        agent = _demo(app)
    progress.end()
    return agent


def _demo(app: App) -> AgentReport:
    key = app.plan.keyring.token("demo-agent")
    return run_demo_agent(app.server.address, key, app.plan.tags.run_id)


def open_session(app: App, session: PlaybackSession) -> None:
    """Open a session: set its quote, here and at the simulator, and record the opening mark."""
    app.market.open_session(session)
    if app.simulator is not None:
        app.simulator.set_session(session.session)
    middle = (session.bid_ticks + session.ask_ticks) // 2
    _mark(app, session, kind="open", price_ticks=middle, at_us=app.market.now_us())


def _close_day(app: App, day: list[PlaybackSession]) -> None:
    """Wait for orders at the broker, then mark at the close."""
    for _ in range(int(SETTLE_WITHIN_S / 0.02)):
        if not any(s.stage in {Stage.SENDING, Stage.SENT} for s in app.orders.live()):
            break
        app.housekeeping.round()
        clock.pause(0.02)
    app.market.close_session(max(s.close_time_us for s in day))
    for session in day:
        _mark(
            app, session, kind="close", price_ticks=session.close_ticks, at_us=session.close_time_us
        )


def _mark(app: App, session: PlaybackSession, *, kind: str, price_ticks: int, at_us: int) -> None:
    tags = app.plan.tags
    drafts = [
        mark_taken(
            replace(tags, account=account),
            instrument=session.instrument,
            market_time_us=at_us,
            price_ticks=price_ticks,
            kind=kind,
            session_index=session.session,
            session_date=session.session_date.isoformat(),
        )
        for account in sorted(app.desk.own.section.accounts)
    ]
    app.ledger.append(*drafts, lane=Lane.URGENT)


def case_of(app: App, session: PlaybackSession) -> Case:
    """Return the strategy's case for one session of one instrument."""
    instrument = app.plan.instruments[session.instrument]
    return Case(
        decision_id=f"{app.plan.tags.run_id}-{session.index:04d}-{session.instrument}",
        tags=app.plan.tags,
        instrument=instrument,
        snapshot=session.snapshot,
        strategy=OVERLAY,
        author="playback",
        tick=lambda: app.market.tick(session.instrument),
        propose=overlay(app.desk.own.section.policy, instrument),
        labels={
            "session_index": session.session,
            "session_date": session.session_date.isoformat(),
        },
    )


def _finish(
    app: App,
    agent: AgentReport | None,
    progress: Progress,
    before_bytes: int,
    *,
    played_out: bool,
) -> int:
    """Summarise from the ledger, verify it, write and print the result.

    Return 1 if the ledger does not verify or the book differs from the broker's reports, else 0.
    """
    plan = app.plan
    differences = app.book_check.run("run_end")
    summary: dict[str, Any] = summarise(
        app.reader,
        run_id=plan.tags.run_id,
        account=plan.tags.account,
        equity_minor=plan.equity_minor,
        target_vol_bp=plan.policy.policy.sizing.target_vol.value,
        figure=TableFigure(table=app.desk.own.tools.table, codec=app.desk.own.tools.codec),
    )
    if agent is not None:
        summary["demo_agent"] = {**summary["demo_agent"], "http": agent.document()}
    app.ledger.append(run_finished(plan.tags, summary))
    app.ledger.checkpoint_now()
    progress.show("verify     reading the whole ledger")
    report = verify_database(app.dsn, own_vkeys(plan.state.ledger_key), now_us=clock.wall_us())
    size = app.reader.log_size()
    decisions = summary["decisions"]
    summary |= {
        "ledger_size": size,
        "bytes_per_decision": (
            (app.reader.size_bytes() - before_bytes) // decisions if decisions else None
        ),
        "verified": report.exit_code == 0,
        "differences": differences,
        "complete": played_out,
        "halted": app.desk.parts()["kill"] != "ready",
    }
    path = plan.state.root / "runs" / f"summary-{plan.tags.run_id}.json"
    path.write_text(json.dumps(summary, indent=1) + "\n")
    progress.end()
    progress.say(table(summary))
    for line in report.lines if report.exit_code else ():
        progress.say(f"verify     {line}")
    _last_lines(app, path, progress)
    if differences:
        progress.say(
            f"DIFFERS    the book differs from the broker's reports in {differences} places; their"
            " instruments take no new order: countersign differences"
        )
    return 0 if report.exit_code == 0 and not differences else 1


def _last_lines(app: App, path: Path, progress: Progress) -> None:
    progress.say(f"summary    {path}")
    if newest := newest_decision(app.reader):
        progress.say(f"decision   {newest}  (the newest; `countersign decisions` lists them)")
    progress.say(f"log key    {app.plan.state.ledger_vkey}  (for verifiers)")
    if app.desk.parts()["kill"] != "ready":
        _warn_if_killed(app, progress)


def _warn_if_killed(app: App, progress: Progress) -> None:
    epoch, killed = app.desk.kill_switch.state
    if killed:
        progress.say(
            f"KILLED     kill {epoch} is in force: decisions are recorded, no order leaves."
            " Release it with: countersign release --reason '...'"
        )
