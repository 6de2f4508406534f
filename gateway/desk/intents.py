"""An agent's intent before anything is made of it: which decision it is, and what it wants.

Pure. The desk reads an intent as it comes in and replay reads it from the record, both through
here.
"""

import hashlib
from typing import Final

from audit.privacy.retention import Retention
from audit.records.canonical import JSON
from audit.records.personal import Personal
from gateway.desk.requests import IntentRequest
from gateway.desk.strategies import Wish
from gateway.errors import RequestError
from gateway.walk.journal.persons import Persons
from risk.state.instrument import Instrument

MINOR_PER_UNIT: Final = 100


def decision_id_of(caller: str, client_key: str) -> str:
    """Return the one decision that a caller's client key names, in this run and in every other.

    A run id has no place in it: the same key after a restart must find the same decision, not make
    a second order.
    """
    digest = hashlib.sha256(f"{caller}\n{client_key}".encode()).hexdigest()[:32]
    return f"{caller}-{digest}"


def request_document(
    request: IntentRequest, persons: Persons
) -> tuple[dict[str, JSON], tuple[Personal, ...]]:
    """Return a request as it goes on record, without names, and the names.

    A reason that names the person, or one known already, goes as a whole.

    Raises:
        AuditError: a new pseudonym could not be kept.
    """
    document: dict[str, JSON] = request.model_dump(mode="json")
    personal: list[Personal] = []
    if request.person is None:
        del document["person"]  # as requests were recorded before there was the field
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
    """Return what an agent's request asks for, in ticks and lots.

    Raises:
        RequestError: the limit price is zero or no whole number of ticks.
    """
    return Wish(
        target_exposure_bp=request.target_exposure_bp,
        max_qty_lots=request.max_qty_lots,
        limit_ticks=_limit_ticks(request, instrument),
    )


def _limit_ticks(request: IntentRequest, instrument: Instrument) -> int | None:
    """Return an agent's limit in ticks; what is not on the grid is refused, never rounded."""
    price = request.limit_minor()
    if price is None:
        return None
    ticks, rest = divmod(price * MINOR_PER_UNIT, instrument.tick_minor)
    if rest or ticks <= 0:
        raise RequestError(
            problem=f"limit_price {request.limit_price} is no positive multiple of the tick"
        )
    return int(ticks)


def _said(name: str, subject: str, value: str, retention: Retention) -> Personal:
    return Personal(subject=subject, path=f"request.{name}", value=value, retention=retention.value)
