"""decide(): one decision from forecast, quote and book to verdict, with an append between steps.

Not here: the forecast (`forecast`), what a step computes (`inference`, `risk`), what a record
contains (`journal`), sending (`dispatch`). Every append stands before the effect that it announces.
A crash at any comment below leaves an unsealed decision without an order; recovery seals it as
abandoned.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from audit.records.kinds import Kind
from audit.records.record import Draft
from audit.sequencer.ledger import HERE
from gateway.walk.failpoints import reach
from gateway.walk.forecast import forecast
from gateway.walk.journal import decision as journal
from gateway.walk.journal import verdict as journal_verdicts
from gateway.walk.journal.decision import ForecastNamed
from gateway.walk.ports import Case, Judged, Tick, Tools
from gateway.walk.projections.book import Twin
from gateway.walk.projections.forecasts import StandingForecast
from gateway.walk.sampled.news import what_words_did
from gateway.walk.sampled.placebo import judge_twin
from gateway.walk.section import Section
from inference.forecast.forecast import Forecast
from risk.approved import Approval
from risk.intent import Intent
from risk.state.book import Book


class Result(StrEnum):
    """How a decision ended, as far as `decide` goes."""

    APPROVED = "approved"
    HELD = "held"
    REJECTED = "rejected"
    NO_TRADE = "no_trade"
    NO_FORECAST = "no_forecast"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What `decide` returns."""

    decision_id: str
    result: Result
    forecast: Forecast | None = None
    placebo: Forecast | None = None
    judged: Judged | None = None


def decide(case: Case, tools: Tools, section: Section) -> Decision:
    """Make one decision; record every step.

    Raises:
        audit.errors.AuditError: when the ledger cannot take a record; nothing is sent.
    """
    found = forecast(case, tools, section)
    if isinstance(found, ForecastNamed):
        tools.ledger.append(
            journal.forecast_taken(case, found, section.policy_named),
            _unjudged(case, section, Result.NO_FORECAST),
        )
        return Decision(decision_id=case.decision_id, result=Result.NO_FORECAST)
    case, found = _taken(case, tools, section, found)
    reach("decide.forecast_taken")  # a crash here leaves a decision that nothing was priced for

    with section.deciding(case.tags.account):
        return _decided(case, tools, section, found)


def _decided(case: Case, tools: Tools, section: Section, found: StandingForecast) -> Decision:
    """Price, size and judge by a forecast that is named on record."""
    tick = case.tick()
    book = section.book(case.tags.account)
    case = _joined(case, section, found, book)
    sizing = case.propose(found.target, book, tick.quote, case.book_paths)
    intent = case.intent_of(sizing)
    words = what_words_did(case, found, sizing, book, tick.quote, section.paths.joining)
    unjudged = () if intent is not None else (_unjudged(case, section, Result.NO_TRADE),)
    tools.ledger.append(
        journal.quote_taken(case, tick.quote),
        *_twins_judged(case, section, found, tick),
        journal.intent_proposed(case, sizing, intent, book, words),
        *unjudged,
        hooks=HERE,
    )
    if intent is None:
        return _made(case, Result.NO_TRADE, found)
    reach("decide.intent_proposed")  # a crash here leaves a wish that no rule has judged
    return _judge(case, tools, section, found, tick, intent)


def _taken(
    case: Case, tools: Tools, section: Section, found: StandingForecast
) -> tuple[Case, StandingForecast]:
    """Name the forecast that stands, on record; it is a newer one if inputs came meanwhile."""
    known, symbol = section.forecasts, case.instrument.symbol
    with known.naming(symbol, tools.ledger):
        found = known.standing(known.stands(symbol)) or found
        policy = {} if case.attempt else section.policy_named
        draft = journal.forecast_taken(case, found.named, policy)
        (taken,) = tools.ledger.append(draft, hooks=HERE)
    return replace(case, taken_seq=taken.seq, snapshot=found.snapshot), found


def _joined(case: Case, section: Section, found: StandingForecast, book: Book) -> Case:
    """Return a case with its forecast's paths joined with those of the rest of the book."""
    join = section.paths.joining(found, Kind.FORECAST_MADE, case)
    return replace(case, joined=join(book))


def _twins_judged(
    case: Case, section: Section, found: StandingForecast, tick: Tick
) -> Iterator[Draft]:
    twins = (
        (Twin.PLACEBO, found.placebo, Kind.PLACEBO_MADE),
        (Twin.GJR, found.gjr, Kind.GJR_MADE),
    )
    for twin, made, kind in twins:
        if made is not None:
            join = section.paths.joining(found, kind, case)
            yield judge_twin(twin, case, section, made, tick, join)


def renew(case: Case, tools: Tools, section: Section, approval: Approval) -> Decision:
    """Price and judge a held decision again by the forecast of now, after a person agreed to it."""
    found = forecast(case, tools, section)
    if isinstance(found, ForecastNamed):
        tools.ledger.append(journal.forecast_taken(case, found))
        return Decision(decision_id=case.decision_id, result=Result.NO_FORECAST)
    case, found = _taken(case, tools, section, found)
    with section.deciding(case.tags.account):
        return _renewed(case, tools, section, found, approval)


def _renewed(
    case: Case, tools: Tools, section: Section, found: StandingForecast, approval: Approval
) -> Decision:
    """Price, size and judge a held decision by a forecast that is named on record."""
    tick = case.tick()
    book = section.book_without(case.tags.account, case.decision_id)
    case = _joined(case, section, found, book)
    sizing = case.propose(found.target, book, tick.quote, case.book_paths)
    intent = case.intent_of(sizing)
    if intent is None:
        return Decision(decision_id=case.decision_id, result=Result.NO_TRADE)
    words = what_words_did(case, found, sizing, book, tick.quote, section.paths.joining)
    tools.ledger.append(journal.renewed(case, tick.quote, sizing, intent, book, words))
    judged = section.judge(case, intent, found.target, tick, approval=approval)
    return _made(case, Result(judged.result), found, judged)


def _judge(
    case: Case,
    tools: Tools,
    section: Section,
    found: StandingForecast,
    tick: Tick,
    intent: Intent,
) -> Decision:
    """Take an intent through the section; a verdict that refuses it is committed with the seal."""
    seal = journal.decision_sealed(case.stream, Result.REJECTED, mode=case.tags.mode)
    judged = section.judge(case, intent, found.target, tick, if_rejected=seal)
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
    return _made(case, result, found, judged)


def _made(
    case: Case, result: Result, found: StandingForecast, judged: Judged | None = None
) -> Decision:
    return Decision(
        decision_id=case.decision_id,
        result=result,
        forecast=found.target,
        placebo=found.placebo,
        judged=judged,
    )


def _unjudged(case: Case, section: Section, result: Result) -> Draft:
    """Return the seal of a decision that no rule judged; it names the policy in force."""
    return journal.decision_sealed(
        case.stream, result, mode=case.tags.mode, policy=section.policy_named
    )
