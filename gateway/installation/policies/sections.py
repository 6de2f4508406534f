"""A draft policy for exactly the instruments of a table, with limits scaled by value.

Rules:
- Limits of one instrument are what the account's limits in money buy of it at its price. Without
  a price it may order and hold one smallest order; in another currency than the policy's, nothing.
- A draft that follows a signed policy keeps that policy's numbers and currency, and gets sections
  only for what it does not name yet.
- Every number that is made here says that it is a starting value. Officers decide on them.

Not here: the sections of classes (`classes`).
"""

from collections.abc import Iterator, Sequence
from typing import Final

from gateway.installation.policies.account import BP, EQUITY_MINOR, account_changes, equity_of
from gateway.installation.policies.classes import STARTS, class_section, restated
from gateway.installation.policies.traded import TradedInstrument, currency_of, listed, said
from risk.numbers.sections import InstrumentPolicy
from risk.policy.policy import Policy

_ROOM_PCT: Final = 125
"""A position may grow by a quarter above the exposure that the sizing aims at: prices move."""


def first_draft(
    policy: Policy, traded: Sequence[TradedInstrument], equity_minor: int | None
) -> Policy:
    """Return a policy for these instruments and this equity, from the one that ships."""
    equity = EQUITY_MINOR if equity_minor is None else equity_minor
    names = dict.fromkeys(one.asset_class for one in traded)
    model = policy.classes[0]
    changed: dict[str, object] = {
        "currency": currency_of(traded),
        "classes": tuple(class_section(model, name, traded) for name in names),
    }
    scaled = policy.model_copy(update=changed)
    scaled = scaled.model_copy(update=account_changes(scaled, traded, equity))
    sections = tuple(_drafted(scaled, one, equity) for one in traded)
    return scaled.model_copy(update={"instruments": sections})


def next_draft(
    policy: Policy, traded: Sequence[TradedInstrument], equity_minor: int | None
) -> Policy:
    """Return a policy that follows a signed one, with sections for exactly these instruments."""
    equity = equity_of(policy) if equity_minor is None else equity_minor
    names = dict.fromkeys(one.asset_class for one in traded)
    model = policy.classes[0]
    classes = tuple(policy.of_class(name) or class_section(model, name, traded) for name in names)
    named = policy.model_copy(update={"classes": classes})
    sections = tuple(_kept(policy, one) or _drafted(named, one, equity) for one in traded)
    return named.model_copy(update={"instruments": sections})


def missing_said(policy: Policy, traded: Sequence[TradedInstrument]) -> Iterator[str]:
    """Yield which instruments a draft can hardly trade, and what to do: price, size, currency."""
    if not traded:
        return
    currency = policy.currency
    if unpriced := [one.symbol for one in _unpriced(traded, currency)]:
        yield (
            f"no price of {listed(unpriced)}: the draft allows one smallest order of each. Draft"
            f" again with --price {unpriced[0]}=.., --bars FILE, or reference_price in the table"
        )
    dear = [
        one.symbol
        for one, section in zip(traded, policy.instruments, strict=True)
        if one.currency == currency and not section.position_max.value
    ]
    if dear:
        yield (
            f"{listed(dear)}: one smallest order is worth more than a position may be, so the draft"
            " allows no order. Draft again with the account's --equity, or decide a larger share"
        )
    if foreign := [one.symbol for one in traded if one.currency != currency]:
        yield (
            f"{listed(foreign)}: not in {currency}, the policy's currency: the draft allows no"
            " order, and `serve` does not start with it. Remove it from the table"
        )


def _unpriced(traded: Sequence[TradedInstrument], currency: str) -> Iterator[TradedInstrument]:
    return (one for one in traded if one.price_ticks is None and one.currency == currency)


def _kept(policy: Policy, traded: TradedInstrument) -> InstrumentPolicy | None:
    """Return the signed section, with no larger order than the venue takes."""
    present = policy.of_instrument(traded.symbol)
    if present is None:
        return None
    changed: dict[str, object] = {"asset_class": traded.asset_class}
    if present.order_qty_max.value > traded.max_qty:
        why = f"the venue takes no larger order of {traded.symbol}"
        changed["order_qty_max"] = restated(present.order_qty_max, traded.max_qty, why)
    return present.model_copy(update=changed)


def _drafted(policy: Policy, traded: TradedInstrument, equity_minor: int) -> InstrumentPolicy:
    model = policy.instruments[0]
    held_minor = equity_minor * policy.sizing.exposure_max.value // BP * _ROOM_PCT // 100
    order_minor = min(policy.account.order_notional_max.value, held_minor)
    order, order_why = _lots(traded, order_minor, policy.currency)
    held, held_why = _lots(traded, held_minor, policy.currency)
    if order > traded.max_qty:
        order, order_why = traded.max_qty, f"the venue takes no larger order of {traded.symbol}"
    short = STARTS[traded.asset_class].short
    changed: dict[str, object] = {
        "symbol": traded.symbol,
        "asset_class": traded.asset_class,
        "order_qty_max": restated(model.order_qty_max, order, order_why),
        "position_max": restated(model.position_max, held, held_why),
        "short_max": restated(model.short_max, 0, f"nothing may be sold short; {short}"),
    }
    return model.model_copy(update=changed)


def _lots(traded: TradedInstrument, minor: int, currency: str) -> tuple[int, str]:
    """Return what an amount buys in whole steps of the venue, and why."""
    symbol, amount = traded.symbol, said(minor, currency)
    if traded.currency != currency:
        return 0, f"{symbol} is in {traded.currency} and the policy in {currency}: none may be held"
    if traded.lot_minor is None:
        return traded.min_qty, (
            f"no price of {symbol} was given, so one smallest order; it shall be the lots that are"
            f" worth {amount}"
        )
    lots = minor // traded.lot_minor // traded.min_qty * traded.min_qty
    worth = f"one lot is {said(traded.lot_minor, currency)} at {traded.price_said}"
    if not lots:
        return 0, f"{worth}, so one smallest order is more than {amount}: none may be held"
    return lots, f"the lots that are worth {amount}; {worth}"
