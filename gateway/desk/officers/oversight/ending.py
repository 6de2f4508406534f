"""The end of an act that was recorded by mistake: both officers sign its record and the reason."""

from collections.abc import Mapping
from typing import Any

from audit.records.kinds import Kind
from audit.records.record import Record
from audit.records.record_kind import kind_name
from audit.store.reader import LedgerReader
from gateway.desk.bodies.oversight import EndRequest
from gateway.desk.controls.statements import refuse_unsigned
from gateway.desk.parts import DeskParts
from gateway.errors import RequestError
from gateway.installation.keys.log_id import log_id
from gateway.walk.journal.control.oversight.ends import ActEnded


def end_act(
    own: DeskParts, actor: str, ref: str, act: Record | None, end: type[ActEnded], asked: EndRequest
) -> dict[str, Any]:
    """End an act by its name; verdicts after it do not count it. Again, it changes nothing.

    Raises:
        RequestError: no such act is on record, or a signature is missing.
        AuditError: the ledger does not take it.
    """
    if act is None:
        noun, _ = end.filing.signed[0].rsplit(" ", 1)
        raise RequestError(problem=f"no {noun} {ref} is on record")
    if (earlier := ends_of(own.reader, end).get(act.seq)) is not None:
        return {"ref": ref, "seq": earlier, "again": True}
    ended = end(
        ref=ref,
        of_seq=act.seq,
        of_leaf=act.leaf.hex(),
        reason=asked.reason,
        signatures={str(role): text for role, text in asked.signatures.items()},
        ended_by=actor,
    )
    refuse_unsigned(ended, log_id(own.reader, own.origin), own.keyring.public_keys())
    (record,) = own.tools.ledger.append(ended.draft())
    return {"ref": ref, "seq": record.seq, "again": False}


def refuse_ended(reader: LedgerReader, act: Record, end: type[ActEnded], ref: str) -> None:
    """Refuse an act that was ended and is asked for again.

    Raises:
        RequestError: it does not count any more.
    """
    if (seq := ends_of(reader, end).get(act.seq)) is not None:
        raise RequestError(
            problem=f"{ref} was ended by record {seq} and does not count: give another ref"
        )


def ends_of(reader: LedgerReader, end: type[ActEnded]) -> Mapping[int, int]:
    """Return the records that ended acts, by the acts' records."""
    records = reader.records(stream="control", kinds=(Kind(kind_name(end)),))
    return {end.of(one).of_seq: one.seq for one in records}
