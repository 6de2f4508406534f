"""The pipe carries whole messages of finite numbers, or an error of its own kind."""

import io
import json
import struct
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.engine.frames import (
    MAGIC,
    Frame,
    config_from,
    config_text,
    description_from,
    read_frame,
    request_fields,
    request_from,
    samples_from,
    write_frame,
)
from inference.engine.port import EngineConfig, EngineDescription, SampleRequest, SelfTest
from inference.errors import EngineRefusedError, FrameError
from inference.speculation.capture import encode_capture
from inference.speculation.rounds import DrafterKind
from tests.doubles.reference_sampler import ReferenceSampler, draft_model, request_of, target_model

DESCRIPTION = EngineDescription(
    drafter=DrafterKind.TABLE,
    spec_k=4,
    model_id="pair",
    model_digest="m",
    table_digest="t",
    codec_digest="c",
    versions={"vllm": "0"},
    start_ms={"load": 1},
    self_test=SelfTest(
        passed=True,
        detail="ok",
        positions=1,
        chi_square=1.5,
        p_value=0.5,
        row_error=0.0,
        weights_gap=0.0,
        mean_accepted=3.5,
        elapsed_ms=1,
    ),
)


def _reader(data: bytes) -> Callable[[int], bytes]:
    return io.BytesIO(data).read


def _reread(fields: dict[str, Any]) -> dict[str, Any]:
    frame = read_frame(_reader(write_frame(Frame(op="x", fields=fields))))
    assert frame is not None
    return dict(frame.fields)


def test_frames_follow_each_other_until_the_end() -> None:
    frames = [Frame(op="a", fields={"n": 1}), Frame(op="b", body=b"\x00\xff" * 9)]
    read = _reader(b"".join(write_frame(f) for f in frames))
    assert [read_frame(read), read_frame(read), read_frame(read)] == [*frames, None]


def test_requests_descriptions_and_configurations_survive_the_pipe() -> None:
    request = replace(request_of(5), seeds=((1 << 63) - 1, 0, 7, 8, 9))
    assert request_from(_reread(request_fields(request))) == request
    assert description_from(_reread(asdict(DESCRIPTION))) == DESCRIPTION
    config = EngineConfig(model_dir="/x", drafter=DrafterKind.NETWORK)
    assert config_from(config_text(config)) == config


def test_every_cut_frame_is_an_error() -> None:
    whole = write_frame(Frame(op="a", fields={"n": 1}, body=b"body"))
    for end in range(1, len(whole)):
        with pytest.raises(FrameError, match="ended inside"):
            read_frame(_reader(whole[:end]))


@given(st.binary(max_size=200))
def test_any_bytes_are_a_frame_the_end_or_a_frame_error(data: bytes) -> None:
    try:
        frame = read_frame(_reader(data))
    except FrameError:
        return
    assert frame is None or isinstance(frame.op, str)


def _with_header(header: bytes) -> bytes:
    return struct.pack(">4sII", MAGIC, len(header), 0) + header


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"7",
        b"[]",
        b"{}",
        b'{"op":7}',
        b'{"op":"a","x":NaN}',
        b'{"op":"a","x":Infinity}',
        b"\xff",
    ],
)
def test_headers_that_mean_nothing_are_refused(header: bytes) -> None:
    with pytest.raises(FrameError):
        read_frame(_reader(_with_header(header)))


def test_a_length_beyond_the_limit_is_refused_before_it_is_read() -> None:
    with pytest.raises(FrameError, match="lost its place"):
        read_frame(_reader(struct.pack(">4sII", MAGIC, 1 << 30, 0)))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object()])
def test_what_is_no_finite_json_is_not_sent(value: object) -> None:
    with pytest.raises(FrameError):
        write_frame(Frame(op="a", fields={"x": value}))


@pytest.mark.parametrize(
    "change",
    [
        {"seeds": None},
        {"seeds": ["x"]},
        {"allowed_range": [1]},
        {"prompt_ids": 7},
        {"n_tokens": "many"},
    ],
    ids=str,
)
def test_malformed_requests_are_frame_errors(change: dict[str, Any]) -> None:
    with pytest.raises(FrameError):
        request_from({**request_fields(request_of()), **change})


@pytest.mark.parametrize(
    "change",
    [
        {"request_id": ""},
        {"prompt_ids": ()},
        {"prompt_ids": (-1,)},
        {"n_tokens": 0},
        {"n_tokens": 10_000},
        {"seeds": ()},
        {"seeds": (-1,)},
        {"seeds": (1 << 63,)},
        {"spec_k": -1},
        {"allowed_range": (5, 5)},
        {"deadline_s": 0.0},
        {"deadline_s": float("inf")},
        {"deadline_s": float("nan")},
    ],
    ids=str,
)
def test_requests_no_engine_could_serve_cannot_be_made(change: dict[str, Any]) -> None:
    with pytest.raises(EngineRefusedError):
        replace(request_of(), **change)


def _answer(request: SampleRequest, **fields: object) -> Frame:
    sampler = ReferenceSampler(target=target_model(32), draft=draft_model(32))
    body = encode_capture(sampler.capture(request))
    return Frame(op="samples", fields={"elapsed_us": 5, **fields}, body=body)


def test_an_answer_becomes_samples() -> None:
    request = request_of(3, 7)
    samples = samples_from(request, _answer(request), None)
    assert samples.elapsed_us == 5
    assert [len(p.tokens) for p in samples.paths] == [7, 7, 7]
    assert samples.first_row == target_model(32)(request.prompt_ids[-1])


@pytest.mark.parametrize(
    "other",
    [
        request_of(3, 8),
        request_of(4, 7),
        request_of(3, 7, seed=2),
        replace(request_of(3, 7), allowed_range=(127, 159)),
    ],
    ids=["longer", "more", "other seeds", "other bins"],
)
def test_an_answer_to_another_request_is_refused(other: SampleRequest) -> None:
    with pytest.raises(FrameError):
        samples_from(request_of(3, 7), _answer(other), None)


def test_an_answer_whose_rows_decide_otherwise_is_refused() -> None:
    request = request_of(3, 7)
    sampler = ReferenceSampler(target=target_model(32), draft=draft_model(32))
    capture = sampler.capture(request)
    last = replace(capture.rounds[-1], token=capture.rounds[-1].token ^ 1)
    bent = replace(capture, rounds=(*capture.rounds[:-1], last))
    frame = replace(_answer(request), body=encode_capture(bent))
    with pytest.raises(FrameError, match="does not recompute"):
        samples_from(request, frame, None)


@pytest.mark.parametrize("elapsed", [None, 1.5, "1", True])
def test_an_answer_without_its_time_is_refused(elapsed: object) -> None:
    request = request_of(3, 7)
    with pytest.raises(FrameError):
        samples_from(request, _answer(request, elapsed_us=elapsed), None)


@pytest.mark.parametrize("text", ["", "{", "{}", '{"model_dir":"x"}', '{"drafter":"oracle"}', "7"])
def test_configurations_that_mean_nothing_are_refused(text: str) -> None:
    with pytest.raises(FrameError):
        config_from(text)


def test_the_child_connects_to_nothing_outside() -> None:
    program = (
        "import json, socket\n"
        "from inference.engine.main import stay_on_this_machine\n"
        "stay_on_this_machine()\n"
        "said = {}\n"
        "for host in ('192.0.2.1', '::ffff:192.0.2.1', '127.0.0.1'):\n"
        "    family = socket.AF_INET6 if ':' in host else socket.AF_INET\n"
        "    with socket.socket(family) as s:\n"
        "        s.settimeout(1.0)\n"
        "        try:\n"
        "            s.connect((host, 9))\n"
        "        except OSError as error:\n"
        "            said[host] = type(error).__name__\n"
        "print(json.dumps(said))\n"
    )
    out = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True, timeout=60
    )
    said = json.loads(out.stdout)
    assert said["192.0.2.1"] == "PermissionError"
    assert said["::ffff:192.0.2.1"] == "PermissionError"
    assert said["127.0.0.1"] == "ConnectionRefusedError"
