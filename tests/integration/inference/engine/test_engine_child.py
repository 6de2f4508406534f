"""The supervisor keeps an engine's failures to itself: an error within the deadline, no more."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Thread

import pytest

from gateway.installation.children.engine import EngineChild
from gateway.installation.children.engine_process import EngineChildConfig
from inference.engine.port import EngineConfig, EngineState, SampleRequest, Samples
from inference.errors import (
    EngineBusyError,
    EngineDeadError,
    EngineDeadlineError,
    EngineError,
    EngineFailedError,
    EngineRefusedError,
)
from inference.speculation.capture import encode_capture
from inference.speculation.rounds import DrafterKind, disagreements
from tests.doubles.reference_sampler import ReferenceSampler, draft_model, request_of, target_model
from tests.doubles.scripted_engine import NO_PAIR, Behaviour

Events = list[tuple[str, Mapping[str, str]]]


def _config(state: Path, behaviour: Behaviour) -> EngineChildConfig:
    return EngineChildConfig(
        engine=EngineConfig(model_dir="none", drafter=DrafterKind.NETWORK),
        state_dir=state,
        model_digest=NO_PAIR,
        program=(sys.executable, "-m", "tests.doubles.scripted_engine", behaviour.value),
        start_timeout_s=20.0,
        back_off_first_s=0.02,
    )


@contextmanager
def _child(
    state: Path, behaviour: Behaviour, **changes: float
) -> Iterator[tuple[EngineChild, Events]]:
    events: Events = []
    config = replace(_config(state, behaviour), **changes)  # type: ignore[arg-type]
    child = EngineChild(config, lambda event, detail: events.append((event, detail)))
    child.start()
    try:
        yield child, events
    finally:
        child.stop()


def _until(condition: Callable[[], bool], timeout_s: float = 15.0) -> None:
    limit = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < limit, "it did not happen"
        time.sleep(0.01)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"


def test_samples_come_back_as_sampled_and_recompute(tmp_path: Path) -> None:
    with _child(tmp_path, Behaviour.WELL) as (child, _):
        assert child.wait_ready(20.0)
        request = request_of(6, 9)
        samples = child.sample(request)
    sampler = ReferenceSampler(target=target_model(32), draft=draft_model(32))
    assert encode_capture(samples.capture) == encode_capture(sampler.capture(request))
    assert disagreements(samples.capture) == ()
    assert [p.seed for p in samples.paths] == list(request.seeds)
    assert all(len(p.tokens) == 9 for p in samples.paths)
    assert len(samples.first_row) == 32


def test_many_callers_share_one_engine(tmp_path: Path) -> None:
    results: dict[int, Samples] = {}
    with _child(tmp_path, Behaviour.WELL) as (child, _):
        assert child.wait_ready(20.0)

        def ask(i: int) -> None:
            results[i] = child.sample(request_of(3, 6, seed=i))

        threads = [Thread(target=ask, args=(i,)) for i in range(1, 9)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert {i: s.capture.seeds for i, s in results.items()} == {
        i: request_of(3, 6, seed=i).seeds for i in range(1, 9)
    }


def test_a_request_the_engine_refuses_is_an_error_of_the_request_only(tmp_path: Path) -> None:
    with _child(tmp_path, Behaviour.WELL) as (child, _):
        assert child.wait_ready(20.0)
        with pytest.raises(EngineRefusedError, match="look-ahead"):
            child.sample(request_of(spec_k=9))
        assert child.sample(request_of()).paths


def test_before_start_and_after_stop_there_is_no_engine(tmp_path: Path) -> None:
    child = EngineChild(_config(tmp_path, Behaviour.WELL))
    with pytest.raises(EngineDeadError):
        child.sample(request_of())
    with pytest.raises(EngineDeadError):
        child.describe()
    child.start()
    assert child.wait_ready(20.0)
    pid = child.pid
    assert pid is not None
    child.stop()
    assert child.state is EngineState.STOPPED
    assert not _alive(pid)
    with pytest.raises(EngineDeadError):
        child.sample(request_of())


def test_stopping_while_starting_leaves_no_process(tmp_path: Path) -> None:
    child = EngineChild(_config(tmp_path, Behaviour.NEVER_READY))
    child.start()
    child.stop()
    _until(lambda: child.pid is None)
    time.sleep(0.2)
    assert child.pid is None
    assert child.state is EngineState.STOPPED


def _timed(child: EngineChild, request: SampleRequest) -> tuple[type[EngineError], float]:
    started = time.monotonic()
    with pytest.raises(EngineError) as caught:
        child.sample(request)
    return caught.type, time.monotonic() - started


def test_a_slow_engine_misses_its_deadline_is_aborted_and_lives(tmp_path: Path) -> None:
    with _child(tmp_path, Behaviour.SLOW) as (child, events):
        assert child.wait_ready(20.0)
        pid = child.pid
        for i in range(1, 5):
            kind, took = _timed(child, replace(request_of(seed=i), deadline_s=0.2))
            assert kind is EngineDeadlineError
            assert took < 0.4
            time.sleep(0.1)  # the acknowledged abort is the sign of life
        assert child.sample(replace(request_of(seed=9), deadline_s=10.0)).paths
        assert child.pid == pid
    assert "killed" not in [event for event, _ in events]


def test_two_deadlines_without_a_sign_of_life_kill_the_engine(tmp_path: Path) -> None:
    with _child(tmp_path, Behaviour.HANG, silent_s=0.3) as (child, events):
        assert child.wait_ready(20.0)
        first = child.pid
        for i in (1, 2):
            kind, took = _timed(child, replace(request_of(seed=i), deadline_s=0.2))
            assert kind is EngineDeadlineError
            assert took < 0.4
        _until(lambda: child.pid not in (first, None))
        assert child.wait_ready(20.0)
    names = [event for event, _ in events]
    assert names[:2] == ["started", "ready"]
    assert names.index("killed") < names.index("died") < names.index("restarting")


def test_a_busy_engine_that_beats_is_not_killed(tmp_path: Path) -> None:
    with _child(tmp_path, Behaviour.HEAVY, silent_s=5.0) as (child, events):
        assert child.wait_ready(20.0)
        with ThreadPoolExecutor(8) as pool:
            asked = (replace(request_of(seed=i), deadline_s=0.05) for i in range(8))
            kinds = {one for one, _ in pool.map(lambda one: _timed(child, one), asked)}
        assert kinds == {EngineDeadlineError}
        assert child.sample(replace(request_of(seed=9), deadline_s=20.0)).paths
    assert [event for event, _ in events].count("deadline_missed") == 8
    assert "killed" not in [event for event, _ in events]


def test_an_idle_engine_that_stands_still_is_killed(tmp_path: Path) -> None:
    with _child(tmp_path, Behaviour.WELL, hung_s=3.0) as (child, events):
        assert child.wait_ready(20.0)
        first = child.pid
        assert first is not None
        os.kill(first, signal.SIGSTOP)
        _until(lambda: child.pid not in (first, None))
        assert child.wait_ready(20.0)
    assert ("killed", {"reason": "no sign of life for 3 s"}) in events


def test_what_would_be_late_is_refused_and_not_begun(tmp_path: Path) -> None:
    with _child(tmp_path, Behaviour.SLOW) as (child, events):
        assert child.wait_ready(20.0)
        assert child.sample(replace(request_of(seed=1), deadline_s=20.0)).paths
        _until(lambda: child.pace.now().tokens_s is not None)
        with ThreadPoolExecutor(1) as pool:
            long = pool.submit(child.sample, replace(request_of(seed=2), deadline_s=30.0))
            _until(lambda: child.pace.now().tokens_left > 0)
            kind, took = _timed(child, replace(request_of(400, 200, seed=3), deadline_s=0.5))
            assert (kind, took < 0.5) == (EngineBusyError, True)
            assert long.result().paths
    assert "deadline_missed" not in [event for event, _ in events]


@pytest.mark.parametrize(
    "behaviour",
    [
        Behaviour.CRASH,
        Behaviour.GARBAGE,
        Behaviour.HALF_FRAME,
        Behaviour.NAN,
        Behaviour.OTHER_SEED,
        Behaviour.SHORT,
        Behaviour.LIE,
    ],
)
def test_a_crash_or_a_senseless_answer_costs_one_forecast_and_the_child(
    tmp_path: Path, behaviour: Behaviour
) -> None:
    with _child(tmp_path, behaviour) as (child, events):
        assert child.wait_ready(20.0)
        first = child.pid
        kind, took = _timed(child, request_of())
        assert kind is EngineDeadError
        assert took < 5.0
        _until(lambda: child.pid not in (first, None))
        assert child.wait_ready(20.0)
    assert "died" in [event for event, _ in events]


def test_an_answer_nobody_waits_for_is_dropped(tmp_path: Path) -> None:
    with _child(tmp_path, Behaviour.STRANGER) as (child, _):
        assert child.wait_ready(20.0)
        assert child.sample(request_of()).paths


def test_five_deaths_end_in_failed_with_growing_pauses(tmp_path: Path) -> None:
    with _child(tmp_path, Behaviour.CRASH_AT_START) as (child, events):
        assert not child.wait_ready(60.0)
        assert child.state is EngineState.FAILED
        with pytest.raises(EngineFailedError):
            child.sample(request_of())
        with pytest.raises(EngineFailedError):
            child.describe()
    assert [event for event, _ in events].count("died") == 5
    pauses = [float(detail["delay_s"]) for event, detail in events if event == "restarting"]
    assert len(pauses) == 4
    assert pauses == sorted(pauses)


def test_pauses_double_and_stop_at_the_most(tmp_path: Path) -> None:
    with _child(tmp_path, Behaviour.CRASH_AT_START, back_off_first_s=0.1, back_off_most_s=0.3) as (
        child,
        events,
    ):
        assert not child.wait_ready(60.0)
    pauses = [detail["delay_s"] for event, detail in events if event == "restarting"]
    assert pauses == ["0.1", "0.2", "0.3", "0.3"]


def test_an_engine_that_is_never_ready_is_killed(tmp_path: Path) -> None:
    with _child(tmp_path, Behaviour.NEVER_READY, start_timeout_s=0.5) as (child, events):
        _until(lambda: "restarting" in [event for event, _ in events])
        assert child.state is not EngineState.READY
    assert any("not ready" in d.get("reason", "") for _, d in events)


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (Behaviour.REFUSE, "tokens do not follow the target"),
        (Behaviour.BAD_FILES, "not what the manifest says"),
    ],
)
def test_a_refusal_is_final_and_says_why(tmp_path: Path, behaviour: Behaviour, reason: str) -> None:
    with _child(tmp_path, behaviour) as (child, events):
        assert not child.wait_ready(20.0)
        assert child.state is EngineState.REFUSING
        assert reason in child.refusal
        with pytest.raises(EngineRefusedError, match=reason):
            child.sample(request_of())
        time.sleep(0.3)
        assert [event for event, _ in events] == ["started", "refusing"]


def test_an_engine_that_stops_reading_holds_nobody(tmp_path: Path) -> None:
    with _child(tmp_path, Behaviour.DEAF) as (child, events):
        assert child.wait_ready(20.0)
        kind, took = _timed(child, replace(request_of(400, 200), deadline_s=0.3))
        assert kind is EngineDeadlineError
        assert took < 1.5
        _timed(child, replace(request_of(400, 200, seed=2), deadline_s=0.3))
        _until(lambda: "died" in [event for event, _ in events])


def test_stopping_with_a_request_in_flight_fails_it(tmp_path: Path) -> None:
    with _child(tmp_path, Behaviour.HANG) as (child, _):
        assert child.wait_ready(20.0)
        caught: list[BaseException] = []

        def ask() -> None:
            try:
                child.sample(replace(request_of(), deadline_s=30.0))
            except EngineError as error:
                caught.append(error)

        thread = Thread(target=ask)
        thread.start()
        time.sleep(0.3)
        child.stop()
        thread.join(5.0)
        assert [type(error) for error in caught] == [EngineDeadError]


def test_nothing_of_the_gateways_environment_reaches_the_child(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PGPASSWORD", "COUNTERSIGN_LEDGER__DSN", "HTTPS_PROXY", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "secret")
    with _child(tmp_path, Behaviour.WELL) as (child, _):
        assert child.wait_ready(20.0)
        names = child.describe().versions["environment"].split()
    assert not {"PGPASSWORD", "HTTPS_PROXY", "AWS_SECRET_ACCESS_KEY"} & set(names)
    assert not [name for name in names if name.startswith("COUNTERSIGN")]
    assert not [name for name in names if name.startswith("PG")]
    assert {"HF_HUB_OFFLINE", "VLLM_ENABLE_V1_MULTIPROCESSING"} <= set(names)


def test_the_child_dies_with_its_parent(tmp_path: Path) -> None:
    program = textwrap.dedent(f"""
        import time
        from pathlib import Path
        from tests.integration.inference.engine.test_engine_child import _config
        from tests.doubles.scripted_engine import Behaviour
        from gateway.installation.children.engine import EngineChild
        child = EngineChild(_config(Path({str(tmp_path)!r}), Behaviour.HANG))
        child.start()
        assert child.wait_ready(20.0)
        print(child.pid, flush=True)
        time.sleep(600)
    """)
    root = Path(__file__).parents[4]
    parent = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, cwd=root, text=True
    )
    with parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert _alive(pid)
        parent.send_signal(signal.SIGKILL)
    _until(lambda: not _alive(pid))
