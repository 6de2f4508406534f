"""An agent's request as a decision id, a record and a wish.

Pure: the desk uses it for a new request, replay for a recorded one.
"""

import hashlib
import re
from typing import Final

from audit.privacy.retention import Retention
from audit.records.canonical import JSON
from audit.records.personal import Personal
from gateway.desk.bodies.requests import IntentRequest
from gateway.desk.intake.strategies import Wish
from gateway.errors import RequestError
from gateway.feeds.live.items import ticks_of
from gateway.walk.journal.persons import Persons
from risk.forms.terms import masked
from risk.state.instrument import Instrument
from risk.windows.fairness.criteria import PRODUCT

_ASKED: Final = re.compile(r"(.+)-[0-9a-f]{32}")
"""The form of `decision_id_of`; no other decision's id has it."""


def decision_id_of(caller: str, client_key: str) -> str:
    """Return the id of the decision that a caller's client key names.

    It does not depend on the run: after a restart the same key must find the same decision and not
    make a second order.
    """
    digest = hashlib.sha256(f"{caller}\n{client_key}".encode()).hexdigest()[:32]
    return f"{caller}-{digest}"


def author_in(decision_id: str) -> str:
    """Return the key whose intent a decision is about; empty for the gateway's own decisions."""
    found = _ASKED.fullmatch(decision_id)
    return found[1] if found else ""


def without_listed_words(request: IntentRequest) -> IntentRequest:
    """Return a request whose reason has no word of a protected attribute or listed proxy.

    Each is replaced by `[masked]` before anything is recorded: the mark on record says that one
    was there, and nothing says which.
    """
    reason = masked(request.reason, PRODUCT.terms)
    return request if reason == request.reason else request.model_copy(update={"reason": reason})


def request_document(
    request: IntentRequest, persons: Persons
) -> tuple[dict[str, JSON], tuple[Personal, ...]]:
    """Return a request's record with pseudonyms, and the personal values that they replace.

    A reason that names a known person is replaced as a whole.

    Raises:
        AuditError: a new pseudonym could not be stored.
    """
    document: dict[str, JSON] = request.model_dump(mode="json")
    personal: list[Personal] = []
    if request.allocation is None:
        del document["allocation"]
    if request.person is None:
        del document["person"]  # as in records made before the fields existed
    else:
        who = persons.subject(request.person)
        document["person"] = who
        personal.append(_said("person", who, request.person, Retention.ORDER))
    named = persons.named_in(request.reason)
    if named is not None:
        document["reason"] = named
        personal.append(_said("reason", named, request.reason, Retention.COMMUNICATION))
    return document, tuple(one for one in personal if one.value != one.subject)


def wish_of(request: IntentRequest, instrument: Instrument) -> Wish:
    """Return an agent's request in ticks and lots.

    Raises:
        RequestError: the limit price is not a positive multiple of the tick.
    """
    return Wish(
        target_exposure_bp=request.target_exposure_bp,
        max_qty_lots=request.max_qty_lots,
        limit_ticks=_limit_ticks(request, instrument),
    )


def _limit_ticks(request: IntentRequest, instrument: Instrument) -> int | None:
    """Return an agent's limit in ticks; a price off the grid is refused, never rounded."""
    price = request.limit_minor()
    if price is None:
        return None
    ticks = ticks_of(price, instrument)
    if ticks is None or ticks <= 0:
        raise RequestError(
            problem=f"limit_price {request.limit_price} is not a positive multiple of the tick"
        )
    return ticks


def _said(name: str, subject: str, value: str, retention: Retention) -> Personal:
    return Personal(subject=subject, path=f"request.{name}", value=value, retention=retention.value)
