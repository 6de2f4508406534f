"""Records to the flow of orders: what was refused or held, by rule and reason, and the way's times.

Pure. Times are of two clocks, both on record: `recorded_at_us`, the wall clock of the process that
writes the ledger, read when a record's batch is built, never going back; and
`decision_to_wire_us`, measured by the same wall clock from the approving record to the FIX child's
answer that the order left. No clock of the broker or of the market is used.

Rules:
- A refusal counts on the day of its record. A decision's times count on the day of its first
  record; a decision whose first record was not folded has no times.
- A forecast that failed counts for each decision that got none, not for one that the table served.
- Every check that asked for THROTTLE or more counts, so one verdict may count under several rules.
- Only the first fill has a time. A decision is forgotten when it is sealed.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final, Protocol

from audit.records.kinds import Kind
from audit.records.record import Record
from fix.orders.state import OrderState
from gateway.evidence.decisions import PREFIX
from gateway.walk.journal.contents import Reasoned
from gateway.walk.journal.control.access import AccessRefused
from gateway.walk.journal.decision import ForecastTaken
from gateway.walk.journal.order import OrderReported, OrderSent
from gateway.walk.journal.verdict import VerdictGiven
from risk.verdict import Action

APPROVED: Final = "approved"
REASON_CHARS: Final = 60
"""Reasons of brokers are their text; a longer one is cut, so that the groups stay readable."""

LEGS: Final = {
    "received_to_verdict": "the decision's first record to its first verdict",
    "verdict_to_approved": "first verdict to the renewed one that approved: a person was asked",
    "approved_to_announced": "approving verdict to order_sending",
    "announced_to_wire": "order_sending to the FIX process' answer that the order left",
    "wire_to_report": "that answer to the record of the broker's first report",
    "wire_to_fill": "that answer to the record of the first fill",
    "received_to_wire": "first record to wire",
    "received_to_fill": "first record to the record of the first fill",
}
"""Part of the way -> from where to where."""

_REASONED: Final = {
    Kind.RESERVATION_RELEASED: "hold",
    Kind.ORDER_WITHDRAWN: "desk",
    Kind.ORDER_REFUSED: "session",
    Kind.ORDER_ENDED: "broker",
}
"""Kinds whose `reason` is of a closed list or the broker's own, and who refused."""

_MILD: Final = frozenset(one.name for one in Action if one < Action.THROTTLE)

FLOW_KINDS: Final = (
    Kind.INTENT_RECEIVED,
    Kind.FORECAST_TAKEN,
    Kind.VERDICT_GIVEN,
    Kind.APPROVAL_REFUSED,
    Kind.ORDER_SENDING,
    Kind.ORDER_SENT,
    Kind.ORDER_REPORTED,
    Kind.DECISION_SEALED,
    Kind.ACCESS_REFUSED,
    *_REASONED,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusalGroup:
    """Refusals or holds that are counted together.

    Attributes:
        by: who refused: access, forecast, rules, person, hold, desk, session, broker.
        action: of a rule's check: THROTTLE, HOLD, REJECT, HALT or KILL; otherwise REFUSED.
        rule: of a rule's check, otherwise empty.
    """

    by: str
    action: str
    rule: str
    reason: str


class FlowSink(Protocol):
    """What takes the fold's findings."""

    def judged(self, record: Record, result: str) -> None:
        """Take a verdict's result."""

    def refused(self, record: Record, group: RefusalGroup, count: int) -> None:
        """Take a refusal or a hold."""

    def took(self, opened_us: int, leg: str, us: int) -> None:
        """Take the time of one part of the way, of a decision that began then."""


@dataclass(slots=True)
class _Way:
    """One open decision's times."""

    opened_us: int
    verdict_us: int | None = None
    approved_us: int | None = None
    announced_us: int | None = None
    wire_us: int | None = None
    reported: bool = False
    filled: bool = False


@dataclass(slots=True)
class FlowFold:
    """Folds records in log order into a sink."""

    sink: FlowSink
    _open: dict[str, _Way] = field(default_factory=dict)

    def take(self, record: Record) -> None:
        """Fold one record; kinds outside `FLOW_KINDS` only open a decision.

        Raises:
            ValueError: its payload is not of its kind.
        """
        if record.stream_seq == 0 and record.stream.startswith(PREFIX):
            self._open[record.stream] = _Way(opened_us=record.recorded_at_us)
        way = self._open.get(record.stream)
        match record.kind:
            case Kind.VERDICT_GIVEN:
                self._judged(record, way)
            case Kind.ORDER_SENDING if way is not None:
                way.announced_us = record.recorded_at_us
                self._took(way, "approved_to_announced", way.approved_us, way.announced_us)
            case Kind.ORDER_SENT if way is not None:
                self._left(record, way)
            case Kind.ORDER_REPORTED:
                self._reported(record, way)
            case Kind.DECISION_SEALED:
                self._open.pop(record.stream, None)
            case _:
                self._declined(record)

    def _declined(self, record: Record) -> None:
        """Take a refusal by anybody but the rules, if the record is one."""
        match record.kind:
            case Kind.FORECAST_TAKEN:
                if missing := ForecastTaken.of(record).missing:
                    self._refused(record, "forecast", missing)
            case Kind.APPROVAL_REFUSED:
                self._refused(record, "person", "refused by a person")
            case Kind.ACCESS_REFUSED:
                said = AccessRefused.of(record)
                self._refused(record, "access", said.reason, count=said.count)
            case kind if kind in _REASONED:
                self._refused(record, _REASONED[kind], Reasoned.of(record).reason)
            case _:
                pass

    def _judged(self, record: Record, way: _Way | None) -> None:
        given = VerdictGiven.of(record)
        self.sink.judged(record, given.result)
        groups = {
            RefusalGroup(
                by="rules", action=one["action"], rule=one["rule_id"], reason=one["reason"]
            )
            for one in given.verdict_document["results"]
            if one["action"] not in _MILD
        }
        for group in sorted(groups, key=lambda one: (one.rule, one.reason)):
            self.sink.refused(record, group, 1)
        if way is None:
            return
        if way.verdict_us is None:
            way.verdict_us = record.recorded_at_us
            self._took(way, "received_to_verdict", way.opened_us, way.verdict_us)
        elif given.result == APPROVED:
            self._took(way, "verdict_to_approved", way.verdict_us, record.recorded_at_us)
        if given.result == APPROVED:
            way.approved_us = record.recorded_at_us

    def _left(self, record: Record, way: _Way) -> None:
        took_us = OrderSent.of(record).decision_to_wire_us
        if took_us is None or way.approved_us is None:
            return
        way.wire_us = way.approved_us + took_us
        self._took(way, "announced_to_wire", way.announced_us, way.wire_us)
        self._took(way, "received_to_wire", way.opened_us, way.wire_us)

    def _reported(self, record: Record, way: _Way | None) -> None:
        said = OrderReported.of(record)
        if said.order_state == OrderState.REJECTED and said.terminal:
            code = said.report.get("reject_reason", "")
            self._refused(record, "broker", f"OrdRejReason {code}" if code else "no reason")
        if way is None or way.wire_us is None:
            return
        if not way.reported:
            way.reported = True
            self._took(way, "wire_to_report", way.wire_us, record.recorded_at_us)
        if said.is_trade and not way.filled:
            way.filled = True
            self._took(way, "wire_to_fill", way.wire_us, record.recorded_at_us)
            self._took(way, "received_to_fill", way.opened_us, record.recorded_at_us)

    def _took(self, way: _Way, leg: str, begun_us: int | None, ended_us: int) -> None:
        if begun_us is not None:
            self.sink.took(way.opened_us, leg, max(0, ended_us - begun_us))

    def _refused(self, record: Record, by: str, reason: str, *, count: int = 1) -> None:
        said = " ".join(reason.split())[:REASON_CHARS] or "no reason"
        group = RefusalGroup(by=by, action="REFUSED", rule="", reason=said)
        self.sink.refused(record, group, count)


@dataclass(slots=True)
class FlowCounts:
    """Counts since a start, for `/metrics`: no samples are kept."""

    refusals: Counter[RefusalGroup] = field(default_factory=Counter)
    times: Counter[str] = field(default_factory=Counter)
    sums_us: Counter[str] = field(default_factory=Counter)

    def judged(self, record: Record, result: str) -> None:
        """Count nothing: `countersign_decisions_total` does."""

    def refused(self, record: Record, group: RefusalGroup, count: int) -> None:  # noqa: ARG002
        """Count a refusal."""
        self.refusals[group] += count

    def took(self, opened_us: int, leg: str, us: int) -> None:  # noqa: ARG002
        """Count a time."""
        self.times[leg] += 1
        self.sums_us[leg] += us


def rank(ordered: list[int], percent: int) -> int:
    """Return the smallest value that at least so many percent of a sorted, filled list reach."""
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]
