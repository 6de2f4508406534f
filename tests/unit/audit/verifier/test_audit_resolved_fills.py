"""What two officers booked for a difference is found in the broker's own file."""

from pathlib import Path

import pytest

from gateway.desk.bodies.booking import ResolveRequest
from gateway.desk.officers.resolution import listed, resolution_statement, resolve
from gateway.installation.keys.keyring import SIGNING_ROLES
from gateway.walk.journal.order import OrderSending
from gateway.walk.journal.standing import Standing
from tests.doubles import broker_files as files
from tests.doubles.both_verifiers import checked
from tests.doubles.broker_files import Broker, officers
from tests.doubles.memory_desk import AGENT_ACCOUNT, MemoryDesk, memory_desk


@pytest.fixture
def played(tmp_path: Path) -> Broker:
    """Two orders: one filled in two parts, one in part."""
    return files.two_orders(memory_desk(tmp_path))


def test_a_fill_that_officers_booked_for_an_order_counts_for_it(
    played: Broker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A lost report: its total is known, a person booked it, the broker's file has the trade."""
    desk = played.desk
    order = desk.rest(30)
    desk.settled(desk.report(order, t17="SEEN", t32="2", t14="5"))  # three more than it says
    played.sent.append(desk.report(order, t17="SEEN", t32="2", t14="5"))
    played.sent.append(desk.report(order, t17="LOST", t32="3", t14="5"))
    (found,) = desk.small.desk.own.section.differences.open()
    own = desk.small.desk.own
    request = ResolveRequest(
        right="broker", reason="lost", evidence="file", price=_limit(order), lots=3
    )
    text = resolution_statement(str(listed(own)["log_id"]), found.seq, found.leaf.hex(), request)
    signatures = {role: own.keyring.signing_key(role).sign(text).hex() for role in SIGNING_ROLES}
    resolve(own, "otto", found.seq, request.model_copy(update={"signatures": signatures}))
    log, keys = played.ledger(), officers(played, tmp_path)
    code, said = checked(log, played.csv(), tmp_path, capsys, *keys)
    assert (code, "are booked by resolution" in said) == (0, True), said
    code, said = checked(log, played.csv(), tmp_path, capsys)
    assert (code, "give both officers' keys with --officer" in said) == (3, True), said


def resolved(desk: MemoryDesk, lots: int, *exec_ids: str, **more: str) -> None:
    """Let two officers book the open difference, naming the broker's ExecIDs."""
    own = desk.small.desk.own
    (found,) = own.section.differences.open()
    given = {"reason": "lost", "evidence": "file", "lots": lots, "exec_ids": list(exec_ids), **more}
    request = ResolveRequest.model_validate({"right": "broker", **given})
    text = resolution_statement(str(listed(own)["log_id"]), found.seq, found.leaf.hex(), request)
    signatures = {role: own.keyring.signing_key(role).sign(text).hex() for role in SIGNING_ROLES}
    resolve(own, "otto", found.seq, request.model_copy(update={"signatures": signatures}))


@pytest.mark.parametrize(
    ("exec_ids", "price", "code", "why"),
    [
        (("X9", "X8"), "269.00", 0, "5 fills of fills"),
        (("X9",), "269.00", 1, "no record of this ledger approved order"),
        (("X9", "X7"), "269.00", 1, "with another quantity"),
        (("X9", "X8"), "268.00", 1, "with another price"),
    ],
)
def test_a_resolution_names_the_brokers_fills_of_an_order_that_is_not_on_record(
    exec_ids: tuple[str, ...],
    price: str,
    code: int,
    why: str,
    played: Broker,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What both officers booked for an order of ours that the ledger lacks was TAMPERED."""
    desk, name = played.desk, "B" * 20
    order = desk.rest(30)
    for one, cum in (("X9", "2"), ("X8", "5")):
        lots = "2" if cum == "2" else "3"
        played.says(
            desk.report(order, t11=name, t37="ZZ", t17=one, t32=lots, t31="269.00", t14=cum)
        )
    resolved(desk, 5, *exec_ids, price=price, account=AGENT_ACCOUNT, side="BUY")
    log, keys = played.ledger(), officers(played, tmp_path)
    found, said = checked(log, played.csv(), tmp_path, capsys, *keys)
    assert (found, why.replace("5 fills", "3 fills") in said) == (code, True), said
    if not code:
        found, said = checked(log, played.csv(), tmp_path, capsys)
        assert (found, "give both officers' keys with --officer" in said) == (3, True), said


def test_a_resolution_takes_out_a_trade_that_the_broker_does_not_have(
    played: Broker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    desk = played.desk
    order = desk.rest(30)
    desk.settled(desk.report(order, t17="GHOST", t32="3", t14="3"))
    order = desk.standing(order.decision_id)
    desk.settled(desk.report(order, t17="0", t150="I", t39="0", t32="0", t31="0", t14="0"))
    resolved(desk, -3, "GHOST", price=_limit(order))
    keys = officers(played, tmp_path)
    code, said = checked(played.ledger(), played.csv(), tmp_path, capsys, *keys)
    assert code == 0, said


def test_two_trades_under_one_exec_id_are_booked_by_report_and_by_resolution(
    played: Broker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    desk = played.desk
    order = desk.rest(30)
    played.says(desk.report(order, t17="SAME", t32="2", t14="2"))
    order = desk.standing(order.decision_id)
    played.says(desk.report(order, t17="SAME", t32="3", t14="5"))
    resolved(desk, 3, "SAME", price=_limit(order))
    log, keys = played.ledger(), officers(played, tmp_path)
    for fills in (played.csv(), played.fix_log()):
        code, said = checked(log, fills, tmp_path, capsys, *keys)
        assert code == 0, said


@pytest.mark.parametrize(("other", "code"), [({"t31": ""}, 0), ({}, 1)])
def test_both_officers_say_the_price_that_the_brokers_line_does_not(
    played: Broker,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    other: dict[str, str],
    code: int,
) -> None:
    """It was TAMPERED; a line that has a price still contradicts another one."""
    desk = played.desk
    order = desk.rest(30)
    desk.settled(desk.report(order, t17="BARE", t32="3", t14="3", t31=""))
    played.sent.append(desk.report(order, t17="BARE", t32="3", t14="3", **other))
    resolved(desk, 3, "BARE", price="1.00")
    keys = officers(played, tmp_path)
    found, said = checked(played.ledger(), played.fix_log(), tmp_path, capsys, *keys)
    assert (found, "with another price" in said) == (code, bool(code)), said


def _limit(order: Standing) -> str:
    assert order.sending is not None
    return str(dict(OrderSending.of(order.sending).fields)[44])


@pytest.mark.parametrize(
    ("had", "days", "code"),
    [
        (("X17",), (), 0),
        ((), (), 1),
        ((), ("--broker-from", "20180102", "--broker-to", "20180102"), 1),
        ((), ("--broker-from", "20180103", "--broker-to", "20180104"), 0),
    ],
)
def test_the_brokers_file_has_every_fill_that_officers_named(
    had: tuple[str, ...],
    days: tuple[str, ...],
    code: int,
    played: Broker,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A trade that both officers made up under an ExecID was OK with exit 0."""
    desk = played.desk
    order = desk.rest(30)
    desk.settled(desk.report(order, t17="SEEN", t32="2", t14="5"))
    played.sent.append(desk.report(order, t17="SEEN", t32="2", t14="5"))
    if "20180103" in days:
        played.sent.clear()
    played.sent += [desk.report(order, t17=name, t32="3", t14="5") for name in had]
    resolved(desk, 3, "X17", price=_limit(order))
    log, keys = played.ledger(), officers(played, tmp_path)
    found, said = checked(log, played.csv(), tmp_path, capsys, *keys, *days)
    lacks = "the broker's file lacks fill X17, which officers resolved" in said
    assert (found, lacks) == (code, bool(code)), said
    assert "and 3 of officers' resolutions" in said


@pytest.mark.parametrize(("money", "code"), [("USD", 0), ("EUR", 1)])
def test_another_currency_in_the_brokers_file_is_a_difference(
    money: str, code: int, played: Broker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    desk = played.desk
    order = desk.rest(30)
    desk.settled(desk.report(order, t17="SEEN", t32="2", t14="5"))
    played.sent += [
        desk.report(order, t17="SEEN", t32="2", t14="5", t15=money),
        desk.report(order, t17="LOST", t32="3", t14="5", t15=money),
    ]
    resolved(desk, 3, "LOST", price=_limit(order))
    log, keys = played.ledger(), officers(played, tmp_path)
    found, said = checked(log, played.fix_log(), tmp_path, capsys, *keys)
    own, by_officers = "currency EUR, on record USD" in said, "with another currency" in said
    assert (found, own, by_officers) == (code, bool(code), bool(code)), said
