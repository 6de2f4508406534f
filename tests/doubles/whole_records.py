"""Payloads of records, completed: a test names the fields that it is about."""

from typing import Any

from audit.records.kinds import Kind

_TIME: dict[str, Any] = {"market_time_us": 0}
_REST: dict[Kind, dict[str, Any]] = {
    Kind.VERDICT_GIVEN: {
        "account": "a",
        "decision_id": "d",
        "intent": {},
        "verdict": {},
        "result": "approved",
        "policy_digest": "",
        "kill_epoch": 0,
        "market_now_us": 0,
        "send_before_us": 0,
        "reservation": None,
    },
    Kind.APPROVAL_REFUSED: _TIME,
    Kind.RESERVATION_RELEASED: _TIME,
    Kind.ORDER_WITHDRAWN: _TIME,
    Kind.ORDER_REFUSED: _TIME,
    Kind.ORDER_UNKNOWN: _TIME,
    Kind.ORDER_ENDED: _TIME,
    Kind.ORDER_SENDING: {"cl_ord_id": "A", "fields": [], "market_now_us": 0},
    Kind.REPLACE_REQUESTED: {
        "account": "a",
        "decision_id": "d",
        "orig_cl_ord_id": "A",
        "session": "s",
        "requested_by": "agent",
        "role": "agent",
        "client_key": "r",
        "reason": "",
    },
    Kind.REPLACE_ENDED: {"decision_id": "d", "cl_ord_id": "R", "outcome": "rejected", "reason": ""},
    Kind.ORDER_SENT: {"raw": "", "msg_seq_num": 0},
    Kind.ORDER_REPORTED: {
        "cl_ord_id": "A",
        "report": {},
        "exec_id": "1",
        "trade_date": "20180102",
        "session": "s",
        "order_state": "PARTIAL",
        "ord_status": "1",
        "terminal": False,
        "fill": None,
        "last_lots": 0,
        "market_time_us": 0,
    },
    Kind.DIFFERENCE_RESOLVED: {"of_seq": 0, "resolved_by": "otto", "market_time_us": 0},
    Kind.MARK_TAKEN: {"account": "a"},
    Kind.BOOK_ADJUSTED: {
        "account": "a",
        "ref": "r",
        "sort": "fee",
        "adjusted_by": "otto",
        "reason": "r",
        "evidence": "e",
        "terms": {},
        "signatures": {},
        "market_time_us": 0,
        "lots": {},
    },
}


def whole(kind: Kind, body: dict[str, Any]) -> dict[str, Any]:
    """Return a payload with the other fields that every record of its kind has."""
    return _REST.get(kind, {}) | body
