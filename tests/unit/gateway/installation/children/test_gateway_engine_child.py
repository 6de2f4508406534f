"""The engine's supervisor survives what a machine without resources does to it."""

import os
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from gateway.installation.children.engine import EngineChild
from gateway.installation.children.engine_process import EngineChildConfig
from inference.engine.port import EngineConfig, EngineState, SampleRequest, Samples
from inference.errors import (
    EngineDeadError,
    EngineDeadlineError,
    EngineError,
    EngineRefusedError,
    FrameError,
)
from inference.speculation.rounds import DrafterKind
from tests.doubles.fix_world import until
from tests.doubles.reference_sampler import request_of
from tests.doubles.scripted_engine import NO_PAIR

WELL, NO_TWIN, HANG = (
    (sys.executable, "-m", "tests.doubles.scripted_engine", behaviour)
    for behaviour in ("well", "no_twin", "hang")
)
ABSENT = ("/nowhere/engine",)


def _child(
    state: Path, program: tuple[str, ...], on_event: Callable[[str, Mapping[str, str]], None]
) -> EngineChild:
    config = EngineChildConfig(
        engine=EngineConfig(model_dir="none", drafter=DrafterKind.NETWORK),
        state_dir=state,
        model_digest=NO_PAIR,
        program=program,
        back_off_first_s=0.01,
        max_deaths=2,
        silent_s=0.3,
    )
    return EngineChild(config, on_event)


def test_a_child_that_cannot_be_started_counts_as_dead(tmp_path: Path) -> None:
    events: list[tuple[str, str]] = []
    child = _child(tmp_path, ABSENT, lambda name, of: events.append((name, of.get("reason", ""))))
    child.start()
    try:
        assert not child.wait_ready(20.0)
        assert child.state is EngineState.FAILED
    finally:
        child.stop()
    assert [name for name, _ in events] == ["died", "restarting", "died", "failed", "stopped"]
    assert "could not be started" in events[0][1]
    assert ABSENT[0] in events[0][1]


def test_a_request_that_comes_while_the_engine_dies_fails_at_once(tmp_path: Path) -> None:
    caught: list[EngineError] = []
    asked = Event()

    def ask(name: str, _detail: Mapping[str, str]) -> None:
        if name == "died" and not asked.is_set():
            with pytest.raises(EngineError) as error:
                child.sample(replace(request_of(), deadline_s=0.2))
            caught.append(error.value)
            asked.set()

    child = _child(tmp_path, WELL, ask)
    child.start()
    try:
        assert child.wait_ready(30.0)
        assert child.pid is not None
        os.kill(child.pid, signal.SIGKILL)
        assert asked.wait(20.0)
    finally:
        child.stop()
    assert [type(error) for error in caught] == [EngineDeadError]


def test_a_request_that_no_frame_can_hold_is_not_kept(tmp_path: Path) -> None:
    child = _child(tmp_path, WELL, lambda _name, _detail: None)
    long = replace(request_of(), prompt_ids=(10_000,) * 200_000)
    child.start()
    try:
        assert child.wait_ready(30.0)
        for _ in range(2):
            with pytest.raises(FrameError, match="too long"):
                child.sample(long)
        assert child.sample(request_of()).paths
    finally:
        child.stop()


def twin_of(request: SampleRequest) -> SampleRequest:
    return replace(request, request_id=f"{request.request_id}.news", prompt_ids=(3, 2, 1))


def test_a_request_and_its_twin_are_answered_each(tmp_path: Path) -> None:
    child = _child(tmp_path, WELL, lambda _name, _detail: None)
    child.start()
    try:
        assert child.wait_ready(30.0)
        request = replace(request_of(), deadline_s=30.0)
        samples, beside = child.sample_beside(request, twin_of(request))
        assert isinstance(beside, Samples)
        assert samples == replace(child.sample(request), elapsed_us=samples.elapsed_us)
        alone = child.sample(twin_of(request))
        assert beside == replace(alone, elapsed_us=beside.elapsed_us)
    finally:
        child.stop()


def test_a_twin_that_fails_leaves_the_request_its_answer(tmp_path: Path) -> None:
    child = _child(tmp_path, NO_TWIN, lambda _name, _detail: None)
    child.start()
    try:
        assert child.wait_ready(30.0)
        request = replace(request_of(), deadline_s=30.0)
        for bad, error in (
            (replace(twin_of(request), deadline_s=0.5), EngineDeadlineError),
            (replace(twin_of(request), spec_k=16), EngineRefusedError),
            (request, EngineRefusedError),
        ):
            samples, beside = child.sample_beside(request, bad)
            assert len(samples.paths) == len(request.seeds)
            assert type(beside) is error
    finally:
        child.stop()


def test_one_silence_is_one_missed_deadline_with_a_twin_too(tmp_path: Path) -> None:
    events: list[str] = []
    child = _child(tmp_path, HANG, lambda name, _detail: events.append(name))
    child.start()
    try:
        assert child.wait_ready(30.0)
        request = replace(request_of(), deadline_s=0.2)
        for missed in (1, 2):
            with pytest.raises(EngineError):
                child.sample_beside(request, twin_of(request))
            assert events.count("deadline_missed") == missed
        assert until(lambda: "died" in events)
        assert events.count("killed") == 1
    finally:
        child.stop()
