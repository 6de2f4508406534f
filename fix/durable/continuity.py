"""Whether a session's folder continues from the ledger's state, and its renewal if it cannot.

After a restore, the folder with inbox, journal and store may be lost or older than the ledger.
Then reports would be settled under keys that are taken, and MsgSeqNums would be used twice. The
gateway calls `lacking` before it writes anything. `renew` is for an operator who has put the loss
on record.
"""

import fcntl
import os
import re
from pathlib import Path

from fix.durable.inbox import base_of, begin_at, forget, read_from
from fix.durable.journal import read_offset
from fix.durable.kill_word import sync_folder
from fix.errors import InboxError, StoreInUseError

_OWNER = "session.owner"
_NUMBERS = re.compile(rb"\s*(\d{1,20})\s*:\s*(\d{1,20})\s*")


def lacking(folder: Path, *, last_offset: int, next_sender: int) -> tuple[str, ...]:
    """Return what the folder lacks compared with the ledger, as sentences; empty if nothing.

    `last_offset` is the inbox offset of the last message on record, -1 without one. `next_sender`
    is one above the highest MsgSeqNum on record as sent; 0 skips its check.
    """
    found = []
    if not _holds(folder / "inbox", last_offset):
        found.append(f"its inbox does not hold the message at {last_offset} that is on record")
    stored, _ = stored_numbers(folder)
    if stored < next_sender:
        found.append(f"its store would send number {stored} next, {next_sender - 1} is on record")
    return tuple(found)


def stored_numbers(folder: Path) -> tuple[int, int]:
    """Return the store's next numbers, ours and the broker's; (1, 1) without a readable store.

    Source: QuickFIX's FileStore, `*.seqnums`: sender and target number around a colon.
    """
    for path in sorted((folder / "store").glob("*.seqnums")):
        match = _NUMBERS.fullmatch(path.read_bytes())
        if match is not None:
            return int(match[1]), int(match[2])
    return 1, 1


def owner_of(folder: Path) -> str:
    """Return which session a folder belongs to, as `claim` noted it; empty if it is new.

    A folder of an earlier version has no note: its only profile was the simulator's, and its store
    tells the CompIDs, if it is one session's alone.
    """
    note = folder / _OWNER
    if note.exists():
        return note.read_text(encoding="ascii").strip()
    stores = [path.stem for path in (folder / "store").glob("FIX*.seqnums")]
    return f"simulator {stores[0]}" if len(stores) == 1 else ""


def claim(folder: Path, owner: str) -> None:
    """Note which session a folder belongs to, once; a crash leaves the old note or the new."""
    folder.mkdir(parents=True, exist_ok=True)
    if owner_of(folder) == owner and (folder / _OWNER).exists():
        return
    draft = folder / f"{_OWNER}.new"
    with draft.open("w", encoding="ascii") as file:
        file.write(f"{owner}\n")
        file.flush()
        os.fsync(file.fileno())
    draft.replace(folder / _OWNER)
    sync_folder(folder)


def renew(folder: Path, last_offset: int) -> None:
    """Begin a new inbox after all offsets on record, if the present one lacks the last of them.

    The old inbox stays beside it, with names of persons overwritten as far as it can be read. Store
    and journal stay: the logon raises the numbers, and orders are swept from the journal. A crash
    leaves a folder that `lacking` still reports.

    Raises:
        StoreInUseError: a child of an earlier gateway still uses the folder.
        OSError: the disk refused.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "inbox"
    lock = _lock(folder / "session.lock")
    try:
        if _holds(path, last_offset):
            return
        base = max(last_offset + 1, read_offset(folder / "journal"))
        if path.exists():
            _forget_all(path)
            path.replace(path.with_name(f"inbox.before-{base}"))
        begin_at(path, base)
    finally:
        os.close(lock)


def _holds(path: Path, last_offset: int) -> bool:
    """Return whether an inbox has the last message on record, or was begun after it."""
    try:
        base = base_of(path)
        if last_offset < base:
            return path.exists() or base == 0
        found = read_from(path, last_offset, 1)
    except InboxError:
        return False
    return bool(found) and found[0].offset == last_offset


def _forget_all(path: Path) -> None:
    """Overwrite the names in every message before the first unreadable one."""
    offset = 0
    try:
        while entries := read_from(path, offset):
            for entry in entries:
                forget(path, entry.offset)
            offset = entries[-1].next_offset
    except InboxError:
        return


def _lock(path: Path) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise StoreInUseError(path=str(path)) from None
    return descriptor
