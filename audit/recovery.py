"""Taking over a log: its position in memory, recomputed from what is stored.

Reads every leaf hash once (32 bytes a record); headers and payloads are the verifier's work.
"""

from collections.abc import Sequence

from audit.batch import Position
from audit.checkpoint import Checkpoint, open_checkpoint
from audit.errors import AuditError, LedgerUnsafeError
from audit.keys import Signer
from audit.merkle import Frontier
from audit.store import Loaded, Store


def position_of(store: Store, signers: Sequence[Signer]) -> tuple[Position, Checkpoint | None]:
    """Recompute the tree from its leaves and hold head and last checkpoint against it.

    Raises:
        LedgerUnsafeError: they do not agree.
    """
    loaded = store.load()
    try:
        checkpoint = None
        if loaded.checkpoint is not None:
            checkpoint = open_checkpoint(loaded.checkpoint, [key.vkey for key in signers])
    except AuditError as error:
        raise LedgerUnsafeError(f"last checkpoint: {error}") from error
    frontier = _grow(loaded, checkpoint)
    head = store.head
    if (head.size, head.root, head.frontier) != (
        frontier.size,
        frontier.root(),
        frontier.to_bytes(),
    ):
        raise LedgerUnsafeError(f"head says {head.size}, leaves say {frontier.size} or differ")
    position = Position(
        log=head.origin,
        frontier=frontier,
        heads=loaded.heads,
        changed=loaded.changed,
        sections=loaded.sections,
        firm_seq=loaded.firm_seq,
        recorded_at_us=loaded.recorded_at_us,
    )
    return position, checkpoint


def _grow(loaded: Loaded, checkpoint: Checkpoint | None) -> Frontier:
    frontier = Frontier()
    signed = 0 if checkpoint is None else checkpoint.size
    if signed > len(loaded.leaves):
        raise LedgerUnsafeError(f"a checkpoint of {signed} is signed, {len(loaded.leaves)} exist")
    for leaf in loaded.leaves:
        frontier = frontier.append(leaf)
        if (
            frontier.size == signed
            and checkpoint is not None
            and frontier.root() != checkpoint.root
        ):
            raise LedgerUnsafeError(f"leaves do not lead to the checkpoint of {signed}")
    return frontier
