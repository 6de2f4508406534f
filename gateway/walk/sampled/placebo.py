"""A twin's decision: another forecast through the same sizing and policy, never sent.

The placebo twin has the table model's forecast, the GJR twin that of `gjr`. Fills are assumed at
the touch, with the paper broker's fee, on a book of the twin's own. The difference between its
result and the decision's is what the target adds to its table, or the engine to GJR.
"""

from dataclasses import replace
from typing import Final, Protocol

from audit.records.canonical import JSON
from audit.records.record import Draft
from gateway.walk.journal.contents import Fill
from gateway.walk.journal.decision import (
    GjrJudged,
    PlaceboJudged,
    book_digest,
    draft_of,
    inputs_document,
    paths_named,
)
from gateway.walk.journal.verdict import result_of
from gateway.walk.ports import Case, Tick
from gateway.walk.projections.book import Twin
from gateway.walk.sampled.joint import Joining, unjoined
from inference.forecast.forecast import Forecast
from risk.forms.documents import document_of
from risk.intent import Intent, Side
from risk.sizing import sizing_document
from risk.state.book import Book
from risk.state.instrument import Instrument
from risk.state.state import Quote, RiskState
from risk.verdict import Verdict, verdict_document

FEE_BP: Final = 1
"""Commission of an assumed fill, basis points of notional; the simulator's default."""


class Shadow(Protocol):
    """The twins' side of the section; replay reads it from the record."""

    def twin_book(self, twin: Twin, account: str) -> Book:
        """Return a twin's book at the last committed record."""
        ...

    def judge_twin(
        self, twin: Twin, case: Case, intent: Intent, forecast: Forecast, tick: Tick
    ) -> tuple[Verdict, RiskState]:
        """Evaluate a twin's intent against its own book; commit nothing."""
        ...


def assumed_fill(instrument: Instrument, side: Side, qty_lots: int, quote: Quote) -> Fill:
    """Return the fill of a whole order at the touch, with the paper broker's fee."""
    price = quote.ask_ticks if side is Side.BUY else quote.bid_ticks
    notional = price * qty_lots * instrument.unit_minor
    return Fill(
        instrument=instrument.symbol,
        side=side,
        qty_lots=qty_lots,
        price_ticks=price,
        fee_minor=notional * FEE_BP // 10_000,
        unit_minor=instrument.unit_minor,
    )


def judge_twin(
    twin: Twin,
    case: Case,
    section: Shadow,
    forecast: Forecast,
    tick: Tick,
    joining: Joining = unjoined,
) -> Draft:
    """Return the record of a twin's decision: its assumed fill, and all its verdict rests on.

    `joining` returns the paths of the twin's whole book.
    """
    book = section.twin_book(twin, case.tags.account)
    case = replace(case, joined=joining(book))
    sizing = case.propose(forecast, book, tick.quote, case.book_paths)
    tags = replace(case.tags, account=book.account)
    named = replace(case, decision_id=twin.account(case.decision_id), tags=tags)
    intent = named.intent_of(sizing)
    payload: dict[str, JSON] = {
        "sizing": sizing_document(sizing),
        **paths_named(case),
        "intent": None,
        "verdict": None,
        "fill": None,
        "result": "no_trade",
        "market_now_us": tick.instant.now_us(),
        "quote": document_of(tick.quote),
        "book_digest": book_digest(book),
        "state": None,
        "policy_status": None,
        "judged_book_digest": None,
    }
    if intent is not None:
        verdict, state = section.judge_twin(twin, case, intent, forecast, tick)
        result = result_of(verdict.action)
        payload |= {
            "intent": document_of(intent),
            "verdict": verdict_document(verdict),
            "result": result,
            "market_now_us": state.now_us,
            "state": document_of(state.kill),
            "policy_status": document_of(state.policy_status),
            "judged_book_digest": book_digest(state.book),
            **inputs_document(state.inputs),
        }
        if result == "approved":
            fill = assumed_fill(case.instrument, intent.side, intent.qty_lots, tick.quote)
            payload["fill"] = fill.document()
    return draft_of(case, PlaceboJudged if twin is Twin.PLACEBO else GjrJudged, payload)
