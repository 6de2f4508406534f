"""What the fairness gate knows of one decision: words it rests on, swaps, justifications."""

from dataclasses import dataclass
from typing import Final

UNTESTED: Final = ""
"""The attribute of a shift that nobody measured: weights that read words, and no run of swaps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SwapShift:
    """A counterfactual swap that moved the forecast beyond its noise.

    Attributes:
        attribute: What was swapped, as the lexicon names it; or `UNTESTED`.
        shift_bp: By how much the median moved, beyond the placebo's own move.
    """

    attribute: str
    shift_bp: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Justified:
    """A justification in force: one attribute, one asset class, one side, up to a horizon.

    Attributes:
        seq: Its record.
        side: `BUY`, `SELL`, or empty for both.
        horizon_us_max: Longest horizon of a forecast that it covers.
        bound_bp: Largest shift that it covers.
    """

    ref: str
    seq: int
    attribute: str
    asset_class: str
    side: str
    horizon_us_max: int
    bound_bp: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FairnessLook:
    """What is known of a decision.

    Attributes:
        basis_seq: Sequence number up to which justifications were read.
        words: Words of the lexicon in the decision's own text and news, sorted.
        masked: Listed words of persons that were masked in its text before it was recorded.
        swaps: Swaps that moved its forecast; none where no model reads swapped words.
        justified: Justifications in force at the time of the verdict, by their names.
    """

    basis_seq: int
    words: tuple[str, ...]
    masked: int
    swaps: tuple[SwapShift, ...]
    justified: tuple[Justified, ...]
