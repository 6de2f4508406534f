"""Records of a decision: request, GJR twin, quote, intent, twins' verdicts, seal.

Not here: when a record is appended (`gateway.walk.decision`, `dispatch`, `settlement`).
"""

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from types import MappingProxyType
from typing import Any, Final

from audit.records.canonical import JSON, canonical
from audit.records.kinds import RUN
from audit.records.record import Draft
from audit.records.record_kind import Contents, Filing, RecordKind
from gateway.walk.journal.contents import Fill
from gateway.walk.ports import Case, Filed, Forecasting, NarrativeReach
from inference.forecast.forecast import Forecast, forecast_document
from risk.forms.documents import document_of, value_of
from risk.intent import Intent, intent_digest
from risk.policy.policy import Policy, policy_digest
from risk.sizing import Sizing, sizing_document
from risk.state.book import Book
from risk.state.inputs.inputs import Inputs
from risk.state.state import KillState, Phase, Quote

GATEWAY: Final = "gateway"


def policy_named(policy: Policy) -> dict[str, JSON]:
    """Return the fields by which a record names the policy in force."""
    return {"policy_digest": policy_digest(policy), "policy_version": policy.version}


def digest_of(value: JSON) -> str:
    """Return the SHA-256 (hex) of a value's canonical bytes."""
    return sha256(canonical(value)).hexdigest()


def draft(case: Filed, said: RecordKind, *, key: str = "") -> Draft:
    """Return a draft in the stream of a decision or a forecast, with its tags."""
    return draft_of(case, type(said), said.document(), key=key)


def draft_of(
    case: Filed, kind: type[RecordKind], payload: dict[str, JSON], *, key: str = ""
) -> Draft:
    """Return the draft of a payload that was put together by hand.

    The tags are account, run, mode and dev, where the kind has them; else the mode alone.
    """
    tags = case.tags.document() if kind.filing.tags == RUN else {"mode": case.tags.mode}
    return kind.draft_of({**tags, **payload}, stream=case.stream, key=key, attempt=case.attempt)


def intent_received(
    case: Case,
    author: str,
    *,
    client_key: str,
    request: dict[str, JSON],
    policy: Mapping[str, JSON],
    scope_digest: str = "",
) -> Draft:
    """An agent's request as it arrived, with the scope of its key and the basket, if any."""
    received = IntentReceived(
        account=case.tags.account,
        decision_id=case.decision_id,
        client_key=client_key,
        request=request,
        instrument=case.instrument.symbol,
        author=author,
        strategy=case.strategy,
        scope_digest=scope_digest,
        basket_id=case.basket.group,
    )
    return draft_of(case, IntentReceived, {**received.document(), **policy})


class IntentReceived(RecordKind, frozen=True, kw_only=True):
    """A request; no scope is named if the key had none.

    `flattens` is the id of the flatten that asked for it; its account is the position's.
    `basket_id` is the basket that it is a leg of.
    """

    filing = Filing(
        "decision/{decision_id}",
        "intent:{client_key}",
        tags=RUN,
        also="attempt origin session_index",
    )

    account: str
    decision_id: str
    client_key: str
    request: dict[str, Any]
    instrument: str | None = None
    author: str = ""
    strategy: str | None = None
    policy_digest: str = ""
    policy_version: int | None = None
    scope_digest: str = ""
    flattens: str = ""
    basket_id: str = ""


def forecast_taken(
    case: Case, named: "ForecastNamed", policy: Mapping[str, JSON] = MappingProxyType({})
) -> Draft:
    """Which forecast a decision rests on, or why there is none.

    `policy` names the policy in force. A renewal's attempt is above 0; it names its forecast only.
    """
    reach = case.narrative
    fed = reach is not None and not reach.absent
    taken = ForecastTaken(
        decision_id=case.decision_id,
        attempt=case.attempt,
        instrument=case.instrument.symbol,
        forecast_id=named.forecast_id,
        forecast_attempt=named.forecast_attempt,
        of_seq=named.of_seq,
        of_leaf=named.of_leaf,
        missing=named.missing,
        strategy=case.strategy,
        author=case.author,
        narrative="" if reach is None else "fed" if fed else "absent",
    )
    said: dict[str, JSON] = {"narrative_as_of_us": reach.as_of_us} if reach and fed else {}
    if named.detail:
        said["detail"] = named.detail[:500]
    return draft_of(case, ForecastTaken, {**taken.document(), **policy, **said, **case.labels})


class ForecastNamed(Contents, frozen=True, kw_only=True):
    """A forecast as a decision names it: its attempt, and the record that states it.

    `missing` is the code of a failure; `of_seq` is None then, and `forecast_id` is empty if
    nothing could be asked for.
    """

    forecast_id: str = ""
    forecast_attempt: int = 0
    of_seq: int | None = None
    of_leaf: str = ""
    missing: str = ""
    detail: str = ""

    @property
    def stream(self) -> str:
        """The forecast's stream; empty if nothing was asked for."""
        return f"forecast/{self.forecast_id}.{self.forecast_attempt}" if self.forecast_id else ""


class ForecastTaken(RecordKind, frozen=True, kw_only=True):
    """The forecast of a decision or its renewal; `narrative` is empty where it is the playback's.

    `of_seq` and `of_leaf` are the record that states the forecast; `missing` says why there is
    none, else it is empty.
    """

    filing = Filing("decision/{decision_id}", "forecast:{attempt}", tags=RUN)

    decision_id: str
    attempt: int
    instrument: str
    forecast_id: str = ""
    forecast_attempt: int = 0
    of_seq: int | None = None
    of_leaf: str = ""
    missing: str = ""
    detail: str = ""
    strategy: str | None = None
    author: str = ""
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

    @property
    def named(self) -> ForecastNamed:
        """The forecast as it is named."""
        return ForecastNamed(
            forecast_id=self.forecast_id,
            forecast_attempt=self.forecast_attempt,
            of_seq=self.of_seq,
            of_leaf=self.of_leaf,
            missing=self.missing,
            detail=self.detail,
        )


def gjr_made(asked: Forecasting, forecast: Forecast, fitter: str, paths: str = "") -> Draft:
    """The simulation of GJR, against which the engine's worth is measured.

    `fitter` is who estimated its parameters; `paths` its paths' blob under format 2.
    """
    made = GjrMade(
        attempt=asked.attempt, forecast=forecast_document(forecast), fitter=fitter, paths_blob=paths
    )
    return draft(asked, made)


def gjr_missing(asked: Forecasting, *, reason: str, detail: str) -> Draft:
    """There is no GJR twin, and why; decisions go on without."""
    return draft(asked, GjrMade(attempt=asked.attempt, missing=reason, detail=detail[:500]))


class GjrMade(RecordKind, frozen=True, kw_only=True):
    """The GJR twin's forecast; `missing` says why there is none, else it is empty."""

    filing = Filing("forecast/{forecast_id}", "gjr:{attempt}")

    attempt: int
    missing: str = ""
    detail: str | None = None
    fitter: str = ""
    forecast: dict[str, Any] | None = None
    paths_blob: str = ""

    @property
    def instrument(self) -> str:
        """The symbol that it is about; only of one that is not missing."""
        return "" if self.forecast is None else str(self.forecast["instrument"])


def quote_taken(case: Case, quote: Quote) -> Draft:
    """The market that the intent is priced against."""
    taken = QuoteTaken(
        instrument=case.instrument.symbol,
        market_time_us=quote.time_us,
        bid_ticks=quote.bid_ticks,
        ask_ticks=quote.ask_ticks,
        seq_gap=quote.seq_gap,
        phase=quote.phase,
    )
    return draft(case, taken)


class QuoteTaken(RecordKind, frozen=True, kw_only=True):
    """What the market showed."""

    filing = Filing(
        "decision/{decision_id}",
        "quote:{market_time_us}",
        loose="phase seq_gap",
        also="digest session session_date session_index source",
    )

    instrument: str
    bid_ticks: int
    ask_ticks: int
    market_time_us: int
    seq_gap: int
    phase: Phase

    @property
    def quote(self) -> Quote:
        """The market that the intent is priced against."""
        return Quote(
            bid_ticks=self.bid_ticks,
            ask_ticks=self.ask_ticks,
            time_us=self.market_time_us,
            seq_gap=self.seq_gap,
            phase=self.phase,
        )


def book_digest(book: Book) -> str:
    """Return the digest that names the book of a sizing."""
    return digest_of(document_of(book))


def paths_named(case: Case) -> dict[str, JSON]:
    """Return the field by which a record names the paths of the whole book, if there are any."""
    return {} if case.joined is None else {"paths": case.joined.document()}


def inputs_document(inputs: Inputs | None) -> dict[str, JSON]:
    """Return the field with a state's inputs; the joint paths are named by their digest."""
    if inputs is None:
        return {}
    from risk.state.paths.arrays import paths_digest  # noqa: PLC0415 - numpy, only where paths are judged

    named = inputs.paths
    document: dict[str, JSON] = {**document_of(replace(inputs, paths=None))}
    if inputs.fairness is None:
        del document["fairness"]  # as in records made before the input existed
    if named is not None:
        symbols: list[JSON] = [one.symbol for one in named.instruments]
        document["paths"] = {"digest": paths_digest(named), "instruments": symbols}
    return {"inputs": document}


def inputs_of(document: Mapping[str, Any]) -> Inputs:
    """Read what `inputs_document` wrote, without the joint paths; raises as `value_of`."""
    return value_of(Inputs, {"fairness": None, **document, "paths": None})


Words = Mapping[str, JSON]
"""What words did to a decision (`gateway.walk.sampled.news`); empty in earlier records."""


def intent_proposed(
    case: Case, sizing: Sizing, intent: Intent | None, book: Book, words: Words
) -> Draft:
    """What the strategy or agent wants, or why it wants nothing."""
    proposed = IntentProposed(
        intent=None if intent is None else document_of(intent),
        intent_digest="" if intent is None else intent_digest(intent),
        sizing=sizing_document(sizing),
        book_digest=book_digest(book),
        paths=None if case.joined is None else case.joined.document(),
        words=dict(words) or None,
    )
    return draft(case, proposed)


def renewed(
    case: Case, quote: Quote, sizing: Sizing, intent: Intent, book: Book, words: Words
) -> Draft:
    """A held intent priced again after a person agreed, with its new quote and book."""
    proposed = IntentProposed(
        intent=document_of(intent),
        intent_digest=intent_digest(intent),
        sizing=sizing_document(sizing),
        reason=f"renewed at {quote.time_us}",
        quote=document_of(quote),
        book_digest=book_digest(book),
        paths=None if case.joined is None else case.joined.document(),
        words=dict(words) or None,
    )
    return draft(case, proposed, key=f"renewed:{case.attempt}")


class IntentProposed(RecordKind, frozen=True, kw_only=True):
    """A proposal; only a renewal has a quote and a reason.

    `words` is None in records of earlier versions, `intent` where nothing was wanted.
    """

    filing = Filing(
        "decision/{decision_id}", "proposed", tags=RUN, loose="book_digest", also="attempt"
    )

    intent: Mapping[str, Any] | None
    book_digest: str
    sizing: Mapping[str, Any] | None = None
    intent_digest: str = ""
    quote: Mapping[str, Any] | None = None
    reason: str = ""
    paths: Mapping[str, Any] | None = None
    words: Mapping[str, Any] | None = None


class TwinJudged(RecordKind, frozen=True, kw_only=True):
    """The contents of `placebo_judged` and `gjr_judged`, as book, summary and answers read them."""

    market_now_us: int
    result: str = ""
    fill: Fill | None = None
    sizing: dict[str, Any] | None = None


class TwinBasis(TwinJudged, frozen=True, kw_only=True):
    """What a replay also reads of a twin's verdict; None where there was no intent."""

    book_digest: str
    judged_book_digest: str | None
    state: KillState | None
    policy_status: dict[str, Any] | None
    inputs: dict[str, Any] | None = None

    @property
    def judged_inputs(self) -> Inputs | None:
        """What the gateway had gathered for the rules of format 2, without the joint paths."""
        return None if self.inputs is None else inputs_of(self.inputs)


class _TwinsVerdict(TwinBasis, frozen=True, kw_only=True):
    intent: dict[str, Any] | None
    quote: dict[str, Any]
    sizing: dict[str, Any]
    result: str
    fill: Fill | None
    verdict: dict[str, Any] | None
    paths: dict[str, Any] | None = None


class PlaceboJudged(_TwinsVerdict, frozen=True, kw_only=True):
    """The placebo twin's whole verdict, on a book of its own."""

    filing = Filing(
        "decision/{decision_id}",
        "placebo_judged",
        tags=RUN,
        loose="book_digest fill judged_book_digest market_now_us policy_status quote result"
        " sizing state",
        also="basis_seq book forecast policy_digest reason target_exposure_bp",
    )


class GjrJudged(_TwinsVerdict, frozen=True, kw_only=True):
    """The GJR twin's whole verdict, on a book of its own."""

    filing = Filing("decision/{decision_id}", "gjr_judged", tags=RUN)


class SizedBeside(Contents, frozen=True, kw_only=True):
    """What `intent_proposed` and the twins' verdicts say of one decision's size, to compare them.

    Of the intents only a renewal's has a quote, and none has a fill.
    """

    account: str
    sizing: dict[str, Any] | None = None
    quote: dict[str, Any] | None = None
    intent: dict[str, Any] | None = None
    fill: Fill | None = None


def decision_sealed(
    stream: str,
    outcome: str,
    *,
    mode: str,
    account: str | None = None,
    again: int = 0,
    policy: Mapping[str, JSON] = MappingProxyType({}),
) -> Draft:
    """The last record of a decision, so that a missing tail shows.

    `mode` is the decision's, empty if its records name none. `again` counts its earlier seals: a
    bust can make its order work again. `policy` names the policy in force where no verdict does.
    """
    seal = DecisionSealed(outcome=outcome, account=account)
    tags: dict[str, JSON] = {**policy, **({"mode": mode} if mode else {})}
    return seal.draft(stream=stream, tags=tags, key=f"sealed:{again}" if again else "sealed")


class DecisionSealed(RecordKind, frozen=True, kw_only=True):
    """The end of a decision; the policy in force is named where no verdict names it."""

    filing = Filing("decision/{decision_id}", "sealed", also="elapsed_us instrument reason")

    outcome: str
    account: str | None = None
    policy_digest: str = ""
    policy_version: int | None = None


class OperatorNote(RecordKind, frozen=True, kw_only=True):
    """An event without a kind."""

    filing = Filing("control", "note:{n}", also="author")

    text: str
    decision_id: str | None = None
