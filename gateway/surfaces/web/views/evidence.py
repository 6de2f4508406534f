"""The files from which a browser checks a record by itself.

The page's script `static/check.mjs` computes with `audit/verifier/verify.mjs`, the same file that
Node runs. A machine that serves both a forged record and a forged script proves nothing: the page
says so, and offers the same files for a verifier from elsewhere.

Not here: how a proof is made (`audit.evidence.receipt`).
"""

from pathlib import Path
from typing import Final

from fastapi.responses import Response

import audit.verifier
from audit.evidence.bundle import NotYetSignedError
from audit.evidence.receipt import prove_record
from audit.store.reader import LedgerReader
from audit.tlog.policy import QuorumPolicy

VERIFIER: Final = Path(audit.verifier.__file__).with_name("verify.mjs")
FORMS: Final = {
    "record.tlog-proof": "text/plain; charset=utf-8",
    "header.json": "application/json",
    "payload.json": "application/json",
}


def download(
    reader: LedgerReader, seq: int, form: str, policy: QuorumPolicy | None = None
) -> Response | None:
    """Return one file of a record's evidence, or None if there is no such record or file.

    A record that no checkpoint covers yet has no proof (a checkpoint follows within a second). The
    proof is that of `countersign prove`: under the first checkpoint that meets the policy, with the
    changes of the log's keys up to there.
    """
    record = reader.record(seq) if 0 <= seq < 1 << 62 and form in FORMS else None
    if record is None:
        return None
    data = record.header if form == "header.json" else record.payload
    if form == "record.tlog-proof":
        try:
            data = prove_record(reader, seq, policy)
        except NotYetSignedError:
            return None
    name = f"{seq:012d}-{form}"
    disposition = f'attachment; filename="{name}"'
    return Response(data, media_type=FORMS[form], headers={"Content-Disposition": disposition})
