"""A whole gateway over a fresh state folder, with the scripted engine, kept alive for a test.

Real: PostgreSQL, ledger, FIX child, simulator, TCP, rules, pages. Run as a program
(`python -m tests.doubles.live_desk STATE`) it makes one resting order, says so, and waits.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from fix.dialects.profile import Profile
from fix.simulator.control import Control, read_capture, write_control
from gateway.clock import pause
from gateway.feeds.sessions import PlaybackSession, load_playback
from gateway.installation import settings
from gateway.installation.children.simulator import wait_for
from gateway.launch.app import App, running
from gateway.launch.paper.play import case_of, open_session
from gateway.launch.plan import Plan, development_plan
from gateway.walk.decision import Decision, Result
from gateway.walk.journal.standing import Stage, Standing
from tests.doubles.fix_world import quick
from tests.doubles.programs import use_first_parts
from tests.doubles.scripted_pair import scripted_pair

HIGH_SESSION = 180
"""A session whose prices are far above January's: a bid of January rests there."""


def plan_for(state: Path, behaviour: str = "well") -> Plan:
    """Return the plan of a small desk."""
    use_first_parts()
    base = settings.load(state=state)
    chosen = base.model_copy(
        update={
            "api": base.api.model_copy(update={"port": 0}),
            "engine": base.engine.model_copy(
                update={
                    "drafter": "network",
                    "paths": 16,
                    "horizon": 4,
                    "model": scripted_pair(base.engine.model),
                    "deadline_s": 2.0,
                }
            ),
        }
    )
    program = (sys.executable, "-m", "tests.doubles.scripted_engine", behaviour)
    plan = development_plan(chosen, load_playback())
    if plan.simulator is None:
        raise AssertionError("the development plan has the simulator")
    simulator = replace(plan.simulator, script=("fill",) * 50)
    return replace(plan, engine_program=program, simulator=simulator)


@contextmanager
def desk(state: Path, behaviour: str = "well", *, sweep_timeout_s: int = 5) -> Iterator[App]:
    """Yield a running gateway whose engine is up; a sweep of orders waits as long as it is told."""
    plan = plan_for(state, behaviour)
    plan = replace(plan, profile=_patient(plan.profile, sweep_timeout_s))
    with running(plan, lambda _: None) as app:
        wait_for(lambda: app.engine.wait_ready(0.1), 20.0, part="scripted engine")
        yield app


def sessions(count: int) -> list[PlaybackSession]:
    """Return the playback's first sessions."""
    return list(load_playback().sessions(count))


def decide(app: App, session: PlaybackSession, *, rests: bool = False) -> Decision:
    """Open a session and decide it; with `rests` the broker's market is out of reach."""
    open_session(app, session)
    if rests and app.simulator is not None:
        app.simulator.set_session(HIGH_SESSION)
        pause(0.2)
    return app.desk.make(case_of(app, session))


def rest_one(app: App) -> str:
    """Put one order to rest at the broker and return its ClOrdID.

    A machine that stands still for two seconds has made the quote too old or the broker's market
    late: then the next session is tried, as a desk would.
    """
    tried = []
    for session in sessions(4):
        decision = decide(app, session, rests=True)
        if decision.result is Result.APPROVED and _rests(app, decision.decision_id):
            return _standing(app, decision.decision_id).cl_ord_id
        standing = _standing(app, decision.decision_id)
        tried.append((str(decision.result), str(standing.stage), standing.order_state))
    raise AssertionError(f"no order rests at the broker: {tried}")


def capture_of(app: App) -> Path:
    """Return the simulator's capture."""
    return app.plan.state.root / "ems" / "capture.jsonl"


def received(capture: Path, *types: str, after_us: int = 0) -> list[str]:
    """Return the raw messages of these types that the broker received after a wall time."""
    return [
        m.raw
        for m in read_capture(capture)
        if m.direction == "in" and m.msg_type in types and m.wall_us > after_us
    ]


def silence(app: App) -> None:
    """Make the broker answer nothing from now on."""
    write_control(app.plan.state.root / "ems" / "control.json", Control(session=0, silent=True))
    pause(0.2)


def _patient(profile: Callable[[int], Profile], seconds: int) -> Callable[[int], Profile]:
    return lambda port: quick(profile(port), sweep_timeout_s=seconds)


def _standing(app: App, decision_id: str) -> Standing:
    standing = app.orders.get(decision_id)
    if standing is None:
        raise AssertionError(f"{decision_id} is not known")
    return standing


def _rests(app: App, decision_id: str) -> bool:
    """Wait for the broker's word on an order; tells whether it rests."""
    for _ in range(500):
        standing = _standing(app, decision_id)
        if standing.stage is Stage.SENT and standing.order_state == "NEW":
            return True
        if standing.stage in {Stage.CLOSED, Stage.SEALED}:
            return False
        pause(0.02)
    return False


def main() -> None:
    """Rest one order, print its name, wait for the end."""
    with desk(Path(sys.argv[1])) as app:
        sys.stdout.write(f"resting {rest_one(app)}\n")
        sys.stdout.flush()
        pause(600)


if __name__ == "__main__":
    main()
