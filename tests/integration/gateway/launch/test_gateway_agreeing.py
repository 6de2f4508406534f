"""A gateway records in what its processes agree before anything leaves, and readiness says so."""

import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from audit.records.kinds import Kind
from fix.build import identity
from fix.dialects.profile import Profile
from fix.errors import ChildError
from fix.session.dictionaries import words_of
from fix.session.link import SessionState
from gateway.errors import NotReadyError
from gateway.installation.children.simulator import wait_for
from gateway.launch.app import App, running
from gateway.launch.run import await_engine
from gateway.telemetry.console import Progress
from gateway.walk.projections.forecasts import decision_records
from inference.build import build_digest
from inference.engine.port import EngineState
from inference.weights.registry import load_pair
from tests.doubles.live_desk import decide, desk, plan_for, sessions
from tests.doubles.scripted_engine import Behaviour

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(240)]


def ready(app: App) -> tuple[int, dict[str, Any]]:
    answer = httpx.get(f"{app.server.address}/readyz", trust_env=False)
    return answer.status_code, answer.json()


def agreed(app: App) -> list[tuple[int, Any]]:
    records = app.reader.records(stream="control", kinds=(Kind.PROCESSES_AGREED,))
    return [(one.seq, one.body) for one in records]


def test_both_agreements_are_on_record_before_an_order_is_announced(tmp_path: Path) -> None:
    with desk(tmp_path) as app:
        status, said = ready(app)
        assert status == 200, said
        names = ("policy", "build", "model", "dictionary", "order_profile")
        assert said["agreement"] == dict.fromkeys(names, "agrees")
        assert [body["process"] for _, body in agreed(app)] == ["fix"]
        decision_id = decide(app, sessions(1)[0]).decision_id
        (_, fix), (engine_seq, engine) = agreed(app)
        own = app.plan.profile(1)
        assert fix["agreed"] == identity(own, words_of(own))
        model = load_pair(app.plan.settings.engine.model).manifest_digest
        assert engine["agreed"] == {"build": build_digest(), "model": model}
        first = next(
            one.seq
            for one in decision_records(app.reader, decision_id)
            if one.kind in {Kind.ROUNDS_CAPTURED, Kind.ORDER_SENDING}
        )
        assert engine_seq < first
        assert await_engine(app, Progress(sys.stdout), threading.Event())
        assert len(agreed(app)) == 2, "once for each run and process"


@pytest.mark.parametrize(
    ("behaviour", "name"), [(Behaviour.OTHER_BUILD, "build"), (Behaviour.OTHER_MODEL, "model")]
)
def test_an_engine_that_disagrees_is_named_and_ends_the_start(
    tmp_path: Path, behaviour: Behaviour, name: str
) -> None:
    with running(plan_for(tmp_path, behaviour.value), lambda _: None) as app:
        wait_for(lambda: app.engine.state is EngineState.REFUSING, 20.0, part="refusal")
        status, said = ready(app)
        assert status == 503
        assert said["agreement"][name].startswith(f"the engine child has {name} ")
        assert said["parts"]["engine"] == f"{app.engine.state} {app.engine.refusal}"
        with pytest.raises(NotReadyError, match=f"the engine child has {name} "):
            await_engine(app, Progress(sys.stdout), threading.Event())
        assert [body["process"] for _, body in agreed(app)] == ["fix"]


def own_dictionary(folder: Path, profile: Callable[[int], Profile]) -> Callable[[int], Profile]:
    """Return the profile with a dictionary that the test may change."""
    own = folder / "FIX44.xml"
    own.write_bytes(Path(*words_of(profile(1))).read_bytes())
    return lambda port: profile(port).model_copy(update={"dictionary": str(own)})


def test_a_dictionary_that_changes_in_mid_session_ends_it_at_the_next_child(
    tmp_path: Path,
) -> None:
    plan = plan_for(tmp_path / "state")
    plan = replace(plan, profile=own_dictionary(tmp_path, plan.profile))
    with running(plan, lambda _: None) as app:
        own = tmp_path / "FIX44.xml"
        own.write_bytes(own.read_bytes() + b"\n")
        app.fix.drop()
        assert app.fix.wait_for(SessionState.REFUSED, 30.0)
        status, said = ready(app)
        assert status == 503
        assert "put the old one back" in said["agreement"]["dictionary"]
        assert said["parts"]["fix"].startswith("REFUSED the FIX child has dictionary ")
        wait_for(lambda: "fix_disagrees" in events(app), 10.0, part="record")


def test_a_fix_child_that_disagrees_at_the_start_ends_it_on_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "gateway.installation.children.fix.identity",
        lambda profile, files: {**identity(profile, files), "order_profile": "another"},
    )
    with (
        pytest.raises(ChildError, match="the FIX child has order profile "),
        running(plan_for(tmp_path), lambda _: None),
    ):
        pytest.fail("it started")
    monkeypatch.undo()
    with desk(tmp_path) as app:
        assert "fix_not_started" in events(app)


def events(app: App) -> list[str]:
    found = app.reader.records(stream=f"session/{app.settler.session}", kinds=(Kind.SESSION_EVENT,))
    bodies: list[Any] = [one.body for one in found]
    return [str(body["event"]) for body in bodies]
