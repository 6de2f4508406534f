"""The simulator's published table and matching, without a session."""

from collections import Counter
from decimal import Decimal

import pytest

from fix.dialects.profile import simulator_profile
from fix.simulator.control import SimulatedQuote
from fix.simulator.market import DECK, SimulatedMarket, outcome_of
from fix.simulator.order import OrderOutcome, Reply

QUOTE = SimulatedQuote(1, Decimal("269.50"), Decimal("269.60"))


def market(
    *script: str, quote: SimulatedQuote | None = QUOTE, has_quotes: bool = True
) -> SimulatedMarket:
    return SimulatedMarket(
        seed="s",
        script=script,
        fee_bp=1,
        orders_before=0,
        reports_before=0,
        known=frozenset({"OLD"}),
        quote=lambda _symbol: quote,
        has_quotes=has_quotes,
    )


def order(name: str = "A", **changes: str) -> dict[int, str]:
    fields = {35: "D", 34: "2", 11: name, 55: "SPXN", 54: "1", 38: "7", 44: "270", 59: "0"}
    return fields | {int(tag[1:]): value for tag, value in changes.items()}


def seen(answers: list[Reply]) -> list[tuple[str, str]]:
    return [(dict(one.fields)[150], dict(one.fields)[39]) for one in answers if not one.later]


def test_every_block_of_ten_holds_the_published_deck() -> None:
    for block in range(20):
        outcomes = [outcome_of("seed", block * 10 + place) for place in range(10)]
        assert Counter(outcomes) == Counter(DECK)
    assert [outcome_of("a", n) for n in range(50)] != [outcome_of("b", n) for n in range(50)]


def test_the_table_of_the_default_seed_is_published_and_fixed() -> None:
    words = " ".join(outcome_of("countersign", number) for number in range(20))
    assert words == (
        "fill partial reject partial fill fill fill silence fill partial "
        "reject partial fill fill partial partial fill fill silence fill"
    )


def test_a_buy_trades_at_the_ask_with_commission_and_a_sell_at_the_bid() -> None:
    broker = market("fill", "fill")
    bought = dict(broker.receive(order("A"))[-1].fields)
    sold = dict(broker.receive(order("B", t54="2", t44="269"))[-1].fields)
    assert (bought[31], bought[32], bought[12], bought[13]) == ("269.60", "7", "0.19", "3")
    assert sold[31] == "269.50"


@pytest.mark.parametrize(("side", "limit"), [("1", "269.59"), ("2", "269.51")])
def test_no_order_trades_beyond_its_limit(side: str, limit: str) -> None:
    assert seen(market("fill").receive(order(t54=side, t44=limit))) == [("0", "0")]


def test_the_rest_of_a_partial_fill_comes_later_unless_cancelled() -> None:
    broker = market("partial", "partial")
    first = broker.receive(order("A"))
    assert seen(first) == [("0", "0"), ("F", "1")]
    assert dict(first[1].fields)[32] == "3"
    assert dict(first[-1].fields) == {11: "A"}
    assert [dict(one.fields)[14] for one in broker.finish("A")] == ["7"]
    broker.receive(order("B"))
    broker.receive({35: "F", 34: "9", 11: "C", 41: "B"})
    assert broker.finish("B") == []


def test_silence_is_broken_by_a_question_or_a_cancel() -> None:
    for question in ({35: "H", 11: "A", 55: "SPXN", 54: "1"}, {35: "F", 11: "C", 41: "A"}):
        broker = market("silence")
        assert broker.receive(order("A")) == []
        answers = broker.receive({34: "3"} | question)
        assert [dict(one.fields)[39] for one in answers] == ["0", "2", "2"]


def test_a_name_seen_before_is_rejected_also_from_an_earlier_life() -> None:
    broker = market("fill", "fill", "fill")
    broker.receive(order("A"))
    for name in ("A", "OLD"):
        fields = dict(broker.receive(order(name))[0].fields)
        assert (fields[39], fields[103]) == ("8", "6")
    assert broker.orders["A"].status == "2"


def test_unknown_orders_are_said_to_be_unknown() -> None:
    broker = market()
    status = broker.receive({35: "H", 34: "2", 11: "X", 55: "SPXN", 54: "1"})
    assert (dict(status[0].fields)[150], dict(status[0].fields)[103]) == ("I", "5")
    refused = broker.receive({35: "F", 34: "3", 11: "C", 41: "X"})
    assert (dict(refused[0].fields)[35], dict(refused[0].fields)[102]) == ("9", "1")
    other = broker.receive({35: "E", 34: "4"})
    assert dict(other[0].fields)[35] == "j"


def test_a_mass_cancel_ends_everything_live() -> None:
    broker = market("fill", "fill", quote=SimulatedQuote(1, Decimal(300), Decimal(301)))
    broker.receive(order("A"))
    broker.receive(order("B"))
    answers = broker.receive({35: "q", 34: "4", 11: "M", 530: "7"})
    assert dict(answers[0].fields)[533] == "2"
    assert {dict(one.fields)[11] for one in answers[1:]} == {"A", "B"}
    assert not any(one.is_live for one in broker.orders.values())
    assert broker.session_changed() == []


def test_without_a_quote_for_the_session_an_order_is_rejected() -> None:
    assert seen(market("fill", quote=None).receive(order())) == [("8", "8")]


def test_without_a_quotes_file_everything_trades_at_its_limit() -> None:
    answers = market("fill", quote=None, has_quotes=False).receive(order())
    assert dict(answers[-1].fields)[31] == "270"


def test_outcomes_are_words_of_the_table() -> None:
    with pytest.raises(ValueError, match="dance"):
        market("dance").receive(order())
    assert OrderOutcome("fill") is OrderOutcome.FILL


def told(answers: list[Reply]) -> dict[int, str]:
    return dict(answers[-1].fields)


def test_a_script_may_take_a_fill_back_and_the_order_works_on() -> None:
    broker = market("bust")
    assert seen(broker.receive(order("A"))) == [("0", "0"), ("F", "2")]
    bust = told(broker.finish("A"))
    assert (bust[150], bust[39], bust[19], bust[151], bust[14]) == ("H", "0", "X00000002", "7", "0")
    assert broker.orders["A"].is_live
    cancelled = told(broker.receive({35: "F", 34: "3", 11: "C", 41: "A"}))
    assert (cancelled[39], cancelled[151], cancelled[14]) == ("4", "0", "0")


def test_a_script_may_correct_a_fill() -> None:
    broker = market("correct")
    first = told(broker.receive(order("A"))[:-1])
    now = told(broker.finish("A"))
    assert (now[150], now[39], now[19], now[32], now[151], now[14]) == (
        "G",
        "1",
        first[17],
        "3",
        "4",
        "3",
    )
    assert now[17] != first[17]


@pytest.mark.parametrize(
    ("word", "msg_type", "named"), [("session_reject", "3", ""), ("business_reject", "j", "A")]
)
def test_a_script_may_reject_the_message(word: str, msg_type: str, named: str) -> None:
    broker = market(word, "fill")
    reject = told(broker.receive(order("A")))
    assert (reject[35], reject[45], reject[372], reject.get(379, "")) == (msg_type, "2", "D", named)
    assert "A" not in broker.orders
    assert seen(broker.receive(order("B")))[-1] == ("F", "2")


def test_a_new_session_fills_what_rests_and_now_meets_its_quote() -> None:
    quotes: list[SimulatedQuote | None] = [QUOTE]
    broker = SimulatedMarket(
        seed="s",
        script=("fill",) * 3,
        fee_bp=1,
        orders_before=0,
        reports_before=0,
        known=frozenset(),
        quote=lambda _symbol: quotes[-1],
        has_quotes=True,
    )
    broker.receive(order("A", t44="269.50"))
    broker.receive(order("B", t44="200"))
    assert broker.session_changed() == []
    quotes.append(None)
    assert broker.session_changed() == [], "no quote, no trade"
    quotes.append(SimulatedQuote(2, Decimal("269.40"), Decimal("269.45")))
    (filled,) = broker.session_changed()
    assert (dict(filled.fields)[11], dict(filled.fields)[31]) == ("A", "269.45")
    assert broker.session_changed() == [], "it is filled"
    assert seen(broker.cancel_all()) == [("4", "4")]


@pytest.mark.parametrize(("tif", "left"), [("3", "4"), ("4", "4"), ("0", "0")])
def test_an_immediate_order_that_meets_no_quote_is_cancelled(tif: str, left: str) -> None:
    said = seen(market("fill").receive(order(t44="200", t59=tif)))
    assert said[-1] == (left, left)


def test_an_order_without_a_time_in_force_is_one_for_the_day() -> None:
    fields = order(t44="200")
    del fields[59]
    broker = market("fill")
    assert seen(broker.receive(fields)) == [("0", "0")]
    assert broker.orders["A"].tif == "0"


def test_a_question_about_everything_breaks_every_silence() -> None:
    broker = market("silence", "fill")
    broker.receive(order("A", t44="200"))
    broker.receive(order("B", t44="200"))
    said = [dict(one.fields) for one in broker.receive({35: "AF", 34: "9", 584: "Q"})]
    assert [(one[11], one[150]) for one in said] == [("A", "0"), ("A", "I"), ("B", "I")]
    assert [(one[584], one[911]) for one in said if one[150] == "I"] == [("Q", "2")] * 2
    assert len({one[17] for one in said if one[150] != "I"}) == 1
    assert {one[17] for one in said if one[150] == "I"} == {"0"}


def test_the_simulators_profile_says_what_the_simulator_does() -> None:
    profile = simulator_profile(9_876, sender="US", target="THEM")
    assert (profile.name, profile.host, profile.port) == ("simulator", "127.0.0.1", 9_876)
    assert (profile.sender_comp_id, profile.target_comp_id) == ("US", "THEM")
    can = profile.capabilities
    assert (can.mass_cancel, can.mass_status, can.cancel_on_disconnect) == (True, True, False)
    pace = profile.pace
    assert (pace.cancels_per_s, pace.cancel_burst, pace.sweep_timeout_s) == (500, 500, 5)
    assert profile.reconnect_s == 1
