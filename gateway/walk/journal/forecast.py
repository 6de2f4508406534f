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
from inference.forecast.forecast import Forecast, Sampled, forecast_document
from inference.forecast.modes import ChosenMode, Usual
from inference.forecast.verdicts import verdicts_document
from inference.snapshot import BAR_US, Snapshot, snapshot_document
from inference.speculation.evidence import Evidence
from inference.speculation.totals import totals
from risk.forms.documents import document_of
from risk.state.paths.marginal import Marginal

NO_NEWS: Final = "no_news"
"""A decision whose prompt holds no news; such a one has no news twin."""

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


def forecast_requested(  # noqa: PLR0913 - the parts of one record
    case: Case,
    prompt: Prompt,
    request: SampleRequest,
    *,
    root: bytes,
    size: int,
    drafter: str,
    rule: int | None = SEED_RULE,
    news_twin: str | None = None,
) -> Draft:
    """What the engine will be asked, with its seeds; committed before inference runs.

    `news_twin` is what `news_twin_named` returns; records of earlier versions have none.
    """
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
            **({} if news_twin is None else {"news_twin": news_twin}),
            **({"drafts_first": True} if request.draft_first else {}),
        },
    )


def mode_chosen(case: Case, chosen: ChosenMode, usual: Usual) -> Draft:
    """The mode of a forecast with its cause, and what it was chosen from."""
    return draft(
        case,
        Kind.MODE_CHOSEN,
        f"mode:{case.attempt}",
        {
            "attempt": case.attempt,
            "instrument": case.instrument.symbol,
            "chosen": chosen.mode.value,
            "cause": chosen.cause.value,
            "paths": chosen.paths,
            "look_ahead": chosen.look_ahead.drafts,
            "look_ahead_cause": chosen.look_ahead.cause.value,
            "most": usual.spec_k,
            "usual_paths": usual.paths,
            "tokens": usual.horizon,
            "accepted_pm": usual.accepted_pm,
            "regime": chosen.regime.document(),
            "divergence": {
                "numbers_bp": chosen.divergence.numbers_bp,
                "words_bp": chosen.divergence.words_bp,
                "conflict_bp": chosen.divergence.conflict_bp,
            },
            "events": list(chosen.divergence.events),
        },
    )


class ModeChosen(Contents, frozen=True, kw_only=True):
    """The contents of `mode_chosen`; `chosen` is the mode."""

    attempt: int
    instrument: str
    chosen: str
    paths: int
    look_ahead: int
    most: int
    usual_paths: int
    tokens: int
    accepted_pm: int
    events: tuple[str, ...]


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
    news_twin: str | None = None
    drafts_first: bool = False


def news_twin_named(blank: Prompt | None) -> str:
    """Return what a request says of its news twin: its prompt's digest, or that there is none."""
    return NO_NEWS if blank is None else prompt_digest(blank)


def rounds_captured(
    case: Case, evidence: Evidence, *, elapsed_us: int, blob: str, size_bytes: int
) -> Draft:
    """The blob of the captured rounds, with its counts."""
    payload = _rounds(evidence, elapsed_us, blob, size_bytes)
    payload["attempt"] = case.attempt
    return draft(case, Kind.ROUNDS_CAPTURED, f"rounds:{case.attempt}", payload)


def _rounds(evidence: Evidence, elapsed_us: int, blob: str, size_bytes: int) -> dict[str, JSON]:
    counted = totals(evidence)
    return {
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
    }


class RoundsCaptured(Contents, frozen=True, kw_only=True):
    attempt: int
    drafted: int = 0
    accepted: int = 0
    capture_blob: str
    rounds: int
    positions: int
    elapsed_us: int


def forecast_made(case: Case, forecast: Forecast, paths: str = "", verdicts: str = "") -> Draft:
    """The target's forecast; integers only.

    `paths` is its paths' blob under format 2, `verdicts` that of the verdicts on them under a
    policy with modes.
    """
    named: dict[str, JSON] = {"verdicts_blob": verdicts} if verdicts else {}
    payload = {**_forecast(case, forecast, paths), **named}
    return draft(case, Kind.FORECAST_MADE, f"forecast:{case.attempt}", payload)


def placebo_made(case: Case, forecast: Forecast, paths: str = "") -> Draft:
    """The table model's forecast, against which the AI's worth is measured."""
    return draft(
        case, Kind.PLACEBO_MADE, f"placebo:{case.attempt}", _forecast(case, forecast, paths)
    )


def news_twin_made(
    case: Case,
    blank: Prompt,
    evidence: Evidence,
    forecast: Forecast,
    *,
    elapsed_us: int,
    blob: str,
    size_bytes: int,
) -> Draft:
    """The target's forecast of the same seeds with the narrative blanked, with its rounds."""
    payload = {
        **_rounds(evidence, elapsed_us, blob, size_bytes),
        "prompt_digest": prompt_digest(blank),
        "forecast": forecast_document(forecast),
    }
    return _news_twin(case, payload)


def news_twin_missing(case: Case, blank: Prompt, *, reason: str, detail: str) -> Draft:
    """There is no news twin, and why; the decision goes on without."""
    payload: dict[str, JSON] = {
        "prompt_digest": prompt_digest(blank),
        "missing": reason,
        "detail": detail[:500],
    }
    return _news_twin(case, payload)


def _news_twin(case: Case, payload: dict[str, JSON]) -> Draft:
    named: dict[str, JSON] = {**payload, "attempt": case.attempt}
    return draft(case, Kind.NEWS_TWIN_MADE, f"news_twin:{case.attempt}", named)


class NewsTwinMade(Contents, frozen=True, kw_only=True):
    """The contents of `news_twin_made`; `missing` says why there is no twin, else it is empty."""

    attempt: int
    missing: str = ""
    detail: str = ""
    capture_blob: str = ""
    elapsed_us: int = 0
    forecast: dict[str, Any] | None = None


def _forecast(case: Case, forecast: Forecast, paths: str) -> dict[str, JSON]:
    named: dict[str, JSON] = {"paths_blob": paths} if paths else {}
    return {"forecast": forecast_document(forecast), "attempt": case.attempt, **named}


def marginal_of(snapshot: Snapshot, sampled: Sampled) -> Marginal:
    """Return a forecast's paths with the past that they follow."""
    return Marginal(
        instrument=snapshot.instrument,
        as_of_us=snapshot.as_of_us,
        bar_us=BAR_US[snapshot.frequency],
        times_us=tuple(bar.close_time_us for bar in snapshot.bars),
        closes_ticks=tuple(bar.close_ticks for bar in snapshot.bars),
        moves_1e8=sampled.moves_1e8(),
    )


def verdicts_bytes(sampled: Sampled) -> bytes:
    """Return the verdicts on a forecast's trajectories, which are stored as a blob."""
    return canonical(verdicts_document(sampled.trajectories))


def marginal_bytes(marginal: Marginal) -> bytes:
    """Return paths as canonical bytes, which are stored as a blob."""
    return canonical(document_of(marginal))


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


class ForecastFailed(ForecastAttempt, frozen=True, kw_only=True):
    """The contents of `forecast_failed`: a code for the agent, the detail for the operator."""

    reason: str


class ForecastMade(ForecastAttempt, frozen=True, kw_only=True):
    """The contents of `forecast_made` and `placebo_made`; no paths are named under format 1."""

    forecast: dict[str, Any]
    paths_blob: str = ""

    @property
    def instrument(self) -> str:
        """The symbol that it is about."""
        return str(self.forecast["instrument"])

    @property
    def source(self) -> str:
        """The model behind it: `target`, or `table` for a template."""
        return str(self.forecast["source"])

    @property
    def model_digest(self) -> str:
        """The digest of the weights that made it."""
        return str(self.forecast["model_digest"])

    @property
    def codec_digest(self) -> str:
        """The digest of what gave its tokens their meaning."""
        return str(self.forecast["codec_digest"])


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
