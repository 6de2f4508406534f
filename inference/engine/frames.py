"""Messages on the pipe between the gateway and the engine child.

A frame is a magic word, two lengths, a JSON header and a body of bytes. Both sides refuse numbers
that are not finite. A stream cannot recover from a malformed frame, which ends the child.

To the child: sample, abort, stop. From it: ready {build, description} or refusing (once), then
samples, failed, aborted.
"""

import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NoReturn

from inference.engine.port import (
    EngineConfig,
    EngineDescription,
    SampleRequest,
    Samples,
    SelfTest,
    TokenPath,
)
from inference.errors import FrameError
from inference.speculation.capture import decode_capture
from inference.speculation.rounds import DrafterKind, QTable, disagreements, row_values
from inference.speculation.totals import paths

MAGIC = b"CSE1"
MAX_HEADER = 1 << 20
MAX_BODY = 1 << 27
_LENGTHS = struct.Struct(">4sII")


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One message."""

    op: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    body: bytes = b""


def write_frame(frame: Frame) -> bytes:
    """Return the bytes of a frame.

    Raises:
        FrameError: when a field is not JSON or not finite, or the frame is too long.
    """
    try:
        header = json.dumps(
            {"op": frame.op, **frame.fields}, allow_nan=False, separators=(",", ":")
        ).encode()
    except (TypeError, ValueError) as error:
        raise FrameError(f"{frame.op}: {error}") from error
    if len(header) > MAX_HEADER or len(frame.body) > MAX_BODY:
        raise FrameError(f"{frame.op}: too long")
    return _LENGTHS.pack(MAGIC, len(header), len(frame.body)) + header + frame.body


def read_frame(read: Callable[[int], bytes]) -> Frame | None:
    """Return the next frame, or None at a clean end; `read` returns fewer bytes only at the end.

    Raises:
        FrameError: when the bytes are not a frame, or the stream ends inside one.
    """
    start = read(_LENGTHS.size)
    if not start:
        return None
    if len(start) < _LENGTHS.size:
        raise FrameError("the stream ended inside a frame")
    magic, header_length, body_length = _LENGTHS.unpack(start)
    if magic != MAGIC or header_length > MAX_HEADER or body_length > MAX_BODY:
        raise FrameError("the stream lost its place")
    header, body = read(header_length), read(body_length) if body_length else b""
    if len(header) < header_length or len(body) < body_length:
        raise FrameError("the stream ended inside a frame")
    try:
        fields = json.loads(header, parse_constant=_refuse)
        op = fields.pop("op")
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
        raise FrameError(f"header: {error}") from error
    if not isinstance(op, str):
        raise FrameError("the op is not text")
    return Frame(op=op, fields=fields, body=body)


def request_fields(request: SampleRequest) -> dict[str, Any]:
    """Return a request as JSON values; seeds are text, because they have 63 bits."""
    fields = asdict(request)
    fields["seeds"] = [str(seed) for seed in request.seeds]
    return fields


def request_from(fields: Mapping[str, Any]) -> SampleRequest:
    """Read what `request_fields` wrote.

    Raises:
        FrameError: when a field is missing or of another type.
        EngineRefusedError: when a field is out of range.
    """
    try:
        start, stop = (int(x) for x in fields["allowed_range"])
        return SampleRequest(
            request_id=str(fields["request_id"]),
            prompt_ids=tuple(int(x) for x in fields["prompt_ids"]),
            n_tokens=int(fields["n_tokens"]),
            seeds=tuple(int(x) for x in fields["seeds"]),
            spec_k=int(fields["spec_k"]),
            allowed_range=(start, stop),
            deadline_s=float(fields["deadline_s"]),
            greedy=bool(fields["greedy"]),
            draft_first=bool(fields["draft_first"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise FrameError(f"request: {error!r}") from error


def description_from(fields: Mapping[str, Any] | None) -> EngineDescription:
    """Read a description from `asdict` of one.

    Raises:
        FrameError: when a field is missing, unknown or of another type.
    """
    if fields is None:
        raise FrameError("description: none")
    try:
        rest = {k: v for k, v in fields.items() if k not in ("self_test", "drafter")}
        return EngineDescription(
            drafter=DrafterKind(fields["drafter"]),
            self_test=SelfTest(**fields["self_test"]),
            **rest,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise FrameError(f"description: {error!r}") from error


def samples_from(request: SampleRequest, frame: Frame, table: QTable | None) -> Samples:
    """Return the answer to a request, complete and recomputed from its own numbers.

    Raises:
        CaptureError: when the body is not a capture.
        FrameError: when it does not answer this request, or does not recompute.
    """
    capture = decode_capture(frame.body)
    tokens = paths(capture)
    start, stop = request.allowed_range
    fits = (
        capture.seeds == request.seeds
        and capture.greedy == request.greedy
        and (capture.bin_start, capture.bin_start + capture.n_bins) == (start, stop)
        and all(len(path) == request.n_tokens for path in tokens)
        and all(start <= token < stop for path in tokens for token in path)
    )
    elapsed_us = frame.fields.get("elapsed_us")
    if not fits or type(elapsed_us) is not int:
        raise FrameError(f"{request.request_id}: the answer does not fit the request")
    if faults := disagreements(capture, table):
        raise FrameError(f"{request.request_id}: {faults[0]} does not recompute")
    return Samples(
        paths=tuple(
            TokenPath(seed=seed, tokens=path)
            for seed, path in zip(request.seeds, tokens, strict=True)
        ),
        capture=capture,
        first_row=row_values(capture.rounds[0].p_rows[0]),
        elapsed_us=elapsed_us,
    )


def config_text(config: EngineConfig) -> str:
    """Return a configuration as one JSON argument."""
    return json.dumps(asdict(config), sort_keys=True)


def config_from(text: str) -> EngineConfig:
    """Read what `config_text` wrote.

    Raises:
        FrameError: when the text is not JSON, or a field is missing, unknown or out of range.
    """
    try:
        fields = json.loads(text)
        return EngineConfig(**{**fields, "drafter": DrafterKind(fields["drafter"])})
    except (KeyError, TypeError, ValueError) as error:
        raise FrameError(f"configuration: {error!r}") from error


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a finite number")
