"""The door to a drop folder, where somebody else may write: regular files of its owner, no links.

Rules:

- The path in the description is the operator's; what lies in the folder is the writer's. Below the
  folder no link is followed, and the folder itself is none.
- A file has one name (no hard links), belongs to the folder's owner or to the gateway's user, and
  only its owner and group may write to it. So nobody makes the gateway read what he cannot read.
- A file is checked by its open handle, so that what was checked is what is read.

Not here: what is in a file (`reading`).
"""

import os
import stat
from pathlib import Path
from typing import BinaryIO, Final

_PLACE: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


def open_dropped(path: Path) -> BinaryIO:
    """Open a file of a drop folder.

    Raises:
        OSError: there is no such file, or it is one that is not read: `strerror` says why.
    """
    place = os.open(path.parent, _PLACE)
    try:
        if stat.S_ISLNK(os.lstat(path.name, dir_fd=place).st_mode):
            raise _not_read(path, "a link, which is not followed: put the file itself there")
        handle = os.open(path.name, _FILE, dir_fd=place)
        if why := unread(os.fstat(handle), os.fstat(place), os.geteuid()):
            os.close(handle)
            raise _not_read(path, why)
        return os.fdopen(handle, "rb")
    finally:
        os.close(place)


def _not_read(path: Path, why: str) -> OSError:
    return OSError(0, why, str(path))


def unread(file: os.stat_result, folder: os.stat_result, user: int) -> str:
    """Return why a file is not read by this user of the system, or the empty text."""
    if not stat.S_ISREG(file.st_mode):
        return "no regular file"
    if file.st_nlink > 1:
        return "a file with another name (a hard link): copy it, and rename the copy"
    if file.st_uid not in {folder.st_uid, user}:
        return f"belongs to user {file.st_uid}; the folder's owner or the gateway's must own it"
    if file.st_mode & stat.S_IWOTH:
        return "everybody may write to it: chmod o-w"
    if folder.st_mode & stat.S_IWOTH and not folder.st_mode & stat.S_ISVTX:
        return "everybody may write to its folder: chmod o-w"
    return ""


def is_folder(path: Path) -> bool:
    """Return whether a source is a folder of files.

    Raises:
        OSError: it is a link to one: the description names the folder itself.
    """
    if path.is_symlink() and path.is_dir():
        raise _not_read(path, "a link to a folder: describe the folder itself")
    return path.is_dir()


def signature_of(path: Path) -> tuple[str, int, int]:
    """Return name, size and change time of a file or of the link in its place.

    Raises:
        OSError: there is none.
    """
    found = path.lstat()
    return path.name, found.st_size, found.st_mtime_ns
