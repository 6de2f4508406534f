"""Replay of a forecast: snapshot, request, seeds, rounds, forecast, twins, seal.

Nothing is sampled again: every accept and reject is decided again from the capture, exactly, and
the forecasts follow. `weights` asks whether the capture's numbers are those of the weights. Elapsed
times and deadlines are taken as they stand.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from audit.records.kinds import Kind
from audit.records.record import Draft, Record
from audit.store.reader import LedgerReader
from gateway.errors import ReplayDiffersError
from gateway.evidence.replay.compared import blob_of, digest_of, matches, same
from gateway.evidence.replay.forecasts.past import (
    ForecastPast,
    RequestAgain,
    in_force,
    instrument_of,
    refuse_unloaded,
)
from gateway.evidence.replay.forecasts.planning import (
    first_opening,
    mode_chosen,
    plan_of,
    seed_root,
)
from gateway.evidence.replay.steps import step, stepped
from gateway.walk.journal import decision as journal_decisions
from gateway.walk.journal import forecast as journal
from gateway.walk.ports import Forecasting
from gateway.walk.projections.forecasts import StandingForecast
from gateway.walk.sampled.gjr import gjr_twin
from gateway.walk.sampled.news import twin_of
from gateway.walk.sampled.planning import path_terms, template_permitted, trajectory_policy
from inference.codec.prompt import Prompt
from inference.codec.scaled import codec_of
from inference.codec.text.codec import TextCodec
from inference.errors import ForecastError, LateTwinError
from inference.forecast.direct import judge_direct, sample_direct
from inference.forecast.forecast import ForecastSource, Sampled
from inference.forecast.modes import Sampler
from inference.forecast.placebo import TableModel
from inference.forecast.target import sample_target
from inference.snapshot import snapshot_from_document
from inference.speculation.direct_bytes import decode_direct
from inference.speculation.evidence import Evidence, judge
from inference.speculation.evidence_bytes import decode_evidence
from inference.speculation.rounds import DrafterKind, QTable
from inference.speculation.seeds import decision_seed, prompt_label, trajectory_seeds
from inference.speculation.top_rows import check_heads
from inference.speculation.totals import paths
from risk.forms.documents import value_of
from risk.state.paths.marginal import Marginal


def forecast_replayed(
    reader: LedgerReader, table: QTable, stream: str, text: TextCodec | None = None
) -> Iterator[tuple[ForecastPast, Record, str]]:
    """Recompute an attempt record by record; yield each with what is known then and a remark.

    Raises:
        ReplayDiffersError: there is none, or a step differs or cannot be recomputed; names it.
    """
    with step(Kind.RUN_STARTED.value):
        past = ForecastPast.of(reader, table, stream, text)
    for record, remark in stepped(past, past.records, FORECAST_STEPS):
        yield past, record, remark


def snapshot_taken(past: ForecastPast, record: Record) -> str:
    """Read the inputs from their blob; the forecast's id and prompt follow from them.

    Weights that the run did not load are refused. Whether nothing may be drafted is compared where
    a decision names the forecast.
    """
    taken = journal.SnapshotTaken.of(record)
    blob = taken.snapshot_blob
    snapshot = snapshot_from_document(json.loads(blob_of(past.reader, record, blob)))
    same("snapshot_taken", "snapshot_blob", digest_of(journal.snapshot_bytes(snapshot)), blob)
    past.codec = past.text or codec_of(snapshot)
    past.prompt = past.codec.encode(snapshot)
    inputs = journal.inputs_of(
        snapshot,
        past.prompt,
        model=taken.inputs["model"],
        table=past.table.digest,
        terms=path_terms(past.policy),
        secure=taken.inputs["secure"],
    )
    refuse_unloaded(past.reader, {past.run.run_id}, str(inputs["model"]), "snapshot_taken")
    past.own = Forecasting(
        forecast_id=journal.forecast_id(inputs),
        attempt=past.attempt,
        tags=past.tags,
        instrument=instrument_of(past.run, snapshot.instrument),
        snapshot=snapshot,
        inputs=inputs,
        opened_seq=first_opening(past, record),
    )
    matches(record, journal.snapshot_taken(past.own, blob, past.policy_named))
    listed(past, record, journal.forecast_listed(past.own, journal.OPENED))
    return f"{len(snapshot.bars)} bars, {len(snapshot.news)} news items"


def forecast_requested(past: ForecastPast, record: Record) -> str:
    """Recompute the prompt, and the seeds from the checkpoint that they must come from."""
    own, prompt = past.opened(record)
    asked = journal.ForecastRequested.of(record)
    opened_seq = own.opened_seq or 0
    root = seed_root(past, record, opened_seq)
    seed = decision_seed(root, prompt_label(prompt.token_ids), own.attempt)
    sampler = Sampler(asked.sampler)
    seeds = trajectory_seeds(seed, asked.paths) if sampler is Sampler.ENGINE else ()
    terms = journal.RequestTerms(
        sampler=sampler,
        paths=asked.paths,
        n_tokens=asked.n_tokens,
        spec_k=asked.spec_k,
        allowed_range=(past.codec.bin_start, past.codec.bin_start + past.codec.n_bins),
        deadline_ms=asked.deadline_ms,
        seeds_digest=journal.seeds_digest(seeds) if seeds else "",
    )
    blank = past.codec.encode_without_news(own.snapshot)
    matches(
        record,
        journal.forecast_requested(
            own,
            prompt,
            terms,
            root=root,
            size=asked.seed_size,
            drafter=asked.drafter if seeds else DrafterKind.NONE.value,
            news_twin=journal.news_twin_named(blank),
        ),
    )
    past.asked = RequestAgain(seed=seed, plan=plan_of(past, record), blank=blank, record=record)
    drawn = f"{len(seeds)} seeds" if seeds else "one stream of draws"
    return f"{drawn} from the root at size {asked.seed_size}, the last before record {opened_seq}"


def tokens_drawn(past: ForecastPast, record: Record) -> str:
    """Draw every token again from the seed, the prompt and the table's rows."""
    own, prompt = past.opened(record)
    drawn, asked = journal.TokensDrawn.of(record), past.requested(record)
    data = blob_of(past.reader, record, drawn.capture_blob)
    capture = decode_direct(data)
    same("tokens_drawn", "seed", capture.seed.hex(), asked.seed.hex())
    same("tokens_drawn", "paths", capture.paths, asked.plan.paths)
    same("tokens_drawn", "n_tokens", capture.steps, past.codec.tokens_for(asked.plan.horizon))
    faults = judge_direct(data, codec=past.codec, prompt=prompt, table=past.table)
    if faults:
        raise ReplayDiffersError(step=record.kind.value, detail=faults[0])
    matches(record, journal.tokens_drawn(own, capture, blob=drawn.capture_blob, size=len(data)))
    past.drawn, past.blob = capture, drawn.capture_blob
    return f"{capture.paths * capture.steps} tokens of {len(capture.states)} states drawn again"


def rounds_captured(past: ForecastPast, record: Record) -> str:
    """Decide every accept and reject again, and count again."""
    own, prompt = past.opened(record)
    captured = journal.RoundsCaptured.of(record)
    blob = captured.capture_blob
    capture, size = _rounds(past, record, blob, prompt)
    matches(
        record,
        journal.rounds_captured(
            own, capture, elapsed_us=captured.elapsed_us, blob=blob, size_bytes=size
        ),
    )
    past.capture, past.blob = capture, blob
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


def _rounds(past: ForecastPast, record: Record, blob: str, prompt: Prompt) -> tuple[Evidence, int]:
    """Return a capture, decided again as its request asked, and its size in bytes."""
    data = blob_of(past.reader, record, blob)
    capture = decode_evidence(data)
    faults = (*judge(capture, past.table), *_states(past, capture, prompt.token_ids))
    if faults:
        raise ReplayDiffersError(step=record.kind.value, detail=faults[0])
    asked = journal.ForecastRequested.of(past.requested(record).record)
    same("forecast_requested", "spec_k", capture.spec_k, asked.spec_k)
    same("forecast_requested", "drafter", capture.drafter.value, asked.drafter)
    same("forecast_requested", "seeds", journal.seeds_digest(capture.seeds), asked.seeds_digest)
    bins = [capture.bin_start, capture.bin_start + capture.n_bins]
    same("forecast_requested", "allowed_range", bins, asked.allowed_range)
    lengths = sorted({len(path) for path in paths(capture)})
    same("forecast_requested", "n_tokens", lengths, [asked.n_tokens])
    return capture, len(data)


def _states(past: ForecastPast, capture: Evidence, prompt_ids: tuple[int, ...]) -> Iterator[str]:
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


def forecast_failed(past: ForecastPast, record: Record) -> str:
    """Compare which attempt failed; the reason is the engine's.

    Rounds on record fail by themselves or not at all: an attempt that made a forecast may not be
    called failed, because another one with other seeds would follow. A twin may be late.
    """
    own, _ = past.opened(record)
    failed = journal.ForecastFailed.of(record)
    again = journal.forecast_failed(own, reason=failed.reason, detail=failed.detail)
    matches(record, again)
    if past.sampled_once and failed.reason != LateTwinError.code:
        try:
            _of_target(past, record)
            _table_alone(past, record)
        except ForecastError as error:
            same("forecast_failed", "reason", error.code, failed.reason)
        else:
            raise ReplayDiffersError(step="forecast_failed", detail="its rounds make a forecast")
    return failed.reason


def forecast_made(past: ForecastPast, record: Record) -> str:
    """Summarise the capture again; a forecast must have its twins."""
    own, _ = past.opened(record)
    made = journal.ForecastMade.of(record)
    table = made.source == ForecastSource.TABLE
    sampled = _template(past, record) if table else _of_target(past, record)
    past.sampled = sampled
    named = _paths_named(past, record, sampled)
    verdicts = ""
    if trajectory_policy(past.policy) is not None:
        verdicts = digest_of(journal.verdicts_bytes(sampled))
        blob_of(past.reader, record, verdicts)
    matches(record, journal.forecast_made(own, sampled.forecast, named, verdicts))
    beside = {one.kind for one in past.records}
    if Kind.PLACEBO_MADE not in beside:
        raise ReplayDiffersError(step="placebo_made", detail="no placebo beside the forecast")
    if Kind.GJR_MADE not in beside:
        raise ReplayDiffersError(step="gjr_made", detail="no GJR twin beside the forecast")
    if past.requested(record).blank is not None and Kind.NEWS_TWIN_MADE not in beside:
        raise ReplayDiffersError(step="news_twin_made", detail="no news twin beside the forecast")
    return f"{sampled.forecast.n_paths} paths of {sampled.forecast.horizon} steps"


def _of_target(past: ForecastPast, record: Record) -> Sampled:
    """Summarise the capture, which is of the weights among the inputs."""
    own, prompt = past.opened(record)
    if past.drawn is not None:
        return sample_direct(
            codec=past.codec,
            prompt=prompt,
            snapshot=own.snapshot,
            seed=past.drawn.seed,
            plan=past.requested(record).plan,
            table=past.table,
            model_digest=str(own.inputs["model"]),
            policy=trajectory_policy(past.policy),
        ).sampled
    if past.capture is None:
        raise ReplayDiffersError(step=record.kind.value, detail="no capture before it")
    return sample_target(
        past.capture,
        codec=past.codec,
        prompt=prompt,
        snapshot=own.snapshot,
        seed=past.requested(record).seed,
        table=past.table,
        model_digest=str(own.inputs["model"]),
        capture_digest=past.blob,
        policy=trajectory_policy(past.policy),
    )


def _template(past: ForecastPast, record: Record) -> Sampled:
    """Let the table answer again, which the policy permits after the engine's failure only."""
    failed = any(past.of_kind(Kind.FORECAST_FAILED, before=record))
    if not template_permitted(past.policy) or not failed:
        detail = "the table answers where the policy permits it and the engine has failed"
        raise ReplayDiffersError(step="forecast_made", detail=detail)
    return _table_alone(past, record)


def _table_alone(past: ForecastPast, record: Record) -> Sampled:
    own, prompt = past.opened(record)
    asked = past.requested(record)
    return TableModel(past.table, past.codec).sample(
        snapshot=own.snapshot,
        prompt=prompt,
        seed=asked.seed,
        plan=asked.plan,
        policy=trajectory_policy(past.policy),
    )


def placebo_made(past: ForecastPast, record: Record) -> str:
    """Sample the table model again: it is pure."""
    own, _ = past.opened(record)
    sampled = _table_alone(past, record)
    past.placebo = sampled.forecast
    named = _paths_named(past, record, sampled)
    matches(record, journal.placebo_made(own, sampled.forecast, named))
    return "the table model's forecast"


def gjr_made(past: ForecastPast, record: Record) -> str:
    """Simulate GJR again from the fitted scale of the snapshot: it is pure."""
    own, prompt = past.opened(record)
    asked = past.requested(record)
    if past.sampled is None:
        raise ReplayDiffersError(step="gjr_made", detail="no forecast_made before it")
    twin = gjr_twin(own, prompt, asked.seed, asked.plan, past.policy)
    if twin.paths:
        blob_of(past.reader, record, digest_of(twin.paths))
    matches(record, twin.record)
    past.gjr = twin.forecast
    if twin.marginal is not None:
        past.paths[record.kind] = twin.marginal
    missing = journal_decisions.GjrMade.of(record).missing
    return f"none: {missing}" if missing else "the simulation of GJR"


def news_twin_made(past: ForecastPast, record: Record) -> str:
    """Decide the twin's rounds again and summarise them; why one is missing is the engine's."""
    own, _ = past.opened(record)
    made, asked = journal.NewsTwinMade.of(record), past.requested(record)
    if asked.blank is None or past.sampled is None:
        raise ReplayDiffersError(step="news_twin_made", detail="no forecast asked for it")
    if made.missing:
        detail = made.detail or ""
        again = journal.news_twin_missing(own, asked.blank, reason=made.missing, detail=detail)
        matches(record, again)
        return f"missing: {made.missing}"
    capture, size = _rounds(past, record, made.capture_blob, asked.blank)
    twin = twin_of(
        own,
        asked.blank,
        capture,
        codec=past.codec,
        table=past.table,
        own=past.sampled,
        seed=asked.seed,
        elapsed_us=made.elapsed_us,
        blob=made.capture_blob,
        size_bytes=size,
        policy=past.policy,
    )
    matches(record, twin.record)
    if twin.paths:
        blob_of(past.reader, record, digest_of(twin.paths))
        past.paths[record.kind] = value_of(Marginal, json.loads(twin.paths))
    past.news_capture = capture
    return "the forecast of the same seeds without words"


def _paths_named(past: ForecastPast, record: Record, sampled: Sampled) -> str:
    """Keep a forecast's paths and return their blob's digest; empty where none are recorded."""
    if past.policy.families is None:
        return ""
    own, _ = past.opened(record)
    past.paths[record.kind] = marginal = journal.marginal_of(own.snapshot, sampled)
    named = digest_of(journal.marginal_bytes(marginal))
    blob_of(past.reader, record, named)
    return named


def forecast_sealed(past: ForecastPast, record: Record) -> str:
    """Derive the outcome from the records before it; an abandoned attempt is sealed by a later run.

    Where the table may answer alone, a gateway can end between the failure and the table's answer.
    """
    own, _ = past.opened(record)
    sealed = journal.ForecastSealed.of(record)
    kinds = {one.kind for one in past.records}
    if Kind.FORECAST_MADE in kinds:
        outcomes = {journal.MADE}
    elif Kind.FORECAST_FAILED in kinds:
        late = {journal.ABANDONED} if template_permitted(past.policy) else set()
        outcomes = {journal.FAILED, *late}
    else:
        outcomes = {journal.ABANDONED}
    if sealed.outcome not in outcomes:
        raise ReplayDiffersError(step="forecast_sealed", detail="outcome")
    if sealed.outcome == journal.ABANDONED:
        mode = in_force(past.reader, record.seq)[0].mode
        seal, line = journal.forecast_abandoned(
            own.forecast_id, own.attempt, own.instrument.symbol, mode
        )
        matches(record, seal)
        listed(past, record, line)
    else:
        matches(record, journal.forecast_sealed(own, sealed.outcome))
        listed(past, record, journal.forecast_listed(own, sealed.outcome))
    past.outcome, past.sealed_seq = sealed.outcome, record.seq
    if sealed.outcome == journal.MADE:
        past.standing = _standing(past, record)
    return sealed.outcome


def listed(past: ForecastPast, record: Record, line: Draft) -> None:
    """Refuse a record without its line of the instrument's index, right after it.

    Raises:
        ReplayDiffersError: there is none, or it says something else.
    """
    found = past.reader.by_key(line.stream, line.idem_key)
    if found is None or found.seq != record.seq + 1:
        raise ReplayDiffersError(step=record.kind.value, detail="its line of the index is missing")
    matches(found, line)


def _standing(past: ForecastPast, record: Record) -> StandingForecast:
    """Return the forecast as decisions read it, of recomputed values alone."""
    own, _ = past.opened(record)
    made = next(past.of_kind(Kind.FORECAST_MADE, before=record), None)
    news = next(past.of_kind(Kind.NEWS_TWIN_MADE, before=record), None)
    if made is None or past.sampled is None or past.placebo is None:
        raise ReplayDiffersError(step="forecast_sealed", detail="no forecast and placebo before it")
    return StandingForecast(
        named=journal_decisions.ForecastNamed(
            forecast_id=own.forecast_id,
            forecast_attempt=own.attempt,
            of_seq=made.seq,
            of_leaf=made.leaf.hex(),
        ),
        snapshot=own.snapshot,
        seed=past.requested(record).seed,
        target=past.sampled.forecast,
        placebo=past.placebo,
        gjr=past.gjr,
        news=None if news is None else journal.NewsTwinMade.of(news),
        paths=past.paths,
    )


FORECAST_STEPS: Final[Mapping[Kind, Callable[[ForecastPast, Record], str]]] = {
    Kind.SNAPSHOT_TAKEN: snapshot_taken,
    Kind.MODE_CHOSEN: mode_chosen,
    Kind.FORECAST_REQUESTED: forecast_requested,
    Kind.ROUNDS_CAPTURED: rounds_captured,
    Kind.TOKENS_DRAWN: tokens_drawn,
    Kind.FORECAST_FAILED: forecast_failed,
    Kind.FORECAST_MADE: forecast_made,
    Kind.PLACEBO_MADE: placebo_made,
    Kind.GJR_MADE: gjr_made,
    Kind.NEWS_TWIN_MADE: news_twin_made,
    Kind.FORECAST_SEALED: forecast_sealed,
}
"""How each kind of a forecast's stream is recomputed, in walk order."""
