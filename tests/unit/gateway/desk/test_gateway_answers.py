"""What an agent is told of a decision, and how an intent is read."""

from collections.abc import Sequence
from typing import Any

import pytest

from audit.records.canonical import canonical
from audit.records.kinds import Kind
from audit.records.record import Record
from gateway.desk.bodies.requests import IntentRequest
from gateway.desk.intake.answers import NOT_SENT, asked_of, intent_response, told
from gateway.desk.intake.intents import decision_id_of, wish_of
from gateway.errors import NotReadyError, RequestError
from tests.doubles.memory_desk import MemoryDesk
from tests.doubles.small_desk import INSTRUMENTS
from tests.doubles.walk_scenes import without_a_forecast
from tests.doubles.whole_records import whole


def record(kind: Kind, **body: Any) -> Record:  # noqa: ANN401 - any body
    return Record(
        seq=0,
        stream="decision/d",
        stream_seq=0,
        kind=kind,
        version=1,
        recorded_at_us=0,
        actor="gateway",
        prev=bytes(32),
        payload_digest=bytes(32),
        header=b"",
        payload=canonical(whole(kind, body)),
        leaf=bytes(32),
        idem_key="k",
    )


def verdict(result: str) -> Record:
    results = [
        {"rule_id": "R11", "check": "gross", "action": "ALLOW", "reason": "WITHIN_LIMIT"},
        {"rule_id": "R12", "check": "price", "action": "REJECT", "reason": "ABOVE_LIMIT"},
    ]
    return record(Kind.VERDICT_GIVEN, result=result, decision_id="d", verdict={"results": results})


SEALED = record(Kind.DECISION_SEALED, outcome="x")
SENDING = record(Kind.ORDER_SENDING)
SENT = record(Kind.ORDER_SENT)
UNKNOWN = record(Kind.ORDER_UNKNOWN, reason="no answer")
TOLD: list[tuple[str, Sequence[Record], tuple[str, str | None]]] = [
    ("held", (), ("held", "R12.price: ABOVE_LIMIT")),
    ("held", (record(Kind.APPROVAL_REQUESTED),), ("held", "R12.price: ABOVE_LIMIT")),
    ("rejected", (SEALED,), ("rejected", "R12.price: ABOVE_LIMIT")),
    (
        "approved",
        (SENDING,),
        ("unknown", "handed out, no answer yet; it is never sent again"),
    ),
    ("approved", (SENDING, SENT), ("approved", None)),
    ("approved", (SENDING, UNKNOWN), ("unknown", "no answer")),
    ("approved", (SENDING, UNKNOWN, SENT), ("approved", None)),
    (
        "approved",
        (SENDING, SENT, record(Kind.ORDER_REPORTED, order_state="FILLED"), SEALED),
        ("approved", None),
    ),
    (
        "approved",
        (SENDING, UNKNOWN, record(Kind.ORDER_REPORTED, order_state="NOT_RECEIVED")),
        ("not_sent", "the broker never received it"),
    ),
    ("approved", (SENDING, SENT, record(Kind.ORDER_ENDED, reason="3:5")), ("approved", None)),
    (
        "approved",
        (SENDING, record(Kind.ORDER_REFUSED, reason="killed"), SEALED),
        ("not_sent", "killed"),
    ),
    ("approved", (record(Kind.ORDER_WITHDRAWN, reason="late"),), ("not_sent", "late")),
    (
        "held",
        (record(Kind.APPROVAL_REFUSED, reason="his own words"),),
        ("not_sent", "a person refused it"),
    ),
    ("held", (record(Kind.RESERVATION_RELEASED, reason="expired"),), ("not_sent", "expired")),
]


@pytest.mark.parametrize("number", range(len(TOLD)))
def test_what_became_of_an_order_is_told_by_its_last_fate(number: int) -> None:
    given, after, expected = TOLD[number]
    assert told((record(Kind.SNAPSHOT_TAKEN), verdict(given), *after)) == expected


def test_an_approval_is_told_only_of_an_order_that_left() -> None:
    for after in ((), (SEALED,), (record(Kind.APPROVAL_REQUESTED),)):
        with pytest.raises(NotReadyError, match="not yet handed out"):
            told((verdict("approved"), *after))


def test_a_renewal_begins_anew() -> None:
    first = (verdict("held"), record(Kind.APPROVAL_GIVEN))
    assert told((*first, verdict("rejected"))) == ("rejected", "R12.price: ABOVE_LIMIT")
    freed = record(Kind.RESERVATION_RELEASED, reason="renewal_refused")
    assert told((verdict("held"), freed, verdict("approved"), SENDING, SENT))[0] == "approved"


def test_the_kinds_that_say_that_nothing_left() -> None:
    assert set(NOT_SENT) == {
        Kind.ORDER_WITHDRAWN,
        Kind.ORDER_REFUSED,
        Kind.APPROVAL_REFUSED,
        Kind.RESERVATION_RELEASED,
    }


def test_what_a_person_was_asked() -> None:
    band = {"qty_max_lots": 3}
    asked = record(Kind.APPROVAL_REQUESTED, intent_digest="ab", expires_us=7, band=band)
    found = asked_of((verdict("held"), asked))
    assert found is not None
    assert (found.intent_digest, found.expires_us, found.band) == ("ab", 7, band)
    earlier = asked_of((record(Kind.APPROVAL_REQUESTED, intent_digest="ab"),))
    assert earlier is not None
    assert (earlier.expires_us, earlier.band) == (None, {})
    assert asked_of((verdict("held"),)) is None


def test_an_answer_names_the_record_and_every_rule(desk: MemoryDesk) -> None:
    order = desk.rest()
    own = desk.small.desk.own
    answer = intent_response(own.reader, order.decision_id)
    assert order.verdict is not None
    assert (answer.result, answer.reason, answer.verdict) == ("approved", None, "ALLOW")
    assert (answer.cl_ord_id, answer.record_seq) == (order.cl_ord_id, order.verdict.seq)
    assert answer.record_leaf == order.verdict.leaf.hex()
    assert answer.receipt == f"countersign receipt {order.decision_id}"
    results = order.verdict.body["verdict"]["results"]
    assert [one.rule for one in answer.rules] == [f"{r['rule_id']}.{r['check']}" for r in results]
    for line, result in zip(answer.rules, results, strict=True):
        for name in ("observed", "limit", "margin"):
            kept = result[name]
            assert getattr(line, name) == (None if kept is None else str(kept))
        assert (line.action, line.reason, line.unit) == (
            result["action"],
            result["reason"],
            result["unit"],
        )


def test_a_hold_is_told_with_its_request_and_without_an_order(desk: MemoryDesk) -> None:
    name = desk.hold()
    answer = intent_response(desk.small.desk.own.reader, name)
    assert (answer.result, answer.cl_ord_id, answer.verdict) == ("held", None, "HOLD")
    assert answer.reason is not None
    assert answer.reason.startswith("R31")
    assert answer.approval is not None
    assert answer.approval.intent_digest == desk.verdict(name).body["intent_digest"]


def test_no_trade_is_told_without_a_verdict(desk: MemoryDesk) -> None:
    answer = desk.ask(50, exposure_bp=0)
    assert (answer.result, answer.verdict, answer.rules) == ("no_trade", None, ())
    assert answer.reason == "LESS_THAN_SMALLEST_ORDER"
    assert answer.cl_ord_id is None
    assert answer.record_seq is not None
    sealed = desk.log.record(answer.record_seq)
    assert sealed is not None
    assert (sealed.kind, sealed.leaf.hex()) == (Kind.DECISION_SEALED, answer.record_leaf)


def test_a_forecast_that_failed_is_told_as_such_and_not_as_no_trade(desk: MemoryDesk) -> None:
    without_a_forecast(desk)
    (failed,) = desk.log.of_kind(Kind.FORECAST_FAILED)
    (taken,) = desk.log.of_kind(Kind.FORECAST_TAKEN)
    name = taken.stream.removeprefix("decision/")
    answer = intent_response(desk.small.desk.own.reader, name)
    assert (answer.result, answer.verdict, answer.cl_ord_id) == ("no_forecast", None, None)
    assert answer.reason == failed.body["reason"]


def test_a_refusal_for_conduct_is_one_code_whatever_the_rule() -> None:
    for rule in ("R36", "R53"):
        results = [{"rule_id": rule, "check": "x", "action": "REJECT", "reason": "ABOVE_LIMIT"}]
        given = record(Kind.VERDICT_GIVEN, result="rejected", verdict={"results": results})
        assert told((given,)) == ("rejected", "conduct")


# intents


@pytest.mark.parametrize(
    ("price", "ticks"),
    [("0.01", 1), ("268.11", 26_811), ("268.10", 26_810), ("268", 26_800), (None, None)],
)
def test_a_limit_is_read_in_ticks(price: str | None, ticks: int | None) -> None:
    request = IntentRequest(
        client_key="k",
        instrument="SPXN",
        target_exposure_bp=1_500,
        max_qty_lots=7,
        limit_price=price,
    )
    wish = wish_of(request, INSTRUMENTS["SPXN"])
    assert (wish.target_exposure_bp, wish.max_qty_lots, wish.limit_ticks) == (1_500, 7, ticks)


@pytest.mark.parametrize("price", ["0", "0.00", "268.111", "268.115"])
def test_a_limit_that_is_no_positive_tick_is_refused(price: str) -> None:
    with pytest.raises((RequestError, ValueError)):
        wish_of(
            IntentRequest(
                client_key="k",
                instrument="SPXN",
                target_exposure_bp=1_500,
                max_qty_lots=7,
                limit_price=price,
            ),
            INSTRUMENTS["SPXN"],
        )


def test_a_callers_key_names_one_decision() -> None:
    assert decision_id_of("agent", "key-1") == decision_id_of("agent", "key-1")
    names = {decision_id_of(*one) for one in (("agent", "k"), ("agen", "t\nk"), ("agent", "K"))}
    assert len(names) == 3
    assert decision_id_of("agent", "k").startswith("agent-")
    assert len(decision_id_of("agent", "k")) == len("agent-") + 32
