"""Replay of quote, sizing, intent, twins and verdict.

The books are folded again. A sizing names its book by a digest, a verdict by its basis. Readings of
clocks, of the policy's signatures and of the kill word are taken as they stand; the verdict's
digests bind them.
"""

from collections.abc import Iterator
from dataclasses import replace

from typing_extensions import override

from audit.records.kinds import Kind
from audit.records.record import Record
from gateway.clock import MarketInstant
from gateway.desk.bodies.requests import IntentRequest
from gateway.desk.intake.intents import decision_id_of, request_document
from gateway.desk.intake.strategies import AGENT_WISH
from gateway.errors import ReplayDiffersError
from gateway.evidence.replay.compared import matches, same
from gateway.evidence.replay.past import Attempt, Past, named
from gateway.walk.journal import decision as journal
from gateway.walk.journal import verdict as journal_verdicts
from gateway.walk.journal.control.oversight.justifications import FairnessSources
from gateway.walk.journal.control.oversight.overrides import override_in
from gateway.walk.journal.control.oversight.publications import OwnPublications
from gateway.walk.journal.persons import RECORDED, with_fields
from gateway.walk.journal.verdict import result_under
from gateway.walk.ports import Case, Tick
from gateway.walk.projections.book import Twin
from gateway.walk.projections.differences import Differences
from gateway.walk.projections.gathering import crowd_of, headlines
from gateway.walk.projections.stops import LedgerKillEpoch, Stops
from gateway.walk.sampled.news import what_words_did
from gateway.walk.sampled.placebo import judge_twin
from inference.forecast.forecast import Forecast
from risk.approved import Approval
from risk.evaluate import evaluate
from risk.forms.documents import document_of, value_of
from risk.intent import Intent
from risk.numbers.standing import PolicyStatus
from risk.policy.policy import Policy
from risk.state.book import Book, Released, apply
from risk.state.inputs.inputs import Inputs
from risk.state.inputs.override import Override
from risk.state.paths.joint import BookPaths
from risk.state.state import Quote, RiskState, SeenIntent, Stop, relevant_history, seen
from risk.verdict import Verdict


class RecordedInstant(MarketInstant):
    """A recorded market time."""

    @override
    def now_us(self) -> int:
        return self.tick_us


class RecordedShadow:
    """A twin's side of the section, read from the record."""

    def __init__(self, twin: Twin, past: Past, record: Record, attempt: Attempt) -> None:
        """Fold the twin's books of that time."""
        self._record = record
        self._basis = journal.TwinBasis.of(record)
        self._policy: Policy = past.policy
        self._books = [
            *past.twin_books(
                twin, account=past.tags.account, after=attempt.taken_seq, before=attempt.quote_seq
            )
        ]

    def twin_book(self, twin: Twin, account: str) -> Book:
        """Return the book that the sizing's digest names."""
        del twin, account
        return named(iter(self._books), self._basis.book_digest, self._record)

    def judge_twin(
        self, twin: Twin, case: Case, intent: Intent, forecast: Forecast, tick: Tick
    ) -> tuple[Verdict, RiskState]:
        """Evaluate with the recorded readings.

        Raises:
            ReplayDiffersError: when the record has none.
        """
        if self._basis.state is None:
            raise ReplayDiffersError(step=twin.judged.value, detail="payload.state")
        inputs = self._basis.judged_inputs
        state = RiskState(
            now_us=self._basis.market_now_us,
            book=named(iter(self._books), self._basis.judged_book_digest, self._record),
            instrument=case.instrument,
            quote=tick.quote,
            forecast=forecast,
            narrative_as_of_us=case.reach.as_of_us,
            narrative_absent=case.reach.absent,
            kill=self._basis.state,
            recent=(),
            policy_status=value_of(PolicyStatus, self._basis.policy_status),
            renewal=False,
            inputs=None if inputs is None else replace(inputs, paths=case.book_paths),
        )
        return evaluate(self._policy, state, intent), state


def intent_received(past: Past, record: Record) -> str:
    """Compare the record with the agent's request in it."""
    received = journal.IntentReceived.of(record)
    request = IntentRequest.model_validate(received.request)
    asked, _ = request_document(request, RECORDED)
    again = {
        **past.tags.document(),
        "decision_id": decision_id_of(received.author, request.client_key),
        "client_key": request.client_key,
        "request": asked,
        "instrument": request.instrument,
        "author": received.author,
        "strategy": AGENT_WISH,
        **({"scope_digest": received.scope_digest} if received.scope_digest else {}),
        **({"flattens": received.flattens} if received.flattens else {}),
        **({"basket_id": received.basket_id} if received.basket_id else {}),
        **past.policy_named,
    }
    same("intent_received", "payload", with_fields(again, record.body), record.body)
    same("intent_received", "decision_id", past.decision_id, received.decision_id)
    past.basket(record.seq)
    return f"of {received.author}"


def quote_taken(past: Past, record: Record) -> str:
    """Take the market that the decision was priced against."""
    case, attempt = past.opened(record), past.attempt(record, 0)
    simulated = past.forecast(record, 0).gjr is not None
    attempt.quote = journal.QuoteTaken.of(record).quote
    attempt.quote_seq = record.seq
    matches(record, journal.quote_taken(case, attempt.quote))
    if past.first(Kind.PLACEBO_JUDGED) is None:
        raise ReplayDiffersError(step="placebo_judged", detail="is missing beside the quote")
    if simulated and past.first(Kind.GJR_JUDGED) is None:
        raise ReplayDiffersError(step="gjr_judged", detail="is missing beside the quote")
    return f"{attempt.quote.bid_ticks} to {attempt.quote.ask_ticks} ticks"


def placebo_judged(past: Past, record: Record) -> str:
    """Size, judge and fill the table's twin again, with the walk's own function."""
    made = past.forecast(record, 0).placebo
    return _twin_judged(past, record, Twin.PLACEBO, made, Kind.PLACEBO_MADE)


def gjr_judged(past: Past, record: Record) -> str:
    """Size, judge and fill the GJR twin again likewise."""
    return _twin_judged(past, record, Twin.GJR, past.forecast(record, 0).gjr, Kind.GJR_MADE)


def _twin_judged(past: Past, record: Record, twin: Twin, made: Forecast | None, kind: Kind) -> str:
    case, attempt = past.opened(record), past.attempt(record, 0)
    if made is None:
        raise ReplayDiffersError(step=record.kind.value, detail="no forecast of the twin before it")
    if attempt.quote is None:
        raise ReplayDiffersError(step=record.kind.value, detail="no quote_taken before it")
    judged = journal.TwinJudged.of(record)
    shadow = RecordedShadow(twin, past, record, attempt)
    tick = Tick(
        quote=attempt.quote, instant=RecordedInstant(tick_us=judged.market_now_us, seen_us=0)
    )
    join = past.joining(record, kind, 0)
    matches(record, judge_twin(twin, case, shadow, made, tick, join))
    return judged.result


def intent_proposed(past: Past, record: Record) -> str:
    """Size again with the book that the record names; form the intent."""
    case, attempt = past.opened(record), past.attempt(record)
    forecast, proposed = past.forecast(record), journal.IntentProposed.of(record)
    before = attempt.quote_seq
    if case.attempt:
        attempt.quote, before = value_of(Quote, proposed.quote), record.seq
    if attempt.quote is None:
        raise ReplayDiffersError(step="intent_proposed", detail="no quote_taken before it")
    books = past.books(account=case.tags.account, after=attempt.taken_seq, before=before)
    if case.attempt:  # a renewal is sized without its own reservation
        books = (_without(b, case.decision_id) for b in books)
    book = named(books, proposed.book_digest, record)
    case = replace(case, joined=past.joining(record, Kind.FORECAST_MADE)(book))
    sizing = case.propose(forecast.target, book, attempt.quote, case.book_paths)
    attempt.intent, attempt.proposed = case.intent_of(sizing), True
    words = what_words_did(case, forecast, sizing, book, attempt.quote, past.paths.joining)
    if attempt.intent is not None and case.attempt:
        matches(record, journal.renewed(case, attempt.quote, sizing, attempt.intent, book, words))
    else:
        matches(record, journal.intent_proposed(case, sizing, attempt.intent, book, words))
    return str(sizing.reason)


def verdict_given(past: Past, record: Record) -> str:
    """Fold the book to the basis and evaluate again; the bytes must be equal."""
    case = past.opened(record)
    state, intent = case_of_verdict(past, record)
    given = journal_verdicts.VerdictGiven.of(record)
    basis = given.basis_seq
    verdict = evaluate(past.policy, state, intent)
    approval: Approval | None = None
    if case.attempt:
        agreed = past.last(Kind.APPROVAL_GIVEN, before=record)
        approval = journal_verdicts.ApprovalGiven.of(agreed).approval
    matches(
        record,
        journal_verdicts.verdict_given(
            case,
            intent,
            verdict,
            state,
            basis_seq=basis,
            result=result_under(intent, verdict, state, given.send_before_us, approval),
            send_before_us=given.send_before_us,
            approval=approval,
        ),
    )
    return f"{verdict.action.name}, {len(verdict.results)} checks, basis {basis}"


def case_of_verdict(past: Past, record: Record) -> tuple[RiskState, Intent]:
    """Return what a verdict judged, made again from the records before it."""
    case = past.opened(record)
    attempt = past.attempt(record)
    intent = attempt.intent
    if intent is None or attempt.quote is None:
        raise ReplayDiffersError(step="verdict_given", detail="no intent_proposed before it")
    rests = journal_verdicts.VerdictBasis.of(record)
    if rests.basis_seq not in range(record.seq):
        raise ReplayDiffersError(step="verdict_given", detail="its basis is later than itself")
    state = state_again(past, record, rests, intent)
    return replace(state, quote=attempt.quote, renewal=case.attempt > 0), intent


def state_again(
    past: Past, record: Record, given: journal_verdicts.VerdictBasis, intent: Intent
) -> RiskState:
    """Return the state that a verdict rested on, its readings of clocks and feeds as recorded."""
    case = past.opened(record)
    step, basis = record.kind.value, given.basis_seq
    (book,) = past.books(account=case.tags.account, after=basis, before=basis + 1)
    same(step, "state.kill_epoch", _kill_epoch(past, basis), given.state.kill_epoch)
    if given.inputs is not None:
        _gathered_again(past, step, given, given.inputs)
    return RiskState(
        now_us=given.market_now_us,
        book=book,
        instrument=case.instrument,
        quote=given.quote,
        forecast=past.forecast(record).target,
        narrative_as_of_us=case.reach.as_of_us,
        narrative_absent=case.reach.absent,
        kill=given.state,
        recent=relevant_history(_history(past, basis), intent, given.market_now_us),
        policy_status=given.policy_status,
        renewal=True,
        book_differs=_differs(past, basis, case.instrument.symbol),
        stops=_stops(past, basis),
        override=_override(past, record, basis),
        inputs=None
        if given.inputs is None
        else replace(given.inputs, paths=_paths_of(past, record, given)),
    )


def _gathered_again(
    past: Past, step: str, given: journal_verdicts.VerdictBasis, inputs: Inputs
) -> None:
    """Compare what a verdict read of records with what the records before its basis say.

    An input that is absent was not gathered; an armed rule refused for it.
    """
    crowd, said, look = inputs.crowd, inputs.publications, inputs.fairness
    families = past.policy.families
    if past.case is None:
        raise ReplayDiffersError(step=step, detail="no forecast_taken before it")
    if inputs.basket is not None:
        group = past.basket(given.basis_seq + 1)
        same(step, "inputs.basket", document_of(group), document_of(inputs.basket))
    if look is not None and families is not None and families.fairness is not None:
        at = (look.basis_seq, given.market_now_us)
        found = FairnessSources(past.reader).look(
            families.fairness, past.decision_id, headlines(past.case), at
        )
        same(step, "inputs.fairness", document_of(found), document_of(look))
    if said is not None:
        symbol = past.case.instrument.symbol
        again = OwnPublications(past.reader).until(said.basis_seq, symbol)
        same(step, "inputs.publications", document_of(again), document_of(said))
    if crowd is not None:
        anew = crowd_of(past.reader, past.run.equity_minor, crowd.accounts, crowd.basis_seq)
        same(step, "inputs.crowd", document_of(anew), document_of(crowd))


def _paths_of(past: Past, record: Record, given: journal_verdicts.VerdictBasis) -> BookPaths | None:
    """Return the joint paths of the instruments that a verdict names, made again."""
    case, own = past.opened(record), past.forecast(record)
    if given.path_symbols is None:
        return None
    others = [one for one in given.path_symbols if one != case.instrument.symbol]
    joined = past.paths.joined(own, Kind.FORECAST_MADE, case, others)
    return None if joined is None else joined.paths


def _without(book: Book, decision_id: str) -> Book:
    return apply(book, Released(decision_id=decision_id, time_us=book.as_of_us))


def _history(past: Past, basis: int) -> Iterator[SeenIntent]:
    for record in past.reader.records(
        kinds=(Kind.VERDICT_GIVEN,), account=past.tags.account, before_seq=basis + 1
    ):
        given = journal_verdicts.VerdictGiven.of(record)
        yield seen(given.intent, given.market_now_us)


def _kill_epoch(past: Past, basis: int) -> int:
    """Return the ledger's kill epoch at the basis."""
    epoch = LedgerKillEpoch(past.reader)
    epoch.read(basis + 1)
    return epoch.value


def _differs(past: Past, basis: int, instrument: str) -> bool:
    """Return whether the instrument had an open difference at the basis."""
    differences = Differences(past.reader)
    differences.read(basis + 1)
    return differences.blocks(instrument)


def _override(past: Past, record: Record, basis: int) -> Override | None:
    """Return the override that a verdict names, which must have been free for it at the basis."""
    used = override_in(record)
    if used is None:
        return None
    stops = Stops(past.reader)
    stops.read(basis + 1)
    if not stops.overrides.may_act(used, past.decision_id):
        raise ReplayDiffersError(step=record.kind.value, detail="state.override")
    return used


def _stops(past: Past, basis: int) -> tuple[Stop, ...]:
    """Return the stops in force at the basis."""
    stops = Stops(past.reader)
    stops.read(basis + 1)
    return stops.in_force()
