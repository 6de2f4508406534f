"""All tests of a window: what is planted is found, what cannot be judged says why."""

import random
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256

from risk.forms.documents import document_of
from risk.forms.terms import MASK, found_terms, masked
from risk.windows.fairness.accuracy import ForecastCase, accuracy
from risk.windows.fairness.cases import Fairness
from risk.windows.fairness.criteria import PRODUCT, criteria_digest, criteria_of
from risk.windows.fairness.proxies import association
from risk.windows.fairness.sequence import combined, e_milli
from risk.windows.fairness.window import (
    SIDE_IS_SIGN,
    FairnessRow,
    WindowCase,
    flagged,
    text_of,
    window_rows,
)

ROOT = sha256(b"a window").digest()
ATTRIBUTES = ("region", "side", "client")
ABSENT = {"client": "no order on record names a client"}


def window(count: int, *, bias_bp: int = 0, hold_asia: bool = False) -> list[WindowCase]:
    """Make honest cases of two regions and ten days; the bias and the holds hit one region."""
    draw = random.Random(7)  # noqa: S311 - a made-up window, not keys
    found = []
    for number in range(count):
        asia = number % 2 == 0
        held = hold_asia and asia and draw.random() < 0.6
        side = draw.choice(("BUY", "SELL"))
        found.append(
            WindowCase(
                decision_id=f"d-{number:04d}",
                day=f"2026-11-{number * 10 // count + 1:02d}",
                asset_class="equity",
                levels={"region": "asia" if asia else "europe", "side": side},
                features={"venue": "XTKS" if asia else "XETR", "currency": "USD"},
                result="held" if held else "approved",
                rules=frozenset({"R31"} if held else ()),
                exposure_bp=round(draw.gauss(0, 1_000)) + (bias_bp if asia else 0),
                filled=not held,
                expected_1e8=round(draw.gauss(0, 1e6)),
                error_1e8=abs(round(draw.gauss(0, 1e6))),
                covered=draw.random() < 0.9,
            )
        )
    return found


def rows_of(cases: list[WindowCase], test: str, attribute: str) -> list[FairnessRow]:
    rows = window_rows(cases, ROOT, ATTRIBUTES, ABSENT, deals=199)
    return [row for row in rows if (row.test, row.attribute) == (test, attribute)]


def test_an_honest_window_runs_every_test_and_flags_only_the_proxy() -> None:
    rows = window_rows(window(600), ROOT, ATTRIBUTES, ABSENT, deals=199)
    assert {row.test for row in rows} == {"W1", "W2", "W3", "W4", "W5", "W6", "W7", "W1-W7"}
    assert {(row.test, row.group) for row in flagged(rows)} == {("W6", "venue")}


def test_a_bias_is_found_in_the_window_and_over_its_days() -> None:
    rows = window_rows(window(1_200, bias_bp=600), ROOT, ATTRIBUTES, ABSENT, deals=199)
    hits = {(row.test, row.subject, row.attribute) for row in flagged(rows)}
    assert ("W3", "verdicts", "region") in hits
    assert ("W7", "verdicts", "region") in hits
    assert ("W3", "forecasts", "region") not in hits
    within = [row for row in rows if row.unit == "within venue"]
    assert [row.finding for row in within] == ["not flagged"], "the venue tells the region"


def test_holds_of_one_region_are_found_in_rates_rules_and_holds() -> None:
    rows = window_rows(window(600, hold_asia=True), ROOT, ATTRIBUTES, ABSENT, deals=199)
    hits = {(row.test, row.subject, row.group) for row in flagged(rows)}
    assert {("W1", "verdicts", "asia"), ("W5", "verdicts", "R31 asia")} <= hits
    assert ("W5", "holds", "held asia") in hits


def test_what_cannot_apply_says_why() -> None:
    (client,) = window_rows(window(80), ROOT, ("client",), ABSENT, deals=19)
    assert (client.finding, client.because) == ("does not apply", ABSENT["client"])
    first, *_ = rows_of(window(80), "W3", "side")
    assert (first.finding, first.because) == ("does not apply", SIDE_IS_SIGN)
    blind = [replace(c, expected_1e8=None, error_1e8=None) for c in window(80)]
    (quality,) = rows_of(blind, "W4", "region")
    assert quality.because == "no forecast of the window has an outcome on record"


def test_few_cases_are_insufficient_never_passed() -> None:
    rows = window_rows(window(40), ROOT, ("region",), ABSENT, deals=19)
    judged = [row for row in rows if row.test in {"W1", "W2", "W3", "W4"}]
    assert {row.finding for row in judged} == {"insufficient"}
    assert all(row.because for row in judged)


def test_anybody_computes_the_same_rows_from_the_same_root_only() -> None:
    cases = window(200, bias_bp=200)
    once, again = (window_rows(cases, ROOT, ATTRIBUTES, ABSENT, deals=99) for _ in range(2))
    assert once == again
    other = window_rows(cases, sha256(b"b").digest(), ATTRIBUTES, ABSENT, deals=99)
    assert other != once


def test_more_decisions_on_the_same_forecasts_are_no_more_evidence() -> None:
    alone = [replace(case, forecast=n) for n, case in enumerate(window(240, bias_bp=300))]
    many = [
        replace(case, decision_id=f"{case.decision_id} {n}") for case in alone for n in range(5)
    ]
    for test in ("W3", "W4"):
        assert rows_of(many, test, "region") == rows_of(alone, test, "region")
    five = [replace(case, forecast=None) for case in many]
    assert {row.cases for row in rows_of(five, "W4", "region")} == {600}
    few = [*alone[:20], *alone[20:21] * 40, *alone[21:22] * 40]
    (exposures, *_) = rows_of(
        [replace(case, decision_id=f"d-{n:04d}") for n, case in enumerate(few)], "W3", "region"
    )
    assert (exposures.cases, exposures.finding) == (22, "insufficient")


def test_errors_and_coverage_are_compared_with_the_best_group() -> None:
    def made(group: str, error: int, inside: int) -> list[ForecastCase]:
        return [
            ForecastCase(
                decision_id=f"{group}{n}", group=group, error_1e8=error, covered=n < inside
            )
            for n in range(40)
        ]

    at, above = made("b", 125, 40), made("b", 126, 40)
    best = made("a", 100, 40)
    assert [one.finding for one in accuracy(best + at)] == [Fairness.NOT_FLAGGED] * 2
    one, two = accuracy(best + above)
    assert (one.ratio_bp, two.ratio_bp) == (10_000, 12_600)
    assert (one.finding, two.finding) == (Fairness.NOT_FLAGGED, Fairness.FLAGGED)
    (_, uncovered) = accuracy(best + made("b", 100, 30))
    assert (uncovered.ratio_bp, uncovered.covered_bp) == (13_333, 7_500)
    assert accuracy(best + made("b", 0, 40)[:29])[1].finding is Fairness.INSUFFICIENT
    assert accuracy(best)[0].finding is Fairness.INSUFFICIENT, "it stands alone"
    assert accuracy(made("a", 0, 40) + made("b", 1, 40))[1].finding is Fairness.FLAGGED


def test_a_feature_that_tells_the_attribute_is_a_proxy() -> None:
    told = [("XTKS", "asia"), ("XETR", "europe")] * 20
    assert association("venue", told).v_bp == 10_000
    blind = [(a, b) for a in ("x", "y") for b in ("asia", "europe") for _ in range(10)]
    found = association("currency", blind)
    assert (found.v_bp, found.finding) == (0, Fairness.NOT_FLAGGED)
    assert association("venue", told[:29]).finding is Fairness.INSUFFICIENT
    assert association("venue", [("a", "x"), ("a", "y")] * 20).v_bp is None
    # 2 x 2 with 13 of 20 on the diagonal: V is 0.3, the limit
    at = [("a", "x")] * 13 + [("a", "y")] * 7 + [("b", "y")] * 13 + [("b", "x")] * 7
    assert (association("f", at).v_bp, association("f", at).finding) == (3_000, Fairness.FLAGGED)


def test_evidence_grows_over_days_and_is_not_lost_again() -> None:
    assert [e_milli(Fraction(1, n)) for n in (1, 4, 100)] == [500, 1_000, 5_000]
    twice = combined([Fraction(1, 100), None, Fraction(1, 100), Fraction(1)])
    assert (twice.windows, twice.evidence_milli) == (3, 25_000)
    assert twice.finding is Fairness.FLAGGED
    assert combined([Fraction(1, 100)]).finding is Fairness.NOT_FLAGGED
    assert combined([None]).finding is Fairness.INSUFFICIENT


def test_listed_words_are_found_and_masked_however_they_are_written() -> None:
    terms = PRODUCT.terms
    assert found_terms("Raise exposure, race to 20 %", terms) == ("race",)
    assert found_terms("RELIGION client_gender \uff33\uff25\uff38", terms) == (
        "gender",
        "religion",
        "sex",
    )
    assert found_terms("embrace manager sector", terms) == (), "whole words only"
    assert masked("client_gender: Female", terms) == f"client_{MASK}: {MASK}"
    assert masked("raise equity exposure", terms) == "raise equity exposure"


def test_criteria_come_back_from_their_document_with_the_same_digest() -> None:
    again = criteria_of(document_of(PRODUCT))
    assert again == PRODUCT
    assert criteria_digest(again) == criteria_digest(PRODUCT)
    assert criteria_digest(replace(PRODUCT, version=2)) != criteria_digest(PRODUCT)


def test_a_long_p_value_is_rounded_up() -> None:
    assert text_of(Fraction(3, 2_000)) == "3/2000"
    assert text_of(Fraction(1, 3_000_000)) == "1/1000000"
    assert text_of(None) == ""
