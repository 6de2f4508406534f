"""The sections of a policy that rules read: armings, and the numbers that came with format 1.

Not here: the families of format 2, whose numbers each rule declares beside what it measures.
"""

from typing import Annotated, Final, Protocol, Self

from pydantic import Field, model_validator

from risk.intent import Symbol
from risk.numbers.stated import (
    BasisPoints,
    Count,
    LogReturn,
    Lots,
    Micros,
    Minor,
    Name,
    Percent,
    PerSecond,
    PolicyModel,
)
from risk.verdict import RuleId

ALWAYS_ARMED: Final = frozenset({RuleId.R00, RuleId.R01})


class Arming(PolicyModel):
    """Whether a rule is armed for a class, and the reason if it is not."""

    rule: RuleId
    armed: bool
    reason: Annotated[str, Field(max_length=600)]

    @model_validator(mode="after")
    def _reasoned(self) -> Self:
        if self.armed == bool(self.reason):
            raise ValueError("a disarmed rule states a reason, an armed one none")
        if not self.armed and self.rule in ALWAYS_ARMED:
            raise ValueError("R00 and R01 cannot be disarmed")
        return self


class ClassPolicy(PolicyModel):
    """Numbers of one asset class.

    Attributes:
        forecast_age_max: Age of a forecast, as a share of horizon times bar length.
        directional_p_up_min: P(r > 0) that a directional buy needs; a sell needs 1 - P(r > 0).
        interval_width_max: Width of the 90 % interval at the horizon.
        clock_skew_max: How far `now` may be behind the book's latest event.
    """

    asset_class: Name
    arming: tuple[Arming, ...]
    price_collar: BasisPoints
    quote_age_max: Micros
    clock_skew_max: Micros
    forecast_age_max: BasisPoints
    narrative_age_max: Micros
    directional_p_up_min: BasisPoints
    paths_min: Count
    interval_width_max: LogReturn

    @model_validator(mode="after")
    def _once_each(self) -> Self:
        if len({entry.rule for entry in self.arming}) != len(self.arming):
            raise ValueError("`arming` names a rule twice")
        return self

    def arming_of(self, rule: RuleId) -> Arming:
        """Return the entry of one rule."""
        return next(entry for entry in self.arming if entry.rule == rule)


class InstrumentPolicy(PolicyModel):
    """Numbers of one instrument; a `short_max` of 0 forbids selling short."""

    symbol: Symbol
    asset_class: Name
    order_qty_max: Lots
    position_max: Lots
    short_max: Lots


class AccountPolicy(PolicyModel):
    """Numbers of an account.

    Attributes:
        warn_at: Share of a loss limit above which a result warns.
        cooling_days: Finished days whose loss counts against the day limit.
        message_reserve: Share of the burst for cancels only.
    """

    order_notional_max: Minor
    gross_max: BasisPoints
    net_max: BasisPoints
    leverage_max: Percent
    day_loss_max: BasisPoints
    cooling_days: Count
    drawdown_max: BasisPoints
    warn_at: BasisPoints
    message_rate: PerSecond
    message_burst: Count
    message_reserve: BasisPoints
    duplicate_window: Micros


class ApprovalPolicy(PolicyModel):
    """When a person must approve, and how far a renewed order may differ."""

    human_notional: Minor
    ttl: Micros
    price_band: BasisPoints
    size_band: BasisPoints
    exposure_band: BasisPoints


class ForEveryInstrument(Protocol):
    """The parts of a policy that hold whatever is traded."""

    currency: str
    account: AccountPolicy
    approval: ApprovalPolicy
