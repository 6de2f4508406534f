"""Records of a forecast: snapshot, request, captured rounds, forecast, placebo, failure.

A payload holds no float: probabilities and draws stay in the capture blob as bits.
"""

from collections.abc import Mapping
from typing import Any, Final

from audit.records.canonical import JSON, canonical
from audit.records.kinds import RUN
from audit.records.record import Draft
from audit.records.record_kind import Contents, Filing, RecordKind
from gateway.walk.journal.decision import digest_of, draft, draft_of
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

A renewal's opening record is its approval.
"""


def snapshot_bytes(snapshot: Snapshot) -> bytes:
    """Return a snapshot's canonical bytes, which are stored as a blob."""
    return canonical(snapshot_document(snapshot))


def snapshot_taken(case: Case, blob: str, policy: Mapping[str, JSON]) -> Draft:
    """The inputs, numbers and narrative, each with a digest.

    `policy` names the policy in force.
    """
    document, reach = snapshot_document(case.snapshot), case.narrative
    fed = reach is not None and not reach.absent
    taken = SnapshotTaken(
        decision_id=case.decision_id,
        instrument=case.instrument.symbol,
        as_of_us=case.snapshot.as_of_us,
        snapshot_blob=blob,
        bars_digest=digest_of(document["bars"]),
        news_digest=digest_of(document["news"]),
        n_bars=len(case.snapshot.bars),
        n_news=len(case.snapshot.news),
        strategy=case.strategy,
        author=case.author,
        narrative="" if reach is None else "fed" if fed else "absent",
    )
    until: dict[str, JSON] = {"narrative_as_of_us": reach.as_of_us} if reach and fed else {}
    return draft_of(case, SnapshotTaken, {**taken.document(), **policy, **until, **case.labels})


class SnapshotTaken(RecordKind, frozen=True, kw_only=True):
    """The inputs of a decision; `narrative` is empty where it is the playback's."""

    filing = Filing("decision/{decision_id}", "snapshot", tags=RUN, also="client_key news")

    decision_id: str
    instrument: str
    as_of_us: int
    snapshot_blob: str
    bars_digest: str
    news_digest: str
    n_bars: int = -1
    n_news: int = -1
    strategy: str | None = None
    author: str | None = None
    policy_digest: str = ""
    policy_version: int | None = None
    session_index: int | None = None
    session_date: str = ""
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
    news_twin: str,
) -> Draft:
    """What the engine will be asked, with its seeds; committed before inference runs.

    `news_twin` is what `news_twin_named` returns.
    """
    requested = ForecastRequested(
        prompt=prompt_document(prompt),
        prompt_ids=tuple(prompt.token_ids),
        prompt_digest=prompt_digest(prompt),
        codec_digest=prompt.codec_digest,
        template=prompt.template,
        seed_root=root.hex(),
        seed_size=size,
        attempt=case.attempt,
        seeds=tuple(map(str, request.seeds)),
        n_tokens=request.n_tokens,
        spec_k=request.spec_k,
        drafter=drafter,
        allowed_range=tuple(request.allowed_range),
        deadline_ms=int(request.deadline_s * 1_000),
        seed_rule=SEED_RULE,
        news_twin=news_twin,
        drafts_first=request.draft_first,
    )
    return draft(case, requested)


def mode_chosen(case: Case, chosen: ChosenMode, usual: Usual) -> Draft:
    """The mode of a forecast with its cause, and what it was chosen from."""
    mode = ModeChosen(
        attempt=case.attempt,
        instrument=case.instrument.symbol,
        chosen=chosen.mode.value,
        cause=chosen.cause.value,
        paths=chosen.paths,
        look_ahead=chosen.look_ahead.drafts,
        look_ahead_cause=chosen.look_ahead.cause.value,
        most=usual.spec_k,
        usual_paths=usual.paths,
        tokens=usual.horizon,
        accepted_pm=usual.accepted_pm,
        regime=chosen.regime.document(),
        divergence={
            "numbers_bp": chosen.divergence.numbers_bp,
            "words_bp": chosen.divergence.words_bp,
            "conflict_bp": chosen.divergence.conflict_bp,
        },
        events=tuple(chosen.divergence.events),
    )
    return draft(case, mode)


class ModeChosen(RecordKind, frozen=True, kw_only=True):
    """How a forecast was to be made; `chosen` is the mode."""

    filing = Filing("decision/{decision_id}", "mode:{attempt}")

    attempt: int
    instrument: str
    chosen: str
    cause: str
    paths: int
    look_ahead: int
    look_ahead_cause: str
    most: int
    usual_paths: int
    tokens: int
    accepted_pm: int
    regime: dict[str, Any]
    divergence: dict[str, Any]
    events: tuple[str, ...]


class ForecastRequested(RecordKind, frozen=True, kw_only=True):
    """What was asked for, and by which rule its seeds were drawn."""

    filing = Filing(
        "decision/{decision_id}", "request:{attempt}", also="bar_us horizon model_digest sigma"
    )

    prompt: dict[str, Any] | None = None
    prompt_ids: tuple[int, ...]
    prompt_digest: str
    codec_digest: str
    template: str
    seed_root: str
    seed_size: int
    attempt: int
    seeds: tuple[str, ...]
    n_tokens: int
    spec_k: int
    drafter: str
    allowed_range: tuple[int, ...] = ()
    deadline_ms: int
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
    counts = _rounds(evidence, elapsed_us, blob, size_bytes)
    return draft_of(case, RoundsCaptured, {**counts, "attempt": case.attempt})


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


class _Rounds(RecordKind, frozen=True, kw_only=True):
    attempt: int
    capture_blob: str
    capture_bytes: int = 0
    rounds: int
    drafted: int
    accepted: int
    positions: int
    plain_fallback: int = 0
    mean_accepted: str = ""
    elapsed_us: int
    drafter: str = ""
    table_digest: str = ""


class RoundsCaptured(_Rounds, frozen=True, kw_only=True):
    """The captured rounds of a forecast."""

    filing = Filing("decision/{decision_id}", "rounds:{attempt}", loose="attempt elapsed_us")


def forecast_made(case: Case, forecast: Forecast, paths: str = "", verdicts: str = "") -> Draft:
    """The target's forecast; integers only.

    `paths` is its paths' blob under format 2, `verdicts` that of the verdicts on them under a
    policy with modes.
    """
    made = ForecastMade(
        attempt=case.attempt,
        forecast=forecast_document(forecast),
        paths_blob=paths,
        verdicts_blob=verdicts,
    )
    return draft(case, made)


def placebo_made(case: Case, forecast: Forecast, paths: str = "") -> Draft:
    """The table model's forecast, against which the AI's worth is measured."""
    made = PlaceboMade(attempt=case.attempt, forecast=forecast_document(forecast), paths_blob=paths)
    return draft(case, made)


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
    payload: dict[str, JSON] = {
        **_rounds(evidence, elapsed_us, blob, size_bytes),
        "attempt": case.attempt,
        "prompt_digest": prompt_digest(blank),
        "forecast": forecast_document(forecast),
    }
    return draft_of(case, NewsTwinMade, payload)


def news_twin_missing(case: Case, blank: Prompt, *, reason: str, detail: str) -> Draft:
    """There is no news twin, and why; the decision goes on without."""
    missing = NewsTwinMade(
        attempt=case.attempt,
        prompt_digest=prompt_digest(blank),
        missing=reason,
        detail=detail[:500],
    )
    return draft(case, missing)


class NewsTwinMade(RecordKind, frozen=True, kw_only=True):
    """The news twin's forecast; `missing` says why there is none, else it is empty."""

    filing = Filing("decision/{decision_id}", "news_twin:{attempt}")

    attempt: int
    prompt_digest: str
    missing: str = ""
    detail: str | None = None
    forecast: dict[str, Any] | None = None
    capture_blob: str = ""
    capture_bytes: int = 0
    rounds: int = 0
    drafted: int = 0
    accepted: int = 0
    positions: int = 0
    plain_fallback: int = 0
    mean_accepted: str = ""
    elapsed_us: int = 0
    drafter: str = ""
    table_digest: str = ""


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
    return draft(case, ForecastFailed(attempt=case.attempt, reason=reason, detail=detail[:500]))


class ForecastAttempt(Contents, frozen=True, kw_only=True):
    """Which attempt a `placebo_made` or `forecast_failed` belongs to."""

    attempt: int


class ForecastFailed(RecordKind, frozen=True, kw_only=True):
    """No forecast: a code for the agent, the detail for the operator."""

    filing = Filing(
        "decision/{decision_id}",
        "forecast_failed:{attempt}",
        early="attempt",
        also="elapsed_us source",
    )

    attempt: int
    reason: str
    detail: str


class PlaceboMade(RecordKind, frozen=True, kw_only=True):
    """The placebo twin's forecast; no paths are named under format 1."""

    filing = Filing(
        "decision/{decision_id}",
        "placebo:{attempt}",
        early="attempt",
        also="capture_blob digest elapsed_us reason",
    )

    attempt: int
    forecast: dict[str, Any]
    paths_blob: str = ""


class ForecastMade(RecordKind, frozen=True, kw_only=True):
    """A forecast, also as a reader takes a placebo's; no paths are named under format 1."""

    filing = Filing(
        "decision/{decision_id}",
        "forecast:{attempt}",
        early="attempt",
        also="capture_digest digest dropped elapsed_us kept",
    )

    attempt: int
    forecast: dict[str, Any]
    paths_blob: str = ""
    verdicts_blob: str = ""

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
