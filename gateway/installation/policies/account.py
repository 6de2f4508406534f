"""The numbers of a first draft that depend on equity and on how many instruments there are.

What ships was decided for two indices and 1,000,000 USD. The shares of equity stay; the amounts
are of the desk's equity, and the reasons are about its table. Every number that is not named here
holds for any desk and stays as it ships.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from gateway.installation.policies.classes import ALWAYS_OPEN, STARTS, restated
from gateway.installation.policies.traded import TradedInstrument, said
from risk.numbers.stated import PolicyModel
from risk.policy.policy import Policy
from risk.verdict import RuleId

EQUITY_MINOR: Final = 100_000_000
"""With which an account begins if no book is opened, in minor units of any currency."""
BP: Final = 10_000
_ORDER_BP: Final = 4_000
_HALF_BP: Final = 5_000
_ALLOWANCE_BP: Final = 5
_ALLOWANCE_TICKS: Final = 10
_MANY: Final = 10
_BURST: Final = 20
_JUMPY: Final = frozenset({"crypto", "volatility"})

Changed = tuple[str, int, str]
Part = TypeVar("Part", bound=PolicyModel)


def account_changes(
    policy: Policy, traded: Sequence[TradedInstrument], equity_minor: int
) -> dict[str, object]:
    """Return the sections of a policy that are not as they ship; its classes are drafted."""
    amounts = _Amounts(equity_minor=equity_minor, currency=policy.currency)
    exposure_bp = _exposure_bp(policy, len(traded))
    changed: dict[str, object] = {
        "account": _with(policy.account, _account(amounts, len(traded))),
        "approval": _with(policy.approval, _approval(policy, amounts)),
        "sizing": _with(policy.sizing, _sizing(amounts, traded, exposure_bp)),
    }
    if (families := policy.families) is not None:
        changed["families"] = families.model_copy(
            update={
                "account": _with(families.account, _family(amounts)),
                "liquidity": _with(families.liquidity, _liquidity(traded)),
                "control": _with(families.control, [_differences(len(traded))]),
            }
        )
    return changed


@dataclass(frozen=True, slots=True, kw_only=True)
class _Amounts:
    """Amounts as shares of the desk's equity."""

    equity_minor: int
    currency: str

    def share(self, name: str, share_bp: int, why: str) -> Changed:
        """Return a number that is a share of the equity, and its reason."""
        minor = self.equity_minor * share_bp // BP
        equity = said(self.equity_minor, self.currency)
        amount = said(minor, self.currency)
        return name, minor, f"{amount}, {share_bp / 100:g} % of an equity of {equity}: {why}"


def equity_of(policy: Policy) -> int:
    """Return the equity for which the largest order of a policy is what a draft makes it."""
    return policy.account.order_notional_max.value * BP // _ORDER_BP


def _exposure_bp(policy: Policy, count: int) -> int:
    """Return the largest share of equity in one instrument: an equal part, at most a half.

    Where R10 is armed its share is the limit; above it every order would wait for a person.
    """
    part = min(_HALF_BP, max(1, BP // count))
    if policy.families is None:
        return part
    judged = any(one.arming_of(RuleId.R10).armed for one in policy.classes)
    return min(part, policy.families.account.instrument_share_max.value) if judged else part


def _account(amounts: _Amounts, count: int) -> Iterator[Changed]:
    yield amounts.share("order_notional_max", _ORDER_BP, "above it nobody may agree to one order")
    yield (
        "gross_max",
        12_500,
        "the sizing holds at most 100 % of equity; a working order and a price move come on top",
    )
    yield (
        "net_max",
        11_000,
        (
            "what is held is long and may fall together, so net is the risk that counts: 100 % by"
            " sizing and room for prices that move while an order works"
        ),
    )
    yield (
        "cooling_days",
        1,
        "a loss late in a day still counts on the next one, so that nobody trades it back at once",
    )
    yield (
        "message_rate",
        10,
        (
            "a few orders a session are expected; ten messages a second is a fault, and far below"
            " what venues call high frequency"
        ),
    )
    burst = min(600, max(_BURST, 2 * count))
    yield "message_burst", burst, f"enough to withdraw every open order in {_many(count)}"


def _approval(policy: Policy, amounts: _Amounts) -> Iterator[Changed]:
    yield amounts.share(
        "human_notional",
        2_500,
        "what is asked beyond it needs a person, the sizing's own steps do not",
    )
    band = max(1, min(one.price_collar.value for one in policy.classes) // 3)
    yield (
        "price_band",
        band,
        (
            f"the renewed limit may move {band / 100:g} %, a third of the narrowest collar, before"
            " the person must look again"
        ),
    )


def _sizing(
    amounts: _Amounts, traded: Sequence[TradedInstrument], exposure_bp: int
) -> Iterator[Changed]:
    count = len(traded)
    share = min(_HALF_BP, max(1, BP // count))
    yield "target_vol", 1_000, "10 % a year is the risk budget of the mandate"
    yield (
        "risk_share",
        share,
        (
            f"an equal part of the budget for each of {_many(count)}, at most a half: no"
            " diversification is counted on"
        ),
    )
    yield (
        "exposure_max",
        exposure_bp,
        (
            f"{exposure_bp / 100:g} % of equity in each of {_many(count)}: an equal part, at most"
            " a half, and no more than what R10 lets through without a person where it is armed"
        ),
    )
    yield (
        "no_trade_band",
        max(1, exposure_bp // 20),
        "a twentieth of exposure_max: a smaller error is not worth the spread",
    )
    yield amounts.share(
        "order_notional_max",
        exposure_bp * 2 // 5,
        "large changes take several steps, and a wrong forecast does limited harm before the next",
    )
    ticks, why = _allowance(traded)
    yield "limit_allowance", ticks, why
    if any(one.calendar == ALWAYS_OPEN for one in traded):
        yield "steps_per_year", 365, "a market of the table is open every day; a step is one day"
    else:
        yield "steps_per_year", 252, "a step is one trading day, of which a year has about 252"


def _allowance(traded: Sequence[TradedInstrument]) -> tuple[int, str]:
    """Return the ticks beyond the touch, and why: a tick of a cheap stock is a large step."""
    prices = [one.price_ticks for one in traded if one.price_ticks is not None]
    if len(prices) < len(traded):
        return 1, "one tick beyond the touch, because not every instrument has a price"
    cheapest = min(prices) * _ALLOWANCE_BP // BP
    ticks = max(1, min(_ALLOWANCE_TICKS, cheapest))
    return ticks, (
        f"ticks beyond the touch: at most {_ALLOWANCE_BP} bp of the price of each instrument, or"
        f" one tick where that is more, and at most {_ALLOWANCE_TICKS}"
    )


def _family(amounts: _Amounts) -> Iterator[Changed]:
    yield amounts.share(
        "credit_max", 15_000, "what the broker would lend; write the broker's own line if lower"
    )
    yield amounts.share(
        "basket_max", 6_000, "a basket may be half as much again as one order, and no more"
    )


def _liquidity(traded: Sequence[TradedInstrument]) -> Iterator[Changed]:
    about = {STARTS[one.asset_class].about for one in traded if one.asset_class in _JUMPY}
    often = "; {} move so far often, and a person is asked each time".format(
        " and ".join(sorted(about))
    )
    yield (
        "move_max",
        500,
        f"5 % from the last close; beyond it a person looks first{often if about else ''}",
    )
    count = len(traded)
    if count > _MANY:
        yield (
            "stress_share_max",
            2_000,
            f"a fifth of {_many(count)} moving as they seldom do is a market in stress",
        )
    else:
        yield (
            "stress_share_max",
            5_000,
            f"of {_many(count)}, more than a half moving as they seldom do is a market in stress",
        )
    yield "stress_fall_max", 300, "a mean fall of 3 % over one bar is a market in stress"


def _differences(count: int) -> Changed:
    return (
        "differences_max",
        0,
        (
            f"a book of {_many(count)} that differs from the broker's anywhere makes equity and"
            " exposure wrong, and a person can end the difference the same day"
        ),
    )


def _many(count: int) -> str:
    return "one instrument" if count == 1 else f"{count} instruments"


def _with(part: Part, changed: Iterable[Changed]) -> Part:
    update = {name: restated(getattr(part, name), value, why) for name, value, why in changed}
    return part.model_copy(update=update)
