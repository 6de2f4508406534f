"""How far a forecast drafts ahead, chosen from its batch, its length and the drafts' acceptance.

A pass over the model costs as much as `PASS_ROWS` rows beyond its own, on the kind of machine that
serves here. With n paths, k drafts and acceptance a, a round costs PASS_ROWS + n (k + 1) rows and
brings 1 + a + .. + a^k tokens. The look-ahead is the k that costs least for each token: long for
few paths, short for many. It is a function of recorded numbers, so replay chooses it again.

The choice changes speed only: output follows the target's law with any look-ahead.
"""

from dataclasses import dataclass
from enum import StrEnum

PASS_ROWS = 40
"""What a pass costs beyond its rows, those of drafting counted (12 layers, 2 cores)."""
PER_MILLE = 1000


class LookAheadCause(StrEnum):
    """What set a look-ahead."""

    MOST = "most"  # as far as the engine or the answer's length allows
    BATCH = "batch"  # shorter: so many paths fill a pass
    ACCEPTANCE = "acceptance"  # shorter: drafts further ahead are rejected too often
    OFF = "off"  # no speculation


@dataclass(frozen=True, slots=True, kw_only=True)
class LookAhead:
    """A choice and its cause."""

    drafts: int
    cause: LookAheadCause


def choose(*, most: int, paths: int, tokens: int, accepted_pm: int) -> LookAhead:
    """Return the look-ahead of a forecast.

    Args:
        most: Longest look-ahead that the engine allows; 0 is no speculation.
        paths: Trajectories.
        tokens: Tokens of each.
        accepted_pm: Chance that one draft is accepted, in 1/1000.
    """
    reach = min(most, tokens - 1)
    if reach <= 0:
        return LookAhead(drafts=0, cause=LookAheadCause.OFF)
    best = _cheapest(reach, paths, accepted_pm)
    if best == reach:
        return LookAhead(drafts=best, cause=LookAheadCause.MOST)
    alone = _cheapest(reach, 1, accepted_pm)
    cause = LookAheadCause.BATCH if alone > best else LookAheadCause.ACCEPTANCE
    return LookAhead(drafts=best, cause=cause)


def accepted_pm(mean_accepted: float, drafts: int) -> int:
    """Return the chance of one draft, in 1/1000, from the mean accepted of a round of `drafts`."""
    if drafts <= 0:
        return 0
    for chance in range(PER_MILLE):
        if sum((chance / PER_MILLE) ** j for j in range(1, drafts + 1)) >= mean_accepted:
            return chance
    return PER_MILLE


def _cheapest(reach: int, paths: int, accepted: int) -> int:
    tokens, chance, best, least = 1.0, 1.0, 0, float(PASS_ROWS + paths)
    for drafts in range(1, reach + 1):
        chance *= accepted / PER_MILLE
        tokens += chance
        cost = (PASS_ROWS + paths * (drafts + 1)) / tokens
        if cost <= least:
            best, least = drafts, cost
    return best
