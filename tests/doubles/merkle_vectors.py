"""Published Merkle vectors: a public log's proofs, and how another tool spoils proofs."""

import json
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from audit.tlog.merkle import EMPTY_ROOT, leaf_hash, root_of
from tests.doubles.memory_tree import consistency_path, inclusion_path

ARGON: dict[str, Any] = json.loads(
    (Path(__file__).parent.parent / "golden" / "vectors" / "merkle.json").read_text()
)
"""Of Certificate Transparency's Argon 2020; see golden/vectors/README.md."""

INCLUDED = ((0, 1), (0, 8), (5, 8), (2, 3), (1, 5))
EXTENDED = ((1, 8), (6, 8), (2, 5), (6, 7))

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


def argon() -> tuple[Inclusion, Consistency]:
    """Return the arguments of `verify_inclusion` and `verify_consistency` for the public log."""
    size, root = ARGON["size"], b64decode(ARGON["root"])
    proof, old = ARGON["inclusion"], ARGON["consistency"]
    path = tuple(map(b64decode, proof["path"]))
    inclusion = (b64decode(proof["leaf_hash"]), proof["index"], size, path, root)
    path = tuple(map(b64decode, old["path"]))
    return inclusion, (old["size"], b64decode(old["root"]), size, root, path)
