"""Records of a forecast: snapshot, request, captured rounds, forecast, placebo, failure, seal.

Each attempt has a stream of its own, which any number of decisions name.

A payload holds no float: probabilities and draws stay in the capture blob as bits.
"""

from base64 import b32encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from audit.records.canonical import JSON, canonical
from audit.records.kinds import Kind
from audit.records.record import Draft
from audit.records.record_kind import Filing, RecordKind
from gateway.walk.journal.decision import ForecastTaken, digest_of, draft, draft_of
from gateway.walk.ports import Forecasting, RecordsPort
from inference.codec.prompt import Prompt, prompt_digest, prompt_document
from inference.engine.port import EngineDescription, SampleRequest
from inference.forecast.forecast import Forecast, Sampled, forecast_document
from inference.forecast.modes import ChosenMode, Occasion, Sampler, Usual
from inference.forecast.verdicts import verdicts_document
from inference.scale.correlation import RULE
from inference.snapshot import BAR_US, Snapshot, snapshot_document
from inference.speculation.evidence import Evidence
from inference.speculation.totals import totals
from risk.forms.documents import document_of
from risk.state.paths.marginal import Marginal

if TYPE_CHECKING:  # arrays are not loaded for the ledger's verbs
    from inference.speculation.direct import DirectCapture

MADE: Final = "made"
FAILED: Final = "failed"
ABANDONED: Final = "abandoned"
"""How an attempt ends."""
OPENED: Final = "opened"
AGAIN: Final = "again"
"""What else the index of an instrument says of its forecasts."""

NO_NEWS: Final = "no_news"
"""A decision whose prompt holds no news; such a one has no news twin."""

SEED_RULE: Final = 3
"""A seed's root is that of the largest checkpoint not above the first attempt's opening record."""


def snapshot_bytes(snapshot: Snapshot) -> bytes:
    """Return a snapshot's canonical bytes, which are stored as a blob."""
    return canonical(snapshot_document(snapshot))


def forecast_id(inputs: Mapping[str, JSON]) -> str:
    """Return the id of the forecast of some inputs: the first 130 bits of their digest, base32."""
    digest = sha256(canonical({**inputs})).digest()
    return b32encode(digest).decode("ascii")[:26]


def inputs_of(
    snapshot: Snapshot,
    prompt: Prompt,
    *,
    model: str,
    table: str,
    terms: JSON,
    secure: bool,
) -> dict[str, JSON]:
    """Return what a forecast depends on: its snapshot, its words, its models, the policy's terms.

    `model` and `table` are the digests of target and drafter, `terms` is what the policy says of
    paths (`path_terms`), `secure` whether nothing may be drafted. How many paths are asked for, by
    whom and when is not among them: more paths are more of the same sample.
    """
    return {
        "instrument": snapshot.instrument,
        "snapshot": sha256(snapshot_bytes(snapshot)).hexdigest(),
        "prompt": prompt_digest(prompt),
        "codec": prompt.codec_digest,
        "model": model,
        "table": table,
        "terms": terms,
        "secure": secure,
    }


def snapshot_taken(asked: Forecasting, blob: str, policy: Mapping[str, JSON]) -> Draft:
    """The inputs of a forecast, numbers and narrative, each with a digest; opens its stream.

    `policy` names the policy in force.
    """
    document = snapshot_document(asked.snapshot)
    taken = SnapshotTaken(
        forecast_id=asked.forecast_id,
        attempt=asked.attempt,
        instrument=asked.instrument.symbol,
        as_of_us=asked.snapshot.as_of_us,
        snapshot_blob=blob,
        bars_digest=digest_of(document["bars"]),
        news_digest=digest_of(document["news"]),
        n_bars=len(asked.snapshot.bars),
        n_news=len(asked.snapshot.news),
        inputs=dict(asked.inputs),
        run_id=asked.tags.run_id,
        dev=asked.tags.dev,
    )
    return draft_of(asked, SnapshotTaken, {**taken.document(), **policy})


class SnapshotTaken(RecordKind, frozen=True, kw_only=True):
    """The inputs of a forecast; its id follows from `inputs`."""

    filing = Filing("forecast/{forecast_id}", "snapshot", tags=frozenset({"mode"}))

    forecast_id: str
    attempt: int
    instrument: str
    as_of_us: int
    snapshot_blob: str
    bars_digest: str
    news_digest: str
    n_bars: int
    n_news: int
    inputs: dict[str, Any]
    run_id: str
    dev: bool
    policy_digest: str = ""
    policy_version: int | None = None


def forecast_sealed(asked: Forecasting, outcome: str) -> Draft:
    """The last record of an attempt, so that a missing tail shows; see `ForecastSealed`."""
    return draft(asked, ForecastSealed(instrument=asked.instrument.symbol, outcome=outcome))


def forecast_abandoned(
    forecast_id: str, attempt: int, instrument: str, mode: str
) -> tuple[Draft, Draft]:
    """The seal of an attempt that a crash left open, and its line of the index."""
    sealed = ForecastSealed(instrument=instrument, outcome=ABANDONED)
    listed = ForecastListed(
        instrument=instrument, event=ABANDONED, forecast_id=forecast_id, attempt=attempt, again=0
    )
    stream, tags = f"forecast/{forecast_id}.{attempt}", {"mode": mode}
    return sealed.draft(stream=stream, tags=tags), listed.draft(tags=tags)


class ForecastSealed(RecordKind, frozen=True, kw_only=True):
    """How an attempt ended: `made`, `failed`, or `abandoned` if the gateway ended before."""

    filing = Filing("forecast/{forecast_id}", "sealed")

    instrument: str
    outcome: str


def forecast_listed(asked: Forecasting, event: str, *, again: int = 0) -> Draft:
    """An event of a forecast, in the index of its instrument; see `ForecastListed`."""
    listed = ForecastListed(
        instrument=asked.instrument.symbol,
        event=event,
        forecast_id=asked.forecast_id,
        attempt=asked.attempt,
        again=again,
    )
    return listed.draft(tags={"mode": asked.tags.mode})


class ForecastListed(RecordKind, frozen=True, kw_only=True):
    """What became of an instrument's forecasts, in one stream: which one stands follows from it.

    `event` is `opened`, or how the attempt ended; `again` where inputs came back and an earlier one
    stands again, for the time that `again` counts. The forecast that a decision rests on is the
    last one `made` or `again` before its `forecast_taken`.
    """

    filing = Filing("instrument/{instrument}", "{event}:{forecast_id}.{attempt}:{again}")

    instrument: str
    event: str
    forecast_id: str
    attempt: int
    again: int

    @property
    def name(self) -> str:
        """The attempt's name."""
        return f"{self.forecast_id}.{self.attempt}"

    @property
    def stands(self) -> bool:
        """Whether this forecast stands from here on."""
        return self.event in {MADE, AGAIN}


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestTerms:
    """What is asked for: so many paths of so many tokens.

    `seeds_digest` is that of the trajectories' seeds; empty where a forecast is drawn directly, by
    one stream of draws (`inference.speculation.direct`).
    """

    sampler: Sampler
    paths: int
    n_tokens: int
    spec_k: int
    allowed_range: tuple[int, int]
    deadline_ms: int
    seeds_digest: str = ""

    @classmethod
    def of(cls, request: SampleRequest) -> "RequestTerms":
        """Return what the engine is asked for."""
        return cls(
            sampler=Sampler.ENGINE,
            paths=len(request.seeds),
            n_tokens=request.n_tokens,
            spec_k=request.spec_k,
            allowed_range=request.allowed_range,
            deadline_ms=int(request.deadline_s * 1_000),
            seeds_digest=seeds_digest(request.seeds),
        )


def seeds_digest(seeds: Sequence[int]) -> str:
    """Return the digest of trajectories' seeds, which follow from the root and are not kept."""
    return digest_of([str(seed) for seed in seeds])


def forecast_requested(
    asked: Forecasting,
    prompt: Prompt,
    request: RequestTerms,
    *,
    root: bytes,
    size: int,
    drafter: str,
    news_twin: str,
) -> Draft:
    """What will be sampled, and from which seeds; committed before inference runs.

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
        attempt=asked.attempt,
        sampler=request.sampler.value,
        paths=request.paths,
        seeds_digest=request.seeds_digest,
        n_tokens=request.n_tokens,
        spec_k=request.spec_k,
        drafter=drafter,
        allowed_range=tuple(request.allowed_range),
        deadline_ms=request.deadline_ms,
        seed_rule=SEED_RULE,
        news_twin=news_twin,
        drafts_first=request.spec_k > 0,
    )
    return draft(asked, requested)


def mode_chosen(asked: Forecasting, chosen: ChosenMode, usual: Usual, occasion: Occasion) -> Draft:
    """The mode of a forecast with its cause, and what it was chosen from."""
    mode = ModeChosen(
        attempt=asked.attempt,
        instrument=asked.instrument.symbol,
        chosen=chosen.mode.value,
        cause=chosen.cause.value,
        sampler=chosen.sampler.value,
        by_state=occasion.by_state,
        first=occasion.first,
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
    return draft(asked, mode)


class ModeChosen(RecordKind, frozen=True, kw_only=True):
    """How a forecast was to be made; `chosen` is the mode.

    `by_state` says that its rows are known without the engine, `first` that no forecast of the
    instrument stood before.
    """

    filing = Filing("forecast/{forecast_id}", "mode:{attempt}")

    attempt: int
    instrument: str
    chosen: str
    cause: str
    sampler: str
    by_state: bool
    first: bool
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
    """What was asked for, and by which rule its seeds were drawn.

    `sampler` says who draws: the engine from one seed a path, whose digest is `seeds_digest`, or
    `direct` from one stream of draws, and no seeds are named.
    """

    filing = Filing(
        "forecast/{forecast_id}", "request:{attempt}", also="bar_us horizon model_digest sigma"
    )

    prompt: dict[str, Any] | None = None
    prompt_ids: tuple[int, ...]
    prompt_digest: str
    codec_digest: str
    template: str
    seed_root: str
    seed_size: int
    attempt: int
    sampler: str
    paths: int
    seeds_digest: str
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
    asked: Forecasting, evidence: Evidence, *, elapsed_us: int, blob: str, size_bytes: int
) -> Draft:
    """The blob of the captured rounds, with its counts."""
    counts = _rounds(evidence, elapsed_us, blob, size_bytes)
    return draft_of(asked, RoundsCaptured, {**counts, "attempt": asked.attempt})


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

    filing = Filing("forecast/{forecast_id}", "rounds:{attempt}", loose="attempt elapsed_us")


def tokens_drawn(asked: Forecasting, capture: "DirectCapture", *, blob: str, size: int) -> Draft:
    """The blob of a direct forecast's capture, from which every token follows; `size` in bytes."""
    drawn = TokensDrawn(
        attempt=asked.attempt,
        rule=capture.rule,
        seed=capture.seed.hex(),
        table_digest=capture.table_digest,
        paths=capture.paths,
        n_tokens=capture.steps,
        states=len(capture.states),
        capture_blob=blob,
        capture_bytes=size,
    )
    return draft(asked, drawn)


class TokensDrawn(RecordKind, frozen=True, kw_only=True):
    """A forecast was drawn from the model's rows by state, without drafts: `rule` says how.

    `n_tokens` are those of each path, `states` the rows that were drawn from.
    """

    filing = Filing("forecast/{forecast_id}", "drawn:{attempt}")

    attempt: int
    rule: str
    seed: str
    table_digest: str
    paths: int
    n_tokens: int
    states: int
    capture_blob: str
    capture_bytes: int


def forecast_made(
    asked: Forecasting, forecast: Forecast, paths: str = "", verdicts: str = ""
) -> Draft:
    """The target's forecast; integers only.

    `paths` is its paths' blob under format 2, `verdicts` that of the verdicts on them under a
    policy with modes.
    """
    made = ForecastMade(
        attempt=asked.attempt,
        forecast=forecast_document(forecast),
        paths_blob=paths,
        verdicts_blob=verdicts,
    )
    return draft(asked, made)


def placebo_made(asked: Forecasting, forecast: Forecast, paths: str = "") -> Draft:
    """The table model's forecast, against which the AI's worth is measured."""
    made = PlaceboMade(
        attempt=asked.attempt, forecast=forecast_document(forecast), paths_blob=paths
    )
    return draft(asked, made)


def news_twin_made(  # noqa: PLR0913 - all that its record says
    asked: Forecasting,
    blank: Prompt,
    evidence: Evidence,
    forecast: Forecast,
    *,
    elapsed_us: int,
    blob: str,
    size_bytes: int,
    compared: Mapping[str, JSON],
) -> Draft:
    """The target's forecast of the same seeds with the narrative blanked, with its rounds.

    `compared` has the fields that compare its paths with the forecast's own, and its paths' blob.
    """
    payload: dict[str, JSON] = {
        **_rounds(evidence, elapsed_us, blob, size_bytes),
        "attempt": asked.attempt,
        "prompt_digest": prompt_digest(blank),
        "forecast": forecast_document(forecast),
        **compared,
    }
    return draft_of(asked, NewsTwinMade, payload)


def news_twin_missing(asked: Forecasting, blank: Prompt, *, reason: str, detail: str) -> Draft:
    """There is no news twin, and why; decisions go on without."""
    missing = NewsTwinMade(
        attempt=asked.attempt,
        prompt_digest=prompt_digest(blank),
        missing=reason,
        detail=detail[:500],
    )
    return draft(asked, missing)


class NewsTwinMade(RecordKind, frozen=True, kw_only=True):
    """The news twin's forecast; `missing` says why there is none, else it is empty.

    Shortfalls are the mean loss of a long position in the worst 2.5 % of paths, of the forecast and
    of its twin; the error is that of the difference of their means. No paths are named under
    format 1.
    """

    filing = Filing("forecast/{forecast_id}", "news_twin:{attempt}")

    attempt: int
    prompt_digest: str
    missing: str = ""
    detail: str | None = None
    forecast: dict[str, Any] | None = None
    paths_blob: str = ""
    own_shortfall_1e8: int | None = None
    shortfall_1e8: int | None = None
    mean_error_1e8: int | None = None
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


@dataclass(frozen=True, slots=True, kw_only=True)
class JointMember:
    """The paths of one forecast in a set: its record and leaf, and whose paths (their kind)."""

    instrument: str
    forecast_id: str
    attempt: int
    of_seq: int
    of_leaf: str
    paths: str

    def document(self) -> dict[str, JSON]:
        """Return it as a set's record has it."""
        return {**asdict(self)}


def joint_id(members: Iterable[JointMember], without_bp: int) -> str:
    """Return the id of a set of forecasts: 130 bits of the digest of what it is joined from."""
    named: list[JSON] = [[m.instrument, m.forecast_id, m.attempt, m.paths] for m in members]
    return forecast_id({"members": named, "rule": RULE, "without_bp": without_bp})


def rule_digest(correlation_1e6: Sequence[int], seed: bytes) -> str:
    """Return the digest of how paths are joined, which is part of their name."""
    correlation: list[JSON] = [*correlation_1e6]
    return digest_of({"rule": RULE, "correlation_1e6": correlation, "seed": seed.hex()})


class PathsJoined(RecordKind, frozen=True, kw_only=True):
    """How the paths of standing forecasts were joined; decisions name it by record and leaf.

    Attributes:
        members: as `JointMember`, by instrument.
        keep_bp: how much of the sums of a correlation stays from day to day.
        without_bp: what a pair without enough of a common past counts as, by the policy.
        shrunk_bp: by how much the estimates were drawn towards independence, to fit together.
        correlation_1e6: below the diagonal, row by row, in the members' order.
        seed: of the scores' order, hex: the digest of the members' seeds.
        digest: names the joint paths.
    """

    filing = Filing("joint/{joint_id}", "joined", tags=frozenset({"mode"}))

    joint_id: str
    members: tuple[dict[str, Any], ...]
    rule: str
    keep_bp: int
    without_bp: int
    shrunk_bp: int
    correlation_1e6: tuple[int, ...]
    seed: str
    n_paths: int
    digest: str


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


def forecast_failed(asked: Forecasting, *, reason: str, detail: str) -> Draft:
    """There is no forecast; no order follows."""
    return draft(asked, ForecastFailed(attempt=asked.attempt, reason=reason, detail=detail[:500]))


class ForecastFailed(RecordKind, frozen=True, kw_only=True):
    """No forecast: a code for the agent, the detail for the operator."""

    filing = Filing(
        "forecast/{forecast_id}",
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
        "forecast/{forecast_id}",
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
        "forecast/{forecast_id}",
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


def forecasts_behind(reader: RecordsPort, decision_id: str) -> Iterator[ForecastMade]:
    """Yield each forecast that a decision rests on, once, in the order in which it took them."""
    taken = reader.records(stream=f"decision/{decision_id}", kinds=(Kind.FORECAST_TAKEN,))
    for stream in dict.fromkeys(ForecastTaken.of(one).named.stream for one in taken):
        if stream:
            yield from map(ForecastMade.of, reader.records(stream=stream, kinds=_MADE))


_MADE: Final = (Kind.FORECAST_MADE,)


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
