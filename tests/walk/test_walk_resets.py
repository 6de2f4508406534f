"""The simulator begins its numbers anew under a whole gateway: on record, or refused for good."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from audit.records.kinds import Kind
from audit.records.record import Record
from fix.dialects.profile import Resets
from fix.session.link import SessionState
from fix.simulator.control import read_control, write_control
from gateway.errors import NotReadyError
from gateway.installation.children.simulator import wait_for
from gateway.launch.app import App, running
from gateway.launch.paper.play import open_session
from gateway.launch.session import numbers_of
from tests.doubles import live_desk
from tests.doubles.api_agent import Agent, ended

pytestmark = [pytest.mark.walk, pytest.mark.timeout(240)]


@contextmanager
def desk(state: Path, resets: Resets, word: str = "") -> Iterator[App]:
    """Yield a running gateway whose broker may begin anew, or not."""
    plan = live_desk.plan_for(state)
    fix = plan.settings.fix.model_copy(update={"new_session": word})
    made = plan.profile
    plan = replace(
        plan,
        settings=plan.settings.model_copy(update={"fix": fix}),
        profile=lambda port: made(port).model_copy(update={"resets": resets}),
    )
    with running(plan, lambda _: None) as app:
        wait_for(lambda: app.engine.wait_ready(0.1), 20.0, part="scripted engine")
        open_session(app, live_desk.sessions(1)[0])
        yield app


def begins_anew(app: App, *, flagged: bool) -> None:
    """Let the simulator end the session and begin its numbers anew."""
    path = app.plan.state.root / "ems" / "control.json"
    now = read_control(path)
    write_control(path, now._replace(resets=now.resets + 1, reset_flag=flagged))
    wait_for(lambda: app.fix.state is not SessionState.READY, 20.0, part="the end of the session")


def events(app: App) -> list[Record]:
    found = app.reader.records(kinds=(Kind.SESSION_EVENT,))
    return [one for one in found if str(one.body["event"]).startswith("sequence_reset")]


@pytest.mark.parametrize("flagged", [True, False])
def test_an_allowed_beginning_is_on_record_and_restarts_go_on(
    walk_state: Path, *, flagged: bool
) -> None:
    with desk(walk_state, Resets.BY_BROKER) as app, Agent(app) as agent:
        first = agent.intent("first", 1_000).json()
        assert first["result"] == "approved", first
        ended(app, first["decision_id"])
        begins_anew(app, flagged=flagged)
        assert app.fix.wait_for(SessionState.READY, 30.0)
        (event,) = events(app)
        assert event.body["event"] == "sequence_reset"
        assert event.body["cause"] == ("by_broker" if flagged else "begun_again")
        assert (event.body["new_sender"] == 1) is flagged
        second = agent.intent("second", 1_700).json()
        assert second["result"] == "approved", second
        ended(app, second["decision_id"])
        sent = [
            (int(r.body.get("session_epoch", 0)), r.seq > event.seq)
            for r in app.reader.records(kinds=(Kind.ORDER_SENT,))
        ]
        assert sent == [(0, False), (1, True)]
        assert app.fix.refused == ""
    with desk(walk_state, Resets.BY_BROKER) as app, Agent(app) as agent:
        assert numbers_of(app.plan, app.reader).epoch == 1
        assert len(events(app)) == 1
        third = agent.intent("third", 2_300).json()
        assert third["result"] == "approved", third


@pytest.mark.parametrize("flagged", [True, False])
def test_a_refused_beginning_is_told_and_a_persons_word_goes_on(
    walk_state: Path, *, flagged: bool
) -> None:
    with desk(walk_state, Resets.NONE) as app, Agent(app) as agent:
        begins_anew(app, flagged=flagged)
        assert app.fix.wait_for(SessionState.REFUSED, 30.0)
        wait_for(lambda: bool(events(app)), 10.0, part="the record")
        assert [one.body["event"] for one in events(app)] == ["sequence_reset_refused"]
        told = agent.intent("refused", 1_000).json()
        assert (told["result"], told["reason"]) == ("not_sent", "fix_session_refused")
        assert app.desk.parts()["fix"].startswith("REFUSED the broker")
    with (
        pytest.raises(NotReadyError, match="--new-fix-session 'REASON'"),
        desk(walk_state, Resets.NONE),
    ):
        pass
    with desk(walk_state, Resets.NONE, "broker confirmed it") as app, Agent(app) as agent:
        assert events(app)[-1].body["event"] == "sequence_reset"
        sent = agent.intent("allowed", 1_000).json()
        assert sent["result"] == "approved", sent
        ended(app, sent["decision_id"])
