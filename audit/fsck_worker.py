"""A reader process of fsck: takes tasks as JSON lines, answers each with one.

The first line says where: {dsn, snapshot}. Then {do: chunk | nodes | blobs, ..}. The end of the
input is the end of the process, so it never outlives the one that asked.
"""

import gc
import json
import signal
import sys
from typing import Any

from audit.errors import LedgerWriteError
from audit.fsck_chunk import Chunk
from audit.fsck_database import Snapshot
from audit.tables import DatabaseError

DATABASE, JUDGED = "database", "judged"


def main() -> None:
    """Answer until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the asker's; he closes the input
    gc.disable()  # a chunk makes a million small objects and no cycles
    place = json.loads(sys.stdin.readline())
    try:
        snapshot = Snapshot(place["dsn"], place["snapshot"])
    except LedgerWriteError as error:
        sys.stdout.write(json.dumps({"failed": DATABASE, "why": str(error)}) + "\n")
        return
    for line in sys.stdin:
        sys.stdout.write(answer(snapshot, json.loads(line)) + "\n")
        sys.stdout.flush()


def answer(snapshot: Snapshot, task: dict[str, Any]) -> str:
    """Carry out a task; a failure is an answer too."""
    try:
        return _do(snapshot, task)
    except DatabaseError as error:
        return json.dumps({"failed": DATABASE, "why": str(error)})
    except Exception as error:  # noqa: BLE001 - whatever the tables break is a finding
        return json.dumps({"failed": JUDGED, "why": f"{type(error).__name__}: {error}"})


def _do(snapshot: Snapshot, task: dict[str, Any]) -> str:
    match task["do"]:
        case "chunk":
            chunk = Chunk(first=task["first"], width=task["width"])
            snapshot.judge(chunk, task["log"], task["sizes"], payloads=task["payloads"])
            return chunk.to_json()
        case "nodes":
            return json.dumps(snapshot.nodes(task["first"], task["stop"]))
        case _:
            return json.dumps(snapshot.blobs(task["first"]))


if __name__ == "__main__":
    main()
