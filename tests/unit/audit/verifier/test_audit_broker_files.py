"""Both verifiers read a broker's file alike, however odd it is."""

from pathlib import Path

import pytest

from tests.doubles.audit_log import dump_of
from tests.doubles.both_verifiers import both
from tests.doubles.broker_files import SIGNER, Broker, two_orders
from tests.doubles.evidence_collection import FOLDER
from tests.doubles.memory_desk import memory_desk


@pytest.fixture
def played(tmp_path: Path) -> Broker:
    return two_orders(memory_desk(tmp_path))


HEAD = "cl_ord_id,exec_id,instrument,side,quantity,price,account,time"
ODD_FILES = {
    "quoted": HEAD + '\n"A","B ""x""",SPXN,BUY,"1",2,,\n',
    "quote in the middle": HEAD + '\nA,B"x,SPXN,BUY,1,2,,\n',
    "a line's end inside quotes": HEAD + '\n"A\nA",B,SPXN,BUY,1,2,,20180102\nA,B,SPXN,up,1,2,,\n',
    "other line ends": HEAD.replace(",", ";") + "\r\rA;B;SPXN;s;1;2;;20180102\r\n\r\n",
    "blanks": HEAD + "\n\u00a0A , B\u2003,SPXN\x1f,BUY, 1.0 ,2,,\n",
    "an open quote": HEAD + '\nA,B,SPXN,BUY,1,2,,"20180102\n',
    "a mark": "\ufeff" + HEAD + "\nA,B,SPXN,BUY,1,2,,2018-01-02T10:00:00Z\n",
    "only a header": HEAD + "\n",
    "nothing": "",
    "other case": HEAD.upper() + "\nA,B,SPXN,sell,1,2,,20180102\n",
    "two of one column": HEAD + ",ClOrdID\n",
    "an apostrophe": HEAD + "\nA,B,SPXN,it's,1,2,,\n",
    "an arabic digit": HEAD + "\nA,B,SPXN,BUY,\u0661,2,,\n",
    "a bust of nothing": HEAD + ",exec_type,exec_ref_id\nA,B,SPXN,BUY,1,2,,20180102,H,Z\n",
    "a bust without reference": HEAD + ",exec_type\nA,B,SPXN,BUY,1,2,,20180102,H\n",
    "another type": HEAD + ",exec_type\nA,,,,,,,20180102,0\nA,B,SPXN,BUY,0,1,,20180102,8\n",
    "a long cell": HEAD + "\n" + "A" * 140_000 + ",B,SPXN,BUY,1,2,,\n",
    "a log of two on one line": (
        "x 8=FIX.4.4|35=8|150=F|11=A|17=B|55=SPXN|54=1|32=1|31=2|52=20180102-10:00:00|10=000|"
        "8=FIX.4.4|35=8|150=F|11=A|17=C|55=SPXN|54=2|32=1|31=2|60=20180103-10:00:00|10=001|\n"
    ),
    "a log with a report again": (
        "8=FIX.4.2^A35=8^A150=2^A11=A^A17=B^A55=SPXN^A54=1^A32=1^A31=2^A60=20180102^A10=000^A\n" * 2
    ),
    "a log with another report under one name": (
        "8=FIX.4.4|35=8|150=F|11=A|17=B|55=SPXN|54=1|32=1|31=2|10=000|\n"
        "8=FIX.4.4|35=8|150=F|11=A|17=B|55=SPXN|54=1|32=2|31=2|10=000|\n"
    ),
}


@pytest.mark.parametrize("name", ODD_FILES)
def test_both_verifiers_read_an_odd_file_alike(
    name: str, played: Broker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    days = ("--broker-from", "20180101", "--broker-to", "20180109")
    dump, file = tmp_path / "ledger.dump", tmp_path / "fills"
    dump.write_bytes(b"".join(dump_of(played.ledger())))
    file.write_bytes(ODD_FILES[name].encode())
    for more in ((), days, ("--broker-account", "other")):
        both(capsys, str(dump), "--key", str(SIGNER.vkey), "--broker-fills", str(file), *more)


def test_both_verifiers_say_the_same_of_a_bundle_and_of_what_takes_no_fills(
    played: Broker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fills = tmp_path / "fills.csv"
    fills.write_bytes(played.csv())
    asked = ("--key", str(FOLDER / "log.pub"), "--broker-fills", str(fills))
    code, said = both(capsys, str(FOLDER / "d1.zip"), *asked, verdict=True)
    assert (code, "no fill of fills.csv is of this decision" in said) == (3, True), said
    for file, sort in (("first.note", "a checkpoint"), ("d1.receipt", "a proof")):
        code, said = both(capsys, str(FOLDER / file), *asked, verdict=True)
        assert (code, f"--broker-fills does not apply to {sort}" in said) == (3, True), said
    dump = tmp_path / "ledger.dump"
    dump.write_bytes(b"".join(dump_of(played.ledger())))
    code, said = both(capsys, str(dump), "--key", str(SIGNER.vkey), "--broker-from", "20180102")
    assert (code, "need --broker-fills" in said) == (3, True), said
