"""From an empty folder over two paper sessions to pilot, as `serve` starts each (sec_pilot).

Real: the page's commands, PostgreSQL, ledger, FIX child, two simulators, TCP, HTTP, officers' keys.
The gate's report is put on record as a passing one; a run of it takes hours.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from audit.records.kinds import Kind
from gateway.errors import GatewayError, ModeRefusedError
from gateway.installation.children.simulator import wait_for
from gateway.installation.keys.rotation import open_ledger, stopped
from gateway.installation.place import attached
from gateway.installation.settings import load
from gateway.launch.commands.modes import show_mode, sign_mode
from gateway.launch.setup.pairs.promotion import record_promotion, sign_promotion
from gateway.walk.journal.control.modes import promotion_tested
from inference.weights.promotion import GATE
from inference.weights.registry import load_pair
from tests.doubles.both_verifiers import both
from tests.doubles.fix_world import Broker, broker_at
from tests.doubles.operator_page import do, edited
from tests.doubles.scene_desk import SYMBOL, ServedDesk, served_desk

pytestmark = [pytest.mark.postgres, pytest.mark.broker, pytest.mark.timeout(900)]
SPAN_S = 60
NUMBERS = {
    "sessions_min": 2,
    "session_span_min": SPAN_S * 1_000_000,
    "trading_days_min": 1,
}


def with_numbers() -> None:
    """Have the draft policy ask for two sessions of a minute, on one day."""
    draft = Path("policy.toml")
    text = draft.read_text()
    for name, value in NUMBERS.items():
        text, count = re.subn(rf"(\[deployment\.{name}\]\nvalue = )\d+", rf"\g<1>{value}", text)
        assert count == 1, name
    draft.write_text(text)


def in_pilot(patch: pytest.MonkeyPatch, broker: Broker) -> None:
    """Set what pilot needs of its own: account, session, limits."""
    for name, value in {
        "MODE": "pilot",
        "ACCOUNT": "desk-pilot",
        "FIX__PORT": str(broker.config.port),
        "FIX__SENDER": "PILOT",
        "PILOT__INSTRUMENTS": SYMBOL,
        "PILOT__PRICE_MAX_MINOR": "1000000",
        "PILOT__VALUE_MAX_MINOR": "1000000000",
        "PILOT__ORDERS_PER_DAY": "1",
        "PILOT__POSITION_MAX_LOTS": "10000",
    }.items():
        patch.setenv(f"COUNTERSIGN_{name}", value)


def session(desk: ServedDesk) -> None:
    """Serve a session: a logon, an order, and a reconciliation a minute later."""
    desk.start()
    desk.ready()
    before = sessions_of(desk, "session_reconciled")
    if not desk.decisions:
        desk.post_bars()
    desk.comes(desk.ask(), lambda one: one.report_status is not None)
    wait_for(
        lambda: len(sessions_of(desk, "session_reconciled")) > len(before),
        3.0 * SPAN_S,
        part="the session's reconciliation",
    )
    desk.stop()


def sessions_of(desk: ServedDesk, event: str) -> list[dict[str, Any]]:
    found = desk.app.reader.records(kinds=(Kind.SESSION_EVENT,))
    return [dict(one.body) for one in found if one.body["event"] == event]


def lacking(capsys: pytest.CaptureFixture[str], mode: str = "pilot") -> list[str]:
    """Return what `mode show` says is missing."""
    capsys.readouterr()
    assert show_mode(load(), as_json=True) == 0
    needs = json.loads(capsys.readouterr().out)["needs"][mode]
    return [one["what"] for one in needs if one["met"] is False]


def refused(desk: ServedDesk) -> str:
    """Return why a start is refused, as `serve` says it."""
    try:
        with pytest.raises(ModeRefusedError) as said:
            desk.start()
    finally:
        desk.stop()
    return str(said.value)


def shown_fit(keys: dict[str, Path]) -> None:
    """Register what serves, try the policy, promote the pair; sign all of it as both officers."""
    do("register", "--by", "ada", "--reason", "pilot begins")
    bundle = Path("keys/policy.bundle.json")
    said = do("policy", "try", bundle, "--record").output
    (digest,) = re.findall(r"^trial ([0-9a-f]{64})$", said, re.MULTILINE)
    draft, tried = Path("tried.toml"), Path("tried.bundle.json")
    draft.write_bytes(Path("policy.toml").read_bytes())
    for file, key in zip((draft, tried), keys.values(), strict=True):
        do("policy", "sign", file, "--key", key, "--trial", digest)
    do("policy", "activate", tried)
    settings = load()
    pair = load_pair(settings.engine.model)
    with stopped(settings) as place, open_ledger(place) as ledger:
        ledger.append(
            promotion_tested(
                model_id=pair.model_id,
                model_digest=pair.manifest_digest,
                gate=GATE,
                failed=(),
                report_blob=ledger.put_blob(b"{}\n"),
                actor="ada",
                reason="passed",
                number=1,
            )
        )
    for key in keys.values():
        sign_promotion(settings, key)
        sign_mode(settings, "pilot", key)
    record_promotion(settings)


def refuses_what_is_not_registered(desk: ServedDesk) -> None:
    """Have a later start find another table of instruments than the registered one."""
    table = Path("instruments.toml")
    table.write_text(table.read_text() + "# another comment\n")
    try:
        with pytest.raises(GatewayError, match="differs: instruments"):
            desk.start()
    finally:
        desk.stop()


def passes_both_verifiers(capsys: pytest.CaptureFixture[str]) -> None:
    """Judge the honest log of paper and pilot by every statement, with both officers' keys."""
    do("dump", "whole.dump")
    officers = ("--officer", "keys/risk.pub", "--officer", "keys/compliance.pub")
    code, said = both(capsys, "whole.dump", "--key", "keys/ledger.key.pub", *officers)
    assert code == 0, said


def test_two_paper_sessions_lead_to_pilot_on_the_same_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shipped = do("profile", "example", "simulator").stdout
    with broker_at(tmp_path / "one") as paper, broker_at(tmp_path / "two", target="PILOT") as pilot:
        profile = edited(shipped, port=paper.config.port)
        with served_desk(
            tmp_path / "empty", paper.config.port, monkeypatch, profile, with_numbers
        ) as desk:
            keys = {
                role: desk.top / "desk" / f"{role}-officer" / f"{role}.key"
                for role in ("risk", "compliance")
            }
            session(desk)
            assert any("2 reconciled sessions of 60 s" in one for one in lacking(capsys))
            session(desk)
            assert not any("reconciled sessions" in one for one in lacking(capsys))
            with attached(load()) as place:
                size = place.reader.head().size

            in_pilot(monkeypatch, pilot)
            said = refused(desk)
            for word in ("2 officers", "countersign register", "trial", "promotion record"):
                assert word in said
            shown_fit(keys)
            assert lacking(capsys) == []

            desk.start()
            desk.ready()
            assert desk.app.ledger.size > size, "the ledger of paper mode goes on"
            assert desk.app.plan.tags.mode == "pilot"
            order = desk.comes(desk.ask(), lambda one: one.report_status is not None)
            assert pilot.order_ids() == [order.cl_ord_id]
            assert order.account.startswith("desk-pilot.")
            records = desk.app.reader.records(stream=f"decision/{order.decision_id}")
            assert {one.body.get("mode") for one in records} == {"pilot"}
            assert desk.wish()["reason"] == "pilot_orders: 2, at most 1"
            (entered,) = (
                one.body
                for one in desk.app.reader.records(kinds=(Kind.MODE_ENTERED,))
                if one.body["mode"] == "pilot"
            )
            assert entered["before"] == "paper"
            wait_for(
                lambda: any(
                    one["mode"] == "pilot" for one in sessions_of(desk, "session_reconciled")
                ),
                3.0 * SPAN_S,
                part="pilot's session",
            )
            desk.app.ledger.checkpoint_now()
            desk.stop()
            passes_both_verifiers(capsys)
            refuses_what_is_not_registered(desk)
