"""`countersign certify` at the simulator: each case with its messages, and a wrong broker."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from fix.session.dictionaries import SHIPPED
from fix.wire.identity import cl_ord_id
from gateway.cli.main import app as countersign
from tests.doubles.fix_world import Broker, broker_at
from tests.doubles.operator_page import do, edited
from tests.doubles.outside_broker import OTHER_ENGINE, QUICKFIX, outside_broker

pytestmark = [pytest.mark.broker, pytest.mark.timeout(180)]
SCRIPT = ("rest", "fill", "partial", "reject", "rest", "rest", "rest")
TERMS = """
[certify]
symbol = "SPXN"
rest_price = "1.00"
rest_quantity = 1
fill_price = "400.00"
fill_quantity = 3
partial_quantity = 8
reject_symbol = "NOSUCH"
"""


def profile_file(folder: Path, terms: str = TERMS) -> Path:
    text = (SHIPPED / "simulator.toml").read_text()
    text = text.replace("cancel_on_disconnect = false", "cancel_on_disconnect = true")
    path = folder / "broker.toml"
    path.write_text(text.replace("reconnect_s = 1", "reconnect_s = 1\nheartbeat_s = 1") + terms)
    return path


def certify(folder: Path, broker: Broker, *more: str) -> Result:
    words = ["certify", "--profile", "broker.toml", "--port", str(broker.config.port)]
    words += ["--folder", str(folder / "certify"), *more]
    return CliRunner().invoke(countersign, words)


def report(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "certify" / "report.json").read_text()))


def outcomes(told: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one["outcome"] for one in told["cases"]}


def test_every_case_that_the_simulator_can_play_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    profile_file(tmp_path)
    with broker_at(tmp_path, script=SCRIPT, cancel_on_disconnect=True) as broker:
        done = certify(tmp_path, broker)
        told = report(tmp_path)
        assert done.exit_code == 0, done.output
        assert told["passed"]
        found = outcomes(told)
        lacking = {name for name, outcome in found.items() if outcome != "pass"}
        assert lacking == {"reset"}
        assert len(found) == len(told["cases"]) == 19
        arrived = broker.order_ids()
    lines = (tmp_path / "certify" / "sent.jsonl").read_bytes().splitlines()
    named = {cl_ord_id(sha256(line).digest()) for line in lines}
    assert len(arrived) == len(set(arrived)) == len(SCRIPT)
    assert set(arrived) <= named
    assert sha256(lines[-1]).hexdigest() == told["sent_lines_head"]
    assert "they: 35=8" in (tmp_path / "certify" / "report.html").read_text()


def test_a_broker_that_fills_otherwise_fails_the_case_and_no_order_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    profile_file(tmp_path, TERMS.replace("partial_quantity = 8\n", ""))
    with broker_at(tmp_path, script=("rest", "rest", "fill", *SCRIPT[4:])) as broker:
        done = certify(tmp_path, broker, "--patience", "6")
    found = outcomes(report(tmp_path))
    assert done.exit_code == 1
    failed = {name for name, outcome in found.items() if outcome == "fail"}
    assert failed == {"fill", "order reject", "cancel on disconnect"}
    assert found["partial fill"] == "not applicable"
    assert found["nothing is left"] == "pass"


def test_without_a_certify_table_no_order_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    profile_file(tmp_path, "")
    with broker_at(tmp_path) as broker:
        assert certify(tmp_path, broker).exit_code == 0
        assert broker.order_ids() == []
    found = outcomes(report(tmp_path))
    assert {found[name] for name in ("new order", "cancel", "fill")} == {"not applicable"}
    assert found["gap in our numbers"] == "pass"


@pytest.mark.parametrize("mode", ["pilot", "live"])
def test_a_live_mode_needs_a_word_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COUNTERSIGN_MODE", mode)
    profile_file(tmp_path)
    done = CliRunner().invoke(countersign, ["certify", "--profile", "broker.toml", "--port", "1"])
    assert done.exit_code == 2
    assert "--in-live-mode" in done.output
    assert not (tmp_path / "certify").exists()


OUTSIDE = {
    "plain-4.4": ((*OTHER_ENGINE, "DESK"), {"heartbeat", "logout"}),
    "plain-4.2": ((QUICKFIX, "FIX.4.2", "DESK"), set[str]()),
}
"""An engine of another make for a profile, and what it does not do as FIX 4.4 says (asyncfix)."""


@pytest.mark.parametrize("name", OUTSIDE)
def test_at_brokers_of_another_make(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    engine, fails = OUTSIDE[name]
    with outside_broker(tmp_path / "broker", engine, "rest", "fill", "half", "reject") as broker:
        shipped = do("profile", "example", name).stdout
        text = edited(shipped, sender_comp_id="DESK", port=broker.port, heartbeat_s=1, replace=True)
        (tmp_path / "broker.toml").write_text(text + TERMS)
        code = 1 if fails else 0
        do("certify", "--profile", "broker.toml", "--patience", "5", code=code)
    found = outcomes(report(tmp_path))
    assert {one for one, outcome in found.items() if outcome == "fail"} == fails
    lacking = {one for one, outcome in found.items() if outcome == "not applicable"}
    assert lacking == {"reset", "mass status", "mass cancel", "cancel on disconnect"}
