"""The mode of a forecast: fast, standard, deep or secure, chosen before sampling.

Not here: the numbers of the table, which the signed policy states; the readings themselves
(`regime`, `divergence`).

Rules, in this order:
- Secure reasoning drafts nothing.
- Words against numbers by at least the table's conflict: deep, once for each event.
- A turbulent regime: fast.
- Else: standard.
- Path numbers are the plan's times or divided by a whole number, so that paths of two modes can be
  joined by taking the first of the longer.
- Where the target's rows are known by state and no word acts, a forecast is drawn directly as far
  as the table allows it; secure reasoning asks the engine.

The template is no mode of choice: where the policy permits it, the table alone answers once the
engine has failed.
"""

from collections.abc import Collection
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from inference.codec.codec import log_returns
from inference.forecast.divergence import Divergence, measure
from inference.forecast.regime import Regime, RegimeReading, read_regime
from inference.snapshot import Snapshot
from inference.speculation.look_ahead import LookAhead, choose

FEWEST_PATHS = 2
MOST_PATHS = 2048


class ForecastMode(StrEnum):
    """How much is spent on a forecast."""

    FAST = "fast"
    STANDARD = "standard"
    DEEP = "deep"
    SECURE = "secure"


class ModeCause(StrEnum):
    """Why a forecast has its mode."""

    USUAL = "usual"
    TURBULENT = "turbulent"
    CONFLICT = "conflict"
    SECURE = "secure"


class Sampler(StrEnum):
    """Who draws a forecast's tokens."""

    ENGINE = "engine"
    DIRECT = "direct"


class DirectUse(IntEnum):
    """Which of the forecasts that could be drawn directly are."""

    NEVER = 0
    AWAITED = 1  # a fast one, and the first of an instrument
    ALWAYS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeTable:
    """The policy's numbers.

    Attributes:
        fast_divisor: What the plan's paths are divided by in a fast forecast.
        fast_look_ahead: Most drafts of a round in a fast forecast.
        deep_factor: What the plan's paths are multiplied by in a deep one.
        turbulence_bp: Evidence at which the regime changes, 1/10,000 nats.
        conflict_bp: Conflict of words and numbers from which a forecast is deep.
        direct: Which forecasts are drawn directly, of those that can be.
    """

    fast_divisor: int
    fast_look_ahead: int
    deep_factor: int
    turbulence_bp: int
    conflict_bp: int
    direct: DirectUse = DirectUse.NEVER


@dataclass(frozen=True, slots=True, kw_only=True)
class Usual:
    """What a forecast is without a table.

    Attributes:
        paths: Trajectories.
        horizon: Tokens of each.
        spec_k: Most drafts of a round; 0 is no speculation.
        accepted_pm: Chance that a draft is accepted, in 1/1000.
    """

    paths: int
    horizon: int
    spec_k: int
    accepted_pm: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Occasion:
    """What a mode is chosen for, beside the snapshot.

    Attributes:
        secure: Nothing may be drafted.
        by_state: The target's rows are known by state, and no word acts.
        first: No forecast of the instrument has stood before.
        known: The events for which an earlier forecast went deep.
    """

    secure: bool = False
    by_state: bool = False
    first: bool = False
    known: Collection[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenMode:
    """A mode with its cause, and what it was chosen from."""

    mode: ForecastMode
    cause: ModeCause
    sampler: Sampler
    paths: int
    look_ahead: LookAhead
    regime: RegimeReading
    divergence: Divergence


def choose_mode(
    snapshot: Snapshot, table: ModeTable, usual: Usual, occasion: Occasion
) -> ChosenMode:
    """Return the mode of a forecast."""
    returns = log_returns(snapshot.bars)
    regime = read_regime(returns, table.turbulence_bp)
    divergence = measure(snapshot, returns)
    conflict = divergence.conflict_bp >= table.conflict_bp
    paths, most = usual.paths, usual.spec_k
    mode, cause = ForecastMode.STANDARD, ModeCause.USUAL
    if occasion.secure:
        mode, cause, most = ForecastMode.SECURE, ModeCause.SECURE, 0
    elif conflict and any(event not in occasion.known for event in divergence.events):
        mode, cause = ForecastMode.DEEP, ModeCause.CONFLICT
        paths *= max(1, min(table.deep_factor, MOST_PATHS // paths))
    elif regime.regime is Regime.TURBULENT:
        mode, cause = ForecastMode.FAST, ModeCause.TURBULENT
        paths, most = _fewer(paths, table.fast_divisor), min(most, table.fast_look_ahead)
    sampler = _sampler(mode, table, occasion)
    if sampler is Sampler.DIRECT:
        most = 0
    return ChosenMode(
        mode=mode,
        cause=cause,
        sampler=sampler,
        paths=paths,
        look_ahead=choose(
            most=most, paths=paths, tokens=usual.horizon, accepted_pm=usual.accepted_pm
        ),
        regime=regime,
        divergence=divergence,
    )


def _sampler(mode: ForecastMode, table: ModeTable, occasion: Occasion) -> Sampler:
    awaited = mode is ForecastMode.FAST or occasion.first
    wanted = table.direct is DirectUse.ALWAYS or (table.direct is DirectUse.AWAITED and awaited)
    able = occasion.by_state and mode is not ForecastMode.SECURE
    return Sampler.DIRECT if wanted and able else Sampler.ENGINE


def _fewer(paths: int, divisor: int) -> int:
    """Return the paths of a fast forecast; all of them where the division leaves a rest."""
    whole = divisor > 0 and paths % divisor == 0 and paths // divisor >= FEWEST_PATHS
    return paths // divisor if whole else paths
