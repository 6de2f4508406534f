"""Tiles above the chunks, made from chunk roots; sizes that no test's database has."""

from hashlib import sha256

from audit.tlog.tiles import TILE_BYTES, TILE_WIDTH, perfect_root
from audit.upkeep.fsck.chunk import CHUNK
from audit.upkeep.fsck.tiles import TileFold, judge_tile
from audit.verifier.verify import TAMPERED


def roots(count: int) -> list[bytes]:
    """Return some hashes."""
    return [sha256(b"%d" % number).digest() for number in range(count)]


def test_chunks_of_fsck_make_the_tiles_of_level_two() -> None:
    """Of 2^25 records, and 2^14 more."""
    given = roots(2 * 1024 + 1)
    fold = TileFold(CHUNK)
    made = [tile for at, root in enumerate(given) for tile in fold.add(at * CHUNK, root)]
    assert [tile[:2] for tile in made] == [(2, 0), (2, 1)]
    for _, n, tile in made:
        lowest = [perfect_root(given[at : at + 4]) for at in range(n * 1024, n * 1024 + 1024, 4)]
        assert tile == b"".join(lowest)


def test_a_full_tile_is_one_hash_of_the_level_above() -> None:
    """Chunks of 2^16 records, so that a root is a hash of level 2; up to 2^32 records."""
    given = roots(TILE_WIDTH**2)
    fold = TileFold(1 << 16)
    made = [tile for at, root in enumerate(given) for tile in fold.add(at << 16, root)]
    assert [tile[:2] for tile in made] == [*((2, n) for n in range(TILE_WIDTH)), (3, 0)]
    rows = [given[at : at + TILE_WIDTH] for at in range(0, len(given), TILE_WIDTH)]
    assert [tile[2] for tile in made] == [
        *map(b"".join, rows),
        b"".join(map(perfect_root, rows)),
    ]
    assert {len(tile[2]) for tile in made} == {TILE_BYTES}


def test_behind_a_hole_nothing_is_known() -> None:
    given = roots(TILE_WIDTH)
    for first, root in ((3 << 16, given[3]), (2 << 16, None), (0, given[0])):
        fold = TileFold(1 << 16)
        made = [*fold.add(0, given[0]), *fold.add(1 << 16, given[1]), *fold.add(first, root)]
        for at, one in enumerate(given[2:], 2):
            made += fold.add(at << 16, one)
        assert made == []


def test_what_is_stored_of_a_tile_is_judged_each_time() -> None:
    tile = b"".join(roots(TILE_WIDTH))
    first = 3 << 24
    other = (TAMPERED, "tile 2/3 is not that of the tree", first)
    twice = (TAMPERED, "tile 2/3 is stored twice", first)
    for stored, found in (
        ([], []),
        ([tile], []),
        ([tile[:-1]], [other]),
        ([None], [other]),
        ([tile, tile], [twice]),
        ([tile, b""], [twice, other]),
    ):
        assert [*judge_tile(2, 3, tile, stored)] == found
