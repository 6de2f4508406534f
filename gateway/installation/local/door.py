"""The Unix socket for verbs of the same machine: `STATE/door/gateway.sock`; see decision 033.

Rules:

- The folder has mode 0700 and the socket 0600, both of one owner; either end checks that.
- Each end asks the kernel for the other's user (SO_PEERCRED) before it sends a key or reads a
  request.
- Folder and socket are reached through a handle on the checked folder, so that neither can be
  replaced meanwhile, and a long path does not exceed the kernel's limit of 107 bytes.

Source: unix(7), SO_PEERCRED and sun_path; proc(5), /proc/self/fd.
"""

import contextlib
import os
import socket
import stat
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from gateway.errors import DoorError

SOCKET_NAME: Final = "gateway.sock"
ROOT: Final = 0
_UCRED: Final = struct.Struct("3i")
"""struct ucred: process id, user id, group id."""
_HANDLES: Final = Path("/proc/self/fd")


def peer_uid(connection: socket.socket) -> int:
    """Return the user id at the other end of a Unix connection."""
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size)
    _, uid, _ = _UCRED.unpack(raw)
    return int(uid)


def listen(folder: Path) -> socket.socket:
    """Return a bound socket in our own folder; the caller holds the state folder's lock.

    Raises:
        DoorError: the folder belongs to another user, or its filesystem takes no socket.
    """
    ours = frozenset({os.geteuid()})
    folder.mkdir(mode=0o700, exist_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with _opened(folder) as handle:
            if os.fstat(handle).st_uid in ours:
                folder.chmod(0o700)
            _refuse_others(os.fstat(handle), folder, ours)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(SOCKET_NAME, dir_fd=handle)
            listener.bind(_place(folder, handle))
            os.chmod(SOCKET_NAME, 0o600, dir_fd=handle)
    except OSError as error:
        listener.close()
        problem = f"cannot listen in it ({error.strerror or error})"
        raise DoorError(place=str(folder), problem=problem) from None
    except DoorError:
        listener.close()
        raise
    return listener


def leave(folder: Path) -> None:
    """Remove the socket."""
    with contextlib.suppress(OSError):
        (folder / SOCKET_NAME).unlink()


def connect(folder: Path, trusted: frozenset[int], timeout_s: float) -> socket.socket:
    """Return a connection to the gateway, after checking who owns the socket and who answers.

    The timeout is for each step.

    Raises:
        OSError: nobody answers.
        DoorError: a user who is not in `trusted` answers, or could.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(timeout_s)
        with _opened(folder) as handle:
            _refuse_others(os.fstat(handle), folder, trusted)
            found = os.stat(SOCKET_NAME, dir_fd=handle, follow_symlinks=False)
            _refuse_others(found, folder / SOCKET_NAME, trusted)
            connection.connect(_place(folder, handle))
        _refuse_stranger(peer_uid(connection), folder, trusted)
    except BaseException:
        connection.close()
        raise
    return connection


@contextlib.contextmanager
def _opened(folder: Path) -> Iterator[int]:
    handle = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield handle
    finally:
        os.close(handle)


def _place(folder: Path, handle: int) -> str:
    """Return a short path to the socket in an opened folder."""
    if _HANDLES.is_dir():
        return str(_HANDLES / str(handle) / SOCKET_NAME)
    return str(folder / SOCKET_NAME)


def _refuse_others(found: os.stat_result, path: Path, trusted: frozenset[int]) -> None:
    if found.st_uid not in trusted:
        raise DoorError(place=str(path), problem=f"belongs to user {found.st_uid}")
    if stat.S_IMODE(found.st_mode) & 0o077:
        raise DoorError(place=str(path), problem="is open to other users")


def _refuse_stranger(uid: int, folder: Path, trusted: frozenset[int]) -> None:
    if uid not in trusted:
        raise DoorError(place=str(folder), problem=f"is answered by user {uid}, not the gateway")
