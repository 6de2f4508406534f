"""A session's temporary folders in memory, where a file is durable at once.

No test cuts the power: a killed process leaves what it wrote to the next one, on a disk and in
memory alike. On a disk each of a session's hundred thousand `fsync`s takes milliseconds in which a
worker waits. Give a `TMPDIR` to look afterwards at the folders of a test that failed.
"""

import multiprocessing.util
import os
import re
import shutil
import tempfile
from pathlib import Path

from gateway.installation.children.postgres import FALLBACK_ROOT

MEMORY = Path("/dev/shm")
GIB = 1024**3
ROOM_MIN, FREE_MIN = 4 * GIB, 8 * GIB
"""Room below which the folders stay on the disk, and memory that nobody uses; bytes."""
_PREFIX = "countersign-tests-"


def make_temporary_folders_in_memory() -> None:
    """Let this process and those it starts make them there, if there is room.

    Their folder goes when this process ends; one that a killed session left goes now.
    """
    if "TMPDIR" in os.environ or not _is_roomy():
        return
    for left in MEMORY.glob(f"{_PREFIX}*"):
        if not Path("/proc", left.name.removeprefix(_PREFIX)).exists():
            shutil.rmtree(left, ignore_errors=True)
    folder = MEMORY / f"{_PREFIX}{os.getpid()}"
    folder.mkdir()
    folder.chmod(0o711)  # the database's user has to reach what is in it
    os.environ["TMPDIR"] = str(folder)
    tempfile.tempdir = None  # asked again
    # After multiprocessing's own folder in it, which goes at -100.
    multiprocessing.util.Finalize(None, _remove, (folder,), exitpriority=-200)


def _remove(folder: Path) -> None:
    """Remove the session's folder, and the databases whose state folder their user cannot reach."""
    for noted in folder.rglob("pg.location"):
        home = Path(noted.read_text().strip())
        if home.parent == FALLBACK_ROOT:
            shutil.rmtree(home, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)


def _is_roomy() -> bool:
    """Return whether a session's files fit into memory beside its processes, and may be run."""
    try:
        unused = re.search(r"MemAvailable: +(\d+) kB", Path("/proc/meminfo").read_text())
        memory = os.statvfs(MEMORY)
    except OSError:
        return False
    if memory.f_flag & os.ST_NOEXEC or unused is None:
        return False
    return memory.f_bavail * memory.f_frsize > ROOM_MIN and int(unused[1]) * 1024 > FREE_MIN
