"""Processes that disagree on build, model, dictionary or order profile refuse to be ready."""

import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from fix.build import build_digest as fix_build
from fix.build import dictionary_digest, identity
from fix.dialects.profile import simulator_profile
from fix.durable.kill_word import KillWord
from fix.errors import ChildError
from fix.session.dictionaries import words_of
from fix.session.link import SessionState
from gateway.installation.children import fix as fix_child
from gateway.installation.children.child import AGREES, UNKNOWN, Handshake, overall
from gateway.installation.children.engine import EngineChild
from gateway.installation.children.engine_process import EngineChildConfig, own_identity
from gateway.installation.children.fix import FixChild
from gateway.installation.children.fix_life import FixChildConfig
from inference.build import build_digest
from inference.engine.port import EngineConfig, EngineState
from inference.errors import EngineRefusedError
from inference.speculation.rounds import DrafterKind
from tests.doubles.fix_child_here import World
from tests.doubles.reference_sampler import request_of
from tests.doubles.scripted_engine import NO_PAIR, Behaviour

BOUND_S = 30.0
OTHER = "0f" * 32


# -- the comparison


@pytest.mark.parametrize("name", ["build", "model", "dictionary", "order_profile"])
def test_one_other_value_disagrees_and_says_what_to_do(name: str) -> None:
    own = dict.fromkeys(("build", "model", "dictionary", "order_profile"), "a" * 64)
    agreement = Handshake("child", own)
    assert set(agreement.standing.values()) == {UNKNOWN}
    assert agreement.meet({**own, "more": 1}) == ""
    assert (agreement.agreed, set(agreement.standing.values())) == (own, {AGREES})
    for said in ({**own, name: OTHER}, {key: own[key] for key in own if key != name}):
        problem = agreement.meet(said)
        assert problem.startswith(f"the child has {name.replace('_', ' ')} ")
        assert "the gateway has aaaaaaaaaaaaaaaa..: " in problem
        assert "restart the gateway" in problem
        assert agreement.agreed == {}
        assert {key for key, how in agreement.standing.items() if how != AGREES} == {name}
        assert agreement.standing[name] == problem


def test_readiness_names_what_disagrees_over_all_children() -> None:
    engine, fix = (
        Handshake("engine child", {"build": "e", "model": "m"}),
        Handshake("FIX child", {"build": "f", "dictionary": "d"}),
    )
    waiting = {"policy": AGREES, "build": UNKNOWN, "model": UNKNOWN, "dictionary": UNKNOWN}
    assert overall((engine, fix), "ACTIVE") == waiting
    engine.meet(engine.own)
    assert overall((engine, fix), "ACTIVE") == {**waiting, "model": AGREES}
    fix.meet({"build": "other", "dictionary": "d"})
    found = overall((engine, fix), "EXPIRED")
    assert (found["policy"], found["model"], found["dictionary"]) == ("EXPIRED", AGREES, AGREES)
    assert found["build"].startswith("the FIX child has build other, the gateway has f: restart")


# -- the engine child, a process


@contextmanager
def engine(
    state: Path, behaviour: Behaviour, pair: Path | None = None
) -> Iterator[tuple[EngineChild, list[str]]]:
    events: list[str] = []

    def hear(name: str, detail: Mapping[str, str]) -> None:
        events.append(f"{name} {detail.get('reason', '')}".rstrip())

    child = EngineChild(
        EngineChildConfig(
            engine=EngineConfig(model_dir=str(pair or "none"), drafter=DrafterKind.NETWORK),
            state_dir=state,
            program=(sys.executable, "-m", "tests.doubles.scripted_engine", behaviour.value),
            back_off_first_s=0.01,
            model_digest="" if pair else NO_PAIR,
        ),
        hear,
    )
    try:
        yield child, events
    finally:
        child.stop()


@pytest.mark.parametrize(
    ("behaviour", "name"), [(Behaviour.OTHER_BUILD, "build"), (Behaviour.OTHER_MODEL, "model")]
)
def test_an_engine_child_of_another_build_or_model_does_not_serve(
    tmp_path: Path, behaviour: Behaviour, name: str
) -> None:
    pair = pair_of(tmp_path)
    with engine(tmp_path / "state", behaviour, pair) as (child, events):
        child.start()
        assert not child.wait_ready(BOUND_S)
        assert child.state is EngineState.REFUSING
        assert child.refusal.startswith(f"the engine child has {name} ")
        assert child.agreement.agreed == {}
        with pytest.raises(EngineRefusedError, match=f"engine child has {name} "):
            child.sample(request_of())
    named = [one.split()[0] for one in events]
    assert named[:2] == ["started", "refusing"]
    assert "ready" not in named


def test_an_engine_child_that_agrees_serves(tmp_path: Path) -> None:
    with engine(tmp_path, Behaviour.WELL) as (child, _):
        child.start()
        assert child.wait_ready(BOUND_S)
        assert child.agreement.agreed == {"build": build_digest(), "model": NO_PAIR}


def test_a_pair_that_changes_after_the_gateway_read_it_is_not_served(tmp_path: Path) -> None:
    pair = pair_of(tmp_path)
    with engine(tmp_path / "state", Behaviour.WELL, pair) as (child, _):
        manifest = pair / "manifest.json"
        manifest.write_bytes(manifest.read_bytes() + b"\n")  # the same files under another name
        child.start()
        assert not child.wait_ready(BOUND_S)
        assert "put the old one back" in child.refusal
        config = child._config  # noqa: SLF001 - the next gateway reads the new one
        assert own_identity(config)["model"] != child.agreement.own["model"]


def pair_of(folder: Path) -> Path:
    """Return a copy of the shipped pair that is the test's own."""
    shipped = Path(__file__).parents[5] / "inference" / "models"
    return Path(shutil.copytree(shipped / "pair_v2", folder / "pair_v2"))


# -- the FIX child, in this process and as one


@pytest.mark.parametrize("name", ["build", "dictionary", "order_profile"])
def test_a_fix_child_that_differs_never_connects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    world = World(tmp_path)
    monkeypatch.setattr(fix_child, "Life", world.life())
    with pytest.raises(ChildError, match=f"the FIX child has {name.replace('_', ' ')} 0f0f"):
        world.start(**{name: OTHER})
    assert world.fix.wait_for(SessionState.REFUSED, BOUND_S)
    assert world.fix.refused.startswith("the FIX child has ")
    assert world.born.empty(), "no other child is started"
    assert world.fix.hand("NAME", ((35, "D"), (11, "NAME")), 0, 1, 2).outcome == "refused"
    world.fix.stop(sweep=False)


def test_a_later_fix_child_that_differs_ends_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path)
    monkeypatch.setattr(fix_child, "Life", world.life())
    first = world.start()
    world.fix.logon(min_next_sender=5)
    first.session(SessionState.READY)
    assert world.fix.wait_for(SessionState.READY, BOUND_S)
    first.die()
    later = world.child()
    later.hello(dictionary=OTHER)
    assert world.fix.wait_for(SessionState.REFUSED, BOUND_S)
    assert [frame["op"] for frame in later.heard if frame["op"] == "logon"] == []
    assert ("disagrees", {"detail": world.fix.refused, "at_start": False}) in world.events
    assert world.fix.agreement.agreed == {}
    world.fix.stop(sweep=False)


def test_a_dictionary_that_changes_while_the_gateway_runs_is_not_used(tmp_path: Path) -> None:
    profile = simulator_profile(1)
    KillWord(tmp_path / "kill.word", create=True).close()
    own = tmp_path / "FIX44.xml"
    own.write_bytes(Path(*words_of(profile)).read_bytes())
    fix = FixChild(
        FixChildConfig(
            profile=profile.model_copy(update={"dictionary": str(own)}),
            folder=tmp_path / "fix",
            kill_word=tmp_path / "kill.word",
            log_path=tmp_path / "fix.log",
        )
    )
    own.write_bytes(own.read_bytes() + b"\n")
    with pytest.raises(ChildError, match="put the old one back"):
        fix.start(BOUND_S)
    fix.stop(sweep=False)
    assert fix.pid, "a real child said so"


def test_a_session_is_what_its_order_profile_and_every_dictionary_say(tmp_path: Path) -> None:
    profile = simulator_profile(1)
    own = identity(profile, words_of(profile))
    assert own["build"] == fix_build() != build_digest()
    other = profile.model_copy(update={"account": "ELSEWHERE"})
    differs = {k for k, v in identity(other, words_of(other)).items() if v != own[k]}
    assert differs == {"order_profile"}
    first, second = tmp_path / "session.xml", tmp_path / "application.xml"
    first.write_text("<fix/>")
    second.write_text("<fix />")
    both = dictionary_digest((str(first), str(second)))
    assert both == "+".join(dictionary_digest((str(one),)) for one in (first, second))


def test_a_build_is_every_module_and_what_it_runs_on(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "one.py").write_text("x = 1\n")
    (tmp_path / "notes.txt").write_text("no module")
    found = build_digest(tmp_path)
    assert found != build_digest()
    (tmp_path / "a" / "one.py").write_text("x = 2\n")
    assert build_digest(tmp_path) == found, "a process keeps what it was started from"
    build_digest.cache_clear()
    changed = build_digest(tmp_path)
    (tmp_path / "a" / "one.py").rename(tmp_path / "one.py")
    build_digest.cache_clear()
    assert len({found, changed, build_digest(tmp_path)}) == 3
