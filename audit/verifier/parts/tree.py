"""Hashes and RFC 6962 trees: roots, inclusion and consistency."""

import hashlib
from collections.abc import Sequence


def leaf_hash(entry: bytes) -> bytes:
    """Return the leaf hash of a tree entry."""
    return hashlib.sha256(b"\x00" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of a node above two subtrees."""
    return hashlib.sha256(b"\x01" + left + right).digest()


class Tree:
    """A growing RFC 6962 tree in O(log n) memory."""

    def __init__(self) -> None:
        self.size = 0
        self.nodes: list[bytes] = []

    def append(self, leaf: bytes) -> None:
        """Append a leaf hash."""
        self.nodes.append(leaf)
        self.size += 1
        bits = self.size
        while bits & 1 == 0:
            right = self.nodes.pop()
            self.nodes.append(node_hash(self.nodes.pop(), right))
            bits >>= 1

    def root(self) -> bytes:
        """Return the tree's root."""
        if not self.nodes:
            return hashlib.sha256(b"").digest()
        result = self.nodes[-1]
        for node in reversed(self.nodes[:-1]):
            result = node_hash(node, result)
        return result


def root_by_path(leaf: bytes, index: int, size: int, path: Sequence[bytes]) -> bytes | None:
    """Return the root that an inclusion path leads to; None if a length is wrong."""
    last, result = size - 1, leaf
    if {*map(len, (leaf, *path))} != {32}:  # a byte moved to the next node would hash the same
        return None
    for node in path:
        if last == 0:
            return None
        if index & 1 or index == last:
            result = node_hash(node, result)
            while index & 1 == 0 and index:
                index, last = index >> 1, last >> 1
        else:
            result = node_hash(result, node)
        index, last = index >> 1, last >> 1
    return result if last == 0 else None


def root_up_to(leaf: bytes, index: int, size: int, path: Sequence[bytes]) -> bytes:
    """Return the root of the tree that ends with a leaf, from its path in a larger tree.

    The nodes on the left of the path cover everything before the leaf.
    """
    last, result = size - 1, leaf
    for node in path:
        if index & 1 or index == last:
            result = node_hash(node, result)
            while index & 1 == 0 and index:
                index, last = index >> 1, last >> 1
        index, last = index >> 1, last >> 1
    return result


def extends(old: tuple[int, bytes], new: tuple[int, bytes], path: Sequence[bytes]) -> bool:
    """Return whether a consistency path proves that the tree `new` (size, root) extends `old`."""
    size, last = old[0], new[0] - 1
    if size in {0, new[0]}:
        return not path and old[1] == (new[1] if size == new[0] else Tree().root())
    index, nodes = size - 1, list(path)
    if size > new[0] or not nodes or {*map(len, (old[1], *path))} != {32}:
        return False
    if size & (size - 1) == 0:
        nodes.insert(0, old[1])
    while index & 1:
        index, last = index >> 1, last >> 1
    before = after = nodes[0]
    for node in nodes[1:]:
        if last == 0:
            return False
        if index & 1 or index == last:
            before, after = node_hash(node, before), node_hash(node, after)
            while index & 1 == 0 and index:
                index, last = index >> 1, last >> 1
        else:
            after = node_hash(after, node)
        index, last = index >> 1, last >> 1
    return last == 0 and (before, after) == (old[1], new[1])
