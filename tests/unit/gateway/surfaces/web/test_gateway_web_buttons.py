"""What a button makes the desk do, and what it tells the person afterwards."""

import html
import re
from typing import cast

import pytest

from audit.errors import LedgerTimeoutError
from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway.desk.holds.answering import sheet_in
from tests.doubles.memory_desk import MemoryDesk
from tests.doubles.page_desk import PageDesk


def said(answer: str) -> str:
    """Return what the answer tells the person."""
    found = re.search(r'<section class="card"><p>(.*?)</p>', answer, re.DOTALL)
    assert found is not None, answer
    return html.unescape(found[1])


def answered(pages: PageDesk, decision_id: str, **fields: str) -> tuple[int, str]:
    """Return status and words of an approver's answer to a hold."""
    browser, address = pages.browser("approver"), f"/decisions/{decision_id}/approval"
    answer = pages.post(browser, address, **fields)
    return answer.status_code, said(answer.text)


def test_a_kill_is_pressed_in_the_persons_name_and_its_state_shown(
    desk: MemoryDesk, pages: PageDesk
) -> None:
    assert desk.small.desk.kill_switch.state == (0, False)
    answer = pages.press("operator", "/kill", reason="smoke")
    assert desk.small.desk.kill_switch.state == (1, True)
    for words in ("Kill 1 is in force", "The FIX process confirmed.", "The press is on record."):
        assert words in said(answer)
    (pressed,) = desk.log.of_kind(Kind.KILL_PRESSED)
    assert (pressed.body["actor_name"], pressed.body["reason"]) == ("operator", "smoke")


def test_a_kill_that_is_not_confirmed_or_not_on_record_says_so(
    desk: MemoryDesk, pages: PageDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unconfirmed(*_: object, **__: object) -> bool:
        return False

    monkeypatch.setattr(desk.small.broker, "kill", unconfirmed)
    desk.log.refuses = LedgerTimeoutError("no answer", written=False)
    answer = said(pages.press("operator", "/kill", reason="smoke"))
    assert "did not confirm and was killed" in answer
    assert "will be recorded when the ledger answers" in answer


def test_an_answer_is_the_persons_for_the_intent_that_was_read(
    desk: MemoryDesk, pages: PageDesk
) -> None:
    held = desk.hold()
    digest = str(desk.verdict(held).body["intent_digest"])
    for wrong in ("", digest[:-1], digest.upper(), "0" * 64):
        fields = {"intent_digest": wrong, "sheet_digest": digest, "note": "read"}
        assert answered(pages, held, answer="approve", **fields)[0] == 409
    fields = {"intent_digest": digest, "note": "too much"}
    assert answered(pages, held, answer="refuse", **fields) == (
        200,
        "Recorded for approver: refused.",
    )
    (refused,) = desk.log.of_kind(Kind.APPROVAL_REFUSED)
    assert (refused.body["approver"], refused.body["reason"]) == ("approver", "too much")


def test_an_approval_says_what_became_of_the_order(desk: MemoryDesk, pages: PageDesk) -> None:
    held = desk.hold()
    digest = str(desk.verdict(held).body["intent_digest"])
    given = {"answer": "approve", "intent_digest": digest, "note": "seen"}
    sheet = sheet_in(cast("LedgerReader", desk.log), held)
    assert sheet is not None
    assert 'name="sheet_digest"' not in pages.read(f"/decisions/{held}", "operator")
    for wrong, why in (("0" * 64, "sheet"), ("", "sheet"), (sheet.digest, "no read")):
        status, words = answered(pages, held, sheet_digest=wrong, **given)
        assert (status, why in words) == (409, True), words
    page = pages.read(f"/decisions/{held}", "approver")
    assert f'name="sheet_digest" value="{sheet.digest}"' in page
    status, words = answered(pages, held, sheet_digest=sheet.digest, **given | {"note": ""})
    assert (status, "a note is needed" in words) == (409, True)
    done = answered(pages, held, sheet_digest=sheet.digest, **given)
    assert done == (200, "Recorded for approver: approved.")
    (record,) = desk.log.of_kind(Kind.APPROVAL_GIVEN)
    assert (record.body["approver"], record.body["reason"]) == ("approver", "seen")
    assert record.body["shown"]["sheet_digest"] == sheet.digest
    assert "seen" in pages.read("/approvals")
    assert desk.log.of_kind(Kind.ORDER_SENT)


def test_the_stops_do_what_they_say(pages: PageDesk) -> None:
    for verb in ("pause", "reduce-only"):
        answer = pages.press("approver", f"/stops/{verb}", reason="lunch")
        assert said(answer).startswith(f"{verb} is in force")
    for verb in ("pause", "reduce-only"):
        assert f"{verb} is in force: pressed by approver at" in pages.read("/kill")
    other = pages.post(pages.browser("operator"), "/stops/resume", reason="mine")
    assert other.status_code == 409
    ended = pages.press("approver", "/stops/resume", reason="over")
    assert said(ended).startswith("Ended: pause, reduce-only")
    page = pages.read("/kill")
    assert "is in force: pressed" not in page
    assert "Newest drill" not in page
    assert said(pages.press("approver", "/stops/cancel-all")).startswith("0 orders")
