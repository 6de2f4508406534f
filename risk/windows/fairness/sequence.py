"""W7: many windows of one test, honestly combined by e-values.

Who looks every day finds something some day. An e-value is a bet against "no difference": the
product over separate windows may be looked at after each of them, and if there is no difference it
ever reaches 20 with a probability of at most 1 in 20.

Source: Vovk, Wang, "E-values: calibration, combination and applications" (2021), section 2: from a
p value by 1 / (2 sqrt(p)); Ville's inequality.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Final

from risk.windows.fairness.cases import Fairness

EVIDENCE: Final = 20
_MILLE: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceSum:
    """The windows that could be judged, and the largest product so far, in thousandths."""

    windows: int
    evidence_milli: int
    finding: Fairness


def e_milli(p_value: Fraction) -> int:
    """Return a p value's e-value in thousandths, rounded down: 1 / (2 sqrt(p))."""
    return isqrt(_MILLE * _MILLE * p_value.denominator // (4 * p_value.numerator))


def combined(p_values: Iterable[Fraction | None]) -> EvidenceSum:
    """Return what separate windows show together, in their order; None could not be judged."""
    judged = [one for one in p_values if one is not None]
    product = largest = Fraction(1)
    for one in judged:
        product *= Fraction(e_milli(one), _MILLE)
        largest = max(largest, product)
    found = Fairness.FLAGGED if largest >= EVIDENCE else Fairness.NOT_FLAGGED
    return EvidenceSum(
        windows=len(judged),
        evidence_milli=int(largest * _MILLE),
        finding=found if judged else Fairness.INSUFFICIENT,
    )
