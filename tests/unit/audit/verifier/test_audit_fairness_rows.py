"""The verifier's own tests of fairness give the product's rows, whatever the window."""

import random
from dataclasses import asdict
from functools import cache
from hashlib import sha256
from typing import Any

import pytest

from audit.verifier import verify
from audit.verifier.verify import JudgedCase, rows_of
from risk.windows.allocation import Allotted, allotted_row
from risk.windows.fairness.window import FairnessRow, WindowCase, window_rows

ATTRIBUTES = ("region", "sector", "side", "agent", "client")
DEALS = 299


def drawn(seed: int, count: int) -> list[WindowCase]:
    """Return a window of two or three regions with planted and honest differences.

    Of every second seed, up to four decisions rest on one forecast.
    """
    draw = random.Random(seed)  # noqa: S311 - a made-up window, not keys
    regions = ["asia", "europe", "america"][: draw.randint(1, 3)]
    bias, held_share = draw.choice((0, 350, 2_000)), draw.choice((0.0, 0.1, 0.6))
    found = []
    for number in range(count):
        region = draw.choice(regions)
        first = region == regions[0]
        held = first and draw.random() < held_share
        refused = not held and draw.random() < draw.choice((0.0, 0.2))
        hits = {"R31"} if held else {draw.choice(("R04", "R07"))} if refused else set()
        told = draw.random() < 0.8
        found.append(
            WindowCase(
                decision_id=f"d-{number:04d}",
                day=f"2026-11-{number * 4 // count + 1:02d}",
                asset_class=draw.choice(("equity", "index", "")),
                levels={
                    "region": region if draw.random() < 0.97 else "",
                    "sector": draw.choice(("bank", "oil")),
                    "side": draw.choice(("BUY", "SELL")),
                    "agent": draw.choice(("one", "two")),
                },
                features={
                    "venue": {"asia": "XTKS"}.get(region, "XETR"),
                    "currency": draw.choice(("USD", "EUR")),
                },
                result="held" if held else "rejected" if refused else "approved",
                rules=frozenset(hits),
                exposure_bp=round(draw.gauss(0, 1_000)) + (bias if first else 0),
                filled=draw.random() < 0.7,
                expected_1e8=round(draw.gauss(0, 1e6)) if told else None,
                error_1e8=abs(round(draw.gauss(0, 1e6 * (2 if first else 1)))) if told else None,
                covered=draw.random() < 0.9,
                forecast=number // draw.choice((1, 4)) if told and seed % 2 else None,
            )
        )
    return found


def of_verifier(case: WindowCase) -> JudgedCase:
    return JudgedCase(
        name=case.decision_id,
        day=case.day,
        asset_class=case.asset_class,
        levels=case.levels,
        features=case.features,
        result=case.result,
        rules=case.rules,
        exposure=case.exposure_bp,
        filled=case.filled,
        expected=case.expected_1e8,
        error=case.error_1e8,
        covered=case.covered,
        forecast=case.forecast,
    )


def short(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None and value != ""}


def root_of(seed: int) -> bytes:
    return sha256(f"root {seed}".encode()).digest()


@cache
def products(seed: int, count: int) -> tuple[FairnessRow, ...]:
    """Return the product's rows of a window; both tests of them take a second each."""
    return window_rows(drawn(seed, count), root_of(seed), ATTRIBUTES, {}, deals=DEALS)


@pytest.mark.parametrize("count", [3, 60, 240, 400])
@pytest.mark.parametrize("seed", range(6))
def test_the_verifier_gives_the_products_rows(seed: int, count: int) -> None:
    product = [short(asdict(row)) for row in products(seed, count) if row.test != "W1-W7"]
    cases = [of_verifier(case) for case in drawn(seed, count)]
    assert rows_of(cases, root_of(seed), ATTRIBUTES, DEALS) == product


def test_the_windows_reach_every_finding_of_every_test() -> None:
    found = {(row.test, row.finding) for seed in range(6) for row in products(seed, 400)}
    assert {(f"W{n}", "flagged") for n in range(1, 8)} <= found
    assert {(f"W{n}", "not flagged") for n in range(1, 8)} <= found


def test_another_root_deals_otherwise() -> None:
    cases = [of_verifier(case) for case in drawn(2, 400)]
    one, other = (rows_of(cases, sha256(said).digest(), ATTRIBUTES, DEALS) for said in (b"a", b"b"))
    assert one != other


@pytest.mark.parametrize("count", [0, 20, 200])
@pytest.mark.parametrize("seed", range(4))
def test_the_verifier_gives_the_products_row_of_allotted_orders(seed: int, count: int) -> None:
    draw = random.Random(seed)  # noqa: S311 - a made-up window, not keys
    allotted = [
        Allotted(
            decision_id=f"d-{number:04d}",
            client=draw.choice(("alpha", "beta", "gamma")[: 2 + seed % 2]),
            stratum=f"SPXN day {draw.randrange(4)}",
            gain_bp=draw.randrange(-60, 60) + 20 * (number % 2),
        )
        for number in range(count)
    ]
    root = sha256(f"root {seed}".encode()).digest()
    parts = [
        (one.stratum, f"{one.decision_id} {one.client}", one.client, one.gain_bp)
        for one in allotted
    ]
    product = short(asdict(allotted_row(allotted, root, deals=DEALS)))
    assert verify.allotted_row(parts, root, DEALS) == product


def test_a_decision_is_judged_by_the_forecast_that_it_names() -> None:
    """Two decisions name one forecast, a third names none; the newest one is nobody's."""
    intent = {"instrument": "SPXN"}

    def said(seq: int, kind: str, stream: str, **body: Any) -> verify.Told:  # noqa: ANN401 - any field of a payload
        return (seq, kind, stream, 0, body)

    told = [
        said(0, "forecast_made", "forecast/A.0", forecast={"as_of_us": 1, "horizon": 1}),
        said(1, "forecast_made", "forecast/B.0", forecast={"as_of_us": 2, "horizon": 1}),
        said(2, "forecast_taken", "decision/d1", of_seq=0),
        said(3, "verdict_given", "decision/d1", account="acc", intent=intent, result="approved"),
        said(4, "forecast_taken", "decision/d2", of_seq=0),
        said(5, "verdict_given", "decision/d2", account="acc", intent=intent, result="approved"),
        said(6, "forecast_taken", "decision/d3"),
        said(7, "verdict_given", "decision/d3", account="acc", intent=intent, result="approved"),
    ]
    found = verify.cases_of(told, "1970-01-01", "1970-01-01")
    named = {name: one.forecast and one.forecast["as_of_us"] for name, one in found.items()}
    assert named == {"decision/d1": 1, "decision/d2": 1, "decision/d3": None}
