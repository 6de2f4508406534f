"""Records of a forecast: snapshot, request, captured rounds, forecast, placebo, failure.

A payload holds no float: probabilities and draws stay in the capture blob as bits.
"""

from collections.abc import Mapping
from typing import Any, Final

from audit.records.canonical import JSON, canonical
from audit.records.kinds import Kind
from audit.records.record import Draft
from gateway.walk.journal.contents import Contents
from gateway.walk.journal.decision import digest_of, draft
from gateway.walk.ports import Case, NarrativeReach
from inference.codec.prompt import Prompt, prompt_digest, prompt_document
from inference.engine.port import EngineDescription, SampleRequest
from inference.forecast.forecast import Forecast, forecast_document
from inference.snapshot import Snapshot, snapshot_document
from inference.speculation.evidence import Evidence
from inference.speculation.totals import totals

SEED_RULE: Final = 2
"""The seed's root is that of the largest checkpoint not above the decision's opening record.

A renewal's opening record is its approval. A request without a rule is of an earlier version, in
which any earlier checkpoint would do.
"""


def snapshot_bytes(snapshot: Snapshot) -> bytes:
    """Return a snapshot's canonical bytes, which are stored as a blob."""
    return canonical(snapshot_document(snapshot))


def snapshot_taken(case: Case, blob: str, policy: Mapping[str, JSON]) -> Draft:
    """The inputs, numbers and narrative, each with a digest.

    `policy` names the policy in force; it is empty in records of earlier versions.
    """
    document = snapshot_document(case.snapshot)
    return draft(
        case,
        Kind.SNAPSHOT_TAKEN,
        "snapshot",
        {
            "decision_id": case.decision_id,
            "instrument": case.instrument.symbol,
            "as_of_us": case.snapshot.as_of_us,
            "snapshot_blob": blob,
            "bars_digest": digest_of(document["bars"]),
            "news_digest": digest_of(document["news"]),
            "n_bars": len(case.snapshot.bars),
            "n_news": len(case.snapshot.news),
            "strategy": case.strategy,
            "author": case.author,
            **policy,
            **_reach(case.narrative),
            **case.labels,
        },
        tagged=True,
    )


def _reach(narrative: NarrativeReach | None) -> dict[str, JSON]:
    """Return up to when a fed narrative is complete; empty where the playback knows it."""
    if narrative is None:
        return {}
    if narrative.absent:
        return {"narrative": "absent"}
    return {"narrative": "fed", "narrative_as_of_us": narrative.as_of_us}


class SnapshotTaken(Contents, frozen=True, kw_only=True):
    """The contents of `snapshot_taken`; `narrative` is empty where it is the playback's."""

    instrument: str
    as_of_us: int
    snapshot_blob: str
    narrative: str = ""
    narrative_as_of_us: int | None = None

    @property
    def reach(self) -> NarrativeReach | None:
        """Up to when a fed narrative is complete."""
        if not self.narrative:
            return None
        return NarrativeReach(absent=self.narrative == "absent", as_of_us=self.narrative_as_of_us)


def forecast_requested(
    case: Case,
    prompt: Prompt,
    request: SampleRequest,
    *,
    root: bytes,
    size: int,
    drafter: str,
    rule: int | None = SEED_RULE,
) -> Draft:
    """What the engine will be asked, with its seeds; committed before inference runs."""
    return draft(
        case,
        Kind.FORECAST_REQUESTED,
        f"request:{case.attempt}",
        {
            "prompt": prompt_document(prompt),
            "prompt_ids": list(prompt.token_ids),
            "prompt_digest": prompt_digest(prompt),
            "codec_digest": prompt.codec_digest,
            "template": prompt.template,
            "seed_root": root.hex(),
            "seed_size": size,
            "attempt": case.attempt,
            "seeds": [str(seed) for seed in request.seeds],
            "n_tokens": request.n_tokens,
            "spec_k": request.spec_k,
            "drafter": drafter,
            "allowed_range": list(request.allowed_range),
            "deadline_ms": int(request.deadline_s * 1_000),
            **({} if rule is None else {"seed_rule": rule}),
        },
    )


class ForecastRequested(Contents, frozen=True, kw_only=True):
    """The contents of `forecast_requested`; `seed_rule` is None in records of earlier versions."""

    prompt_ids: tuple[int, ...]
    seed_root: str
    seed_size: int
    seeds: tuple[str, ...]
    n_tokens: int
    spec_k: int
    drafter: str
    deadline_ms: int
    allowed_range: tuple[int, ...] = ()
    seed_rule: int | None = None


def rounds_captured(
    case: Case, evidence: Evidence, *, elapsed_us: int, blob: str, size_bytes: int
) -> Draft:
    """The blob of the captured rounds, with its counts."""
    counted = totals(evidence)
    return draft(
        case,
        Kind.ROUNDS_CAPTURED,
        f"rounds:{case.attempt}",
        {
            "capture_blob": blob,
            "capture_bytes": size_bytes,
            "rounds": counted.rounds,
            "drafted": counted.drafted,
            "accepted": counted.accepted,
            "positions": counted.positions,
            "plain_fallback": len(counted.fallback_trajectories),
            "mean_accepted": f"{counted.mean_accepted:.4f}",
            "elapsed_us": elapsed_us,
            "drafter": evidence.drafter.value,
            "table_digest": evidence.table_digest,
            "attempt": case.attempt,
        },
    )


class RoundsCaptured(Contents, frozen=True, kw_only=True):
    attempt: int
    capture_blob: str
    rounds: int
    positions: int
    elapsed_us: int


def forecast_made(case: Case, forecast: Forecast) -> Draft:
    """The target's forecast; integers only."""
    return draft(
        case,
        Kind.FORECAST_MADE,
        f"forecast:{case.attempt}",
        {"forecast": forecast_document(forecast), "attempt": case.attempt},
    )


def placebo_made(case: Case, forecast: Forecast) -> Draft:
    """The table model's forecast, against which the AI's worth is measured."""
    return draft(
        case,
        Kind.PLACEBO_MADE,
        f"placebo:{case.attempt}",
        {"forecast": forecast_document(forecast), "attempt": case.attempt},
    )


def forecast_failed(case: Case, *, reason: str, detail: str) -> Draft:
    """There is no forecast; no order follows."""
    return draft(
        case,
        Kind.FORECAST_FAILED,
        f"forecast_failed:{case.attempt}",
        {"reason": reason, "detail": detail[:500], "attempt": case.attempt},
    )


class ForecastAttempt(Contents, frozen=True, kw_only=True):
    """Which attempt a `placebo_made` or `forecast_failed` belongs to."""

    attempt: int


class ForecastMade(ForecastAttempt, frozen=True, kw_only=True):
    forecast: dict[str, Any]

    @property
    def model_digest(self) -> str:
        """The digest of the weights that made it."""
        return str(self.forecast["model_digest"])


def engine_document(description: EngineDescription) -> dict[str, JSON]:
    """Return what serves, for `model_loaded`."""
    return {
        "drafter": description.drafter.value,
        "spec_k": description.spec_k,
        "model_id": description.model_id,
        "model_digest": description.model_digest,
        "table_digest": description.table_digest,
        "codec_digest": description.codec_digest,
        "versions": dict(description.versions),
        "start_ms": dict(description.start_ms),
    }
