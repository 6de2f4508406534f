"""Orders as their owners see them, and the cancel and replace of one order.

Rules:
- An agent sees and cancels its own orders only; another's does not exist for it.
- The request is on record before the cancel can leave, and a client key asks once. Its message
  goes the way of a kill's cancels: noted in the FIX child's journal, then sent, never resent.
- A cancel only reduces risk: it needs no verdict and passes while a kill is in force.
- A request that did not leave is over and says so; nothing waits for the session to come back.

A crash between the request's record and the FIX child's note leaves a request that never left; the
next start ends it as not sent. Not here: cancelling everything at once (a kill's sweep),
and how an order is replaced (`replacing`).
"""

import itertools
import threading
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Final, Protocol, cast

from audit.sequencer.ledger import Lane
from audit.store.reader import LedgerReader
from fix.session.link import HandResult
from fix.wire.messages import Fields
from gateway import clock
from gateway.desk.bodies.order_requests import (
    CancelLine,
    CancelRequest,
    CancelResponse,
    CancelState,
    OrderLine,
    ReplaceRequest,
    ReplaceResponse,
)
from gateway.desk.controls.replacing import Replacing
from gateway.desk.intake.answers import permalink_of
from gateway.desk.intake.intents import author_in
from gateway.errors import NotCancellableError, UnknownOrderError
from gateway.installation.keys.keyring import Caller
from gateway.walk.dispatch import DispatchTools
from gateway.walk.journal.cancel import cancel_not_sent, cancel_requested
from gateway.walk.journal.order import OrderSending
from gateway.walk.journal.standing import AskedCancel, CancelOutcome, Standing
from gateway.walk.journal.verdict import VerdictGiven
from gateway.walk.projections.asked import fields_of, terms_of
from gateway.walk.reconciliation.asking import Budget

LISTED_MAX: Final = 1_000
PACE_S: Final = 0.005
_TIME_IN_FORCE: Final = 59
_DAYS: Final = {"0": "DAY", "1": "GTC", "3": "IOC", "4": "FOK"}
_SHOWN: Final = Decimal("0.000001")


class CancelPort(Protocol):
    """The FIX child as a cancel sees it."""

    def cancel_order(self, order: Fields, cancel_id: str) -> HandResult:
        """Cancel the order with these fields, once; return within the child's deadline."""
        ...


class PacedCancels:
    """Cancels at the rate that the broker accepts; safe from any thread."""

    def __init__(self, fix: CancelPort, per_s: int) -> None:
        """Let `per_s` cancels pass in any second; more wait for their turn."""
        self._fix = fix
        self._budget = Budget(per_s)

    def cancel_order(self, order: Fields, cancel_id: str) -> HandResult:
        """Cancel an order when its turn comes."""
        while not self._budget.take(clock.monotonic_us()):
            clock.pause(PACE_S)
        return self._fix.cancel_order(order, cancel_id)


class OrderDesk:
    """Lists and cancels orders. Thread-safe."""

    def __init__(
        self, tools: DispatchTools, reader: LedgerReader, cancels: CancelPort, replacing: Replacing
    ) -> None:
        """Take the orders' own tools, and what cancels and replaces one at the broker."""
        self._tools = tools
        self._reader = reader
        self._cancels = cancels
        self._replacing = replacing
        self._session = tools.profile.name
        self._asking = threading.Lock()

    def listed(
        self, caller: Caller, *, live: bool = True, limit: int = LISTED_MAX
    ) -> tuple[OrderLine, ...]:
        """Return the caller's orders, newest first: an agent's own, everybody's for others.

        Raises:
            NotReadyError: the orders are not folded.
        """
        orders = self._tools.orders
        mine = (s for s in reversed(orders.placed()) if s.is_live or not live)
        return tuple(self.line(s) for s in itertools.islice(self._of(caller, mine), limit))

    def order(self, caller: Caller, name: str) -> OrderLine:
        """Return one order by its ClOrdID or its decision.

        Raises:
            UnknownOrderError: the caller has no order of this name.
        """
        return self.line(self._find(caller, name))

    def cancel(self, caller: Caller, name: str, request: CancelRequest) -> CancelResponse:
        """Cancel an order; the same client key again returns what became of the first request.

        Raises:
            UnknownOrderError: the caller has no order of this name.
            NotCancellableError: nothing of the order is left, or it is not at the broker.
            AuditError: the request is not on record; nothing was sent.
        """
        with self._asking:
            standing = self._find(caller, name)
            asked = _asked(standing, caller, request)
            fresh = asked is None
            if asked is None:
                standing, asked = self._ask(standing, caller, request)
        if fresh:
            self._send(standing, asked)
        standing = self._find(caller, name)
        said = _asked(standing, caller, request) or asked
        line = self._cancel_line(said, standing)
        return CancelResponse(
            result=line.state, reason=line.detail or None, cancel=line, order=self.line(standing)
        )

    def replace(self, caller: Caller, name: str, request: ReplaceRequest) -> ReplaceResponse:
        """Replace an order's quantity or limit; the same client key again asks only once.

        Raises:
            UnknownOrderError: the caller has no order of this name.
            NotReplaceableError: says what keeps the order as it is.
            OutOfScopeError: the scope of the author's key does not cover the new terms.
            AuditError: the request is not on record; nothing was sent.
        """
        standing, asked = self._replacing.replace(caller, lambda: self._find(caller, name), request)
        line = self._replacing.line(standing, asked)
        return ReplaceResponse(
            result=line.state, reason=line.detail or None, replace=line, order=self.line(standing)
        )

    def line(self, standing: Standing) -> OrderLine:
        """Return an order as it is shown."""
        tools = self._tools
        sending, verdict = standing.sending, standing.verdict
        if sending is None or verdict is None:
            raise AssertionError("an order is shown once it was announced")
        fields, intent = dict(OrderSending.of(sending).fields), VerdictGiven.of(verdict).intent
        live, terms = standing.is_live, terms_of(standing)
        return OrderLine(
            cl_ord_id=standing.cl_ord_id,
            decision_id=standing.decision_id,
            permalink=permalink_of(standing.decision_id),
            account=standing.account,
            author=intent.author,
            instrument=intent.instrument,
            side=intent.side.value,
            quantity=terms.quantity,
            qty_lots=terms.qty_lots,
            limit_price=terms.price,
            time_in_force=_DAYS.get(fields.get(_TIME_IN_FORCE, ""), ""),
            state=standing.order_state,
            live=live,
            filled_lots=standing.filled_lots,
            leaves_lots=max(0, terms.qty_lots - standing.filled_lots) if live else 0,
            average_price=self._average(standing),
            broker_order_id=standing.broker_id or None,
            announced_us=sending.recorded_at_us,
            reported_us=standing.said_us or None,
            age_s=max(0, tools.wall_us() - sending.recorded_at_us) // 1_000_000 if live else None,
            cancels=tuple(self._cancel_line(one, standing) for one in standing.cancels),
            replaces=tuple(self._replacing.line(standing, one) for one in standing.replaces),
        )

    def _of(self, caller: Caller, found: Iterable[Standing]) -> Iterator[Standing]:
        for standing in found:
            if standing.sending is not None and caller.sees(author_in(standing.decision_id)):
                yield standing

    def _find(self, caller: Caller, name: str) -> Standing:
        orders = self._tools.orders
        standing = orders.by_cl_ord_id(name) or orders.get(name)
        hidden = standing is None or not caller.sees(author_in(standing.decision_id))
        if standing is None or hidden or standing.verdict is None:
            raise UnknownOrderError(problem=f"no order {name[:80]!r} of yours")
        if standing.sending is None:
            raise NotCancellableError(
                problem=f"decision {standing.decision_id} has no order at the broker:"
                f" it is {standing.stage.value}"
            )
        return standing

    def _ask(
        self, standing: Standing, caller: Caller, request: CancelRequest
    ) -> tuple[Standing, AskedCancel]:
        """Put the request on record, before anything leaves."""
        if not standing.is_live:
            raise NotCancellableError(
                problem=f"nothing of order {standing.cl_ord_id} is left: it is"
                f" {standing.order_state}"
            )
        draft = cancel_requested(
            standing,
            session=self._session,
            requested_by=caller.name,
            role=caller.role.value,
            client_key=request.client_key,
            reason=request.reason,
        )
        records = self._tools.ledger.append(draft, lane=Lane.URGENT)
        self._tools.orders.catch_up(records)
        # a crash here leaves a request that never left; the next start ends it as not sent
        found = self._find(caller, standing.cl_ord_id)
        asked = _asked(found, caller, request)
        if asked is None:
            raise AssertionError("the request was recorded a moment ago")
        return found, asked

    def _send(self, standing: Standing, asked: AskedCancel) -> None:
        """Hand the cancel out; if the child refuses it, it never leaves."""
        if standing.sending is None:
            raise AssertionError("an order is cancelled once it was announced")
        fields = fields_of(standing)  # under the ClOrdID that the broker confirmed
        result = self._cancels.cancel_order(fields, asked.cancel_id)
        # a crash here leaves the child's note, which the next start records
        if result.outcome != "refused":
            return  # sent; or nobody answered, and the child's journal knows whether it left
        market_time_us = self._tools.market_now_us()
        draft = cancel_not_sent(standing, asked, result.reason, market_time_us=market_time_us)
        self._tools.orders.catch_up(self._tools.ledger.append(draft, lane=Lane.URGENT))

    def _cancel_line(self, asked: AskedCancel, standing: Standing) -> CancelLine:
        state, detail = asked.outcome, asked.detail
        if not state and not standing.is_live:
            state, detail = CancelOutcome.TOO_LATE.value, f"the order is {standing.order_state}"
        if not state:
            noted = self._reader.by_key(f"session/{self._session}", f"cancel:{asked.cancel_id}")
            state = "requested" if noted is None else "sent"
        return CancelLine(
            cancel_id=asked.cancel_id,
            requested_by=asked.requested_by,
            requested_us=asked.asked_us,
            reason=asked.reason,
            state=cast("CancelState", state),
            detail=detail,
            record_seq=asked.seq,
        )

    def _average(self, standing: Standing) -> str | None:
        """Return the average price of the booked trades, decimal text."""
        fills = [one.fill for one in standing.trades if one.fill is not None]
        lots = sum(fill.qty_lots for fill in fills)
        if not lots:
            return None
        try:
            tick_minor = self._tools.instrument(fills[0].instrument).tick_minor
        except KeyError:
            return None
        ticks = Decimal(sum(fill.qty_lots * fill.price_ticks for fill in fills)) / lots
        price = (ticks * tick_minor).scaleb(-self._tools.profile.minor_digits)
        return f"{price.quantize(_SHOWN).normalize():f}"


def _asked(standing: Standing, caller: Caller, request: CancelRequest) -> AskedCancel | None:
    """Return the request that this caller made under this client key, or None."""
    mine = (caller.name, request.client_key)
    return next((c for c in standing.cancels if (c.requested_by, c.client_key) == mine), None)
