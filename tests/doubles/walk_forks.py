"""Plays of the walk, each in a process of its own that need not import the walk again.

A server imports it once and forks for every play (`multiprocessing`'s fork server): what a play
does, how it dies and what it leaves are those of `python -m tests.doubles.walk_driver`, which takes
two seconds longer to start.
"""

import multiprocessing
import os
import sys
from pathlib import Path

from gateway.cli.main import exit_code_of
from tests.doubles import walk_driver
from tests.doubles.walk_driver import Mutant

_server = multiprocessing.get_context("forkserver")
_server.set_forkserver_preload([walk_driver.__name__])


def play_apart(
    state: Path, decisions: int, *, failpoint: str, mutant: Mutant, within_s: float
) -> tuple[int, str]:
    """Play to the end or death; return the exit code and what was said on the standard error.

    Raises:
        TimeoutError: it took longer than `within_s`.
    """
    said = state / "play.stderr"
    arguments = (str(state), str(decisions), mutant.value)
    process = _server.Process(target=_play, args=(arguments, failpoint, said))
    process.start()
    try:
        process.join(within_s)
        if process.exitcode is None:
            raise TimeoutError(f"a play of {decisions} decisions did not end in {within_s:g} s")
        return process.exitcode, said.read_text()
    finally:
        process.kill()
        process.join()


def _play(arguments: tuple[str, ...], failpoint: str, said: Path) -> None:
    """Be the driver; runs in the forked process."""
    os.environ["COUNTERSIGN_FAILPOINT"] = failpoint
    sys.argv[1:] = arguments
    for stream, path in ((1, Path(os.devnull)), (2, said)):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(file, stream)
        os.close(file)
    sys.exit(exit_code_of(walk_driver.main))
