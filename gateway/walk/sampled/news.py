"""The news twin: the same forecast with the narrative blanked, and what words did to the decision.

The twin has the target, the seeds, the look-ahead and the numbers of the decision's own forecast;
only its narrative words are those of a day without news. It is sampled in the same engine batch
and sized on the same book, quote and other paths, so each difference is the words' work. It is
never sent. Numbers that a calendar tells beforehand are not narrative: they stay in the twin.

Rules:
- A decision without news asks for no twin, and says so.
- A twin that fails costs the decision nothing: it goes on, and its record says what is missing.

Not here: what the target adds to the table (`placebo`).
"""

from dataclasses import dataclass, replace

from audit.records.canonical import JSON
from audit.records.record import Draft
from gateway.walk.journal import forecast as journal
from gateway.walk.journal.decision import Words
from gateway.walk.ports import Case, Tools
from gateway.walk.sampled.joining import Joining, OwnPaths
from inference.codec.codec import ReturnCodec
from inference.codec.prompt import Prompt
from inference.engine.port import Engine, SampleRequest, Samples
from inference.errors import CaptureError, EngineError, ForecastError
from inference.forecast.forecast import Sampled, paired_error_1e8
from inference.forecast.target import sample_target
from inference.forecast.trajectory import TrajectoryPolicy
from inference.speculation.condense import condense
from inference.speculation.evidence import Evidence
from inference.speculation.evidence_bytes import encode_evidence
from inference.speculation.rounds import QTable
from risk.sizing import Sizing
from risk.state.book import Book
from risk.state.paths.losses import shortfall_of
from risk.state.state import Quote

Beside = Samples | EngineError | None
"""What the engine answered of the twin; None where none was asked for."""

MEASURES = ("expected_1e8", "step_vol_1e8", "horizon_vol_1e8", "p_up_bp")
"""What is compared of two forecasts, beside the shortfall."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewsTwin:
    """A decision's news twin, or why there is none; `measured` is None then.

    Attributes:
        record: What stands on record of it.
        missing: The failure's code; empty if there is a twin.
    """

    record: Draft
    missing: str = ""
    measured: "TwinsCompared | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TwinsCompared:
    """Both forecasts, and the mean loss of a long position in their worst 2.5 % of paths."""

    own: Sampled
    twin: Sampled
    own_shortfall_1e8: int
    twin_shortfall_1e8: int
    mean_error_1e8: int | None


def measured(own: Sampled, twin: Sampled) -> TwinsCompared:
    """Return two forecasts with what the paths say of them.

    Raises:
        ForecastError: a path's number does not fit.
    """
    return TwinsCompared(
        own=own,
        twin=twin,
        own_shortfall_1e8=_shortfall(own),
        twin_shortfall_1e8=_shortfall(twin),
        mean_error_1e8=paired_error_1e8(own, twin),
    )


def sampled_beside(
    engine: Engine, request: SampleRequest, blank: Prompt | None
) -> tuple[Samples, Beside]:
    """Return a request's samples, and the answer to its twin of a blanked prompt, if any.

    Raises:
        EngineError: as `Engine.sample`, of the request alone.
    """
    if blank is None:
        return engine.sample(request), None
    twin = replace(request, request_id=f"{request.request_id}.news", prompt_ids=blank.token_ids)
    return engine.sample_beside(request, twin)


def made_twin(
    case: Case,
    tools: Tools,
    blank: Prompt | None,
    beside: Beside,
    *,
    own: Sampled,
    seed: bytes,
    policy: TrajectoryPolicy | None,
) -> NewsTwin | None:
    """Return the twin with its record, its rounds stored; None where none was asked for."""
    if blank is None or beside is None:
        return None
    try:
        if isinstance(beside, EngineError):
            raise beside
        evidence = condense(beside.capture, tools.table)
        kept = encode_evidence(evidence)
        return twin_of(
            case,
            blank,
            evidence,
            codec=tools.codec,
            table=tools.table,
            own=own,
            seed=seed,
            elapsed_us=beside.elapsed_us,
            blob=tools.ledger.put_blob(kept),
            size_bytes=len(kept),
            policy=policy,
        )
    except (EngineError, CaptureError, ForecastError) as error:
        record = journal.news_twin_missing(case, blank, reason=error.code, detail=str(error))
        return NewsTwin(record=record, missing=error.code)


def missing_twin(
    case: Case, blank: Prompt | None, error: EngineError | CaptureError
) -> NewsTwin | None:
    """Return that there is no twin because the engine failed; None where none was asked for."""
    if blank is None:
        return None
    record = journal.news_twin_missing(case, blank, reason=error.code, detail=str(error))
    return NewsTwin(record=record, missing=error.code)


def twin_of(  # noqa: PLR0913 - all that determines it; a replay calls this too
    case: Case,
    blank: Prompt,
    evidence: Evidence,
    *,
    codec: ReturnCodec,
    table: QTable,
    own: Sampled,
    seed: bytes,
    elapsed_us: int,
    blob: str,
    size_bytes: int,
    policy: TrajectoryPolicy | None = None,
) -> NewsTwin:
    """Return the twin that follows from its rounds.

    Raises:
        ForecastError: as in `make_forecast`, or a path's number does not fit.
    """
    twin = sample_target(
        evidence,
        codec=codec,
        prompt=blank,
        snapshot=case.snapshot,
        seed=seed,
        table=table,
        model_digest=own.forecast.model_digest,
        capture_digest=blob,
        policy=policy,
    )
    record = journal.news_twin_made(
        case,
        blank,
        evidence,
        twin.forecast,
        elapsed_us=elapsed_us,
        blob=blob,
        size_bytes=size_bytes,
    )
    return NewsTwin(record=record, measured=measured(own, twin))


def paths_of_twin(case: Case, twin: NewsTwin | None, own: OwnPaths | None) -> OwnPaths | None:
    """Return the twin's paths in the place of the forecast's own; None where there are none."""
    if own is None or twin is None or twin.measured is None:
        return None
    marginal = journal.marginal_of(case.snapshot, twin.measured.twin)
    return OwnPaths(kind=own.kind, seq=own.seq, marginal=marginal)


def what_words_did(
    case: Case, twin: NewsTwin | None, sizing: Sizing, book: Book, quote: Quote, join: Joining
) -> Words:
    """Return what the narrative changed in a decision, for its record.

    `sizing` is the decision's own; `join` joins the twin's paths with the book's.
    """
    if twin is None:
        return {"result": journal.NO_NEWS}
    found = twin.measured
    if found is None:
        return {"result": "missing", "reason": twin.missing}
    joined = join(book)
    paths = None if joined is None else joined.paths
    blank = case.propose(found.twin.forecast, book, quote, paths)
    heard = _numbers(found.own, found.own_shortfall_1e8, sizing)
    blanked = _numbers(found.twin, found.twin_shortfall_1e8, blank)
    difference: dict[str, JSON] = {name: heard[name] - blanked[name] for name in heard}
    return {
        "result": "measured",
        "heard": {**heard},
        "blanked": {**blanked},
        "difference": {**difference, "mean_error_1e8": found.mean_error_1e8},
    }


def _numbers(sampled: Sampled, shortfall_1e8: int, sizing: Sizing) -> dict[str, int]:
    return {
        **{name: getattr(sampled.forecast, name) for name in MEASURES},
        "shortfall_1e8": shortfall_1e8,
        "target_exposure_bp": sizing.target_exposure_bp,
        "lots": sizing.delta_qty,
    }


def _shortfall(sampled: Sampled) -> int:
    return shortfall_of([-path[-1] for path in sampled.moves_1e8()])[0]
