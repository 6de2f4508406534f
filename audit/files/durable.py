"""What survives a power cut: a folder's names, and that a file is gone.

Source: POSIX fsync(2); a file's own fsync does not cover the folder that names it.
"""

import contextlib
import os
import secrets
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


def shred(path: Path, bytes_min: int) -> None:
    """Overwrite a file, make that durable, and unlink it durably; none there is fine.

    Raises:
        OSError: the disk refused.
    """
    with contextlib.suppress(FileNotFoundError):
        with path.open("r+b", buffering=0) as file:
            size = max(os.fstat(file.fileno()).st_size, bytes_min)
            for filling in (secrets.token_bytes(size), bytes(size)):
                file.seek(0)
                file.write(filling)
                os.fsync(file.fileno())
        path.unlink()
    sync_folder(path.parent)
