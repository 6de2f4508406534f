"""Tiles: the spec's examples, a naive tree as oracle, bundles, and paths that are not one."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.errors import ProofError
from audit.tlog.merkle import (
    leaf_hash,
    node_hash,
    root_of,
    verify_consistency,
    verify_inclusion,
)
from audit.tlog.tiles import (
    Tile,
    TileReader,
    consistency_from,
    decode_bundle,
    encode_bundle,
    inclusion_from,
    parse_tile_path,
    root_from,
    tile_width,
    tiles_of,
)
from tests.doubles.memory_tree import consistency_path, inclusion_path, list_reader, tile_hashes

LEAVES = [leaf_hash(number.to_bytes(4, "big")) for number in range(70_000)]
TILES = tile_hashes(LEAVES)


def naive_root(leaves: list[bytes]) -> bytes:
    """Compute MTH as RFC 6962 writes it."""
    if len(leaves) == 1:
        return leaves[0]
    half = 1
    while half * 2 < len(leaves):
        half *= 2
    return node_hash(naive_root(leaves[:half]), naive_root(leaves[half:]))


def reader_of(size: int) -> TileReader:
    """Read the tree of `size` leaves from tiles cut to the width that this size has."""
    whole = {(tile.level, tile.index): data for tile, data in TILES.items()}
    return TileReader(lambda tile: whole[tile.level, tile.index][: 32 * tile.width], size)


def test_a_tree_of_70000_has_the_tiles_that_the_spec_counts() -> None:
    places = list(tiles_of(70_000))
    assert sum(tile.level == 0 and tile.width == 256 for tile in places) == 273
    assert [t.width for t in places if t.level == 0 and t.width < 256] == [112]
    assert [t.width for t in places if t.level == 1] == [256, 17]
    assert [t.width for t in places if t.level == 2] == [1]
    assert set(places) == set(TILES)
    assert all(len(TILES[tile]) == 32 * tile.width for tile in places)


def test_a_tree_of_256_has_a_full_tile_and_one_hash_above() -> None:
    assert list(tiles_of(256)) == [
        Tile(level=0, index=0, width=256),
        Tile(level=1, index=0, width=1),
    ]
    assert [tile_width(0, 0, 256), tile_width(0, 1, 256), tile_width(1, 0, 255)] == [256, 0, 0]
    assert list(tiles_of(0)) == []


@given(st.integers(0, 200_000), st.integers(0, 2_000))
def test_new_tiles_are_those_that_the_older_tree_has_not(size: int, more: int) -> None:
    old, new = set(tiles_of(size)), set(tiles_of(size + more))
    assert set(tiles_of(size + more, since=size)) == new - old


@pytest.mark.parametrize(
    ("path", "tile"),
    [
        ("tile/0/000", Tile(level=0, index=0)),
        ("tile/63/x001/x234/067", Tile(level=63, index=1_234_067)),
        ("tile/0/x001/x234/067.p/255", Tile(level=0, index=1_234_067, width=255)),
        ("tile/entries/x001/000.p/1", Tile(level=None, index=1_000, width=1)),
        ("tile/entries/999", Tile(level=None, index=999)),
    ],
)
def test_paths_are_the_published_ones(path: str, tile: Tile) -> None:
    assert parse_tile_path(path) == tile
    assert tile.path == path


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/tile/0/000",
        "tile/0/000/",
        "tile/0/0",
        "tile/00/000",
        "tile/01/000",
        "tile/64/000",
        "tile/-1/000",
        "tile/0/x000/001",
        "tile/0/001/234",
        "tile/0/x001",
        "tile/0/x001/x234",
        "tile/0/x1234/067",
        "tile/0/000.p/0",
        "tile/0/000.p/256",
        "tile/0/000.p/01",
        "tile/0/000.p/",
        "tile/0/000.p",
        "tile/0/000\n",
        "tile/data/000",
        "tile/0/\u0660\u0660\u0660",
        "tile/0/" + "x999/" * 7 + "999",
    ],
)
def test_anything_else_is_no_path(path: str) -> None:
    with pytest.raises(ProofError):
        parse_tile_path(path)


@given(st.text(max_size=40) | st.from_regex(r"tile/[0-9]{1,2}/(x[0-9]{3}/)*[0-9]{3}(\.p/[0-9]+)?"))
def test_a_path_that_parses_is_its_own(path: str) -> None:
    try:
        tile = parse_tile_path(path)
    except ProofError:
        return
    assert tile.path == path


def test_proofs_from_tiles_and_lists_agree_with_the_naive_tree_up_to_70() -> None:
    for size in range(1, 71):
        leaves, root = LEAVES[:size], naive_root(LEAVES[:size])
        readers = (list_reader(leaves), reader_of(size))
        for reader in readers:
            assert root_from(reader, size) == root == root_of(leaves)
        for index in range(size):
            path = inclusion_path(leaves, index)
            assert all(inclusion_from(reader, index, size) == path for reader in readers)
            verify_inclusion(leaves[index], index, size, path, root)
        for old in range(size + 1):
            path = consistency_path(leaves, old)
            assert all(consistency_from(reader, old, size) == path for reader in readers)
            verify_consistency(old, root_of(leaves[:old]), size, root, path)


def test_proofs_from_tiles_hold_in_random_bigger_trees() -> None:
    chance = random.Random(6962)  # noqa: S311 - sizes to try
    sizes = [256, 257, 65_535, 65_536, 65_537, 70_000, *chance.sample(range(71, 70_000), 10)]
    for size in sizes:
        reader, root = reader_of(size), root_of(LEAVES[:size])
        assert root_from(reader, size) == root
        for index in (0, size - 1, chance.randrange(size)):
            verify_inclusion(LEAVES[index], index, size, inclusion_from(reader, index, size), root)
        old = chance.randrange(1, size)
        old_root = root_from(reader_of(old), old)
        verify_consistency(old, old_root, size, root, consistency_from(reader, old, size))


@pytest.mark.parametrize("size", [2**40 + 12_345, 2**62, 2**62 + 1, 2**63 - 1])
def test_proofs_hold_in_trees_as_large_as_a_size_can_say(size: int) -> None:
    # All leaves are the same, so a perfect subtree's hash depends on its level alone.
    same = [leaf_hash(b"x")]
    for level in range(62):
        same.append(node_hash(same[level], same[level]))

    def read(level: int, _index: int, /) -> bytes:
        return same[level]

    root = root_from(read, size)
    for index in (0, 1, size // 3, size - 2, size - 1):
        path = inclusion_from(read, index, size)
        assert len(path) <= 63
        verify_inclusion(same[0], index, size, path, root)
    for old in (1, 2, size // 3, size // 2, 2**40, size - 1):
        path = consistency_from(read, old, size)
        verify_consistency(old, root_from(read, old), size, root, path)


def test_a_reader_refuses_what_is_outside_its_tree_or_cut_short() -> None:
    reader = reader_of(300)
    for level, index in ((0, 300), (8, 1), (-1, 0), (0, -1), (9, 0)):
        with pytest.raises(ProofError):
            reader(level, index)
    with pytest.raises(ProofError):
        list_reader(LEAVES[:3])(1, 1)
    short = TileReader(lambda tile: bytes(32 * tile.width - 1), 300)
    with pytest.raises(ProofError):
        short(0, 0)
    with pytest.raises(ProofError):
        inclusion_from(reader, 300, 300)
    with pytest.raises(ProofError):
        consistency_from(reader, 301, 300)


@given(st.lists(st.binary(max_size=300), min_size=1, max_size=256))
def test_a_bundle_gives_its_entries_back(entries: list[bytes]) -> None:
    data = encode_bundle(entries)
    assert decode_bundle(data, len(entries)) == tuple(entries)
    with pytest.raises(ProofError):
        decode_bundle(data, len(entries) + 1)
    with pytest.raises(ProofError):
        decode_bundle(data + b"\0")


@given(st.binary(max_size=600))
def test_a_bundle_of_any_bytes_is_read_whole_or_refused(data: bytes) -> None:
    try:
        entries = decode_bundle(data)
    except ProofError:
        return
    assert encode_bundle(entries) == data


def test_a_bundle_has_1_to_256_entries_of_at_most_65535_bytes() -> None:
    assert encode_bundle([b"ab", b""]) == b"\x00\x02ab\x00\x00"
    assert decode_bundle(encode_bundle([bytes(65_535)])) == (bytes(65_535),)
    for entries in ([], [b""] * 257, [bytes(65_536)]):
        with pytest.raises(ProofError):
            encode_bundle(entries)
    for data in (b"", b"\x00\x00" * 257):
        with pytest.raises(ProofError):
            decode_bundle(data)
