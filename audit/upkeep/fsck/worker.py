"""A reader process of fsck: takes tasks as JSON, answers each with JSON.

Tasks are {do: chunk | nodes | blobs, ..}. The end of the pipe is the end of the process, so it
never outlives the one that asked.
"""

import gc
import json
import signal
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any

from audit.errors import LedgerWriteError
from audit.store.tables import DatabaseError
from audit.upkeep.fsck.chunk import Chunk
from audit.upkeep.fsck.database import Snapshot

DATABASE, JUDGED = "database", "judged"


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
        snapshot = Snapshot(dsn, name)
        while True:
            pipe.send_bytes(answer(snapshot, json.loads(pipe.recv_bytes())))
    except LedgerWriteError as error:
        pipe.send_bytes(_failed(DATABASE, error))
    except (EOFError, OSError):
        return  # nobody asks any more


def _failed(what: str, why: object) -> bytes:
    return json.dumps({"failed": what, "why": str(why)}).encode()


def answer(snapshot: Snapshot, task: dict[str, Any]) -> bytes:
    """Carry out a task; a failure is an answer too."""
    try:
        return _do(snapshot, task)
    except DatabaseError as error:
        return _failed(DATABASE, error)
    except Exception as error:  # noqa: BLE001 - whatever the tables break is a finding
        return _failed(JUDGED, f"{type(error).__name__}: {error}")


def _do(snapshot: Snapshot, task: dict[str, Any]) -> bytes:
    match task["do"]:
        case "chunk":
            chunk = Chunk(first=task["first"], width=task["width"])
            snapshot.judge(chunk, task["log"], task["sizes"], payloads=task["payloads"])
            return chunk.to_json()
        case "nodes":
            return json.dumps(snapshot.nodes(task["first"], task["stop"])).encode()
        case _:
            return json.dumps(snapshot.blobs(task["first"])).encode()
