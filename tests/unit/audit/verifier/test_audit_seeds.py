"""What the verifiers derive of a seed: the root of the tree that ends with a record."""

import hashlib

from audit.tlog.merkle import leaf_hash, root_of
from audit.verifier.verify import root_up_to
from tests.doubles.memory_tree import inclusion_path


def test_the_path_of_a_record_gives_the_root_of_the_tree_that_ends_with_it() -> None:
    leaves = [leaf_hash(hashlib.sha256(bytes([i])).digest()) for i in range(70)]
    for size in range(1, len(leaves) + 1):
        for index in range(size):
            path = inclusion_path(leaves[:size], index)
            assert root_up_to(leaves[index], index, size, path) == root_of(leaves[: index + 1])
