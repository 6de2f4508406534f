"""The reader processes of fsck, which take tasks in turn and answer in order (decision 023).

A reader takes tasks {do: chunk | nodes | blobs, ..} as JSON and answers each with JSON. It ends
when its pipe ends, so it never outlives the process that asks.
"""

import contextlib
import gc
import json
import multiprocessing
import signal
from collections.abc import Iterable, Iterator, Sequence
from multiprocessing.connection import Connection
from queue import Queue
from threading import Thread
from typing import Any, Protocol, Self

from audit.errors import LedgerWriteError
from audit.store.tables import DatabaseError
from audit.upkeep.fsck.chunk import Chunk
from audit.upkeep.fsck.database import DatabaseSnapshot
from audit.verifier.verify import Bad

_AHEAD = 2
"""Tasks queued at each reader while its answer is being folded."""
_GRACE_S = 10.0
DATABASE, JUDGED = "database", "judged"


class TaskRunner(Protocol):
    """Carries out tasks in order."""

    def ask(self, tasks: Iterable[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], bytes]]:
        """Yield each task with its answer, in order.

        Raises:
            LedgerWriteError: the database cannot be read.
            Bad: the records cannot be judged.
        """


class Inline:
    """Carries out tasks in this process: for small logs, where starting readers costs more."""

    def __init__(self, snapshot: DatabaseSnapshot) -> None:
        self._snapshot = snapshot

    def ask(self, tasks: Iterable[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], bytes]]:
        """See `TaskRunner`."""
        for task in tasks:
            yield task, _checked(answer(self._snapshot, task))


class Readers:
    """Reader processes in one snapshot; a context manager that ends them.

    They are forks: they start at once, have every module already, and get the DSN in memory. A fork
    must not touch its parent's connections; it opens its own.
    """

    def __init__(self, count: int, dsn: str, snapshot: str) -> None:
        context = multiprocessing.get_context("fork")
        self._pipes: list[Connection] = []
        self._processes = []
        for _ in range(count):
            ours, theirs = context.Pipe()
            self._pipes.append(ours)
            process = context.Process(
                target=serve, args=(theirs, self._pipes, dsn, snapshot), daemon=True
            )
            process.start()
            theirs.close()
            self._processes.append(process)
        self._answers: list[Queue[bytes]] = [Queue(_AHEAD) for _ in self._processes]
        self._left: list[int] = []  # the reader of each answer that nobody waited for
        for pipe, answers in zip(self._pipes, self._answers, strict=True):
            Thread(target=_read, args=(pipe, answers), daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Kill the processes; they hold nothing worth waiting for."""
        for process, pipe in zip(self._processes, self._pipes, strict=True):
            process.kill()
            process.join(_GRACE_S)
            pipe.close()

    def ask(self, tasks: Iterable[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], bytes]]:
        """Yield each task with its answer; the readers work ahead. See `TaskRunner`.

        A caller that stops early waits for nothing, so Ctrl-C ends it at once; the answers left
        over are dropped at the next call.
        """
        while self._left:
            self._answers[self._left.pop()].get()
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
                    _send(self._pipes[reader], task)
                    waiting.append((task, reader))
                    asked += 1
                if not waiting:
                    return
                task, reader = waiting[0]
                line = self._answers[reader].get()
                del waiting[0]
                yield task, _checked(line)
        finally:
            self._left += [reader for _, reader in waiting]


def _send(pipe: Connection, task: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):  # the missing answer reports it
        pipe.send_bytes(json.dumps(task).encode())


def _read(pipe: Connection, answers: "Queue[bytes]") -> None:
    with contextlib.suppress(EOFError, OSError, TypeError):  # closed under it at the end
        while True:
            answers.put(pipe.recv_bytes())
    while True:
        answers.put(b"")  # for a caller that still waits


def _checked(line: bytes) -> bytes:
    if not line:
        raise LedgerWriteError("a reader process ended before its answer")
    if line.startswith(b'{"failed"'):
        failure = json.loads(line)
        if failure["failed"] == DATABASE:
            raise LedgerWriteError(f"cannot read the ledger: {failure['why']}")
        raise Bad(f"the records cannot be judged: {failure['why']}")
    return line


def serve(pipe: Connection, others: Sequence[Connection], dsn: str, name: str) -> None:
    """Answer tasks from `pipe` until it ends; runs in the fork.

    `others` are the parent's ends, which the fork inherits and must not keep open; `name` is that
    of the snapshot to join.
    """
    for end in others:
        end.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C and closes the pipe
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    gc.disable()  # a chunk makes a hundred thousand small objects and no cycles
    try:
        snapshot = DatabaseSnapshot(dsn, name)
        while True:
            pipe.send_bytes(answer(snapshot, json.loads(pipe.recv_bytes())))
    except LedgerWriteError as error:
        pipe.send_bytes(_failed(DATABASE, error))
    except (EOFError, OSError):
        return  # the parent has closed the pipe


def _failed(what: str, why: object) -> bytes:
    return json.dumps({"failed": what, "why": str(why)}).encode()


def answer(snapshot: DatabaseSnapshot, task: dict[str, Any]) -> bytes:
    """Return the answer to a task, or its failure."""
    try:
        return _do(snapshot, task)
    except DatabaseError as error:
        return _failed(DATABASE, error)
    except Exception as error:  # noqa: BLE001 - whatever the tables break is a finding
        return _failed(JUDGED, f"{type(error).__name__}: {error}")


def _do(snapshot: DatabaseSnapshot, task: dict[str, Any]) -> bytes:
    match task["do"]:
        case "chunk":
            chunk = Chunk(first=task["first"], width=task["width"])
            snapshot.judge(chunk, task["log"], task["sizes"], payloads=task["payloads"])
            return chunk.to_json()
        case "nodes":
            return json.dumps(snapshot.nodes(task["first"], task["stop"])).encode()
        case _:
            return json.dumps(snapshot.blobs(task["first"])).encode()
