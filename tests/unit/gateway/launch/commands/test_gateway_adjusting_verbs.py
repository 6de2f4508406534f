"""`book open` and `adjust`: errors of a file name their line, both officers sign what is sent."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from gateway.desk.controls.statements import all_signed
from gateway.desk.officers.adjustment import adjustment_statement
from gateway.errors import RequestError
from gateway.installation.keys.keyring import Keyring
from gateway.installation.local.client import DoorAnswer
from gateway.installation.settings import Settings
from gateway.launch.commands import adjustments as adjusting
from gateway.launch.commands.adjustments import adjust_book, adjustment_from, opening_from

GOOD = "\ufeffinstrument,quantity,price\r\nSPXN,400,250.00\r\n\r\ncash,500000.00,\r\nNDXN,-5,90\r\n"


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "sod.csv"
    path.write_text(text, encoding="utf-8", newline="")
    return path


def test_a_file_of_positions_becomes_an_opening_with_its_digest(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    request = opening_from(path, "desk", "2026-11-20", "start of day")
    assert (request.ref, request.sort, request.account) == (
        "opening:2026-11-20",
        "opening",
        "desk",
    )
    assert request.amount == "500000.00"
    lines = [(p.instrument, p.quantity, p.price) for p in request.positions]
    assert lines == [("SPXN", 400, "250.00"), ("NDXN", -5, "90")]
    assert hashlib.sha256(path.read_bytes()).hexdigest() in request.evidence


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a,b,c\n", "line 1: write the header instrument,quantity,price"),
        ("instrument,quantity,price\nSPXN,1\n", "line 2: 2 cells, not 3"),
        ("instrument,quantity,price\nSPXN,1.5,2\n", "line 2: quantity '1.5'"),
        ("instrument,quantity,price\nCASH,1,\nCASH,2,\n", "line 3: CASH stands twice"),
        ("instrument,quantity,price\nSPXN,1,2\n", "must state the cash"),
        ("instrument,quantity,price\nSPXN,1,x\nCASH,1,\n", "positions.0.price"),
        ("instrument,quantity,price\nCASH,1e5,\n", "amount"),
        ("", "line 1"),
    ],
)
def test_a_wrong_file_is_refused_with_its_line(text: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(RequestError) as failed:
        opening_from(written(tmp_path, text), "desk", "2026-11-20", "start of day")
    assert why in str(failed.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="nothing"):
        opening_from(tmp_path / "nothing.csv", "desk", "2026-11-20", "start of day")


def test_both_officers_sign_what_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = Settings(state=tmp_path)
    keyring = Keyring.create(tmp_path / "keys")
    sent: list[dict[str, Any]] = []

    def get(_state: object, path: str, token: str, _timeout_s: float) -> DoorAnswer:
        assert (path, token) == ("/v1/adjustments", keyring.token("operator"))
        return DoorAnswer(status=200, document={"log_id": "log#00"})

    def post(_state: object, path: str, content: str, _token: str, _timeout_s: float) -> DoorAnswer:
        assert path == "/v1/adjustments"
        sent.append(json.loads(content))
        return DoorAnswer(status=200, document={"seqs": [7, 8], "again": bool(len(sent) > 1)})

    monkeypatch.setattr(adjusting, "get", get)
    monkeypatch.setattr(adjusting, "post", post)
    given = {"ref": "s", "sort": "split", "reason": "notice", "evidence": "7"}
    request = adjustment_from({**given, "instrument": "SPXN", "ratio": "2:1"})
    for said in ("is recorded: record 7, 8", "was recorded before"):
        assert adjust_book(settings, request, {}) == 0
        assert said in capsys.readouterr().out
    signed = adjustment_statement("log#00", request)
    assert all_signed(signed, sent[0]["signatures"], keyring.public_keys())
    assert not all_signed(signed + b"x", sent[0]["signatures"], keyring.public_keys())
