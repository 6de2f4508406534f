"""Records of a decision: request, GJR twin, quote, intent, twins' verdicts, seal.

Not here: when a record is appended (`gateway.walk.decision`, `dispatch`, `settlement`).
"""

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from types import MappingProxyType
from typing import Any, Final

from audit.records.canonical import JSON, canonical
from audit.records.kinds import Kind
from audit.records.record import Draft
from gateway.walk.journal.contents import Contents, Fill
from gateway.walk.ports import Case
from inference.forecast.forecast import Forecast, forecast_document
from risk.forms.documents import document_of, value_of
from risk.intent import Intent, intent_digest
from risk.policy.policy import Policy, policy_digest
from risk.sizing import Sizing, sizing_document
from risk.state.book import Book
from risk.state.inputs.inputs import Inputs
from risk.state.paths.joint import paths_digest
from risk.state.state import KillState, Phase, Quote
from risk.verdict import version_of

GATEWAY: Final = "gateway"


RECORD_RULES: Final = 5
"""What a run promises of its decisions' records; a run without it is of version 1.

From 2 on, each decision names the policy in force, and a request to a person names its end. From 3
on, seeds follow `SEED_RULE`. From 4 on, each decision has its news twin, or says that it needs none
or why it is missing. From 5 on, each forecast has its GJR twin, or says why there is none.
"""


def policy_named(policy: Policy) -> dict[str, JSON]:
    """Return the fields by which a record names the policy in force."""
    return {"policy_digest": policy_digest(policy), "policy_version": policy.version}


def digest_of(value: JSON) -> str:
    """Return the SHA-256 (hex) of a value's canonical bytes."""
    return sha256(canonical(value)).hexdigest()


def draft(
    case: Case, kind: Kind, idem_key: str, payload: dict[str, JSON], *, tagged: bool = False
) -> Draft:
    """Return a draft in the decision's stream with its mode; `tagged` adds account, run and dev."""
    tags: dict[str, JSON] = {"mode": case.tags.mode}
    if tagged:
        tags = dict(case.tags.document())
    return Draft(
        stream=case.stream,
        kind=kind,
        payload={**tags, **payload},
        actor=GATEWAY,
        idem_key=idem_key,
    )


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
    named: dict[str, JSON] = {"scope_digest": scope_digest} if scope_digest else {}
    if case.basket.group:
        named["basket_id"] = case.basket.group
    return draft(
        case,
        Kind.INTENT_RECEIVED,
        f"intent:{client_key}",
        {
            "decision_id": case.decision_id,
            "client_key": client_key,
            "request": request,
            "instrument": case.instrument.symbol,
            "author": author,
            "strategy": case.strategy,
            **named,
            **policy,
        },
        tagged=True,
    )


class IntentReceived(Contents, frozen=True, kw_only=True):
    """The contents of `intent_received`; no scope is named if the key had none.

    `flattens` is the id of the flatten that asked for it; its account is the position's.
    `basket_id` is the basket that it is a leg of.
    """

    decision_id: str
    request: dict[str, Any]
    author: str = ""
    account: str = ""
    scope_digest: str = ""
    flattens: str = ""
    basket_id: str = ""


def gjr_made(case: Case, forecast: Forecast, fitter: str, paths: str = "") -> Draft:
    """The simulation of GJR, against which the engine's worth is measured.

    `fitter` is who estimated its parameters; `paths` its paths' blob under format 2.
    """
    named: dict[str, JSON] = {"paths_blob": paths} if paths else {}
    return _gjr(case, {"forecast": forecast_document(forecast), "fitter": fitter, **named})


def gjr_missing(case: Case, *, reason: str, detail: str) -> Draft:
    """There is no GJR twin, and why; the decision goes on without."""
    return _gjr(case, {"missing": reason, "detail": detail[:500]})


def _gjr(case: Case, payload: dict[str, JSON]) -> Draft:
    named: dict[str, JSON] = {**payload, "attempt": case.attempt}
    return draft(case, Kind.GJR_MADE, f"gjr:{case.attempt}", named)


class GjrMade(Contents, frozen=True, kw_only=True):
    """The contents of `gjr_made`; `missing` says why there is no twin, else it is empty."""

    attempt: int
    missing: str = ""
    detail: str = ""
    fitter: str = ""
    forecast: dict[str, Any] | None = None
    paths_blob: str = ""

    @property
    def instrument(self) -> str:
        """The symbol that it is about; only of one that is not missing."""
        return "" if self.forecast is None else str(self.forecast["instrument"])


def quote_taken(case: Case, quote: Quote) -> Draft:
    """The market that the intent is priced against."""
    return draft(
        case,
        Kind.QUOTE_TAKEN,
        f"quote:{quote.time_us}",
        {
            "instrument": case.instrument.symbol,
            "market_time_us": quote.time_us,
            "bid_ticks": quote.bid_ticks,
            "ask_ticks": quote.ask_ticks,
            "seq_gap": quote.seq_gap,
            "phase": quote.phase.value,
        },
    )


class QuoteTaken(Contents, frozen=True, kw_only=True):
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
    payload: dict[str, JSON] = {
        "intent": None if intent is None else document_of(intent),
        "sizing": sizing_document(sizing),
        "book_digest": book_digest(book),
        **paths_named(case),
        **_words(words),
    }
    if intent is not None:
        payload["intent_digest"] = intent_digest(intent)
    return draft(case, Kind.INTENT_PROPOSED, "proposed", payload, tagged=True)


def _words(words: Words) -> dict[str, JSON]:
    return {"words": dict(words)} if words else {}


def renewed(
    case: Case, quote: Quote, sizing: Sizing, intent: Intent, book: Book, words: Words
) -> Draft:
    """A held intent priced again after a person agreed, with its new quote and book."""
    return draft(
        case,
        Kind.INTENT_PROPOSED,
        f"renewed:{case.attempt}",
        {
            "intent": document_of(intent),
            "intent_digest": intent_digest(intent),
            "sizing": sizing_document(sizing),
            "reason": f"renewed at {quote.time_us}",
            "quote": document_of(quote),
            "book_digest": book_digest(book),
            **paths_named(case),
            **_words(words),
        },
        tagged=True,
    )


class IntentProposed(Contents, frozen=True, kw_only=True):
    """The contents of `intent_proposed`; only a renewal has a quote.

    `words` is None in records of earlier versions, `intent` where nothing was wanted.
    """

    book_digest: str
    quote: dict[str, Any] | None = None
    words: dict[str, Any] | None = None
    intent: dict[str, Any] | None = None
    sizing: dict[str, Any] | None = None


class TwinJudged(Contents, frozen=True, kw_only=True):
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
    verdict: dict[str, Any] | None = None

    @property
    def digest_version(self) -> int:
        """The version of the verdict's digest."""
        return version_of(self.verdict or {})

    @property
    def judged_inputs(self) -> Inputs | None:
        """What the gateway had gathered for the rules of format 2, without the joint paths."""
        return None if self.inputs is None else inputs_of(self.inputs)


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
    payload: dict[str, JSON] = {"outcome": outcome, **policy, **({"mode": mode} if mode else {})}
    if account is not None:
        payload["account"] = account
    return Draft(
        stream=stream,
        kind=Kind.DECISION_SEALED,
        payload=payload,
        actor=GATEWAY,
        idem_key=f"sealed:{again}" if again else "sealed",
    )


class DecisionSealed(Contents, frozen=True, kw_only=True):
    outcome: str
    account: str | None = None


def note(text: str, *, idem_key: str, decision_id: str | None = None) -> Draft:
    """A line in the control stream, for events without a kind."""
    payload: dict[str, JSON] = {"text": text}
    if decision_id is not None:
        payload["decision_id"] = decision_id
    return Draft(
        stream="control",
        kind=Kind.OPERATOR_NOTE,
        payload=payload,
        actor=GATEWAY,
        idem_key=idem_key,
    )
