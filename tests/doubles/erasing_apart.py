"""Erasures in processes of their own, each killed at another of its writes to a file.

A process finishes what the one before left, names somebody new in the ledger and in a log, erases
him, and kills itself at the n-th write, rename, unlink or fsync of its own files.
"""

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gateway.privacy.logs import clean_logs
from tests.doubles import privacy_world
from tests.doubles.privacy_world import NAME, about, world_at

_server = multiprocessing.get_context("forkserver")
_server.set_forkserver_preload([privacy_world.__name__, "gateway.privacy.logs"])
WITHIN_S = 60.0
_COUNTED = ("write", "pwrite", "fsync", "fdatasync", "rename", "unlink", "open")


def person(n: int) -> str:
    """Return the n-th person's name."""
    return f"{NAME} {'IVXLCDM'[n % 7] * (n // 7 + 1)}"


def erase_apart(dsn: str, folder: Path, n: int) -> int:
    """Erase the n-th person in a process that dies at its n-th step; return its exit code.

    Raises:
        TimeoutError: it neither died nor ended.
    """
    process = _server.Process(target=_erase, args=(dsn, folder, n))
    process.start()
    process.join(WITHIN_S)
    try:
        if process.exitcode is None:
            raise TimeoutError(f"the erasure of person {n} did not end")
        return process.exitcode
    finally:
        process.kill()
        process.join()


def log_of(folder: Path) -> Path:
    """Return the log in which everybody is named."""
    return folder / "fix.log"


def _erase(dsn: str, folder: Path, n: int) -> None:
    with world_at(dsn, folder) as world:
        note = folder / "cleaning.json"
        privacy = world.privacy(lambda names: clean_logs([log_of(folder)], names, note))
        privacy.complete()
        for left in {name for one in world.vault.subjects() for name in world.vault.names_of(one)}:
            privacy.erase(left, basis="GDPR, asked again", actor="operator")
        subject = world.vault.subject(person(n))
        world.ledger.append(about(subject, person(n), key=f"person {n}"))
        with log_of(folder).open("a", encoding="utf-8") as log:
            log.write(f"{n} begins\n{n} {person(n)} and {person(n).upper()}\n{n} ends\n")
        _die_at(n)
        privacy.erase(person(n), basis="GDPR", actor="operator")
        _die_at(0)
    sys.exit(0)


def _die_at(count: int) -> None:
    """Kill this process before its n-th step from now; with 0, never."""
    steps = iter(range(1, count or sys.maxsize))

    def counted(step: Callable[..., Any]) -> Callable[..., Any]:
        def counting(*args: Any, **more: Any) -> Any:  # noqa: ANN401 - as the step
            if count and next(steps, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)
            return step(*args, **more)

        return counting

    for name in _COUNTED:
        setattr(os, name, counted(getattr(os, name)))
