"""Everything that can be played: each outcome, each answer, each act, as reports."""

from decimal import Decimal
from pathlib import Path

import pytest

from fix.simulator.acts import ACTS, MANNERS, OUTCOMES, SESSION_ACTS, BrokerAct
from fix.simulator.control import Control, SimulatedQuote, read_control, write_control
from fix.simulator.market import SimulatedMarket
from fix.simulator.order import Manner, OrderOutcome, Reply
from fix.simulator.play import answer, deal, listing, main, play

QUOTE = SimulatedQuote(1, Decimal("269.50"), Decimal("269.60"))
FAR = SimulatedQuote(1, Decimal(900), Decimal(901))


def market(*script: str, quote: SimulatedQuote = QUOTE) -> SimulatedMarket:
    return SimulatedMarket(
        seed="s",
        script=script,
        fee_bp=1,
        orders_before=0,
        reports_before=0,
        known=frozenset(),
        quote=lambda _symbol: quote,
        has_quotes=True,
    )


def order(name: str = "A", **more: str) -> dict[int, str]:
    fields = {35: "D", 34: "2", 11: name, 55: "SPXN", 54: "1", 38: "8", 44: "270", 59: "0"}
    return fields | {int(tag[1:]): value for tag, value in more.items()}


def request(kind: str, orig: str = "A", **more: str) -> dict[int, str]:
    fields = {35: kind, 34: "3", 11: "C", 41: orig, 55: "SPXN", 54: "1", 38: "8", 44: "270"}
    return fields | {int(tag[1:]): value for tag, value in more.items()}


def seen(answers: list[Reply]) -> str:
    """Type and state of each report, in order; `cut` is a connection cut."""
    words = []
    for one in answers:
        said = dict(one.fields)
        if one.drop:
            words.append("cut")
        elif said.get(35) == "8":
            words.append(f"{said[150]}{said[39]}")
        elif 35 in said:
            words.append(f"{said[35]}:{said[102]}")
    return " ".join(words)


def resting(*script: str) -> SimulatedMarket:
    broker = market(*(script or ("rest",)))
    broker.receive(order())
    return broker


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        ("rest", "00"),
        ("pending", "AA 00 F2"),
        ("suspend", "00 99"),
        ("done_for_day", "00 F1 33"),
        ("expire", "00 F1 CC"),
        ("stop", "00 77 F2"),
        ("restate", "00 D0"),
        ("repeat", "00 F2 F2"),
        ("ignore", ""),
        ("drop_before", "cut 00 F2"),
        ("drop_after", "00 cut F2"),
    ],
)
def test_each_outcome_is_told_as_published(outcome: str, told: str) -> None:
    assert seen(market(outcome).receive(order())) == told


def test_a_repeated_fill_has_one_exec_id_and_counts_once() -> None:
    broker = market("repeat")
    *_, first, second = broker.receive(order())
    assert first == second
    assert broker.orders["A"].cum == 8


def test_an_ignored_order_is_known_to_nobody() -> None:
    broker = market("ignore")
    broker.receive(order())
    (said,) = broker.receive(request("H", t11="A"))
    assert dict(said.fields)[103] == "5"


@pytest.mark.parametrize(
    ("manner", "cancelled", "replaced"),
    [
        ("confirm", "44", "50 F2"),
        ("pending", "66 44", "EE 50 F2"),
        ("reject", "9:0", "9:0"),
        ("ignore", "", ""),
        ("fill", "F2 9:0", "F2 9:0"),
    ],
)
def test_each_answer_to_a_request_is_told_as_published(
    manner: str, cancelled: str, replaced: str
) -> None:
    for kind, told in (("F", cancelled), ("G", replaced)):
        broker = market("fill", quote=FAR)
        broker.receive(order())
        broker.cancels = broker.replaces = Manner(manner)
        asked = request(kind, t44="950") if kind == "G" else request(kind)
        assert seen(broker.receive(asked)) == told, kind


def test_a_replaced_order_has_its_new_name_quantity_and_price() -> None:
    broker = resting()
    (replaced,) = broker.receive(request("G", t11="B", t38="5", t44="268.5"))
    said = dict(replaced.fields)
    assert (said[11], said[41], said[38], said[44], said[151]) == ("B", "A", "5", "268.5", "5")
    assert seen(broker.receive(request("F", orig="B"))) == "44"
    assert seen(broker.receive(request("G", orig="A", t11="D"))) == "9:0"


def test_a_replace_to_what_has_traded_is_too_late_and_a_used_name_is_refused() -> None:
    broker = resting()
    broker.act(BrokerAct("fill", qty=3))
    assert seen(broker.receive(request("G", t11="B", t38="3"))) == "9:0"
    assert seen(broker.receive(request("G", t11="A", t38="7"))) == "9:6"
    (left,) = broker.receive(request("G", t11="B", t38="4"))
    assert dict(left.fields)[151] == "1"
    assert dict(left.fields)[39] == "1"


@pytest.mark.parametrize(
    ("acts", "told"),
    [
        ("fill", "F2"),
        ("fill:3 fill:3 fill:9", "F1 F1 F2"),
        ("reject", "88"),
        ("cancel fill", "44"),
        ("expire resume", "CC"),
        ("done_for_day resume fill", "33 D0 F2"),
        ("suspend resume", "99 D0"),
        ("restate:4 fill", "D0 F2"),
        ("stop", "77"),
        ("bust", ""),
        ("fill:3 bust bust", "F1 H0"),
        ("fill:6 correct:2", "F1 G1"),
        ("fill repeat", "F2 F2"),
        ("status", "I0"),
    ],
)
def test_each_act_is_told_as_published(acts: str, told: str) -> None:
    broker = resting()
    answers: list[Reply] = []
    for act in acts.split():
        what, _, qty = act.partition(":")
        answers += broker.act(BrokerAct(what, qty=int(qty or 0)))
    assert seen(answers) == told


def test_an_act_takes_the_order_that_it_names_or_the_newest_that_it_fits() -> None:
    broker = market("rest", "fill", "rest")
    for name in ("A", "B", "C"):
        broker.receive(order(name))
    (first,) = broker.act(BrokerAct("fill", "A", 1, "12.5"))
    assert (dict(first.fields)[11], dict(first.fields)[31]) == ("A", "12.5")
    (newest,) = broker.act(BrokerAct("cancel"))
    assert dict(newest.fields)[11] == "C"
    (traded,) = broker.act(BrokerAct("bust"))
    assert dict(traded.fields)[11] == "B"
    assert broker.act(BrokerAct("bust", "NOBODY")) == []
    assert broker.act(BrokerAct("cancel", "C")) == []


def test_an_order_that_is_done_for_the_day_or_suspended_does_not_trade_until_it_works_again() -> (
    None
):
    quotes = {"SPXN": FAR}
    broker = market("fill", "fill")
    broker._quote = quotes.get  # noqa: SLF001 - prices move
    for name in ("A", "B"):
        broker.receive(order(name))
    broker.act(BrokerAct("suspend", "A"))
    broker.act(BrokerAct("done_for_day", "B"))
    quotes["SPXN"] = QUOTE
    assert seen(broker.session_changed()) == "F2", "only the one whose day began"
    assert broker.orders["A"].cum == 0


def test_outcomes_can_be_dealt_while_it_runs() -> None:
    broker = market("reject")
    broker.deal(["rest"])
    assert [seen(broker.receive(order(name))) for name in "AB"] == ["88", "00"]


def test_everything_that_can_be_played_is_listed() -> None:
    assert OUTCOMES.keys() == set(OrderOutcome)
    assert MANNERS.keys() == set(Manner)
    broker = resting()
    for what in ACTS:
        broker.act(BrokerAct(what))
    for name in (*OUTCOMES, *MANNERS, *ACTS, *SESSION_ACTS):
        assert f"  {name} " in listing()


# -- by hand


def test_what_is_played_by_hand_reaches_the_control_file(tmp_path: Path) -> None:
    path = tmp_path / "control.json"
    write_control(path, Control(session=4))
    play(path, BrokerAct("bust", "A", 3))
    deal(path, "fill", "expire")
    answer(path, "cancels", "reject")
    assert main([str(tmp_path), "correct", "B", "--qty", "2", "--price", "7"]) == 0
    assert main([str(tmp_path), "deal", "stop"]) == 0
    assert main([str(tmp_path), "replaces", "fill"]) == 0
    assert read_control(path) == Control(
        session=4,
        cancels="reject",
        replaces="fill",
        deal=("fill", "expire", "stop"),
        acts=(("bust", "A", 3, ""), ("correct", "B", 2, "7")),
    )


@pytest.mark.parametrize(
    "words", [["burst"], ["deal", "bursts"], ["cancels"], ["replaces", "never"]]
)
def test_what_is_not_there_cannot_be_played(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_control(tmp_path / "control.json", Control())
    assert main([str(tmp_path), *words]) == 2
    assert "fill" in capsys.readouterr().err
    assert read_control(tmp_path / "control.json") == Control()


def test_a_folder_without_a_simulator_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path), "bust"]) == 2
    assert str(tmp_path) in capsys.readouterr().err
    assert main([str(tmp_path), "list"]) == 0
