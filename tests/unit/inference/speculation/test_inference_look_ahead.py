"""A look-ahead is chosen from the batch, the length and the acceptance."""

import pytest

from inference.speculation.look_ahead import LookAheadCause, accepted_pm, choose


@pytest.mark.parametrize(
    ("most", "paths", "tokens", "chance", "drafts", "cause"),
    [
        (8, 1, 16, 943, 8, LookAheadCause.MOST),
        (8, 32, 16, 943, 5, LookAheadCause.BATCH),
        (8, 256, 16, 943, 1, LookAheadCause.BATCH),
        (8, 1, 16, 600, 5, LookAheadCause.ACCEPTANCE),
        (8, 256, 16, 1000, 8, LookAheadCause.MOST),
        (8, 1, 3, 943, 2, LookAheadCause.MOST),  # no draft follows the last token
        (8, 256, 16, 100, 0, LookAheadCause.BATCH),
        (8, 4, 1, 943, 0, LookAheadCause.OFF),
        (0, 4, 16, 943, 0, LookAheadCause.OFF),
    ],
)
def test_few_paths_draft_far_and_many_do_not(
    *, most: int, paths: int, tokens: int, chance: int, drafts: int, cause: LookAheadCause
) -> None:
    found = choose(most=most, paths=paths, tokens=tokens, accepted_pm=chance)
    assert (found.drafts, found.cause) == (drafts, cause)


def test_more_paths_never_draft_further() -> None:
    chosen = [
        choose(most=16, paths=n, tokens=32, accepted_pm=930).drafts for n in (1, 4, 16, 64, 256)
    ]
    assert chosen == sorted(chosen, reverse=True)
    assert chosen[0] > chosen[-1]


@pytest.mark.parametrize(
    ("mean", "drafts", "chance"), [(4.0, 4, 1000), (0.0, 4, 0), (3.439, 4, 940), (1.0, 0, 0)]
)
def test_the_chance_of_one_draft_follows_from_a_rounds_mean(
    mean: float, drafts: int, chance: int
) -> None:
    """Four drafts at 0.94 each: 0.94 + 0.8836 + 0.8306 + 0.7807 = 3.435."""
    assert abs(accepted_pm(mean, drafts) - chance) <= 1
