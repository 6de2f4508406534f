"""A policy's sections for exactly the instruments of a table.

An instrument that the policy does not name yet gets starting numbers, which say so: the smallest
of the other instruments. A new class takes over those of the first. Officers decide on them.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from risk.policy.policy import ClassPolicy, InstrumentPolicy, Policy
from risk.policy.stated import Stated

_LOTS: Final = ("order_qty_max", "position_max", "short_max")


@dataclass(frozen=True, slots=True, kw_only=True)
class TradedInstrument:
    """What a policy must name of an instrument; `max_qty` is the venue's largest order, lots."""

    symbol: str
    asset_class: str
    max_qty: int
    currency: str


def naming(policy: Policy, traded: Sequence[TradedInstrument]) -> Policy:
    """Return a policy that names exactly these instruments, each with its class."""
    wanted = list(dict.fromkeys(one.asset_class for one in traded))
    classes = tuple(policy.of_class(name) or _class_like(policy, name) for name in wanted)
    instruments = tuple(_section(policy, one) for one in traded)
    changed = {"classes": classes, "instruments": instruments, "currency": currency_of(traded)}
    return policy.model_copy(update=changed)


def currency_of(traded: Sequence[TradedInstrument]) -> str:
    """Return the currency that most of the instruments have, the first of them if even.

    A policy has one; the start names every instrument with another.
    """
    counted = Counter(one.currency for one in traded)
    return counted.most_common(1)[0][0]


def _class_like(policy: Policy, name: str) -> ClassPolicy:
    model = policy.classes[0]
    why = f"Starting value, taken over from the class {model.asset_class}: decide it for {name}."
    changed = {field: _restated(value, value.value, why) for field, value in _numbers(model)}
    return model.model_copy(update={"asset_class": name, **changed})


def _section(policy: Policy, traded: TradedInstrument) -> InstrumentPolicy:
    present = policy.of_instrument(traded.symbol)
    why = f"Starting value, at most as for other instruments: decide it for {traded.symbol}."
    if present is None:
        like = policy.instruments[0]
        changed: dict[str, object] = {
            name: _restated(getattr(like, name), _least(policy, name), why) for name in _LOTS
        }
        present = like.model_copy(update={"symbol": traded.symbol, **changed})
    changed = {"asset_class": traded.asset_class}
    if present.order_qty_max.value > traded.max_qty:
        said = f"The venue's largest order of {traded.symbol}."
        changed["order_qty_max"] = _restated(present.order_qty_max, traded.max_qty, said)
    return present.model_copy(update=changed)


def _least(policy: Policy, name: str) -> int:
    return min(int(getattr(one, name).value) for one in policy.instruments)


def _restated(number: Stated, value: int, rationale: str) -> Stated:
    return number.model_copy(update={"value": value, "rationale": rationale})


def _numbers(part: ClassPolicy) -> Iterable[tuple[str, Stated]]:
    return ((name, value) for name, value in part if isinstance(value, Stated))
