"""Flatten: orders that bring positions to zero, judged by the same rules as every other order.

Rules:

- First reduce-only is put in force and on record, so that nothing opens while positions close. It
  stays until somebody resumes.
- Each order is a decision of its own: recorded, forecast, judged, sent like an agent's wish for
  exposure 0. The rules may refuse or hold it.
- What cannot be judged is named and left alone: an instrument with an order that works or whose
  fate is unknown, or without a market.

Not here: the kill, which cancels and sends nothing; cancelling (`cancel_all`).
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from audit.records.canonical import JSON
from audit.sequencer.ledger import Lane
from gateway.desk.bodies.requests import IntentRequest
from gateway.desk.bodies.stopping import FlattenRequest
from gateway.desk.desk import Desk
from gateway.desk.intake.answers import intent_response
from gateway.desk.intake.intents import decision_id_of, request_document, wish_of
from gateway.desk.intake.strategies import AGENT_WISH, wish
from gateway.desk.officers.stops import begin_stop
from gateway.desk.parts import DeskParts
from gateway.errors import GatewayError, RequestError, StopRefusedError
from gateway.installation.keys.keyring import Caller
from gateway.walk.journal import decision as journal
from gateway.walk.journal.control.stops import FlattenAsked
from gateway.walk.ports import Case
from risk.state.state import Stop

_ID_BYTES: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A position, signed in lots; `why` says why no order can be judged for it now."""

    account: str
    instrument: str
    lots: int
    why: str = ""

    def document(self) -> dict[str, JSON]:
        """Return it for a record or an answer."""
        said: dict[str, JSON] = {
            "account": self.account,
            "instrument": self.instrument,
            "lots": self.lots,
        }
        return said | ({"why": self.why} if self.why else {})

    @property
    def order(self) -> str:
        """The order that would close it, in words."""
        side = "sell" if self.lots > 0 else "buy"
        return f"{side} {abs(self.lots)} {self.instrument} in {self.account}"


def positions_held(own: DeskParts, instrument: str) -> tuple[Held, ...]:
    """Return every position, or those in one instrument; reads and records nothing.

    Raises:
        RequestError: no such instrument is listed here.
    """
    if instrument and instrument not in own.instruments:
        raise RequestError(
            problem=f"no instrument {instrument}: {', '.join(sorted(own.instruments))}"
        )
    found = []
    for account in sorted(own.section.accounts):
        book = own.section.book(account)
        at_work = {one.instrument for one in book.reservations}
        for one in book.positions:
            if one.lots and instrument in {"", one.instrument}:
                why = _why_not(own, one.instrument, works=one.instrument in at_work)
                found.append(
                    Held(account=account, instrument=one.instrument, lots=one.lots, why=why)
                )
    return tuple(found)


def flatten(desk: Desk, caller: Caller, request: FlattenRequest) -> dict[str, Any]:
    """Ask for the orders that close the positions; with `dry_run` only say which.

    Raises:
        StopRefusedError: a kill or a pause is in force, or nothing is held.
        RequestError: no such instrument is listed here.
        AuditError: the ledger does not take a record; no further order is asked for.
    """
    own, instrument = desk.own, request.instrument or ""
    _refuse_stopped(desk)
    held = positions_held(own, instrument)
    if not held:
        raise StopRefusedError(
            problem=f"nothing is held{f' in {instrument}' if instrument else ''}: live orders, if"
            " any, are cancelled by countersign cancel-all"
        )
    told: dict[str, Any] = {"dry_run": request.dry_run}
    told["orders"] = [one.document() | {"order": one.order} for one in held if not one.why]
    told["left"] = [one.document() for one in held if one.why]
    if request.dry_run:
        desk.reads.note(caller, "flatten")
        return told
    if Stop.REDUCE_ONLY not in own.section.stops.in_force():
        begin_stop(own, caller.name, Stop.REDUCE_ONLY, f"flatten: {request.reason}"[:500])
    # a crash here leaves reduce-only in force and no order
    flatten_id = secrets.token_hex(_ID_BYTES)
    closing = FlattenAsked(
        flatten_id=flatten_id,
        actor_name=caller.name,
        reason=request.reason,
        orders=tuple(one.document() for one in held if not one.why),
        left=tuple(one.document() for one in held if one.why),
    )
    own.tools.ledger.append(closing.draft(), lane=Lane.URGENT)
    # a crash here leaves a request on record: positions without a decision stay open, ask again
    told["flatten_id"] = flatten_id
    for number, one in enumerate(h for h in held if not h.why):
        name = (flatten_id, number)
        with desk.turns.one():
            told["orders"][number] |= _closed(desk, caller, one, name, request.reason)
    return told


def flattened_text(told: Mapping[str, Any]) -> str:
    """Return what a flatten did, or would do, as lines for a person."""
    verb = "would ask for" if told["dry_run"] else "asked for"
    lines = [] if told["dry_run"] else ["reduce-only is in force until countersign resume"]
    for one in told["orders"]:
        became = one.get("result", "")
        why = one.get("why") or one.get("reason") or ""
        ends = f": {became}{f' ({why})' if why else ''}" if became else ""
        lines.append(f"{verb}: {one['order']}{ends}")
    lines += [
        f"left: {one['lots']} {one['instrument']} in {one['account']}: {one['why']}"
        for one in told["left"]
    ]
    return "\n".join(lines)


def _refuse_stopped(desk: Desk) -> None:
    if desk.own.word.read().killed:
        raise StopRefusedError(
            problem="a kill is in force: no order leaves. Both officers release it first"
        )
    if Stop.PAUSE in desk.own.section.stops.in_force():
        raise StopRefusedError(
            problem="pause is in force and refuses every order, also these: resume it first"
            " (countersign resume --stop pause)"
        )


def _why_not(own: DeskParts, instrument: str, *, works: bool) -> str:
    if works:
        return (
            "an order in it works, is held or has an unknown fate, so what is left to close is not"
            " known: countersign cancel-all, then again"
        )
    if instrument not in own.instruments:
        return "it is not listed here"
    try:
        own.market.snapshot(instrument)
        own.market.tick(instrument)
    except GatewayError as error:
        return f"no market: {error}"
    return ""


def _closed(
    desk: Desk, caller: Caller, one: Held, name: tuple[str, int], reason: str
) -> dict[str, Any]:
    """Decide one order, by its flatten's id and its number in it; return what became of it."""
    own, (flatten_id, number) = desk.own, name
    request = IntentRequest(
        client_key=f"flatten-{flatten_id}-{number}",
        instrument=one.instrument,
        target_exposure_bp=0,
        max_qty_lots=abs(one.lots),
        reason=reason,
    )
    decision_id = decision_id_of(caller.name, request.client_key)
    instrument = own.instruments[one.instrument]
    try:
        look = own.look(one.instrument)
        case = Case(
            decision_id=decision_id,
            tags=replace(own.tags, account=one.account),
            instrument=instrument,
            snapshot=look.snapshot,
            narrative=look.reach,
            stood=look.stood,
            strategy=AGENT_WISH,
            author=caller.name,
            tick=lambda: own.market.tick(one.instrument),
            propose=wish(own.section.policy.sizing, instrument, wish_of(request, instrument)),
        )
        asked, personal = request_document(request, own.dispatching.persons)
        draft = journal.intent_received(
            case,
            caller.name,
            client_key=request.client_key,
            request=asked,
            policy=own.section.policy_named,
        )
        payload = {**draft.payload, "flattens": flatten_id}
        (opened,) = own.tools.ledger.append(replace(draft, payload=payload, personal=personal))
        own.orders.catch_up((opened,))
        desk.make(case)
    except GatewayError as error:
        return {"decision_id": decision_id, "result": "not_judged", "why": str(error)}
    answer = intent_response(own.reader, decision_id).model_dump(mode="json", exclude_none=True)
    return {name: value for name, value in answer.items() if name not in {"instrument", "side"}}
