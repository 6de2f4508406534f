"""decide(): one decision from snapshot to verdict, with an append between every two steps.

Not here: what a step computes (`inference`, `risk`), what a record contains (`journal`), sending
(`dispatch`). Every append stands before the effect that it announces. A crash at any comment below
leaves an unsealed decision without an order; recovery seals it as abandoned.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from itertools import pairwise

from audit.records.record import Draft
from gateway.walk.failpoints import reach
from gateway.walk.journal import decision as journal
from gateway.walk.journal import forecast as journal_forecasts
from gateway.walk.journal import verdict as journal_verdicts
from gateway.walk.ports import Begun, Case, Judged, Tick, Tools
from gateway.walk.projections.book import Twin
from gateway.walk.sampled.gjr import GjrTwin, gjr_twin, paths_of_gjr
from gateway.walk.sampled.joining import Joining, OwnPaths
from gateway.walk.sampled.news import (
    NewsTwin,
    made_twin,
    missing_twin,
    paths_of_twin,
    sampled_beside,
    what_words_did,
)
from gateway.walk.sampled.placebo import judge_twin
from gateway.walk.sampled.planning import planned, template_permitted, trajectory_policy
from gateway.walk.section import Section
from inference.codec.prompt import Prompt
from inference.engine.port import EngineDescription, SampleRequest
from inference.errors import CaptureError, CodecError, EngineError, ForecastError
from inference.forecast.forecast import Forecast, Sampled
from inference.forecast.target import sample_target
from inference.snapshot import Snapshot
from inference.speculation.condense import condense
from inference.speculation.evidence_bytes import encode_evidence
from inference.speculation.rounds import DrafterKind
from inference.speculation.seeds import decision_seed, trajectory_seeds
from risk.approved import Approval
from risk.intent import Intent
from risk.state.paths.marginal import Marginal
from risk.state.state import Stop


class Result(StrEnum):
    """How a decision ended, as far as `decide` goes."""

    APPROVED = "approved"
    HELD = "held"
    REJECTED = "rejected"
    NO_TRADE = "no_trade"
    NO_FORECAST = "no_forecast"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What `decide` returns; `sampled_us` is the wall time of the engine call, microseconds."""

    decision_id: str
    result: Result
    forecast: Forecast | None = None
    placebo: Forecast | None = None
    judged: Judged | None = None
    sampled_us: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Forecasts:
    target: Forecast
    placebo: Forecast
    gjr: GjrTwin
    news: NewsTwin | None
    sampled_us: int
    join: Joining
    join_placebo: Joining
    join_gjr: Joining
    join_news: Joining


@dataclass(slots=True, kw_only=True)
class _Asking:
    """What a forecast is asked from; twins are begun once its request is on record."""

    case: Case
    prompt: Prompt
    blank: Prompt | None
    root: bytes
    size: int
    seed: bytes
    table: Begun[Sampled] | None = None
    gjr: Begun[GjrTwin] | None = None

    def drop(self) -> None:
        """Leave no work behind: what nobody waits for is not begun."""
        for one in (self.table, self.gjr):
            if one is not None:
                one.drop()


def decide(case: Case, tools: Tools, section: Section) -> Decision:
    """Make one decision; record every step.

    Raises:
        audit.errors.AuditError: when the ledger cannot take a record; nothing is sent.
    """
    try:
        prompt = tools.codec.encode(case.snapshot)
    except CodecError as error:
        return _no_forecast(case, tools, section, reason="snapshot_refused", detail=str(error))
    snapshot_blob = tools.ledger.put_blob(journal_forecasts.snapshot_bytes(case.snapshot))
    (taken,) = tools.ledger.append(
        journal_forecasts.snapshot_taken(case, snapshot_blob, section.policy_named)
    )
    if case.opened_seq is None:
        case = replace(case, opened_seq=taken.seq)
    reach("decide.snapshot_taken")  # a crash here leaves inputs on record and no seed

    forecasts = _forecast(case, tools, section, prompt)
    if not isinstance(forecasts, _Forecasts):
        return forecasts
    reach("decide.forecast_made")  # a crash here leaves a forecast nobody acted on

    tick = case.tick()
    book = section.book(case.tags.account)
    case = replace(case, joined=forecasts.join(book))
    sizing = case.propose(forecasts.target, book, tick.quote, case.book_paths)
    tools.ledger.append(
        journal.quote_taken(case, tick.quote),
        *_twins_judged(case, section, forecasts, tick),
    )
    reach("decide.quote_taken")  # a crash here leaves a priced market and no intent
    intent = case.intent_of(sizing)
    words = what_words_did(case, forecasts.news, sizing, book, tick.quote, forecasts.join_news)
    tools.ledger.append(journal.intent_proposed(case, sizing, intent, book, words))
    reach("decide.intent_proposed")  # a crash here leaves a wish that no rule has judged
    return _judge(case, tools, section, forecasts, tick, intent)


def _twins_judged(
    case: Case, section: Section, forecasts: _Forecasts, tick: Tick
) -> Iterator[Draft]:
    yield judge_twin(Twin.PLACEBO, case, section, forecasts.placebo, tick, forecasts.join_placebo)
    if forecasts.gjr.forecast is not None:
        yield judge_twin(Twin.GJR, case, section, forecasts.gjr.forecast, tick, forecasts.join_gjr)


def renew(case: Case, tools: Tools, section: Section, approval: Approval) -> Decision:
    """Forecast, price and judge a held decision again, after a person agreed to it."""
    prompt = tools.codec.encode(case.snapshot)
    forecasts = _forecast(case, tools, section, prompt)
    if not isinstance(forecasts, _Forecasts):
        return forecasts
    tick = case.tick()
    book = section.book_without(case.tags.account, case.decision_id)
    case = replace(case, joined=forecasts.join(book))
    sizing = case.propose(forecasts.target, book, tick.quote, case.book_paths)
    intent = case.intent_of(sizing)
    if intent is None:
        return Decision(decision_id=case.decision_id, result=Result.NO_TRADE)
    words = what_words_did(case, forecasts.news, sizing, book, tick.quote, forecasts.join_news)
    tools.ledger.append(journal.renewed(case, tick.quote, sizing, intent, book, words))
    judged = section.judge(case, intent, forecasts.target, tick, approval=approval)
    return _made(case, Result(judged.result), forecasts, judged)


def _forecast(case: Case, tools: Tools, section: Section, prompt: Prompt) -> _Forecasts | Decision:
    """Ask, and leave nothing of it behind, however it ends; see `_sampled`."""
    if case.opened_seq is None:
        raise AssertionError("a seed is asked for after the decision was opened")
    root, size = tools.seed_root(case.opened_seq)
    asking = _Asking(
        case=case,
        prompt=prompt,
        blank=tools.codec.encode_without_news(case.snapshot),
        root=root,
        size=size,
        seed=decision_seed(root, case.decision_id, case.attempt),
    )
    try:
        return _sampled(asking, tools, section)
    finally:
        asking.drop()


def _sampled(asking: _Asking, tools: Tools, section: Section) -> _Forecasts | Decision:
    """Sample, capture and summarise; a failure is recorded.

    It ends the decision, unless the policy lets the table answer alone.
    """
    case, prompt = asking.case, asking.prompt
    try:
        described = tools.engine.describe()
        request = _requested(asking, tools, section, described)
        samples, beside = sampled_beside(tools.engine, request, asking.blank)
        evidence = condense(samples.capture, tools.table)
    except (EngineError, CaptureError) as error:
        return _engine_away(asking, tools, section, error)
    kept = encode_evidence(evidence)
    blob = tools.ledger.put_blob(kept)
    tools.ledger.append(
        journal_forecasts.rounds_captured(
            case, evidence, elapsed_us=samples.elapsed_us, blob=blob, size_bytes=len(kept)
        )
    )
    reach("decide.sampled")  # a crash here leaves the draft and target states on record
    try:
        target = sample_target(
            evidence,
            codec=tools.codec,
            prompt=prompt,
            snapshot=case.snapshot,
            seed=asking.seed,
            table=tools.table,
            model_digest=described.model_digest,
            capture_digest=blob,
            policy=trajectory_policy(section.policy),
        )
        twins = _twins(asking)
    except ForecastError as error:
        return _no_forecast(case, tools, section, reason=error.code, detail=str(error))
    news = made_twin(
        case,
        tools,
        asking.blank,
        beside,
        own=target,
        seed=asking.seed,
        policy=trajectory_policy(section.policy),
    )
    return _forecasts_made(asking, tools, section, (target, *twins), news, samples.elapsed_us)


def _requested(
    asking: _Asking, tools: Tools, section: Section, described: EngineDescription | None
) -> SampleRequest:
    """Record what the engine will be asked, and return it; without an engine nobody is asked."""
    case = asking.case
    secure = Stop.SECURE in section.stops_now()
    how = planned(case, section.policy, tools.plan, described, section.looked, secure=secure)
    request = SampleRequest(
        request_id=f"{case.decision_id}.{case.attempt}",
        prompt_ids=asking.prompt.token_ids,
        n_tokens=tools.codec.tokens_for(how.plan.horizon),
        seeds=trajectory_seeds(asking.seed, how.plan.paths),
        spec_k=how.plan.spec_k,
        allowed_range=(tools.codec.bin_start, tools.codec.bin_start + tools.codec.n_bins),
        deadline_s=how.plan.deadline_s,
        draft_first=how.plan.spec_k > 0,
    )
    tools.ledger.append(
        *how.records,
        journal_forecasts.forecast_requested(
            case,
            asking.prompt,
            request,
            root=asking.root,
            size=asking.size,
            drafter=(DrafterKind.NONE if described is None else described.drafter).value,
            news_twin=journal_forecasts.news_twin_named(asking.blank),
        ),
    )
    snapshot, prompt, seed, policy = case.snapshot, asking.prompt, asking.seed, section.policy
    dropped = trajectory_policy(policy)
    asking.table = tools.meanwhile(
        lambda: tools.placebo.sample(
            snapshot=snapshot, prompt=prompt, seed=seed, plan=how.plan, policy=dropped
        )
    )
    asking.gjr = tools.meanwhile(partial(gjr_twin, case, prompt, seed, how.plan, policy))
    reach("decide.forecast_requested")  # a crash here leaves a counted attempt with its seeds
    return request


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
) -> _Forecasts | Decision:
    """Record the engine's failure; let the table answer alone if the policy permits it."""
    case = asking.case
    if not template_permitted(section.policy):
        return _no_forecast(case, tools, section, reason=error.code, detail=str(error))
    if asking.table is None:
        _requested(asking, tools, section, None)
    try:
        table, gjr = _twins(asking)
    except ForecastError:
        return _no_forecast(case, tools, section, reason=error.code, detail=str(error))
    tools.ledger.append(
        journal_forecasts.forecast_failed(case, reason=error.code, detail=str(error))
    )
    return _forecasts_made(
        asking, tools, section, (table, table, gjr), missing_twin(case, asking.blank, error), 0
    )


def _forecasts_made(
    asking: _Asking,
    tools: Tools,
    section: Section,
    made: tuple[Sampled, Sampled, GjrTwin],
    news: NewsTwin | None,
    sampled_us: int,
) -> _Forecasts:
    """Record the forecasts of target and twins; under format 2 with their paths."""
    case, (*both, gjr), marginals = asking.case, made, list[Marginal]()
    if section.policy.families is not None:
        marginals = [journal_forecasts.marginal_of(case.snapshot, one) for one in both]
    blobs = [tools.ledger.put_blob(journal_forecasts.marginal_bytes(one)) for one in marginals]
    paths, table_paths = blobs or ("", "")
    verdicts = ""
    if trajectory_policy(section.policy) is not None:
        verdicts = tools.ledger.put_blob(journal_forecasts.verdicts_bytes(both[0]))
    if gjr.paths:
        tools.ledger.put_blob(gjr.paths)
    target, placebo = (one.forecast for one in both)
    records = tools.ledger.append(
        journal_forecasts.forecast_made(case, target, paths, verdicts),
        journal_forecasts.placebo_made(case, placebo, table_paths),
        gjr.record,
        *(() if news is None else (news.record,)),
    )
    own = [
        OwnPaths(kind=record.kind, seq=records[0].seq, marginal=marginal)
        for record, marginal in zip(records, marginals, strict=False)
    ]
    join, join_placebo = map(section.paths.joining, own or (None, None))
    beside = own[0] if own else None
    return _Forecasts(
        target=target,
        placebo=placebo,
        gjr=gjr,
        join_gjr=section.paths.joining(paths_of_gjr(gjr, records[0].seq)),
        news=news,
        join_news=section.paths.joining(paths_of_twin(case, news, beside)),
        sampled_us=sampled_us,
        join=join,
        join_placebo=join_placebo,
    )


def _judge(
    case: Case,
    tools: Tools,
    section: Section,
    forecasts: _Forecasts,
    tick: Tick,
    intent: Intent | None,
) -> Decision:
    """Take an intent through the section, or seal a decision that has none."""
    if intent is None:
        tools.ledger.append(_unjudged(case, section, Result.NO_TRADE))
        return _made(case, Result.NO_TRADE, forecasts)
    judged = section.judge(case, intent, forecasts.target, tick)
    reach("decide.verdict_given")  # a crash here leaves an approval that recovery finds unsent
    result = Result(judged.result)
    if result is Result.HELD:
        tools.ledger.append(
            journal_verdicts.approval_requested(
                case,
                judged.record,
                intent,
                until=journal_verdicts.asked_until(
                    section.policy, intent, judged.verdict, section.hold_end_us(judged.record)
                ),
            )
        )
    elif result is Result.REJECTED:
        seal = journal.decision_sealed(case.stream, Result.REJECTED, mode=case.tags.mode)
        tools.ledger.append(seal)
    return _made(case, result, forecasts, judged)


def _made(
    case: Case, result: Result, forecasts: _Forecasts, judged: Judged | None = None
) -> Decision:
    return Decision(
        decision_id=case.decision_id,
        result=result,
        forecast=forecasts.target,
        placebo=forecasts.placebo,
        judged=judged,
        sampled_us=forecasts.sampled_us,
    )


def _unjudged(case: Case, section: Section, result: Result) -> Draft:
    """Return the seal of a decision that no rule judged; it names the policy in force."""
    return journal.decision_sealed(
        case.stream, result, mode=case.tags.mode, policy=section.policy_named
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


def _no_forecast(
    case: Case, tools: Tools, section: Section, *, reason: str, detail: str
) -> Decision:
    """Record that there is no forecast, and seal the decision.

    A renewal (attempt above 0) is sealed by the end of its hold, which also frees its reservation.
    """
    if reason == ForecastError.code:
        detail = f"{detail}; {_largest_move(case.snapshot)}"
    drafts = [journal_forecasts.forecast_failed(case, reason=reason, detail=detail)]
    if case.attempt == 0:
        drafts.append(_unjudged(case, section, Result.NO_FORECAST))
    tools.ledger.append(*drafts)
    return Decision(decision_id=case.decision_id, result=Result.NO_FORECAST)
