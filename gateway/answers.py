"""What an agent is told: the verdict as it stands on record, every rule with its margin.

Not here: who may ask (`api`), and how the verdict came about (`desk`, `section`).
"""

from typing import Any

from audit.kinds import Kind
from audit.queries import LedgerReader
from gateway.api.models import IntentResponse, RuleLine
from gateway.errors import NotReadyError


def intent_response(reader: LedgerReader, decision_id: str) -> IntentResponse:
    """Return the verdict as it stands on record."""
    records = list(reader.records(stream=f"decision/{decision_id}"))
    verdicts = [r for r in records if r.kind is Kind.VERDICT_GIVEN]
    failed = any(r.kind is Kind.FORECAST_FAILED for r in records)
    sending = [r for r in records if r.kind is Kind.ORDER_SENDING]
    if not verdicts and records[-1].kind is not Kind.DECISION_SEALED:
        raise NotReadyError(part=f"decision {decision_id}", state="still being decided")
    if not verdicts:
        return IntentResponse(
            decision_id=decision_id,
            result="no_forecast" if failed else "no_trade",
            verdict=None,
            rules=(),
            cl_ord_id=None,
            record_seq=records[-1].seq,
            record_leaf=records[-1].leaf.hex(),
            receipt=f"countersign receipt {decision_id}",
        )
    body: dict[str, Any] = verdicts[-1].body
    return IntentResponse(
        decision_id=decision_id,
        result=body["result"],
        verdict=body["verdict"]["action"],
        rules=tuple(_rule_line(rule) for rule in body["verdict"]["results"]),
        cl_ord_id=sending[0].body["cl_ord_id"] if sending else None,
        record_seq=verdicts[-1].seq,
        record_leaf=verdicts[-1].leaf.hex(),
        receipt=f"countersign receipt {decision_id}",
    )


def _rule_line(rule: dict[str, Any]) -> RuleLine:
    def text(name: str) -> str | None:
        return None if rule[name] is None else str(rule[name])

    return RuleLine(
        rule=f"{rule['rule_id']}.{rule['check']}",
        action=rule["action"],
        reason=rule["reason"],
        observed=text("observed"),
        limit=text("limit"),
        margin=text("margin"),
        unit=rule["unit"],
    )
