"""Published Merkle vectors against our trees and tiles: other people's logs and other tools."""

import json
from base64 import b64decode
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from audit.errors import ProofError
from audit.merkle import (
    EMPTY_ROOT,
    consistency_path,
    inclusion_path,
    leaf_hash,
    root_of,
    verify_consistency,
    verify_inclusion,
)
from audit.tiles import Tile, inclusion_from, list_reader, parse_tile_path, root_from, tile_path
from audit.verify import extends, root_by_path

ARGON: dict[str, Any] = json.loads(
    (Path(__file__).parent.parent / "golden" / "vectors" / "merkle.json").read_text()
)

# Source: proof/verify_test.go of github.com/transparency-dev/merkle (Apache-2.0): its tree (that of
# Certificate Transparency's reference code), its proofs' places and its ways to spoil a proof.
ENTRIES = (b"", b"\x00", b"\x10", b"\x20\x21", b"01", b"@ABC", b"PQRSTUVW", b"`abcdefghijklmno")
LEAVES = [leaf_hash(entry) for entry in ENTRIES]
ROOTS = [root_of(LEAVES[:size]) for size in range(9)]
SOME = bytes.fromhex("abacaba000000000000000000000000000000000000000000060061e00123456")
Inclusion = tuple[bytes, int, int, tuple[bytes, ...], bytes]
Consistency = tuple[int, bytes, int, bytes, tuple[bytes, ...]]


def spoiled_inclusion(index: int, size: int) -> Iterator[tuple[str, Inclusion]]:
    """Yield the arguments of `verify_inclusion` that must not verify."""
    leaf, root, path = LEAVES[index], ROOTS[size], inclusion_path(LEAVES[:size], index)
    for other in (index - 1, index + 1, index ^ 2):
        yield f"index {other}", (leaf, other, size, path, root)
    for other in (size * 2, size // 2):
        yield f"size {other}", (leaf, index, other, path, root)
    yield "wrong leaf", (b"WrongLeaf", index, size, path, root)
    yield "empty root", (leaf, index, size, path, EMPTY_ROOT)
    yield "random root", (leaf, index, size, path, SOME)
    for name, extra in (("garbage", b""), ("root", root)):
        yield f"trailing {name}", (leaf, index, size, (*path, extra), root)
        yield f"preceding {name}", (leaf, index, size, (extra, *path), root)
    for place in range(len(path)):
        yield f"bit in node {place}", (leaf, index, size, flipped(path, place), root)
    if path:
        yield "removed node", (leaf, index, size, path[:-1], root)
        # the same bytes, cut at another place
        moved = (path[0][1:], *path[1:]) if index % 2 == 0 else (path[0] + leaf[:1], *path[1:])
        shifted = leaf + path[0][:1] if index % 2 == 0 else leaf[1:]
        yield "moved byte", (shifted, index, size, moved, root)
    if len(path) > 1:
        yield "inserted node", (leaf, index, size, (path[0], SOME, *path[1:]), root)


def spoiled_consistency(old: int, size: int) -> Iterator[tuple[str, Consistency]]:
    """Yield the arguments of `verify_consistency` that must not verify."""
    before, after, path = ROOTS[old], ROOTS[size], consistency_path(LEAVES[:size], old)
    for other in (old - 1, old + 1, old ^ 2):
        yield f"old size {other}", (other, before, size, after, path)
    for other in (size * 2, size // 2):
        yield f"size {other}", (old, before, other, after, path)
    yield "wrong old root", (old, b"WrongRoot", size, after, path)
    yield "wrong root", (old, before, size, b"WrongRoot", path)
    yield "swapped roots", (old, after, size, before, path)
    yield "empty", (old, before, size, after, ())
    for name, extra in (("garbage", b""), ("old root", before), ("root", after)):
        yield f"trailing {name}", (old, before, size, after, (*path, extra))
        yield f"preceding {name}", (old, before, size, after, (extra, *path))
    yield "first node twice", (old, before, size, after, (path[0], *path))
    yield "truncated", (old, before, size, after, path[:-1])
    for place in range(len(path)):
        yield f"bit in node {place}", (old, before, size, after, flipped(path, place))
    if old & (old - 1) == 0:
        moved = (path[0][1:], *path[1:])
        yield "moved byte", (old, before + path[0][:1], size, after, moved)


def flipped(path: tuple[bytes, ...], place: int) -> tuple[bytes, ...]:
    node = bytes([path[place][0] ^ 8]) + path[place][1:]
    return (*path[:place], node, *path[place + 1 :])


def verifies(check: Callable[..., None], arguments: tuple[object, ...]) -> bool:
    try:
        check(*arguments)
    except ProofError:
        return False
    return True


@pytest.mark.parametrize(("index", "size"), [(0, 1), (0, 8), (5, 8), (2, 3), (1, 5)])
def test_a_spoiled_inclusion_proof_never_verifies(index: int, size: int) -> None:
    path = inclusion_path(LEAVES[:size], index)
    verify_inclusion(LEAVES[index], index, size, path, ROOTS[size])
    for name, arguments in spoiled_inclusion(index, size):
        assert not verifies(verify_inclusion, arguments), name


@pytest.mark.parametrize(("old", "size"), [(1, 8), (6, 8), (2, 5), (6, 7)])
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
    size, root = ARGON["size"], b64decode(ARGON["root"])
    proof = ARGON["inclusion"]
    leaf, path = b64decode(proof["leaf_hash"]), [b64decode(node) for node in proof["path"]]
    verify_inclusion(leaf, proof["index"], size, path, root)
    for index in (proof["index"] - 1, proof["index"] + 1, 0, size - 1):
        with pytest.raises(ProofError):
            verify_inclusion(leaf, index, size, path, root)
    old = ARGON["consistency"]
    path = [b64decode(node) for node in old["path"]]
    verify_consistency(old["size"], b64decode(old["root"]), size, root, path)
    for wrong in (old["size"] - 1, old["size"] + 1):
        with pytest.raises(ProofError):
            verify_consistency(wrong, b64decode(old["root"]), size, root, path)


def test_the_one_file_verifier_follows_the_same_proofs() -> None:
    size, root = ARGON["size"], b64decode(ARGON["root"])
    proof, old = ARGON["inclusion"], ARGON["consistency"]
    path = [b64decode(node) for node in proof["path"]]
    leaf, index = b64decode(proof["leaf_hash"]), proof["index"]
    assert root_by_path(leaf, index, size, path) == root
    assert root_by_path(leaf, index + 1, size, path) != root
    assert root_by_path(leaf, index, size, path[:-1]) is None
    before, after = (old["size"], b64decode(old["root"])), (size, root)
    path = [b64decode(node) for node in old["path"]]
    assert extends(before, after, path)
    assert not extends((before[0] + 1, before[1]), after, path)
    assert not extends(before, after, path[:-1])


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
    level = int(path.split("/")[1])
    assert tile_path(level, index, width) == path
    assert parse_tile_path(path) == Tile(level=level, index=index, width=width)


@pytest.mark.parametrize(
    "path", ["tile/5/123/456/078", "tile/-1/123/456/078", "tile/data/x003/000"]
)
def test_tile_paths_that_other_tools_refuse(path: str) -> None:
    with pytest.raises(ProofError):
        parse_tile_path(path)
