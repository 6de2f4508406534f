"""Exposure counts everything that may still execute, on the side where it hurts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from risk.evaluate import evaluate
from risk.intent import Side, intent_digest
from risk.rules.exposure import exposure
from risk.state.book import Book, BookEvent, Reserved
from risk.state.state import HISTORY_US, SeenIntent, relevant_history
from risk.verdict import Action
from tests.doubles.risk_cases import (
    EQUITY,
    INTENT,
    NOW_US,
    PLAYBACK,
    bought,
    case_of,
    fold,
    found,
    intent_with,
    policy_with,
    reserved,
    state_with,
)

lots = st.integers(-800, 800).filter(bool)


def book_of(position: int, pending: list[tuple[int, int]]) -> Book:
    """A book with a position and pending orders (lots, limit)."""
    events: list[BookEvent] = [bought(position, 26_900)] if position else []
    events += [reserved(f"p-{n}", qty, price) for n, (qty, price) in enumerate(pending)]
    return fold(*events)


@given(
    position=lots | st.just(0),
    pending=st.lists(st.tuples(lots, st.integers(26_000, 28_000)), max_size=5),
    qty=lots,
    limit=st.integers(26_000, 28_000),
)
def test_worst_cases_are_those_of_all_buys_and_of_all_sells(
    position: int, pending: list[tuple[int, int]], qty: int, limit: int
) -> None:
    book = book_of(position, pending)
    side = Side.BUY if qty > 0 else Side.SELL
    intent = intent_with(side=side, qty_lots=abs(qty), limit_ticks=limit)
    measured = exposure(case_of(PLAYBACK, state_with(book=book), intent))
    mark = 26_900 if position else 0
    buys = [(n, max(price, mark)) for n, price in pending if n > 0]
    sells = [(-n, max(price, mark)) for n, price in pending if n < 0]
    order = abs(qty) * max(limit, 26_957, 26_959)
    bought_minor = sum(n * price for n, price in buys)
    sold_minor = sum(n * price for n, price in sells)
    held_minor = position * 26_900
    assert measured.order_minor == order
    assert measured.high_lots == position + sum(n for n, _ in buys) + max(qty, 0)
    assert measured.low_lots == position - sum(n for n, _ in sells) + min(qty, 0)
    assert measured.gross_minor == abs(held_minor) + bought_minor + sold_minor + order
    assert measured.net_high_minor == held_minor + bought_minor + (order if qty > 0 else 0)
    assert measured.net_low_minor == held_minor - sold_minor - (order if qty < 0 else 0)
    same_side = sum(n for n, _ in (buys if qty > 0 else sells))
    assert measured.reduces == (position * qty < 0 and abs(qty) + same_side <= abs(position))


def test_pending_sells_use_up_the_net_limit_of_a_short() -> None:
    """A tenth of equity is pending on the sell side: what may still be sold is that much less."""
    policy = policy_with(account__net_max=3_000)
    intent = intent_with(side=Side.SELL, qty_lots=700, limit_ticks=26_950)
    free = evaluate(policy, state_with(policy), intent)
    pending = fold(reserved("d-9", -400, 26_960))
    taken = evaluate(policy, state_with(policy, book=pending), intent)
    before, after = (found(one, "R08", "net") for one in (free, taken))
    assert after.observed is not None
    assert before.observed is not None
    assert after.observed - before.observed == pytest.approx(400 * 26_960 * 10_000 / EQUITY, abs=1)
    assert (before.action, after.action) == (Action.ALLOW, Action.ALLOW)
    more = evaluate(policy, state_with(policy, book=fold(reserved("d-9", -500))), intent)
    assert found(more, "R08", "net").action is Action.REJECT


def test_another_instruments_pending_orders_count_for_money_and_not_for_lots() -> None:
    other = Reserved(
        decision_id="d-9",
        instrument="NDXN",
        side=Side.SELL,
        qty_lots=10,
        limit_ticks=60_000,
        unit_minor=1,
        time_us=NOW_US,
    )
    alone = exposure(case_of(PLAYBACK, state_with(), INTENT))
    beside = exposure(case_of(PLAYBACK, state_with(book=fold(other)), INTENT))
    assert beside == structs.replace(
        alone,
        gross_minor=alone.gross_minor + 600_000,
        net_low_minor=alone.net_low_minor - 600_000,
    )


def test_a_renewal_leaves_its_own_reservation_out_and_no_other() -> None:
    book = fold(reserved("d-1", 300), reserved("d-2", 200))
    renewed = exposure(case_of(PLAYBACK, state_with(book=book, renewal=True), INTENT))
    assert renewed == exposure(
        case_of(PLAYBACK, state_with(book=fold(reserved("d-2", 200))), INTENT)
    )
    first = exposure(case_of(PLAYBACK, state_with(book=book), INTENT))
    assert first.high_lots == renewed.high_lots + 300


def test_an_order_without_a_name_counts_like_any_other() -> None:
    nameless = exposure(case_of(PLAYBACK, state_with(book=fold(reserved("", 300))), INTENT))
    named = exposure(case_of(PLAYBACK, state_with(book=fold(reserved("d-7", 300))), INTENT))
    assert nameless == named
    assert nameless.high_lots == 300 + INTENT.qty_lots


def entry(decision_id: str, digest: str, age_us: int) -> SeenIntent:
    """An intent that was judged some time ago."""
    return SeenIntent(
        decision_id=decision_id, intent_digest=digest, fingerprint="f", time_us=NOW_US - age_us
    )


def test_history_keeps_a_decision_and_an_intent_for_ever_and_others_for_a_minute() -> None:
    own, year = intent_digest(INTENT), 365 * 24 * 3_600_000_000
    kept = (
        entry(INTENT.decision_id, "other", year),
        entry("other", own, year - 1),
        entry("other", "edge", HISTORY_US),
        entry("other", "near", HISTORY_US - 1),
    )
    past = entry("other", "past", HISTORY_US + 1)
    assert relevant_history((past, *reversed(kept)), INTENT, NOW_US) == kept


def test_a_decision_judged_an_hour_ago_is_not_judged_again_as_another_intent() -> None:
    hour = entry(INTENT.decision_id, "another intent", 3_600_000_000)
    recent = relevant_history((hour,), INTENT, NOW_US)
    assert evaluate(PLAYBACK, state_with(recent=recent), INTENT).action >= Action.REJECT
