"""A policy's numbers for one instrument, as plain objects that are quick to read.

A verdict reads some two hundred numbers of one policy. A signed model is slow to read, so its
numbers are copied once for each policy and instrument, under the same names.

Not here: what a number does (`risk/rules`).

Rules:
- Where the policy has no such part, reading it refuses (`Refusing`) or fails (`BROKEN`).
- A policy is known by identity, and kept with its numbers: a copy with another number is another.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any, Final, NoReturn

from pydantic import BaseModel

from risk.numbers.sections import Arming
from risk.numbers.stated import PolicyModel
from risk.verdict import Reason, RuleId

BROKEN: Final = object()
"""Stands where something has another type than it should: reading any part of it fails."""
_KEPT: Final = 256
_NUMBERS: Final[dict[tuple[int, str], tuple[PolicyModel, "Numbers"]]] = {}


class RuleRefusal(Exception):  # noqa: N818 - an outcome, caught where rules are run
    """A rule cannot judge, for this reason."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.value)
        self.reason = reason


class Refusing:
    """Stands where a part is absent: reading any of it is a refusal."""

    __slots__ = ("_reason",)

    def __init__(self, reason: Reason) -> None:
        self._reason = reason

    def __getattr__(self, name: str) -> NoReturn:
        raise RuleRefusal(self._reason)


class Numbers:
    """What rules read of a policy, for one instrument; parts are plain, absent ones refuse.

    Attributes:
        policy: The parts that hold for all instruments (`account`, `approval`, `currency`).
        armings: Each rule's entry in the instrument's class.
        plan: What `evaluate` keeps with these numbers.
    """

    __slots__ = ("armings", "families", "for_class", "for_instrument", "plan", "policy")

    def __init__(self, policy: object, symbol: object) -> None:
        self.plan: object = None
        self.policy: Any = BROKEN
        self.families: Any = BROKEN
        self.for_instrument: Any = BROKEN
        self.for_class: Any = BROKEN
        self.armings: Any = BROKEN
        with suppress(Exception):  # what was not read fails where it is read
            self._read(policy, symbol)

    def _read(self, policy: Any, symbol: Any) -> None:  # noqa: ANN401 - any nonsense
        families = policy.families
        self.families = (
            Refusing(Reason.RULE_NOT_IN_POLICY) if families is None else plain_of(families)
        )
        self.policy = plain_of(policy)
        found = policy.of_instrument(symbol)
        if found is None:
            absent = Refusing(Reason.UNKNOWN_INSTRUMENT)
            self.for_instrument = self.for_class = self.armings = absent
            return
        self.for_instrument = plain_of(found)
        section = policy.of_class(found.asset_class)
        if section is None:
            self.for_class = self.armings = Refusing(Reason.UNKNOWN_CLASS)
            return
        self.for_class = plain_of(section)
        self.armings = policy.armings_of(section.asset_class)

    def arming_of(self, rule: RuleId) -> Arming:
        """Return the entry of a rule, or refuse."""
        found = self.armings.get(rule)
        if not isinstance(found, Arming):
            raise RuleRefusal(Reason.RULE_NOT_IN_POLICY)
        return found


def numbers_of(policy: object, symbol: object) -> Numbers:
    """Return the numbers for an instrument; never raises, whatever its arguments."""
    if not isinstance(policy, PolicyModel) or type(symbol) is not str:
        return Numbers(policy, symbol)
    kept = _NUMBERS.get((id(policy), symbol))
    if kept is not None and kept[0] is policy:
        return kept[1]
    made = Numbers(policy, symbol)
    if len(_NUMBERS) >= _KEPT:
        _NUMBERS.clear()
    _NUMBERS[id(policy), symbol] = (policy, made)
    return made


def plain_of(value: object) -> Any:  # noqa: ANN401 - the same names, without the model
    """Return a model as an object with its fields as plain attributes, its parts likewise."""
    if isinstance(value, tuple):
        return tuple(plain_of(one) for one in value)
    if not isinstance(value, BaseModel):
        return value
    made = _plain(type(value))()
    for name, part in vars(value).items():
        setattr(made, name, plain_of(part))
    return made


@cache
def _plain(kind: type[BaseModel]) -> Callable[[], object]:
    """Return a class of its own for each model, so that its attributes have fixed places."""
    return type(kind.__name__, (), {})
