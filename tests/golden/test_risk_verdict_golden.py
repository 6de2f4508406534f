"""One verdict, fixed for ever: the same bytes in any process, locale, time zone and hash seed."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from risk.evaluate import evaluate
from risk.forms.canonical import canonical_bytes
from risk.verdict import Verdict, is_intact, verdict_document
from tests.doubles.risk_cases import PLAYBACK, busy_book, intent_with, state_with

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = (
    "import locale; locale.setlocale(locale.LC_ALL, '')\n"
    "from tests.golden.test_risk_verdict_golden import busy_verdict\n"
    "print(busy_verdict().verdict_digest)\n"
)


def busy_verdict() -> Verdict:
    """A verdict with passes, warnings, breaches and waived checks."""
    intent = intent_with(directional=True, qty_lots=1_500)
    return evaluate(PLAYBACK, state_with(book=busy_book()), intent)


def test_a_verdict_keeps_its_bytes(golden: Callable[[str, bytes], None]) -> None:
    verdict = busy_verdict()
    assert is_intact(verdict)
    golden("risk_verdict.json", canonical_bytes(verdict_document(verdict)) + b"\n")


@pytest.mark.parametrize(
    ("seed", "language", "zone"),
    [("1", "C", "UTC"), ("4242", "C.UTF-8", "Asia/Tokyo"), ("random", "POSIX", "America/New_York")],
)
def test_a_verdict_is_the_same_in_another_process(seed: str, language: str, zone: str) -> None:
    environment = {
        **os.environ,
        "PYTHONHASHSEED": seed,
        "LC_ALL": language,
        "TZ": zone,
        "PYTHONPATH": str(ROOT),
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == busy_verdict().verdict_digest
