"""A process and a port are proved by the kernel: start time, owner, command, and every socket."""

import os
import pwd
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from gateway.installation.children.own_process import (
    PortListener,
    Started,
    is_running,
    listener,
    started,
)
from tests.doubles.other_user import STRANGER

TICKS_S = os.sysconf("SC_CLK_TCK")


@contextmanager
def asleep(user: int | None = None) -> Iterator[int]:
    """Run a process that does nothing; yield its id."""
    child = subprocess.Popen(["/usr/bin/env", "sleep", "600"], user=user, cwd="/")
    try:
        yield child.pid
    finally:
        child.kill()
        child.wait()


def of(pid: int) -> Started:
    found = started(pid)
    assert found is not None
    return found


def listening(port: int = 0, family: socket.AddressFamily = socket.AF_INET) -> socket.socket:
    """Listen, beside others on the same port."""
    made = socket.socket(family)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    if family == socket.AF_INET6:
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    made.bind(("::1" if family == socket.AF_INET6 else "127.0.0.1", port))
    made.listen()
    return made


def test_a_process_is_told_by_when_it_began() -> None:
    with asleep() as pid:
        began_s = of(pid).began / TICKS_S
        assert -1 < time.clock_gettime(time.CLOCK_BOOTTIME) - began_s < 300
        assert of(os.getpid()).began <= of(pid).began
        assert of(pid) == of(pid)
        assert is_running(of(pid))
        for later in (1, -1):
            assert not is_running(Started(pid, of(pid).began + later))
    assert started(pid) is None
    assert not is_running(Started(pid, 0))


def test_a_process_has_all_the_words_in_its_command() -> None:
    with asleep() as pid:
        deadline = time.monotonic() + 30
        while not is_running(of(pid), "sleep") and time.monotonic() < deadline:
            time.sleep(0.01)  # it is becoming what it was started as
        assert is_running(of(pid), "sleep", "600")
        assert not is_running(of(pid), "sleep", "601")
        assert not is_running(of(pid), "601", "sleep")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run as somebody else")
def test_a_process_of_another_user_is_not_ours() -> None:
    with asleep(pwd.getpwnam(STRANGER).pw_uid) as pid:
        assert of(pid)
        assert not is_running(of(pid))


def test_a_process_that_has_ended_and_was_not_fetched_is_none() -> None:
    child = subprocess.Popen(["/usr/bin/env", "true"])
    deadline = time.monotonic() + 30
    while started(child.pid) is not None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert started(child.pid) is None
    assert child.wait() == 0


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_a_port_is_its_listeners_and_nobody_elses(family: socket.AddressFamily) -> None:
    me = of(os.getpid())
    with closing(listening(family=family)) as own, asleep() as pid:
        port = own.getsockname()[1]
        assert listener(me, port) is PortListener.ITSELF
        assert listener(of(pid), port) is PortListener.OTHERS
        assert listener(None, port) is PortListener.OTHERS
        assert listener(Started(me.pid, me.began + 1), port) is PortListener.OTHERS
    assert listener(me, port) is PortListener.NOBODY


def test_a_port_on_which_somebody_listens_too_is_not_ours() -> None:
    with closing(listening()) as own:
        port = own.getsockname()[1]
        code = (
            "import socket, sys; s = socket.socket();"
            "s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1);"
            f"s.bind(('127.0.0.1', {port})); s.listen(); print('on', flush=True); sys.stdin.read()"
        )
        other = subprocess.Popen(
            ["/usr/bin/env", "python3", "-I", "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert other.stdout is not None
            assert other.stdout.readline() == "on\n"
            assert listener(of(os.getpid()), port) is PortListener.OTHERS
        finally:
            other.kill()
            other.communicate()


def test_a_connection_from_a_port_is_no_listener_there() -> None:
    with (
        closing(listening()) as own,
        socket.create_connection(own.getsockname()) as caller,
        closing(own.accept()[0]),
    ):
        assert listener(of(os.getpid()), caller.getsockname()[1]) is PortListener.NOBODY
