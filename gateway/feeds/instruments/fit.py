"""Whether listings fit the signed policy, the broker's profile and what was traded before.

A start is refused with every misfit at once. Not here: what a single value may be (`fields`).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields

from fix.dialects.profile import Profile
from gateway.walk.journal.run import InstrumentListed, Listing
from risk.forms.documents import document_of
from risk.forms.money import minor_digits
from risk.policy.policy import Policy
from risk.state.instrument import Instrument


def misfits(listings: Iterable[Listing], policy: Policy, profile: Profile) -> Iterator[str]:
    """Yield why an instrument cannot be traded under a policy and with a broker.

    A policy that allows larger orders than the venue takes does not fit, so that rule R03 holds
    both. An instrument that the policy does not name fits: the rules refuse its orders.
    """
    for listing in listings:
        units, limits = listing.instrument, policy.of_instrument(listing.instrument.symbol)
        for currency, whose in (
            (policy.currency, "policy"),
            (profile.currency, "broker's profile"),
        ):
            if units.currency != currency:
                yield (
                    f"{units.symbol}: currency is {units.currency}, the {whose} has {currency};"
                    " the book has one currency: remove the instrument"
                )
        if units.currency == profile.currency and minor_digits(units.currency) != (
            profile.minor_digits
        ):
            yield (
                f"{units.symbol}: prices in {units.currency} have {minor_digits(units.currency)}"
                f" decimals, the broker's profile has {profile.minor_digits}"
            )
        if limits is None:
            continue
        if limits.asset_class != units.asset_class:
            yield (
                f"{units.symbol}: asset_class is {units.asset_class}, the policy has"
                f" {limits.asset_class}; write {limits.asset_class}, or have another policy signed"
            )
        if limits.order_qty_max.value > listing.max_qty:
            yield (
                f"{units.symbol}: max_qty is {listing.max_qty} lots, the policy allows"
                f" {limits.order_qty_max.value}; have a policy signed that allows at most max_qty"
            )


def unnamed(listings: Iterable[Listing], policy: Policy) -> Iterator[str]:
    """Yield the symbols that a policy does not name; the rules refuse every intent on them."""
    for listing in listings:
        if policy.of_instrument(listing.instrument.symbol) is None:
            yield listing.instrument.symbol


def changes(
    listed: Mapping[str, Instrument], before: Iterable[InstrumentListed], ordered: Iterable[str]
) -> Iterator[str]:
    """Yield what a table may not change: the units of an instrument that has orders on record.

    Reports of its orders may still come, and are counted in its lots and ticks.
    """
    newest = {one.instrument["symbol"]: one.instrument for one in before}
    for symbol in sorted(set(ordered)):
        if symbol not in listed:
            yield f"{symbol}: is not in the table, but has orders on record; keep its section"
            continue
        now, then = document_of(listed[symbol]), newest.get(symbol, {})
        for name in (one.name for one in fields(Instrument)):
            if name in then and then[name] != now[name]:
                yield (
                    f"{symbol}: {name} is {now[name]}, the ledger has {then[name]} and orders in"
                    f" it; write {then[name]}, or list the new terms under a new symbol"
                )
