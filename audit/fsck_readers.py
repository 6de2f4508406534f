"""The reader processes of fsck, asked in turn and answering in order."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any, Protocol, Self

from audit.errors import LedgerWriteError
from audit.fsck_database import Snapshot
from audit.fsck_worker import DATABASE, answer
from audit.verify import Bad

_ROOT = Path(__file__).resolve().parent.parent
_AHEAD = 2
"""Tasks that wait at each reader while its answer is being folded."""
_GRACE_S = 10.0


class Asked(Protocol):
    """Whoever carries out tasks, in order."""

    def ask(self, tasks: Iterable[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], str]]:
        """Yield each task with its answer, in order.

        Raises:
            LedgerWriteError: the database cannot be read.
            Bad: what was read cannot be judged.
        """


class Inline:
    """No process at all: the asker reads himself. For small logs, where a start costs more."""

    def __init__(self, snapshot: Snapshot) -> None:
        """Read through the asker's own connection."""
        self._snapshot = snapshot

    def ask(self, tasks: Iterable[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], str]]:
        """Carry out one task after the other; see `Asked`."""
        for task in tasks:
            yield task, _checked(answer(self._snapshot, task))


class Readers:
    """Some processes in one snapshot; a context manager that ends them."""

    def __init__(self, count: int, dsn: str, snapshot: str) -> None:
        """Start them; the DSN travels through a pipe, never on the command line."""
        command = [sys.executable, "-m", "audit.fsck_worker"]
        self._processes = [
            subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=_ROOT
            )
            for _ in range(count)
        ]
        self._answers: list[Queue[str]] = [Queue(_AHEAD) for _ in self._processes]
        for process, answers in zip(self._processes, self._answers, strict=True):
            Thread(target=_read, args=(process, answers), daemon=True).start()
        for process in self._processes:
            _send(process, {"dsn": dsn, "snapshot": snapshot})

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the processes: at once, for nothing they do is worth waiting for."""
        for process in self._processes:
            process.kill()
            process.wait(_GRACE_S)
            for pipe in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    if pipe is not None:
                        pipe.close()

    def ask(self, tasks: Iterable[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], str]]:
        """Yield each task with its answer; the readers work ahead. See `Asked`."""
        waiting: list[tuple[dict[str, Any], int]] = []
        upcoming = iter(tasks)
        asked = 0
        try:
            while True:
                while len(waiting) < _AHEAD * len(self._processes):
                    task = next(upcoming, None)
                    if task is None:
                        break
                    reader = asked % len(self._processes)
                    _send(self._processes[reader], task)
                    waiting.append((task, reader))
                    asked += 1
                if not waiting:
                    return
                task, reader = waiting.pop(0)
                yield task, _checked(self._answers[reader].get())
        finally:  # whoever stops asking leaves no answer behind for the next question
            for _, reader in waiting:
                self._answers[reader].get()


def _send(process: "subprocess.Popen[str]", task: dict[str, Any]) -> None:
    with contextlib.suppress(BrokenPipeError):  # its answer, which is none, says so
        if process.stdin is not None:
            process.stdin.write(json.dumps(task) + "\n")
            process.stdin.flush()


def _read(process: "subprocess.Popen[str]", answers: "Queue[str]") -> None:
    with contextlib.suppress(ValueError, OSError):  # closed under it at the end
        if process.stdout is not None:
            for line in process.stdout:
                answers.put(line)
    while True:
        answers.put("")  # to whoever still asks


def _checked(line: str) -> str:
    if not line:
        raise LedgerWriteError("a reader process ended before its answer")
    if line.startswith('{"failed"'):
        failure = json.loads(line)
        if failure["failed"] == DATABASE:
            raise LedgerWriteError(f"cannot read the ledger: {failure['why']}")
        raise Bad(f"the records cannot be judged: {failure['why']}")
    return line
