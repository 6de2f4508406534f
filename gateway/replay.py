"""Replay: recompute one decision from the ledger alone, step by step.

And name the first that differs.

Recomputed: the sampling seeds, every accept and reject, the integer forecast, the placebo's
    forecast, the intent, the book at the basis, and the verdict byte for byte. Nothing is sampled
    again: what the weights said stands in the capture, and a later command may re-verify it by
    teacher forcing.
"""

import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from audit.canonical import canonical
from audit.kinds import Kind
from audit.queries import LedgerReader
from audit.record import Record
from gateway.attach import Place
from gateway.errors import ReplayDiffersError, UnknownDecisionError
from gateway.forecasting import target_forecast
from gateway.ledger_book import BOOK_KINDS, book_events
from gateway.walk import SamplingPlan
from inference.capture import decode_capture
from inference.codec import ReturnCodec
from inference.forecast import forecast_document, forecast_from_document
from inference.placebo import TableModel
from inference.prompt import prompt_document
from inference.rounds import QTable, disagreements
from inference.seeds import decision_seed, trajectory_seeds
from inference.snapshot import Snapshot, snapshot_from_document
from risk.book import Book, apply
from risk.evaluate import evaluate
from risk.instrument import instrument_from_document
from risk.intent import intent_from_document
from risk.policy import policy_from_document
from risk.state import KillState, RiskState, SeenIntent, relevant_history, seen
from risk.state_document import policy_status_from_document, quote_from_document
from risk.verdict import verdict_document


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """What a replay has recomputed, in order."""

    lines: tuple[str, ...]


def replay_decision(place: Place, decision_id: str) -> int:
    """Replay and print each step; 0 equal, 1 differs."""
    try:
        steps = replay(place.reader, place.table, decision_id)
    except ReplayDiffersError as difference:
        sys.stdout.write(f"DIFFERS {decision_id}: {difference}\n")
        return 1
    for line in steps.lines:
        sys.stdout.write(f"equal   {line}\n")
    sys.stdout.write(f"REPLAYED {decision_id}: every recorded step recomputes to the same bytes\n")
    return 0


def replay(reader: LedgerReader, table: QTable, decision_id: str) -> Steps:
    """Recompute every recorded step of a decision.

    Raises:
        UnknownDecisionError: there is none of that id.
        ReplayDiffersError: names the first step that differs.
    """
    records = list(reader.records(stream=f"decision/{decision_id}"))
    if not records:
        raise UnknownDecisionError(problem=f"no decision {decision_id}")
    lines: list[str] = []
    snapshot = _snapshot(reader, records, lines)
    if snapshot is not None:
        _forecasts(reader, table, records, snapshot, lines)
    for record in records:
        if record.kind is Kind.VERDICT_GIVEN:
            _verdict(reader, records, record, lines)
    return Steps(lines=tuple(lines))


def _snapshot(reader: LedgerReader, records: list[Record], lines: list[str]) -> Snapshot | None:
    taken = _first(records, Kind.SNAPSHOT_TAKEN)
    if taken is None:
        return None
    data = reader.blob(str(taken.body["snapshot_blob"]))
    if data is None:
        raise ReplayDiffersError(step="snapshot_taken", detail="its blob is missing")
    snapshot = snapshot_from_document(json.loads(data))
    _same("snapshot_taken", "as_of_us", snapshot.as_of_us, taken.body["as_of_us"])
    lines.append(f"snapshot_taken     {len(snapshot.bars)} bars, {len(snapshot.news)} news items")
    return snapshot


def _forecasts(
    reader: LedgerReader,
    table: QTable,
    records: list[Record],
    snapshot: Snapshot,
    lines: list[str],
) -> None:
    """Recompute every attempt: prompt, seeds, accept/reject, target's and placebo's forecast."""
    codec = ReturnCodec()
    run_id = str(records[0].body["run_id"])
    for requested in (r for r in records if r.kind is Kind.FORECAST_REQUESTED):
        body: dict[str, Any] = requested.body
        attempt = body["attempt"]
        prompt = codec.encode(snapshot)
        _same("forecast_requested", "prompt", prompt_document(prompt), body["prompt"])
        seed = _seed(reader, requested, lines)
        captured = _of_attempt(records, Kind.ROUNDS_CAPTURED, attempt)
        made = _of_attempt(records, Kind.FORECAST_MADE, attempt)
        if captured is None or made is None:
            continue
        blob = str(captured.body["capture_blob"])
        data = reader.blob(blob)
        if data is None:
            raise ReplayDiffersError(step="rounds_captured", detail="its blob is missing")
        capture = decode_capture(data)
        faults = disagreements(capture, table)
        if faults:
            raise ReplayDiffersError(step="rounds_captured", detail=faults[0])
        lines.append(
            f"rounds_captured    {captured.body['positions']} accept/reject positions of"
            f" {captured.body['rounds']} rounds"
        )
        _check_model(reader, run_id, str(made.body["forecast"]["model_digest"]))
        target = target_forecast(
            capture,
            codec=codec,
            prompt=prompt,
            snapshot=snapshot,
            seed=seed,
            table=table,
            model_digest=str(made.body["forecast"]["model_digest"]),
            capture_digest=blob,
        )
        _same("forecast_made", "forecast", forecast_document(target), made.body["forecast"])
        lines.append(f"forecast_made      {target.n_paths} paths of {target.horizon} steps")
        placebo = _of_attempt(records, Kind.PLACEBO_MADE, attempt)
        if placebo is not None:
            plan = SamplingPlan(
                paths=len(body["seeds"]),
                horizon=body["n_tokens"],
                spec_k=body["spec_k"],
                deadline_s=1.0,
            )
            twin = TableModel(table, codec).forecast(
                snapshot=snapshot, prompt=prompt, seed=seed, plan=plan
            )
            _same("placebo_made", "forecast", forecast_document(twin), placebo.body["forecast"])
            lines.append("placebo_made       the table model's forecast")


def _check_model(reader: LedgerReader, run_id: str, digest: str) -> None:
    """Refuse a forecast of a model that the run did not load."""
    loaded = {
        r.body["manifest"]
        for r in reader.records(stream="control", kinds=(Kind.MODEL_LOADED,))
        if r.body.get("run_id") == run_id
    }
    if loaded and digest not in loaded:
        raise ReplayDiffersError(
            step="forecast_made", detail="its model was not loaded in this run"
        )


def _seed(reader: LedgerReader, requested: Record, lines: list[str]) -> bytes:
    """Recompute the seeds from the checkpointed root that stood when the request was made."""
    body: dict[str, Any] = requested.body
    root = bytes.fromhex(body["seed_root"])
    sizes = {c.size: c.root for c in reader.checkpoints()}
    if sizes.get(body["seed_size"]) != root:
        raise ReplayDiffersError(
            step="forecast_requested", detail="no checkpoint of that size and root"
        )
    if body["seed_size"] > requested.seq:
        raise ReplayDiffersError(
            step="forecast_requested", detail="its seed comes from a later root"
        )
    decision_id = requested.stream.removeprefix("decision/")
    seed = decision_seed(root, decision_id, body["attempt"])
    seeds = [str(s) for s in trajectory_seeds(seed, len(body["seeds"]))]
    _same("forecast_requested", "seeds", seeds, body["seeds"])
    lines.append(f"forecast_requested {len(seeds)} seeds from the root at size {body['seed_size']}")
    return seed


def _verdict(
    reader: LedgerReader, records: list[Record], verdict: Record, lines: list[str]
) -> None:
    """Fold the book to the basis and evaluate again; the verdict must be the same bytes."""
    body: dict[str, Any] = verdict.body
    basis = body["basis_seq"]
    run = _started(reader, body["run_id"])
    book, history = _fold(reader, body["account"], run["equity_minor"], basis)
    policy = _policy(reader, body["policy_digest"], verdict.seq)
    intent = intent_from_document(body["intent"])
    instrument = next(
        instrument_from_document(i) for i in run["instruments"] if i["symbol"] == intent.instrument
    )
    made = [r for r in records if r.kind is Kind.FORECAST_MADE and r.seq < verdict.seq]
    state = RiskState(
        now_us=body["market_now_us"],
        book=book,
        instrument=instrument,
        quote=None if body["quote"] is None else quote_from_document(body["quote"]),
        forecast=forecast_from_document(made[-1].body["forecast"]) if made else None,
        narrative_as_of_us=body["narrative_as_of_us"],
        kill=KillState(
            killed=body["state"]["killed"],
            kill_epoch=body["state"]["kill_epoch"],
            egress_epoch=body["state"]["egress_epoch"],
        ),
        recent=relevant_history(history, intent, body["market_now_us"]),
        policy_status=policy_status_from_document(body["policy_status"]),
        renewal=body["renewal"],
    )
    again = verdict_document(evaluate(policy, state, intent))
    _same("verdict_given", "verdict", again, body["verdict"])
    lines.append(
        f"verdict_given      {again['action']}, {len(body['verdict']['results'])} checks,"
        f" basis {basis}"
    )


def _fold(
    reader: LedgerReader, account: str, equity_minor: int, basis: int
) -> tuple[Book, list[SeenIntent]]:
    book = Book.empty(account, equity_minor)
    history: list[SeenIntent] = []
    for record in reader.records(kinds=BOOK_KINDS, account=account, before_seq=basis + 1):
        for event in book_events(record):
            book = apply(book, event)
        if record.kind is Kind.VERDICT_GIVEN:
            earlier: dict[str, Any] = record.body
            history.append(seen(intent_from_document(earlier["intent"]), earlier["market_now_us"]))
    return book, history


def _started(reader: LedgerReader, run_id: str) -> dict[str, Any]:
    for record in reader.records(stream="control", kinds=(Kind.RUN_STARTED,)):
        if record.body["run_id"] == run_id:
            return record.body
    raise ReplayDiffersError(step="run_started", detail=f"run {run_id} is not on record")


def _policy(reader: LedgerReader, digest: str, before_seq: int) -> Any:  # noqa: ANN401 - a Policy
    for record in reader.records(
        stream="control", kinds=(Kind.POLICY_ACTIVATED,), before_seq=before_seq
    ):
        if record.body["policy_digest"] == digest:
            return policy_from_document(record.body["policy"])
    raise ReplayDiffersError(
        step="policy_activated", detail=f"policy {digest[:12]} is not on record"
    )


def _first(records: Iterable[Record], kind: Kind) -> Record | None:
    return next((r for r in records if r.kind is kind), None)


def _of_attempt(records: Iterable[Record], kind: Kind, attempt: int) -> Record | None:
    return next((r for r in records if r.kind is kind and r.body["attempt"] == attempt), None)


def _same(step: str, what: str, again: Any, recorded: Any) -> None:  # noqa: ANN401 - JSON values
    """Compare canonical bytes.

    Raises:
        ReplayDiffersError: they differ; names the first differing field where there are fields.
    """
    if canonical(again) == canonical(recorded):
        return
    detail = what
    if isinstance(again, dict) and isinstance(recorded, dict):
        differing = [k for k in sorted(again) if again[k] != recorded.get(k)]
        detail = f"{what}.{differing[0]}" if differing else what
    raise ReplayDiffersError(step=step, detail=detail)
