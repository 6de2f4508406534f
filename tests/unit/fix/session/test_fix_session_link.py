"""The pipe's lines: whole, one object each, and refused for what they are not."""

import socket
import threading
from contextlib import suppress

import pytest

from fix.errors import ChildError
from fix.session.link import LINE_BYTES_MAX, Frame, decode, encode, fields_of, frames, number, text


def read(data: bytes, piece: int = 1 << 20) -> list[object]:
    """What comes out of a pipe into which these bytes are written in pieces."""
    ours, theirs = socket.socketpair()

    def write() -> None:
        with ours, suppress(BrokenPipeError):  # a reader that refuses does not read to the end
            for start in range(0, len(data), piece):
                ours.sendall(data[start : start + piece])

    writer = threading.Thread(target=write)
    writer.start()
    with theirs:
        try:
            return list(frames(theirs))
        finally:
            theirs.close()
            writer.join(10.0)


@pytest.mark.parametrize("piece", [1, 3, 1 << 20])
def test_frames_come_out_whole_and_in_order_however_they_arrive(piece: int) -> None:
    sent: list[Frame] = [{"op": "hand", "n": 1}, {"n": 2, "text": "a\nb \u00e4"}, {}]
    data = b"".join(encode(one) for one in sent)
    assert data.count(b"\n") == 3
    assert read(data, piece) == sent
    assert read(data + b'{"cut":', piece) == sent, "what was cut off is no frame"


def test_a_line_that_never_ends_is_refused_and_a_long_one_is_not() -> None:
    fits = encode({"x": "y" * (LINE_BYTES_MAX - 100)})
    assert len(read(fits)) == 1
    with pytest.raises(ChildError, match="too long"):
        read(b"x" * (LINE_BYTES_MAX + (1 << 17)))


def test_a_pipe_that_is_gone_ends() -> None:
    ours, theirs = socket.socketpair()
    ours.close()
    theirs.close()
    assert list(frames(theirs)) == []


@pytest.mark.parametrize(("line", "words"), [(b"x", "not JSON"), (b"[1]", "not an object")])
def test_a_line_that_is_no_frame_is_named(line: bytes, words: str) -> None:
    with pytest.raises(ChildError, match=words):
        decode(line)


def test_a_field_is_of_its_kind_or_missing() -> None:
    frame = decode(b'{"n": 7, "t": "x", "b": true, "z": 0, "e": ""}')
    assert (number(frame, "n"), number(frame, "z"), text(frame, "t")) == (7, 0, "x")
    assert text(frame, "e") == ""
    for name in ("t", "b", "none"):
        with pytest.raises(ChildError, match=f"{name} is not an integer"):
            number(frame, name)
    for name in ("n", "b", "none"):
        with pytest.raises(ChildError, match=f"{name} is not text"):
            text(frame, name)


@pytest.mark.parametrize(
    "fields", ["null", '"x"', "[[1]]", '[["1","x"]]', "[[1,2]]", '[[1,"x",3]]', "[1]", '{"1":"x"}']
)
def test_fields_are_tags_with_text(fields: str) -> None:
    with pytest.raises(ChildError):
        fields_of(decode(b'{"fields": %s}' % fields.encode()))
    good = decode(b'{"fields": [[35, "D"], [448, "A"], [448, "B"]]}')
    assert fields_of(good) == ((35, "D"), (448, "A"), (448, "B"))
