"""Replay of a forecast: request, snapshot, seeds, rounds, forecast, twins.

Nothing is sampled again: every accept and reject is decided again from the capture, exactly, and
the forecasts follow. `weights` asks whether the capture's numbers are those of the weights. Elapsed
times and deadlines are taken as they stand.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from typing import Any

from audit.records.kinds import Kind
from audit.records.record import Record
from gateway.desk.bodies.requests import IntentRequest
from gateway.desk.intake.intents import wish_of
from gateway.desk.intake.strategies import AGENT_WISH, OVERLAY, overlay, wish
from gateway.errors import ReplayDiffersError
from gateway.evidence.replay.past import Attempt, Past, matches, same
from gateway.evidence.replay.planning import plan_of, seed_root
from gateway.walk.journal import decision as journal_decisions
from gateway.walk.journal import forecast as journal
from gateway.walk.journal.run import MarkTaken, ModelLoaded
from gateway.walk.ports import Case, Tick
from gateway.walk.sampled.gjr import gjr_twin, paths_of_gjr
from gateway.walk.sampled.joining import OwnPaths
from gateway.walk.sampled.news import NewsTwin, twin_of
from gateway.walk.sampled.planning import template_permitted, trajectory_policy
from inference.codec.prompt import Prompt
from inference.codec.scaled import codec_of
from inference.engine.port import SampleRequest
from inference.forecast.forecast import ForecastSource, Sampled
from inference.forecast.placebo import TableModel
from inference.forecast.target import sample_target
from inference.snapshot import snapshot_from_document
from inference.speculation.evidence import Evidence, judge
from inference.speculation.evidence_bytes import decode_evidence
from inference.speculation.seeds import decision_seed, trajectory_seeds
from inference.speculation.top_rows import check_heads
from inference.speculation.totals import paths


def snapshot_taken(past: Past, record: Record) -> str:
    """Read the inputs from their blob; make the case for all later steps."""
    taken = journal.SnapshotTaken.of(record)
    blob = taken.snapshot_blob
    snapshot = snapshot_from_document(json.loads(_blob(past, record, blob)))
    instrument = past.instrument(snapshot.instrument)
    if past.received is None:
        strategy, author, directional = OVERLAY, "playback", False
        propose = overlay(past.policy, instrument)
        labels = _labels(past, record)
    else:
        received = journal_decisions.IntentReceived.of(past.received)
        request = IntentRequest.model_validate(received.request)
        same("snapshot_taken", "instrument", request.instrument, snapshot.instrument)
        strategy, author = AGENT_WISH, received.author
        directional, labels = request.directional, {}
        propose = wish(past.policy.sizing, instrument, wish_of(request, instrument))
    past.case = Case(
        decision_id=past.decision_id,
        tags=past.tags,
        instrument=instrument,
        snapshot=snapshot,
        strategy=strategy,
        author=author,
        tick=_no_tick,
        propose=propose,
        directional=directional,
        narrative=taken.reach,
        labels=labels,
    )
    past.codec = past.text or codec_of(snapshot)
    past.prompt = past.codec.encode(snapshot)
    same("snapshot_taken", "snapshot_blob", _digest(journal.snapshot_bytes(snapshot)), blob)
    matches(record, journal.snapshot_taken(past.case, blob, past.policy_named))
    return f"{len(snapshot.bars)} bars, {len(snapshot.news)} news items"


def _labels(past: Past, record: Record) -> dict[str, Any]:
    """Return the playback's labels: the session of the last open mark, the snapshot's time."""
    taken = journal.SnapshotTaken.of(record)
    marks = past.reader.records(
        stream=f"market/{taken.instrument}",
        kinds=(Kind.MARK_TAKEN,),
        account=past.tags.account,
        before_seq=record.seq,
    )
    opened = [mark for mark in map(MarkTaken.of, marks) if mark.kind == "open"]
    if not opened:
        raise ReplayDiffersError(step="snapshot_taken", detail="no session was opened before it")
    return {
        "session_index": opened[-1].session_index,
        "session_date": opened[-1].session_date,
        "market_time_us": taken.as_of_us,
    }


def forecast_requested(past: Past, record: Record) -> str:
    """Recompute the prompt, and the seeds from the checkpoint that they must come from."""
    case, prompt = past.opened(record)
    asked = journal.ForecastRequested.of(record)
    number = len(past.attempts)
    opened = past.last(Kind.APPROVAL_GIVEN, before=record) if number else past.records[0]
    root = seed_root(past, record, opened)
    seed = decision_seed(root, past.decision_id, number)
    request = SampleRequest(
        request_id=f"{past.decision_id}.{number}",
        prompt_ids=prompt.token_ids,
        n_tokens=asked.n_tokens,
        seeds=trajectory_seeds(seed, len(asked.seeds)),
        spec_k=asked.spec_k,
        allowed_range=(past.codec.bin_start, past.codec.bin_start + past.codec.n_bins),
        deadline_s=(asked.deadline_ms + 0.5) / 1_000,  # the half makes it round down to itself
        draft_first=asked.drafts_first,
    )
    past.case = case = replace(case, attempt=number)
    blank = past.codec.encode_without_news(case.snapshot)
    matches(
        record,
        journal.forecast_requested(
            case,
            prompt,
            request,
            root=root,
            size=asked.seed_size,
            drafter=asked.drafter,
            news_twin=journal.news_twin_named(blank),
        ),
    )
    plan = plan_of(past, record)
    past.attempts.append(Attempt(requested=record, seed=seed, plan=plan, blank=blank))
    seeds = f"{len(asked.seeds)} seeds from the root at size {asked.seed_size}"
    return f"{seeds}, the last before record {opened.seq}"


def rounds_captured(past: Past, record: Record) -> str:
    """Decide every accept and reject again, and count again."""
    case, prompt = past.opened(record)
    captured = journal.RoundsCaptured.of(record)
    attempt = past.attempt(record, captured.attempt)
    blob = captured.capture_blob
    capture, size = _rounds(past, record, attempt, blob, prompt)
    matches(
        record,
        journal.rounds_captured(
            case, capture, elapsed_us=captured.elapsed_us, blob=blob, size_bytes=size
        ),
    )
    attempt.capture, attempt.blob = capture, blob
    said = f"{captured.positions} accept/reject positions of {captured.rounds} rounds"
    if past.text is None:
        return said
    heads = check_heads(capture, past.text.alphabet.id_of)
    if heads.faults:
        raise ReplayDiffersError(step=record.kind.value, detail=heads.faults[0])
    return (
        f"{said}; {heads.borne_out} probabilities follow from the 20 likeliest ids of {heads.rows} "
        f"rows, of whose law the grammar left {heads.legal_mean:.2%}"
    )


def _rounds(
    past: Past, record: Record, attempt: Attempt, blob: str, prompt: Prompt
) -> tuple[Evidence, int]:
    """Return a capture, decided again as its request asked, and its size in bytes."""
    data = _blob(past, record, blob)
    capture = decode_evidence(data)
    faults = (*judge(capture, past.table), *_states(past, capture, prompt.token_ids))
    if faults:
        raise ReplayDiffersError(step=record.kind.value, detail=faults[0])
    asked = journal.ForecastRequested.of(attempt.requested)
    same("forecast_requested", "spec_k", capture.spec_k, asked.spec_k)
    same("forecast_requested", "drafter", capture.drafter.value, asked.drafter)
    same("forecast_requested", "seeds", [str(s) for s in capture.seeds], asked.seeds)
    bins = [capture.bin_start, capture.bin_start + capture.n_bins]
    same("forecast_requested", "allowed_range", bins, asked.allowed_range)
    lengths = sorted({len(path) for path in paths(capture)})
    same("forecast_requested", "n_tokens", lengths, [asked.n_tokens])
    return capture, len(data)


def _states(past: Past, capture: Evidence, prompt_ids: tuple[int, ...]) -> Iterator[str]:
    """Yield every draft of the table whose state does not follow from prompt and tokens."""
    base = past.codec.table_base(prompt_ids)
    newest = 0
    for r in capture.rounds:
        newest = newest if r.step else past.codec.last_bin(prompt_ids)
        before = (newest, *r.drafts)
        for j, state in enumerate(r.states):
            if state != past.codec.table_step(base, before[j]):
                yield f"trajectory {r.trajectory} step {r.step}: state {j}"
        newest = r.token


def forecast_made(past: Past, record: Record) -> str:
    """Summarise the capture again; a forecast must have its placebo."""
    case, prompt = past.opened(record)
    made = journal.ForecastMade.of(record)
    attempt = past.attempt(record, made.attempt)
    if made.source == ForecastSource.TABLE:
        sampled = _template(past, record, case, prompt, attempt)
    else:
        sampled = _of_target(past, case, prompt, attempt, made.model_digest)
    attempt.target, attempt.sampled = sampled.forecast, sampled
    attempt.own, named = _own_paths(past, record, sampled, record.seq)
    verdicts = ""
    if trajectory_policy(past.policy) is not None:
        verdicts = _digest(journal.verdicts_bytes(sampled))
        _blob(past, record, verdicts)
    matches(record, journal.forecast_made(case, attempt.target, named, verdicts))
    placebos = [r for r in past.records if r.kind is Kind.PLACEBO_MADE]
    if made.attempt not in {journal.ForecastAttempt.of(r).attempt for r in placebos}:
        raise ReplayDiffersError(step="placebo_made", detail="no placebo beside the forecast")
    simulated = [r for r in past.records if r.kind is Kind.GJR_MADE]
    beside = {journal_decisions.GjrMade.of(r).attempt for r in simulated}
    if made.attempt not in beside:
        raise ReplayDiffersError(step="gjr_made", detail="no GJR twin beside the forecast")
    twins = [r for r in past.records if r.kind is Kind.NEWS_TWIN_MADE]
    there = made.attempt in {journal.NewsTwinMade.of(r).attempt for r in twins}
    if attempt.blank is not None and not there:
        raise ReplayDiffersError(step="news_twin_made", detail="no news twin beside the forecast")
    return f"{attempt.target.n_paths} paths of {attempt.target.horizon} steps"


def _of_target(
    past: Past, case: Case, prompt: Prompt, attempt: Attempt, model_digest: str
) -> Sampled:
    """Summarise the capture of an attempt."""
    if attempt.capture is None:
        raise ReplayDiffersError(step="forecast_made", detail="no rounds_captured before it")
    _check_model(past, model_digest)
    return sample_target(
        attempt.capture,
        codec=past.codec,
        prompt=prompt,
        snapshot=case.snapshot,
        seed=attempt.seed,
        table=past.table,
        model_digest=model_digest,
        capture_digest=attempt.blob,
        policy=trajectory_policy(past.policy),
    )


def _template(past: Past, record: Record, case: Case, prompt: Prompt, attempt: Attempt) -> Sampled:
    """Let the table answer again, which the policy permits after the engine's failure only."""
    failed = [one for one in past.records if one.kind is Kind.FORECAST_FAILED]
    before = [journal.ForecastAttempt.of(one).attempt for one in failed if one.seq < record.seq]
    if not template_permitted(past.policy) or case.attempt not in before:
        detail = "the table answers where the policy permits it and the engine has failed"
        raise ReplayDiffersError(step="forecast_made", detail=detail)
    return _table_alone(past, case, prompt, attempt)


def _table_alone(past: Past, case: Case, prompt: Prompt, attempt: Attempt) -> Sampled:
    return TableModel(past.table, past.codec).sample(
        snapshot=case.snapshot,
        prompt=prompt,
        seed=attempt.seed,
        plan=attempt.plan,
        policy=trajectory_policy(past.policy),
    )


def placebo_made(past: Past, record: Record) -> str:
    """Sample the table model again: it is pure."""
    case, prompt = past.opened(record)
    attempt = past.attempt(record, journal.ForecastAttempt.of(record).attempt)
    sampled = _table_alone(past, case, prompt, attempt)
    attempt.twin = sampled.forecast
    made = -1 if attempt.own is None else attempt.own.seq
    attempt.twin_own, named = _own_paths(past, record, sampled, made)
    matches(record, journal.placebo_made(case, attempt.twin, named))
    attempt.made_seq = record.seq
    return "the table model's forecast"


def gjr_made(past: Past, record: Record) -> str:
    """Simulate GJR again from the fitted scale of the snapshot: it is pure."""
    case, prompt = past.opened(record)
    made = journal_decisions.GjrMade.of(record)
    attempt = past.attempt(record, made.attempt)
    if attempt.target is None:
        raise ReplayDiffersError(step="gjr_made", detail="no forecast_made before it")
    twin = gjr_twin(case, prompt, attempt.seed, attempt.plan, past.policy)
    if twin.paths:
        _blob(past, record, _digest(twin.paths))
    matches(record, twin.record)
    attempt.gjr = twin
    attempt.gjr_own = paths_of_gjr(twin, -1 if attempt.own is None else attempt.own.seq)
    return f"none: {made.missing}" if made.missing else "the simulation of GJR"


def news_twin_made(past: Past, record: Record) -> str:
    """Decide the twin's rounds again and summarise them; why one is missing is the engine's."""
    case, _ = past.opened(record)
    made = journal.NewsTwinMade.of(record)
    attempt = past.attempt(record, made.attempt)
    if attempt.blank is None or attempt.sampled is None:
        raise ReplayDiffersError(step="news_twin_made", detail="no forecast asked for it")
    if made.missing:
        again = journal.news_twin_missing(
            case, attempt.blank, reason=made.missing, detail=made.detail or ""
        )
        matches(record, again)
        attempt.news = NewsTwin(record=again, missing=made.missing)
        return f"missing: {made.missing}"
    blob = made.capture_blob
    capture, size = _rounds(past, record, attempt, blob, attempt.blank)
    attempt.news = twin_of(
        case,
        attempt.blank,
        capture,
        codec=past.codec,
        table=past.table,
        own=attempt.sampled,
        seed=attempt.seed,
        elapsed_us=made.elapsed_us,
        blob=blob,
        size_bytes=size,
        policy=trajectory_policy(past.policy),
    )
    matches(record, attempt.news.record)
    attempt.news_capture = capture
    return "the forecast of the same seeds without words"


def _own_paths(
    past: Past, record: Record, sampled: Sampled, seq: int
) -> tuple[OwnPaths | None, str]:
    """Return a forecast's paths and their blob's digest, under a policy that has them recorded."""
    if past.policy.families is None:
        return None, ""
    case, _ = past.opened(record)
    marginal = journal.marginal_of(case.snapshot, sampled)
    own = OwnPaths(kind=record.kind, seq=seq, marginal=marginal)
    return own, _digest(journal.marginal_bytes(marginal))


def forecast_failed(past: Past, record: Record) -> str:
    """Compare which attempt failed; the reason is the engine's."""
    number = max(0, len(past.attempts) - 1)
    same("forecast_failed", "attempt", number, journal.ForecastAttempt.of(record).attempt)
    same("forecast_failed", "idem_key", f"forecast_failed:{number}", record.idem_key)
    return f"attempt {number}"


def _check_model(past: Past, digest: str) -> None:
    """Refuse the forecast of a model that the run did not load."""
    records = past.reader.records(stream="control", kinds=(Kind.MODEL_LOADED,))
    models = map(ModelLoaded.of, records)
    loaded = {one.manifest for one in models if one.run_id in past.run_ids}
    if loaded and digest not in loaded:
        raise ReplayDiffersError(
            step="forecast_made", detail="its model was not loaded in this run"
        )


def _blob(past: Past, record: Record, digest: str) -> bytes:
    data = past.reader.blob(digest)
    if data is None:
        raise ReplayDiffersError(step=record.kind.value, detail="its blob is missing")
    same(record.kind.value, "blob", _digest(data), digest)
    return data


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()


def _no_tick() -> Tick:
    raise AssertionError("a replay takes no quote")
