"""Sizing: the position that a forecast justifies, and the order that leads there.

Not here: whether the order may be sent (`risk/evaluate.py`).

Rules:
- The overlay's exposure is target volatility / forecast volatility, long or flat, capped. No
  prediction of direction enters.
- There is no order inside the no-trade band, and none larger than the policy's step.
- Under a policy of format 2 the overlay also stays inside two budgets on the sampled paths of the
  whole book: expected shortfall, and the chance that a loss limit trips. A position that breaks a
  budget is reduced even inside the band. Without those paths there is no order.
- An agent's target exposure is not capped here; the rules judge it.
- Quantities round toward zero, so rounding never adds risk. All arithmetic is on integers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from math import isqrt
from typing import Final

from inference.forecast.forecast import Forecast
from risk.errors import PathsError
from risk.forms.canonical import JSON
from risk.forms.documents import document_of, value_of
from risk.intent import Intent, Side, TimeInForce
from risk.policy.policy import Policy, SizingPolicy
from risk.state.book import Book
from risk.state.instrument import Instrument
from risk.state.paths.budgets import Budgets, exceeded, inside, losses_under
from risk.state.paths.joint import BookPaths
from risk.state.state import Quote

BP: Final = 10_000
ONE_1E8: Final = 100_000_000


class SizingBasis(StrEnum):
    """Source of the target."""

    VOLATILITY = "VOLATILITY"
    EXPOSURE = "EXPOSURE"


class SizingReason(StrEnum):
    """Why a sizing leads to its order or to none."""

    ORDER = "ORDER"
    ORDER_CAPPED_AT_STEP = "ORDER_CAPPED_AT_STEP"
    INSIDE_NO_TRADE_BAND = "INSIDE_NO_TRADE_BAND"
    LESS_THAN_SMALLEST_ORDER = "LESS_THAN_SMALLEST_ORDER"
    NO_EQUITY = "NO_EQUITY"
    NO_VOLATILITY = "NO_VOLATILITY"
    NO_PRICE = "NO_PRICE"
    NO_JOINT_PATHS = "NO_JOINT_PATHS"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizing:
    """A target and the order toward it; quantities are signed lots, exposures of equity.

    Attributes:
        vol_year_1e8: Forecast volatility per year, 0 if not used.
        current_exposure_bp: Exposure of position and pending orders at mid.
        current_lots: Position plus pending orders.
        wanted_lots: From the current to the target position.
        delta_qty: Quantity of this order; 0 for no order.
        limit_ticks: Limit price of the order; 0 for no order.
        budgets: None under a policy of format 1, and for a given exposure.
    """

    instrument: str
    basis: SizingBasis
    vol_year_1e8: int
    uncapped_bp: int
    target_exposure_bp: int
    current_exposure_bp: int
    equity_minor: int
    current_lots: int
    target_lots: int
    wanted_lots: int
    delta_qty: int
    limit_ticks: int
    reason: SizingReason
    budgets: Budgets | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    basis: SizingBasis
    vol_year_1e8: int
    uncapped_bp: int
    target_bp: int
    band_bp: int
    step_minor: int | None
    budgets: Budgets | None = None


def sizing_document(sizing: Sizing) -> dict[str, JSON]:
    """Return a sizing as a document; budgets are left out where there are none."""
    document = document_of(sizing)
    if sizing.budgets is None:
        del document["budgets"]
    return document


def sizing_of(document: Mapping[str, JSON]) -> Sizing:
    """Read what `sizing_document` wrote; raises as `value_of`."""
    return value_of(Sizing, {"budgets": None, **document})


def size(
    policy: SizingPolicy,
    forecast: Forecast,
    book: Book,
    instrument: Instrument,
    quote: Quote,
    equity_minor: int,
) -> Sizing:
    """Return the sizing by volatility target."""
    target = _by_volatility(policy, forecast)
    if target.vol_year_1e8 == 0:
        return _none(target, book, instrument, equity_minor, SizingReason.NO_VOLATILITY)
    return _step(policy, target, book, instrument, quote, equity_minor)


def size_within(
    policy: Policy,
    forecast: Forecast,
    book: Book,
    instrument: Instrument,
    quote: Quote,
    paths: BookPaths | None,
) -> Sizing:
    """Return the sizing by volatility target, inside the policy's budgets if it has any."""
    sizing, equity = policy.sizing, book.equity_minor
    if policy.families is None:
        return size(sizing, forecast, book, instrument, quote, equity)
    target = _by_volatility(sizing, forecast)
    if target.vol_year_1e8 == 0:
        return _none(target, book, instrument, equity, SizingReason.NO_VOLATILITY)
    if min(quote.bid_ticks, quote.ask_ticks) <= 0 or equity <= 0:
        return _step(sizing, target, book, instrument, quote, equity)
    limits = policy.families.horizon
    twice_lot = (quote.bid_ticks + quote.ask_ticks) * instrument.unit_minor
    try:
        losses = losses_under(policy.account, limits, paths, book, instrument.symbol, twice_lot)
        left_bp, budgets = inside(
            limits,
            losses,
            target.target_bp,
            capped=target.uncapped_bp > target.target_bp,
            lots_of=lambda bp: _aimed(bp, equity, twice_lot),
        )
    except PathsError:
        return _none(target, book, instrument, equity, SizingReason.NO_JOINT_PATHS)
    broken = exceeded(limits, losses.at(_current(book, instrument.symbol)))
    band = target.band_bp if broken is None else 0
    target = replace(target, target_bp=left_bp, band_bp=band, budgets=budgets)
    return _step(sizing, target, book, instrument, quote, equity)


def _by_volatility(policy: SizingPolicy, forecast: Forecast) -> _Target:
    vol_year = isqrt(max(0, forecast.step_vol_1e8) ** 2 * policy.steps_per_year.value)
    aimed_1e8 = policy.target_vol.value * ONE_1E8 // BP
    uncapped = aimed_1e8 * policy.risk_share.value // vol_year if vol_year else 0
    return _Target(
        basis=SizingBasis.VOLATILITY,
        vol_year_1e8=vol_year,
        uncapped_bp=uncapped,
        target_bp=min(uncapped, policy.exposure_max.value),
        band_bp=policy.no_trade_band.value,
        step_minor=policy.order_notional_max.value,
    )


def size_exposure(
    policy: SizingPolicy,
    target_exposure_bp: int,
    book: Book,
    instrument: Instrument,
    quote: Quote,
    equity_minor: int,
) -> Sizing:
    """Return the sizing for a given exposure (signed basis points of equity), uncapped."""
    target = _Target(
        basis=SizingBasis.EXPOSURE,
        vol_year_1e8=0,
        uncapped_bp=target_exposure_bp,
        target_bp=target_exposure_bp,
        band_bp=0,
        step_minor=None,
    )
    return _step(policy, target, book, instrument, quote, equity_minor)


def size_toward(
    policy: SizingPolicy,
    recorded: Sizing,
    book: Book,
    instrument: Instrument,
    quote: Quote,
) -> Sizing:
    """Return the sizing of another book toward a target that was sized on its own.

    Where that one traded inside the band, a budget was broken, and this one may do so too.
    """
    gap_bp = abs(recorded.target_exposure_bp - recorded.current_exposure_bp)
    broke = recorded.delta_qty != 0 and gap_bp < policy.no_trade_band.value
    target = _Target(
        basis=recorded.basis,
        vol_year_1e8=recorded.vol_year_1e8,
        uncapped_bp=recorded.uncapped_bp,
        target_bp=recorded.target_exposure_bp,
        band_bp=0 if broke else policy.no_trade_band.value,
        step_minor=policy.order_notional_max.value,
    )
    return _step(policy, target, book, instrument, quote, book.equity_minor)


def to_intent(
    sizing: Sizing,
    *,
    decision_id: str,
    account: str,
    strategy: str,
    author: str,
    directional: bool,
    tif: TimeInForce = TimeInForce.DAY,
) -> Intent | None:
    """Return the intent of a sizing, or None if it leads to no order."""
    if sizing.delta_qty == 0:
        return None
    return Intent(
        decision_id=decision_id,
        account=account,
        strategy=strategy,
        author=author,
        instrument=sizing.instrument,
        side=Side.BUY if sizing.delta_qty > 0 else Side.SELL,
        qty_lots=abs(sizing.delta_qty),
        limit_ticks=sizing.limit_ticks,
        tif=tif,
        target_exposure_bp=sizing.target_exposure_bp,
        directional=directional,
    )


def _step(
    policy: SizingPolicy,
    target: _Target,
    book: Book,
    instrument: Instrument,
    quote: Quote,
    equity_minor: int,
) -> Sizing:
    if quote.bid_ticks <= 0 or quote.ask_ticks <= 0:
        return _none(target, book, instrument, equity_minor, SizingReason.NO_PRICE)
    if equity_minor <= 0:
        return _none(target, book, instrument, equity_minor, SizingReason.NO_EQUITY)
    # Twice the mid, so that half a tick is not lost.
    twice_lot = (quote.bid_ticks + quote.ask_ticks) * instrument.unit_minor
    current = _current(book, instrument.symbol)
    current_bp = _toward_zero(current * twice_lot * BP, 2 * equity_minor)
    aimed = _aimed(target.target_bp, equity_minor, twice_lot)
    wanted = aimed - current
    exits = target.target_bp == 0 and current != 0
    inside = abs(target.target_bp - current_bp) < target.band_bp and not exits
    limit = _limit(policy, quote, wanted)
    delta, reason = wanted, SizingReason.ORDER
    if target.step_minor is not None:
        worst = max(limit, quote.ask_ticks, quote.bid_ticks) * instrument.unit_minor
        largest = target.step_minor // worst
        if abs(wanted) > largest:
            delta, reason = largest if wanted > 0 else -largest, SizingReason.ORDER_CAPPED_AT_STEP
    delta = _toward_zero(delta, instrument.min_qty) * instrument.min_qty
    if inside:
        delta, reason = 0, SizingReason.INSIDE_NO_TRADE_BAND
    elif delta == 0:
        reason = SizingReason.LESS_THAN_SMALLEST_ORDER
    return replace(
        _none(target, book, instrument, equity_minor, reason),
        current_exposure_bp=current_bp,
        target_lots=aimed,
        wanted_lots=wanted,
        delta_qty=delta,
        limit_ticks=limit if delta else 0,
    )


def _none(
    target: _Target, book: Book, instrument: Instrument, equity_minor: int, reason: SizingReason
) -> Sizing:
    current = _current(book, instrument.symbol)
    return Sizing(
        instrument=instrument.symbol,
        basis=target.basis,
        vol_year_1e8=target.vol_year_1e8,
        uncapped_bp=target.uncapped_bp,
        target_exposure_bp=target.target_bp,
        current_exposure_bp=0,
        equity_minor=equity_minor,
        current_lots=current,
        target_lots=current,
        wanted_lots=0,
        delta_qty=0,
        limit_ticks=0,
        reason=reason,
        budgets=target.budgets,
    )


def _aimed(target_bp: int, equity_minor: int, twice_lot_minor: int) -> int:
    """Return the lots of an exposure, toward zero."""
    return _toward_zero(2 * target_bp * equity_minor, BP * twice_lot_minor)


def _current(book: Book, symbol: str) -> int:
    """Return the position after everything pending executed."""
    bought = book.pending_lots(symbol, Side.BUY)
    return book.lots(symbol) + bought - book.pending_lots(symbol, Side.SELL)


def _limit(policy: SizingPolicy, quote: Quote, wanted: int) -> int:
    """Return a marketable limit: the touch plus an allowance, never below one tick."""
    allowance = policy.limit_allowance.value
    if wanted > 0:
        return quote.ask_ticks + allowance
    return max(1, quote.bid_ticks - allowance)


def _toward_zero(part: int, whole: int) -> int:
    return part // whole if part >= 0 else -(-part // whole)
