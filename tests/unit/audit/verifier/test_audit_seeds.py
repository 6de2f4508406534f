"""What the verifiers derive of a seed: the root of the tree that ends with a record."""

import hashlib

import pytest

from audit.tlog.merkle import leaf_hash, root_of
from audit.verifier.verify import attempt_in, root_up_to, seeds_of
from inference.speculation.seeds import decision_seed, prompt_label, trajectory_seeds
from tests.doubles.memory_tree import inclusion_path


def test_the_path_of_a_record_gives_the_root_of_the_tree_that_ends_with_it() -> None:
    leaves = [leaf_hash(hashlib.sha256(bytes([i])).digest()) for i in range(70)]
    for size in range(1, len(leaves) + 1):
        for index in range(size):
            path = inclusion_path(leaves[:size], index)
            assert root_up_to(leaves[index], index, size, path) == root_of(leaves[: index + 1])


def test_the_seeds_are_those_of_the_walk() -> None:
    root, prompt = bytes(range(32)), [7, 300, 0]
    for attempt in (0, 1, 7):
        seed = decision_seed(root, prompt_label(prompt), attempt)
        wanted = [str(one) for one in trajectory_seeds(seed, 5)]
        assert seeds_of(root, prompt, attempt, 5) == wanted


@pytest.mark.parametrize("number", ["", "-1", "01", "1.0", "x", "1000000000", "0\n"])
def test_a_stream_of_another_form_is_no_attempt(number: str) -> None:
    assert attempt_in(f"forecast/{'A' * 26}.0") == ("A" * 26, 0)
    assert attempt_in(f"forecast/{'A' * 26}.{number}") is None
    assert attempt_in(f"forecast/{'a' * 26}.0") is None
    assert attempt_in(f"decision/{'A' * 26}.0") is None
