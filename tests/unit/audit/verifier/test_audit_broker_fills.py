"""The broker is the witness: what its own file of fills does not bear out fails."""

import json
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.records.kinds import Kind
from audit.records.record import Draft
from audit.verifier.verify import Bad, read_broker_files
from tests.doubles import broker_files as files
from tests.doubles.adjusting import adjusted
from tests.doubles.audit_log import MemoryLog, dump_of
from tests.doubles.both_verifiers import both, checked
from tests.doubles.broker_files import COLUMNS, SIGNER, Broker, SignedLog, officers
from tests.doubles.memory_desk import memory_desk

Edit = Callable[[list[str]], list[str]]


@pytest.fixture
def played(tmp_path: Path) -> Broker:
    """Two orders: one filled in two parts, one trade corrected and one busted."""
    return files.two_orders(memory_desk(tmp_path))


def alone(log: MemoryLog, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> int:
    """Run both verifiers without the broker."""
    dump = tmp_path / "ledger.dump"
    dump.write_bytes(b"".join(dump_of(log)))
    return both(capsys, str(dump), "--key", str(SIGNER.vkey))[0]


def test_a_true_ledger_matches_the_brokers_csv_and_its_fix_log(
    played: Broker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = played.ledger()
    for fills in (played.csv(), played.fix_log("|"), played.fix_log("\x01")):
        code, said = checked(log, fills, tmp_path, capsys)
        assert (code, "3 fills of fills" in said) == (0, True), said
        assert "SPXN: 3 fills, 54 bought, 0 sold" in said
        assert "agree" in said


def test_busts_and_corrections_count_on_both_sides(
    played: Broker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    desk = played.desk
    order = desk.rest(30)
    for number in ("B", "C"):
        order = desk.standing(order.decision_id)
        played.says(desk.report(order, t17=number, t32="4", t14=str(order.filled_lots + 4)))
    order = desk.standing(order.decision_id)
    fixed = {"t150": "G", "t19": "B", "t17": "B2", "t32": "2", "t14": "6"}
    played.says(desk.report(order, **fixed))
    gone = {"t150": "H", "t19": "C", "t17": "C2", "t32": "0", "t31": "0", "t14": "2"}
    played.says(desk.report(desk.standing(order.decision_id), **gone))
    log = played.ledger()
    code, said = checked(log, played.fix_log(), tmp_path, capsys)
    assert (code, "4 fills of fills" in said) == (0, True), said
    # a file that knows nothing of the bust contradicts the ledger
    code, said = checked(log, played.csv(), tmp_path, capsys)
    assert code == 1
    assert "the ledger says that the broker took it back" in said


def _first(rows: list[str], *cells: tuple[int, str]) -> list[str]:
    row = rows[0].split(",")
    for place, text in cells:
        row[place] = text
    return [",".join(row), *rows[1:]]


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (lambda rows: _first(rows, (0, "A" * 20)), "no record of this ledger approved order AAAA"),
        (lambda rows: _first(rows, (1, "ZZ")), "the ledger lacks it"),
        (lambda rows: _first(rows, (4, "2")), "quantity 2, on record 1"),
        (lambda rows: _first(rows, (5, "1.01")), "price 1.01, on record"),
        (lambda rows: _first(rows, (3, "2")), "side SELL, on record BUY"),
        (lambda rows: _first(rows, (2, "NDXN")), "instrument NDXN, on record SPXN"),
        (lambda rows: _first(rows, (6, "other")), "account other, on record run-pages.agent"),
        (lambda rows: rows[1:], "the broker's file lacks fill M"),
        (lambda rows: [*rows, rows[0].replace(",M", ",N")], "the ledger lacks it"),
    ],
)
def test_what_does_not_match_fails_with_its_line_and_reason(
    edit: Edit,
    why: str,
    played: Broker,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    log = played.ledger()
    code, said = checked(log, played.csv(edit), tmp_path, capsys)
    assert code == 1
    assert why in said


def test_a_rewritten_quantity_verifies_alone_and_fails_with_the_fills(
    played: Broker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def change(draft: Draft) -> Draft:
        raw = str(draft.payload.get("raw"))
        if draft.kind is Kind.FIX_INBOUND and "\x0117=A\x01" in raw:
            raw = raw.replace("\x0132=3\x01", "\x0132=2\x01").replace(
                "\x0114=3\x01", "\x0114=2\x01"
            )
            digest = sha256(raw.encode("latin-1")).hexdigest()
            return replace(draft, payload={**draft.payload, "raw": raw, "digest": digest})
        if draft.kind is not Kind.ORDER_REPORTED or draft.payload["exec_id"] != "A":
            return draft
        payload: Any = json.loads(json.dumps(draft.payload))
        payload["report"] |= {"last_qty": "2", "cum_qty": "2"}
        payload["fill"]["qty_lots"] = payload["last_lots"] = 2
        return replace(draft, payload=payload)

    log = files.written_again(played.ledger(), change)
    assert alone(log, tmp_path, capsys) == 0
    code, said = checked(log, played.csv(), tmp_path, capsys)
    assert code == 1
    assert "quantity 3, on record 2" in said


def test_a_rewritten_decision_verifies_alone_and_fails_with_the_fills(
    played: Broker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every fill is left as it was; only why an order was allowed is told in another way."""

    def change(draft: Draft) -> Draft:
        if draft.kind is not Kind.VERDICT_GIVEN:
            return draft
        return replace(draft, payload={**draft.payload, "narrative_as_of_us": 1})

    log = files.written_again(played.ledger(), change)
    assert alone(log, tmp_path, capsys) == 0
    code, said = checked(log, played.fix_log(), tmp_path, capsys)
    assert code == 1
    assert said.count("no record of this ledger approved order") >= 3


def test_a_rewriter_cannot_keep_the_names_of_the_orders(
    played: Broker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever keeps the broker's ClOrdIDs has orders that their own approval does not name."""
    true = played.ledger()
    kept: dict[str, str] = {}

    def change(draft: Draft) -> Draft:
        name = draft.payload.get("cl_ord_id")
        if draft.kind is Kind.VERDICT_GIVEN:
            return replace(draft, payload={**draft.payload, "narrative_as_of_us": 1})
        if draft.kind not in {Kind.ORDER_SENDING, Kind.ORDER_REPORTED} or name is None:
            return draft
        old = kept.setdefault(str(draft.payload["decision_id"]), _old_name(true, draft))
        return replace(draft, payload={**draft.payload, "cl_ord_id": old})

    log = files.written_again(true, change)
    assert alone(log, tmp_path, capsys) == 1
    code, said = checked(log, played.csv(), tmp_path, capsys)
    assert code == 1
    assert "is not named by its approving record" in said


def _old_name(log: MemoryLog, draft: Draft) -> str:
    """Return the ClOrdID that an order has in a log."""
    rows = (row for row in log.rows if row["stream"] == draft.stream)
    named = (json.loads(row["payload"]) for row in rows if row["kind"] == Kind.ORDER_SENDING)
    return str(next(named)["cl_ord_id"])


def test_a_fill_that_is_left_out_or_made_up_fails(
    played: Broker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    order = played.desk.rest(10)
    played.desk.settled(played.desk.report(order, t17="OURS"))  # the broker never said it
    log = played.ledger()
    code, said = checked(log, played.csv(), tmp_path, capsys)
    assert (code, "the broker's file lacks fill OURS" in said) == (1, True)
    days = ("--broker-from", "20180103", "--broker-to", "20180103")
    code, said = checked(log, played.csv(lambda _: []), tmp_path, capsys, *days)
    assert code == 0  # the ledger has nothing on that day either
    code, said = checked(log, played.csv(lambda _: []), tmp_path, capsys)
    assert (code, "name the days that it covers" in said) == (3, True)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"a,b\n1,2\n", "line 1: the header lacks cl_ord_id"),
        (COLUMNS.encode() + b"\nA,B,SPXN,1\n", "line 2: 4 cells, not 8"),
        (COLUMNS.encode() + b"\nA,B,SPXN,X,1,1,,\n", "line 2: side 'X'"),
        (COLUMNS.encode() + b"\nA,B,SPXN,1,1e3,1,,\n", "line 2: quantity '1e3'"),
        (COLUMNS.encode() + b"\nA,B,SPXN,1,0,1,,\n", "line 2: the quantity of a trade"),
        (
            COLUMNS.encode() + b"\n" + b"A,B,SPXN,1,1,1,,20180102\n" * 2,
            "line 3: ExecID B of line 2",
        ),
        (b"\xff\xfe", "is not UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_its_line(data: bytes, why: str) -> None:
    with pytest.raises(Bad) as failed:
        read_broker_files([("fills.csv", data)])
    assert why in str(failed.value)


def test_other_headers_marks_and_prefixes_are_read() -> None:
    head = "ClOrdID;ExecID;Symbol;Side;LastQty;LastPx;Desk;TransactTime"
    row = "A;B;SPXN;S;1.50;268.52;x;2018-01-02T15:00:00Z"
    read = read_broker_files([("fills.csv", f"\ufeff{head}\r\n{row}\r\n".encode())])
    (fill, names) = read.fills[0]
    assert (fill.side, fill.quantity, list(names)) == ("SELL", 15 * 10**17, ["B"])
    assert (read.first_day, read.last_day) == ("20180102", "20180102")
    old = "8=FIX.4.2^A35=8^A52=20180102-15:00:00^A11=A^A17=B^A20=0^A150=1^A55=SPXN^A"
    old += "54=1^A32=1^A31=2^A10=000^A"
    busted = old.replace("17=B", "17=C^A19=B").replace("20=0", "20=1")
    assert len(read_broker_files([("log", old.encode())]).fills) == 1
    assert read_broker_files([("log", f"{old}\n{busted}\n".encode())]).fills == []


@pytest.mark.parametrize(
    ("line", "code", "why"),
    [
        (",X77,SPXN,BUY,10,268.50,,20180102", 0, "match their approving records"),
        (",X77,SPXN,BUY,11,268.50,,20180102", 1, "has another quantity"),
        (",X77,SPXN,SELL,10,268.50,,20180102", 1, "has another side"),
        (",X78,SPXN,BUY,10,268.50,,20180102", 1, "no record of this ledger approved order -"),
    ],
)
def test_a_trade_by_phone_is_approved_by_what_two_officers_signed(
    line: str,
    code: int,
    why: str,
    played: Broker,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    log = _phoned(played)
    fills, keys = played.csv(lambda rows: [*rows, line]), officers(played, tmp_path)
    found, said = checked(log, fills, tmp_path, capsys, *keys)
    assert (found, why in said) == (code, True), said


def _phoned(played: Broker) -> SignedLog:
    trade = {"instrument": "SPXN", "side": "BUY", "quantity": 10, "price": "268.50"}
    adjusted(played.desk, sort="trade", reference="X77", **trade)
    return played.ledger()


PHONED = ",X77,SPXN,BUY,10,268.50,,20180102"


def test_without_officers_keys_a_trade_by_phone_is_not_checkable(
    played: Broker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = _phoned(played)
    fills = played.csv(lambda rows: [*rows, PHONED])
    code, said = checked(log, fills, tmp_path, capsys)
    assert (code, "give both officers' keys with --officer" in said) == (3, True), said


def test_a_trade_by_phone_that_the_broker_does_not_have_fails(
    played: Broker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, keys = _phoned(played), officers(played, tmp_path)
    day = ("--broker-from", "19700101", "--broker-to", "20991231")
    code, said = checked(log, played.csv(), tmp_path, capsys, *keys, *day)
    assert (code, "the broker's file lacks the trade by phone X77" in said) == (1, True), said


def test_one_adjustment_accounts_for_one_line_only(
    played: Broker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, keys = _phoned(played), officers(played, tmp_path)
    again = PHONED.replace(",X77", "ZZ,X77", 1)
    fills = played.csv(lambda rows: [*rows, PHONED, again])
    code, said = checked(log, fills, tmp_path, capsys, *keys)
    assert (code, "no record of this ledger approved order ZZ" in said) == (1, True), said


def _forged(draft: Draft) -> Draft:
    if draft.kind is not Kind.BOOK_ADJUSTED:
        return draft
    trade: Any = draft.payload["trade"]
    terms: Any = draft.payload["terms"]
    fill: Any = draft.payload["fill"]
    more = {
        "trade": {**trade, "quantity": "11"},
        "terms": {**terms, "quantity": 11},
        "fill": {**fill, "qty_lots": 11},
        "lots": {"SPXN": 11},
    }
    return replace(draft, payload={**draft.payload, **more})


def _untold(draft: Draft) -> Draft:
    if draft.kind is not Kind.BOOK_ADJUSTED:
        return draft
    trade: Any = draft.payload["trade"]
    return replace(draft, payload={**draft.payload, "trade": {**trade, "quantity": "11"}})


@pytest.mark.parametrize(
    ("change", "unaided", "why"),
    [
        (_forged, 0, "an adjustment that its two officers did not sign"),
        (_untold, 1, "adjustment: its trade is not what was signed"),
    ],
)
def test_an_adjustment_that_was_written_again_fails_with_its_officers_keys(
    change: Callable[[Draft], Draft],
    unaided: int,
    why: str,
    played: Broker,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Log, hashes and broker's file agree; what the officers signed does not."""
    log = files.written_again(_phoned(played), change)
    fills = played.csv(lambda rows: [*rows, PHONED.replace(",10,", ",11,")])
    assert alone(log, tmp_path, capsys) == unaided
    code, said = checked(log, fills, tmp_path, capsys, *officers(played, tmp_path))
    assert (code, why in said) == (1, True), said


def test_another_officers_key_does_not_fit(
    played: Broker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = _phoned(played)
    other = Ed25519PrivateKey.from_private_bytes(bytes(32)).public_key().public_bytes_raw()
    fills, keys = (
        played.csv(lambda rows: [*rows, PHONED]),
        officers(played, tmp_path, ("risk", other)),
    )
    code, said = checked(log, fills, tmp_path, capsys, *keys)
    assert (code, "an adjustment that its two officers did not sign" in said) == (1, True), said
    code, said = checked(log, fills, tmp_path, capsys, *keys[:2])
    assert (code, "two officers sign together" in said) == (3, True), said
