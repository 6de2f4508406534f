"""The outbox: the standings of all decisions, folded from committed records.

Not here: any effect. `dispatch` uses `unsent()`, recovery `in_doubt()`, a kill `live()`. A restart
folds the same records to the same answers.

Batches are followed in log order. A gap, a late batch or one that cannot be folded stops the
projection: an alarm is logged, callers get `NotReadyError`, and the log is folded again. Nothing is
skipped, because the fills of a skipped order would match no order.
"""

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from audit.records.kinds import Kind
from audit.records.record import Record
from audit.store.reader import LedgerReader
from gateway.errors import NotReadyError
from gateway.walk.journal.contents import Ending
from gateway.walk.journal.order import OrderReported, OrderSending, OrderSent
from gateway.walk.journal.replace import ReplaceSent
from gateway.walk.journal.standing import Stage, Standing
from gateway.walk.journal.verdict import VerdictGiven
from gateway.walk.projections.asked import asked_for, reported

DECISION_PREFIX: Final = "decision/"
NOT_BOOKED: Final = "odd:"
"""How the key of a report begins that could not be booked: its ExecID names no trade here."""
UNNAMED: Final = ""
"""The session of orders whose records name none; their numbers count for every session."""
CATCH_UP_S: Final = 10.0
READY: Final = "ready"

_log = logging.getLogger(__name__)

History = Callable[[], tuple[int, Iterable[Record]]]
"""Returns the log's size and the decisions' records below it, in order."""


def history_of(reader: LedgerReader) -> History:
    """Return a function that reads the log's size and the decisions' records below it."""

    def read() -> tuple[int, Iterable[Record]]:
        size = reader.log_size()
        records = reader.records(before_seq=size)
        return size, (r for r in records if r.stream.startswith(DECISION_PREFIX))

    return read


class _Standings:
    """The standings up to one record."""

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self.by_decision: dict[str, Standing] = {}
        self.by_cl_ord_id: dict[str, str] = {}
        self.by_cancel_id: dict[str, str] = {}
        # (session, OrderID) -> decision; and those that a broker gave to two of our orders
        self.by_broker_id: dict[tuple[str, str], str] = {}
        self.shared_ids: set[tuple[str, str]] = set()
        # (session, trade date, ExecID) -> the report as it was booked
        self.reports: dict[tuple[str, str, str], dict[str, str]] = {}
        # (session, its epoch, MsgSeqNum) -> ClOrdID of the order that left with it
        self.by_msg_seq_num: dict[tuple[str, int, int], str] = {}
        # the same of the replaces that left
        self.replace_by_number: dict[tuple[str, int, int], str] = {}
        self.next_seq = 0
        self.foreseen: tuple[Standing, Record, Standing] | None = None

    def take(self, records: Iterable[Record]) -> None:
        for record in records:
            if record.stream.startswith(DECISION_PREFIX):
                self._apply(record)
            self.next_seq = record.seq + 1

    def _apply(self, record: Record) -> None:
        decision_id = record.stream.removeprefix(DECISION_PREFIX)
        if (before := self.by_decision.get(decision_id)) is None:
            before = Standing(decision_id=decision_id, mode=str(record.body.get("mode", "")))
        after = self._foreseen(before, record) or _advance(before, record)
        self.by_decision[decision_id] = after
        if after.cl_ord_id:
            self.by_cl_ord_id[after.cl_ord_id] = decision_id
        if record.kind is Kind.CANCEL_REQUESTED:
            self.by_cancel_id[after.cancels[-1].cancel_id] = decision_id
        if record.kind is Kind.REPLACE_REQUESTED:
            name = after.replaces[-1].replace_id
            self.by_cancel_id[name] = self.by_cl_ord_id[name] = decision_id
        if after.is_of(self.mode):
            self._index(record, after)

    def _index(self, record: Record, after: Standing) -> None:
        """Index what a session calls an order; another session's numbers name other orders."""
        if record.kind is Kind.REPLACE_SENT:
            went = ReplaceSent.of(record)
            number = (after.session, went.session_epoch, went.msg_seq_num)
            self.replace_by_number[number] = went.cl_ord_id
        if record.kind is Kind.ORDER_SENT:
            sent = OrderSent.of(record)
            number = (after.session, sent.session_epoch, sent.msg_seq_num)
            self.by_msg_seq_num[number] = after.cl_ord_id
        if record.kind is Kind.ORDER_REPORTED:
            told = OrderReported.of(record)
            if after.broker_id:
                given = (told.session, after.broker_id)
                if self.by_broker_id.get(given) not in {None, after.decision_id}:
                    self.shared_ids.add(given)
                self.by_broker_id[given] = after.decision_id
            if not record.idem_key.startswith(NOT_BOOKED):
                self.reports[told.session, told.trade_date, told.exec_id] = told.report

    def foresee(self, record: Record) -> None:
        before = self.by_decision.get(record.stream.removeprefix(DECISION_PREFIX))
        if before is not None:
            self.foreseen = before, record, _advance(before, record)

    def _foreseen(self, before: Standing, record: Record) -> Standing | None:
        """Return what was worked out from exactly these two; one slot, for whoever came last."""
        seen = self.foreseen
        same = seen is not None and seen[0] is before and seen[1] is record
        return seen[2] if seen is not None and same else None


class Orders:
    """All standings, by decision id and by ClOrdID; safe from any thread."""

    def __init__(self, mode: str = "") -> None:
        """Start empty; no order of another mode is known by its session's numbers."""
        self._mode, self._fold = mode, _Standings(mode)
        self._history: History | None = None
        self._from_log = 0  # batches below this size were read from the log
        self._trouble = ""
        self._own: set[int] = set()  # folded by `take_own`; the notifier will bring them again
        self._folded = threading.Condition()

    @property
    def state(self) -> str:
        """`ready`, or why the standings are not those of the log."""
        return self._trouble or READY

    @property
    def ready(self) -> bool:
        """Whether the standings are those of the log; if not, no new order is sent."""
        return not self._trouble

    @property
    def reports(self) -> dict[tuple[str, str, str], dict[str, str]]:
        """Every booked report, by (session, trade date, ExecID)."""
        return self._sure().reports

    def fold(self, records: Iterable[Record]) -> None:
        """Apply records in order; live batches come by `follow`."""
        with self._folded:
            self._fold.take(records)
            self._folded.notify_all()

    def begin(self, history: History) -> None:
        """Fold the log, and fold it again whenever a batch does not follow.

        Subscribe `follow` first: a batch that comes meanwhile waits, and was read or follows.
        """
        with self._folded:
            self._history = history
            self._fold_again()

    def follow(self, batch: Sequence[Record]) -> None:
        """Apply a batch of the ledger's notifier."""
        with self._folded:
            if batch[-1].seq < self._from_log:
                return
            fresh = [record for record in batch if record.seq not in self._own]
            self._own.difference_update(record.seq for record in batch)
            if fresh and not self._trouble:
                self._take(fresh)
            if self._trouble:
                self._mend()
            self._folded.notify_all()

    def foresee(self, record: Record) -> None:
        """Work out what `take_own` makes of a record before it is durable; changes nothing."""
        self._fold.foresee(record)

    def take_own(self, record: Record) -> bool:
        """Fold what the caller has just appended, unless the notifier must bring others first.

        Returns whether everything up to this record is folded.
        """
        with self._folded:
            if self.ready and record.seq == self._fold.next_seq:
                self._take((record,))
                self._own.add(record.seq)
                self._folded.notify_all()
            return self.ready and record.seq < self._fold.next_seq

    def mend(self) -> None:
        """Fold the log again if that failed before."""
        with self._folded:
            if self._trouble:
                self._mend()
            self._folded.notify_all()

    def _take(self, batch: Sequence[Record]) -> None:
        """Apply a batch that follows; any other stops the projection."""
        expected, first = self._fold.next_seq, batch[0].seq
        if first != expected:
            sort = "a gap" if first > expected else "a late batch"
            self._stop(f"{sort}: received record {first}, expected {expected}")
            return
        try:
            self._fold.take(batch)
        except Exception as error:  # noqa: BLE001 - whatever it is, nobody may act on what is left
            _log.exception("orders_not_folded")
            self._stop(f"records {first} to {batch[-1].seq} cannot be folded: {error!r}")

    def _stop(self, trouble: str) -> None:
        self._trouble = trouble
        _log.critical("orders_stopped %s; no new order is sent until they are folded", trouble)

    def _mend(self) -> None:
        """Fold the log again; if it cannot be read, try again later."""
        if self._history is None:
            return
        try:
            self._fold_again()
        except Exception:  # noqa: BLE001 - tried again with the next batch and in housekeeping
            _log.exception("orders_not_folded_again")
            return
        _log.warning("orders_folded_again size=%d after=%s", self._from_log, self._trouble)
        self._trouble = ""

    def _fold_again(self) -> None:
        if self._history is None:
            raise AssertionError("no log to fold from")
        (size, records), fold = self._history(), _Standings(self._mode)
        fold.take(records)
        fold.next_seq = size
        self._fold, self._from_log, self._own = fold, size, set()

    def catch_up(self, records: Sequence[Record]) -> None:
        """Wait until the given records, and all before them, are folded.

        Raises:
            NotReadyError: when the ledger's notifier does not keep up.
        """
        with self._folded:
            if not self._folded.wait_for(
                lambda: self.ready and self._fold.next_seq > records[-1].seq, timeout=CATCH_UP_S
            ):
                raise NotReadyError(part="ledger notifier", state=self._trouble or "behind")

    def _sure(self) -> _Standings:
        """Return the standings, for callers that act on them.

        Raises:
            NotReadyError: when they are not those of the log.
        """
        if self._trouble:
            raise NotReadyError(part="orders", state=self._trouble)
        return self._fold

    def get(self, decision_id: str) -> Standing | None:
        """Return the standing of a decision, or None.

        Raises:
            NotReadyError: when the standings are not those of the log; so do all methods below but
                `names` and `live`.
        """
        return self._sure().by_decision.get(decision_id)

    def by_cl_ord_id(self, cl_ord_id: str) -> Standing | None:
        """Return the standing of the order with a ClOrdID, or None."""
        fold = self._sure()
        decision_id = fold.by_cl_ord_id.get(cl_ord_id)
        return None if decision_id is None else fold.by_decision[decision_id]

    def by_cancel_id(self, cancel_id: str) -> Standing | None:
        """Return the standing of the order that a request to cancel or replace is for, or None."""
        fold = self._sure()
        decision_id = fold.by_cancel_id.get(cancel_id)
        return None if decision_id is None else fold.by_decision[decision_id]

    def by_broker_id(self, session: str, order_id: str) -> Standing | None:
        """Return the standing of the order with an OrderID (37) at a session's broker, or None."""
        fold = self._sure()
        keys = ((session, order_id), (UNNAMED, order_id))
        decision_id = next((d for key in keys if (d := fold.by_broker_id.get(key))), None)
        return None if decision_id is None else fold.by_decision[decision_id]

    def shares_id(self, session: str, order_id: str) -> bool:
        """Return whether a session's broker gave an OrderID (37) to two of our orders."""
        return bool({(session, order_id), (UNNAMED, order_id)} & self._sure().shared_ids)

    def by_msg_seq_num(self, session: str, epoch: int, number: int) -> Standing | None:
        """Return the standing of the order that left under a session's MsgSeqNum (34), or None."""
        return self._numbered(self._sure().by_msg_seq_num, session, epoch, number)

    def by_replace_number(self, session: str, epoch: int, number: int) -> Standing | None:
        """Return the standing of the order whose replace left under a MsgSeqNum (34), or None."""
        return self._numbered(self._sure().replace_by_number, session, epoch, number)

    def _numbered(
        self, known: Mapping[tuple[str, int, int], str], session: str, epoch: int, number: int
    ) -> Standing | None:
        name = known.get((session, epoch, number)) or known.get((UNNAMED, epoch, number), "")
        return self.by_cl_ord_id(name)

    def names(self) -> frozenset[str]:
        """Return every known ClOrdID."""
        with self._folded:
            return frozenset(self._fold.by_cl_ord_id)

    def unsent(self) -> tuple[Standing, ...]:
        """Return the approved orders that are not handed out, oldest first."""
        return tuple(s for s in _all(self._sure()) if s.stage is Stage.APPROVED)

    def in_doubt(self) -> tuple[Standing, ...]:
        """Return the orders whose fate is unknown: SENDING without an answer, or UNKNOWN."""
        return tuple(
            s
            for s in _all(self._sure())
            if s.stage in {Stage.SENDING, Stage.UNKNOWN} and not s.sealed
        )

    def live(self) -> tuple[Standing, ...]:
        """Return the orders that may be working at the broker; a kill asks at any time."""
        return tuple(s for s in _all(self._fold) if s.is_live)

    def placed(self) -> tuple[Standing, ...]:
        """Return every order that was announced, oldest first."""
        return tuple(s for s in _all(self._sure()) if s.cl_ord_id)

    def placed_here(self) -> tuple[Standing, ...]:
        """Return those of `placed` of this mode."""
        return tuple(s for s in self.placed() if s.is_of(self._mode))

    def traded(self) -> tuple[Standing, ...]:
        """Return the orders with trades."""
        return tuple(s for s in _all(self._sure()) if s.trades)

    def held(self) -> tuple[Standing, ...]:
        """Return the decisions that wait for a person."""
        return tuple(s for s in _all(self._sure()) if s.stage is Stage.HELD)

    def unsealed(self) -> Iterator[Standing]:
        """Return the decisions without a seal."""
        return (s for s in _all(self._sure()) if not s.sealed)


def _all(fold: _Standings) -> list[Standing]:
    return list(fold.by_decision.values())


def _advance(standing: Standing, record: Record) -> Standing:  # noqa: PLR0911 - one per kind
    """Return the standing after one more record."""
    match record.kind:
        case Kind.VERDICT_GIVEN:
            given = VerdictGiven.of(record)
            stage = {"approved": Stage.APPROVED, "held": Stage.HELD}.get(given.result, Stage.CLOSED)
            return replace(
                standing,
                account=given.account,
                stage=stage,
                verdict=record,
                approving=record if stage is Stage.APPROVED else None,
            )
        case Kind.ORDER_SENDING:
            sending = OrderSending.of(record)
            return replace(
                standing,
                stage=Stage.SENDING,
                sending=record,
                cl_ord_id=sending.cl_ord_id,
                session=sending.session,
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
            | Kind.ORDER_ENDED
        ):
            state = Ending.of(record).order_state or standing.order_state
            return replace(standing, stage=Stage.CLOSED, order_state=state)
        case Kind.ORDER_REPORTED:
            return reported(standing, record)
        case Kind.DECISION_SEALED:
            return replace(standing, stage=Stage.SEALED, sealed=True, seals=standing.seals + 1)
        case _:
            return asked_for(standing, record)
