"""Proposals: the playback's volatility-target overlay, and an agent's wish. Pure."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from inference.forecast.forecast import Forecast
from risk.policy.policy import Policy, SizingPolicy
from risk.sizing import Sizing, size_exposure, size_within
from risk.state.book import Book
from risk.state.instrument import Instrument
from risk.state.paths.joint import BookPaths
from risk.state.state import Quote

OVERLAY: Final = "vol-target-overlay"
AGENT_WISH: Final = "agent-exposure"

Propose = Callable[[Forecast, Book, Quote, BookPaths | None], Sizing]


def overlay(policy: Policy, instrument: Instrument) -> Propose:
    """Return the overlay: exposure = target volatility / forecast volatility, long or flat.

    Under a policy of format 2 it stays inside the budgets on the paths of the whole book.
    """

    def propose(forecast: Forecast, book: Book, quote: Quote, paths: BookPaths | None) -> Sizing:
        return size_within(policy, forecast, book, instrument, quote, paths)

    return propose


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """An agent's request; None stands for no cap, and for the touch plus the policy's allowance."""

    target_exposure_bp: int
    max_qty_lots: int | None
    limit_ticks: int | None


def wish(policy: SizingPolicy, instrument: Instrument, wanted: Wish) -> Propose:
    """Return an agent's wish as a proposal; only the rules limit it."""

    def propose(_: Forecast, book: Book, quote: Quote, __: BookPaths | None) -> Sizing:
        return wished(policy, instrument, wanted, book, quote)

    return propose


def wished(
    policy: SizingPolicy, instrument: Instrument, wanted: Wish, book: Book, quote: Quote
) -> Sizing:
    """Return the order that a wish leads to; no forecast enters."""
    sizing = size_exposure(
        policy, wanted.target_exposure_bp, book, instrument, quote, book.equity_minor
    )
    if sizing.delta_qty == 0:
        return sizing
    quantity = abs(sizing.delta_qty)
    if wanted.max_qty_lots is not None:
        quantity = min(quantity, wanted.max_qty_lots)
    signed = quantity if sizing.delta_qty > 0 else -quantity
    return replace(sizing, delta_qty=signed, limit_ticks=wanted.limit_ticks or sizing.limit_ticks)
