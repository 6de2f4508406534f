"""Two samples of tokens compared state by state: the chi-square by which samplers are told apart.

Both are of rows that depend on the state of the codec's table alone, so tokens that were picked in
one state are of one law in both samples, whatever prompt or forecast they are of.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

Counts = Mapping[int, npt.NDArray[np.int64]]
"""Tokens by state: how many fell into each bin."""
LEAST: Final = 10
"""Fewest tokens of both samples in a cell; smaller bins join their neighbours."""


def counted(
    paths: Iterable[Sequence[int]], first: int, after: Callable[[int], int], bins: range
) -> Counts:
    """Return the tokens of paths by the state that they were picked in.

    `first` is the state of a path's first token, `after` that which a token leads to, and `bins`
    are the tokens that stand for returns.
    """
    counts = dict[int, npt.NDArray[np.int64]]()
    for path in paths:
        state = first
        for token in path:
            row = counts.setdefault(state, np.zeros(len(bins), np.int64))
            row[token - bins.start] += 1
            state = after(token)
    return counts


def pooled(one: Counts, other: Counts) -> tuple[float, int]:
    """Return the chi-square of two samples and its degrees of freedom, pooled over states."""
    statistic, degrees = 0.0, 0
    for state in sorted(one.keys() & other.keys()):
        cells = _joined(np.stack((one[state], other[state]), axis=1))
        a, b = cells[:, 0], cells[:, 1]
        total_a, total_b = a.sum(), b.sum()
        if len(cells) < 2 or not total_a or not total_b:  # noqa: PLR2004 - nothing to compare
            continue
        gaps = a * np.sqrt(total_b / total_a) - b * np.sqrt(total_a / total_b)
        statistic += float((gaps * gaps / (a + b)).sum())
        degrees += len(cells) - 1
    return statistic, degrees


def _joined(cells: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    found = [np.zeros(2)]
    for cell in cells:
        if found[-1].sum() >= LEAST:
            found.append(np.zeros(2))
        found[-1] = found[-1] + cell
    if len(found) > 1 and found[-1].sum() < LEAST:
        found[-2] = found[-2] + found.pop()
    return np.array(found)
