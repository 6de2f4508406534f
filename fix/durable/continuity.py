"""Whether a session's folder goes on where the ledger stands, and a new beginning where it cannot.

After a disk is lost and a ledger is brought back, the folder with inbox, journal and store may be
gone or older. Going on in silence would settle reports under keys that are taken, and use
MsgSeqNums twice. So the gateway asks here first (`lacking`), before it writes anything; `renew` is
for an operator who says on record that the rest is lost. No quickfix: the gateway calls it.
"""

import fcntl
import os
import re
from pathlib import Path

from fix.durable.inbox import base_of, begin_at, forget, read_from
from fix.durable.journal import read_offset
from fix.errors import InboxError, StoreInUseError

_NUMBERS = re.compile(rb"\s*(\d{1,20})\s*:\s*(\d{1,20})\s*")


def lacking(folder: Path, *, last_offset: int, next_sender: int) -> tuple[str, ...]:
    """Say what a session's folder lacks of what the ledger has; nothing if it goes on from there.

    Args:
        folder: store, log, inbox, journal.
        last_offset: where the last message on record stands in the inbox; -1 without one.
        next_sender: one above the highest MsgSeqNum on record as sent; 0 where a store that is
            behind does not matter.
    """
    found = []
    if not _holds(folder / "inbox", last_offset):
        found.append(f"its inbox does not hold the message at {last_offset} that is on record")
    stored = next_number(folder)
    if stored < next_sender:
        found.append(f"its store would send number {stored} next, {next_sender - 1} is on record")
    return tuple(found)


def next_number(folder: Path) -> int:
    """Return the MsgSeqNum that a session's store would send next, 1 without a readable store."""
    return stored_numbers(folder)[0]


def stored_numbers(folder: Path) -> tuple[int, int]:
    """Return a store's next numbers, ours and theirs; (1, 1) without a readable store.

    Source: QuickFIX's FileStore, `*.seqnums`: sender and target number around a colon.
    """
    for path in sorted((folder / "store").glob("*.seqnums")):
        match = _NUMBERS.fullmatch(path.read_bytes())
        if match is not None:
            return int(match[1]), int(match[2])
    return 1, 1


def renew(folder: Path, last_offset: int) -> None:
    """Begin a new inbox behind all offsets on record, if the present one lacks what is on record.

    An old one stays beside it, names of persons overwritten as far as it can be read. The store
    and the journal stay: the logon raises the one, orders are swept from the other.
    A crash in between leaves a folder that lacks as much as before.

    Raises:
        StoreInUseError: a child of an earlier gateway still works on it.
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
    """Say whether the last message on record stands in an inbox, or it was begun after that."""
    try:
        base = base_of(path)
        if last_offset < base:
            return path.exists() or base == 0
        found = read_from(path, last_offset, 1)
    except InboxError:
        return False
    return bool(found) and found[0].offset == last_offset


def _forget_all(path: Path) -> None:
    """Overwrite the names in every message up to the first that cannot be read."""
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
