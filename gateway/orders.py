"""The outbox as a projection.

Where each decision and its order stand, folded from committed records.

Not here: any effect. `dispatch` asks `unsent()`, recovery asks `in_doubt()`, the kill report asks
`live()`; after a restart the same fold over the same records gives the same answers, so recovery is
the normal path.
"""

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from audit.kinds import Kind
from audit.record import Record
from gateway.errors import NotReadyError

DECISION_PREFIX: Final = "decision/"
CATCH_UP_S: Final = 10.0


class Stage(StrEnum):
    """How far a decision has come; the names follow the walk."""

    OPEN = "open"
    HELD = "held"
    APPROVED = "approved"
    SENDING = "sending"
    SENT = "sent"
    UNKNOWN = "unknown"
    CLOSED = "closed"
    SEALED = "sealed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One decision's standing.

    Attributes:
        approving: the record whose leaf names the order: the verdict that let it through.
        order_state: the broker's view, FIX OrdStatus name as `fix.order` writes it.
        filled_lots: quantity filled so far, lots.
        report_status: the last OrdStatus (39) reported, or None.
    """

    decision_id: str
    account: str = ""
    stage: Stage = Stage.OPEN
    approving: Record | None = None
    verdict: Record | None = None
    sending: Record | None = None
    cl_ord_id: str = ""
    order_state: str = "INTENT"
    filled_lots: int = 0
    report_status: str | None = None
    sealed: bool = False


class Orders:
    """All standings, by decision id and by ClOrdID."""

    def __init__(self) -> None:
        """Start empty."""
        self._by_decision: dict[str, Standing] = {}
        self._by_cl_ord_id: dict[str, str] = {}
        # (session, trade date, ExecID) -> the report as it was booked
        self.reports: dict[tuple[str, str, str], Any] = {}
        self._folded = threading.Condition()
        self._seq = -1

    def fold(self, records: Iterable[Record]) -> None:
        """Apply committed records; only the ledger's notifier and the start call this.

        In sequence order.
        """
        with self._folded:
            for record in records:
                if record.seq > self._seq:
                    self._seq = record.seq
                    if record.stream.startswith(DECISION_PREFIX):
                        self._apply(record)
            self._folded.notify_all()

    def catch_up(self, records: Sequence[Record]) -> None:
        """Wait until what was just appended is folded, together with all that came before it.

        Raises:
            NotReadyError: the ledger's notifier does not come along.
        """
        with self._folded:
            if not self._folded.wait_for(lambda: self._seq >= records[-1].seq, timeout=CATCH_UP_S):
                raise NotReadyError(part="ledger notifier", state="behind")

    def get(self, decision_id: str) -> Standing | None:
        """Return the standing of a decision, or None."""
        return self._by_decision.get(decision_id)

    def by_cl_ord_id(self, cl_ord_id: str) -> Standing | None:
        """Return the standing of the order with this ClOrdID, or None (quarantine)."""
        decision_id = self._by_cl_ord_id.get(cl_ord_id)
        return None if decision_id is None else self._by_decision[decision_id]

    def names(self) -> frozenset[str]:
        """Return every ClOrdID that the ledger knows."""
        with self._folded:
            return frozenset(self._by_cl_ord_id)

    def unsent(self) -> tuple[Standing, ...]:
        """Approved and not yet handed out, oldest first."""
        return tuple(s for s in list(self._by_decision.values()) if s.stage is Stage.APPROVED)

    def in_doubt(self) -> tuple[Standing, ...]:
        """SENDING is committed but neither SENT nor a refusal followed, or the fate is unknown."""
        return tuple(
            s
            for s in list(self._by_decision.values())
            if s.stage in {Stage.SENDING, Stage.UNKNOWN} and not s.sealed
        )

    def live(self) -> tuple[Standing, ...]:
        """Orders that may be working at the broker."""
        return tuple(
            s
            for s in list(self._by_decision.values())
            if s.stage in {Stage.SENDING, Stage.SENT, Stage.UNKNOWN}
        )

    def held(self) -> tuple[Standing, ...]:
        """Decisions that wait for a person."""
        return tuple(s for s in list(self._by_decision.values()) if s.stage is Stage.HELD)

    def unsealed(self) -> Iterator[Standing]:
        """Decisions without a sealing record."""
        return (s for s in list(self._by_decision.values()) if not s.sealed)

    def _apply(self, record: Record) -> None:
        decision_id = record.stream.removeprefix(DECISION_PREFIX)
        before = self._by_decision.get(decision_id) or Standing(decision_id=decision_id)
        after = _advance(before, record)
        self._by_decision[decision_id] = after
        if after.cl_ord_id:
            self._by_cl_ord_id[after.cl_ord_id] = decision_id
        if record.kind is Kind.ORDER_REPORTED:
            body = record.body
            self.reports[(body["session"], body["trade_date"], body["exec_id"])] = body["report"]


def _advance(standing: Standing, record: Record) -> Standing:  # noqa: PLR0911 - one per kind
    """Return the standing after one more record of its decision."""
    body = record.body
    match record.kind:
        case Kind.VERDICT_GIVEN:
            stage = {"approved": Stage.APPROVED, "held": Stage.HELD}.get(
                body["result"], Stage.CLOSED
            )
            return replace(
                standing,
                account=body["account"],
                stage=stage,
                verdict=record,
                approving=record if stage is Stage.APPROVED else None,
            )
        case Kind.ORDER_SENDING:
            return replace(
                standing,
                stage=Stage.SENDING,
                sending=record,
                cl_ord_id=body["cl_ord_id"],
                order_state="SENDING",
            )
        case Kind.ORDER_SENT:
            # a fill may have been booked before the child's own "sent" was recorded
            if standing.stage in {Stage.CLOSED, Stage.SEALED}:
                return standing
            state = "SENT" if standing.report_status is None else standing.order_state
            return replace(standing, stage=Stage.SENT, order_state=state)
        case Kind.ORDER_UNKNOWN:
            if standing.stage in {Stage.CLOSED, Stage.SEALED}:
                return standing
            return replace(standing, stage=Stage.UNKNOWN, order_state="UNKNOWN")
        case (
            Kind.ORDER_REFUSED
            | Kind.ORDER_WITHDRAWN
            | Kind.APPROVAL_REFUSED
            | Kind.RESERVATION_RELEASED
        ):
            return replace(standing, stage=Stage.CLOSED)
        case Kind.ORDER_REPORTED:
            return replace(
                standing,
                stage=Stage.CLOSED if body["terminal"] else standing.stage,
                order_state=body["order_state"],
                filled_lots=standing.filled_lots + body["last_lots"],
                report_status=body["ord_status"],
            )
        case Kind.DECISION_SEALED:
            return replace(standing, stage=Stage.SEALED, sealed=True)
        case _:
            return standing
