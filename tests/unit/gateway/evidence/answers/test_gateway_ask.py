"""A supervisor's answers: every fact is folded from records and names the one that it rests on."""

import json
from dataclasses import replace
from typing import Any, cast

import pytest

from audit.records.kinds import Kind
from audit.records.record import Draft
from audit.store.reader import LedgerReader
from gateway.clock import date_of
from gateway.errors import RequestError, UnknownDecisionError
from gateway.evidence.answers import governance, trades
from gateway.evidence.answers.answer import RecordedAnswer, print_answer
from gateway.installation.policies.policy import development_policy
from gateway.walk.journal.run import policy_activated
from risk.policy.signing import SignedPolicy
from tests.doubles.dead_engine import without_engine
from tests.doubles.memory_desk import MemoryDesk


def reader(desk: MemoryDesk) -> LedgerReader:
    return cast("LedgerReader", desk.log)


def texts(answer: RecordedAnswer) -> str:
    return "\n".join(fact.text for fact in answer.facts)


def loosened(desk: MemoryDesk, value: int) -> None:
    """Put the playback policy on record, and then one with another limit of notional."""
    own = desk.small.desk.own
    signed: SignedPolicy = development_policy(own.keyring)
    desk.log.append(policy_activated(own.tags, signed))
    draft = policy_activated(own.tags, signed)
    payload: Any = json.loads(json.dumps(draft.payload))
    payload["policy"]["account"]["order_notional_max"]["value"] = value
    desk.log.append(replace(draft, payload=payload, idem_key="policy:2"))


def control(kind: Kind, idem_key: str, payload: dict[str, Any]) -> Draft:
    return Draft(stream="control", kind=kind, payload=payload, actor="gateway", idem_key=idem_key)


def test_the_approver_his_reason_and_what_he_saw(desk: MemoryDesk) -> None:
    held = desk.hold()
    desk.answer(held, note="the desk asked for it")
    order = desk.standing(held).cl_ord_id
    for name in (held, order):
        answer = trades.approval_answer(reader(desk), name)
        assert "approver approved" in texts(answer)
        assert "the desk asked for it" in texts(answer)
        assert "the same as made again from the records" in texts(answer)
        assert answer.more["sheet"]["decision_id"] == held
    answer = trades.approval_answer(reader(desk), order)
    (read,) = desk.log.of_kind(Kind.READ_RECORDED)[:1]
    assert read.seq in {fact.record.seq for fact in answer.facts if fact.record}


def test_an_order_that_needed_nobody(desk: MemoryDesk) -> None:
    order = desk.rest()
    answer = trades.approval_answer(reader(desk), order.decision_id)
    assert "the rules said approved" in texts(answer)
    assert "no person was asked" in texts(answer)
    with pytest.raises(UnknownDecisionError):
        trades.approval_answer(reader(desk), "nothing")


def test_refusals_of_a_day_name_decision_rule_and_reason(desk: MemoryDesk) -> None:
    held = desk.hold()
    today = date_of(desk.wall())
    answer = trades.rejected_answer(reader(desk), today, today)
    assert f"{held}: HOLD by rules: rule R31, NEEDS_A_PERSON" in texts(answer)
    assert trades.rejected_answer(reader(desk), "2001-01-01", "2001-01-02").facts == ()
    with pytest.raises(RequestError):
        trades.rejected_answer(reader(desk), "yesterday", today)


def test_orders_of_an_instrument(desk: MemoryDesk) -> None:
    order = desk.rest()
    today = date_of(desk.wall())
    answer = trades.orders_answer(reader(desk), "SPXN", today, today)
    assert f"{order.cl_ord_id}: buy" in texts(answer)
    assert trades.orders_answer(reader(desk), "NDXN", today, today).facts == ()


def test_decisions_on_one_forecast_name_the_same_model_and_record(desk: MemoryDesk) -> None:
    one, two = desk.ask(), desk.ask()
    answers = [trades.model_answer(reader(desk), each.decision_id) for each in (one, two)]
    assert answers[0].facts == answers[1].facts
    (made,) = desk.log.of_kind(Kind.FORECAST_MADE)
    assert [fact.record for fact in answers[0].facts][:1] == [made]
    assert made.body["forecast"]["model_digest"] in texts(answers[0])
    words = trades.words_answer(reader(desk), two.decision_id)
    assert words.facts[0].record == made
    assert "with the news: expected move" in texts(words)


def test_a_decision_without_a_forecast_has_no_model_and_is_named_with_why(
    desk: MemoryDesk,
) -> None:
    without_engine(desk)
    refused = desk.ask().decision_id
    assert trades.model_answer(reader(desk), refused).facts == ()
    today = date_of(desk.wall())
    said = texts(trades.rejected_answer(reader(desk), today, today))
    assert said == f"{refused}: REFUSED by forecast: engine_dead"


def test_a_limit_has_its_history_its_owner_and_its_reason(desk: MemoryDesk) -> None:
    loosened(desk, 50_000_000)
    answer = governance.limit_answer(reader(desk), "account.order_notional_max")
    first, second = answer.facts
    assert "is 40000000 minor" in first.text
    assert "owner: head of risk" in first.text
    assert "is 50000000 minor, before 40000000" in second.text
    assert first.record is not None
    assert first.record.kind is Kind.POLICY_ACTIVATED
    assert governance.limit_answer(reader(desk), "no such limit").facts == ()


def test_what_changed_since_a_day_names_the_numbers(desk: MemoryDesk) -> None:
    loosened(desk, 50_000_000)
    today = date_of(desk.wall())
    said = texts(governance.changes_answer(reader(desk), today))
    assert "account.order_notional_max 40000000 -> 50000000" in said
    assert governance.changes_answer(reader(desk), "2999-01-01").facts == ()


def test_access_has_the_newest_scope_of_each_key(desk: MemoryDesk) -> None:
    for number, most in enumerate((10, 20)):
        scope = {"instruments": ["SPXN"], "order_notional_max": most}
        digest = f"{number}" * 64
        more: dict[str, Any] = {
            "key": "desk-1",
            "account": "a",
            "scope": scope,
            "scope_digest": digest,
        }
        desk.log.append(control(Kind.AGENT_SCOPED, f"scope:{number}", more))
    said = texts(governance.access_answer(reader(desk)))
    assert "role approver may" in said
    assert "key desk-1, account a: instruments ['SPXN']; order_notional_max 20" in said
    assert "order_notional_max 10" not in said


def test_a_drill_is_the_newest_test_of_the_kill(desk: MemoryDesk) -> None:
    assert governance.drill_answer(reader(desk)).facts == ()
    drill: dict[str, Any] = {
        "actor_name": "otto",
        "boot_id": "b",
        "confirmed": True,
        "confirmed_us": 3_500,
    }
    drill |= {"durable_us": 2_000, "kill_epoch": 0, "live": 2, "pressed_us": 1_000, "reason": "r"}
    desk.log.append(control(Kind.KILL_DRILLED, "drill:1", drill))
    said = texts(governance.drill_answer(reader(desk)))
    assert "by otto" in said
    assert "answered 2.500 ms after the press" in said


def test_an_answer_prints_its_proofs_and_says_what_was_disavowed(
    desk: MemoryDesk, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    loosened(desk, 50_000_000)
    answer = governance.limit_answer(reader(desk), "account.order_notional_max")
    record = answer.facts[0].record
    assert record is not None
    monkeypatch.setattr(desk.log, "disavowals", lambda: {record.seq: 99})
    print_answer(answer, reader(desk), as_json=False)
    said = capsys.readouterr().out
    assert f"record {record.seq} of" in said
    assert f"leaf {record.leaf.hex()}" in said
    assert "disavowed by record 99" in said
    print_answer(answer, reader(desk), as_json=True)
    document = json.loads(capsys.readouterr().out)
    assert document["facts"][0]["disavowed_by"] == 99
    assert document["facts"][0]["leaf"] == record.leaf.hex()
