"""The simulator is taken for ours only where the kernel says so: no order goes to a stranger."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fix.simulator.control import SimulatorConfig
from gateway.errors import NotReadyError
from gateway.installation.children.own_process import PortListener, Started, listener, started
from gateway.installation.children.simulator import Simulator, wait_for

pytestmark = [pytest.mark.broker, pytest.mark.timeout(120)]


def simulator(folder: Path, port: int = 0) -> Simulator:
    """Return a simulator whose command names the folder it works in."""
    return Simulator(SimulatorConfig(folder=folder / "ems", port=port), folder / "log")


@pytest.fixture
def stranger() -> Iterator[socket.socket]:
    """A listener that is not ours."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


def port_of(listening: socket.socket) -> int:
    port: int = listening.getsockname()[1]
    return port


def left_behind(folder: Path) -> int:
    """Start a simulator from a gateway that is gone at once; return its port."""
    config = f"SimulatorConfig(folder=Path({str(folder / 'ems')!r}), port=0)"
    program = (
        "from pathlib import Path\n"
        "from fix.simulator.control import SimulatorConfig\n"
        "from gateway.installation.children.simulator import Simulator\n"
        f"made = Simulator({config}, Path({str(folder / 'log')!r}))\n"
        "assert made.start() is False\n"
        "print(made.port, flush=True)\n"
        "import os; os._exit(0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    return int(done.stdout)


def pid_of(folder: Path) -> int:
    return int((folder / "ems" / "pid").read_text().split()[0])


def end(pid: int) -> None:
    """Kill a simulator as a crash would, and wait until it is gone."""
    os.kill(pid, 9)
    wait_for(lambda: started(pid) is None, 10.0, part="the end")


def test_one_that_outlived_its_gateway_is_adopted(tmp_path: Path) -> None:
    port = left_behind(tmp_path)
    second = simulator(tmp_path)
    try:
        assert second.start() is True
        assert (second.port, second.stranger()) == (port, "")
    finally:
        second.stop()


def test_an_adopted_one_that_hangs_is_ended_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.installation.children.simulator.END_WITHIN_S", 0.3)
    left_behind(tmp_path)
    second = simulator(tmp_path)
    assert second.start() is True
    pid = pid_of(tmp_path)
    os.kill(pid, signal.SIGSTOP)
    second.stop()
    wait_for(lambda: started(pid) is None, 10.0, part="the end")


def test_a_stranger_on_the_noted_port_is_not_adopted(
    tmp_path: Path, stranger: socket.socket
) -> None:
    left_behind(tmp_path)
    pid, began, _ = (tmp_path / "ems" / "pid").read_text().split()
    (tmp_path / "ems" / "pid").write_text(f"{pid} {began} {port_of(stranger)}\n")
    second = simulator(tmp_path)
    try:
        assert second.start() is False
        assert second.port != port_of(stranger)
        assert second.stranger() == ""
        assert started(int(pid)) is None, "two simulators of one folder"
    finally:
        second.stop()


def test_a_process_id_that_was_used_again_is_not_adopted(tmp_path: Path) -> None:
    left_behind(tmp_path)
    pid, began, port = (tmp_path / "ems" / "pid").read_text().split()
    end(int(pid))
    here = started(os.getpid())
    assert here is not None
    for noted in (f"{pid} {began} {port}", f"{here.pid} {began} {port}", f"{pid} {port}"):
        (tmp_path / "ems" / "pid").write_text(f"{noted}\n")
        again = simulator(tmp_path)
        try:
            assert again.start() is False
            assert again.stranger() == ""
        finally:
            again.stop()


def test_a_given_port_that_is_taken_stops_the_start(
    tmp_path: Path, stranger: socket.socket
) -> None:
    with pytest.raises(NotReadyError, match=f"port {port_of(stranger)} is another process"):
        simulator(tmp_path, port_of(stranger)).start()
    assert not (tmp_path / "ems" / "pid").exists()


def test_a_port_stolen_before_the_bind_leads_to_another(
    tmp_path: Path, stranger: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = iter([port_of(stranger)])
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free = port_of(probe)
    monkeypatch.setattr(
        "gateway.installation.children.simulator.free_port", lambda: next(taken, free)
    )
    made = simulator(tmp_path)
    try:
        assert made.start() is False
        assert (made.port, made.stranger()) == (free, "")
    finally:
        made.stop()


def took(thief: socket.socket, port: int) -> bool:
    """Bind a port; False while the kernel still closes its last owner's sockets."""
    try:
        thief.bind(("127.0.0.1", port))
    except OSError:
        return False
    return True


def test_who_takes_the_port_of_a_dead_simulator_is_a_stranger(tmp_path: Path) -> None:
    made = simulator(tmp_path)
    made.start()
    assert made.stranger() == ""
    end(pid_of(tmp_path))
    assert "has ended" in made.stranger()
    with socket.socket() as thief:
        thief.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        wait_for(lambda: took(thief, made.port), 20.0, part="the dead simulator's port")
        thief.listen()
        assert listener(started(os.getpid()), made.port) is PortListener.ITSELF
        assert "has ended" in made.stranger()
    made.stop()


def test_a_folder_where_somebody_unnoted_works_is_refused(tmp_path: Path) -> None:
    left_behind(tmp_path)
    pid = pid_of(tmp_path)
    (tmp_path / "ems" / "pid").unlink()
    try:
        with pytest.raises(NotReadyError, match="another process works in"):
            simulator(tmp_path).start()
    finally:
        end(pid)


def test_a_zombie_and_a_wrong_start_time_are_nobody() -> None:
    with subprocess.Popen([sys.executable, "-c", "pass"]) as child:
        wait_for(lambda: started(child.pid) is None, 10.0, part="the end")  # a zombie now
    here = started(os.getpid())
    assert here is not None
    assert listener(Started(here.pid, here.began + 1), 1) is PortListener.NOBODY
