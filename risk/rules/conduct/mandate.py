"""R45: where a market-making agreement binds, quotes stay two-sided, of like size, and near.

Rules:
- It applies only to instruments in the policy's list of mandates.
- Presence: quoted on both sides for at least `presence_warn` of continuous trading; below, a
  result warns. It refuses nothing: an order refused would lower the presence further.
- Sizes: with this order, the larger side of the account's open lots is at most `size_ratio_max` of
  the smaller. Spread: its best offer is at most `quoted_spread_max` of its best bid above that.
  Both apply only while the account quotes the other side.

Not here: withdrawal, which is a cancel and which no rule refuses.

Source: Commission Delegated Regulation (EU) 2017/578 art. 1 to 3; Directive 2014/65/EU art. 17(3).
"""

from typing import Annotated, Final

from risk.intent import Side
from risk.numbers.looser import Looser
from risk.numbers.stated import BasisPoints, Day, Name, PolicyModel, Text
from risk.rules.exposure import own, side_of
from risk.rules.limits import BP
from risk.rules.rule import (
    Check,
    Measured,
    Rule,
    RuleCase,
    RuleRefusal,
    counted,
    positive,
    ratio_up,
)
from risk.verdict import Action, Bound, Reason, RuleId, Scope, Unit


class MakerMandate(PolicyModel):
    """An instrument, by its symbol, in which a market-making agreement binds the firm."""

    name: Name
    owner: Text
    why: Text
    review_by: Day


class MandateLimits(PolicyModel):
    """Duties to quote, and how they are kept.

    Attributes:
        mandates: Instruments with a duty; an empty list binds to nothing.
        presence_warn: Share of continuous hours quoted on both sides, below which a result warns.
        size_ratio_max: The larger quoted side, in 1/10,000 of the smaller.
        quoted_spread_max: Distance of the own best quotes, of the bid.
    """

    mandates: tuple[MakerMandate, ...]
    presence_warn: Annotated[BasisPoints, Looser.LOWER]
    size_ratio_max: Annotated[BasisPoints, Looser.HIGHER]
    quoted_spread_max: Annotated[BasisPoints, Looser.HIGHER]


def _presence(case: RuleCase) -> int:
    quoting = case.inputs.quoting
    if quoting is None:
        raise RuleRefusal(Reason.INPUT_MISSING)
    continuous, two_way = counted(quoting.continuous_us), counted(quoting.two_way_us)
    if two_way > continuous:
        raise RuleRefusal(Reason.OUT_OF_RANGE)
    return two_way * BP // continuous if continuous else BP


def _quotes(case: RuleCase) -> dict[Side, list[tuple[int, int]]]:
    """Return price and lots of the account's open orders with this one, by side."""
    firm, skip = case.inputs.firm, own(case)
    if firm is None:
        raise RuleRefusal(Reason.INPUT_MISSING)
    found: dict[Side, list[tuple[int, int]]] = {Side.BUY: [], Side.SELL: []}
    found[side_of(case)].append((positive(case.intent.limit_ticks), positive(case.intent.qty_lots)))
    for one in firm.orders:
        mine = (one.account, one.instrument) == (case.intent.account, case.intent.instrument)
        if mine and (not skip or one.decision_id != skip):
            found[Side(one.side)].append((positive(one.limit_ticks), positive(one.open_lots)))
    return found


def _mandate(case: RuleCase) -> tuple[Measured, ...]:
    limits: MandateLimits = case.families.authority
    bound = case.intent.instrument in {one.name for one in limits.mandates}
    waived = None if bound else Reason.NO_MANDATE
    presence, ratio, spread = BP, BP, 0
    one_sided = waived
    if bound:
        presence, quotes = _presence(case), _quotes(case)
        one_sided = None if all(quotes.values()) else Reason.ONE_SIDED
        if one_sided is None:
            lots = sorted(sum(qty for _, qty in side) for side in quotes.values())
            ratio = ratio_up(lots[1], BP, lots[0])
            bid = max(price for price, _ in quotes[Side.BUY])
            ask = min(price for price, _ in quotes[Side.SELL])
            spread = ratio_up(max(0, ask - bid), BP, bid)
    return (
        Measured(observed=presence, limit=limits.presence_warn.value, waived=waived),
        Measured(observed=ratio, limit=limits.size_ratio_max.value, waived=one_sided),
        Measured(observed=spread, limit=limits.quoted_spread_max.value, waived=one_sided),
    )


R45: Final = Rule(
    rule_id=RuleId.R45,
    version=1,
    title="Market-making mandate: presence, sizes and spread of own quotes",
    checks=(
        Check(
            name="presence",
            unit=Unit.BASIS_POINTS,
            scope=Scope.INSTRUMENT,
            bound=Bound.MIN,
            reason=Reason.QUOTING_BELOW_MANDATE,
            breach=Action.WARN,
        ),
        Check(
            name="sizes",
            unit=Unit.BASIS_POINTS,
            scope=Scope.INSTRUMENT,
            reason=Reason.QUOTES_UNEQUAL,
            breach=Action.HOLD,
        ),
        Check(
            name="spread",
            unit=Unit.BASIS_POINTS,
            scope=Scope.INSTRUMENT,
            reason=Reason.SPREAD_ABOVE_MANDATE,
            breach=Action.HOLD,
        ),
    ),
    measure=_mandate,
)

RULES: Final = (R45,)
