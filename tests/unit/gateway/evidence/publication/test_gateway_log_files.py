"""What of the log an outsider is shown: nothing that is not signed yet, and nothing else."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from audit.store.reader import LedgerReader
from audit.tlog.tiles import Tile
from gateway.evidence.publication.published import LogFiles

FULL = 256


@dataclass
class Signed:
    """A reader of a log whose newest checkpoint has this size; None has none."""

    size: int | None
    fetched: list[Tile] = field(default_factory=list)

    @property
    def tiles(self) -> "Signed":
        """Itself."""
        return self

    def checkpoints(self, limit: int) -> Iterator[Any]:
        """Return the newest."""
        assert limit == 1
        return iter(() if self.size is None else (SimpleNamespace(size=self.size),))

    def cosigned_note(self, checkpoint: Any) -> bytes:  # noqa: ANN401 - made above
        """Return its note."""
        return f"note of {checkpoint.size}".encode()

    def fetch(self, tile: Tile) -> bytes:
        """Return a tile."""
        self.fetched.append(tile)
        return b"tile"


def files(size: int | None) -> LogFiles:
    return LogFiles(reader=cast("LedgerReader", Signed(size)))


def test_the_newest_checkpoint_is_shown_and_none_of_an_empty_log() -> None:
    shown = files(300).shown()
    assert shown is not None
    assert (shown[0].size, shown[1]) == (300, b"note of 300")
    assert files(None).shown() is None


@pytest.mark.parametrize(
    ("path", "size", "there"),
    [
        ("tile/0/000", FULL, True),
        ("tile/0/000", FULL - 1, False),
        ("tile/0/000.p/255", FULL - 1, True),
        ("tile/0/000.p/255", FULL - 2, False),
        ("tile/0/000.p/3", FULL, True),
        ("tile/0/001.p/1", FULL, False),
        ("tile/0/001.p/1", FULL + 1, True),
        ("tile/0/001.p/2", FULL + 1, False),
        ("tile/1/000.p/1", FULL, True),
        ("tile/1/000.p/1", FULL - 1, False),
        ("tile/entries/000.p/5", 5, True),
        ("tile/entries/000.p/6", 5, False),
        ("tile/entries/001", 2 * FULL, True),
        ("tile/entries/001", 2 * FULL - 1, False),
        ("tile/0/000.p/1", None, False),
        ("tile/entries/000.p/1", 0, False),
        ("tile/0/../000", FULL, False),
        ("tile/0/0", FULL, False),
        ("checkpoint", FULL, False),
        ("", FULL, False),
    ],
)
def test_a_file_is_there_as_far_as_the_checkpoint_is_signed(
    path: str,
    size: int | None,
    there: bool,  # noqa: FBT001 - one row of the table
) -> None:
    log = files(size)
    found = log.resource(path)
    assert (found is not None) is there
    assert len(cast("Signed", log.reader).fetched) == there, "nothing is read that is not shown"
    if found is not None:
        assert found[1] == b"tile"
