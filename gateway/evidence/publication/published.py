"""The log as outsiders read it: checkpoint, tiles, entry bundles (tlog-tiles).

Rules:
- The checkpoint shown is the newest that satisfies the witness policy, however old; before there is
  one, or without a policy, the newest. While the quorum is lost, outsiders with the policy see an
  old tree, never one that they cannot check.
- Nothing beyond the newest checkpoint is shown: it is not signed yet.
- Tiles hold hashes and bundles record headers; no payload is read.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from audit.errors import ProofError
from audit.store.reader import LedgerReader
from audit.tlog.checkpoint import Checkpoint
from audit.tlog.note import VerifierKey
from audit.tlog.policy import QuorumPolicy
from audit.tlog.tiles import Tile, parse_tile_path, tile_width
from audit.witnesses.quorate import newest_quorate


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFiles:
    """Reads what is published of a ledger; safe from any thread.

    Attributes:
        policy: None shows the newest checkpoint.
        public: whether everybody may read, or only auditors.
    """

    reader: LedgerReader
    policy: QuorumPolicy | None = None
    keys: Sequence[VerifierKey] = ()
    public: bool = False

    def shown(self) -> tuple[Checkpoint, bytes] | None:
        """Return the published checkpoint and its note with cosignatures; None for an empty log."""
        found = None if self.policy is None else newest_quorate(self.reader, self.policy)
        if found is not None:
            return found
        newest = next(iter(self.reader.checkpoints(limit=1)), None)
        return None if newest is None else (newest, self.reader.cosigned_note(newest))

    def resource(self, path: str) -> tuple[Tile, bytes] | None:
        """Return a tile or entry bundle by its path under the prefix, or None.

        Raises:
            LedgerError: when the database does not answer.
        """
        try:
            tile = parse_tile_path(path)
        except ProofError:
            return None
        newest = next(iter(self.reader.checkpoints(limit=1)), None)
        size = 0 if newest is None else newest.size
        if tile.width > tile_width(tile.level or 0, tile.index, size):
            return None
        return tile, self.reader.tiles.fetch(tile)
