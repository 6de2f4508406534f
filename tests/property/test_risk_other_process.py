"""Random decisions keep their digests in a process of another locale, zone and hash seed."""

import pytest

from tests.doubles.random_decisions import OTHERS, digests, digests_elsewhere

COUNT = 120
SEED = 7


@pytest.mark.parametrize("other", OTHERS)
def test_random_decisions_replay_from_documents_elsewhere(other: dict[str, str]) -> None:
    here = digests(COUNT, SEED, from_documents=False)
    assert len(set(here)) == COUNT
    assert digests_elsewhere(COUNT, SEED, other) == here
