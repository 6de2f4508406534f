"""A basket of intents, judged as a whole: either every order may leave, or none does.

Rules:
- `basket_received` and the intents of all legs are one append. Then each leg is decided in order;
  R21 and the book see the orders of the legs before it, so the last leg is judged with all of them.
- Every leg is decided, so each has its own verdict. One that is refused, held or without a forecast
  stops the basket; a leg without an order to make does not.
- No leg of a basket waits for a person: a hold would let the market move away from the others.
- `basket_decided` is on record before any order is announced, and only if nothing that it rests on
  was committed after the legs were looked at a last time. If it stops the basket, the same
  append ends every leg. `dispatch` sends no leg of a basket that this process has not approved.
- An order that does not leave keeps back every order that has not left yet. So if the first does
  not leave, none does.

Not here: the records (`gateway.walk.journal.control.groups.baskets`), one intent (`desk`).
"""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal
from urllib.parse import quote

from audit.errors import AuditError, GuardMovedError
from audit.records.canonical import JSON
from audit.records.record import Draft, Record
from audit.sequencer.ledger import Guard, Lane
from audit.store.reader import LedgerReader
from gateway.desk.bodies.basket_requests import BasketLeg, BasketRequest, BasketResponse
from gateway.desk.desk import Desk
from gateway.desk.intake.asking import received
from gateway.desk.intake.intents import request_document, without_listed_words
from gateway.errors import GatewayError, NotReadyError, RequestError, UnknownDecisionError
from gateway.installation.keys.keyring import Caller
from gateway.walk.decision import Decision, Result
from gateway.walk.dispatch import may_leave
from gateway.walk.failpoints import reach
from gateway.walk.journal.control.groups.baskets import (
    BasketDecided,
    BasketOutcome,
    BasketReceived,
    basket_digest,
    basket_received,
    leg_of,
    stopped_by,
)
from gateway.walk.journal.decision import decision_sealed
from gateway.walk.journal.order import order_withdrawn, sealed
from gateway.walk.journal.standing import Stage, Standing
from gateway.walk.journal.verdict import reservation_released
from gateway.walk.ports import Case
from gateway.walk.section import MAX_TRIES
from risk.rules.account.basket import worst_minor
from risk.state.inputs.firm import Basket

_GOES_ON: Final = frozenset({Result.APPROVED, Result.NO_TRADE})
"""The results of a leg that do not stop its basket."""
_NOT_JUDGED: Final = "abandoned"

Whole = Literal["approved", "stopped", "no_trade", "partly_sent", "unknown"]


def basket_id_of(caller: str, client_key: str) -> str:
    """Return the id of the basket that a caller's client key names, in every run."""
    digest = hashlib.sha256(f"{caller}\nbasket\n{client_key}".encode()).hexdigest()[:32]
    return f"{caller}-{digest}"


@dataclass(slots=True, kw_only=True)
class _OpenBasket:
    """A basket on record whose legs are being decided."""

    basket_id: str
    record: Record
    cases: tuple[Case, ...]
    decisions: list[Decision] = field(default_factory=list)

    @property
    def account(self) -> str:
        return self.cases[0].tags.account


def submit_basket(desk: Desk, caller: Caller, request: BasketRequest) -> BasketResponse:
    """Judge a basket; the same client key returns the same basket, over restarts.

    Raises:
        OutOfScopeError: the scope of the caller's key does not cover a leg; nothing is on record.
        RequestError: an instrument is not quoted, or a key was used for another request.
        NotReadyError: too much is being handled, or this basket is not decided yet.
        AuditError: the ledger did not take a record; no order left.
    """
    legs = [without_listed_words(one) for one in request.legs]
    request = request.model_copy(update={"legs": legs})
    basket_id = basket_id_of(caller.name, request.client_key)
    new = 0 if _received(desk.own.reader, basket_id) else len(legs)
    with desk.scopes.place(caller, new) as place, desk.handling(caller):
        with desk.answers:
            known = _received(desk.own.reader, basket_id)
            if known is None:
                opened = _opened(desk, caller, request, basket_id)
                place.used = True
            else:
                _refuse_another(desk, known, request)
                return told_of(desk, basket_id, reader=caller)
        _decide(desk, opened)
        return told_of(desk, basket_id, reader=caller)


def told_of(desk: Desk, basket_id: str, *, reader: Caller) -> BasketResponse:
    """Return what became of a basket, from its records.

    Raises:
        UnknownDecisionError: the reader has no such basket.
        NotReadyError: it is not decided, or an order is not handed out yet.
    """
    log = desk.own.reader
    asked, record = _received(log, basket_id), decided_in(log, basket_id)
    received = None if asked is None else BasketReceived.of(asked)
    if received is None or not reader.sees(received.author):
        raise UnknownDecisionError(problem=f"no basket {basket_id}")
    if record is None:
        raise NotReadyError(part=f"basket {basket_id}", state="still being decided")
    decided = BasketDecided.of(record)
    legs = tuple(_leg(desk, one) for one in decided.legs)
    return BasketResponse(
        basket_id=basket_id,
        result=_whole(decided.outcome, legs),
        reason=decided.reason or _kept_back(legs, stopped_by(basket_id)),
        legs=legs,
        digest=received.digest,
        permalink=f"/baskets/{quote(basket_id)}",
        record_seq=record.seq,
        record_leaf=record.leaf.hex(),
    )


def decided_in(reader: LedgerReader, basket_id: str) -> Record | None:
    """Return the record of a basket's outcome, or None before it."""
    return reader.by_key("control", f"basket_decided:{basket_id}")


def _received(reader: LedgerReader, basket_id: str) -> Record | None:
    # PostgreSQL raises an error for a text with a NUL
    return reader.by_key("control", f"basket:{basket_id}") if basket_id.isprintable() else None


def _leg(desk: Desk, named: dict[str, Any]) -> BasketLeg:
    decision_id, result = str(named["decision_id"]), str(named["result"])
    answer = None if result == _NOT_JUDGED else desk.answer(decision_id)
    return BasketLeg(
        decision_id=decision_id, result=result if answer is None else answer.result, answer=answer
    )


def _whole(outcome: BasketOutcome, legs: Sequence[BasketLeg]) -> Whole:
    """Return the result of the whole, which is said of the orders that left, not of verdicts."""
    if outcome is not BasketOutcome.APPROVED:
        return "stopped" if outcome is BasketOutcome.STOPPED else "no_trade"
    results = {one.result for one in legs}
    if "unknown" in results:
        return "unknown"
    if "approved" not in results:
        return "stopped"
    return "approved" if results <= {"approved", "no_trade"} else "partly_sent"


def _kept_back(legs: Sequence[BasketLeg], with_others: str) -> str | None:
    """Return the leg of an approved basket that ended its sending; None if every order left.

    `with_others` is the reason of the legs that were kept back because of that one.
    """
    for number, leg in enumerate(legs, 1):
        why = "" if leg.answer is None else leg.answer.reason or ""
        if leg.result in {"not_sent", "unknown"} and why != with_others:
            how = "did not leave" if leg.result == "not_sent" else "may have left"
            return f"leg {number} {how}: {why}"
    return None


def _refuse_another(desk: Desk, known: Record, request: BasketRequest) -> None:
    if BasketReceived.of(known).digest != basket_digest(_documents(desk, request)):
        raise RequestError(problem=f"client_key {request.client_key!r} was used for another basket")


def _documents(desk: Desk, request: BasketRequest) -> list[JSON]:
    persons = desk.own.dispatching.persons
    return [request_document(one, persons)[0] for one in request.legs]


def _opened(desk: Desk, caller: Caller, request: BasketRequest, basket_id: str) -> _OpenBasket:
    """Put the basket and the intents of all legs on record in one append."""
    own, alone = desk.own, Basket(group=basket_id, others_minor=0)
    cases: list[Case] = []
    for leg in request.legs:
        desk.refuse_unknown(leg)
        case = replace(desk.case_of(caller, leg), basket=alone)
        if own.orders.get(case.decision_id) is not None:
            raise RequestError(problem=f"client_key {leg.client_key!r} of a leg was used before")
        desk.admit(caller, leg, case)
        cases.append(case)
    tags, ids = cases[0].tags, [one.decision_id for one in cases]
    scoped = desk.scopes.records(caller, tags.account)
    drafts = (
        *scoped,
        basket_received(
            tags, basket_id, request.client_key, caller.name, ids, _documents(desk, request)
        ),
        *(
            received(case, caller, leg, own.dispatching.persons, own.section.policy_named)
            for case, leg in zip(cases, request.legs, strict=True)
        ),
    )
    records = own.tools.ledger.append(*drafts)
    own.orders.catch_up(records)
    reach("basket.received")  # a crash here leaves intents that nobody judged: all abandoned
    first = records[-1 - len(cases)]
    return _OpenBasket(basket_id=basket_id, record=first, cases=tuple(cases))


def _decide(desk: Desk, basket: _OpenBasket) -> None:
    """Decide each leg, then the whole; send the orders if every leg may leave."""
    concluded = False
    try:
        others_minor = 0
        for case in basket.cases:
            group = Basket(group=basket.basket_id, others_minor=others_minor)
            decision = desk.judged(replace(case, basket=group))
            basket.decisions.append(decision)
            others_minor += _worth_minor(case, decision)
        reach("basket.judged")  # a crash here leaves approvals that the next start withdraws
        outcome = _conclude(desk, basket)
        concluded = True
    finally:
        if not concluded:  # one was not judged, or the outcome is not on record: nothing leaves
            with suppress(AuditError, GatewayError):
                _stop(desk, basket, "a leg could not be judged")
    reach("basket.decided")  # a crash here leaves the outcome: a start withdraws what is unsent
    if outcome is BasketOutcome.APPROVED:
        _send(desk, basket)


def _send(desk: Desk, basket: _OpenBasket) -> None:
    """Send the orders of a basket that is approved as a whole on record.

    The first order that does not leave, or of which that is not known, ends the sending. One that
    may not leave any more comes first: it is withdrawn with its own reason before another leaves.
    """
    whole = desk.own.dispatching.whole
    orders = [one for one in basket.decisions if one.result is Result.APPROVED]
    whole.add(basket.basket_id)
    try:
        all(desk.send(one) for one in sorted(orders, key=lambda one: _leaves(desk, one)))
    finally:
        whole.discard(basket.basket_id)
        # a crash here leaves approvals that the next start withdraws; so does a refused record
        with suppress(AuditError):
            _keep_back(desk, basket)


def _leaves(desk: Desk, decision: Decision) -> bool:
    """Return whether the order of an approved leg may still leave."""
    standing = desk.own.orders.get(decision.decision_id)
    return standing is not None and not isinstance(may_leave(standing, desk.own.dispatching), str)


def _keep_back(desk: Desk, basket: _OpenBasket) -> None:
    """Withdraw the orders that have not been announced, in one append."""
    now_us, reason = desk.own.market.now_us(), stopped_by(basket.basket_id)
    found = (desk.own.orders.get(one.decision_id) for one in basket.cases)
    ends = [end for one in found if one is not None for end in ended(one, reason, now_us)]
    if ends:
        desk.own.orders.catch_up(desk.own.tools.ledger.append(*ends, lane=Lane.URGENT))


def _worth_minor(case: Case, decision: Decision) -> int:
    judged = decision.judged
    if judged is None or judged.state.quote is None:
        return 0
    return worst_minor(judged.intent, judged.state.quote, case.instrument.unit_minor)


def _conclude(desk: Desk, basket: _OpenBasket) -> BasketOutcome:
    """Put the outcome on record; if it stops the basket, with the end of every leg.

    The ledger refuses it if a record that it rests on was committed meanwhile; then all legs are
    looked at again.
    """
    orders = any(one.result is Result.APPROVED for one in basket.decisions)
    outcome = BasketOutcome.APPROVED if orders else BasketOutcome.NO_TRADE
    for _ in range(MAX_TRIES):
        basis_seq = _caught_up(desk)
        if why := next(_stopping(desk, basket), ""):
            _stop(desk, basket, why)
            return BasketOutcome.STOPPED
        guard = Guard(section=basket.account, basis_seq=basis_seq)
        with suppress(GuardMovedError):
            _record(desk, basket, outcome, "", guard=guard)
            return outcome
    raise NotReadyError(part="section", state="moved under every try")


def _caught_up(desk: Desk) -> int:
    """Return the newest record once the standings have it."""
    head = desk.own.reader.log_size() - 1
    newest = desk.own.reader.record(head)
    if newest is not None:
        desk.own.orders.catch_up((newest,))
    return head


def _stopping(desk: Desk, basket: _OpenBasket) -> Iterator[str]:
    """Yield what keeps the basket from leaving; nothing if every order may leave now."""
    for number, decision in enumerate(basket.decisions, 1):
        if decision.result not in _GOES_ON:
            yield f"leg {number} is {decision.result.value}"
    for number, decision in enumerate(basket.decisions, 1):
        standing = desk.own.orders.get(decision.decision_id)
        if decision.result is not Result.APPROVED:
            continue
        if standing is None or standing.stage is not Stage.APPROVED:
            yield f"leg {number} is withdrawn"
        elif isinstance(why := may_leave(standing, desk.own.dispatching), str):
            yield f"leg {number} may not leave: {why}"


def _stop(desk: Desk, basket: _OpenBasket, why: str) -> None:
    """Record that no leg leaves, and end each, in one append."""
    now_us = desk.own.market.now_us()
    reason = stopped_by(basket.basket_id)
    begun = len(basket.decisions)
    ends: list[Draft] = []
    for number, case in enumerate(basket.cases):
        standing = desk.own.orders.get(case.decision_id)
        # the verdict of the one leg that failed may still be on its way to the ledger
        if standing is not None and (number != begun or standing.stage is not Stage.OPEN):
            ends += ended(standing, reason, now_us)
    _record(desk, basket, BasketOutcome.STOPPED, why, *ends)


def ended(standing: Standing, reason: str, market_time_us: int) -> Iterator[Draft]:
    """Yield the records that end a leg of a stopped basket; none if it ended by itself."""
    stream = f"decision/{standing.decision_id}"
    match standing.stage:
        case Stage.OPEN:
            yield decision_sealed(stream, _NOT_JUDGED, mode=standing.mode)
        case Stage.HELD:
            yield reservation_released(standing, reason, market_time_us=market_time_us)
            yield sealed(standing, "withdrawn")
        case Stage.APPROVED:
            yield order_withdrawn(standing, reason, market_time_us=market_time_us)
            yield sealed(standing, "withdrawn")
        case _:
            return


def _record(
    desk: Desk,
    basket: _OpenBasket,
    outcome: BasketOutcome,
    why: str,
    *ends: Draft,
    guard: Guard | None = None,
) -> None:
    given = {one.decision_id: one for one in basket.decisions}
    legs = [_named(one.decision_id, given.get(one.decision_id)) for one in basket.cases]
    decided = BasketDecided(
        account=basket.account,
        basket_id=basket.basket_id,
        received_seq=basket.record.seq,
        outcome=outcome,
        reason=why,
        legs=tuple(legs),
    )
    records = desk.own.tools.ledger.append(decided.draft(), *ends, lane=Lane.URGENT, guard=guard)
    desk.own.orders.catch_up(records)


def _named(decision_id: str, decision: Decision | None) -> dict[str, JSON]:
    if decision is None:
        return leg_of(decision_id, _NOT_JUDGED, None)
    seq = None if decision.judged is None else decision.judged.record.seq
    return leg_of(decision_id, decision.result.value, seq)
