"""The engine child's server, frame by frame, with an engine that ends requests when told to."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from threading import Thread

import pytest

from inference.engine.frames import (
    Frame,
    read_frame,
    request_fields,
    samples_from,
    write_frame,
)
from inference.engine.main import EXIT_REFUSED, EngineServer, is_here, run
from inference.engine.port import (
    EngineDescription,
    EngineLoad,
    SampleRequest,
    Samples,
    SelfTest,
)
from inference.errors import EngineRefusedError, FrameError, RegistryError
from inference.speculation.capture import encode_capture
from inference.speculation.rounds import DrafterKind, row_values
from tests.doubles.reference_sampler import ReferenceSampler, draft_model, request_of, target_model

SELF_TEST = SelfTest(
    passed=True,
    detail="ok",
    positions=1,
    chi_square=1.0,
    p_value=0.5,
    row_error=0.0,
    weights_gap=0.0,
    mean_accepted=1.0,
    elapsed_ms=1,
)
BUILD = "b" * 64
DESCRIPTION = EngineDescription(
    drafter=DrafterKind.NETWORK,
    spec_k=4,
    model_id="pair",
    model_digest="m",
    table_digest="t",
    codec_digest="c",
    versions={"vllm": "0"},
    start_ms={"import": 1},
    self_test=SELF_TEST,
)


def samples_of(request: SampleRequest) -> Samples:
    """The answer to a request."""
    sampler = ReferenceSampler(target=target_model(32), draft=draft_model(32))
    capture = sampler.capture(request)
    first = row_values(capture.rounds[0].p_rows[0])
    return Samples(paths=(), capture=capture, first_row=first, elapsed_us=77)


class Engine:
    """Refuses what is called "refused", fails what is called "bad", answers all else in a step."""

    def __init__(self, *, passed: bool = True) -> None:
        self.description = replace(DESCRIPTION, self_test=replace(SELF_TEST, passed=passed))
        self.running: dict[str, SampleRequest] = {}
        self.aborted: list[str] = []

    def describe(self) -> EngineDescription:
        """Return what serves."""
        return self.description

    def begin(self, request: SampleRequest) -> None:
        """Take a request."""
        if request.request_id == "refused":
            raise EngineRefusedError("no room")
        self.running[request.request_id] = request

    def step(self) -> dict[str, Samples | str]:
        """End everything but what waits to be aborted."""
        ended = {
            name: "rows differ" if name == "bad" else samples_of(request)
            for name, request in self.running.items()
            if name != "waits"
        }
        self.running = {k: v for k, v in self.running.items() if k == "waits"}
        return ended

    def abort(self, request_id: str) -> bool:
        """Drop a request."""
        self.aborted.append(request_id)
        return self.running.pop(request_id, None) is not None

    @property
    def busy(self) -> bool:
        """Whether anything runs."""
        return bool(self.running)

    def load(self) -> EngineLoad:
        """Return what runs."""
        left = sum(one.size for one in self.running.values())
        return EngineLoad(requests=len(self.running), tokens_left=left, tokens_done=7)


@contextmanager
def serving(engine: Engine) -> Iterator[tuple[socket.socket, list[int], Thread]]:
    """Run a server of an engine; yields the parent's end and where the exit status goes."""
    ours, theirs = socket.socketpair()
    status: list[int] = []
    ours.settimeout(20.0)
    server = EngineServer(theirs, BUILD)
    thread = Thread(target=lambda: status.append(run(server, lambda: engine)), daemon=True)
    thread.start()
    try:
        yield ours, status, thread
    finally:
        ours.close()
        thread.join(20.0)
        theirs.close()


def ask(channel: socket.socket, op: str, **fields: object) -> None:
    """Send a frame."""
    channel.sendall(write_frame(Frame(op=op, fields=fields)))


def heard(channel: socket.socket) -> Frame:
    """Read the next frame that is no beat."""
    while (frame := heard_any(channel)).op == "beat":
        pass
    return frame


def heard_any(channel: socket.socket) -> Frame:
    """Read the next frame."""

    def read(size: int) -> bytes:
        data = b""
        while len(data) < size and (more := channel.recv(size - len(data))):
            data += more
        return data

    frame = read_frame(read)
    assert frame is not None
    return frame


def sample(channel: socket.socket, name: str) -> SampleRequest:
    """Ask for samples."""
    request = replace(request_of(2, 5), request_id=name)
    ask(channel, "sample", request=request_fields(request))
    return request


def test_each_question_has_its_own_answer_until_the_parent_stops_it() -> None:
    engine = Engine()
    with serving(engine) as (channel, status, thread):
        assert heard(channel) == Frame(
            op="ready", fields={"build": BUILD, "description": asdict(DESCRIPTION)}
        )
        request = sample(channel, "well")
        answer = heard(channel)
        assert (answer.op, answer.fields) == ("samples", {"id": "well", "elapsed_us": 77})
        assert answer.body == encode_capture(samples_of(request).capture)
        assert samples_from(request, answer, None).paths[0].seed == request.seeds[0]
        sample(channel, "refused")
        no_room = {"id": "refused", "code": EngineRefusedError.code, "detail": "no room"}
        assert heard(channel) == Frame(op="failed", fields=no_room)
        ask(channel, "sample", request={"request_id": "half"})
        half = heard(channel)
        assert (half.op, half.fields["id"], half.fields["code"]) == (
            "failed",
            "half",
            FrameError.code,
        )
        sample(channel, "bad")
        failed = {"id": "bad", "code": "engine", "detail": "rows differ"}
        assert heard(channel) == Frame(op="failed", fields=failed)
        sample(channel, "waits")
        ask(channel, "abort", id="waits")
        assert heard(channel) == Frame(op="aborted", fields={"id": "waits"})
        assert (engine.aborted, engine.running) == (["waits"], {})
        ask(channel, "stop")
        thread.join(20.0)
        assert status == [0]


def test_a_running_request_does_not_keep_others_from_being_heard() -> None:
    engine = Engine()
    with serving(engine) as (channel, status, thread):
        assert heard(channel).op == "ready"
        sample(channel, "waits")
        sample(channel, "well")
        assert heard(channel).fields["id"] == "well"
        assert engine.busy
        ask(channel, "stop")
        thread.join(20.0)
        assert status == [0]


def test_the_thread_that_steps_beats_while_it_is_idle_and_while_it_works() -> None:
    with serving(Engine()) as (channel, _, _):
        assert heard_any(channel).op == "ready"
        idle = heard_any(channel)
        assert (idle.op, idle.fields["requests"], idle.fields["tokens_left"]) == ("beat", 0, 0)
        sample(channel, "waits")
        while (busy := heard_any(channel)).fields["requests"] == 0:
            assert busy.op == "beat"
        assert (busy.fields["tokens_left"], busy.fields["tokens_done"]) == (10, 7)
        assert heard_any(channel).fields["stepped_us"] >= busy.fields["stepped_us"]


@pytest.mark.parametrize("last_words", [b"", b"no frame at all"])
def test_a_parent_that_goes_away_or_talks_nonsense_ends_the_child(last_words: bytes) -> None:
    with serving(Engine()) as (channel, status, thread):
        assert heard(channel).op == "ready"
        channel.sendall(last_words)
        channel.shutdown(socket.SHUT_WR)
        thread.join(20.0)
        assert status == [0]


def test_an_engine_that_failed_its_own_test_serves_nobody() -> None:
    engine = Engine(passed=False)
    with serving(engine) as (channel, status, thread):
        assert heard(channel) == Frame(
            op="refusing", fields={"build": BUILD, "description": asdict(engine.description)}
        )
        thread.join(20.0)
        assert status == [EXIT_REFUSED]


def test_files_that_are_not_the_manifests_are_refused_by_name() -> None:
    ours, theirs = socket.socketpair()
    ours.settimeout(20.0)

    def load() -> Engine:
        raise RegistryError("table is cut short")

    assert run(EngineServer(theirs, BUILD), load) == EXIT_REFUSED == 3
    why = {"description": None, "code": RegistryError.code, "detail": "table is cut short"}
    assert heard(ours) == Frame(op="refusing", fields=why)
    ours.close()
    theirs.close()


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "localhost"])
def test_the_child_may_talk_to_its_own_machine(host: str) -> None:
    assert is_here(host)


@pytest.mark.parametrize(
    "host",
    ["10.0.0.1", "0.0.0.0", "::2", "", "127.0.0.1.example", "127.example", "localhost.example"],  # noqa: S104 - refused
)
def test_a_name_that_only_looks_local_is_outside(host: str) -> None:
    assert not is_here(host)
