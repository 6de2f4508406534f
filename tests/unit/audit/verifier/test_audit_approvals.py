"""An outsider sees from the record alone that no order left without approval and announcement."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from audit.evidence.bundle import build_bundle
from audit.records.kinds import Kind
from audit.records.record import Draft
from tests.doubles.both_verifiers import Change, both, both_about, told
from tests.doubles.broker_files import SIGNER, Broker, SignedLog, two_orders, written_again
from tests.doubles.evidence_log import MemoryReader
from tests.doubles.memory_desk import memory_desk
from tests.doubles.walk_scenes import SCENES, held_and_approved

Ask = Callable[[SignedLog], tuple[int, str]]


def as_it_is(draft: Draft) -> Draft:
    return draft


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> SignedLog:
    """The log of a desk that sent two orders, both filled in part at least."""
    return two_orders(memory_desk(tmp_path_factory.mktemp("desk"))).ledger()


@pytest.fixture
def log(made: SignedLog) -> SignedLog:
    return replace(made, rows=list(made.rows))


@pytest.fixture
def ask(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Ask:
    return partial(both_about, folder=tmp_path, capsys=capsys)


def test_a_sound_log_has_both_for_every_order(log: SignedLog, ask: Ask) -> None:
    code, said = ask(log)
    assert code == 0, said


@pytest.mark.parametrize("scene", SCENES)
def test_no_story_of_the_gateway_is_called_tampered(tmp_path: Path, ask: Ask, scene: str) -> None:
    """A yes of a person renews the verdict; orders are refused, replaced, restarted, corrected."""
    desk = memory_desk(tmp_path / "desk")
    SCENES[scene](desk)
    code, said = ask(Broker(desk).ledger())
    assert code == 0, said


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (told(Kind.VERDICT_GIVEN, result="rejected"), "has no approving record before it"),
        (told(Kind.VERDICT_GIVEN, result=["approved"]), "has no approving record before it"),
        (told(Kind.ORDER_SENDING, approving_seq=0), "has no approving record before it"),
        (told(Kind.ORDER_SENDING, approving_seq=True), "has no approving record before it"),
        (told(Kind.ORDER_SENDING, approving_leaf="0" * 64), "has no approving record before it"),
        (told(Kind.ORDER_SENDING, cl_ord_id="A" * 20), "is not named by its approving record"),
        (told(Kind.ORDER_SENDING, cl_ord_id=["A"]), "its cl_ord_id is not a text"),
        (told(Kind.ORDER_SENT, cl_ord_id="A" * 20), "was never announced before it"),
        (told(Kind.ORDER_REPORTED, cl_ord_id=None), "order None was never announced"),
        (told(Kind.ORDER_SENDING, fields=[[55, "NDXN"], [54, "1"]]), "that was approved"),
        (told(Kind.ORDER_SENDING, fields=[[55, "SPXN"], [54, "2"]]), "that was approved"),
    ],
)
def test_what_the_order_rests_on_is_found_without_a_brokers_file(
    log: SignedLog, ask: Ask, change: Change, why: str
) -> None:
    code, said = ask(written_again(log, change))
    assert (code, why in said) == (1, True), said


def worse(verdict: Any) -> dict[str, Any]:  # noqa: ANN401 - a verdict's document
    """The verdict with one result that refuses, and the action it had."""
    first, *others = verdict["results"]
    return {**verdict, "results": [{**first, "action": "REJECT"}, *others]}


def refusing(verdict: Any) -> dict[str, Any]:  # noqa: ANN401 - a verdict's document
    """The same with the action that follows."""
    return {**worse(verdict), "action": "REJECT"}


def also(result: object, verdict: Any) -> dict[str, Any]:  # noqa: ANN401 - a verdict's document
    """The verdict with one more result, which is none."""
    return {**verdict, "results": [*verdict["results"], result]}


@pytest.mark.parametrize(
    "verdict",
    [
        *(worse, refusing, None, "ALLOW", {}, {"action": "ALLOW", "results": []}),
        *(partial(also, None), partial(also, {}), partial(also, "x")),
    ],
)
def test_an_approval_against_its_own_verdict_is_found(
    log: SignedLog, ask: Ask, verdict: object
) -> None:
    code, said = ask(written_again(log, told(Kind.VERDICT_GIVEN, verdict=verdict)))
    assert (code, "approved against its own verdict" in said) == (1, True), said


@pytest.mark.parametrize(
    "change",
    [
        told(Kind.APPROVAL_GIVEN, band=lambda band: {**band, "approver": "somebody else"}),
        told(Kind.VERDICT_GIVEN, approval=None),
        told(Kind.VERDICT_GIVEN, approval={}),
    ],
)
def test_a_held_order_that_nobody_agreed_to_is_found(
    tmp_path: Path, ask: Ask, change: Change
) -> None:
    desk = memory_desk(tmp_path / "desk")
    held_and_approved(desk)
    log = Broker(desk).ledger()
    code, said = ask(written_again(log, as_it_is))
    assert code == 0, said
    code, said = ask(written_again(log, change))
    assert (code, "approved although held, and nobody agreed to it" in said) == (1, True), said


@pytest.mark.parametrize(
    ("gone", "why"),
    [
        ((Kind.VERDICT_GIVEN,), "has no approving record before it"),
        ((Kind.ORDER_SENDING,), "was never announced before it"),
        ((Kind.VERDICT_GIVEN, Kind.ORDER_SENDING), "was never announced before it"),
        ((Kind.ORDER_SENDING, Kind.ORDER_SENT), "was never announced before it"),
    ],
)
def test_a_removed_verdict_or_announcement_is_found(
    log: SignedLog, ask: Ask, gone: tuple[Kind, ...], why: str
) -> None:
    log.rows[:] = [row for row in log.rows if row["kind"] not in gone]
    code, said = ask(written_again(log, as_it_is))
    assert (code, why in said) == (1, True), said


def test_an_approval_serves_one_order(log: SignedLog, ask: Ask) -> None:
    first, second = (row for row in log.rows if row["kind"] == Kind.ORDER_SENDING)
    code, said = ask(
        written_again(log, told(Kind.ORDER_SENDING, approving_seq=_number(log, first)))
    )
    assert (code, "has no approving record before it" in said) == (1, True), said
    again = {**first, "idem_key": "sending:again"}
    log.rows.insert(log.rows.index(first) + 1, again)
    code, said = ask(written_again(log, as_it_is))
    assert (code, "has no approving record before it" in said) == (1, True), said
    assert second["stream"] != first["stream"]


def _number(log: SignedLog, sending: dict[str, Any]) -> int:
    """Return the number of the verdict that an announcement names."""
    rows = (row for row in log.rows if row["stream"] == sending["stream"])
    return next(int(row["seq"]) for row in rows if row["kind"] == Kind.VERDICT_GIVEN)


@pytest.mark.parametrize(
    ("change", "gone"),
    [
        (as_it_is, ()),
        (told(Kind.VERDICT_GIVEN, result="rejected"), ()),
        (as_it_is, (Kind.VERDICT_GIVEN,)),
        (as_it_is, (Kind.ORDER_SENDING,)),
    ],
)
def test_a_bundle_is_judged_by_its_own_records(
    log: SignedLog,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    change: Change,
    gone: tuple[Kind, ...],
) -> None:
    leg = next(str(row["stream"]) for row in log.rows if row["kind"] == Kind.ORDER_SENDING)
    log.rows[:] = [row for row in log.rows if row["kind"] not in gone]
    bundle = tmp_path / "bundle.zip"
    reader = MemoryReader(written_again(log, change))
    bundle.write_bytes(build_bundle(reader, leg.removeprefix("decision/")))
    code, said = both(capsys, str(bundle), "--key", str(SIGNER.vkey), verdict=True)
    assert (code == 1) is (change is not as_it_is or bool(gone)), said


def test_a_part_of_a_log_is_judged_by_what_it_shows(log: SignedLog, ask: Ask) -> None:
    verdict = next(row for row in log.rows if row["kind"] == Kind.VERDICT_GIVEN)
    log.rows.remove(verdict)
    code, said = ask(log)  # without being written again: a record is missing
    assert "has no approving record before it" in said
    assert (code, "NOT CHECKABLE" in said) == (2, True), said
