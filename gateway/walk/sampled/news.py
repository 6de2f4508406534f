"""The news twin: the same forecast with the narrative blanked, and what words did to the decision.

The twin has the target, the seeds, the look-ahead and the numbers of the forecast itself;
only its narrative words are those of a day without news. It is sampled in the same engine batch
and, in each decision, sized on the same book, quote and other paths, so each difference is the
words' work. It is never sent. Numbers that a calendar tells beforehand are not narrative: they stay
in the twin.

Rules:
- A forecast without news asks for no twin, and says so.
- A twin that fails costs the forecast nothing: it goes on, and its record says what is missing.

Not here: what the target adds to the table (`placebo`).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256

from audit.records.canonical import JSON
from audit.records.kinds import Kind
from audit.records.record import Draft
from gateway.walk.journal import forecast as journal
from gateway.walk.journal.decision import Words
from gateway.walk.ports import Case, Forecasting, Tools
from gateway.walk.projections.forecasts import StandingForecast
from gateway.walk.sampled.joint import Joining
from gateway.walk.sampled.planning import trajectory_policy
from inference.codec.codec import ReturnCodec
from inference.codec.prompt import Prompt
from inference.engine.port import Engine, SampleRequest, Samples
from inference.errors import CaptureError, EngineError, ForecastError
from inference.forecast.forecast import Forecast, Sampled, paired_error_1e8
from inference.forecast.target import sample_target
from inference.speculation.condense import condense
from inference.speculation.evidence import Evidence
from inference.speculation.evidence_bytes import encode_evidence
from inference.speculation.rounds import QTable
from risk.forms.documents import value_of
from risk.policy.policy import Policy
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
    """What stands on record of a forecast's news twin, or why there is none.

    `paths` are its paths as canonical bytes; empty if there is none, or under a policy of format 1.
    """

    record: Draft
    paths: bytes = b""


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
    asked: Forecasting,
    tools: Tools,
    blank: Prompt | None,
    beside: Beside,
    *,
    own: Sampled,
    seed: bytes,
    policy: Policy,
) -> NewsTwin | None:
    """Return the twin with its record, its rounds and paths stored; None if none was asked for."""
    if blank is None or beside is None:
        return None
    try:
        if isinstance(beside, EngineError):
            raise beside
        evidence = condense(beside.capture, tools.table)
        kept = encode_evidence(evidence)
        twin = twin_of(
            asked,
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
        return missing_twin(asked, blank, error)
    if twin.paths:
        tools.ledger.put_blob(twin.paths)
    return twin


def missing_twin(
    asked: Forecasting, blank: Prompt | None, error: EngineError | CaptureError | ForecastError
) -> NewsTwin | None:
    """Return that there is no twin because something failed; None where none was asked for."""
    if blank is None:
        return None
    record = journal.news_twin_missing(asked, blank, reason=error.code, detail=str(error))
    return NewsTwin(record=record)


def twin_of(  # noqa: PLR0913 - all that determines it; a replay calls this too
    asked: Forecasting,
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
    policy: Policy,
) -> NewsTwin:
    """Return the twin that follows from its rounds.

    Raises:
        ForecastError: as in `make_forecast`, or a path's number does not fit.
    """
    twin = sample_target(
        evidence,
        codec=codec,
        prompt=blank,
        snapshot=asked.snapshot,
        seed=seed,
        table=table,
        model_digest=own.forecast.model_digest,
        capture_digest=blob,
        policy=trajectory_policy(policy),
    )
    paths = b""
    if policy.families is not None:
        paths = journal.marginal_bytes(journal.marginal_of(asked.snapshot, twin))
    record = journal.news_twin_made(
        asked,
        blank,
        evidence,
        twin.forecast,
        elapsed_us=elapsed_us,
        blob=blob,
        size_bytes=size_bytes,
        compared={
            **({"paths_blob": sha256(paths).hexdigest()} if paths else {}),
            "own_shortfall_1e8": _shortfall(own),
            "shortfall_1e8": _shortfall(twin),
            "mean_error_1e8": paired_error_1e8(own, twin),
        },
    )
    return NewsTwin(record=record, paths=paths)


def what_words_did(
    case: Case,
    forecast: StandingForecast,
    sizing: Sizing,
    book: Book,
    quote: Quote,
    joining: Callable[[StandingForecast, Kind, Case], Joining],
) -> Words:
    """Return what the narrative changed in a decision, for its record.

    `sizing` is the decision's own; `joining` joins paths with those of the rest of the book.
    """
    twin = forecast.news
    if twin is None:
        return {"result": journal.NO_NEWS}
    if twin.forecast is None:
        return {"result": "missing", "reason": twin.missing}
    joined = joining(forecast, Kind.NEWS_TWIN_MADE, case)(book)
    blanked = value_of(Forecast, twin.forecast)
    blank = case.propose(blanked, book, quote, None if joined is None else joined.paths)
    own, other = twin.own_shortfall_1e8 or 0, twin.shortfall_1e8 or 0
    heard = _numbers(forecast.target, own, sizing)
    unheard = _numbers(blanked, other, blank)
    difference: dict[str, JSON] = {name: heard[name] - unheard[name] for name in heard}
    return {
        "result": "measured",
        "heard": {**heard},
        "blanked": {**unheard},
        "difference": {**difference, "mean_error_1e8": twin.mean_error_1e8},
    }


def _numbers(forecast: Forecast, shortfall_1e8: int, sizing: Sizing) -> dict[str, int]:
    return {
        **{name: getattr(forecast, name) for name in MEASURES},
        "shortfall_1e8": shortfall_1e8,
        "target_exposure_bp": sizing.target_exposure_bp,
        "lots": sizing.delta_qty,
    }


def _shortfall(sampled: Sampled) -> int:
    return shortfall_of([-path[-1] for path in sampled.moves_1e8()])[0]
