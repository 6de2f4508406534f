"""show: everything that a decision was made of, as one JSON document, decoded.

All inputs (bars, news, prompt, seeds), the text that a model or an agent gave, the internals of the
sampling (each draft with p, q and its fate), the forecasts, the verdict with every margin, and the
FIX messages both ways. Nothing is recomputed here: `replay` does that, `verify` proves the bytes.
"""

import base64
import json
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from audit.kinds import Kind
from audit.queries import LedgerReader
from audit.record import Record, blob_digests
from gateway.attach import Place
from gateway.errors import UnknownDecisionError
from inference.errors import InferenceError
from inference.evidence import ENTROPY_SCALE, Evidence, Judge, RoundEvidence
from inference.evidence_bytes import MAGIC, read_evidence
from inference.rounds import QTable, paths, totals
from inference.seeds import accept_draw
from inference.vocabulary import BIN_START

Fields = dict[str, Any]


def show_decision(place: Place, decision_id: str) -> int:
    """Print the document."""
    document = decision_document(place.reader, place.table, decision_id)
    json.dump(document, sys.stdout, indent=1, ensure_ascii=False)
    sys.stdout.write("\n")
    return 0


def decision_document(reader: LedgerReader, table: QTable, decision_id: str) -> Fields:
    """Return every record of a decision with what it refers to.

    Args:
        reader: The ledger.
        table: The drafter's table; only an old capture (version 1) needs it.
        decision_id: The decision.

    Raises:
        UnknownDecisionError: there is none of that id.
    """
    records = list(reader.records(stream=f"decision/{decision_id}"))
    if not records:
        raise UnknownDecisionError(problem=f"no decision {decision_id}")
    blobs = {digest: reader.blob(digest) for r in records for digest in blob_digests(r.body)}
    return {
        "decision_id": decision_id,
        "records": [_record(r) for r in records],
        "inbound_fix": [_record(r) for r in _inbound(reader, records)],
        "blobs": {
            digest: "missing" if data is None else _blob(data, table)
            for digest, data in blobs.items()
        },
    }


def _record(record: Record) -> Fields:
    return {
        "seq": record.seq,
        "stream": record.stream,
        "stream_seq": record.stream_seq,
        "kind": record.kind.value,
        "recorded_at_us": record.recorded_at_us,
        "actor": record.actor,
        "leaf": record.leaf.hex(),
        "payload": record.body,
    }


def _inbound(reader: LedgerReader, records: Sequence[Record]) -> Iterator[Record]:
    """Yield the broker's messages that the decision's reports were read from."""
    for record in records:
        if record.kind is Kind.ORDER_REPORTED:
            body: Fields = record.body
            key = f"inbound:{body.get('inbox_offset')}"
            found = reader.by_key(f"session/{body.get('session')}", key)
            if found is not None:
                yield found


def _blob(data: bytes, table: QTable) -> object:
    """Return a blob as what it is: a capture, a document, or else its bytes."""
    if data.startswith(MAGIC[: MAGIC.index(b"/") + 1]):
        try:
            return capture_document(read_evidence(data, table), table)
        except InferenceError as error:
            return {"unreadable_capture": str(error), "bytes": len(data)}
    try:
        return json.loads(data)
    except ValueError:
        return {"base64": base64.b64encode(data).decode()}


def capture_document(evidence: Evidence, table: QTable) -> Fields:
    """Return the sampling's internals: of each trajectory its tokens and rounds.

    Raises:
        CaptureError: the drafter's table is another one.
    """
    judge, counted = Judge(evidence, table), totals(evidence)
    rounds = {
        index: list(own) for index, own in groupby(evidence.rounds, key=lambda r: r.trajectory)
    }
    return {
        "drafter": evidence.drafter.value,
        "spec_k": evidence.spec_k,
        "table_digest": evidence.table_digest,
        "positions": counted.positions,
        "drafted": counted.drafted,
        "accepted": counted.accepted,
        "mean_accepted": counted.mean_accepted,
        "first_row": list(evidence.first_row),
        "trajectories": [
            {
                "seed": str(seed),
                "row_digest": evidence.row_digests[index].hex(),
                "bins": [token - BIN_START for token in path],
                "rounds": [_round(r, seed, judge) for r in rounds.get(index, ())],
            }
            for index, (seed, path) in enumerate(zip(evidence.seeds, paths(evidence), strict=True))
        ],
    }


def _round(r: RoundEvidence, seed: int, judge: Judge) -> Fields:
    """Return a round; a draft stands when u <= p / q, and none behind the first that does not."""
    return {
        "step": r.step,
        "outcome": r.outcome.value,
        **({"why_plain": r.plain_reason.value} if r.plain_reason else {}),
        "drafts": [
            {
                "bin": token - BIN_START,
                **({"table_state": r.states[j]} if r.states else {}),
                **(_test(r, j, seed, judge) if j < r.verified else {}),
                "fate": "accepted"
                if j < r.accepted
                else "rejected"
                if j < r.verified
                else "discarded",
            }
            for j, token in enumerate(r.drafts)
        ],
        "token": {"bin": r.token - BIN_START, "p": r.token_p},
        "entropies_nats": [value / ENTROPY_SCALE for value in r.entropies],
    }


def _test(r: RoundEvidence, j: int, seed: int, judge: Judge) -> Fields:
    """Return the three numbers that decided a draft."""
    q = judge.q_of(r, j, r.drafts[j])
    return {"p": r.p[j], "q": q, "u": accept_draw(seed, r.step, j)}
