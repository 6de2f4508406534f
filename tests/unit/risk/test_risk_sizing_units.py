"""Sizing in an instrument's own units, exact to the last digit, and its document field by field."""

from dataclasses import fields, replace
from typing import Any

import pytest

from risk.errors import DocumentError
from risk.forms.documents import document_of, value_of
from risk.sizing import (
    ONE_1E8,
    Sizing,
    SizingReason,
    size,
    size_exposure,
)
from tests.doubles.risk_cases import (
    EQUITY,
    FORECAST,
    PLAYBACK,
    QUOTE,
    SPXN,
    bought,
    fold,
    policy_with,
)


def test_an_uncapped_exposure_is_the_exact_ratio_rounded_down() -> None:
    policy = policy_with(
        sizing__target_vol=10_000, sizing__risk_share=10_000, sizing__steps_per_year=1
    ).sizing
    for vol in (170_000, 1_000_000, 3):
        forecast = replace(FORECAST, step_vol_1e8=vol)
        sizing = size(policy, forecast, fold(), SPXN, QUOTE, EQUITY)
        assert sizing.vol_year_1e8 == vol
        assert sizing.uncapped_bp == 10**12 // vol
    assert ONE_1E8 == 10**8


def test_a_lot_of_many_units_is_sized_by_its_whole_value() -> None:
    shares = replace(SPXN, tick_minor=5, lot=10, multiplier=2)
    one = size_exposure(PLAYBACK.sizing, 3_000, fold(), SPXN, QUOTE, EQUITY)
    hundred = size_exposure(PLAYBACK.sizing, 3_000, fold(), shares, QUOTE, EQUITY * 100)
    assert hundred.delta_qty == one.delta_qty == 3_000 * EQUITY // (10_000 * 26_958)
    small = size_exposure(PLAYBACK.sizing, 3_000, fold(), shares, QUOTE, EQUITY)
    assert small.delta_qty == 3_000 * EQUITY // (10_000 * 26_958 * 100)
    capped = size(
        PLAYBACK.sizing, replace(FORECAST, step_vol_1e8=1), fold(), shares, QUOTE, EQUITY * 100
    )
    assert capped.delta_qty == 20_000_000 // (26_969 * 100)
    assert (capped.target_exposure_bp, capped.limit_ticks) == (5_000, 26_969)


def test_a_sizing_survives_its_document_field_by_field() -> None:
    names = [f.name for f in fields(Sizing)]
    base = size_exposure(PLAYBACK.sizing, 3_000, fold(), SPXN, QUOTE, EQUITY)
    numbers = [name for name in names if isinstance(getattr(base, name), int)]
    values: dict[str, Any] = {name: 10 + place for place, name in enumerate(numbers)}
    odd = replace(base, **values)
    assert list(document_of(odd)) == names
    assert value_of(Sizing, document_of(odd)) == odd
    for name in names[:-1]:  # a sizing without budgets is a whole one
        with pytest.raises(DocumentError):
            value_of(Sizing, {**document_of(odd), name: None})


@pytest.mark.parametrize("held", [-3, 3])
def test_a_forecast_too_wild_for_any_exposure_ends_a_long_and_a_short(held: int) -> None:
    """Flat is flat: three lots are far inside the band, and go all the same."""
    wild = replace(FORECAST, step_vol_1e8=10**12)
    sizing = size(PLAYBACK.sizing, wild, fold(bought(held)), SPXN, QUOTE, EQUITY)
    assert (sizing.target_exposure_bp, sizing.current_exposure_bp) == (0, 8 * (held // 3))
    assert (sizing.delta_qty, sizing.reason) == (-held, SizingReason.ORDER)
    flat = size(PLAYBACK.sizing, wild, fold(), SPXN, QUOTE, EQUITY)
    assert (flat.delta_qty, flat.reason) == (0, SizingReason.INSIDE_NO_TRADE_BAND)


def test_a_limit_never_falls_below_one_tick() -> None:
    cheap = replace(QUOTE, bid_ticks=8, ask_ticks=9)
    for bid, limit in ((8, 1), (11, 1), (12, 2)):
        quote = replace(cheap, bid_ticks=bid, ask_ticks=bid + 1)
        sold = size_exposure(PLAYBACK.sizing, 0, fold(bought(30)), SPXN, quote, EQUITY)
        assert (sold.delta_qty, sold.limit_ticks) == (-30, limit)
