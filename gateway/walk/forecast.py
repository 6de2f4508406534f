"""forecast(): one forecast from snapshot to target and twins, in a stream of its own.

    snapshot -> request -> rounds -> forecast and twins -> seal

It belongs to its inputs and to no decision: whoever has the same inputs gets the same forecast, and
a thread that asks while another makes it waits for it. An attempt rises only after a recorded
failure, and every attempt has the seeds' root of the first one, so nobody draws until it fits.

Not here: what a step computes (`inference`), what a record contains (`journal`), what is read of a
forecast (`projections.forecasts`). A crash at any comment below leaves an attempt without a seal,
which the next attempt or the next start seals as abandoned.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import pairwise
from typing import Protocol

from audit.records.record import Draft
from gateway.walk.failpoints import reach
from gateway.walk.journal import forecast as journal
from gateway.walk.journal.decision import ForecastNamed
from gateway.walk.ports import Begun, Forecasting, LedgerPort, SamplingPlan, Tags, Tools
from gateway.walk.projections.forecasts import (
    ForecastHistory,
    ForecastsOnRecord,
    StandingForecast,
    standing_of,
)
from gateway.walk.sampled.gjr import GjrTwin, gjr_twin
from gateway.walk.sampled.news import NewsTwin, made_twin, missing_twin, sampled_beside
from gateway.walk.sampled.planning import (
    Planned,
    occasion_of,
    path_terms,
    planned,
    template_permitted,
    trajectory_policy,
)
from gateway.walk.section import Section
from inference.codec.prompt import Prompt
from inference.engine.port import EngineDescription, SampleRequest
from inference.errors import CaptureError, CodecError, EngineBusyError, EngineError, ForecastError
from inference.forecast.direct import sample_direct
from inference.forecast.forecast import ForecastSource, Sampled
from inference.forecast.modes import Sampler
from inference.forecast.target import sample_target
from inference.snapshot import Snapshot
from inference.speculation.condense import condense
from inference.speculation.direct_bytes import decode_direct
from inference.speculation.evidence_bytes import encode_evidence
from inference.speculation.rounds import DrafterKind
from inference.speculation.seeds import decision_seed, prompt_label, trajectory_seeds
from risk.policy.policy import Policy
from risk.state.instrument import Instrument
from risk.state.paths.marginal import Marginal
from risk.state.state import Stop


@dataclass(slots=True, kw_only=True)
class _Asking:
    """What a forecast is asked from; twins are begun once its request is on record."""

    own: Forecasting
    prompt: Prompt
    blank: Prompt | None
    root: bytes
    size: int
    seed: bytes
    described: EngineDescription | EngineError
    table: Begun[Sampled] | None = None
    gjr: Begun[GjrTwin] | None = None

    def drop(self) -> None:
        """Leave no work behind: what nobody waits for is not begun."""
        for one in (self.table, self.gjr):
            if one is not None:
                one.drop()


class ForecastInputs(Protocol):
    """What a forecast is wanted of; a `Case` has it."""

    @property
    def tags(self) -> Tags:
        """The run; its account is not read."""
        ...

    @property
    def instrument(self) -> Instrument:
        """The instrument."""
        ...

    @property
    def snapshot(self) -> Snapshot:
        """Its bars and news."""
        ...

    @property
    def stood(self) -> str | None:
        """What stood right before the snapshot was taken; None if nobody looked."""
        ...


def forecast(
    wanted: ForecastInputs, tools: Tools, section: Section
) -> StandingForecast | ForecastNamed:
    """Return the forecast of these inputs, made now unless it stands; or why there is none.

    Raises:
        audit.errors.AuditError: when the ledger cannot take a record.
    """
    try:
        prompt = tools.codec.encode(wanted.snapshot)
    except CodecError as error:
        return ForecastNamed(missing="snapshot_refused", detail=str(error))
    inputs = journal.inputs_of(
        wanted.snapshot,
        prompt,
        model=tools.model,
        table=tools.table.digest,
        terms=path_terms(section.policy),
        secure=Stop.SECURE in section.stops_now(),
    )
    own = Forecasting(
        forecast_id=journal.forecast_id(inputs),
        attempt=0,
        tags=replace(wanted.tags, account=""),
        instrument=wanted.instrument,
        snapshot=wanted.snapshot,
        inputs=inputs,
    )
    known, symbol = section.forecasts, own.instrument.symbol
    stood = known.stands(symbol) if wanted.stood is None else wanted.stood
    with known.one_maker(own.forecast_id, 2 * tools.plan.deadline_s) as first:
        if not first:
            late = "another decision's wish for the same forecast is not done in time"
            return ForecastNamed(missing=EngineBusyError.code, detail=late)
        standing, described = known.standing(own.forecast_id), _described(tools)
        newer = _listed_since(stood, own, known)
        if newer is not None and _serves(newer, described, section.policy):
            return newer
        if standing is not None and _serves(standing, described, section.policy):
            _stand(standing, stood, own, tools, section)
            return standing
        return _attempt(own, prompt, described, tools, section)


def _listed_since(
    stood: str, own: Forecasting, known: ForecastsOnRecord
) -> StandingForecast | None:
    """Return a forecast that stands since these inputs were looked at: it is of newer ones."""
    stands = known.stands(own.instrument.symbol)
    return None if stands in {stood, own.forecast_id} else known.standing(stands)


def _described(tools: Tools) -> EngineDescription | EngineError:
    """Return what serves, or why nothing does."""
    try:
        return tools.engine.describe()
    except EngineError as error:
        return error


def _serves(
    standing: StandingForecast, described: EngineDescription | EngineError, policy: Policy
) -> bool:
    """Return whether a forecast is the best there is.

    The table's own is that only while no engine is there, under a policy that permits it.
    """
    if standing.target.source is not ForecastSource.TABLE:
        return True
    return isinstance(described, EngineError) and template_permitted(policy)


def seal_open_forecasts(ledger: LedgerPort, known: ForecastsOnRecord, mode: str) -> int:
    """Seal the attempts that a crash left open, as abandoned; return how many."""
    open_attempts = tuple(known.open_attempts())
    for forecast_id, attempt, instrument in open_attempts:
        ledger.append(*journal.forecast_abandoned(forecast_id, attempt, instrument, mode))
    return len(open_attempts)


def _stand(
    standing: StandingForecast, stood: str, own: Forecasting, tools: Tools, section: Section
) -> None:
    """Record that a forecast stands again, where inputs that were left came back.

    `stood` is what stood when these inputs were looked at; what stands since then is of newer ones.
    """
    known, symbol = section.forecasts, own.instrument.symbol
    if stood == own.forecast_id:
        return
    with known.naming(symbol, tools.ledger):
        before = known.attempts(own.forecast_id)
        if before is None or known.stands(symbol) != stood:
            return
        own = replace(own, attempt=standing.named.forecast_attempt)
        tools.ledger.append(journal.forecast_listed(own, journal.AGAIN, again=before.again + 1))


def _attempt(
    own: Forecasting,
    prompt: Prompt,
    described: EngineDescription | EngineError,
    tools: Tools,
    section: Section,
) -> StandingForecast | ForecastNamed:
    """Open the next attempt and make it, and leave nothing of it behind, however it ends."""
    before = section.forecasts.attempts(own.forecast_id)
    own = _numbered(own, before)
    blob = tools.ledger.put_blob(journal.snapshot_bytes(own.snapshot))
    left = [] if before is None or not before.open else [replace(own, attempt=own.attempt - 1)]
    *_, opened, _ = tools.ledger.append(
        *(draft for one in left for draft in _ended(one, journal.ABANDONED)),
        journal.snapshot_taken(own, blob, section.policy_named),
        journal.forecast_listed(own, journal.OPENED),
    )
    reach("forecast.opened")  # a crash here leaves inputs on record and no seed
    first = opened.seq if before is None else before.first_seq
    own = replace(own, opened_seq=first)
    root, size = tools.seed_root(first)
    asking = _Asking(
        own=own,
        prompt=prompt,
        blank=tools.codec.encode_without_news(own.snapshot),
        root=root,
        size=size,
        seed=decision_seed(root, prompt_label(prompt.token_ids), own.attempt),
        described=described,
    )
    try:
        return _sampled(asking, tools, section)
    finally:
        asking.drop()


def _ended(own: Forecasting, outcome: str) -> tuple[Draft, Draft]:
    """Return the seal of an attempt, and its line of the index."""
    return journal.forecast_sealed(own, outcome), journal.forecast_listed(own, outcome)


def _numbered(own: Forecasting, before: ForecastHistory | None) -> Forecasting:
    return own if before is None else replace(own, attempt=before.count)


def _sampled(asking: _Asking, tools: Tools, section: Section) -> StandingForecast | ForecastNamed:
    """Sample, capture and summarise; a failure is recorded.

    It ends the attempt, unless the policy lets the table answer alone.
    """
    own, prompt = asking.own, asking.prompt
    try:
        if isinstance(asking.described, EngineError):
            raise asking.described
        request, how = _requested(asking, tools, section, asking.described)
        if request is None:
            return _drawn(asking, tools, section, how.plan)
        samples, beside = sampled_beside(tools.engine, request, asking.blank)
        evidence = condense(samples.capture, tools.table)
    except (EngineError, CaptureError) as error:
        return _engine_away(asking, tools, section, error)
    kept = encode_evidence(evidence)
    blob = tools.ledger.put_blob(kept)
    tools.ledger.append(
        journal.rounds_captured(
            own, evidence, elapsed_us=samples.elapsed_us, blob=blob, size_bytes=len(kept)
        )
    )
    reach("forecast.sampled")  # a crash here leaves the draft and target states on record
    try:
        target = sample_target(
            evidence,
            codec=tools.codec,
            prompt=prompt,
            snapshot=own.snapshot,
            seed=asking.seed,
            table=tools.table,
            model_digest=asking.described.model_digest,
            capture_digest=blob,
            policy=trajectory_policy(section.policy),
        )
        twins = _twins(asking)
    except ForecastError as error:
        return _failed(asking, tools, error.code, f"{error}; {_largest_move(own.snapshot)}")
    news = made_twin(
        own, tools, asking.blank, beside, own=target, seed=asking.seed, policy=section.policy
    )
    return _made(asking, tools, section, (target, *twins), news)


def _drawn(
    asking: _Asking, tools: Tools, section: Section, plan: SamplingPlan
) -> StandingForecast | ForecastNamed:
    """Draw the forecast from the model's rows by state; its capture is on record before it."""
    own = asking.own
    try:
        drawn = sample_direct(
            codec=tools.codec,
            prompt=asking.prompt,
            snapshot=own.snapshot,
            seed=asking.seed,
            plan=plan,
            table=tools.table,
            model_digest=tools.model,
            policy=trajectory_policy(section.policy),
        )
        capture = decode_direct(drawn.capture)
        blob, size = tools.ledger.put_blob(drawn.capture), len(drawn.capture)
        tools.ledger.append(journal.tokens_drawn(own, capture, blob=blob, size=size))
        reach("forecast.sampled")  # a crash here leaves draws on record that make no forecast yet
        twins = _twins(asking)
    except (CaptureError, ForecastError) as error:
        return _failed(asking, tools, error.code, f"{error}; {_largest_move(own.snapshot)}")
    return _made(asking, tools, section, (drawn.sampled, *twins), None)


def _requested(
    asking: _Asking, tools: Tools, section: Section, described: EngineDescription | None
) -> tuple[SampleRequest | None, Planned]:
    """Record what will be sampled, and return what the engine is asked, if it is.

    A forecast that is drawn directly asks nobody. Without an engine nobody is asked.
    """
    own, known = asking.own, section.forecasts
    first = known.stood(own.instrument.symbol, own.opened_seq or 0) is None
    occasion = occasion_of(own, asking.prompt, asking.blank, section.looked, first=first)
    how = planned(own, section.policy, tools.plan, described, occasion)
    terms = journal.RequestTerms(
        sampler=how.sampler,
        paths=how.plan.paths,
        n_tokens=tools.codec.tokens_for(how.plan.horizon),
        spec_k=how.plan.spec_k,
        allowed_range=(tools.codec.bin_start, tools.codec.bin_start + tools.codec.n_bins),
        deadline_ms=int(how.plan.deadline_s * 1_000),
    )
    request = None
    if how.sampler is Sampler.ENGINE:
        request = SampleRequest(
            request_id=own.name,
            prompt_ids=asking.prompt.token_ids,
            n_tokens=terms.n_tokens,
            seeds=trajectory_seeds(asking.seed, terms.paths),
            spec_k=terms.spec_k,
            allowed_range=terms.allowed_range,
            deadline_s=how.plan.deadline_s,
            draft_first=terms.spec_k > 0,
        )
        terms = journal.RequestTerms.of(request)
    drafting = DrafterKind.NONE if described is None or request is None else described.drafter
    tools.ledger.append(
        *how.records,
        journal.forecast_requested(
            own,
            asking.prompt,
            terms,
            root=asking.root,
            size=asking.size,
            drafter=drafting.value,
            news_twin=journal.news_twin_named(asking.blank),
        ),
    )
    snapshot, prompt, seed, policy = own.snapshot, asking.prompt, asking.seed, section.policy
    dropped = trajectory_policy(policy)
    asking.table = tools.meanwhile(
        lambda: tools.placebo.sample(
            snapshot=snapshot, prompt=prompt, seed=seed, plan=how.plan, policy=dropped
        )
    )
    asking.gjr = tools.meanwhile(partial(gjr_twin, own, prompt, seed, how.plan, policy))
    reach("forecast.requested")  # a crash here leaves a counted attempt with its seeds
    return request, how


def _twins(asking: _Asking) -> tuple[Sampled, GjrTwin]:
    """Wait for the twins that were begun with the request.

    Raises:
        ForecastError: the table's paths cannot be stated, or one took too long.
    """
    if asking.table is None or asking.gjr is None:
        raise AssertionError("a twin is awaited after the request was recorded")
    return asking.table.result(), asking.gjr.result()


def _engine_away(
    asking: _Asking, tools: Tools, section: Section, error: EngineError | CaptureError
) -> StandingForecast | ForecastNamed:
    """Record the engine's failure; let the table answer alone if the policy permits it."""
    if not template_permitted(section.policy):
        return _failed(asking, tools, error.code, str(error))
    if asking.table is None:
        _requested(asking, tools, section, None)
    try:
        table, gjr = _twins(asking)
    except ForecastError:
        return _failed(asking, tools, error.code, str(error))
    tools.ledger.append(journal.forecast_failed(asking.own, reason=error.code, detail=str(error)))
    news = missing_twin(asking.own, asking.blank, error)
    return _made(asking, tools, section, (table, table, gjr), news)


def _made(
    asking: _Asking,
    tools: Tools,
    section: Section,
    made: tuple[Sampled, Sampled, GjrTwin],
    news: NewsTwin | None,
) -> StandingForecast:
    """Record the forecasts of target and twins, under format 2 with their paths, and the seal."""
    own, (*both, gjr), marginals = asking.own, made, list[Marginal]()
    if section.policy.families is not None:
        marginals = [journal.marginal_of(own.snapshot, one) for one in both]
    blobs = [tools.ledger.put_blob(journal.marginal_bytes(one)) for one in marginals]
    paths, table_paths = blobs or ("", "")
    verdicts = ""
    if trajectory_policy(section.policy) is not None:
        verdicts = tools.ledger.put_blob(journal.verdicts_bytes(both[0]))
    if gjr.paths:
        tools.ledger.put_blob(gjr.paths)
    target, placebo = (one.forecast for one in both)
    known = section.forecasts
    with known.naming(own.instrument.symbol, tools.ledger):
        tools.ledger.append(
            journal.forecast_made(own, target, paths, verdicts),
            journal.placebo_made(own, placebo, table_paths),
            gjr.record,
            *(() if news is None else (news.record,)),
            *_ended(own, journal.MADE),
        )
    reach("forecast.made")  # a crash here leaves a forecast that the next start finds standing
    return known.keep(standing_of(known.reader.records(stream=own.stream), known.reader.blob))


def _failed(asking: _Asking, tools: Tools, reason: str, detail: str) -> ForecastNamed:
    """Record that the attempt made no forecast, and seal it."""
    own = asking.own
    tools.ledger.append(
        journal.forecast_failed(own, reason=reason, detail=detail),
        *_ended(own, journal.FAILED),
    )
    return ForecastNamed(
        forecast_id=own.forecast_id, forecast_attempt=own.attempt, missing=reason, detail=detail
    )


def _largest_move(snapshot: Snapshot) -> str:
    """Return where the largest move of the bars is, for the operator: a wrong bar is seen there."""
    moves = ((max(p) / min(p), p, at) for p, at in _closes(snapshot))
    _, (before, after), at_us = max(moves, default=(0.0, (0, 0), 0))
    if not at_us:
        return "it has one bar"
    at = datetime.fromtimestamp(at_us / 1e6, tz=UTC).isoformat(timespec="seconds")
    return f"look at its bars: the largest move is from close {before} to {after} ticks, at {at}"


def _closes(snapshot: Snapshot) -> Iterator[tuple[tuple[int, int], int]]:
    """Yield each close with the one before it, ticks, and its time."""
    for before, bar in pairwise(snapshot.bars):
        yield (before.close_ticks, bar.close_ticks), bar.close_time_us
