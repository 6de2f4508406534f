"""An outsider sees that no order of a basket left before the whole was approved on record."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from audit.evidence.bundle import build_bundle
from audit.records.kinds import Kind
from audit.records.record import Draft
from gateway.desk.agents.baskets import submit_basket
from gateway.desk.bodies.basket_requests import BasketRequest
from gateway.desk.bodies.requests import IntentRequest
from tests.doubles.both_verifiers import Change, both, both_about, told
from tests.doubles.broker_files import SIGNER, Broker, SignedLog, written_again
from tests.doubles.evidence_log import MemoryReader
from tests.doubles.memory_desk import AGENT, memory_desk

Ask = Callable[[SignedLog], tuple[int, str]]
Legs = list[dict[str, Any]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> SignedLog:
    """The log of a desk that sent a basket of two orders."""
    desk = memory_desk(tmp_path_factory.mktemp("desk"))
    legs = [
        IntentRequest(client_key=name, instrument=name, target_exposure_bp=2_000, max_qty_lots=10)
        for name in ("SPXN", "NDXN")
    ]
    request = BasketRequest(client_key="whole", legs=legs)
    assert submit_basket(desk.small.desk, AGENT, request).result == "approved"
    return Broker(desk).ledger()


@pytest.fixture
def log(made: SignedLog) -> SignedLog:
    return replace(made, rows=list(made.rows))


@pytest.fixture
def ask(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Ask:
    return partial(both_about, folder=tmp_path, capsys=capsys)


def test_a_sound_basket_is_said(log: SignedLog, ask: Ask) -> None:
    code, said = ask(log)
    assert "1 of 1 baskets were approved as a whole" in said
    assert code == 0, said


def _stripped(*instruments: str) -> Change:
    """Return a change that takes the basket from the intents of some legs."""

    def change(draft: Draft) -> Draft:
        if draft.kind is not Kind.INTENT_RECEIVED or draft.payload["instrument"] not in instruments:
            return draft
        kept = {name: value for name, value in draft.payload.items() if name != "basket_id"}
        return replace(draft, payload=kept)

    return change


def _after(*changes: Change) -> Change:
    def change(draft: Draft) -> Draft:
        for one in changes:
            draft = one(draft)
        return draft

    return change


def _second(**changes: object) -> Callable[[Legs], Legs]:
    """Return a change of the second leg in an outcome; None takes a field away."""

    def change(legs: Legs) -> Legs:
        leg = {**legs[1], **changes}
        return [legs[0], {name: value for name, value in leg.items() if value is not None}]

    return change


def _one_later(legs: Legs) -> Legs:
    return [{**leg, "verdict_seq": leg["verdict_seq"] + 1} for leg in legs]


_outcome = told(Kind.BASKET_DECIDED, outcome="stopped")
_no_verdict = "no such verdict before it"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (_outcome, "left, which was stopped"),
        (told(Kind.BASKET_DECIDED, outcome="no_trade"), "left, which was no_trade"),
        (told(Kind.BASKET_DECIDED, outcome=["approved"]), '["approved"]'),
        (told(Kind.BASKET_DECIDED, basket_id="other"), "left without its outcome"),
        (told(Kind.BASKET_RECEIVED, basket_id="other"), "which is not on record before it"),
        (told(Kind.INTENT_RECEIVED, basket_id="other"), "which is not on record before it"),
        (told(Kind.BASKET_RECEIVED, legs=["x", "y"]), "which is not on record after it"),
        (told(Kind.BASKET_RECEIVED, legs=["x", "y"]), "which does not name it"),
        (told(Kind.BASKET_RECEIVED, legs=lambda legs: legs[:1]), "names other legs"),
        (told(Kind.BASKET_RECEIVED, legs=lambda legs: [*legs, legs[0]]), "each of its legs once"),
        (told(Kind.BASKET_RECEIVED, legs=[]), "does not name each of its legs once"),
        (told(Kind.BASKET_RECEIVED, digest="00" * 32), "is not that of its legs' requests"),
        (told(Kind.INTENT_RECEIVED, request={}), "is not that of its legs' requests"),
        (told(Kind.BASKET_DECIDED, received_seq=0), "names another record of it"),
        (told(Kind.BASKET_DECIDED, legs=lambda legs: legs[:1]), "names other legs"),
        (told(Kind.BASKET_DECIDED, legs=lambda legs: legs[::-1]), "names other legs"),
        (told(Kind.BASKET_DECIDED, legs=7), "names other legs"),
        (told(Kind.BASKET_DECIDED, legs=_second(result="rejected")), _no_verdict),
        (told(Kind.BASKET_DECIDED, legs=_second(result="rejected")), "approved, its legs are"),
        (told(Kind.BASKET_DECIDED, legs=_second(verdict_seq=2)), _no_verdict),
        (told(Kind.BASKET_DECIDED, legs=_second(verdict_seq="2")), "does not name its verdict"),
        (told(Kind.BASKET_DECIDED, legs=_second(verdict_seq=None)), "does not name its verdict"),
        (
            told(Kind.BASKET_DECIDED, legs=_second(verdict_seq=None, result="no_trade")),
            "does not name its verdict",
        ),
        (told(Kind.VERDICT_GIVEN, result="rejected"), _no_verdict),
        (_stripped("NDXN"), "is named as a leg by basket"),
        (_stripped("SPXN", "NDXN"), "is named as a leg by basket"),
        (_after(_stripped("SPXN", "NDXN"), _outcome), "left, which was stopped"),
        (told(Kind.INTENT_RECEIVED, basket_id=lambda name: [name]), "its basket_id is not a text"),
        (told(Kind.INTENT_RECEIVED, basket_id=lambda name: {"x": name}), "is not a text"),
        (told(Kind.INTENT_RECEIVED, basket_id=True), "its basket_id is not a text"),
        (told(Kind.INTENT_RECEIVED, basket_id=None), "its basket_id is not a text"),
        (told(Kind.BASKET_RECEIVED, basket_id={"y": 1}), "its basket_id is not a text"),
        (told(Kind.BASKET_DECIDED, basket_id=[]), "its basket_id is not a text"),
        (told(Kind.BASKET_RECEIVED, legs=lambda legs: [[one] for one in legs]), "names other"),
        (told(Kind.BASKET_DECIDED, legs=_second(decision_id=["x"])), "names other legs"),
    ],
)
def test_what_is_wrong_with_a_basket_is_found(
    log: SignedLog, ask: Ask, change: Change, why: str
) -> None:
    code, said = ask(written_again(log, change))
    assert (code, why in said) == (1, True), said


@pytest.mark.parametrize(
    ("gone", "why"),
    [
        ((Kind.BASKET_DECIDED,), "left without its outcome"),
        ((Kind.BASKET_RECEIVED,), "which is not on record before it"),
        ((Kind.BASKET_RECEIVED, Kind.INTENT_RECEIVED), "which is not on record"),
        ((Kind.INTENT_RECEIVED,), "which is not on record after it"),
        ((Kind.VERDICT_GIVEN,), "no such verdict before it"),
    ],
)
def test_what_was_taken_out_of_a_basket_is_found(
    log: SignedLog, ask: Ask, gone: tuple[Kind, ...], why: str
) -> None:
    log.rows[:] = [row for row in log.rows if row["kind"] not in gone]
    for change in (lambda draft: draft, _stripped("SPXN", "NDXN")):
        code, said = ask(written_again(log, change))
        assert (code, "basket" in said) == (1, True), said
    assert why in ask(written_again(log, lambda draft: draft))[1]


def test_an_outcome_before_its_verdicts_and_a_second_one_are_found(
    log: SignedLog, ask: Ask
) -> None:
    (decided,) = (one for one in log.rows if one["kind"] == Kind.BASKET_DECIDED)
    log.rows.append({**decided, "idem_key": "again"})
    code, said = ask(written_again(log, lambda draft: draft))
    assert (code, "is a second basket_decided of basket" in said) == (1, True), said
    del log.rows[-1]
    log.rows.remove(decided)
    first = next(n for n, one in enumerate(log.rows) if one["kind"] == Kind.VERDICT_GIVEN)
    log.rows.insert(first, decided)
    later = told(Kind.BASKET_DECIDED, legs=_one_later)  # the right numbers, of what follows it
    code, said = ask(written_again(log, later))
    assert (code, "no such verdict before it" in said) == (1, True), said


@pytest.mark.parametrize("lots", [1, 1_000_000])
def test_a_basket_that_was_stopped_or_traded_nothing_is_sound(
    tmp_path: Path, ask: Ask, lots: int
) -> None:
    """One leg is refused or wants nothing; the other has an approved verdict."""
    desk = memory_desk(tmp_path / "desk")
    asked = [("SPXN", 2_000, 10), ("NDXN", 90_000 if lots > 1 else 0, lots)]
    legs = [
        IntentRequest(client_key=one, instrument=one, target_exposure_bp=bp, max_qty_lots=most)
        for one, bp, most in asked
    ]
    request = BasketRequest(client_key="whole", legs=legs)
    result = submit_basket(desk.small.desk, AGENT, request).result
    assert result == ("approved" if lots == 1 else "stopped")
    code, said = ask(Broker(desk).ledger())
    assert code == 0, said


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
