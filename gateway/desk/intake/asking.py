"""What an agent asked for, as the first record of its decision.

Not here: whether the agent may ask it (`scope`), the decision.
"""

from collections.abc import Mapping
from dataclasses import replace

from audit.records.canonical import JSON
from audit.records.kinds import Kind
from audit.records.record import Draft
from audit.store.reader import LedgerReader
from gateway.desk.bodies.requests import IntentRequest
from gateway.desk.intake.intents import request_document
from gateway.errors import RequestError
from gateway.installation.keys.keyring import Caller
from gateway.walk.journal import decision as journal
from gateway.walk.journal.persons import Persons
from gateway.walk.ports import Case


def received(
    case: Case,
    caller: Caller,
    request: IntentRequest,
    persons: Persons,
    policy: Mapping[str, JSON],
) -> Draft:
    """Return the record of an agent's request; it names the basket of the case, if it has one.

    Raises:
        AuditError: a new pseudonym could not be stored.
    """
    asked, personal = request_document(request, persons)
    draft = journal.intent_received(
        case,
        caller.name,
        client_key=request.client_key,
        request=asked,
        policy=policy,
        scope_digest="" if caller.scope is None else caller.scope.digest,
    )
    return replace(draft, personal=personal)


def refuse_another(
    reader: LedgerReader, persons: Persons, decision_id: str, request: IntentRequest
) -> None:
    """Refuse a key that another request was recorded under.

    Raises:
        RequestError: it was.
    """
    stream = f"decision/{decision_id}"
    first, *_ = reader.records(stream=stream, kinds=(Kind.INTENT_RECEIVED,))
    asked, _ = request_document(request, persons)
    if journal.IntentReceived.of(first).request != asked:
        raise RequestError(
            problem=f"client_key {request.client_key!r} was used for another request"
        )
