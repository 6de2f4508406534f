"""Published Merkle vectors against our trees and tiles: other people's logs and other tools."""

from collections.abc import Callable
from hashlib import sha256

import pytest

from audit.errors import ProofError
from audit.tlog.merkle import (
    EMPTY_ROOT,
    leaf_hash,
    root_of,
    verify_consistency,
    verify_inclusion,
)
from audit.tlog.tiles import (
    Tile,
    inclusion_from,
    parse_tile_path,
    root_from,
)
from audit.verifier.verify import extends, root_by_path
from tests.doubles.memory_tree import consistency_path, inclusion_path, list_reader
from tests.doubles.merkle_vectors import (
    EXTENDED,
    INCLUDED,
    LEAVES,
    ROOTS,
    SOME,
    Consistency,
    argon,
    spoiled_consistency,
    spoiled_inclusion,
)


def verifies(check: Callable[..., None], arguments: tuple[object, ...]) -> bool:
    try:
        check(*arguments)
    except ProofError:
        return False
    return True


@pytest.mark.parametrize(("index", "size"), INCLUDED)
def test_a_spoiled_inclusion_proof_never_verifies(index: int, size: int) -> None:
    path = inclusion_path(LEAVES[:size], index)
    verify_inclusion(LEAVES[index], index, size, path, ROOTS[size])
    for name, arguments in spoiled_inclusion(index, size):
        assert not verifies(verify_inclusion, arguments), name


@pytest.mark.parametrize(("old", "size"), EXTENDED)
def test_a_spoiled_consistency_proof_never_verifies(old: int, size: int) -> None:
    verify_consistency(old, ROOTS[old], size, ROOTS[size], consistency_path(LEAVES[:size], old))
    for name, arguments in spoiled_consistency(old, size):
        assert not verifies(verify_consistency, arguments), name


@pytest.mark.parametrize(("index", "size"), [(0, 0), (0, 1), (1, 0), (2, 1)])
@pytest.mark.parametrize(("leaf", "root"), [(SOME, b""), (b"", EMPTY_ROOT), (SOME, EMPTY_ROOT)])
def test_nothing_is_included_by_an_empty_proof(
    index: int, size: int, leaf: bytes, root: bytes
) -> None:
    with pytest.raises(ProofError):
        verify_inclusion(leaf, index, size, (), root)


@pytest.mark.parametrize(("leaf", "root"), [(LEAVES[0], b""), (b"", LEAVES[0]), (b"", b"")])
def test_what_is_no_hash_is_not_included(leaf: bytes, root: bytes) -> None:
    verify_inclusion(LEAVES[0], 0, 1, (), LEAVES[0])
    with pytest.raises(ProofError):
        verify_inclusion(leaf, 0, 1, (), root)


@pytest.mark.parametrize(
    ("arguments", "proven"),
    [
        ((0, b"one", 0, b"two", ()), False),
        ((1, b"one", 1, b"two", ()), False),
        ((0, b"one", 0, b"one", ()), True),
        ((0, b"one", 1, b"two", ()), True),
        ((1, b"two", 1, b"two", ()), True),
        ((1, b"one", 0, b"two", ()), False),
        ((2, b"one", 1, b"two", ()), False),
        ((1, b"one", 2, b"two", ()), False),
        ((0, EMPTY_ROOT, 0, b"two", ()), False),
        ((1, EMPTY_ROOT, 1, b"two", ()), False),
        ((0, EMPTY_ROOT, 0, EMPTY_ROOT, (EMPTY_ROOT,)), False),
        ((0, EMPTY_ROOT, 1, EMPTY_ROOT, (EMPTY_ROOT,)), False),
        ((1, EMPTY_ROOT, 1, EMPTY_ROOT, (EMPTY_ROOT,)), False),
    ],
)
def test_consistency_without_a_path(*, arguments: Consistency, proven: bool) -> None:
    assert verifies(verify_consistency, arguments) is proven


def test_proofs_of_a_certificate_log_of_a_billion_leaves_verify() -> None:
    inclusion, consistency = argon()
    verify_inclusion(*inclusion)
    leaf, right, size, path, root = inclusion
    for index in (right - 1, right + 1, 0, size - 1):
        with pytest.raises(ProofError):
            verify_inclusion(leaf, index, size, path, root)
    verify_consistency(*consistency)
    old, *others = consistency
    for wrong in (old - 1, old + 1):
        assert not verifies(verify_consistency, (wrong, *others))


def test_the_one_file_verifier_follows_the_same_proofs_and_no_others() -> None:
    (leaf, index, size, path, root), (old, before, _, _, nodes) = argon()
    assert root_by_path(leaf, index, size, path) == root
    assert root_by_path(leaf, index, size, path[:-1]) is None
    assert extends((old, before), (size, root), nodes)
    for index, size in INCLUDED:
        for name, (leaf, place, count, path, root) in spoiled_inclusion(index, size):
            inside = 0 <= place < count
            assert not inside or root_by_path(leaf, place, count, path) != root, name
    for old, size in EXTENDED:
        for name, (smaller, before, larger, after, path) in spoiled_consistency(old, size):
            assert not extends((smaller, before), (larger, after), path), name
    assert not extends((0, EMPTY_ROOT), (0, SOME), ())


def test_roots_and_paths_of_all_small_subtrees_hash_to_the_published_sums() -> None:
    # Source: subtree_test.go of filippo.io/torchwood, AccumulatedSubtreeHash and
    # AccumulatedRecordInSubtreeProof: every subtree [start, end) of a tree of 130 one-byte entries.
    leaves = [leaf_hash(bytes([number])) for number in range(130)]
    roots, paths = sha256(), sha256()
    for end in range(131):
        for start in range(end + 1):
            count = end - start
            if count and start % (1 << (count - 1).bit_length()):
                continue
            subtree = leaves[start:end]
            reader, root = list_reader(subtree), root_of(subtree)
            assert root_from(reader, count) == root
            roots.update(f"[{start}, {end}) {root.hex()}\n".encode())
            for index in range(count):
                path = inclusion_from(reader, index, count)
                nodes = "".join(f" {node.hex()}" for node in path)
                paths.update(f"{start + index} [{start}, {end}){nodes}\n".encode())
                verify_inclusion(subtree[index], index, count, path, root)
    assert roots.hexdigest() == "b82806ad4265bb151c1119c0f4db437bb4d1a1f887b3a7fba1cd4ebf552e3e81"
    assert paths.hexdigest() == "ac2a8f989e44d99e399db448050ff5f19757df53cfb716aa81015d3955d8163f"


@pytest.mark.parametrize(
    ("path", "index", "width"),
    [
        # Source: tilePaths of golang.org/x/mod/sumdb/tlog, without the height, which is always 8.
        ("tile/0/001", 1, 256),
        ("tile/0/001.p/5", 1, 5),
        ("tile/5/x123/x456/078", 123_456_078, 256),
        ("tile/5/x123/x456/078.p/2", 123_456_078, 2),
        ("tile/0/x003/x057/500", 3_057_500, 256),
        # Source: c2sp.org/tlog-tiles.
        ("tile/63/x001/x234/067.p/255", 1_234_067, 255),
        ("tile/0/999", 999, 256),
        ("tile/0/x001/000.p/1", 1_000, 1),
        ("tile/0/x999/999", 999_999, 256),
        ("tile/0/x001/x000/000", 1_000_000, 256),
    ],
)
def test_tile_paths_of_other_tools(path: str, index: int, width: int) -> None:
    tile = Tile(level=int(path.split("/")[1]), index=index, width=width)
    assert tile.path == path
    assert parse_tile_path(path) == tile


@pytest.mark.parametrize(
    "path", ["tile/5/123/456/078", "tile/-1/123/456/078", "tile/data/x003/000"]
)
def test_tile_paths_that_other_tools_refuse(path: str) -> None:
    with pytest.raises(ProofError):
        parse_tile_path(path)
