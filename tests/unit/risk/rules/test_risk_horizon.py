"""R52: passes at its budgets, breaches one above, refuses without paths; and the sizing."""

from dataclasses import replace
from typing import Any

import pytest

from risk.evaluate import evaluate
from risk.intent import Side
from risk.policy.policy import Policy
from risk.sizing import Sizing, SizingReason, size, size_within, sizing_document
from risk.state.book import Book
from risk.state.paths.budgets import Binding
from risk.state.paths.joint import BookPaths
from risk.state.paths.losses import BookLosses, TripLimits, book_losses, proportion_bound
from risk.verdict import Action, Outcome, Reason, RuleResult
from tests.doubles.full_policy import (
    FULL,
    book_paths,
    calm_moves,
    full_policy,
    full_state,
    inputs_with,
)
from tests.doubles.risk_cases import (
    EQUITY,
    FORECAST,
    HOUR_US,
    INTENT,
    NOW_US,
    PLAYBACK,
    QUOTE,
    SPXN,
    bought,
    fold,
    found,
    intent_with,
)

LIMITS = {"shortfall": "shortfall_max", "trip_chance": "trip_chance_max"}


def judged(
    check: str,
    *,
    paths: BookPaths | None,
    policy: Policy = FULL,
    book: Book | None = None,
    **changes: Any,  # noqa: ANN401 - any field of the intent
) -> RuleResult:
    state = full_state(policy, inputs=inputs_with(paths=paths), book=book or fold())
    return found(evaluate(policy, state, intent_with(**changes)), "R52", check)


def crash(size: int, *, paths: int = 120, worst: int = 12) -> BookPaths:
    """Most paths go nowhere; the worst fall by `size` (1e-8) in the last step."""
    flat, fall = (0,) * 10, (0,) * 9 + (-size,)
    return book_paths(SPXN=(fall,) * worst + (flat,) * (paths - worst))


@pytest.mark.parametrize("check", [*LIMITS])
def test_the_bound_passes_at_its_budget_and_breaches_one_above(check: str) -> None:
    wild = crash(9_000_000)
    measured = judged(check, paths=wild).observed
    assert measured is not None
    for limit, outcome in ((measured, Outcome.PASS), (measured - 1, Outcome.BREACH)):
        policy = full_policy(**{f"families__horizon__{LIMITS[check]}": limit})
        result = judged(check, paths=wild, policy=policy)
        assert result.outcome is outcome
        assert result.action is (Action.REJECT if outcome is Outcome.BREACH else Action.ALLOW)


def test_too_few_and_too_old_paths_are_rejected() -> None:
    assert judged("paths", paths=crash(1, paths=80)).outcome is Outcome.PASS
    few = judged("paths", paths=crash(1, paths=79))
    assert (few.reason, few.action) == (Reason.TOO_FEW_PATHS, Action.REJECT)
    age = FULL.families.horizon.joint_paths_age_max.value if FULL.families else 0
    at = replace(crash(1), as_of_us=NOW_US - age)
    assert judged("paths_age", paths=at).outcome is Outcome.PASS
    late = judged("paths_age", paths=replace(at, as_of_us=at.as_of_us - 1))
    assert (late.reason, late.action) == (Reason.FORECAST_STALE, Action.REJECT)


def test_missing_paths_reject_whatever_does_not_only_reduce() -> None:
    other = bought(10, 60_000, instrument="NDXN", time_us=NOW_US - 2 * HOUR_US)
    held = fold(bought(900))
    for paths, book in ((None, None), (crash(1), fold(other))):
        result = judged("shortfall", paths=paths, book=book)
        assert (result.outcome, result.reason) == (Outcome.REFUSED, Reason.INPUT_MISSING)
        assert result.action is Action.REJECT
    sale = judged("shortfall", paths=None, book=held, side=Side.SELL)
    assert (sale.outcome, sale.reason) == (Outcome.NOT_APPLICABLE, Reason.REDUCES_RISK)
    assert judged("shortfall", paths=crash(90_000_000), book=held, side=Side.SELL).action is (
        Action.ALLOW
    )


def test_what_the_rest_of_the_book_loses_counts() -> None:
    """A second instrument that falls in the same paths adds to the loss."""
    other = bought(300, 60_000, instrument="NDXN", time_us=NOW_US - 2 * HOUR_US)
    fall, flat = (-10_000_000,) * 10, (0,) * 10
    spxn = (fall,) * 12 + (flat,) * 108
    alone = judged("shortfall", paths=book_paths(SPXN=spxn)).observed
    both = judged("shortfall", paths=book_paths(SPXN=spxn, NDXN=spxn), book=fold(other)).observed
    apart = book_paths(SPXN=spxn, NDXN=spxn[::-1])
    spread = judged("shortfall", paths=apart, book=fold(other)).observed
    assert alone is not None
    assert both is not None
    assert spread is not None
    assert alone == spread < both


# ---- sizing inside the budgets -------------------------------------------------------------------


def sized(paths: BookPaths | None, policy: Policy = FULL, book: Book | None = None) -> Sizing:
    return size_within(policy, FORECAST, book or fold(), SPXN, QUOTE, paths)


def test_an_order_changes_with_the_tail_of_the_paths_and_the_same_first_bar() -> None:
    """Only the last step of some paths differs, so no law of the first bar does."""
    calm, wild = sized(crash(0)), sized(crash(40_000_000))
    assert calm.vol_year_1e8 == wild.vol_year_1e8
    assert calm.budgets is not None
    assert wild.budgets is not None
    assert calm.budgets.binding is Binding.TARGET_VOLATILITY
    assert wild.budgets.binding is Binding.SHORTFALL
    assert 0 < wild.target_lots < calm.target_lots
    assert wild.delta_qty < calm.delta_qty


def test_what_sizing_wants_the_rule_passes_and_one_step_more_it_may_not() -> None:
    wild = crash(25_000_000)
    sizing = sized(wild)
    assert sizing.budgets is not None
    at = sizing.budgets.at_target
    assert at.shortfall_bound_bp <= sizing.budgets.shortfall_max_bp
    assert at.trip_bound_bp <= sizing.budgets.trip_chance_max_bp
    result = judged("shortfall", paths=wild, qty_lots=sizing.target_lots)
    assert result.observed == at.shortfall_bound_bp
    more = judged("shortfall", paths=wild, qty_lots=sizing.target_lots + 4)
    assert more.outcome is Outcome.BREACH


def test_the_chance_of_a_trip_binds_too() -> None:
    """Half of the paths lose a little more than the day's limit on one day, so size decides."""
    limit = full_policy(families__horizon__trip_chance_max=2_000)
    fall, flat = (-6_000_000,) * 10, (0,) * 10
    sizing = sized(book_paths(SPXN=(fall,) * 60 + (flat,) * 60), limit)
    assert sizing.budgets is not None
    assert sizing.budgets.binding is Binding.TRIP_CHANCE
    assert sizing.budgets.at_target.trip_bound_bp <= 2_000


@pytest.mark.parametrize("paths", [None, crash(0, paths=79)])
def test_without_enough_paths_there_is_no_order(paths: BookPaths | None) -> None:
    sizing = sized(paths)
    assert (sizing.reason, sizing.delta_qty) == (SizingReason.NO_JOINT_PATHS, 0)


def test_a_position_that_breaks_a_budget_is_reduced_inside_the_band() -> None:
    wild = crash(25_000_000)
    free = sized(wild)
    over = fold(bought(free.target_lots + 30))
    assert sized(wild, book=over).delta_qty < 0
    calm = sized(crash(0))
    assert sized(crash(0), book=fold(bought(calm.target_lots + 30))).reason is (
        SizingReason.INSIDE_NO_TRADE_BAND
    )


def test_format_1_is_sized_as_before_and_its_document_has_no_budgets() -> None:
    book = fold()
    before = size(PLAYBACK.sizing, FORECAST, book, SPXN, QUOTE, book.equity_minor)
    assert size_within(PLAYBACK, FORECAST, book, SPXN, QUOTE, crash(25_000_000)) == before
    assert "budgets" not in sizing_document(before)
    assert "budgets" in sizing_document(sized(crash(0)))


# ---- estimates -----------------------------------------------------------------------------------


def losses(paths: BookPaths, *, day: int = 100, drawdown: int = 1_500) -> BookLosses:
    return book_losses(
        paths,
        fold(),
        "SPXN",
        twice_lot_minor=2 * 10_000,
        limits=TripLimits(day_loss_bp=day, drawdown_bp=drawdown),
        errors_bp=0,
    )


@pytest.mark.parametrize(("loss_bp", "trips"), [(100, 0), (101, 1)])
def test_a_day_trips_one_above_its_limit(loss_bp: int, trips: int) -> None:
    """The whole of the equity in it: 10,000 lots of 10,000 minor units."""
    flat = (0,) * 10
    day = (0, 0, -loss_bp * 10_000, *(-loss_bp * 10_000,) * 7)
    estimate = losses(book_paths(SPXN=(day,) + (flat,) * 99)).at(EQUITY // 10_000)
    assert estimate.trip_bp == trips * 100


def test_a_slow_slide_trips_the_drawdown_and_no_day() -> None:
    slide = tuple(-step * 90 * 10_000 for step in range(1, 11))
    paths = book_paths(SPXN=(slide,) * 100)
    assert losses(paths, drawdown=900).at(EQUITY // 10_000).trip_bp == 0
    assert losses(paths, drawdown=899).at(EQUITY // 10_000).trip_bp == 10_000


def test_a_shortfall_is_the_mean_of_the_worst_fortieth() -> None:
    """Of 80 paths the worst two: 8 % and 4 %, so 6 %; half a path more of 100."""
    ends = (-8_000_000, -4_000_000, *(0,) * 78)
    of_80 = losses(book_paths(SPXN=tuple((end,) * 10 for end in ends))).at(EQUITY // 10_000)
    assert of_80.shortfall_bp == 600
    hundred = losses(book_paths(SPXN=tuple((end,) * 10 for end in (*ends, *(0,) * 20))))
    assert hundred.at(EQUITY // 10_000).shortfall_bp == 480


def test_more_paths_of_the_same_law_have_a_smaller_error() -> None:
    few, many = (losses(book_paths(SPXN=calm_moves() * n)).at(10_000) for n in (1, 16))
    assert few.shortfall_bp <= many.shortfall_bp + 5
    assert many.shortfall_error_bp * 3 < few.shortfall_error_bp
    assert proportion_bound(10, 100, 16_449) > proportion_bound(160, 1_600, 16_449)


def test_intent_passes_all_of_it() -> None:
    assert evaluate(FULL, full_state(), INTENT).action is Action.ALLOW
