"""Fisher's exact test of a two by two table, in whole numbers."""

from fractions import Fraction
from math import comb


def fisher(hits: int, of: int, other_hits: int, of_other: int) -> Fraction:
    """Return the two-sided p value of `hits` in `of` against `other_hits` in `of_other`.

    It is the probability, with all margins given, of a table at most as likely as this one.

    Source: Fisher, Statistical Methods for Research Workers, section 21.02.
    """
    total, drawn = of + of_other, hits + other_hits
    seen = comb(of, hits) * comb(of_other, other_hits)
    ways = (
        comb(of, k) * comb(of_other, drawn - k)
        for k in range(max(0, drawn - of_other), min(of, drawn) + 1)
    )
    return Fraction(sum(way for way in ways if way <= seen), comb(total, drawn))
