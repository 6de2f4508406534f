"""The placebo twin: the table model's forecast through the same sizing and policy, never sent.

Its fills are assumed at the touch with the paper broker's fee, on a book of its own, so that beside
every result of the target stands what the free table would have done: the difference is what the AI
adds.
"""

from typing import Final

from audit.canonical import JSON
from audit.kinds import Kind
from audit.record import Draft
from gateway.journal import draft
from gateway.section import Section, result_of
from gateway.walk import Case, Tick
from inference.forecast import Forecast
from risk.intent import Side, intent_document
from risk.sizing import sizing_document, to_intent
from risk.verdict import verdict_document

FEE_BP: Final = 1
"""Commission of the assumed fill, basis points of notional; equals the simulator's default."""


def judge_twin(case: Case, section: Section, forecast: Forecast, tick: Tick) -> Draft:
    """Return the record of what the twin would have done, with its assumed fill."""
    book = section.placebo_book(case.tags.account)
    sizing = case.propose(forecast, book, tick.quote)
    intent = to_intent(
        sizing,
        decision_id=f"{case.decision_id}.placebo",
        account=book.account,
        strategy=case.strategy,
        author=case.author,
        directional=case.directional,
    )
    payload: dict[str, JSON] = {
        "sizing": sizing_document(sizing),
        "intent": None,
        "verdict": None,
        "fill": None,
        "result": "no_trade",
        "market_now_us": tick.instant.now_us(),
    }
    if intent is not None:
        verdict, state = section.judge_placebo(case, intent, forecast, tick)
        result = result_of(verdict.action)
        payload |= {
            "intent": intent_document(intent),
            "verdict": verdict_document(verdict),
            "result": result,
            "market_now_us": state.now_us,
        }
        if result == "approved":
            buys = intent.side is Side.BUY
            price = tick.quote.ask_ticks if buys else tick.quote.bid_ticks
            notional = price * intent.qty_lots * case.instrument.unit_minor
            payload["fill"] = {
                "instrument": intent.instrument,
                "side": intent.side.value,
                "qty_lots": intent.qty_lots,
                "price_ticks": price,
                "fee_minor": notional * FEE_BP // 10_000,
                "unit_minor": case.instrument.unit_minor,
            }
    return draft(case, Kind.PLACEBO_JUDGED, "placebo_judged", payload, tagged=True)
