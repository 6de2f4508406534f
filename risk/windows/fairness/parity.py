"""W5: does a rule refuse or hold one group's intents more often than the others'?

The gate itself can discriminate: a limit that fits large companies only, a feed that is stale in
one region.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from risk.windows.fairness.cases import ENOUGH, Fairness, FairnessCase, by_group
from risk.windows.fairness.holm import holm
from risk.windows.fairness.tables import fisher


@dataclass(frozen=True, slots=True, kw_only=True)
class Parity:
    """One rule on one group, against all other groups together."""

    rule: str
    group: str
    hits: int
    cases: int
    other_hits: int
    other_cases: int
    p_value: Fraction | None
    finding: Fairness


def parity(cases: Iterable[FairnessCase]) -> tuple[Parity, ...]:
    """Return every rule that hit anything, on every group, with Holm's correction over all."""
    known = tuple(case for case in cases if case.group)
    groups = by_group(known)
    rules = sorted({rule for case in known for rule in case.hit})
    found = [_counted(rule, name, groups[name], known) for rule in rules for name in groups]
    large = [one for one in found if one.p_value is not None]
    flagged = holm([one.p_value for one in large if one.p_value is not None])
    hits = {(one.rule, one.group) for one, is_hit in zip(large, flagged, strict=True) if is_hit}
    return tuple(_with(one, flagged=(one.rule, one.group) in hits) for one in found)


def _counted(
    rule: str, name: str, own: tuple[FairnessCase, ...], known: tuple[FairnessCase, ...]
) -> Parity:
    hits, all_hits = sum(rule in c.hit for c in own), sum(rule in c.hit for c in known)
    other = len(known) - len(own)
    enough = len(own) >= ENOUGH and other >= ENOUGH
    return Parity(
        rule=rule,
        group=name,
        hits=hits,
        cases=len(own),
        other_hits=all_hits - hits,
        other_cases=other,
        p_value=fisher(hits, len(own), all_hits - hits, other) if enough else None,
        finding=Fairness.NOT_FLAGGED if enough else Fairness.INSUFFICIENT,
    )


def _with(one: Parity, *, flagged: bool) -> Parity:
    higher = one.hits * one.other_cases > one.other_hits * one.cases
    if not (flagged and higher):
        return one
    return Parity(
        rule=one.rule,
        group=one.group,
        hits=one.hits,
        cases=one.cases,
        other_hits=one.other_hits,
        other_cases=one.other_cases,
        p_value=one.p_value,
        finding=Fairness.FLAGGED,
    )
