"""The Merkle tree of RFC 6962: hashes, frontier, roots and proofs. Pure.

A `Frontier` is the right edge of the tree: enough to append and to compute the root, in O(log n)
memory.

Not here: where leaves are stored.

Source: RFC 6962 section 2.1; RFC 9162 sections 2.1.3.2 and 2.1.4.2 for the verifying algorithms.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from audit.errors import ProofError

HASH_BYTES = 32
EMPTY_ROOT = sha256(b"").digest()
LEAF_PREFIX = b"\0"


def leaf_hash(entry: bytes) -> bytes:
    """Hash an entry as a leaf: SHA-256(0x00 || entry)."""
    return sha256(LEAF_PREFIX + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Hash two subtrees as a node: SHA-256(0x01 || left || right)."""
    return sha256(b"\x01" + left + right).digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Frontier:
    """The roots of the perfect subtrees of a tree of `size` leaves, largest first."""

    size: int = 0
    nodes: tuple[bytes, ...] = ()

    def append(self, leaf: bytes) -> "Frontier":
        """Return the frontier with one more leaf hash."""
        nodes = list(self.nodes)
        size = push(nodes, self.size, leaf)
        return Frontier(size=size, nodes=tuple(nodes))

    def root(self) -> bytes:
        """Return the tree's root."""
        if not self.nodes:
            return EMPTY_ROOT
        result = self.nodes[-1]
        for node in reversed(self.nodes[:-1]):
            result = node_hash(node, result)
        return result

    def to_bytes(self) -> bytes:
        """Join the nodes; their number follows from the size."""
        return b"".join(self.nodes)


def push(nodes: list[bytes], size: int, node: bytes, level: int = 0) -> int:
    """Append the root of a perfect subtree of 2^level leaves in place; return the new size.

    `size` must be a multiple of 2^level.
    """
    size += 1 << level
    nodes.append(node)
    bits = size >> level
    while bits & 1 == 0:
        right = nodes.pop()
        nodes[-1] = node_hash(nodes[-1], right)
        bits >>= 1
    return size


def root_of(leaves: Sequence[bytes]) -> bytes:
    """Return the root over leaf hashes."""
    nodes: list[bytes] = []
    size = 0
    for leaf in leaves:
        size = push(nodes, size, leaf)
    return Frontier(size=size, nodes=tuple(nodes)).root()


def verify_inclusion(
    leaf: bytes, index: int, size: int, path: Sequence[bytes], root: bytes
) -> None:
    """Check that a leaf hash is at `index` of the tree (`size`, `root`).

    Raises:
        ProofError: it does not, the path has the wrong length, or a hash is not 32 bytes.
    """
    if not 0 <= index < size:
        raise ProofError(f"index {index} is outside a tree of {size}")
    _check_hashes(leaf, *path, root)
    if _climb(leaf, path, index, size - 1)[1] != root:
        raise ProofError("inclusion path leads to another root")


def verify_consistency(
    old_size: int, old_root: bytes, size: int, root: bytes, path: Sequence[bytes]
) -> None:
    """Check that the tree (`size`, `root`) extends the tree (`old_size`, `old_root`).

    Trees of one size extend each other if their roots are equal. Every tree extends the empty one,
    whose root is not looked at (the RFCs define no proof from it).

    Raises:
        ProofError: it does not, the path has the wrong length, or a hash is not 32 bytes.
    """
    if not 0 <= old_size <= size:
        raise ProofError(f"old size {old_size} is beyond {size}")
    if old_size in (0, size):
        if path:
            raise ProofError("consistency path should be empty")
        if old_size == size and old_root != root:
            raise ProofError("roots of the same size differ")
        return
    _check_hashes(old_root, *path, root)
    nodes = [old_root, *path] if old_size & (old_size - 1) == 0 else list(path)
    position, last = old_size - 1, size - 1
    while position & 1:
        position >>= 1
        last >>= 1
    if not nodes or _climb(nodes[0], nodes[1:], position, last) != (old_root, root):
        raise ProofError("consistency path does not join the two roots")


def _climb(start: bytes, path: Sequence[bytes], position: int, last: int) -> tuple[bytes, bytes]:
    """Return the roots that a path leads to: of the old tree, which ends here, and of the new."""
    old_result = new_result = start
    for node in path:
        if last == 0:
            raise ProofError("path is too long")
        if position & 1 or position == last:
            old_result = node_hash(node, old_result)
            new_result = node_hash(node, new_result)
            while position & 1 == 0 and position:
                position >>= 1
                last >>= 1
        else:
            new_result = node_hash(new_result, node)
        position >>= 1
        last >>= 1
    if last != 0:
        raise ProofError("path is too short")
    return old_result, new_result


def _check_hashes(*hashes: bytes) -> None:
    """Refuse other lengths: a byte moved from one node to the next would hash the same."""
    if any(len(node) != HASH_BYTES for node in hashes):
        raise ProofError(f"a hash of a proof does not have {HASH_BYTES} bytes")
