"""All tests of one window, as rows: every test that ran, and why one did not.

Rules:
- Each attribute of the criteria has a row of each test: a test that cannot apply says why.
- Nothing is compared across strata that are not alike: asset class and side, less the attribute.
- A forecast counts once in W4 in each group, and once in W3 in each stratum and group, whatever
  the number of decisions that rest on it; of exposures, W3 deals its decisions together.
- W3 of a window and of each of its days use the same root; W7 combines the days.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from risk.windows.fairness.accuracy import RATIO_MAX_BP, ForecastCase, accuracy
from risk.windows.fairness.cases import Fairness, FairnessCase, once
from risk.windows.fairness.disparity import DISPARITY_BP, disparity
from risk.windows.fairness.exposure import P_MAX, Permutation, permutation
from risk.windows.fairness.holm import holm
from risk.windows.fairness.parity import parity
from risk.windows.fairness.proxies import PROXY_BP, association
from risk.windows.fairness.selection import RATIO_BP, selection
from risk.windows.fairness.sequence import EVIDENCE, combined

WINDOW_DEALS: Final = 1_999
SIDE: Final = "side"
APPROVED, HELD = "approved", "held"
VERDICTS, FORECASTS, HOLDS, FILLS = "verdicts", "forecasts", "holds", "fills"
TOO_FEW: Final = "fewer than 30 cases in a group, or one group only"
SIDE_IS_SIGN: Final = "the side is the sign of the exposure"
_MILLE: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowCase:
    """One decision of the window, with everything that its tests compare.

    Attributes:
        levels: Its level of each attribute; empty or missing if nothing says it.
        features: Its level of each feature that may stand for an attribute.
        result: `approved`, `held` or `rejected`: the first verdict's.
        rules: The rules that held or refused it.
        filled: Whether anything of its order traded.
        expected_1e8: The forecast, log return in 1e-8; None without one.
        error_1e8: How far off the forecast was; None while nobody knows.
        covered: Whether the outcome was inside the forecast's interval.
        forecast: The record of the forecast; None without one.
    """

    decision_id: str
    day: str
    asset_class: str
    levels: Mapping[str, str]
    features: Mapping[str, str]
    result: str
    rules: frozenset[str]
    exposure_bp: int
    filled: bool
    expected_1e8: int | None
    error_1e8: int | None
    covered: bool
    forecast: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FairnessRow:
    """One test of one group, or of an attribute.

    Attributes:
        subject: What was compared: verdicts, forecasts, holds, fills or prompts.
        observed: Measured value in `unit`, and `limit`; None if there is none.
        p_value: As a fraction of whole numbers, or empty.
        because: Why the test did not apply or could not judge.
    """

    test: str
    subject: str
    attribute: str
    group: str = ""
    cases: int = 0
    observed: int | None = None
    limit: int | None = None
    unit: str = ""
    p_value: str = ""
    finding: str = Fairness.DOES_NOT_APPLY.value
    because: str = ""


def window_rows(
    cases: Sequence[WindowCase],
    root: bytes,
    attributes: Sequence[str],
    absent: Mapping[str, str],
    *,
    deals: int = WINDOW_DEALS,
) -> tuple[FairnessRow, ...]:
    """Return every test of every attribute; `absent` says why an attribute has no level."""
    rows: list[FairnessRow] = []
    for name in attributes:
        if not any(case.levels.get(name) for case in cases):
            why = absent.get(name, "no record of the window says it")
            rows.append(FairnessRow(test="W1-W7", subject="", attribute=name, because=why))
            continue
        rows.extend(_counted(cases, name))
        rows.extend(_dealt(cases, root, name, deals))
        rows.extend(_proxied(cases, root, name, deals))
    rows.extend(_together(rows))
    return tuple(rows)


def _counted(cases: Sequence[WindowCase], name: str) -> Iterator[FairnessRow]:
    """Yield W1, W2, W4 of each group, and W5."""
    known = [_case(case, name) for case in cases]
    row = FairnessRow(test="W1", subject=VERDICTS, attribute=name)
    for rate in selection(known):
        yield replace(
            row,
            group=rate.group,
            cases=rate.cases,
            observed=rate.ratio_bp,
            limit=RATIO_BP,
            unit="bp of the most approved group's rate",
            p_value=text_of(rate.p_value),
            **_ended(rate.finding),
        )
    for gap in disparity(known):
        yield replace(
            row,
            test="W2",
            group=gap.group,
            cases=gap.cases,
            observed=gap.disparity_bp,
            limit=DISPARITY_BP,
            unit="bp of share refused less share approved",
            **_ended(gap.finding),
        )
    yield from _forecast_quality(cases, name)
    yield from _parities(known, name, VERDICTS)
    held = [
        replace(_case(c, name), hit=frozenset({HELD} if c.result == HELD else ())) for c in cases
    ]
    yield from _parities(held, name, HOLDS)
    sent = [
        replace(_case(c, name), hit=frozenset(() if c.filled else {"not filled"}))
        for c in cases
        if c.result == APPROVED
    ]
    yield from _parities(sent, name, FILLS)


def _forecast_quality(cases: Sequence[WindowCase], name: str) -> Iterator[FairnessRow]:
    row = FairnessRow(test="W4", subject=FORECASTS, attribute=name)
    judged: dict[tuple[str, int | str], ForecastCase] = {}
    for case in cases:
        if case.error_1e8 is None:
            continue
        found = ForecastCase(
            decision_id=case.decision_id,
            group=case.levels.get(name, ""),
            error_1e8=case.error_1e8,
            covered=case.covered,
        )
        source = case.decision_id if case.forecast is None else case.forecast
        judged.setdefault((found.group, source), found)
    known = tuple(judged.values())
    if not known:
        yield replace(row, because="no forecast of the window has an outcome on record")
    for one in accuracy(known):
        yield replace(
            row,
            group=one.group,
            cases=one.cases,
            observed=one.ratio_bp,
            limit=RATIO_MAX_BP,
            unit="bp of the best group's error or coverage",
            **_ended(one.finding),
        )


def _parities(known: Sequence[FairnessCase], name: str, subject: str) -> Iterator[FairnessRow]:
    """Yield a row for each flagged rule and group, and one that counts the others."""
    found = parity(known)
    row = FairnessRow(test="W5", subject=subject, attribute=name, cases=len(known))
    flagged = [one for one in found if one.finding is Fairness.FLAGGED]
    for one in flagged:
        yield replace(
            row,
            group=f"{one.rule} {one.group}",
            cases=one.cases,
            observed=10_000 * one.hits // one.cases,
            limit=10_000 * one.other_hits // one.other_cases,
            unit="bp of intents, against all others",
            p_value=text_of(one.p_value),
            finding=Fairness.FLAGGED.value,
        )
    judged = [one for one in found if one.p_value is not None and one not in flagged]
    if not found:
        yield replace(row, because="nothing of this sort happened in the window")
    elif not judged and not flagged:
        yield replace(row, finding=Fairness.INSUFFICIENT.value, because=TOO_FEW)
    elif judged:
        least = min(one.p_value for one in judged if one.p_value is not None)
        yield replace(
            row,
            group=f"{len(judged)} other pairs of rule and group",
            p_value=text_of(least),
            finding=Fairness.NOT_FLAGGED.value,
        )


def _dealt(
    cases: Sequence[WindowCase], root: bytes, name: str, deals: int
) -> Iterator[FairnessRow]:
    """Yield W3 of exposures and forecasts, and W7 of the exposures day by day."""
    row = FairnessRow(test="W3", subject=VERDICTS, attribute=name, cases=len(cases))
    if name == SIDE:
        yield replace(row, because=SIDE_IS_SIGN)
    else:
        whole = permutation([_case(case, name) for case in cases], root, deals=deals)
        yield permuted(row, whole)
        yield _by_days(cases, root, name, deals)
    forecast = once(
        replace(_case(case, name), exposure_bp=case.expected_1e8)
        for case in cases
        if case.expected_1e8 is not None
    )
    row = replace(row, subject=FORECASTS, cases=len(forecast))
    if forecast:
        yield permuted(row, permutation(forecast, root, deals=deals))
    else:
        yield replace(row, because="no intent of the window came from a forecast")


def _by_days(cases: Sequence[WindowCase], root: bytes, name: str, deals: int) -> FairnessRow:
    days: dict[str, list[FairnessCase]] = {}
    for case in cases:
        days.setdefault(case.day, []).append(_case(case, name))
    found = combined(permutation(days[day], root, deals=deals).p_value for day in sorted(days))
    return FairnessRow(
        test="W7",
        subject=VERDICTS,
        attribute=name,
        group=f"{found.windows} of {len(days)} days",
        cases=len(cases),
        observed=found.evidence_milli,
        limit=EVIDENCE * _MILLE,
        unit="thousandths of evidence",
        **_ended(found.finding),
    )


def _proxied(
    cases: Sequence[WindowCase], root: bytes, name: str, deals: int
) -> Iterator[FairnessRow]:
    """Yield W6 of each feature, and W3 within the levels of each proxy that was found."""
    for feature in sorted({feature for case in cases for feature in case.features}):
        told = [(c.features.get(feature, ""), c.levels.get(name, "")) for c in cases]
        found = association(feature, told)
        row = FairnessRow(
            test="W6",
            subject=VERDICTS,
            attribute=name,
            group=feature,
            cases=found.cases,
            observed=found.v_bp,
            limit=PROXY_BP,
            unit="bp of Cramer's V",
            **_ended(found.finding),
        )
        yield row
        if found.finding is Fairness.FLAGGED and name != SIDE:
            within = [
                replace(known, stratum=f"{known.stratum} {case.features.get(feature, '')}")
                for case in cases
                for known in (_case(case, name),)
            ]
            again = FairnessRow(
                test="W3", subject=VERDICTS, attribute=name, unit=f"within {feature}"
            )
            yield permuted(again, permutation(within, root, deals=deals))


def _together(rows: Sequence[FairnessRow]) -> Iterator[FairnessRow]:
    """Yield W7's second half: the attributes' permutation tests with Holm's correction."""
    tests = [row for row in rows if row.test == "W3" and row.p_value and not row.unit]
    flagged = holm([Fraction(row.p_value) for row in tests])
    for row, is_hit in zip(tests, flagged, strict=True):
        yield replace(
            row,
            test="W7",
            unit=f"Holm over {len(tests)} tests",
            finding=(Fairness.FLAGGED if is_hit else Fairness.NOT_FLAGGED).value,
        )


def permuted(row: FairnessRow, found: Permutation) -> FairnessRow:
    """Return a row with what a permutation test found."""
    unit = row.unit
    return replace(
        row,
        group=found.group,
        cases=found.cases,
        unit=unit,
        p_value=text_of(found.p_value),
        limit=None if found.p_value is None else int(10_000 * P_MAX),
        observed=None if found.p_value is None else int(10_000 * found.p_value),
        **_ended(found.finding),
    )


def _case(case: WindowCase, name: str) -> FairnessCase:
    side = "" if name == SIDE else case.levels.get(SIDE, "")
    return FairnessCase(
        decision_id=case.decision_id,
        group=case.levels.get(name, ""),
        stratum=f"{case.asset_class} {side}".strip(),
        approved=case.result == APPROVED,
        exposure_bp=case.exposure_bp,
        hit=case.rules,
        forecast=case.forecast,
    )


def _ended(finding: Fairness) -> dict[str, str]:
    because = TOO_FEW if finding is Fairness.INSUFFICIENT else ""
    return {"finding": finding.value, "because": because}


def text_of(p_value: Fraction | None) -> str:
    """Return a p value as text, `3/2000`; long ones rounded up to millionths."""
    if p_value is None:
        return ""
    if p_value.denominator > _LONG:
        return f"{-(-_LONG * p_value.numerator // p_value.denominator)}/{_LONG}"
    return str(p_value)


_LONG: Final = 1_000_000


def flagged(rows: Iterable[FairnessRow]) -> tuple[FairnessRow, ...]:
    """Return the rows that found something."""
    return tuple(row for row in rows if row.finding == Fairness.FLAGGED.value)
