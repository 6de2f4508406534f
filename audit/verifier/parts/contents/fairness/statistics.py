"""The tests of fairness W1 to W8, computed again in whole numbers, as rows of a recorded run.

Not here: which records a window's cases are (`windows`).

Source: docs/fairness.md of the project, and the papers that it names for each test.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import isqrt, lcm

from audit.verifier.parts.contents.fairness.tables import (
    ENOUGH,
    FLAGGED,
    INSUFFICIENT,
    MILLE,
    NO_TEST,
    NOT_FLAGGED,
    WHOLE_BP,
    JudgedCase,
    Row,
    fisher_p,
    grouped_by,
    holm_of,
    over_bp,
    p_text,
    row_of,
    stratum_of,
)

Dealt = tuple[str, int, Fraction | None]
Part = tuple[str, str, str, int]
"""What is compared: its stratum, its name, its group and the value."""
Shared = tuple[str, str, str, int, str]
"""The same, and what it shares with others of its stratum and group: they are dealt together."""


def rows_of(
    cases: Sequence[JudgedCase], root: bytes, attributes: Sequence[str], deals: int
) -> list[Row]:
    """Return every row of a window but what its attributes without a level say of themselves."""
    rows: list[Row] = []
    for name in attributes:
        if any(case.levels.get(name) for case in cases):
            rows += [*_counts(cases, name), *_deals(cases, root, name, deals)]
            rows += _proxies(cases, root, name, deals)
    tests = [row for row in rows if row["test"] == "W3" and "p_value" in row and "unit" not in row]
    hits = holm_of([Fraction(row["p_value"]) for row in tests])
    for row, hit in zip(tests, hits, strict=True):
        unit = f"Holm over {len(tests)} tests"
        rows.append({**row, "test": "W7", "unit": unit, "finding": FLAGGED if hit else NOT_FLAGGED})
    return rows


def _counts(cases: Sequence[JudgedCase], name: str) -> Iterator[Row]:
    known = [case for case in cases if case.levels.get(name)]
    groups = grouped_by(known, lambda case: case.levels[name])
    yield from _selected(groups, name)
    yield from _disparate(groups, grouped_by(known, lambda case: stratum_of(case, name)), name)
    yield from _accurate(cases, name)
    yield from _equal(cases, name, "verdicts", lambda case: case.rules)
    held = frozenset({"held"})
    yield from _equal(
        cases, name, "holds", lambda case: held if case.result == "held" else frozenset()
    )
    sent = [case for case in cases if case.approved]
    unfilled = frozenset({"not filled"})
    yield from _equal(sent, name, "fills", lambda case: frozenset() if case.filled else unfilled)


def _selected(groups: Mapping[str, Sequence[JudgedCase]], name: str) -> Iterator[Row]:
    """W1: the approval rate of each group, against that of the group with the highest."""
    counts = {group: (len(own), sum(c.approved for c in own)) for group, own in groups.items()}
    large = {group: one for group, one in counts.items() if one[0] >= ENOUGH}
    best = max(large, key=lambda g: (Fraction(large[g][1], large[g][0]), g), default="")
    most = large.get(best)
    for group, (of, approved) in counts.items():
        ratio, p_value = None, None
        if of >= ENOUGH and most is not None and most[1]:
            ratio = WHOLE_BP * approved * most[0] // (of * most[1])
            p_value = Fraction(1) if group == best else fisher_p(approved, of, most[1], most[0])
        finding = INSUFFICIENT
        if ratio is not None and p_value is not None:
            finding = FLAGGED if ratio < 8_000 and p_value < Fraction(1, 20) else NOT_FLAGGED  # noqa: PLR2004 - four fifths
        yield row_of(
            "W1",
            "verdicts",
            name,
            finding,
            group=group,
            cases=of,
            observed=ratio,
            limit=8_000,
            unit="bp of the most approved group's rate",
            p_value=p_text(p_value),
        )


def _disparate(
    groups: Mapping[str, Sequence[JudgedCase]],
    strata: Mapping[str, Sequence[JudgedCase]],
    name: str,
) -> Iterator[Row]:
    """W2: a group's share of the refused less its share of the approved, over the strata."""
    mixed = [own for own in strata.values() if 0 < sum(c.approved for c in own) < len(own)]
    total = sum(map(len, mixed))
    for group, own in groups.items():
        gap = None
        if len(own) >= ENOUGH and total:
            sum_ = Fraction(0)
            for found in mixed:
                yes = [c for c in found if c.approved]
                no = [c for c in found if not c.approved]
                share = Fraction(sum(c.levels[name] == group for c in no), len(no))
                share -= Fraction(sum(c.levels[name] == group for c in yes), len(yes))
                sum_ += share * len(found)
            gap = int(WHOLE_BP * sum_ / total)
        finding = INSUFFICIENT if gap is None else FLAGGED if abs(gap) > 500 else NOT_FLAGGED  # noqa: PLR2004 - bp
        yield row_of(
            "W2",
            "verdicts",
            name,
            finding,
            group=group,
            cases=len(own),
            observed=gap,
            limit=500,
            unit="bp of share refused less share approved",
        )


def _accurate(cases: Sequence[JudgedCase], name: str) -> Iterator[Row]:
    """W4: a group's forecast error and coverage, against the best group's."""
    told = [case for case in cases if case.error is not None]
    if not told:
        why = "no forecast of the window has an outcome on record"
        yield row_of("W4", "forecasts", name, NO_TEST, because=why)
    first: dict[tuple[str, str], JudgedCase] = {}
    for case in told:
        if case.levels.get(name):
            first.setdefault((case.levels[name], case.source), case)
    groups = grouped_by([*first.values()], lambda case: case.levels[name])
    sums = {
        group: (len(own), sum(c.error or 0 for c in own), sum(c.covered for c in own))
        for group, own in groups.items()
    }
    large = [one for one in sums.values() if one[0] >= ENOUGH]
    for group, (count, error, inside) in sums.items():
        worst = None
        if count >= ENOUGH and len(large) > 1:
            worst = max(
                *(over_bp(error * other, least * count) for other, least, _ in large),
                *(over_bp(most * count, inside * other) for other, _, most in large),
            )
        finding = INSUFFICIENT if worst is None else FLAGGED if worst > 12_500 else NOT_FLAGGED  # noqa: PLR2004 - bp
        yield row_of(
            "W4",
            "forecasts",
            name,
            finding,
            group=group,
            cases=count,
            observed=worst,
            limit=12_500,
            unit="bp of the best group's error or coverage",
        )


def _equal(
    cases: Sequence[JudgedCase],
    name: str,
    subject: str,
    hit: Callable[[JudgedCase], frozenset[str]],
) -> Iterator[Row]:
    """W5: whether a rule hits one group more often than all others, with Holm's correction."""
    known = [case for case in cases if case.levels.get(name)]
    groups = grouped_by(known, lambda case: case.levels[name])
    rules = sorted({rule for case in known for rule in hit(case)})
    judged: list[tuple[str, str, int, int, int, int, Fraction]] = []
    for rule in rules:
        every = sum(rule in hit(case) for case in known)
        for group, own in groups.items():
            hits, other = sum(rule in hit(case) for case in own), len(known) - len(own)
            if min(len(own), other) >= ENOUGH:
                p_value = fisher_p(hits, len(own), every - hits, other)
                judged.append((rule, group, hits, len(own), every - hits, other, p_value))
    corrected = holm_of([one[-1] for one in judged])
    rest: list[Fraction] = []
    for (rule, group, hits, count, others, of, p_value), low in zip(judged, corrected, strict=True):
        if not low or hits * of <= others * count:
            rest.append(p_value)
            continue
        yield row_of(
            "W5",
            subject,
            name,
            FLAGGED,
            cases=count,
            group=f"{rule} {group}",
            observed=WHOLE_BP * hits // count,
            limit=WHOLE_BP * others // of,
            unit="bp of intents, against all others",
            p_value=p_text(p_value),
        )
    more: dict[str, object] = {"cases": len(cases)}
    if not rules or not groups:
        why = "nothing of this sort happened in the window"
        yield row_of("W5", subject, name, NO_TEST, **more, because=why)
    elif not judged:
        yield row_of("W5", subject, name, INSUFFICIENT, **more)
    elif rest:
        said = f"{len(rest)} other pairs of rule and group"
        yield row_of(
            "W5", subject, name, NOT_FLAGGED, **more, group=said, p_value=p_text(min(rest))
        )


def _deals(cases: Sequence[JudgedCase], root: bytes, name: str, deals: int) -> Iterator[Row]:
    """W3 of exposures and forecasts, and W7 of the exposures day by day."""
    if name == "side":
        why = "the side is the sign of the exposure"
        yield row_of("W3", "verdicts", name, NO_TEST, cases=len(cases), because=why)
    else:
        asked = [(case, case.exposure) for case in cases]
        yield _dealt_row("verdicts", name, dealt_again(asked, root, name, deals))
        yield _by_day(asked, root, name, deals)
    forecast = [(case, case.expected) for case in cases if case.expected is not None]
    if forecast:
        yield _dealt_row("forecasts", name, dealt_again(_once(forecast, name), root, name, deals))
    else:
        why = "no intent of the window came from a forecast"
        yield row_of("W3", "forecasts", name, NO_TEST, because=why)


def _once(asked: Iterable[tuple[JudgedCase, int]], name: str) -> Iterator[tuple[JudgedCase, int]]:
    """Yield the first case of each forecast in a stratum and group."""
    seen: set[tuple[str, str, str]] = set()
    for case, value in asked:
        place = stratum_of(case, name), case.source, case.levels.get(name, "")
        if place not in seen:
            seen.add(place)
            yield case, value


def _by_day(asked: Sequence[tuple[JudgedCase, int]], root: bytes, name: str, deals: int) -> Row:
    days = sorted({case.day for case, _ in asked})
    product = largest = Fraction(1)
    windows = 0
    for day in days:
        own = [(case, value) for case, value in asked if case.day == day]
        p_value = dealt_again(own, root, name, deals)[2]
        if p_value is not None:
            windows += 1
            root_of_p = isqrt(MILLE * MILLE * p_value.denominator // (4 * p_value.numerator))
            product *= Fraction(root_of_p, MILLE)
            largest = max(largest, product)
    finding = FLAGGED if largest >= 20 else NOT_FLAGGED  # noqa: PLR2004 - Ville's inequality, 1 in 20
    return row_of(
        "W7",
        "verdicts",
        name,
        finding if windows else INSUFFICIENT,
        group=f"{windows} of {len(days)} days",
        cases=len(asked),
        observed=int(largest * MILLE),
        limit=20 * MILLE,
        unit="thousandths of evidence",
    )


def _proxies(cases: Sequence[JudgedCase], root: bytes, name: str, deals: int) -> Iterator[Row]:
    """W6: which features stand for the attribute, and W3 within the levels of each that does."""
    for feature in sorted({feature for case in cases for feature in case.features}):
        told = [(c.features.get(feature, ""), c.levels.get(name, "")) for c in cases]
        cells = Counter(pair for pair in told if all(pair))
        rows, columns = Counter[str](), Counter[str]()
        for (one, other), count in cells.items():
            rows[one] += count
            columns[other] += count
        total, spread = sum(cells.values()), min(len(rows), len(columns)) - 1
        v_bp = None
        if total >= ENOUGH and spread > 0:
            sums = (Fraction(n * n, rows[a] * columns[b]) for (a, b), n in cells.items())
            squared = sum(sums, Fraction(-1)) * WHOLE_BP * WHOLE_BP / spread
            v_bp = isqrt(squared.numerator // squared.denominator)
        finding = INSUFFICIENT if v_bp is None else FLAGGED if v_bp >= 3_000 else NOT_FLAGGED  # noqa: PLR2004 - bp
        yield row_of(
            "W6",
            "verdicts",
            name,
            finding,
            group=feature,
            cases=total,
            observed=v_bp,
            limit=3_000,
            unit="bp of Cramer's V",
        )
        if finding == FLAGGED and name != "side":
            asked = [(case, case.exposure) for case in cases]
            again = dealt_again(asked, root, name, deals, within=feature)
            yield _dealt_row("verdicts", name, again, unit=f"within {feature}")


def dealt_again(
    asked: Iterable[tuple[JudgedCase, int]], root: bytes, name: str, deals: int, within: str = ""
) -> Dealt:
    """Return W3's largest group, number of cases and p value; None where groups are too small."""
    return dealt(
        [
            (stratum_of(case, name, within), case.name, case.levels[name], value, case.source)
            for case, value in asked
            if case.levels.get(name)
        ],
        root,
        deals,
    )


def allotted_row(allotted: Sequence[Part], root: bytes, deals: int) -> Row:
    """W8: whether some client got the better orders, within instrument and day."""
    if not allotted:
        why = "no order of the window was split between clients and has a close"
        return row_of("W8", "allocations", "client", NO_TEST, because=why)
    found = dealt([(*one, one[1]) for one in allotted], root, deals)
    return {**_dealt_row("allocations", "client", found), "test": "W8"}


def dealt(parts: Sequence[Shared], root: bytes, deals: int) -> Dealt:
    """Deal the groups again within strata; see `dealt_again`."""
    strata: dict[str, list[tuple[str, int, str]]] = {}
    for stratum, _, group, value, shared in sorted(parts, key=lambda one: one[:2]):
        strata.setdefault(stratum, []).append((group, value, shared))
    scale = lcm(*map(len, strata.values()))
    together = [_together(own, scale) for own in strata.values()]
    groups = [[group for group, _ in own] for own in together]
    centred = [[value for _, value in own] for own in together]
    sizes = Counter(group for own in groups for group in own)
    names, count = sorted(sizes), sum(sizes.values())
    if len(names) < 2 or min(sizes.values()) < ENOUGH:  # noqa: PLR2004 - two groups to compare
        return "", count, None

    def sums(given: list[list[str]]) -> dict[str, int]:
        found = dict.fromkeys(names, 0)
        for inside, values in zip(given, centred, strict=True):
            for group, value in zip(inside, values, strict=True):
                found[group] += value
        return found

    def deal(number: int) -> list[list[str]]:
        given = []
        for place, own in enumerate(groups):
            said = root[:8] + number.to_bytes(8, "big") + place.to_bytes(8, "big")
            data = hashlib.shake_256(said).digest(8 * len(own))
            order = sorted(range(len(own)), key=lambda n: data[8 * n : 8 * n + 8])
            given.append([own[n] for n in order])
        return given

    first = sums(groups)
    seen = max(map(abs, first.values()))
    hits = sum(max(map(abs, sums(deal(n)).values())) >= seen for n in range(deals))
    largest = next(one for one in names if abs(first[one]) == seen)
    return largest, count, Fraction(1 + hits, 1 + deals)


def _together(own: Sequence[tuple[str, int, str]], scale: int) -> list[tuple[str, int]]:
    """Return group and sum of each shared source: values less their mean, times `scale`."""
    mean = sum(value for _, value, _ in own) * (scale // len(own))
    sums: dict[tuple[str, str], int] = {}
    for group, value, shared in own:
        sums[group, shared] = sums.get((group, shared), 0) + scale * value - mean
    return [(group, value) for (group, _), value in sums.items()]


def _dealt_row(subject: str, name: str, found: Dealt, unit: str = "") -> Row:
    group, count, p_value = found
    if p_value is None:
        return row_of("W3", subject, name, INSUFFICIENT, cases=count, unit=unit)
    return row_of(
        "W3",
        subject,
        name,
        FLAGGED if p_value <= Fraction(1, 100) else NOT_FLAGGED,
        group=group,
        cases=count,
        observed=int(WHOLE_BP * p_value),
        limit=100,
        unit=unit,
        p_value=p_text(p_value),
    )
