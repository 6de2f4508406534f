"""Taking over a log: its position in memory, checked against what is signed and stored.

The last checkpoint's tree comes from the stored tiles if they lead to the signed root, which takes
a handful of reads; otherwise, or without a checkpoint, from the leaves. The tree after the
checkpoint is always rebuilt from the leaves, and the stored head must match it. `fsck` checks
headers, payloads and the leaves under the signed root.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from audit.errors import AuditError, LedgerUnsafeError, NoteError
from audit.sequencer.batch import LogPosition
from audit.sequencer.loading import leaves_from, load, newest_note, refuse_strays
from audit.signers.file import Signer
from audit.store.connection import Store
from audit.store.tiles import TileStore
from audit.tlog.checkpoint import Checkpoint, open_checkpoint
from audit.tlog.merkle import Frontier, push
from audit.tlog.rotation import TrustedKey, open_trusted

LOG = logging.getLogger(__name__)


def position_of(
    store: Store, signers: Sequence[Signer], predecessors: Sequence[TrustedKey] = ()
) -> tuple[LogPosition, Checkpoint | None]:
    """Return the log's position and last checkpoint.

    The last checkpoint is signed by a current key or, in a log restored from before a change of
    keys, by a predecessor within the bounds of its `TrustedKey`.

    Raises:
        LedgerUnsafeError: head or last checkpoint do not agree with the leaves.
    """
    head = store.head
    refuse_strays(store.connection, head.size)
    note = newest_note(store.connection)
    try:
        checkpoint = None if note is None else _opened(note, signers, predecessors)
    except AuditError as error:
        raise LedgerUnsafeError(f"last checkpoint: {error}") from error
    frontier = _grow(store, checkpoint)
    position = load(store.connection, head.origin, frontier)
    refuse_strays(store.connection, head.size)  # a row added meanwhile may be in the position
    if (head.size, head.root, head.frontier) != (
        frontier.size,
        frontier.root(),
        frontier.to_bytes(),
    ):
        raise LedgerUnsafeError(f"head says {head.size}, leaves say {frontier.size} or differ")
    return position, checkpoint


def _opened(
    note: bytes, signers: Sequence[Signer], predecessors: Sequence[TrustedKey]
) -> Checkpoint:
    try:
        return open_checkpoint(note, [one.vkey for one in signers])
    except NoteError:
        if not predecessors:
            raise
    return open_trusted(note, predecessors)


def _grow(store: Store, checkpoint: Checkpoint | None) -> Frontier:
    """Return the frontier of all leaves; the checkpoint's root must be on the way."""
    signed = None if checkpoint is None else _from_tiles(store, checkpoint)
    nodes = [] if signed is None else list(signed.nodes)
    size = 0 if signed is None else signed.size
    for leaf in leaves_from(store.connection, size):
        size = push(nodes, size, leaf)
        if (
            checkpoint is not None
            and size == checkpoint.size
            and Frontier(size=size, nodes=tuple(nodes)).root() != checkpoint.root
        ):
            raise LedgerUnsafeError(f"leaves do not lead to the checkpoint of {size}")
    if checkpoint is not None and size < checkpoint.size:
        raise LedgerUnsafeError(f"a checkpoint of {checkpoint.size} is signed, {size} exist")
    return Frontier(size=size, nodes=tuple(nodes))


def _from_tiles(store: Store, checkpoint: Checkpoint) -> Frontier | None:
    """Return the checkpoint's frontier from the tiles, None if they do not lead to its root."""

    def rows(query: str, values: Mapping[str, object]) -> Sequence[Sequence[Any]]:
        return store.connection.execute(query.encode(), values, prepare=False).fetchall()

    read = TileStore(rows).reader(checkpoint.size)
    try:
        nodes = tuple([read(level, index) for level, index in _subtrees(checkpoint.size)])
    except AuditError as error:
        LOG.warning("tiles_not_used error=%r", error)
        return None
    frontier = Frontier(size=checkpoint.size, nodes=nodes)
    if frontier.root() == checkpoint.root:
        return frontier
    LOG.warning("tiles_do_not_lead_to_the_checkpoint size=%d", checkpoint.size)
    return None


def _subtrees(size: int) -> Iterator[tuple[int, int]]:
    """Yield level and index of a tree's perfect subtrees, largest first."""
    start = 0
    for level in range(size.bit_length() - 1, -1, -1):
        if size >> level & 1:
            yield level, start >> level
            start += 1 << level
