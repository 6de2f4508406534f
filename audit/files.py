"""Files and folders that survive a power cut: complete under their names, or absent.

Rules:
- A file appears under its name only when it is complete and durable.
- Only a new name or a regular file is written to. A device, a FIFO or a socket is refused, because
  the rename would replace it.
- A symbolic link stays; its target is written.
- `-` is standard output. Bytes sent there cannot be taken back, so each format marks its own end.

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
"""Reduced by the umask."""
_KINDS: Final = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
)


@contextlib.contextmanager
def appearing(path: Path, mode: int = READABLE) -> Iterator[IO[bytes]]:
    """Yield a file to write; it appears under `path`, durable, when the block ends.

    An existing file is replaced in that one step. A crash leaves `path` as it was, and perhaps a
    `.part` file beside it.

    Raises:
        FileError: something else than a regular file has that name.
        OSError: the file cannot be written.
    """
    if path == STDOUT:
        yield sys.stdout.buffer
        sys.stdout.flush()
        return
    final = writable(path)
    scratch = final.with_name(f"{final.name}.{secrets.token_hex(4)}.part")
    try:
        handle = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    except OSError as error:  # name the path that the caller knows, not the scratch file
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
    """Return the stream for messages about a file: stderr if the file is standard output."""
    return sys.stderr if path == STDOUT else sys.stdout


def named(path: Path) -> str:
    """Return a file's name for messages; standard output's own name is unknown here."""
    return "FILE" if path == STDOUT else str(path)


def writable(path: Path) -> Path:
    """Return the path to write to: the path itself, or the target of a link.

    Raises:
        FileError: something else than a regular file has that name.
        OSError: its folder cannot be read.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return Path(os.path.realpath(path))
    if not stat.S_ISREG(mode):
        what = next((name for judge, name in _KINDS if judge(mode)), "a device")
        raise FileError(f"{path} is {what} and is not overwritten: give the name of a file")
    return Path(os.path.realpath(path))


def sync_folder(folder: Path) -> None:
    """Make a folder's entries durable; raise OSError if it is no folder, or unreadable."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def shred(path: Path, bytes_min: int) -> None:
    """Overwrite a file, then unlink it, both durably; do nothing if it does not exist.

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
