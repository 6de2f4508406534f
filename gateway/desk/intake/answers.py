"""Answers to an agent, made from the decision's records: the verdict, each rule with its margin.

An agent is told "approved" only of an order that left for the broker (decision 032).

Not here: who may ask (`surfaces`), how the verdict is reached (`walk`).
"""

from collections.abc import Sequence
from typing import Any, Final, Literal, cast
from urllib.parse import quote

from audit.records.kinds import Kind
from audit.records.record import Record
from audit.store.reader import LedgerReader
from gateway.desk.bodies.requests import ApprovalQuestion, IntentResponse, RuleLine, WordsEffect
from gateway.desk.intake.withheld import CODE, withheld_from_agents, without_conduct
from gateway.errors import UndecidedError
from gateway.installation.keys.roles import Role
from gateway.walk.journal.contents import Ending
from gateway.walk.journal.decision import ForecastTaken, IntentProposed
from gateway.walk.journal.order import OrderReported, OrderSending
from gateway.walk.journal.verdict import ApprovalRequested, VerdictGiven
from gateway.walk.projections.outbox import Orders
from risk.verdict import Action

Told = Literal["approved", "held", "rejected", "no_trade", "no_forecast", "not_sent", "unknown"]

ORDER_QTY: Final = 38
PRICE: Final = 44

NOT_SENT: Final = frozenset(
    {
        Kind.ORDER_WITHDRAWN,
        Kind.ORDER_REFUSED,
        Kind.APPROVAL_REFUSED,
        Kind.RESERVATION_RELEASED,
    }
)
"""Kinds that end an approval or a hold whose order did not leave and never will."""

_FATES: Final = NOT_SENT | {
    Kind.ORDER_SENDING,
    Kind.ORDER_SENT,
    Kind.ORDER_UNKNOWN,
    Kind.ORDER_REPORTED,
    Kind.ORDER_ENDED,
}


def intent_response(reader: LedgerReader, decision_id: str) -> IntentResponse:
    """Return the recorded verdict and the fate of its order.

    Raises:
        UndecidedError: the decision is still being made, or its order is not handed out yet.
    """
    records = list(reader.records(stream=f"decision/{decision_id}"))
    verdicts = [r for r in records if r.kind is Kind.VERDICT_GIVEN]
    failed = _no_forecast_by(records)
    sending = [r for r in records if r.kind is Kind.ORDER_SENDING]
    if not verdicts and records[-1].kind is not Kind.DECISION_SEALED:
        raise UndecidedError(part=decision_id, state="still being decided")
    if not verdicts:
        return IntentResponse(
            decision_id=decision_id,
            result="no_forecast" if failed else "no_trade",
            reason=failed or _no_trade_by(records),
            verdict=None,
            rules=(),
            cl_ord_id=None,
            words=words_of(records),
            permalink=permalink_of(decision_id),
            record_seq=records[-1].seq,
            record_leaf=records[-1].leaf.hex(),
            as_of_seq=records[-1].seq,
            receipt=f"countersign receipt {decision_id}",
        )
    given = VerdictGiven.of(verdicts[-1])
    judged, order = given.verdict_document, OrderSending.of(sending[0]) if sending else None
    fields = {} if order is None else dict(order.fields)
    result, reason = told(records)
    return IntentResponse(
        decision_id=decision_id,
        result=result,
        reason=reason,
        verdict=judged["action"],
        approval=asked_of(records),
        rules=_rule_lines(judged["results"]),
        cl_ord_id=None if order is None else order.cl_ord_id,
        side=None if order is None else given.intent.side.value,
        quantity=fields.get(ORDER_QTY),
        limit_price=fields.get(PRICE),
        order_state=None if order is None else _state_of(decision_id, records),
        words=words_of(records),
        permalink=permalink_of(decision_id),
        record_seq=verdicts[-1].seq,
        record_leaf=verdicts[-1].leaf.hex(),
        as_of_seq=records[-1].seq,
        receipt=f"countersign receipt {decision_id}",
    )


def permalink_of(decision_id: str) -> str:
    """Return the path of a decision's page."""
    return f"/decisions/{quote(decision_id)}"


def _state_of(decision_id: str, records: Sequence[Record]) -> str | None:
    """Return the state of a decision's order after these records."""
    orders = Orders()
    orders.fold(records)
    standing = orders.get(decision_id)
    return None if standing is None else standing.order_state


def asked_of(records: Sequence[Record]) -> ApprovalQuestion | None:
    """Return the question that a person was asked, or None."""
    found = next((r for r in records if r.kind is Kind.APPROVAL_REQUESTED), None)
    if found is None:
        return None
    asked = ApprovalRequested.of(found)
    return ApprovalQuestion(
        intent_digest=asked.intent_digest, expires_us=asked.expires_us, band=asked.band
    )


def words_of(records: Sequence[Record]) -> WordsEffect | None:
    """Return what words did to the newest sizing; None if there is none, or an older version's."""
    sized = [IntentProposed.of(r) for r in records if r.kind is Kind.INTENT_PROPOSED]
    words = sized[-1].words if sized else None
    return None if words is None else WordsEffect.model_validate(words)


def told(records: Sequence[Record]) -> tuple[Told, str | None]:
    """Return the result of a judged decision, and why, unless its order left.

    Raises:
        UndecidedError: the order is approved and not handed out yet.
    """
    at = max(place for place, r in enumerate(records) if r.kind is Kind.VERDICT_GIVEN)
    judged = VerdictGiven.of(records[at])
    given = cast("Told", judged.result)
    last = next((r for r in reversed(records[at:]) if r.kind in _FATES), None)
    if given == "approved" and last is None:
        raise UndecidedError(part=judged.decision_id, state="approved and not yet handed out")
    if last is None:
        results = judged.verdict_document["results"]
        return given, _judged_by(results) if given in {"rejected", "held"} else None
    match last.kind:
        case Kind.ORDER_SENDING:
            return "unknown", "handed out, no answer yet; it is never sent again"
        case Kind.ORDER_UNKNOWN:
            return "unknown", Ending.of(last).reason
        case Kind.ORDER_REPORTED if OrderReported.of(last).order_state == "NOT_RECEIVED":
            return "not_sent", "the broker never received it"
        case Kind.APPROVAL_REFUSED:
            return "not_sent", "a person refused it"
        case kind if kind in NOT_SENT:
            return "not_sent", Ending.of(last).reason
        case _:
            return given, None


def _judged_by(results: Sequence[dict[str, Any]]) -> str:
    """Return the rule and the reason of the most severe result, conduct as one code only (102)."""
    worst = max(without_conduct(results), key=lambda one: Action[one["action"]])
    if worst["rule_id"] == CODE:
        return CODE
    return f"{_name_of(worst)}: {worst['reason']}"


def _no_forecast_by(records: Sequence[Record]) -> str | None:
    """Return the code for which there is no forecast, or None; its detail is for the operator."""
    taken = next((r for r in reversed(records) if r.kind is Kind.FORECAST_TAKEN), None)
    return None if taken is None else ForecastTaken.of(taken).missing or None


def _no_trade_by(records: Sequence[Record]) -> str | None:
    """Return the sizing's reason why there is no order."""
    sized = [IntentProposed.of(r).sizing for r in records if r.kind is Kind.INTENT_PROPOSED]
    return str(sized[-1]["reason"]) if sized and sized[-1] is not None else None


def record_document(record: Record) -> dict[str, Any]:
    """Return a record as the API shows it."""
    return {
        "seq": record.seq,
        "stream_seq": record.stream_seq,
        "kind": record.kind.value,
        "recorded_at_us": record.recorded_at_us,
        "leaf": record.leaf.hex(),
        "payload": record.body,
    }


def documents_for(role: Role, records: Sequence[Record]) -> list[dict[str, Any]]:
    """Return records as the API shows them to this role: agents are not told of conduct rules."""
    documents = [record_document(record) for record in records]
    if role is Role.AGENT:
        return [withheld_from_agents(one) for one in documents]
    return documents


def _rule_lines(results: Sequence[dict[str, Any]]) -> tuple[RuleLine, ...]:
    return tuple(_rule_line(rule) for rule in without_conduct(results))


def _rule_line(rule: dict[str, Any]) -> RuleLine:
    def text(name: str) -> str | None:
        return None if rule[name] is None else str(rule[name])

    return RuleLine(
        rule=_name_of(rule),
        action=rule["action"],
        reason=rule["reason"],
        observed=text("observed"),
        limit=text("limit"),
        margin=text("margin"),
        unit=rule["unit"],
    )


def _name_of(rule: dict[str, Any]) -> str:
    return ".".join(filter(None, (rule["rule_id"], rule["check"])))
