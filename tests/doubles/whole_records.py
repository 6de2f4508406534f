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
        "basis_seq": 0,
        "market_now_us": 0,
        "send_before_us": 0,
        "reservation": None,
    },
    Kind.RUN_STARTED: {
        "profile": "serve",
        "git": "",
        "versions": {},
        "models": {},
        "playback": {},
        "first_as_of_us": 0,
        "data_cutoff_us": 0,
        "equity_minor": 1,
        "instruments": [],
        "order_profile": {},
    },
    Kind.APPROVAL_REQUESTED: {"decision_id": "d"},
    Kind.APPROVAL_REFUSED: _TIME | {"approver": "otto"},
    Kind.RESERVATION_RELEASED: _TIME | {"reason": ""},
    Kind.ORDER_WITHDRAWN: _TIME | {"reason": ""},
    Kind.ORDER_REFUSED: _TIME | {"cl_ord_id": "A", "reason": ""},
    Kind.ORDER_UNKNOWN: _TIME | {"cl_ord_id": "A", "reason": ""},
    Kind.ORDER_ENDED: _TIME | {"cl_ord_id": "A", "reason": "", "order_state": "REJECTED"},
    Kind.ORDER_SENDING: {
        "cl_ord_id": "A",
        "approving_seq": 0,
        "fields": [],
        "kill_epoch": 0,
        "send_before_us": 0,
        "market_now_us": 0,
    },
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
    Kind.REPLACE_ENDED: {
        "decision_id": "d",
        "cl_ord_id": "R",
        "orig_cl_ord_id": "A",
        "outcome": "rejected",
        "reason": "",
    },
    Kind.ORDER_SENT: {"cl_ord_id": "A", "raw": "", "raw_digest": "", "msg_seq_num": 0},
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
    Kind.DIFFERENCE_RESOLVED: {
        "of_seq": 0,
        "of_leaf": "",
        "right": "book",
        "resolved_by": "otto",
        "reason": "r",
        "evidence": "e",
        "market_time_us": 0,
    },
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
