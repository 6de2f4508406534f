"""A blind review: which decisions a person judges again, and how far both agree.

The sample is drawn by the log's root, so nobody chooses it and anybody draws it again. Agreement is
Cohen's kappa: what is left of agreement after that which two independent judges with the same
shares of answers would reach by chance.

Not here: what the reviewer is shown (`gateway.desk.officers.oversight.reviews`).

Source: Cohen, "A coefficient of agreement for nominal scales" (1960).
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Final

_DOMAIN: Final = b"countersign.review/1\n"
_PPM: Final = 1_000_000


class ReviewAnswer(StrEnum):
    """Which order a judge wants."""

    BUY = "buy"
    SELL = "sell"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How far two judges agree.

    Attributes:
        cases: Decisions that both judged.
        agreed: Of these, with the same answer.
        kappa_ppm: Cohen's kappa in millionths; None if it is not defined: without a case, or if
            both always gave one and the same answer.
    """

    cases: int
    agreed: int
    kappa_ppm: int | None


def drawn(root: bytes, decision_ids: Iterable[str], count: int) -> tuple[str, ...]:
    """Return `count` of the decisions, or all if there are fewer, in the order of the draw."""

    def place(decision_id: str) -> tuple[bytes, str]:
        digest = hashlib.sha256(_DOMAIN + root + decision_id.encode()).digest()
        return digest, decision_id

    return tuple(sorted(set(decision_ids), key=place)[: max(0, count)])


def agreement(pairs: Sequence[tuple[ReviewAnswer, ReviewAnswer]]) -> Agreement:
    """Return the agreement of pairs (reviewer's answer, model's answer)."""
    n = len(pairs)
    agreed = sum(1 for mine, other in pairs if mine is other)
    first, second = Counter(mine for mine, _ in pairs), Counter(other for _, other in pairs)
    by_chance = sum(first[answer] * second[answer] for answer in ReviewAnswer)
    if n * n == by_chance:  # also without a case
        return Agreement(cases=n, agreed=agreed, kappa_ppm=None)
    kappa = Fraction(agreed * n - by_chance, n * n - by_chance)
    return Agreement(cases=n, agreed=agreed, kappa_ppm=round(kappa * _PPM))
