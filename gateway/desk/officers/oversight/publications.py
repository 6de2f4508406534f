"""Own publications: an operator puts on record that the firm spoke in public on an instrument.

Rule R49 then keeps the firm out of that instrument for the policy's window. An act can be recorded
ahead of its time, so that nothing is bought just before it.

Rules:
- An act has a name (`ref`) once: the same again changes nothing, other terms are refused.
- It names its instrument. `*` keeps the firm out of every one, so it must be asked for.
- A mistaken act is ended by both officers, who sign its record and the reason.
- An act lies at most a week ahead: a typing error must not stop an instrument for years.
"""

from collections.abc import Sequence
from typing import Any, Final

from audit.records.kinds import Kind
from audit.records.record import Record
from audit.store.reader import LedgerReader
from gateway.desk.bodies.oversight import EndRequest, PublicationBody
from gateway.desk.officers.oversight.ending import end_act, ends_of, refuse_ended
from gateway.desk.parts import DeskParts
from gateway.errors import RequestError
from gateway.installation.keys.log_id import log_id
from gateway.walk.journal.control.oversight.publications import (
    PublicationEnded,
    PublicationNoted,
    publication_key,
)
from gateway.walk.journal.words import EVERY, Medium

AHEAD_US: Final = 7 * 86_400_000_000
LISTED: Final = 200


def note_publication(own: DeskParts, actor: str, body: PublicationBody) -> dict[str, Any]:
    """Put an act on record; every verdict after it reads it.

    Raises:
        RequestError: the instrument is not listed, the time is too far ahead, or the name is taken.
        AuditError: the ledger does not take it.
    """
    if body.instrument not in {EVERY, *own.instruments}:
        raise RequestError(
            problem=f"instrument {body.instrument} is not in this gateway's table; name one of it,"
            f" or {EVERY} if the act is about every one"
        )
    earlier = own.reader.by_key("control", publication_key(body.ref))
    if earlier is not None:
        refuse_ended(own.reader, earlier, PublicationEnded, body.ref)
        return _again(earlier, body)
    now_us = own.market.now_us()
    published_us = now_us if body.published_us is None else body.published_us
    if published_us > now_us + AHEAD_US:
        raise RequestError(problem="published_us lies more than a week ahead: record it later")
    noted = PublicationNoted(
        ref=body.ref,
        instrument=body.instrument,
        published_us=published_us,
        author=body.author,
        medium=Medium(body.medium),
        reference=body.reference,
        actor_name=actor,
    )
    (record,) = own.tools.ledger.append(noted.draft())
    return {"seq": record.seq, "again": False, **noted.document()}


def end_publication(own: DeskParts, actor: str, ref: str, request: EndRequest) -> dict[str, Any]:
    """End an act that was recorded by mistake; verdicts after it do not count it.

    Raises:
        RequestError: no act of this name counts, or a signature is missing.
        AuditError: the ledger does not take it.
    """
    act = own.reader.by_key("control", publication_key(ref))
    return end_act(own, actor, ref, act, PublicationEnded, request)


def publications(reader: LedgerReader) -> Sequence[dict[str, Any]]:
    """Return the newest acts on record, newest first, each with its record and what ended it."""
    records = reader.records(
        stream="control", kinds=(Kind.PUBLICATION_NOTED,), newest_first=True, limit=LISTED
    )
    ends = ends_of(reader, PublicationEnded)
    return [
        {
            "seq": one.seq,
            "leaf": one.leaf.hex(),
            "ended_seq": ends.get(one.seq),
            **PublicationNoted.of(one).document(),
        }
        for one in records
    ]


def publications_state(own: DeskParts) -> dict[str, Any]:
    """Return the acts on record, and the log id for a statement."""
    listed = publications(own.reader)
    return {"log_id": log_id(own.reader, own.origin), "publications": listed}


def _again(record: Record, body: PublicationBody) -> dict[str, Any]:
    said = PublicationNoted.of(record).document()
    wanted = {k: v for k, v in body.model_dump(mode="json").items() if v is not None}
    if any(said[name] != value for name, value in wanted.items()):
        raise RequestError(
            problem=f"{body.ref} is the name of record {record.seq}, with other terms: give"
            " another ref"
        )
    return {"seq": record.seq, "again": True, **said}
