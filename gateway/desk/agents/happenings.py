"""What happens to decisions and their orders, as events for those who follow. Pure.

Not here: who follows and how the events travel (`gateway.surfaces`).
"""

from dataclasses import dataclass
from typing import Any, Final

from audit.records.kinds import Kind
from audit.records.record import Record
from fix.wire.identity import cl_ord_id
from gateway.desk.intake.intents import author_in
from gateway.walk.journal.contents import Ending
from gateway.walk.journal.decision import DecisionSealed
from gateway.walk.journal.order import OrderEnded, OrderReported, OrderSent
from gateway.walk.journal.replace import ReplaceEnded, ReplaceRequested, ReplaceSent, TermsSaid
from gateway.walk.journal.verdict import VerdictGiven

HAPPENING_KINDS: Final = (
    Kind.VERDICT_GIVEN,
    Kind.APPROVAL_REFUSED,
    Kind.RESERVATION_RELEASED,
    Kind.ORDER_SENT,
    Kind.ORDER_REFUSED,
    Kind.ORDER_UNKNOWN,
    Kind.ORDER_WITHDRAWN,
    Kind.ORDER_REPORTED,
    Kind.ORDER_ENDED,
    Kind.REPLACE_REQUESTED,
    Kind.REPLACE_SENT,
    Kind.REPLACE_ENDED,
    Kind.DECISION_SEALED,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """One event; `seq` is its record's number and orders all events."""

    seq: int
    at_us: int
    event: str
    decision_id: str
    details: dict[str, Any]

    def document(self) -> dict[str, Any]:
        """Return it as it is sent."""
        return {
            "seq": self.seq,
            "at_us": self.at_us,
            "event": self.event,
            "decision_id": self.decision_id,
            **self.details,
        }


def owner_of(record: Record) -> str:
    """Return the key whose intent a record is about; '' for the gateway's own decisions."""
    return author_in(record.stream.removeprefix("decision/"))


def happening(record: Record) -> Happening | None:
    """Return what a record says to those who follow, or None."""
    told = _told(record)
    if told is None:
        return None
    event, details = told
    return Happening(
        seq=record.seq,
        at_us=record.recorded_at_us,
        event=event,
        decision_id=record.stream.removeprefix("decision/"),
        details=details,
    )


def _told(record: Record) -> tuple[str, dict[str, Any]] | None:  # noqa: PLR0911 - one per kind
    match record.kind:
        case Kind.VERDICT_GIVEN:
            return _judged(VerdictGiven.of(record))
        case Kind.APPROVAL_REFUSED:
            return "refused_by_person", {}
        case Kind.RESERVATION_RELEASED:
            return "hold_ended", {"reason": Ending.of(record).reason}
        case Kind.ORDER_SENT:
            return "sent", {"msg_seq_num": OrderSent.of(record).msg_seq_num}
        case Kind.ORDER_REFUSED | Kind.ORDER_WITHDRAWN:
            return "not_sent", {"reason": Ending.of(record).reason}
        case Kind.ORDER_UNKNOWN:
            return "unknown", {"reason": Ending.of(record).reason}
        case Kind.ORDER_REPORTED:
            return _reported(OrderReported.of(record))
        case Kind.ORDER_ENDED:
            ended = OrderEnded.of(record)
            return ended.order_state.lower(), {"reason": ended.reason}
        case Kind.DECISION_SEALED:
            return "sealed", {"outcome": DecisionSealed.of(record).outcome}
        case _:
            return _replacing(record)


def _judged(given: VerdictGiven) -> tuple[str, dict[str, Any]]:
    intent = given.intent
    return given.result, {
        "instrument": intent.instrument,
        "side": intent.side.value,
        "qty_lots": intent.qty_lots,
        "verdict": given.verdict.action.name,
    }


def _replacing(record: Record) -> tuple[str, dict[str, Any]] | None:
    """Return that somebody asked for a replace, that it left, or how it ended."""
    match record.kind:
        case Kind.REPLACE_REQUESTED:
            asked = ReplaceRequested.of(record)
            said = {"replace_id": cl_ord_id(record.leaf), "requested_by": asked.requested_by}
            return "replace_requested", said | _terms(asked.after)
        case Kind.REPLACE_SENT:
            return "replace_sent", {"replace_id": ReplaceSent.of(record).cl_ord_id}
        case Kind.REPLACE_ENDED:
            ended = ReplaceEnded.of(record)
            said = {"replace_id": ended.cl_ord_id, "outcome": ended.outcome, "reason": ended.reason}
            return "replace_ended", said | _terms(ended.terms)
        case _:
            return None


def _terms(said: TermsSaid) -> dict[str, Any]:
    return {"qty_lots": said.qty_lots, "limit_price": said.price}


def _reported(report: OrderReported) -> tuple[str, dict[str, Any]]:
    """Return the order's state after a report; a bust or a correction says so."""
    event = report.order_state.lower()
    if report.undoes_seq is not None:
        event = "trade_busted" if report.fill is None else "trade_corrected"
    said = report.report
    return event, {
        "cl_ord_id": report.cl_ord_id,
        "order_state": report.order_state,
        "last_lots": report.last_lots,
        "last_price": said.get("last_price", ""),
        "cum_qty": said.get("cum_qty", ""),
        "leaves_qty": said.get("leaves_qty", ""),
        "text": said.get("text", ""),
    }
