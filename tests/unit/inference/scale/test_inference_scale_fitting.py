"""The door to `arch`: its own variances on real data, equal in every process, blind to the future.

The series are those that `arch` carries.
"""

import dataclasses
import json
import math
import os
import subprocess
import sys
from functools import cache
from importlib import import_module
from itertools import pairwise

import arch
import numpy as np
import pytest

from inference.errors import ScaleError
from inference.scale import fitting
from inference.scale.fitted import NO_FIT, fit_document
from inference.scale.fitting import FITTER, Fits, fit_law, fit_scale
from inference.scale.law import conditional_variances
from inference.scale.moving import scales_of
from inference.scale.ranges import range_variance
from inference.scale.schedule import BURN_IN, FIT_MIN, quarter_start_us
from tests.doubles.market_cases import DAY_US, FIRST_CLOSE_US


@cache
def real_returns(name: str, column: str) -> tuple[float, ...]:
    closes = [float(v) for v in import_module(f"arch.data.{name}").load()[column]]
    return tuple(math.log(after / before) for before, after in pairwise(closes))


@pytest.mark.parametrize("leverage", [False, True])
@pytest.mark.parametrize("name", ["sp500", "nasdaq"])
def test_the_recursion_gives_archs_own_variances(name: str, leverage: bool) -> None:  # noqa: FBT001
    returns = real_returns(name, "Adj Close")[:1500]
    law = fit_law(returns, leverage=leverage)
    assert law is not None
    model = arch.arch_model(
        100.0 * np.asarray(returns), vol="GARCH", p=1, o=int(leverage), q=1, dist="t", rescale=False
    )
    middle = [law.gamma] if leverage else []
    fixed = model.fix(
        [100.0 * law.mean, 1e4 * law.omega, law.alpha, *middle, law.beta, law.nu]
    ).conditional_volatility
    theirs = [float(v / 100.0) ** 2 for v in fixed]
    ours = conditional_variances(law, returns, theirs[0])[:-1]
    assert ours == pytest.approx(theirs, rel=1e-9)


def test_fixed_start_values_reach_archs_own_optimum() -> None:
    returns = real_returns("sp500", "Adj Close")[1000:3000]
    law = fit_law(returns, leverage=True)
    assert law is not None
    model = arch.arch_model(100.0 * np.asarray(returns), p=1, o=1, q=1, dist="t", rescale=False)
    own = model.fit(disp="off")
    at_ours = model.fix([100.0 * law.mean, 1e4 * law.omega, law.alpha, law.gamma, law.beta, law.nu])
    assert at_ours.loglikelihood == pytest.approx(own.loglikelihood, abs=0.05)
    assert law.gamma > 0.05  # falls raise the S&P 500's volatility more than rises


def test_a_fit_depends_on_its_own_returns_only() -> None:
    returns = real_returns("nasdaq", "Adj Close")
    one = fit_scale(returns[:800], [None] * 800, fitted_us=1, digest="d")
    other = fit_scale([*returns, 0.5][:800], [None] * 800, fitted_us=1, digest="d")
    assert one == other
    assert one.fitter == FITTER
    assert (one.n_returns, one.garch.gamma) == (800, 0.0)


def test_two_processes_fit_the_same_bits() -> None:
    program = (
        "import json, sys; from inference.scale.fitting import fit_scale; "
        "from inference.scale.fitted import fit_document; "
        "r = [float.fromhex(v) for v in json.load(sys.stdin)]; "
        "print(json.dumps(fit_document(fit_scale(r, [v * v for v in r], fitted_us=1, digest='d'))))"
    )
    returns = real_returns("sp500", "Adj Close")[:600]
    told = json.dumps([value.hex() for value in returns])
    answers = {
        subprocess.run(
            [sys.executable, "-c", program],
            input=told,
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    squares = [value * value for value in returns]
    own = json.dumps(fit_document(fit_scale(returns, squares, fitted_us=1, digest="d"))) + "\n"
    assert answers == {own}


def test_a_fit_that_ends_badly_is_tried_from_another_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the starts is too far for the iterations allowed; the next is where the law is."""
    returns = real_returns("sp500", "Adj Close")[:600]
    law = fit_law(returns, leverage=True)
    assert law is not None
    far, near = (0.9, 0.0, 0.0999, 2.06), (law.alpha, law.gamma, law.beta, law.nu)
    monkeypatch.setattr(fitting, "_ITERATIONS", 12)
    for starts, fitted in (((far,), False), ((far, near), True), ((near,), True)):
        monkeypatch.setattr(fitting, "_STARTS", starts)
        assert (fit_law(returns, leverage=True) is not None) is fitted
    monkeypatch.undo()
    assert len(fitting._STARTS) > 1  # noqa: SLF001 - the promise is about what is shipped


def test_default_laws_keep_the_law_of_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    """The law of ranges needs no optimiser, and is worth as much as a fit."""
    whole, ranged = real_bars()
    returns, found = whole[:600], ranged[:600]
    monkeypatch.setattr(fitting, "_STARTS", ())
    fit = fit_scale(returns, found, fitted_us=1, digest="d")
    assert fit.fitter == NO_FIT
    assert fit.ranges is not None
    assert scales_of(fit, returns, found)[-1].sigma > 0.0
    still = fit_scale([0.0] * FIT_MIN, [1e-4] * FIT_MIN, fitted_us=1, digest="d")
    assert (still.fitter, still.ranges) == (NO_FIT, None)


def test_too_short_or_flat_a_series_gets_the_default_laws() -> None:
    returns = real_returns("sp500", "Adj Close")[: FIT_MIN - 1]
    none = [None] * FIT_MIN
    assert fit_scale(returns, none[1:], fitted_us=1, digest="d").fitter == NO_FIT
    assert fit_scale([0.0] * FIT_MIN, none, fitted_us=1, digest="d").fitter == NO_FIT
    assert fit_law([math.nan] * FIT_MIN, leverage=True) is None


def test_the_fit_in_force_uses_the_bars_before_the_quarter_and_nothing_else() -> None:
    returns = real_returns("sp500", "Adj Close")[:700]
    closes = [FIRST_CLOSE_US + index * DAY_US for index in range(701)]
    fit = Fits().before(closes, returns, [None] * len(returns), 700)
    start = quarter_start_us(closes[700])
    assert fit.fitter == FITTER
    assert fit.fitted_us == max(close for close in closes if close < start)
    assert fit.n_returns == closes.index(fit.fitted_us)
    later = [value + 0.01 for value in returns[fit.n_returns :]]
    bent = [*returns[: fit.n_returns], *later]
    assert Fits().before(closes, bent, [None] * 700, 700) == fit
    assert Fits().before(closes, returns, [None] * len(returns), 699) == fit


def test_the_same_returns_are_estimated_once() -> None:
    returns = real_returns("sp500", "Adj Close")[:400]
    closes = [FIRST_CLOSE_US + index * DAY_US for index in range(401)]
    fits = Fits()
    assert fits.before(closes, returns, [None] * 400, 399) is fits.before(
        closes, returns, [None] * 400, 400
    )


def test_a_young_series_has_default_laws_of_all_it_has() -> None:
    returns = real_returns("sp500", "Adj Close")[:60]
    closes = [FIRST_CLOSE_US + index * DAY_US for index in range(61)]
    young = Fits().before(closes, returns, [None] * len(returns), 20)
    assert (young.fitter, young.n_returns, young.fitted_us) == (NO_FIT, 20, closes[20])
    with pytest.raises(ScaleError):
        Fits().before(closes[:1], [], [], 0)


@cache
def real_bars() -> tuple[list[float], list[float | None]]:
    """Returns of the S&P 500 and the range variance of each bar."""
    frame = import_module("arch.data.sp500").load()
    columns = [[float(v) for v in frame[name]] for name in ("Open", "High", "Low", "Close")]
    rows = list(zip(*columns, strict=True))
    returns = [math.log(after[3] / before[3]) for before, after in pairwise(rows)]
    found = [range_variance(r, *row) for r, row in zip(returns, rows[1:], strict=True)]
    return returns, found


def test_ranges_tell_the_next_bars_variance_better_than_returns_alone() -> None:
    returns, found = real_bars()
    learnt = fit_scale(returns[:2000], found[:2000], fitted_us=1, digest="d")
    law = learnt.ranges
    assert law is not None
    assert 0.6 < law.day + law.week + law.month < 1.0
    assert law.moved > 0.0 > law.fall  # large moves and falls come with wide ranges
    judged = slice(2000, 4000)
    losses = []
    for fit in (learnt, dataclasses.replace(learnt, ranges=None)):
        scales = scales_of(fit, returns[:4000], found[:4000])[:-1]
        sigmas = [scale.sigma for scale in scales[judged.start - BURN_IN :]]
        pairs = zip(returns[judged], sigmas, strict=True)
        losses.append(math.fsum(2.0 * math.log(s) + (r / s) ** 2 for r, s in pairs) / 2000)
    assert losses[0] < losses[1] - 0.01


def test_few_ranges_are_none() -> None:
    returns, found = real_bars()
    thin = [value if i % 2 else None for i, value in enumerate(found[:600])]
    assert fit_scale(returns[:600], thin, fitted_us=1, digest="d").ranges is None


def test_a_path_goes_on_as_if_its_bars_had_the_ranges_that_returns_let_expect() -> None:
    returns, found = real_bars()
    fit = fit_scale(returns[:2000], found[:2000], fitted_us=1, digest="d")
    state = scales_of(fit, returns[:2000], found[:2000])[-1]
    calm, wild = state.after(0.1 * state.sigma), state.after(-4.0 * state.sigma)
    assert calm.sigma < state.sigma < wild.sigma
    assert wild.sigma > state.after(4.0 * state.sigma).sigma
    bad = state.after(0.0, 9.0)  # a print that is off by a factor
    assert bad.sigma < 4.0 * state.sigma
