"""Runs chosen tests in a copy of the tree, each time in a new fork.

Started in the copy as `python -m scripts.mutation.runner`. It reads one JSON job a line (`tests`,
`timeout_s`) and answers in one line (`code`, `failed`, `tail`). Slow foreign modules are imported
once, before the forks; our own modules never are, so that each fork sees the fault.
"""

import json
import os
import signal
import sys
import tempfile
import time
import traceback
from contextlib import suppress
from pathlib import Path

import cryptography.hazmat.primitives.asymmetric.ed25519  # noqa: F401 - for the forks
import fastapi.testclient  # noqa: F401 - for the forks
import hypothesis.strategies  # noqa: F401 - for the forks
import numpy as np  # noqa: F401 - for the forks
import psycopg  # noqa: F401 - for the forks
import pytest
import sqlalchemy  # noqa: F401 - for the forks

TIMED_OUT = 124
BROKEN = 3
POLL_S = 0.02
TAIL_BYTES = 1500


class Chosen:
    """A pytest plugin that runs only the chosen tests, in order, and notes the first failure."""

    def __init__(self, tests: list[str]) -> None:
        self._order = {name: place for place, name in enumerate(tests)}
        self.failed = ""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Drop the other tests; a chosen name may be a whole file."""
        last = len(self._order)

        def place(item: pytest.Item) -> int:
            file = item.nodeid.partition("::")[0]
            return self._order.get(item.nodeid, self._order.get(file, last))

        items[:] = sorted((item for item in items if place(item) < last), key=place)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a failure."""
        if report.failed and not self.failed:
            self.failed = report.nodeid


def run_here(tests: list[str], notes: Path) -> int:
    """Run tests in this process; write the first failure to `notes`."""
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(Path.cwd()))
    chosen = Chosen(tests)
    files = list(dict.fromkeys(name.partition("::")[0] for name in tests))
    code = int(
        pytest.main(
            ["-q", "-x", "--assert=plain", "-p", "no:cacheprovider", *files], plugins=[chosen]
        )
    )
    notes.write_text(chosen.failed)
    return code


def descendants(process: int) -> list[int]:
    """Return the ids of a process's children and their descendants."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError, ValueError, IndexError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                parents.setdefault(parent, []).append(int(entry.name))
    found = [process]
    for one in found:
        found += parents.get(one, [])
    return found[1:]


def end(process: int) -> None:
    """Kill a fork and all its descendants."""
    for one in (*reversed(descendants(process)), process):
        with suppress(ProcessLookupError):
            os.kill(one, signal.SIGKILL)


def run_apart(tests: list[str], timeout_s: float, folder: Path) -> dict[str, object]:
    """Run tests in a fork, for at most `timeout_s`."""
    notes, output = folder / "failed", folder / "output"
    notes.write_text("")
    child = os.fork()
    if child == 0:
        os.setsid()
        sink = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        code = BROKEN
        try:
            code = run_here(tests, notes)
        except BaseException:  # noqa: BLE001 - or the fork would go on as the runner
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    deadline = time.monotonic() + timeout_s
    code = TIMED_OUT
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            break
        time.sleep(POLL_S)
    else:
        end(child)
        os.waitpid(child, 0)
    tail = output.read_bytes()[-TAIL_BYTES:].decode(errors="replace")
    return {"code": code, "failed": notes.read_text(), "tail": tail}


def main() -> None:
    """Answer jobs until there are none."""
    answers = os.fdopen(os.dup(1), "w")
    with tempfile.TemporaryDirectory(prefix="countersign-runner-") as name:
        for line in sys.stdin:
            job = json.loads(line)
            answer = run_apart(job["tests"], job["timeout_s"], Path(name))
            answers.write(json.dumps(answer) + "\n")
            answers.flush()


if __name__ == "__main__":
    main()
