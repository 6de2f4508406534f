"""The mode of a forecast follows from snapshot, table and what earlier forecasts looked into."""

from dataclasses import replace

import pytest

from inference.forecast.modes import (
    MOST_PATHS,
    DirectUse,
    ForecastMode,
    ModeCause,
    ModeTable,
    Occasion,
    Sampler,
    Usual,
    choose_mode,
)
from inference.forecast.regime import Regime
from inference.snapshot import (
    AssetClass,
    Bar,
    Direction,
    EventType,
    Frequency,
    NewsItem,
    Snapshot,
    Strength,
)
from inference.speculation.look_ahead import LookAheadCause

DAY_US = 86_400_000_000
TABLE = ModeTable(
    fast_divisor=4, fast_look_ahead=2, deep_factor=2, turbulence_bp=50_000, conflict_bp=2_500
)
USUAL = Usual(paths=64, horizon=10, spec_k=4, accepted_pm=970)


def market(moves_bp: list[int], *news: NewsItem) -> Snapshot:
    """Daily closes with these moves."""
    closes = [1_000_000]
    for move in moves_bp:
        closes.append(closes[-1] + closes[-1] * move // 10_000)
    bars = tuple(
        Bar(
            close_time_us=(i + 1) * DAY_US,
            open_ticks=close,
            high_ticks=close,
            low_ticks=close,
            close_ticks=close,
        )
        for i, close in enumerate(closes)
    )
    return Snapshot(
        instrument="SPXN",
        asset_class=AssetClass.INDEX,
        frequency=Frequency.DAILY,
        as_of_us=bars[-1].close_time_us + 1,
        bars=bars,
        news=news,
    )


CALM = [80, -80] * 50
RISING = [80, -80] * 48 + [80] * 5
STORM = [80, -80] * 45 + [300, -300] * 8


def event(direction: Direction, **changes: object) -> NewsItem:
    """A strong event just published after the RISING bars."""
    item = NewsItem(
        event_id="e1",
        published_us=(len(RISING) + 1) * DAY_US,
        event_type=EventType.MACRO,
        direction=direction,
        strength=Strength.STRONG,
        source_tier=1,
        headline="-",
        source="-",
    )
    return replace(item, **changes)  # type: ignore[arg-type]


def mode(snapshot: Snapshot, *, secure: bool = False, known: tuple[str, ...] = ()) -> ForecastMode:
    return choose_mode(snapshot, TABLE, USUAL, Occasion(secure=secure, known=known)).mode


def test_a_calm_market_without_news_is_standard() -> None:
    chosen = choose_mode(market(CALM), TABLE, USUAL, Occasion())
    assert (chosen.mode, chosen.cause, chosen.paths) == ("standard", "usual", USUAL.paths)
    assert chosen.look_ahead.drafts == 4


def test_a_turbulent_market_is_fast_with_fewer_paths_and_a_short_look_ahead() -> None:
    chosen = choose_mode(market(STORM), TABLE, USUAL, Occasion())
    assert chosen.regime.regime is Regime.TURBULENT
    assert (chosen.mode, chosen.cause) == (ForecastMode.FAST, ModeCause.TURBULENT)
    assert (chosen.paths, chosen.look_ahead.drafts) == (16, 2)


def test_a_division_with_a_rest_leaves_the_paths() -> None:
    usual = replace(USUAL, paths=66)
    assert choose_mode(market(STORM), TABLE, usual, Occasion()).paths == 66


def test_words_against_numbers_are_looked_into_once() -> None:
    against = market(RISING, event(Direction.NEGATIVE))
    chosen = choose_mode(against, TABLE, USUAL, Occasion())
    assert (chosen.mode, chosen.paths) == (ForecastMode.DEEP, 128)
    assert chosen.divergence.events == ("e1",)
    assert mode(against, known=("e1",)) is ForecastMode.STANDARD


def test_no_forecast_is_deeper_than_the_engine_takes() -> None:
    usual = replace(USUAL, paths=1_500)
    against = market(RISING, event(Direction.NEGATIVE))
    assert choose_mode(against, TABLE, usual, Occasion()).paths <= MOST_PATHS


@pytest.mark.parametrize(
    "item",
    [
        event(Direction.POSITIVE),
        event(Direction.NEUTRAL),
        event(Direction.NEGATIVE, event_type=EventType.ECHO),
        event(Direction.NEGATIVE, published_us=(len(RISING) - 25) * DAY_US),
    ],
    ids=["agrees", "neutral", "echo", "old"],
)
def test_only_a_fresh_event_against_the_numbers_is_a_conflict(item: NewsItem) -> None:
    assert mode(market(RISING, item)) is ForecastMode.STANDARD


def test_secure_reasoning_drafts_nothing_whatever_else_holds() -> None:
    against = market(RISING, event(Direction.NEGATIVE))
    chosen = choose_mode(against, TABLE, USUAL, Occasion(secure=True))
    assert (chosen.mode, chosen.paths) == (ForecastMode.SECURE, USUAL.paths)
    assert (chosen.look_ahead.drafts, chosen.look_ahead.cause) == (0, LookAheadCause.OFF)


def test_the_look_ahead_shortens_with_the_batch_and_with_rejections() -> None:
    many = replace(USUAL, paths=1_024)
    chosen = choose_mode(market(CALM), TABLE, many, Occasion())
    assert chosen.look_ahead.cause is LookAheadCause.BATCH
    unsure = replace(USUAL, paths=2, accepted_pm=5)
    chosen = choose_mode(market(CALM), TABLE, unsure, Occasion())
    assert chosen.look_ahead.cause is LookAheadCause.ACCEPTANCE


@pytest.mark.parametrize(
    ("use", "occasion", "sampler"),
    [
        (DirectUse.NEVER, Occasion(by_state=True, first=True), Sampler.ENGINE),
        (DirectUse.AWAITED, Occasion(by_state=True, first=True), Sampler.DIRECT),
        (DirectUse.AWAITED, Occasion(by_state=True), Sampler.ENGINE),
        (DirectUse.ALWAYS, Occasion(by_state=True), Sampler.DIRECT),
        (DirectUse.ALWAYS, Occasion(first=True), Sampler.ENGINE),
        (DirectUse.ALWAYS, Occasion(by_state=True, first=True, secure=True), Sampler.ENGINE),
    ],
)
def test_who_draws_follows_from_policy_rows_and_index(
    use: DirectUse, occasion: Occasion, sampler: Sampler
) -> None:
    chosen = choose_mode(market(CALM), replace(TABLE, direct=use), USUAL, occasion)
    assert chosen.sampler is sampler
    assert chosen.paths == USUAL.paths
    assert (chosen.look_ahead.drafts == 0) is (sampler is Sampler.DIRECT or occasion.secure)


def test_a_fast_forecast_is_drawn_directly() -> None:
    table = replace(TABLE, direct=DirectUse.AWAITED)
    chosen = choose_mode(market(STORM), table, USUAL, Occasion(by_state=True))
    assert (chosen.mode, chosen.sampler) == (ForecastMode.FAST, Sampler.DIRECT)
