"""Holm's correction: many tests of one window, one error rate for all of them."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

ALPHA: Final = Fraction(1, 20)


def holm(p_values: Sequence[Fraction], alpha: Fraction = ALPHA) -> tuple[bool, ...]:
    """Return which tests are significant together, in the order given.

    Source: Holm, "A simple sequentially rejective multiple test procedure" (1979).
    """
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    found = [False] * len(p_values)
    for rank, place in enumerate(order):
        if p_values[place] > alpha / (len(p_values) - rank):
            break
        found[place] = True
    return tuple(found)
