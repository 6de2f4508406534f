"""A child process is reached through its pipe, and no write waits longer than it says."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gateway.installation.children.child import ChildProcess

ECHO = "import os, socket, sys; s = socket.socket(fileno=int(sys.argv[1])); s.sendall(s.recv(9))"
DEAF = "import sys, time; time.sleep(600)"
TOO_MUCH = bytes(4_000_000)


@contextmanager
def started(folder: Path, program: str) -> Iterator[ChildProcess]:
    child = ChildProcess([sys.executable, "-c", program], folder / "logs" / "child.log")
    try:
        yield child
    finally:
        child.process.kill()
        child.process.wait()
        child.link.close()


def test_a_frame_arrives_and_the_end_of_the_child_ends_the_pipe(tmp_path: Path) -> None:
    with started(tmp_path, ECHO) as child:
        child.write(b"one frame", 30.0)
        assert child.link.recv(9) == b"one frame"
        assert child.link.recv(1) == b""


def test_a_frame_larger_than_the_pipe_arrives_whole(tmp_path: Path) -> None:
    counts = (
        "import socket, sys; link = socket.socket(fileno=int(sys.argv[1])); size = 0\n"
        "while size < %d: size += len(link.recv(1 << 20))\n"
        "link.sendall(str(size).encode())"
    )
    with started(tmp_path, counts % len(TOO_MUCH)) as child:
        child.write(TOO_MUCH, 30.0)
        assert child.link.recv(20) == str(len(TOO_MUCH)).encode()


def test_a_child_that_does_not_read_holds_a_writer_only_to_the_deadline(tmp_path: Path) -> None:
    with started(tmp_path, DEAF) as child, pytest.raises(BlockingIOError):
        child.write(TOO_MUCH, 0.05)


def test_a_frame_behind_one_that_is_stuck_is_given_up_unwritten(tmp_path: Path) -> None:
    with started(tmp_path, DEAF) as child:
        with child.lock, pytest.raises(TimeoutError):
            child.write(b"one frame", 0.01)
        assert not child.lock.locked()


def test_a_write_to_a_child_that_is_gone_fails_at_once(tmp_path: Path) -> None:
    with started(tmp_path, DEAF) as child:
        child.process.kill()
        child.process.wait()
        with pytest.raises(OSError, match="pipe"):
            child.write(TOO_MUCH, 30.0)


def test_what_the_child_says_on_its_error_output_is_in_its_log(tmp_path: Path) -> None:
    with started(tmp_path, "import sys; sys.exit('no')") as child:
        assert child.process.wait() == 1
    assert (tmp_path / "logs" / "child.log").read_text() == "no\n"
