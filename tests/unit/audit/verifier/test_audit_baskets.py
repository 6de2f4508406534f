"""An outsider sees that no order of a basket left before the whole was approved on record."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from audit.evidence.bundle import build_bundle
from audit.records.kinds import Kind
from audit.records.record import Draft
from gateway.desk.agents.basket_requests import BasketRequest
from gateway.desk.agents.baskets import submit_basket
from gateway.desk.requests import IntentRequest
from tests.doubles.audit_log import dump_of
from tests.doubles.both_verifiers import both
from tests.doubles.broker_files import SIGNER, Broker, SignedLog, written_again
from tests.doubles.evidence_log import MemoryReader
from tests.doubles.memory_desk import AGENT, memory_desk

Ask = Callable[[SignedLog], tuple[int, str]]


@pytest.fixture
def log(tmp_path: Path) -> SignedLog:
    """The log of a desk that sent a basket of two orders."""
    desk = memory_desk(tmp_path / "desk")
    legs = [
        IntentRequest(client_key=name, instrument=name, target_exposure_bp=2_000, max_qty_lots=10)
        for name in ("SPXN", "NDXN")
    ]
    request = BasketRequest(client_key="whole", legs=legs)
    assert submit_basket(desk.small.desk, AGENT, request).result == "approved"
    return Broker(desk).ledger()


@pytest.fixture
def ask(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Ask:
    def asked(log: SignedLog) -> tuple[int, str]:
        dump = tmp_path / "dump"
        dump.write_bytes(b"".join(dump_of(log)))
        return both(capsys, str(dump), "--key", str(SIGNER.vkey))

    return asked


def test_a_sound_basket_is_said(log: SignedLog, ask: Ask) -> None:
    code, said = ask(log)
    assert "1 of 1 baskets were approved as a whole" in said
    assert code != 1, said


def _outcome(draft: Draft) -> Draft:
    if draft.kind is not Kind.BASKET_DECIDED:
        return draft
    return replace(draft, payload={**draft.payload, "outcome": "stopped"})


def _renamed(kind: Kind) -> Callable[[Draft], Draft]:
    def change(draft: Draft) -> Draft:
        payload: dict[str, Any] = {**draft.payload, "basket_id": "other"}
        return replace(draft, payload=payload) if draft.kind is kind else draft

    return change


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (_outcome, "left, which was stopped"),
        (_renamed(Kind.BASKET_DECIDED), "left without its outcome"),
        (_renamed(Kind.BASKET_RECEIVED), "which is not on record before it"),
    ],
)
def test_what_is_wrong_with_a_basket_is_found(
    log: SignedLog, ask: Ask, change: Callable[[Draft], Draft], why: str
) -> None:
    code, said = ask(written_again(log, change))
    assert (code, why in said) == (1, True), said


def test_an_outcome_after_the_first_order_is_found(log: SignedLog, ask: Ask) -> None:
    (decided,) = (one for one in log.rows if one["kind"] == Kind.BASKET_DECIDED)
    log.rows.remove(decided)
    log.rows.append(decided)
    code, said = ask(written_again(log, lambda draft: draft))
    assert (code, "left before the whole was decided" in said) == (1, True), said


def test_a_legs_bundle_has_both_records_and_is_judged_by_them(
    log: SignedLog, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    leg = next(str(one["stream"]) for one in log.rows if one["kind"] == Kind.ORDER_SENDING)
    found = []
    for name, change in (("sound", lambda draft: draft), ("forged", _outcome)):
        again = written_again(log, change)
        bundle = tmp_path / f"{name}.zip"
        bundle.write_bytes(build_bundle(MemoryReader(again), leg.removeprefix("decision/")))
        found.append(both(capsys, str(bundle), "--key", str(SIGNER.vkey), verdict=True))
    (code, said), (forged, why) = found
    assert code != 1, said
    assert "basket" not in said, "nothing is missing"
    assert (forged, "left, which was stopped" in why) == (1, True), why
