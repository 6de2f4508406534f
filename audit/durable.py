"""A folder's names, durable: what was created, renamed or unlinked there survives a power cut.

Source: POSIX fsync(2); a file's own fsync does not cover the folder that names it.
"""

import os
from pathlib import Path


def sync_folder(folder: Path) -> None:
    """Write a folder's entries to disk.

    Raises:
        OSError: it is none, or may not be read.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
