"""Sizing against a second implementation, in exact fractions, over many worlds."""

import json
from dataclasses import fields, replace
from fractions import Fraction
from math import isqrt, trunc

from hypothesis import given
from hypothesis import strategies as st

from risk.forms.documents import document_of, value_of
from risk.intent import Side, TimeInForce
from risk.sizing import (
    Sizing,
    SizingBasis,
    SizingReason,
    size,
    size_exposure,
    to_intent,
)
from risk.state.book import Book
from risk.state.state import Quote
from tests.doubles.risk_cases import FORECAST, QUOTE, SPXN, bought, fold, policy_with, reserved

BP = 10_000
prices = st.integers(-1, 60_000) | st.just(26_958)
equities = st.integers(-10, 10**10) | st.just(100_000_000)
positions = st.integers(-3_000, 3_000)


def world(position: int, buys: int, sells: int) -> Book:
    events = [bought(position, 26_900)] if position else []
    book = fold(*events)
    if buys:
        book = fold(reserved("b", buys), book=book)
    return fold(reserved("s", -sells), book=book) if sells else book


def oracle(  # noqa: PLR0913, PLR0917 - what sizing sees
    basis: SizingBasis,
    vol: int,
    uncapped: int,
    target_bp: int,
    band: int,
    step: int | None,
    allowance: int,
    current: int,
    quote: Quote,
    min_qty: int,
    equity: int,
) -> Sizing:
    """Say what the order is, in the plainest way."""
    nothing = Sizing(
        instrument="SPXN",
        basis=basis,
        vol_year_1e8=vol,
        uncapped_bp=uncapped,
        target_exposure_bp=target_bp,
        current_exposure_bp=0,
        equity_minor=equity,
        current_lots=current,
        target_lots=current,
        wanted_lots=0,
        delta_qty=0,
        limit_ticks=0,
        reason=SizingReason.NO_VOLATILITY,
    )
    if basis is SizingBasis.VOLATILITY and vol == 0:
        return nothing
    if min(quote.bid_ticks, quote.ask_ticks) <= 0:
        return replace(nothing, reason=SizingReason.NO_PRICE)
    if equity <= 0:
        return replace(nothing, reason=SizingReason.NO_EQUITY)
    mid = Fraction(quote.bid_ticks + quote.ask_ticks, 2)
    now_bp = trunc(current * mid * BP / equity)
    aimed = trunc(Fraction(target_bp * equity, BP) / mid)
    wanted = aimed - current
    limit = quote.ask_ticks + allowance if wanted > 0 else max(1, quote.bid_ticks - allowance)
    lots, reason = abs(wanted), SizingReason.ORDER
    if step is not None and lots > (most := step // max(limit, quote.ask_ticks, quote.bid_ticks)):
        lots, reason = most, SizingReason.ORDER_CAPPED_AT_STEP
    lots -= lots % min_qty
    if abs(target_bp - now_bp) < band and not (target_bp == 0 and current != 0):
        lots, reason = 0, SizingReason.INSIDE_NO_TRADE_BAND
    elif lots == 0:
        reason = SizingReason.LESS_THAN_SMALLEST_ORDER
    return replace(
        nothing,
        current_exposure_bp=now_bp,
        target_lots=aimed,
        wanted_lots=wanted,
        delta_qty=lots if wanted > 0 else -lots,
        limit_ticks=limit if lots else 0,
        reason=reason,
    )


@given(
    vol=st.integers(1, 20_000_000),
    position=positions,
    buys=st.integers(0, 900),
    sells=st.integers(0, 900),
    bid=prices,
    spread=st.integers(-5, 50),
    equity=equities,
    min_qty=st.sampled_from([1, 1, 10, 100]),
    allowance=st.sampled_from([0, 10, 30_000]),
    band=st.sampled_from([0, 250, 2_000]),
)
def test_the_overlay_sizes_as_the_second_implementation(  # noqa: PLR0913, PLR0917 - a world
    vol: int,
    position: int,
    buys: int,
    sells: int,
    bid: int,
    spread: int,
    equity: int,
    min_qty: int,
    allowance: int,
    band: int,
) -> None:
    policy = policy_with(sizing__no_trade_band=band, sizing__limit_allowance=allowance).sizing
    quote = replace(QUOTE, bid_ticks=bid, ask_ticks=bid + spread)
    instrument = replace(SPXN, min_qty=min_qty)
    forecast = replace(FORECAST, step_vol_1e8=vol)
    found = size(policy, forecast, world(position, buys, sells), instrument, quote, equity)
    year = isqrt(vol * vol * policy.steps_per_year.value)
    uncapped = (policy.target_vol.value * 10_000) * policy.risk_share.value // year
    assert found == oracle(
        SizingBasis.VOLATILITY,
        year,
        uncapped,
        min(uncapped, policy.exposure_max.value),
        band,
        policy.order_notional_max.value,
        allowance,
        position + buys - sells,
        quote,
        min_qty,
        equity,
    )
    assert value_of(Sizing, json.loads(json.dumps(document_of(found)))) == found
    check_intent(found)


@given(
    wish=st.integers(-30_000, 30_000) | st.just(0),
    position=positions,
    sells=st.integers(0, 900),
    bid=prices,
    equity=equities,
    min_qty=st.sampled_from([1, 10]),
)
def test_a_wish_is_sized_as_the_second_implementation(
    wish: int, position: int, sells: int, bid: int, equity: int, min_qty: int
) -> None:
    policy = policy_with().sizing
    quote = replace(QUOTE, bid_ticks=bid, ask_ticks=bid + 2)
    instrument = replace(SPXN, min_qty=min_qty)
    found = size_exposure(policy, wish, world(position, 0, sells), instrument, quote, equity)
    allowance = policy.limit_allowance.value
    current = position - sells
    assert found == oracle(
        SizingBasis.EXPOSURE, 0, wish, wish, 0, None, allowance, current, quote, min_qty, equity
    )
    check_intent(found)


def check_intent(sizing: Sizing) -> None:
    """An intent says what its sizing says, in the name that it is given."""
    names = {"decision_id": "d", "account": "a", "strategy": "s", "author": "w"}
    intent = to_intent(
        sizing, decision_id="d", account="a", strategy="s", author="w", directional=True
    )
    if sizing.delta_qty == 0:
        assert intent is None
        return
    assert intent is not None
    assert {name: getattr(intent, name) for name in names} == names
    assert intent.side is (Side.BUY if sizing.delta_qty > 0 else Side.SELL)
    assert intent.qty_lots == abs(sizing.delta_qty)
    assert (intent.tif, intent.directional) == (TimeInForce.DAY, True)
    for name in {one.name for one in fields(intent)} & {one.name for one in fields(sizing)}:
        assert getattr(intent, name) == getattr(sizing, name)
