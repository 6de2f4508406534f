"""What a form makes the desk do, and what it tells the person afterwards.

Not here: who may press (`doors`), and the forms themselves (`templates/`).
"""

import secrets
from collections.abc import Callable
from typing import Annotated, Final, TypeVar

from fastapi import Form
from pydantic import ValidationError

from gateway.desk.bodies.order_requests import (
    CancelRequest,
    CancelResponse,
    ReplaceRequest,
    ReplaceResponse,
)
from gateway.desk.bodies.oversight import ReviewAnswerBody
from gateway.desk.bodies.requests import ApprovalRequest
from gateway.desk.bodies.stopping import FlattenRequest
from gateway.desk.officers import stops
from gateway.desk.officers.flatten import flatten, flattened_text
from gateway.desk.officers.oversight.reviews import answer_review
from gateway.errors import ApprovalRefusedError, RequestError
from gateway.surfaces.web.doors import KILL, WATCH, PageRefusedError
from gateway.surfaces.web.pages.page import AskedPage, Button
from risk.state.state import Stop

PRESSED: Final = "pressed on the page"
Words = Annotated[str, Form(max_length=500)]
_Change = TypeVar("_Change", CancelRequest, ReplaceRequest)
Key = Annotated[str, Form(max_length=64, pattern=r"^[A-Za-z0-9._-]{1,64}$")]


class NeitherError(PageRefusedError):
    """The form says neither of the words that it asks for."""

    status = 400


def _kill(asked: AskedPage, reason: Words = "") -> str:
    """Press the kill; return what is in force and what is on record."""
    switch = asked.desk.kill_switch
    receipt = switch.press(actor=asked.caller.name, reason=reason or PRESSED)
    child = "confirmed" if receipt.child_confirmed else "did not confirm and was killed"
    record = "is on record" if receipt.recorded else "will be recorded when the ledger answers"
    return (
        f"Kill {receipt.kill_epoch} is in force: no new order leaves. The FIX process {child}."
        f" The press {record}."
    )


def _stop(stop: Stop) -> Callable[..., str]:
    def press(asked: AskedPage, reason: Words = "") -> str:
        done = stops.begin_stop(asked.desk.own, asked.caller.name, stop, reason or PRESSED)
        return f"{done['stop']} is in force and on record as {done['seq']}."

    return press


def _cancel_all(asked: AskedPage, reason: Words = "") -> str:
    live = stops.cancel_all(asked.desk.own, asked.caller.name, reason or PRESSED)["live"]
    return f"{len(live)} orders are being cancelled. The request is on record."


def _flatten(
    asked: AskedPage, reason: Words = "", sure: Annotated[str, Form(max_length=3)] = ""
) -> str:
    """Close every position if the box is ticked, else say what would be asked for."""
    request = FlattenRequest(reason=reason or PRESSED, dry_run=sure != "yes")
    return flattened_text(flatten(asked.desk, asked.caller, request))


def _resume(asked: AskedPage, reason: Words = "") -> str:
    ended = stops.resume(asked.desk.own, asked.caller.name, None, reason or PRESSED, {})["ended"]
    return f"Ended: {', '.join(one['stop'] for one in ended)}. It is on record."


def _cancel(asked: AskedPage, name: str, client_key: Key = "", reason: Words = "") -> str:
    """Cancel an order; the same form sent twice asks once."""
    request = _body(CancelRequest, client_key=client_key, reason=reason)
    return _changed("Cancel", asked, asked.desk.order_desk.cancel(asked.caller, name, request))


def _replace(
    asked: AskedPage,
    name: str,
    client_key: Key = "",
    qty_lots: Annotated[str, Form(max_length=12, pattern=r"^[0-9]*$")] = "",
    limit_price: Annotated[str, Form(max_length=24)] = "",
    reason: Words = "",
) -> str:
    """Replace an order's quantity or limit; the same form sent twice asks once."""
    lots, price = int(qty_lots) if qty_lots else None, limit_price or None
    changes = {"qty_lots": lots, "limit_price": price}
    request = _body(ReplaceRequest, client_key=client_key, reason=reason, **changes)
    return _changed("Replace", asked, asked.desk.order_desk.replace(asked.caller, name, request))


def _body(kind: type[_Change], *, client_key: str, reason: str, **changes: object) -> _Change:
    said = {
        "client_key": client_key or secrets.token_hex(8),
        "reason": reason or "asked for on the page",
    }
    try:
        return kind.model_validate(said | changes)
    except ValidationError as error:
        raise RequestError(problem=error.errors()[0]["msg"]) from None


def _changed(what: str, asked: AskedPage, done: CancelResponse | ReplaceResponse) -> str:
    why = f" ({done.reason})" if done.reason else ""
    return (
        f"{what} of order {done.order.cl_ord_id}, recorded for {asked.caller.name}:"
        f" {done.result.replace('_', ' ')}{why}. The list of orders shows what the broker makes"
        " of it."
    )


def _answer_hold(
    asked: AskedPage,
    decision_id: str,
    answer: Annotated[str, Form(max_length=10)] = "",
    intent_digest: Annotated[str, Form(max_length=64)] = "",
    sheet_digest: Annotated[str, Form(max_length=64)] = "",
    note: Words = "",
) -> str:
    """Approve or refuse a held decision.

    Both digests are those that the person's page showed, of the intent and of the sheet.
    """
    if answer not in {"approve", "refuse"}:
        raise NeitherError("Not recorded", "Answer with approve or refuse.", back="/approvals")
    try:
        said = ApprovalRequest(
            approve=answer == "approve",
            intent_digest=intent_digest,
            sheet_digest=sheet_digest,
            note=note,
        )
    except ValidationError as error:
        field, text = error.errors()[0]["loc"][0], error.errors()[0]["msg"]
        why = "a note is needed: say why" if field == "note" and not note else text
        problem = "the form does not name what was shown; reload the page"
        raise ApprovalRefusedError(problem=why if field == "note" else problem) from None
    done = asked.desk.holds.answer(asked.caller, decision_id, said)
    why = f" ({done['reason']})" if "reason" in done else ""
    return f"Recorded for {asked.caller.name}: {str(done['result']).replace('_', ' ')}{why}."


def _answer_review(
    asked: AskedPage,
    seq: int,
    decision_id: str,
    answer: Annotated[str, Form(max_length=10)] = "",
    note: Words = "",
) -> str:
    """Record an answer; return it beside the model's."""
    try:
        body = ReviewAnswerBody.model_validate({"answer": answer, "note": note})
    except ValidationError:
        raise RequestError(problem="choose buy, sell or no order, and say why") from None
    done = answer_review(asked.desk.own, asked.caller.name, seq, decision_id, body)
    return f"On record as {done['seq']}: you said {done['answer']}, the model {done['model']}."


def _stopping(verb: str, title: str, does: Callable[..., str], says: str, tick: str = "") -> Button:
    return Button(
        path=f"/stops/{verb}",
        action="stop",
        title=title,
        does=does,
        back=KILL,
        says=says,
        tick=tick,
    )


STOPPING: Final = (
    _stopping(
        "pause",
        "Pause",
        _stop(Stop.PAUSE),
        "Refuse every new order. Live orders stay, and decisions go on record as refused.",
    ),
    _stopping(
        "reduce-only",
        "Reduce-only",
        _stop(Stop.REDUCE_ONLY),
        "Refuse every order that does not reduce a position. Live orders stay.",
    ),
    _stopping(
        "secure",
        "Secure reasoning",
        _stop(Stop.SECURE),
        "Sample every forecast from the target alone: nothing is drafted until both officers sign"
        " its end. Orders go on.",
    ),
    _stopping(
        "cancel-all",
        "Cancel all",
        _cancel_all,
        "Cancel every live order. New orders may follow unless a stop is in force.",
    ),
    _stopping(
        "flatten",
        "Flatten",
        _flatten,
        "Close every position: reduce-only comes into force, then one order for each position is"
        " judged by the rules. Without the tick this only says what would be asked for.",
        tick="Ask for these orders now",
    ),
    _stopping(
        "resume",
        "Resume",
        _resume,
        "End your own stops. Another person's stop needs an officer's signature: countersign"
        " resume.",
    ),
)
"""The stops apart from the kill, in the order of their page; the last ends them."""

BUTTONS: Final = (
    Button(path=KILL, action="kill", title="Kill", does=_kill, hurried=True),
    *STOPPING,
    Button(
        path="/decisions/{decision_id}/approval",
        action="approve",
        title="Approval",
        does=_answer_hold,
        back="/approvals",
    ),
    Button(
        path="/orders/{name}/cancel",
        action="cancel",
        title="Cancel",
        does=_cancel,
        back="/orders",
    ),
    Button(
        path="/orders/{name}/replace",
        action="cancel",
        title="Replace",
        does=_replace,
        back="/orders",
    ),
    Button(
        path="/reviews/{seq}/{decision_id}",
        action=WATCH,
        title="Your answer",
        does=_answer_review,
        back="/reviews/{seq}",
        refused="Not recorded",
    ),
)
