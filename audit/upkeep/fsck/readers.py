"""The reader processes of fsck, asked in turn and answering in order.

A reader takes tasks {do: chunk | nodes | blobs, ..} as JSON and answers each with JSON. The end of
the pipe is the end of the process, so it never outlives the one that asked.
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
"""Tasks that wait at each reader while its answer is being folded."""
_GRACE_S = 10.0
DATABASE, JUDGED = "database", "judged"


class Asked(Protocol):
    """Whoever carries out tasks, in order."""

    def ask(self, tasks: Iterable[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], bytes]]:
        """Yield each task with its answer, in order.

        Raises:
            LedgerWriteError: the database cannot be read.
            Bad: what was read cannot be judged.
        """


class Inline:
    """No process at all: the asker reads himself. For small logs, where a start costs more."""

    def __init__(self, snapshot: DatabaseSnapshot) -> None:
        """Read through the asker's own connection."""
        self._snapshot = snapshot

    def ask(self, tasks: Iterable[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], bytes]]:
        """Carry out one task after the other; see `Asked`."""
        for task in tasks:
            yield task, _checked(answer(self._snapshot, task))


class Readers:
    """Some processes in one snapshot; a context manager that ends them.

    They are forks: they start in no time, have every module already, and the DSN is in their memory
    only. What a fork must not touch is the asker's connections; it makes its own.
    """

    def __init__(self, count: int, dsn: str, snapshot: str) -> None:
        """Start them."""
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
        self._left: list[int] = []  # readers, once for each answer that nobody waited for
        for pipe, answers in zip(self._pipes, self._answers, strict=True):
            Thread(target=_read, args=(pipe, answers), daemon=True).start()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the processes: at once, for nothing they do is worth waiting for."""
        for process, pipe in zip(self._processes, self._pipes, strict=True):
            process.kill()
            process.join(_GRACE_S)
            pipe.close()

    def ask(self, tasks: Iterable[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], bytes]]:
        """Yield each task with its answer; the readers work ahead. See `Asked`.

        Whoever stops asking waits for nothing, so that Ctrl-C ends it at once; what is answered
        to him is taken away before the next question.
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
    with contextlib.suppress(OSError):  # its answer, which is none, says so
        pipe.send_bytes(json.dumps(task).encode())


def _read(pipe: Connection, answers: "Queue[bytes]") -> None:
    with contextlib.suppress(EOFError, OSError, TypeError):  # closed under it at the end
        while True:
            answers.put(pipe.recv_bytes())
    while True:
        answers.put(b"")  # to whoever still asks


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
    """Answer until the pipe ends; runs in a fork of the asker.

    Args:
        pipe: brings tasks, takes answers.
        others: the asker's own ends, which a fork inherits and must not hold open.
        dsn: of the database.
        name: of the snapshot to join.
    """
    for end in others:
        end.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the asker's; he closes the pipe
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    gc.disable()  # a chunk makes a hundred thousand small objects and no cycles
    try:
        snapshot = DatabaseSnapshot(dsn, name)
        while True:
            pipe.send_bytes(answer(snapshot, json.loads(pipe.recv_bytes())))
    except LedgerWriteError as error:
        pipe.send_bytes(_failed(DATABASE, error))
    except (EOFError, OSError):
        return  # nobody asks any more


def _failed(what: str, why: object) -> bytes:
    return json.dumps({"failed": what, "why": str(why)}).encode()


def answer(snapshot: DatabaseSnapshot, task: dict[str, Any]) -> bytes:
    """Carry out a task; a failure is an answer too."""
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
