"""What a page makes the desk do, and what it tells the person afterwards; over a desk in memory."""

from pathlib import Path

import pytest

from audit.errors import LedgerTimeoutError
from audit.records.kinds import Kind
from gateway.errors import ApprovalRefusedError
from gateway.installation.keys.keyring import Caller
from gateway.installation.keys.roles import Role
from gateway.surfaces.web.actions import DeskActions
from tests.doubles.memory_desk import APPROVER, MemoryDesk, memory_desk

OPERATOR = Caller(name="ada", role=Role.OPERATOR)


@pytest.fixture
def desk(tmp_path: Path) -> MemoryDesk:
    return memory_desk(tmp_path)


@pytest.fixture
def actions(desk: MemoryDesk) -> DeskActions:
    return DeskActions(desk.small.desk)


def test_a_kill_is_pressed_in_the_persons_name_and_its_state_shown(
    desk: MemoryDesk, actions: DeskActions
) -> None:
    assert actions.kill_state() == (0, False)
    said = actions.kill(OPERATOR, "smoke")
    assert actions.kill_state() == (1, True)
    assert "Kill 1 is in force" in said
    assert "The FIX process confirmed." in said
    assert "The press is on record." in said
    (pressed,) = desk.log.of_kind(Kind.KILL_PRESSED)
    assert (pressed.body["actor_name"], pressed.body["reason"]) == ("ada", "smoke")


def test_a_kill_that_is_not_confirmed_or_not_on_record_says_so(
    desk: MemoryDesk, actions: DeskActions, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unconfirmed(*_: object, **__: object) -> bool:
        return False

    monkeypatch.setattr(desk.small.broker, "kill", unconfirmed)

    def away(*_: object, **__: object) -> None:
        raise LedgerTimeoutError("no answer", written=False)

    monkeypatch.setattr(desk.log, "append", away)
    said = actions.kill(OPERATOR, "smoke")
    assert "did not confirm and was killed" in said
    assert "will be recorded when the ledger answers" in said


def test_an_answer_is_the_persons_for_the_intent_that_was_read(
    desk: MemoryDesk, actions: DeskActions
) -> None:
    decision_id = desk.hold()
    digest = str(desk.verdict(decision_id).body["intent_digest"])
    for wrong in ("", digest[:-1], digest.upper(), f"{digest}0", "0" * 64):
        with pytest.raises(ApprovalRefusedError):
            actions.answer_hold(
                APPROVER, decision_id, approve=True, digests=(wrong, digest), note="read"
            )
    said = actions.answer_hold(
        APPROVER, decision_id, approve=False, digests=(digest, ""), note="too much"
    )
    assert said == "Recorded for approver: refused."
    (refused,) = desk.log.of_kind(Kind.APPROVAL_REFUSED)
    assert (refused.body["approver"], refused.body["reason"]) == ("approver", "too much")


def test_an_approval_says_what_became_of_the_order(desk: MemoryDesk, actions: DeskActions) -> None:
    decision_id = desk.hold()
    digest = str(desk.verdict(decision_id).body["intent_digest"])
    seen_by_another = actions.sheet_digest(OPERATOR, decision_id)
    for sheet, why in (("0" * 64, "sheet"), ("", "sheet"), (seen_by_another, "no read")):
        with pytest.raises(ApprovalRefusedError, match=why):
            actions.answer_hold(
                APPROVER, decision_id, approve=True, digests=(digest, sheet), note="seen"
            )
    assert actions.sheet_digest(APPROVER, decision_id) == seen_by_another
    with pytest.raises(ApprovalRefusedError, match="note"):
        actions.answer_hold(
            APPROVER, decision_id, approve=True, digests=(digest, seen_by_another), note=""
        )
    (waits,) = actions.holds().waiting
    said = actions.answer_hold(
        APPROVER, decision_id, approve=True, digests=(digest, waits.sheet_digest), note="seen"
    )
    assert said == "Recorded for approver: approved."
    (given,) = desk.log.of_kind(Kind.APPROVAL_GIVEN)
    assert (given.body["approver"], given.body["reason"]) == ("approver", "seen")
    assert given.body["shown"]["sheet_digest"] == waits.sheet_digest
    (ended,) = actions.holds().ended
    assert (ended.state, ended.answered_by, ended.note) == ("approved", "approver", "seen")
    assert desk.log.of_kind(Kind.ORDER_SENT)


def test_a_read_of_a_page_is_on_record(desk: MemoryDesk, actions: DeskActions) -> None:
    actions.note_read(OPERATOR, "ledger")
    (read,) = desk.log.of_kind(Kind.READ_RECORDED)
    assert (read.body["reader"], read.body["object"]) == ("ada", "ledger")
    assert actions.book_state() == "ready"
