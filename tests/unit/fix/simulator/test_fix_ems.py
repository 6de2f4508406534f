"""The simulator around its market: command line, restart, worker. Nothing listens here."""

import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import quickfix

from fix.session.initiator import DICTIONARY
from fix.simulator.acceptor import SimulatedBroker, main, parse_arguments
from fix.simulator.control import (
    Control,
    SimulatorConfig,
    read_capture,
    read_control,
    set_session,
    write_control,
)
from fix.simulator.market import outcome_of
from fix.simulator.order import OrderOutcome
from fix.wire.messages import Fields, parse, wire_text
from tests.doubles.fix_world import PROFILE, quote_line, until
from tests.doubles.unstarted_engine import named

BOUND_S = 10.0


def config(folder: Path, **changes: Any) -> SimulatorConfig:  # noqa: ANN401 - any setting
    """Settings under a name that no other session of this process has."""
    return SimulatorConfig(folder=folder / "ems", target=named(PROFILE).sender_comp_id, **changes)


# -- the command line


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"port": 1_234},
        {"sender": "BROKER"},
        {"target": "US"},
        {"seed": "another"},
        {"quotes": Path("/q/quotes.jsonl")},
        {"fee_bp": 0},
        {"partial_delay_ms": 0},
        {"reset_on_logon": True},
        {"cancel_on_disconnect": True},
        {"silent": True},
        {"script": ("fill", "reject")},
        {"exec_after": 17},
    ],
)
def test_a_simulator_starts_as_it_was_asked_to(changes: dict[str, Any]) -> None:
    asked = SimulatorConfig(folder=Path("/x y/ems"), **changes)
    program, *words = asked.command()[1:]
    assert (program, words[0]) == ("-m", "fix.simulator.acceptor")
    assert parse_arguments(words[1:]) == asked


# -- where it goes on after a restart


def order(name: str, *more: tuple[int, str]) -> Fields:
    return (
        (35, "D"),
        (11, name),
        (55, "SPXN"),
        (54, "1"),
        (60, "20260101-00:00:00"),
        (38, "7"),
        (40, "2"),
        (44, "270"),
        *more,
    )


def execution(exec_id: str) -> Fields:
    return (35, "8"), (37, "E1"), (17, exec_id), (150, "0"), (39, "0")


def captured(folder: Path, *rows: tuple[str, Fields]) -> None:
    """Write a capture of an earlier life."""
    (folder / "ems").mkdir()
    with (folder / "ems" / "capture.jsonl").open("w") as file:
        for direction, fields in rows:
            row = {"wall_us": 1, "direction": direction, "msg_type": fields[0][1]}
            file.write(json.dumps(row | {"raw": wire_text(fields)}) + "\n")


def answers(simulator: SimulatedBroker, fields: Fields) -> list[dict[int, str]]:
    found = simulator._market.receive(dict(fields))  # noqa: SLF001 - without a session
    return [dict(one.fields) for one in found]


def test_a_restarted_broker_goes_on_in_its_table_behind_the_orders_that_arrived(
    tmp_path: Path,
) -> None:
    seed = "table"
    places = [n for n in range(1, 90) if outcome_of(seed, n) is OrderOutcome.REJECT]
    elsewhere = [outcome_of("countersign", n) is not OrderOutcome.REJECT for n in places]
    place = next(n for n, differs in zip(places, elsewhere, strict=True) if differs)
    orders = [("in", order(f"OLD{n}")) for n in range(place)]
    noise = [("in", ((35, "F"), (11, "C"))), ("out", order("X")), ("in", execution("X00000009"))]
    captured(tmp_path, *orders, *noise)
    again = SimulatedBroker(config(tmp_path, seed=seed))
    (told,) = answers(again, order("NEW"))
    assert (told[58], told[37]) == ("published table", f"E{place:08d}")


def test_a_restarted_broker_knows_the_names_it_has_seen(tmp_path: Path) -> None:
    captured(tmp_path, ("in", order("OLD")), ("out", order("OTHER")))
    again = SimulatedBroker(config(tmp_path, script=("fill", "fill")))
    (told,) = answers(again, order("OLD"))
    assert (told[39], told[103]) == ("8", "6"), "a duplicate, whatever became of the first"
    assert answers(again, order("OTHER"))[-1][39] == "2"


@pytest.mark.parametrize(
    ("ids", "exec_after", "next_no"),
    [
        ([], 0, 1),
        (["X00000004", "X00000003"], 0, 5),
        (["0", "0", "0"], 0, 4),
        (["X00000004"], 90, 91),
        (["X00000091"], 90, 92),
        (["Y00000091", "X1x"], 0, 3),
    ],
)
def test_a_restarted_broker_uses_no_execution_id_twice(
    tmp_path: Path, ids: list[str], exec_after: int, next_no: int
) -> None:
    captured(tmp_path, *(("out", execution(one)) for one in ids), ("in", execution("X00000500")))
    again = SimulatedBroker(config(tmp_path, script=("fill",), exec_after=exec_after))
    assert answers(again, order("A"))[0][17] == f"X{next_no:08d}"


@pytest.mark.parametrize("quoted", [True, False])
def test_only_a_broker_with_quotes_trades_at_them(tmp_path: Path, *, quoted: bool) -> None:
    quotes = tmp_path / "quotes"
    line = quote_line(session=0, instrument="SPXN", market_time_us=1, bid="268", ask="269")
    quotes.write_text(line)
    with_quotes = {"quotes": quotes} if quoted else {}
    broker = SimulatedBroker(config(tmp_path, script=("fill", "fill"), fee_bp=100, **with_quotes))
    told = answers(broker, order("A"))[-1]
    assert (told[31], told[12]) == (("269", "18.83") if quoted else ("270", "18.90"))
    assert (answers(broker, order("B", (55, "ELSE")))[-1][39] == "8") is quoted


# -- the worker


class Working:
    """A simulator whose worker runs, without a line."""

    def __init__(self, simulator: SimulatedBroker, asked: SimulatorConfig) -> None:
        self.simulator, self.config = simulator, asked
        self.id = simulator._id  # noqa: SLF001 - the engine's callbacks name it
        self.application = simulator._application  # noqa: SLF001 - the engine calls it

    def message(self, fields: Fields) -> quickfix.Message:
        theirs, ours = (49, self.config.target), (56, self.config.sender)
        text = wire_text((fields[0], theirs, ours, (34, "1"), *fields[1:]))
        return quickfix.Message(text, quickfix.DataDictionary(str(DICTIONARY)), False)  # noqa: FBT003

    def comes_in(self, fields: Fields) -> None:
        self.application.fromApp(self.message(fields), self.id)

    def said(self) -> list[tuple[str, str]]:
        """Type and name of each report that left."""
        rows = [
            dict(parse(r.raw)) for r in read_capture(self.config.capture) if r.direction == "out"
        ]
        return [(row[150], row[11]) for row in rows if row[35] == "8"]

    def says(self, *wanted: tuple[str, str]) -> None:
        assert until(lambda: len(self.said()) >= len(wanted), BOUND_S), self.said()
        assert self.said() == list(wanted)

    def takes_in(self, name: str) -> None:
        """Wait until everything before this was acted on: an order is its own receipt."""
        before = len(self.said())
        self.comes_in(order(name))
        assert until(lambda: len(self.said()) > before, BOUND_S)


@pytest.fixture
def _no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing listens: the engine is not started."""
    monkeypatch.setattr(quickfix.SocketAcceptor, "start", lambda _self: None)


@contextmanager
def working(folder: Path, **changes: Any) -> Iterator[Working]:  # noqa: ANN401 - any setting
    asked = config(folder, **changes)
    simulator = SimulatedBroker(asked)
    worker = threading.Thread(target=simulator.run)
    worker.start()
    try:
        yield Working(simulator, asked)
    finally:
        simulator.stopping.set()
        worker.join(BOUND_S)
    assert not worker.is_alive()


@pytest.mark.usefixtures("_no_line")
def test_what_came_in_is_captured_before_what_is_said_about_it(tmp_path: Path) -> None:
    with working(tmp_path, script=("partial",), partial_delay_ms=1) as broker:
        broker.comes_in(order("A"))
        broker.says(("0", "A"), ("F", "A"), ("F", "A"))
        directions = [one.direction for one in read_capture(broker.config.capture)]
        assert directions == ["in", "out", "out", "out"]


@pytest.mark.usefixtures("_no_line")
def test_a_silent_broker_takes_in_and_says_what_it_held_back_when_asked(tmp_path: Path) -> None:
    with working(tmp_path, script=("fill",), silent=True) as broker:
        broker.comes_in(order("A"))
        held = broker.simulator._market  # noqa: SLF001 - nothing of it is said
        assert until(lambda: held.orders and len(held.orders["A"].held) == 2, BOUND_S)
        assert broker.said() == []
        write_control(broker.config.control, Control(silent=False))
        broker.comes_in(((35, "H"), (11, "A"), (55, "SPXN"), (54, "1")))
        broker.says(("0", "A"), ("F", "A"), ("I", "A"))


@pytest.mark.usefixtures("_no_line")
@pytest.mark.parametrize("cancels", [True, False])
def test_only_a_broker_that_cancels_on_disconnect_does(tmp_path: Path, *, cancels: bool) -> None:
    quotes = tmp_path / "quotes"
    quotes.write_text(
        quote_line(session=0, instrument="SPXN", market_time_us=1, bid="300", ask="301")
    )
    with working(
        tmp_path, script=("fill",) * 2, cancel_on_disconnect=cancels, quotes=quotes
    ) as broker:
        broker.comes_in(order("A"))
        broker.application.onLogout(broker.id)
        broker.takes_in("B")
        cancelled = [("4", "A")] if cancels else []
        broker.says(("0", "A"), *cancelled, ("0", "B"))


@pytest.mark.usefixtures("_no_line")
def test_resting_orders_meet_the_next_sessions_quotes(tmp_path: Path) -> None:
    quotes = tmp_path / "quotes"
    prices = enumerate(("301", "269"))
    quotes.write_text(
        "".join(
            quote_line(session=n, instrument="SPXN", market_time_us=n, bid="200", ask=ask)
            for n, ask in prices
        )
    )
    with working(tmp_path, script=("fill",), quotes=quotes) as broker:
        broker.comes_in(order("A"))
        broker.says(("0", "A"))
        set_session(broker.config.control, 1)
        broker.says(("0", "A"), ("F", "A"))


@pytest.mark.usefixtures("_no_line")
@pytest.mark.parametrize("flagged", [True, False])
def test_numbers_that_begin_anew_are_announced_once_or_not_at_all(
    tmp_path: Path, *, flagged: bool
) -> None:
    with working(tmp_path, script=("fill",) * 2) as broker:
        session = quickfix.Session.lookupSession(broker.id)
        session.setNextSenderMsgSeqNum(40)
        control = read_control(broker.config.control)
        write_control(broker.config.control, control._replace(resets=1, reset_flag=flagged))
        begun = lambda: broker.application.begin_anew or session.getExpectedSenderNum() == 1  # noqa: E731
        assert until(begun, BOUND_S)
        logon: Fields = (35, "A"), (98, "0"), (108, "10")
        flags = []
        for _ in range(2):
            message = broker.message(logon)
            broker.application.toAdmin(message, broker.id)
            flags.append(message.isSetField(141))
        assert flags == [flagged, False]
        assert session.getExpectedSenderNum() == (40 if flagged else 1), "the engine does the rest"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_simulator_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    done: list[object] = []

    def unheard(*_: object) -> None:
        raise AssertionError("nobody took the signal, or the engine was stopped")

    def starts(_self: object) -> None:
        done.append("start")
        os.kill(os.getpid(), number)

    monkeypatch.setattr(quickfix.SocketAcceptor, "start", starts)
    monkeypatch.setattr(quickfix.SocketAcceptor, "stop", unheard)
    before = [(one, signal.signal(one, unheard)) for one in (signal.SIGTERM, signal.SIGINT)]
    try:
        assert main(config(tmp_path).command()[3:]) == 0
    finally:
        for one, handler in before:
            signal.signal(one, handler)
    assert done == ["start"], "its own stop may never return"
