"""No tile is believed that the signed root does not confirm, on whatever level it lies."""

from dataclasses import replace

import pytest

from audit.errors import LedgerUnsafeError
from audit.tlog.checkpoint import make_checkpoint
from audit.tlog.merkle import leaf_hash, root_of
from audit.tlog.tiles import TILE_WIDTH, Tile, encode_bundle, tiles_of
from gateway.evidence.publication.mirror_check import SoundTiles, covered, resources
from tests.doubles.audit_log import SIGNER
from tests.doubles.memory_tree import tile_hashes

SIZE = TILE_WIDTH * TILE_WIDTH + TILE_WIDTH + 3
ENTRIES = [b"entry %d" % n for n in range(SIZE)]


@pytest.fixture(scope="module")
def leaves() -> list[bytes]:
    return [leaf_hash(entry) for entry in ENTRIES]


@pytest.fixture(scope="module")
def tiles(leaves: list[bytes]) -> dict[Tile, bytes]:
    found = tile_hashes(leaves)
    for tile in [*found]:
        if tile.level == 0:
            first = tile.index * TILE_WIDTH
            bundle = encode_bundle(ENTRIES[first : first + tile.width])
            found[replace(tile, level=None)] = bundle
    return found


def sound(tiles: dict[Tile, bytes], leaves: list[bytes]) -> SoundTiles:
    return SoundTiles(tiles.__getitem__, make_checkpoint(SIZE, root_of(leaves), SIGNER))


def flipped(data: bytes) -> bytes:
    return data[:40] + bytes([data[40] ^ 1]) + data[41:]


def test_every_tile_and_bundle_of_a_sound_log_is_given(
    tiles: dict[Tile, bytes], leaves: list[bytes]
) -> None:
    read = sound(tiles, leaves)
    assert {tile.level for tile in tiles} == {None, 0, 1, 2}
    for tile in resources(SIZE):
        assert read.data(tile) == tiles[tile]
        assert read.holds(tile, tiles[tile])
        assert not read.holds(tile, tiles[tile] + b"x")
        assert not read.holds(tile, b"")
    assert {*resources(SIZE)} == {*tiles}


def test_an_older_and_narrower_tile_is_held_too(
    tiles: dict[Tile, bytes], leaves: list[bytes]
) -> None:
    read = sound(tiles, leaves)
    older = Tile(level=0, index=7, width=9)
    assert read.data(older) == tiles[Tile(level=0, index=7)][: 9 * 32]
    bundle = Tile(level=None, index=7, width=9)
    entries = ENTRIES[7 * 256 : 7 * 256 + 9]
    assert read.holds(bundle, encode_bundle(entries))
    assert not read.holds(bundle, encode_bundle([*entries[:-1], b"other"]))


@pytest.mark.parametrize(
    "place",
    [
        Tile(level=0, index=0),
        Tile(level=0, index=255),
        Tile(level=0, index=256),
        Tile(level=0, index=257, width=3),
        Tile(level=1, index=0),
        Tile(level=1, index=1, width=1),
        Tile(level=2, index=0, width=1),
        Tile(level=None, index=0),
        Tile(level=None, index=257, width=3),
    ],
)
def test_a_tile_of_the_log_itself_that_was_changed_is_refused(
    tiles: dict[Tile, bytes], leaves: list[bytes], place: Tile
) -> None:
    spoiled = {**tiles, place: flipped(tiles[place]) if len(tiles[place]) > 40 else bytes(32)}
    assert spoiled != tiles
    with pytest.raises(LedgerUnsafeError):
        sound(spoiled, leaves).data(place)


def test_a_narrower_tile_is_covered_by_its_own_tree_only() -> None:
    assert covered(Tile(level=0, index=2, width=188), 700)
    assert not covered(Tile(level=0, index=2, width=188), 701)
    assert not covered(Tile(level=0, index=2), 700)
    assert not covered(Tile(level=None, index=0), 0)
    for size in (0, 1, 255, 256, 700, SIZE):
        assert all(covered(tile, size) for tile in tiles_of(size))
