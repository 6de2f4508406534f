"""What stands in each record of a decision.

One function per kind, typed value to draft, in walk order.

Not here: when a record is appended (`decision`, `dispatch`, `settlement`) and what a book makes of
it (`projections.book`). A payload holds no float: probabilities and draws stay in the capture blob
as bits.
"""

from collections.abc import Mapping
from hashlib import sha256
from types import MappingProxyType
from typing import Final

from audit.records.canonical import JSON, canonical
from audit.records.kinds import Kind
from audit.records.record import Draft
from gateway.walk.ports import Case
from inference.codec.prompt import Prompt, prompt_digest, prompt_document
from inference.engine.port import EngineDescription, SampleRequest
from inference.forecast.forecast import Forecast, forecast_document
from inference.snapshot import Snapshot, snapshot_document
from inference.speculation.evidence import Evidence
from inference.speculation.totals import totals
from risk.documents import document_of
from risk.intent import Intent, intent_digest
from risk.policy.policy import Policy, policy_digest
from risk.sizing import Sizing
from risk.state.book import Book
from risk.state.state import Quote

GATEWAY: Final = "gateway"


RECORD_RULES: Final = 3
"""What a run says that its decisions' records keep; a run without it is of an earlier version.

From 2 on each decision names the policy in force, and a request to a person says until when. From 3
on seeds follow `SEED_RULE`.
"""
SEED_RULE: Final = 2
"""The seed's root is that of the largest checkpoint not above the decision's opening record.

For a renewal that is its approval record. A request without a rule is of an earlier version: any
earlier checkpoint would do.
"""


def policy_named(policy: Policy) -> dict[str, JSON]:
    """Return how a record names the policy in force."""
    return {"policy_digest": policy_digest(policy), "policy_version": policy.version}


def snapshot_bytes(snapshot: Snapshot) -> bytes:
    """Return the canonical bytes of a snapshot, stored as a blob."""
    return canonical(snapshot_document(snapshot))


def digest_of(value: JSON) -> str:
    """Return the SHA-256 (hex) of a value's canonical bytes."""
    return sha256(canonical(value)).hexdigest()


def draft(
    case: Case, kind: Kind, idem_key: str, payload: dict[str, JSON], *, tagged: bool = False
) -> Draft:
    """Return a draft in the decision's stream; `tagged` adds account, run, mode and dev."""
    tags: dict[str, JSON] = dict(case.tags.document()) if tagged else {}
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
) -> Draft:
    """An agent's request as it came in, before anything is made of it."""
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
            **policy,
        },
        tagged=True,
    )


def snapshot_taken(case: Case, blob: str, policy: Mapping[str, JSON]) -> Draft:
    """The inputs: both streams of them, numbers and narrative, each with its own digest.

    `policy` is the name of the one in force, empty in records of earlier versions.
    """
    document = snapshot_document(case.snapshot)
    return draft(
        case,
        Kind.SNAPSHOT_TAKEN,
        "snapshot",
        {
            "decision_id": case.decision_id,
            "instrument": case.instrument.symbol,
            "as_of_us": case.snapshot.as_of_us,
            "snapshot_blob": blob,
            "bars_digest": digest_of(document["bars"]),
            "news_digest": digest_of(document["news"]),
            "n_bars": len(case.snapshot.bars),
            "n_news": len(case.snapshot.news),
            "strategy": case.strategy,
            "author": case.author,
            **policy,
            **case.labels,
        },
        tagged=True,
    )


def forecast_requested(
    case: Case,
    prompt: Prompt,
    request: SampleRequest,
    *,
    root: bytes,
    size: int,
    drafter: str,
    rule: int | None = SEED_RULE,
) -> Draft:
    """What the engine will be asked, with seeds that nobody chose; stands before inference runs."""
    return draft(
        case,
        Kind.FORECAST_REQUESTED,
        f"request:{case.attempt}",
        {
            "prompt": prompt_document(prompt),
            "prompt_ids": list(prompt.token_ids),
            "prompt_digest": prompt_digest(prompt),
            "codec_digest": prompt.codec_digest,
            "template": prompt.template,
            "seed_root": root.hex(),
            "seed_size": size,
            "attempt": case.attempt,
            "seeds": [str(seed) for seed in request.seeds],
            "n_tokens": request.n_tokens,
            "spec_k": request.spec_k,
            "drafter": drafter,
            "allowed_range": list(request.allowed_range),
            "deadline_ms": int(request.deadline_s * 1_000),
            **({} if rule is None else {"seed_rule": rule}),
        },
    )


def rounds_captured(
    case: Case, evidence: Evidence, *, elapsed_us: int, blob: str, size_bytes: int
) -> Draft:
    """What decided every round, as a blob, with its counts."""
    counted = totals(evidence)
    return draft(
        case,
        Kind.ROUNDS_CAPTURED,
        f"rounds:{case.attempt}",
        {
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
            "attempt": case.attempt,
        },
    )


def forecast_made(case: Case, forecast: Forecast) -> Draft:
    """The target's forecast, all integers."""
    return draft(
        case,
        Kind.FORECAST_MADE,
        f"forecast:{case.attempt}",
        {"forecast": forecast_document(forecast), "attempt": case.attempt},
    )


def placebo_made(case: Case, forecast: Forecast) -> Draft:
    """The table model's forecast beside it: what the AI adds is measured against this."""
    return draft(
        case,
        Kind.PLACEBO_MADE,
        f"placebo:{case.attempt}",
        {"forecast": forecast_document(forecast), "attempt": case.attempt},
    )


def forecast_failed(case: Case, *, reason: str, detail: str) -> Draft:
    """There is no forecast; nothing follows from it."""
    return draft(
        case,
        Kind.FORECAST_FAILED,
        f"forecast_failed:{case.attempt}",
        {"reason": reason, "detail": detail[:500], "attempt": case.attempt},
    )


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


def book_digest(book: Book) -> str:
    """Return the digest that names a book which a sizing was made with."""
    return digest_of(document_of(book))


def intent_proposed(case: Case, sizing: Sizing, intent: Intent | None, book: Book) -> Draft:
    """What the strategy or agent wants, or why it wants nothing."""
    payload: dict[str, JSON] = {
        "intent": None if intent is None else document_of(intent),
        "sizing": document_of(sizing),
        "book_digest": book_digest(book),
    }
    if intent is not None:
        payload["intent_digest"] = intent_digest(intent)
    return draft(case, Kind.INTENT_PROPOSED, "proposed", payload, tagged=True)


def renewed(case: Case, quote: Quote, sizing: Sizing, intent: Intent, book: Book) -> Draft:
    """A held intent priced again after a person agreed, with quote and book of that moment."""
    return draft(
        case,
        Kind.INTENT_PROPOSED,
        f"renewed:{case.attempt}",
        {
            "intent": document_of(intent),
            "intent_digest": intent_digest(intent),
            "sizing": document_of(sizing),
            "reason": f"renewed at {quote.time_us}",
            "quote": document_of(quote),
            "book_digest": book_digest(book),
        },
        tagged=True,
    )


def decision_sealed(
    stream: str,
    outcome: str,
    *,
    account: str | None = None,
    again: int = 0,
    policy: Mapping[str, JSON] = MappingProxyType({}),
) -> Draft:
    """The last record of a decision: a missing tail shows.

    Args:
        stream: The decision's.
        outcome: What became of it.
        account: Its account, where it has one.
        again: How often it was sealed before: a trade that was taken back let its order live on.
        policy: How to name the policy in force, where no verdict does.
    """
    payload: dict[str, JSON] = {"outcome": outcome, **policy}
    if account is not None:
        payload["account"] = account
    return Draft(
        stream=stream,
        kind=Kind.DECISION_SEALED,
        payload=payload,
        actor=GATEWAY,
        idem_key=f"sealed:{again}" if again else "sealed",
    )


def engine_document(description: EngineDescription) -> dict[str, JSON]:
    """What serves, for the record of the loaded model."""
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


def note(text: str, *, idem_key: str, decision_id: str | None = None) -> Draft:
    """A line in the control stream, for what has no kind of its own."""
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
