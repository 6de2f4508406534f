"""The measured power of the permutation test is that of its code, and the page says so."""

import re
from dataclasses import replace

from risk.windows.fairness.cases import by_group
from scripts.bench_fairness import (
    BIAS_BP,
    BIASED,
    PAGE,
    REGIONS,
    SIGMA_BP,
    Power,
    biased,
    measure,
    window,
)


def test_bias_is_a_third_of_sigma_on_one_region_only() -> None:
    honest = window(3, 600)
    assert sorted(by_group(honest)) == sorted(REGIONS)
    for before, after in zip(honest, biased(honest), strict=True):
        added = BIAS_BP if before.group == BIASED else 0
        assert after == replace(before, exposure_bp=before.exposure_bp + added)
    assert 100 * BIAS_BP == 35 * SIGMA_BP


def test_few_windows_are_found_and_named() -> None:
    power = measure(2, 2_000, 199)
    assert (power.found, power.named) == (2, 2)


def test_bars_fail_one_window_beyond_them() -> None:
    met = Power(windows=100, found=90, named=90, false=4)
    assert met.meets_bars
    assert not replace(met, found=89).meets_bars
    assert not replace(met, false=5).meets_bars


def test_page_shows_figures_that_meet_the_bars() -> None:
    page = PAGE.read_text(encoding="utf-8")
    found, named = map(int, re.findall(r"with the bias \| (\d+); (\d+) named", page)[0])
    false = int(re.findall(r"without it \| (\d+) \|", page)[0])
    assert named <= found
    assert Power(windows=100, found=found, named=named, false=false).meets_bars
