"""Own publications: an operator puts on record that the firm spoke in public on an instrument.

Rule R49 then keeps the firm out of that instrument for the policy's window. An act can be recorded
ahead of its time, so that nothing is bought just before it.

Rules:
- An act has a name (`ref`) once: the same again changes nothing, other terms are refused.
- An act lies at most a week ahead: a typing error must not stop an instrument for years.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Final

from pydantic import Field

from audit.records.record import Record
from audit.store.reader import LedgerReader
from gateway.desk.desk import DeskParts
from gateway.desk.requests import RequestModel
from gateway.errors import RequestError
from gateway.walk.journal.control.oversight.publications import (
    PUBLICATION_KINDS,
    Medium,
    PublicationNoted,
    publication_key,
    publication_noted,
)

AHEAD_US: Final = 7 * 86_400_000_000
LISTED: Final = 200
_CODE: Final = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"


class PublicationBody(RequestModel):
    """An act of the firm's own: what it is about, when, who spoke, and where it stands."""

    ref: Annotated[str, Field(pattern=_CODE, description="your name of the act")]
    instrument: Annotated[
        str, Field(pattern=r"^$|^[A-Z0-9.]{1,12}$", description="symbol; empty: about each")
    ] = ""
    published_us: Annotated[
        int | None, Field(ge=0, le=2**53 - 1, description="market time; absent: now")
    ] = None
    author: Annotated[str, Field(pattern=_CODE, description="code of desk or person, not a name")]
    medium: Annotated[str, Field(pattern=f"^({'|'.join(Medium)})$")]
    reference: Annotated[
        str, Field(pattern=r"^[\x21-\x7e]{1,200}$", description="address or number, no spaces")
    ]


def note_publication(own: DeskParts, actor: str, body: PublicationBody) -> dict[str, Any]:
    """Put an act on record; every verdict after it reads it.

    Raises:
        RequestError: the instrument is not listed, the time is too far ahead, or the name is taken.
        AuditError: the ledger does not take it.
    """
    if body.instrument and body.instrument not in own.instruments:
        raise RequestError(
            problem=f"instrument {body.instrument} is not in this gateway's table; leave it out if"
            " the act is about each"
        )
    earlier = own.reader.by_key("control", publication_key(body.ref))
    if earlier is not None:
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
    (record,) = own.tools.ledger.append(publication_noted(noted))
    return {"seq": record.seq, "again": False, **noted.document()}


def publications(reader: LedgerReader) -> Sequence[dict[str, Any]]:
    """Return the newest acts on record, newest first, each with its record."""
    records = reader.records(
        stream="control", kinds=PUBLICATION_KINDS, newest_first=True, limit=LISTED
    )
    return [{"seq": one.seq, **PublicationNoted.of(one).document()} for one in records]


def _again(record: Record, body: PublicationBody) -> dict[str, Any]:
    said = PublicationNoted.of(record).document()
    wanted = {k: v for k, v in body.model_dump(mode="json").items() if v is not None}
    if any(said[name] != value for name, value in wanted.items()):
        raise RequestError(
            problem=f"{body.ref} is the name of record {record.seq}, with other terms: give"
            " another ref"
        )
    return {"seq": record.seq, "again": True, **said}
