"""The replace of one order (35=G): another quantity, another limit, or both.

Rules:
- A replace that only reduces (no more lots, no higher limit, a sale's limit as before) needs no
  verdict. Any other is judged by every rule as if the order were new: its own reservation left out,
  with the larger of both quantities that may still execute, at the new limit.
- From the request on, the larger of both totals at the higher of both limits is reserved, until the
  broker answers; then what the order may still do.
- One request at a time, of an order that the broker has acknowledged. In doubt it is refused, and
  the order goes on as it was.
- A kill refuses every replace; it cancels the order instead. Pause and reduce-only refuse one that
  raises. So does a verdict that a person would have to answer: cancel, and ask anew.
- It takes the looks of a new order (`gateway.walk.dispatch`) before the request's record and again
  before it leaves. Every replace counts as a message, and as an intent of the key that asks for it;
  one that only reduces waits for the same pace.
- The request is on record before the message can leave, and it leaves once or never.

A crash after the request's record leaves a replace of which nobody knows whether it left; after the
next logon the broker is asked for it by its ClOrdID. Not here: what the broker's answer means
(`gateway.walk.reconciliation.replace_ends`).
"""

import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from decimal import Decimal
from hashlib import sha256
from typing import Any, Final, NamedTuple, cast

from audit.records.canonical import JSON
from audit.records.kinds import Kind
from audit.records.record import Draft, Record
from audit.sequencer.ledger import Lane
from audit.store.reader import LedgerReader
from fix.errors import MessageError
from fix.wire.messages import cancel_replace, decimal_text
from gateway.desk.bodies.order_requests import ReplaceLine, ReplaceRequest, ReplaceState
from gateway.desk.intake.earlier import case_of
from gateway.desk.intake.scope import Scopes
from gateway.desk.intake.withheld import named
from gateway.errors import NotReplaceableError
from gateway.feeds.live.items import ticks_of
from gateway.installation.keys.keyring import Caller
from gateway.walk.dispatch import DispatchTools, kept_back
from gateway.walk.failpoints import reach
from gateway.walk.journal.contents import Reservation
from gateway.walk.journal.order import OrderReported
from gateway.walk.journal.persons import hide
from gateway.walk.journal.replace import replace_ended, replace_requested, replace_sent
from gateway.walk.journal.standing import (
    AskedReplace,
    ReplaceOutcome,
    Stage,
    Standing,
    Terms,
)
from gateway.walk.journal.verdict import VerdictGiven, judged_document
from gateway.walk.ports import Case, Tick
from gateway.walk.projections.asked import Going, fields_of, replace_going, terms_of
from gateway.walk.projections.forecasts import forecast_named
from gateway.walk.section import Section
from inference.forecast.forecast import Forecast
from risk.intent import Intent, Side
from risk.rules.messages.rates import message_room
from risk.state.book import Book
from risk.state.instrument import Instrument
from risk.state.state import RiskState
from risk.verdict import Verdict

WORKING: Final = frozenset({"NEW", "PARTIAL"})
"""States in which an order can be replaced: the broker has acknowledged it, and nothing pends."""


class ReplaceParts(NamedTuple):
    """What replacing works with; `tick` takes a quote, `turn` keeps the policy as it is."""

    tools: DispatchTools
    reader: LedgerReader
    section: Section
    scopes: Scopes
    instruments: Mapping[str, Instrument]
    tick: Callable[[str], Tick]
    turn: Callable[[], AbstractContextManager[None]]


class Replacing:
    """Replaces orders. Thread-safe."""

    def __init__(self, parts: ReplaceParts) -> None:
        self._parts = parts
        self._asking = threading.Lock()

    def replace(
        self, caller: Caller, standing: Callable[[], Standing], request: ReplaceRequest
    ) -> tuple[Standing, AskedReplace]:
        """Replace the order that `standing` finds; the same client key again asks only once.

        Raises:
            NotReplaceableError: says what keeps the order as it is.
            OutOfScopeError: the scope of the author's key does not cover the new terms.
            AuditError: the request is not on record; nothing was sent.
        """
        with self._asking:
            found = standing()
            asked = _asked(found, caller, request)
            if asked is None:
                with self._parts.scopes.place(caller) as place:
                    kill_epoch = self._refuse_unless_replaceable(found, caller)
                    record = self._ask(found, caller, request)
                    place.used = True
                found = standing()
                asked = _asked(found, caller, request)
                if asked is None:
                    raise AssertionError("the request was recorded a moment ago")
                reach("replace.requested")  # a crash here leaves a replace that never left
                with self._parts.turn():  # no policy follows between the looks and the message
                    self._send(asked, replace_going(found, _given(found), record, kill_epoch))
        found = standing()
        return found, _asked(found, caller, request) or asked

    def line(self, standing: Standing, asked: AskedReplace) -> ReplaceLine:
        """Return a request as it is shown."""
        state, detail = asked.outcome, asked.detail
        if not state:
            noted = self._parts.reader.by_key(
                f"decision/{standing.decision_id}", f"replace_sent:{asked.replace_id}"
            )
            state = "requested" if noted is None else "sent"
        return ReplaceLine(
            replace_id=asked.replace_id,
            requested_by=asked.requested_by,
            requested_us=asked.asked_us,
            reason=asked.reason,
            qty_lots=asked.terms.qty_lots,
            limit_price=asked.terms.price,
            state=cast("ReplaceState", state),
            detail=detail,
            record_seq=asked.seq,
        )

    def _refuse_unless_replaceable(self, standing: Standing, caller: Caller) -> int:
        """Return the kill epoch under which the order may be replaced."""
        tools, (epoch, killed) = self._parts.tools, self._parts.section.kill()
        given = _given(standing)
        going = Going(  # as it leaves, as far as that is known: it is judged next
            standing=standing,
            given=given,
            policy_digest=given.policy_digest,
            kill_epoch=epoch,
            stops=(),
            minor=0,
            seq=0,
            requested_by=caller.name,
            reduces=True,
        )
        reasons = (
            (not tools.profile.capabilities.replace, "the broker's profile has no replace"),
            (bool(tools.no_replace), tools.no_replace),
            (killed, "a kill is in force and cancels the order"),
            (not standing.is_live, f"nothing of it is left: it is {standing.order_state}"),
            (
                standing.order_state not in WORKING or standing.stage is Stage.UNKNOWN,
                f"it is {standing.order_state}, and only one in NEW or PARTIAL can be replaced",
            ),
            (standing.open_replace is not None, "an earlier replace is not answered yet"),
            (bool(standing.open_cancels), "a cancel of it is not answered yet"),
            (standing.is_doubted, "the broker refused a request as too late: wait for its report"),
        )
        why = next((said for true, said in reasons if true), "") or kept_back(going, tools)
        if why:
            raise _stays(standing, why)
        return epoch

    def _ask(self, standing: Standing, caller: Caller, request: ReplaceRequest) -> Record:
        """Put the request on record with its reservation, judged if it raises."""
        parts, given = self._parts, _given(standing)
        instrument = parts.instruments[given.instrument]
        before, after = terms_of(standing), self._wanted(standing, request, instrument)
        reserved = Reservation(
            instrument=instrument.symbol,
            side=given.intent.side,
            qty_lots=max(before.qty_lots, after.qty_lots),
            limit_ticks=max(before.limit_ticks, after.limit_ticks),
            unit_minor=instrument.unit_minor,
        )

        def draft(market_now_us: int, judged: dict[str, JSON] | None = None) -> Draft:
            return replace_requested(
                standing,
                before,
                after,
                reserved,
                session=parts.tools.profile.name,
                requested_by=caller.name,
                role=caller.role.value,
                client_key=request.client_key,
                reason=request.reason,
                market_now_us=market_now_us,
                judged=judged,
            )

        if only_reduces(given.intent.side, before, after):

            def reduced(books: Mapping[str, Book]) -> tuple[Draft, ...]:
                now_us, limits = parts.tools.market_now_us(), parts.section.policy.account
                room = message_room(books[standing.account], limits, now_us)[0]
                if room.observed > room.limit:
                    raise _stays(
                        standing, f"the account has sent its {room.limit} messages: try again"
                    )
                return (draft(now_us),)

            records = parts.section.adjust(standing.account, reduced)
        else:
            records = self._judged(standing, given, reserved, after, draft)
        parts.tools.orders.catch_up(records)
        return records[0]

    def _wanted(self, standing: Standing, request: ReplaceRequest, instrument: Instrument) -> Terms:
        """Return the terms that are asked for; they must differ and leave something to do."""
        now, profile = terms_of(standing), self._parts.tools.profile
        lots = now.qty_lots if request.qty_lots is None else request.qty_lots
        ticks = now.limit_ticks
        if request.limit_price is not None:
            found = ticks_of(Decimal(request.limit_price), instrument)
            if found is None or found <= 0:
                raise NotReplaceableError(
                    problem=f"limit_price {request.limit_price} is no positive multiple of the tick"
                )
            ticks = found
        if lots % instrument.min_qty:
            raise NotReplaceableError(
                problem=f"qty_lots {lots} is no multiple of {instrument.min_qty} lots"
            )
        if lots <= standing.filled_lots:
            raise NotReplaceableError(
                problem=f"{standing.filled_lots} lots are executed: ask for more than that, or"
                " cancel the rest"
            )
        if (lots, ticks) == (now.qty_lots, now.limit_ticks):
            raise NotReplaceableError(problem="the order has these terms already")
        return Terms(
            name="",
            qty_lots=lots,
            limit_ticks=ticks,
            quantity=str(lots * instrument.lot),
            price=decimal_text(ticks * instrument.tick_minor, profile.minor_digits),
        )

    def _judged(
        self,
        standing: Standing,
        given: VerdictGiven,
        reserved: Reservation,
        after: Terms,
        draft: Callable[[int, dict[str, JSON]], Draft],
    ) -> tuple[Record, ...]:
        """Let every rule judge the order as the replace would leave it; commit if they allow it."""
        intent = judged_intent(given.intent, reserved, after, standing.filled_lots)
        worth_minor = reserved.qty_lots * reserved.limit_ticks * reserved.unit_minor

        def judged(verdict: Verdict, state: RiskState, basis_seq: int) -> Draft:
            if verdict.policy_digest != given.policy_digest:  # another one followed just now
                raise _stays(standing, "another policy is in force")
            if self._executed(standing, basis_seq) != standing.filled_lots:
                raise _stays(standing, "it was executed further meanwhile: ask again")
            document = judged_document(intent, verdict, state, basis_seq=basis_seq)
            return draft(state.now_us, document)

        section = self._parts.section
        with section.deciding(given.account):
            case, forecast = self._case(standing)
            record, verdict = section.judge_replace(
                case,
                intent,
                forecast,
                self._parts.tick(given.instrument),
                judged,
                lambda: self._parts.scopes.covers_replaced(given, worth_minor),
            )
        if record is None:
            worst = ", ".join(sorted({named(one) for one in verdict.worst}))
            raise _stays(
                standing,
                f"the rules say {verdict.action.name} ({worst}); ask for less, or cancel it and ask"
                " anew",
            )
        return (record,)

    def _executed(self, standing: Standing, basis_seq: int) -> int:
        """Return the lots that were executed by a record; a fill moves the basis of a verdict."""
        reports = self._parts.reader.records(
            stream=f"decision/{standing.decision_id}",
            kinds=(Kind.ORDER_REPORTED,),
            before_seq=basis_seq + 1,
        )
        return sum(OrderReported.of(one).last_lots for one in reports)

    def _case(self, standing: Standing) -> tuple[Case, Forecast]:
        """Make the order's case again, with the forecast that it was judged with."""
        parts = self._parts
        records = tuple(parts.reader.records(stream=f"decision/{standing.decision_id}"))
        taken = [one for one in records if one.kind is Kind.FORECAST_TAKEN]
        case = case_of(
            standing,
            records,
            parts.reader,
            parts.section.policy,
            parts.instruments,
            parts.tick,
        )
        found = forecast_named(parts.reader, taken[-1]) if taken else None
        if case is None or found is None:
            raise _stays(
                standing,
                "this run cannot judge it again; reduce it, or cancel it and ask anew",
            )
        case = replace(case, taken_seq=taken[-1].seq)
        join = parts.section.paths.joining(found, Kind.FORECAST_MADE, case)
        return replace(case, joined=join(parts.section.book(case.tags.account))), found.target

    def _send(self, asked: AskedReplace, going: Going) -> None:
        """Hand the message out, once; what becomes of it is on record."""
        tools, end, standing = self._parts.tools, self._parts.section.send_end(), going.standing
        try:
            fields = cancel_replace(
                fields_of(standing),
                replace_id=asked.replace_id,
                quantity=asked.terms.quantity,
                price=asked.terms.price,
                transact_time_us=tools.wall_us(),
            )
        except MessageError as error:
            self._not_sent(standing, asked, str(error))
            return
        if why := kept_back(going, tools):
            self._not_sent(standing, asked, why)
            return
        result = tools.broker.hand(
            asked.replace_id, fields, going.kill_epoch, end.wall_us, end.monotonic_us
        )
        reach("replace.handed")  # a crash here leaves a replace that may be at the broker
        if result.outcome == "refused":
            self._not_sent(standing, asked, result.reason)
        elif result.outcome == "sent":
            raw, personal = hide(result.raw, tools.persons, tools.profile.public_tags)
            digest = sha256(raw.encode("latin-1")).hexdigest()
            sent = replace_sent(standing, asked, result, raw=raw, raw_digest=digest)
            records = tools.ledger.append(replace(sent, personal=personal), lane=Lane.URGENT)
            tools.orders.catch_up(records)
        # nobody answered: the request stays open, and the larger of both stays reserved

    def _not_sent(self, standing: Standing, asked: AskedReplace, why: str) -> None:
        """Record that the replace did not leave; what it added to the reservation is free."""
        tools = self._parts.tools
        draft = replace_ended(
            standing,
            asked,
            ReplaceOutcome.NOT_SENT,
            why,
            terms_of(standing),
            market_time_us=tools.market_now_us(),
        )
        tools.orders.catch_up(tools.ledger.append(draft, lane=Lane.URGENT))


def _given(standing: Standing) -> VerdictGiven:
    if standing.verdict is None:
        raise AssertionError("an order was judged before it was announced")
    return VerdictGiven.of(standing.verdict)


def _stays(standing: Standing, why: str) -> NotReplaceableError:
    return NotReplaceableError(problem=f"order {standing.cl_ord_id} stays as it is: {why}")


def only_reduces(side: Side, before: Terms, after: Terms) -> bool:
    """Return whether no trade under the new terms is larger, dearer or easier than before.

    A sale at a higher limit is worth more, at a lower one it trades sooner: both are judged.
    """
    less = after.qty_lots <= before.qty_lots and after.limit_ticks <= before.limit_ticks
    return less and (side is Side.BUY or after.limit_ticks == before.limit_ticks)


def judged_intent(intent: Intent, reserved: Reservation, after: Terms, filled_lots: int) -> Intent:
    """Return what the rules judge: the larger quantity that may still execute, at the new limit."""
    open_lots = reserved.qty_lots - filled_lots
    return replace(intent, qty_lots=open_lots, limit_ticks=after.limit_ticks)


def _asked(standing: Standing, caller: Caller, request: ReplaceRequest) -> AskedReplace | None:
    """Return the request that this caller made under this client key, or None."""
    mine: tuple[Any, ...] = (caller.name, request.client_key)
    return next((r for r in standing.replaces if (r.requested_by, r.client_key) == mine), None)
