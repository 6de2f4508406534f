"""What goes wrong: one function per fault, all on a running log.

A fault breaks something at once and leaves the repair to the cell (start what is dead, retry what
was not acknowledged), except where the repair is part of the fault: power comes back, a disk has
space again, a stopped process goes on. It says whether it hurt anybody: an fsync that nobody
called, a full disk that nobody needed are no crash.
"""

import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from random import Random

import psycopg

from tests.crash.ledger_crew import Crew
from tests.crash.ledger_world import World, signal_process
from tests.crash.ledger_writer import COMMIT_DEADLINE_S

TROUBLE_WITHIN_S = 15.0


class Need(StrEnum):
    """What a machine must have for a fault."""

    NOTHING = "nothing"
    SHIM = "a C compiler"
    IMAGE = "root, a loop device and ext4"


@dataclass(frozen=True, slots=True)
class Stage:
    """Whom a fault may hurt."""

    world: World
    crew: Crew
    chance: Random


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault.

    Attributes:
        strike: does it.
        share: how many of a hundred crashes it is, before rounding.
        need: what the machine must have.
    """

    strike: Callable[[Stage], bool]
    share: int
    need: Need = Need.NOTHING


def kill_writer(stage: Stage) -> bool:
    """SIGKILL of the gateway's side."""
    stage.crew.kill()
    return True


def kill_back_end(stage: Stage) -> bool:
    """SIGKILL of the sequencer's server process; the whole server recovers by itself."""
    return _kill(stage.world.sequencer_backend(stage.crew.dsn))


def kill_any_process(stage: Stage) -> bool:
    """SIGKILL of some other process of the server: checkpointer, log writer, another back end."""
    others = [pid for pid in stage.world.processes() if pid != stage.world.postmaster]
    return bool(others) and _kill(stage.chance.choice(others))


def kill_postmaster(stage: Stage) -> bool:
    """SIGKILL of the postmaster alone; its orphans notice later."""
    return _kill(stage.world.postmaster) and stage.world.wait_until_gone()


def kill_all(stage: Stage) -> bool:
    """SIGKILL of the server's and the gateway's processes at once."""
    stage.world.kill()
    stage.crew.kill()
    return True


def stop_writer(stage: Stage) -> bool:
    """The writer hangs, a second takes over, then the first wakes up.

    First the second is refused, since the hanging one's connection still holds the log; then that
    connection breaks, as a lost machine's does.
    """
    crew = stage.crew
    crew.ensure_writer()
    old = crew.leave()
    signal_process(old.pid, signal.SIGSTOP)
    new = crew.ensure_writer()
    deadline = time.monotonic() + 20.0
    while not new.voice.refused and time.monotonic() < deadline:
        crew.listen()
        time.sleep(0.005)
    if new.voice.opened_ns is not None:
        crew.history.broken.append("two writers held the log at once")
    pid = stage.world.sequencer_backend(crew.dsn)
    if pid is not None:
        with psycopg.connect(crew.dsn) as connection:
            connection.execute("SELECT pg_terminate_backend(%s)", (pid,))
    # Woken before that, the first may have the log back: nobody wrote meanwhile.
    crew.wait_for_acks(1 + stage.chance.randrange(20), 30.0)
    signal_process(old.pid, signal.SIGCONT)
    old.left_at = time.monotonic()  # before that it could not give up
    return True


def add_writer(stage: Stage) -> bool:
    """A second writer wants the log while the first one works; then either of them dies."""
    crew = stage.crew
    first = crew.ensure_writer()
    crew.leave()
    second = crew.ensure_writer()
    deadline = time.monotonic() + 20.0
    while second.voice.refused < 2 and second.voice.opened_ns is None:
        crew.listen()
        if time.monotonic() > deadline or not second.process.is_alive():
            return False
        time.sleep(0.005)
    if second.voice.opened_ns is not None:
        crew.wait_for_acks(5, 2.0)  # a ledger that lets it in: the judge will see
    first.kill()
    if stage.chance.random() < 0.5:
        crew.kill()
    return True


def start_two(stage: Stage) -> bool:
    """The writer dies and two come up in its place at once; one of them survives."""
    crew = stage.crew
    crew.kill()
    pair = [crew.ensure_writer()]
    crew.leave()
    pair.append(crew.ensure_writer())
    deadline = time.monotonic() + 3.0
    while not all(one.voice.opened_ns or one.voice.refused for one in pair):
        if time.monotonic() > deadline:
            break
        crew.listen()
        time.sleep(0.005)
    crew.wait_for_acks(5, 1.0)
    pair[0].kill()
    return True


def hang_back_end(stage: Stage) -> bool:
    """The sequencer's server process hangs in a commit; later it goes on, or is killed."""
    pid = stage.world.sequencer_backend(stage.crew.dsn)
    if pid is None:
        return False
    signal_process(pid, signal.SIGSTOP)
    time.sleep(COMMIT_DEADLINE_S + stage.chance.uniform(0.1, 0.6))
    signal_process(pid, stage.chance.choice([signal.SIGCONT, signal.SIGKILL]))
    return True


def hang_server(stage: Stage) -> bool:
    """Every process of the server hangs longer than a commit may take; then it goes on or dies."""
    pids = stage.world.processes()
    for pid in pids:
        signal_process(pid, signal.SIGSTOP)
    time.sleep(COMMIT_DEADLINE_S + stage.chance.uniform(0.1, 0.6))
    if stage.chance.random() < 0.5:
        stage.world.kill()
    for pid in pids:
        signal_process(pid, signal.SIGCONT)
    return True


def fail_one_flush(stage: Stage) -> bool:
    """One fsync says EIO: PostgreSQL panics and recovers from its log."""
    with stage.world.flag("eio-once") as flag:
        deadline = time.monotonic() + 5.0
        while flag.exists() and time.monotonic() < deadline:
            stage.crew.wait_for_acks(1, 0.05)
        return not flag.exists()


def fail_all_flushes(stage: Stage) -> bool:
    """Every fsync says EIO for a while: recovery fails as well, and the server goes down."""
    with stage.world.flag("eio"):
        return _wait_for_trouble(stage)


def fill_data(stage: Stage) -> bool:
    """Data files cannot grow; then they can again."""
    with stage.world.flag("full-data"):
        return _wait_for_trouble(stage)


def fill_log(stage: Stage) -> bool:
    """The write-ahead log has no space: PostgreSQL panics."""
    with stage.world.flag("full-wal"):
        return _wait_for_trouble(stage)


def fill_disk(stage: Stage) -> bool:
    """A real file system without a free block; then it has space again."""
    image = stage.world.image
    assert image is not None
    filler = image.fill()
    try:
        if stage.chance.random() < 0.5:
            _force_new_segments(stage)
        return _wait_for_trouble(stage)
    finally:
        filler.unlink()


def cut_power(stage: Stage) -> bool:
    """Everything that did not reach the disk is gone."""
    stage.world.power_cut()
    if stage.chance.random() < 0.8:
        stage.crew.kill()
    return True


FAULTS: Mapping[str, Fault] = {
    "writer killed": Fault(strike=kill_writer, share=15),
    "back end killed": Fault(strike=kill_back_end, share=12),
    "other process killed": Fault(strike=kill_any_process, share=8),
    "postmaster killed": Fault(strike=kill_postmaster, share=12),
    "all killed": Fault(strike=kill_all, share=15),
    "writer stopped, second takes over": Fault(strike=stop_writer, share=8),
    "second writer appears": Fault(strike=add_writer, share=4),
    "two writers start at once": Fault(strike=start_two, share=3),
    "back end hung": Fault(strike=hang_back_end, share=4),
    "server hung": Fault(strike=hang_server, share=3),
    "one fsync fails": Fault(strike=fail_one_flush, share=5, need=Need.SHIM),
    "every fsync fails": Fault(strike=fail_all_flushes, share=5, need=Need.SHIM),
    "data files cannot grow": Fault(strike=fill_data, share=4, need=Need.SHIM),
    "write-ahead log full": Fault(strike=fill_log, share=4, need=Need.SHIM),
    "disk full": Fault(strike=fill_disk, share=5, need=Need.IMAGE),
    "power cut": Fault(strike=cut_power, share=20, need=Need.IMAGE),
}


def _kill(pid: int | None) -> bool:
    if pid is None:
        return False
    signal_process(pid, signal.SIGKILL)
    return True


def _wait_for_trouble(stage: Stage) -> bool:
    """Wait until nobody is answered any more, and a while longer; say whether that came."""
    deadline = time.monotonic() + TROUBLE_WITHIN_S
    while stage.crew.wait_for_acks(1, 0.15):
        if time.monotonic() > deadline:
            return False
    time.sleep(stage.chance.uniform(0.0, 0.8))
    return True


def _force_new_segments(stage: Stage) -> None:
    """Use up the segments that PostgreSQL keeps ready, so that it needs a new one."""
    try:
        with psycopg.connect(stage.crew.dsn, autocommit=True, connect_timeout=3) as connection:
            for _ in range(8):
                connection.execute("SELECT pg_switch_wal()")
                connection.execute("SELECT pg_logical_emit_message(true, '', 'x')")
    except psycopg.Error:
        return  # the panic it is about
