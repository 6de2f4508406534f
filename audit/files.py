"""Files and folders that survive a power cut: whole under their names, or not there.

Rules kept here:
- A file that somebody asked for is under its name once it is whole and durable, never before.
- Only a new name or a regular file is taken, for a rename puts something else in the place of what
  is there: a device, a FIFO or a socket is refused and stays what it is.
- A link stays a link: what it points to is written.
- `-` is standard output. What goes there cannot be taken back; each format says its own end.

Source: POSIX fsync(2); a file's own fsync does not cover the folder that names it.
"""

import contextlib
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final, TextIO

from audit.errors import FileError

STDOUT: Final = Path("-")
PRIVATE: Final = 0o600
READABLE: Final = 0o666
"""What the umask leaves of it."""
_KINDS: Final = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
)


@contextlib.contextmanager
def appearing(path: Path, mode: int = READABLE) -> Iterator[IO[bytes]]:
    """Yield a file that is under its name, durable, once all is written; until then nothing is.

    Args:
        path: of the file, or `-`; an older file there is replaced at the end, in one step.
        mode: of the file.

    Raises:
        FileError: something that is no regular file has that name.
        OSError: it cannot be written.
    """
    if path == STDOUT:
        yield sys.stdout.buffer
        sys.stdout.flush()
        return
    final = writable(path)
    scratch = final.with_name(f"{final.name}.{secrets.token_hex(4)}.part")
    try:
        handle = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    except OSError as error:  # of the name that was asked for: nobody knows the other
        raise OSError(error.errno, error.strerror, str(path)) from error
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        scratch.rename(writable(final))
        sync_folder(final.parent)
    finally:
        scratch.unlink(missing_ok=True)


def beside(path: Path) -> TextIO:
    """Return where words about a file go: beside it, when standard output is the file."""
    return sys.stderr if path == STDOUT else sys.stdout


def named(path: Path) -> str:
    """Return a file's name for words about it; that of standard output nobody knows here."""
    return "FILE" if path == STDOUT else str(path)


def writable(path: Path) -> Path:
    """Return where a file of this name is written: itself, or what it links to.

    Raises:
        FileError: something that is no regular file has that name.
        OSError: its folder cannot be looked at.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return Path(os.path.realpath(path))
    if not stat.S_ISREG(mode):
        what = next((name for judge, name in _KINDS if judge(mode)), "a device")
        raise FileError(f"{path} is {what}, which is not written over: give the name of a file")
    return Path(os.path.realpath(path))


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
