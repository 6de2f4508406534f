"""What holds for every policy, state and intent: order, tightening, replay, and a slow oracle."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from risk.evaluate import evaluate
from risk.forms.documents import document_of, value_of
from risk.intent import Intent, Side
from risk.policy.judging import rules_of
from risk.policy.policy import policy_document, policy_from_document
from risk.rules.messages.rates import used_micro
from risk.state.state import RiskState, seen
from risk.verdict import Action, Bound, Outcome, verdict_document, verdict_from_document
from tests.doubles.risk_cases import (
    EQUITY,
    INTENT,
    NOW_US,
    PLAYBACK,
    QUOTE,
    bought,
    fold,
    found,
    policy_with,
    reserved,
    state_with,
)

TIGHTENABLE = {
    "account__order_notional_max": 40_000_000,
    "account__gross_max": 12_500,
    "account__net_max": 11_000,
    "account__leverage_max": 150,
    "account__day_loss_max": 100,
    "account__drawdown_max": 1_500,
    "approval__human_notional": 25_000_000,
    "instruments__0__order_qty_max": 1_600,
    "instruments__0__position_max": 2_500,
    "instruments__0__short_max": 300,
    "classes__0__price_collar": 300,
    "classes__0__quote_age_max": 2_000_000,
}


@st.composite
def intents(draw: st.DrawFn) -> Intent:
    return replace(
        INTENT,
        side=draw(st.sampled_from(Side)),
        qty_lots=draw(st.integers(-2, 2_600)),
        limit_ticks=draw(st.integers(25_000, 29_000)),
        directional=draw(st.booleans()),
    )


@st.composite
def states(draw: st.DrawFn) -> RiskState:
    events: list[Any] = []
    for key, low, high in (("SPXN", -600, 2_400), ("NDXN", -300, 900)):
        if lots := draw(st.integers(low, high)):
            events.append(bought(lots, draw(st.integers(20_000, 60_000)), instrument=key))
    for number in range(draw(st.integers(0, 3))):
        lots = draw(st.integers(-900, 900).filter(bool))
        events.append(reserved(f"d-{number + 2}", lots, draw(st.integers(25_000, 29_000))))
    book = fold(*events)
    loss = draw(st.integers(0, 3_000_000))
    book = replace(book, day=replace(book.day, low_minor=book.day.start_minor - loss))
    spread = draw(st.integers(-1, 6))
    quote = replace(
        QUOTE,
        ask_ticks=QUOTE.bid_ticks + spread,
        time_us=NOW_US - draw(st.integers(0, 3_000_000)),
    )
    recent = tuple(
        seen(replace(INTENT, decision_id=f"d-{age}"), NOW_US - age)
        for age in draw(st.lists(st.integers(0, 2_000_000), max_size=2, unique=True))
    )
    return state_with(book=book, quote=quote, recent=recent)


@given(states(), intents(), st.permutations(rules_of(PLAYBACK)))
def test_the_order_of_rules_cannot_matter(
    state: RiskState, intent: Intent, shuffled: list[Any]
) -> None:
    one = evaluate(PLAYBACK, state, intent)
    other = evaluate(PLAYBACK, state, intent, rules=tuple(shuffled))
    assert one.action is other.action
    assert set(one.results) == set(other.results)


@given(states(), intents(), st.data())
def test_a_tighter_policy_never_lets_more_through(
    state: RiskState, intent: Intent, data: st.DataObject
) -> None:
    loose = {path: data.draw(st.integers(0, 2 * usual)) for path, usual in TIGHTENABLE.items()}
    for share in ("account__drawdown_max", "account__day_loss_max", "classes__0__price_collar"):
        loose[share] = min(loose[share], 10_000)
    tight = {path: data.draw(st.integers(0, value)) for path, value in loose.items()}
    actions = []
    for numbers in (loose, tight):
        policy = policy_with(**numbers)
        status = state_with(policy).policy_status
        verdict = evaluate(policy, replace(state, policy_status=status), intent)
        actions.append(verdict.action)
    assert actions[1] >= actions[0]


@given(states(), intents(), st.integers(1, 500))
def test_a_larger_order_is_never_judged_more_mildly(
    state: RiskState, intent: Intent, more: int
) -> None:
    # Below the smallest quantity an order is refused for being small, and a twin differs by size.
    small = replace(intent, qty_lots=max(1, intent.qty_lots))
    large = replace(small, qty_lots=small.qty_lots + more)
    state = replace(state, recent=())
    assert evaluate(PLAYBACK, state, large).action >= evaluate(PLAYBACK, state, small).action


@given(states(), intents())
def test_a_verdict_replays_to_the_same_digest_from_documents(
    state: RiskState, intent: Intent
) -> None:
    verdict = evaluate(PLAYBACK, state, intent)
    again = evaluate(
        policy_from_document(policy_document(PLAYBACK)),
        value_of(RiskState, document_of(state)),
        value_of(Intent, document_of(intent)),
    )
    assert again == verdict
    assert verdict_from_document(verdict_document(verdict)) == verdict


@given(states(), intents())
def test_margin_sign_says_the_outcome(state: RiskState, intent: Intent) -> None:
    for result in evaluate(PLAYBACK, state, intent).results:
        if result.observed is None or result.limit is None:
            assert result.margin is None
            assert result.action is Action.REJECT
            continue
        inside = (
            result.observed <= result.limit
            if result.bound is Bound.MAX
            else result.observed >= result.limit
        )
        assert result.margin is not None
        assert (result.margin >= 0) == inside
        if result.outcome is not Outcome.NOT_APPLICABLE:
            assert (result.outcome is Outcome.PASS) == inside


@given(states(), intents())
def test_limits_agree_with_a_slow_oracle(state: RiskState, intent: Intent) -> None:
    """R04 to R09 and R31 again, in fractions, written from the catalogue's definitions."""
    intent = replace(intent, qty_lots=max(1, intent.qty_lots))
    verdict = evaluate(PLAYBACK, state, intent)
    assert state.quote is not None
    bid, ask, book = state.quote.bid_ticks, state.quote.ask_ticks, state.book
    mid = Fraction(bid + ask, 2)
    order = Fraction(intent.qty_lots * max(intent.limit_ticks, bid, ask))
    value = {p.instrument: Fraction(p.lots * p.mark_ticks) for p in book.positions}
    equity = (
        Fraction(EQUITY)
        + sum((p.value_minor - p.cost_minor for p in book.positions), start=0)
        + book.realised_minor
        - book.fees_minor
    )
    mark = {p.instrument: p.mark_ticks for p in book.positions}
    buys = [r for r in book.reservations if r.side is Side.BUY]
    sells = [r for r in book.reservations if r.side is Side.SELL]

    def worth(held: list[Any]) -> Fraction:
        return sum(
            (Fraction(r.open_lots * max(r.limit_ticks, mark.get("SPXN", 0))) for r in held),
            start=Fraction(0),
        )

    position = book.lots("SPXN")
    high = position + sum(r.open_lots for r in buys)
    low = position - sum(r.open_lots for r in sells)
    reduces = position * intent.side.sign < 0
    if intent.side is Side.BUY:
        high += intent.qty_lots
        reduces = reduces and high <= 0
    else:
        low -= intent.qty_lots
        reduces = reduces and low >= 0
    gross = sum((abs(v) for v in value.values()), start=Fraction(0))
    gross += worth(buys) + worth(sells) + order
    net = sum(value.values(), start=Fraction(0))
    net_high = net + worth(buys) + (order if intent.side is Side.BUY else 0)
    net_low = net - worth(sells) - (order if intent.side is Side.SELL else 0)
    passes = {
        ("R04", "notional"): order <= 40_000_000,
        ("R31", "notional"): order <= 25_000_000,
        ("R05", "collar"): abs(intent.limit_ticks - mid) / mid <= Fraction(3, 100),
        ("R06", "position"): max(abs(high), abs(low)) <= 2_500,
        ("R06", "short"): -low <= 0,
        ("R07", "gross"): equity > 0 and gross / equity <= Fraction(125, 100),
        ("R08", "net"): equity > 0
        and max(abs(net_high), abs(net_low)) / equity <= Fraction(110, 100),
        ("R09", "leverage"): equity > 0 and gross / equity <= Fraction(3, 2),
    }
    for (rule, check), expected in passes.items():
        result = found(verdict, rule, check)
        if result.outcome is Outcome.NOT_APPLICABLE:
            assert reduces
            assert rule in {"R06", "R07", "R08", "R09"}
        else:
            assert (result.outcome is Outcome.PASS) == expected, (rule, check)
            assert not (reduces and equity > 0 and rule in {"R06", "R07", "R08", "R09"})


@settings(max_examples=60)
@given(
    st.lists(st.integers(0, 700_000), min_size=1, max_size=60),
    st.integers(1, 12),
    st.integers(2, 20),
)
def test_no_window_ever_exceeds_rate_and_burst(gaps: list[int], rate: int, burst: int) -> None:
    """Orders that pass R13 one after another, against every window, by brute force."""
    now = NOW_US
    sent: list[int] = []
    for gap in gaps:
        now += gap
        used = used_micro(tuple(sent), now, rate)
        if -(-used // 1_000_000) + 1 <= burst:
            sent.append(now)
    for first in range(len(sent)):
        for last in range(first, len(sent)):
            width = sent[last] - sent[first]
            assert last - first + 1 <= burst + Fraction(width * rate, 1_000_000)


@given(st.lists(st.integers(0, 10**8), max_size=30), st.integers(0, 10**8), st.integers(1, 50))
def test_the_bucket_is_the_same_in_any_order_of_messages(
    times: list[int], now: int, rate: int
) -> None:
    assert used_micro(tuple(times), now, rate) == used_micro(tuple(sorted(times)), now, rate)


@settings(max_examples=60)
@given(st.data())
def test_no_interleaving_takes_a_position_beyond_its_limit(data: st.DataObject) -> None:
    """Judge, reserve, fill in parts, late or never: what was allowed stays inside R06 together."""
    policy = policy_with(
        instruments__0__position_max=2_000,
        instruments__0__short_max=1_500,
        account__message_burst=600,
        approval__human_notional=40_000_000,
    )
    book = fold()
    working: dict[str, Intent] = {}
    for number in range(data.draw(st.integers(3, 14), label="steps")):
        if len(working) > 0 and data.draw(st.booleans(), label="execute"):
            held = book.reservation(data.draw(st.sampled_from(sorted(working)), label="which"))
            assert held is not None
            part = data.draw(st.integers(1, held.open_lots), label="part")
            lots = part * held.side.sign
            book = fold(replace(bought(lots, 26_958), decision_id=held.decision_id), book=book)
            if part == held.open_lots:
                del working[held.decision_id]
        else:
            side = data.draw(st.sampled_from(Side), label="side")
            intent = replace(
                INTENT,
                decision_id=f"d-{number}",
                side=side,
                qty_lots=data.draw(st.integers(1, 1_400), label="qty"),
                limit_ticks=26_958 + side.sign,
            )
            if evaluate(policy, state_with(policy, book=book), intent).action <= Action.WARN:
                working[intent.decision_id] = intent
                lots = intent.qty_lots * side.sign
                book = fold(reserved(intent.decision_id, lots, intent.limit_ticks), book=book)
        assert -1_500 <= book.lots("SPXN") <= 2_000
    everything = {side: book.pending_lots("SPXN", side) for side in Side}
    assert book.lots("SPXN") + everything[Side.BUY] <= 2_000
    assert book.lots("SPXN") - everything[Side.SELL] >= -1_500
