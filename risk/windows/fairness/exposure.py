"""W3: does signed exposure differ by group, within strata? A permutation test.

The statistic is the largest absolute sum, over the groups, of exposures less their stratum's mean.
The groups are dealt again within each stratum; p is the share of the deals, with this one, whose
statistic is at least as large. Everything is whole numbers.

Rules:
- Cases of one forecast in a stratum and group are dealt together, and count as one: they are no
  evidence apart.
- The seed is the first eight bytes of the window's ledger root: nobody chooses it, and anybody
  deals the same again.
- Deal `b` orders what is dealt of each stratum by eight-byte keys, big-endian, from SHAKE-256 over
  seed, deal and stratum's number (eight bytes each); equal keys keep their order.

Source: Phipson and Smyth, "Permutation p-values should never be zero" (2010).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from hashlib import shake_256
from math import lcm
from typing import Final

from risk.windows.fairness.cases import ENOUGH, Fairness, FairnessCase, once

DEALS: Final = 9_999
P_MAX: Final = Fraction(1, 100)
_WORD: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Permutation:
    """What the test found; `group` has the largest sum. p is None where groups are too small.

    `cases` counts those of one forecast once.
    """

    group: str
    cases: int
    deals: int
    seed: str
    at_least: int
    p_value: Fraction | None
    finding: Fairness


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stratum:
    groups: list[int]
    centred: list[int]


def permutation(cases: Iterable[FairnessCase], root: bytes, *, deals: int = DEALS) -> Permutation:
    """Return the test of one window; `root` is the ledger's root at its end, 32 bytes."""
    known = sorted((c for c in cases if c.group), key=lambda c: (c.stratum, c.decision_id))
    names = sorted({case.group for case in known})
    seed = root[:_WORD]
    counted = once(known)
    sizes = [sum(case.group == name for case in counted) for name in names]
    if len(names) < 2 or min(sizes) < ENOUGH:  # noqa: PLR2004 - two groups to compare
        return Permutation(
            group="",
            cases=len(counted),
            deals=0,
            seed=seed.hex(),
            at_least=0,
            p_value=None,
            finding=Fairness.INSUFFICIENT,
        )
    strata = _strata(known, {name: place for place, name in enumerate(names)})
    sums = _sums([one.groups for one in strata], strata, len(names))
    seen = max(map(abs, sums))
    at_least = sum(_dealt(strata, seed, deal, len(names)) >= seen for deal in range(deals))
    p_value = Fraction(1 + at_least, 1 + deals)
    return Permutation(
        group=names[[abs(one) for one in sums].index(seen)],
        cases=len(counted),
        deals=deals,
        seed=seed.hex(),
        at_least=at_least,
        p_value=p_value,
        finding=Fairness.FLAGGED if p_value <= P_MAX else Fairness.NOT_FLAGGED,
    )


def _strata(known: list[FairnessCase], places: dict[str, int]) -> list[_Stratum]:
    """Return exposures less their stratum's mean, all times one number that makes them whole.

    Those of one forecast in a group are summed.
    """
    found: dict[str, list[FairnessCase]] = {}
    for case in known:
        found.setdefault(case.stratum, []).append(case)
    scale = lcm(*map(len, found.values()))
    strata = []
    for inside in found.values():
        total, each = sum(c.exposure_bp for c in inside), scale // len(inside)
        sums = dict.fromkeys((c.source for c in inside), 0)
        for case in inside:
            sums[case.source] += scale * case.exposure_bp - total * each
        strata.append(
            _Stratum(
                groups=[places[c.group] for c in once(inside)],
                centred=[*sums.values()],
            )
        )
    return strata


def _sums(groups: Iterable[list[int]], strata: list[_Stratum], count: int) -> list[int]:
    sums = [0] * count
    for inside, stratum in zip(groups, strata, strict=True):
        for group, value in zip(inside, stratum.centred, strict=True):
            sums[group] += value
    return sums


def _dealt(strata: list[_Stratum], seed: bytes, deal: int, count: int) -> int:
    dealt = []
    for number, stratum in enumerate(strata):
        size = len(stratum.groups)
        named = seed + deal.to_bytes(_WORD, "big") + number.to_bytes(_WORD, "big")
        data = shake_256(named).digest(_WORD * size)
        keys = [data[n : n + _WORD] for n in range(0, _WORD * size, _WORD)]
        order = sorted(range(size), key=keys.__getitem__)
        dealt.append([stratum.groups[place] for place in order])
    return max(map(abs, _sums(dealt, strata, count)))
