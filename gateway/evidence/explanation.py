"""`show`: everything about a decision, decoded, as one JSON document.

It has all inputs, the text of a model or an agent, each draft of the sampling with p, q and its
fate, forecasts, the verdict with every margin, FIX messages both ways, the clock's quality, and who
answers for the decision. Nothing is recomputed: `replay` does that, `verify` proves the bytes.
"""

import base64
import json
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from audit.evidence.bundle import annotations_of, clocks_of, context_of
from audit.records.kinds import Kind
from audit.records.record import Record, blob_digests
from audit.store.reader import LedgerReader
from gateway.errors import UnknownDecisionError
from gateway.evidence.replay.pairs import Pairs
from gateway.installation.place import Place
from gateway.walk.projections.forecasts import decision_records
from inference.codec.text.answer import Grammar
from inference.errors import InferenceError
from inference.speculation.evidence import ENTROPY_SCALE, Evidence, Judge, RoundEvidence
from inference.speculation.evidence_bytes import MAGIC, decode_evidence
from inference.speculation.fields import DIRECT_MAGIC
from inference.speculation.overruled import overruled
from inference.speculation.rounds import QTable
from inference.speculation.seeds import accept_draw
from inference.speculation.top_rows import read_top
from inference.speculation.totals import paths, totals
from inference.weights.registry import load_table

Fields = dict[str, Any]


def show_decision(place: Place, decision_id: str) -> int:
    """Print the document."""
    pair = Pairs(place.settings.engine.model).of(decision_records(place.reader, decision_id))
    document = decision_document(place.reader, load_table(pair), decision_id)
    json.dump(document, sys.stdout, indent=1, ensure_ascii=False)
    sys.stdout.write("\n")
    return 0


def decision_document(reader: LedgerReader, table: QTable, decision_id: str) -> Fields:
    """Return every record of a decision and of its forecasts, with what they refer to.

    Only a capture of version 1 needs the drafter's table.

    Raises:
        UnknownDecisionError: when there is none with that id.
    """
    records = decision_records(reader, decision_id)
    if not records:
        raise UnknownDecisionError(problem=f"no decision {decision_id}")
    blobs = {digest: reader.blob(digest) for r in records for digest in blob_digests(r.body)}
    context = sorted(context_of(reader, records), key=lambda r: r.seq)
    clocks, by = clocks_of(reader, records), reader.disavowals()
    said = [_record(r) for r in annotations_of(reader, decision_id)]
    return {
        "decision_id": decision_id,
        "liability": _liability(records, context),
        "approval": _approval(records),
        "disavowed": {str(r.seq): by[r.seq] for r in records if r.seq in by},
        **({"annotations": said} if said else {}),
        "context": [_record(r) for r in context],
        "records": [
            {**_record(r), "clock": _clock(r, clock)}
            for r, clock in zip(records, clocks, strict=True)
        ],
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


def _clock(record: Record, clock: Record | None) -> Fields | None:
    """Return the last evidence of the clock before a record, or None.

    The bound holds at the time of that evidence, `age_us` before the record.
    """
    if clock is None:
        return None
    said: Fields = clock.body
    return {
        "seq": clock.seq,
        "age_us": record.recorded_at_us - clock.recorded_at_us,
        **{name: said.get(name) for name in ("source", "status", "offset_us", "error_us", "host")},
    }


def _liability(records: Sequence[Record], context: Sequence[Record]) -> Fields:
    """Return who answers for a decision, with the records that say so."""
    runs = [r for r in context if r.kind is Kind.RUN_STARTED]
    policies = [r for r in context if r.kind is Kind.POLICY_ACTIVATED]
    answers = [r for r in records if r.kind in {Kind.APPROVAL_GIVEN, Kind.APPROVAL_REFUSED}]
    return {
        "runs": [_run(r.seq, r.body) for r in runs],
        "approvers": [
            {"seq": r.seq, "kind": r.kind.value, "approver": r.body.get("approver")}
            for r in answers
        ],
        "policies": [
            {
                "seq": r.seq,
                "policy_digest": r.body.get("policy_digest"),
                "version": (r.body.get("policy") or {}).get("version"),
                "signed_by": r.body.get("signed_by"),
            }
            for r in policies
        ],
    }


def _approval(records: Sequence[Record]) -> Fields | None:
    """Return what a person was asked, the answer, and the renewal; None if nobody was asked."""
    asked = next((r for r in records if r.kind is Kind.APPROVAL_REQUESTED), None)
    if asked is None:
        return None
    body: Fields = asked.body
    answers = [r for r in records if r.kind in {Kind.APPROVAL_GIVEN, Kind.APPROVAL_REFUSED}]
    verdicts = [r for r in records if r.kind is Kind.VERDICT_GIVEN]
    return {
        "asked_seq": asked.seq,
        "shown_verdict_seq": body.get("verdict_seq"),
        "intent_digest": body.get("intent_digest"),
        "expires_us": body.get("expires_us"),
        "band": body.get("band"),
        "answers": [
            {
                "seq": r.seq,
                "kind": r.kind.value,
                "approver": r.body.get("approver"),
                "note": r.body.get("reason"),
            }
            for r in answers
        ],
        "renewed_verdict_seq": verdicts[-1].seq if len(verdicts) > 1 else None,
    }


def _run(seq: int, started: Fields) -> Fields:
    said = started.get("liability") or {}
    return {
        "seq": seq,
        "run_id": started.get("run_id"),
        **{role: said.get(role) for role in ("model_provider", "compute_operator", "deployer")},
        "code_commit": started.get("git"),
    }


def _inbound(reader: LedgerReader, records: Sequence[Record]) -> Iterator[Record]:
    """Yield the broker messages behind the decision's reports."""
    for record in records:
        if record.kind is Kind.ORDER_REPORTED:
            body: Fields = record.body
            key = f"inbound:{body.get('inbox_offset')}"
            found = reader.by_key(f"session/{body.get('session')}", key)
            if found is not None:
                yield found


def _blob(data: bytes, table: QTable) -> object:
    """Return a blob decoded: a capture, a document, or its bytes."""
    if data.startswith(MAGIC[: MAGIC.index(b"/") + 1]):
        try:
            return capture_document(decode_evidence(data), table)
        except InferenceError as error:
            return {"unreadable_capture": str(error), "bytes": len(data)}
    if data.startswith(DIRECT_MAGIC):
        return direct_document(data)
    try:
        return json.loads(data)
    except ValueError:
        return {"base64": base64.b64encode(data).decode()}


def capture_document(evidence: Evidence, table: QTable) -> Fields:
    """Return the sampling's tokens and rounds by trajectory.

    Raises:
        CaptureError: when the drafter's table is another one.
    """
    judge, counted = Judge(evidence, table), totals(evidence)
    start, grammar = evidence.bin_start, Grammar.of_capture(evidence.bin_start, evidence.n_bins)
    width = 1 if grammar is None else grammar.width
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
        "overruled": [
            {"bar": one.bar, "decided": one.decided, "rejected": one.rejected, "excess": one.excess}
            for one in overruled(evidence, table, width=width)
        ],
        "first_row": list(evidence.first_row),
        "first_rows": 1 + len(evidence.other_firsts),
        "trajectories": [
            {
                "seed": str(seed),
                "row_digest": evidence.row_digests[index].hex(),
                "bins": [token - evidence.bin_start for token in path],
                **({} if grammar is None else {"answer": grammar.text_of(path)}),
                "rounds": [_round(r, seed, judge, start) for r in rounds.get(index, ())],
            }
            for index, (seed, path) in enumerate(zip(evidence.seeds, paths(evidence), strict=True))
        ],
    }


def direct_document(data: bytes) -> Fields:
    """Return what determines the tokens of a direct forecast."""
    from inference.speculation.direct_bytes import decode_direct  # noqa: PLC0415 - numpy

    try:
        capture = decode_direct(data)
    except InferenceError as error:
        return {"unreadable_capture": str(error), "bytes": len(data)}
    return {
        "rule": capture.rule,
        "seed": capture.seed.hex(),
        "table_digest": capture.table_digest,
        "paths": capture.paths,
        "steps": capture.steps,
        "first_state": capture.first_state,
        "first_row": list(capture.first_row),
        "states": [
            {"state": one.state, "row_digest": one.row_digest.hex(), "tokens": one.tokens}
            for one in capture.states
        ],
        "tokens_digest": capture.tokens_digest.hex(),
    }


def _round(r: RoundEvidence, seed: int, judge: Judge, start: int) -> Fields:
    """Return a round; a draft stands if u <= p / q and every draft before it stands."""
    return {
        "step": r.step,
        "outcome": r.outcome.value,
        **({"why_plain": r.plain_reason.value} if r.plain_reason else {}),
        "drafts": [
            {
                "bin": token - start,
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
        "token": {"bin": r.token - start, "p": r.token_p},
        **({"heads": [_head(one) for one in r.tops]} if r.tops else {}),
        "entropies_nats": [value / ENTROPY_SCALE for value in r.entropies],
    }


def _head(data: bytes) -> Fields | None:
    """Return the likeliest ids of a text model's row, before the grammar's mask."""
    if not data:
        return None
    top = read_top(data)
    return {"legal": top.legal, "ids": list(top.ids), "p": list(top.p)}


def _test(r: RoundEvidence, j: int, seed: int, judge: Judge) -> Fields:
    """Return the three numbers that decided a draft."""
    q = judge.q_of(r, j, r.drafts[j])
    return {"p": r.p[j], "q": q, "u": accept_draw(seed, r.step, j)}
