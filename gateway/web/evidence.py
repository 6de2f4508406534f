"""The page on which a browser checks a record by itself, and the bytes that it downloads for it.

The page's script is `static/check.mjs`; what it computes with is `audit/verify.mjs`, the same file
that Node runs. Only this page may run scripts, its own, and fetch from this host. A machine that
serves both a forged record and a forged script proves nothing: the page says so, and offers the
same bytes for a verifier from elsewhere.

Not here: single proofs for the command line (`countersign prove`).
"""

from pathlib import Path
from typing import Final

from fastapi.responses import Response

import audit
from audit.checkpoint import Checkpoint
from audit.export import cosigned_covering
from audit.proof import TlogProof
from audit.queries import LedgerReader
from audit.record import Record

VERIFIER: Final = Path(audit.__file__).with_name("verify.mjs")
FORMS: Final = {
    "record.tlog-proof": "text/plain; charset=utf-8",
    "header.json": "application/json",
    "payload.json": "application/json",
}


def proof_of(reader: LedgerReader, record: Record, checkpoint: Checkpoint) -> bytes:
    """Return a record's tlog-proof; the header, which is the entry, is its extra data."""
    path = reader.inclusion_proof(record.seq, checkpoint.size)
    return TlogProof(
        index=record.seq,
        path=path,
        checkpoint_note=reader.cosigned_note(checkpoint),
        extra=record.header,
    ).to_bytes()


def download(reader: LedgerReader, seq: int, form: str) -> Response | None:
    """Return one file of a record's evidence, None when there is no such record or file.

    A record that no checkpoint covers yet has no proof: 404 until the next one, in a second. Of
    those that cover it the first one that a witness cosigned is taken, as `countersign prove` does.
    """
    record = reader.record(seq) if 0 <= seq < 1 << 62 and form in FORMS else None
    if record is None:
        return None
    data = record.header if form == "header.json" else record.payload
    if form == "record.tlog-proof":
        checkpoint = cosigned_covering(reader, seq, None) or reader.checkpoint_after(seq)
        if checkpoint is None:
            return None
        data = proof_of(reader, record, checkpoint)
    name = f"{seq:012d}-{form}"
    disposition = f'attachment; filename="{name}"'
    return Response(data, media_type=FORMS[form], headers={"Content-Disposition": disposition})
