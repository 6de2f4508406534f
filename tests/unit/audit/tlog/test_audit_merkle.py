"""RFC 6962's tree against its published vectors, a naive oracle, and every proof mutated."""

from collections.abc import Sequence
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.errors import ProofError
from audit.tlog.merkle import (
    EMPTY_ROOT,
    Frontier,
    leaf_hash,
    root_of,
    verify_consistency,
    verify_inclusion,
)
from tests.doubles.memory_tree import consistency_path, inclusion_path

# Source: Certificate Transparency's reference tree (merkletree tests of RFC 6962's authors).
ENTRIES = (
    "",
    "00",
    "10",
    "2021",
    "3031",
    "40414243",
    "5051525354555657",
    "606162636465666768696a6b6c6d6e6f",
)
ROOTS = (
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
)
INCLUSION = {
    (0, 1): (),
    (0, 8): (
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ),
    (5, 8): (
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ),
    (2, 3): ("fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",),
}
CONSISTENCY = {
    (1, 1): (),
    (1, 8): INCLUSION[0, 8],
    (6, 8): (
        "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ),
    (2, 5): (
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    ),
}
LEAVES = [leaf_hash(bytes.fromhex(entry)) for entry in ENTRIES]
SIZES = st.integers(min_value=1, max_value=40)


def unhex(path: Sequence[str]) -> tuple[bytes, ...]:
    return tuple(map(bytes.fromhex, path))


def leaves_of(size: int) -> list[bytes]:
    return [leaf_hash(number.to_bytes(2)) for number in range(size)]


def naive_root(leaves: Sequence[bytes]) -> bytes:
    """RFC 6962 section 2.1 word for word, as an oracle."""
    if not leaves:
        return sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    return sha256(b"\x01" + naive_root(leaves[:split]) + naive_root(leaves[split:])).digest()


def test_roots_are_the_published_ones() -> None:
    assert sha256(b"").digest() == EMPTY_ROOT
    for size, root in enumerate(ROOTS, start=1):
        assert root_of(LEAVES[:size]).hex() == root


@pytest.mark.parametrize(("index", "size"), INCLUSION)
def test_inclusion_paths_are_the_published_ones(index: int, size: int) -> None:
    path = unhex(INCLUSION[index, size])
    assert inclusion_path(LEAVES[:size], index) == path
    verify_inclusion(LEAVES[index], index, size, path, bytes.fromhex(ROOTS[size - 1]))


@pytest.mark.parametrize(("old", "size"), CONSISTENCY)
def test_consistency_paths_are_the_published_ones(old: int, size: int) -> None:
    path = unhex(CONSISTENCY[old, size])
    assert consistency_path(LEAVES[:size], old) == path
    roots = [bytes.fromhex(root) for root in ROOTS]
    verify_consistency(old, roots[old - 1], size, roots[size - 1], path)


@given(SIZES)
def test_the_frontier_grows_the_same_tree_as_the_definition(size: int) -> None:
    frontier = Frontier()
    for leaf in leaves_of(size):
        frontier = frontier.append(leaf)
    assert frontier.root() == naive_root(leaves_of(size))
    assert len(frontier.to_bytes()) == 32 * size.bit_count()


@given(st.data())
def test_every_inclusion_proof_verifies_and_no_other_does(data: st.DataObject) -> None:
    size = data.draw(SIZES)
    index = data.draw(st.integers(min_value=0, max_value=size - 1))
    leaves = leaves_of(size)
    root, path = naive_root(leaves), inclusion_path(leaves, index)
    verify_inclusion(leaves[index], index, size, path, root)
    wrong_paths = [path[:-1], (*path, root), *_with_one_bit_changed(path)] if path else [(root,)]
    for wrong in wrong_paths:
        with pytest.raises(ProofError):
            verify_inclusion(leaves[index], index, size, wrong, root)
    for other in {*range(size)} - {index}:
        with pytest.raises(ProofError):
            verify_inclusion(leaves[index], other, size, path, root)


@given(st.data())
def test_every_consistency_proof_verifies_and_no_other_does(data: st.DataObject) -> None:
    size = data.draw(SIZES)
    old = data.draw(st.integers(min_value=1, max_value=size))
    leaves = leaves_of(size)
    roots, path = (naive_root(leaves[:old]), naive_root(leaves)), consistency_path(leaves, old)
    verify_consistency(old, roots[0], size, roots[1], path)
    for wrong in [(*path, roots[0]), path[:-1], *_with_one_bit_changed(path)] if path else []:
        with pytest.raises(ProofError):
            verify_consistency(old, roots[0], size, roots[1], wrong)
    with pytest.raises(ProofError):
        verify_consistency(old, leaf_hash(b"forged"), size, roots[1], path)


@pytest.mark.parametrize(
    ("index", "size"), [(-1, 3), (3, 3), (0, 0)], ids=["below", "beyond", "empty"]
)
def test_an_index_outside_the_tree_is_refused(index: int, size: int) -> None:
    with pytest.raises(ProofError):
        inclusion_path(LEAVES[:size], index)
    with pytest.raises(ProofError):
        verify_inclusion(LEAVES[0], index, size, (), LEAVES[0])


def _with_one_bit_changed(path: Sequence[bytes]) -> list[tuple[bytes, ...]]:
    return [
        (*path[:i], bytes([path[i][0] ^ 1]) + path[i][1:], *path[i + 1 :]) for i in range(len(path))
    ]
