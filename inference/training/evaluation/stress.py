"""Made-up markets that no training data has, asked of a real engine: part of the promotion gate.

Each world is 700 daily bars of a GARCH(1, 1) market whose shocks come from a hash, bent at its end.
What is asked of a pair:

    every world     all paths come, finite, the same again for the same seeds, and the spread of the
                    horizon is of the order of the first bar's
    crash, storm    the first bar is wider than in the calm world; flat: not wider, and not zero
    words           strong good and bad news move the mean apart the right way, or not at all, and
                    never by more than one standard deviation of the horizon
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import exp, log, sqrt
from typing import Final

from inference.codec.codec import ReturnCodec, log_returns
from inference.codec.scaled import codec_named, ranges_of
from inference.engine.port import SampleRequest, Samples
from inference.errors import InferenceError
from inference.forecast.forecast import Forecast
from inference.forecast.target import sample_target
from inference.scale.fitting import Fits
from inference.snapshot import (
    AssetClass,
    Bar,
    Direction,
    EventType,
    Frequency,
    NewsItem,
    Snapshot,
    Strength,
)
from inference.speculation.condense import condense
from inference.speculation.rounds import QTable
from inference.speculation.seeds import trajectory_seeds
from inference.weights.promotion import GateCheck
from inference.weights.registry import ModelPair

Sampler = Callable[[SampleRequest], Samples]

PATHS: Final = 128
STEPS: Final = 10
_DEADLINE_S: Final = 120.0
_BARS: Final = 700
_SHOWN: Final = 200
_DAY_US: Final = 86_400_000_000
_SEED: Final = hashlib.sha256(b"countersign/stress/1").digest()
_CALM_SD: Final = 0.01
_ALPHA: Final = 0.08
_BETA: Final = 0.90
"""A market's usual clustering; a scale is fitted on it, and one that never clustered would teach a
fit not to follow a storm."""
_WIDER: Final = 1.2
"""Least ratio of the first bar's spread after a crash or a storm to the calm world's."""
_HORIZON: Final = (0.3, 4.0)
"""Spread at the horizon over the first bar's times the root of the steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A made-up market: its log returns, first price in ticks, and the news at its end."""

    name: str
    returns: tuple[float, ...]
    first_ticks: int = 1_000_000
    direction: Direction | None = None


def worlds() -> tuple[World, ...]:
    """Return the made-up markets; the first is the calm one."""
    calm = tuple(_clustered())
    return (
        World(name="calm", returns=calm),
        World(name="crash: the last bar falls by 20 %", returns=(*calm[:-1], log(0.8))),
        World(
            name="storm: five times the moves for 20 bars",
            returns=(*calm[:-20], *(5.0 * one for one in calm[-20:])),
        ),
        World(name="flat: no move for 60 bars", returns=(*calm[:-60], *(0.0,) * 60)),
        World(name="gap: up by half, five bars ago", returns=(*calm[:-5], log(1.5), *calm[-4:])),
        World(
            name="trend: half a per cent up on each of 60 bars",
            returns=(*calm[:-60], *(0.005 + one / 4 for one in calm[-60:])),
        ),
        World(name="pennies: a price of some 60 ticks", returns=calm, first_ticks=60),
        World(name="good news", returns=calm, direction=Direction.POSITIVE),
        World(name="bad news", returns=calm, direction=Direction.NEGATIVE),
    )


def _clustered() -> Iterator[float]:
    usual = _CALM_SD * _CALM_SD
    variance = usual
    for place in range(_BARS - 1):
        move = sqrt(variance) * _normal(place)
        yield move
        variance = (1.0 - _ALPHA - _BETA) * usual + _ALPHA * move * move + _BETA * variance


def stress_checks(sample: Sampler, pair: ModelPair, table: QTable | None) -> Iterator[GateCheck]:
    """Yield a check for each made-up market, then those between them.

    A world without a forecast, for whatever reason of the engine's, is found and not passed.
    """
    codec, fits = codec_named(pair.codec_digest), Fits()
    found: dict[str, Forecast] = {}
    for world in worlds():
        try:
            snapshot = snapshot_of(world, codec, fits)
            forecast = _asked(sample, codec, snapshot, pair, table)
            again = _asked(sample, codec, snapshot, pair, table)
        except InferenceError as error:
            yield GateCheck(
                name=f"stress: {world.name}",
                bar="a whole forecast",
                found=f"{error.code}: {error}",
                passed=False,
            )
            continue
        found[world.name.partition(":")[0]] = forecast
        yield _whole(world, forecast, same=forecast == again)
    yield from between(found)


def between(found: dict[str, Forecast]) -> Iterator[GateCheck]:
    """Yield the checks between worlds; one that is missing fails its checks."""
    calm = found.get("calm")
    for name in ("crash", "storm"):
        ratio = _ratio(found.get(name), calm)
        yield GateCheck(
            name=f"stress: {name} widens the first bar",
            bar=f"at least {_WIDER} times the calm world's",
            found=f"{ratio:.3f}",
            passed=ratio >= _WIDER,
        )
    ratio = _ratio(found.get("flat"), calm)
    yield GateCheck(
        name="stress: flat does not widen the first bar",
        bar="at most the calm world's, and above 0",
        found=f"{ratio:.3f}",
        passed=0.0 < ratio <= 1.0,
    )
    good, bad = found.get("good news"), found.get("bad news")
    shift = -1.0
    if calm is not None and good is not None and bad is not None:
        shift = (good.expected_1e8 - bad.expected_1e8) / calm.horizon_vol_1e8
    yield GateCheck(
        name="stress: words move the mean the right way",
        bar="good less bad news: 0 to 1 standard deviation of the calm horizon",
        found=f"{shift:+.3f}",
        passed=0.0 <= shift <= 1.0,
    )


def _ratio(one: Forecast | None, calm: Forecast | None) -> float:
    """Return the ratio of first bars' spreads; 0, which passes no check, where one is missing."""
    return one.step_vol_1e8 / calm.step_vol_1e8 if one is not None and calm is not None else 0.0


def _whole(world: World, forecast: Forecast, *, same: bool) -> GateCheck:
    spread = forecast.horizon_vol_1e8 / (forecast.step_vol_1e8 * sqrt(STEPS))
    low, high = _HORIZON
    return GateCheck(
        name=f"stress: {world.name}",
        bar=f"{PATHS} paths twice the same; spread over {STEPS} bars {low} to {high} of its root",
        found=f"{forecast.n_paths} paths, {'the same' if same else 'NOT the same'}, {spread:.2f}",
        passed=same and forecast.n_paths == PATHS and low <= spread <= high,
    )


def snapshot_of(world: World, codec: ReturnCodec, fits: Fits) -> Snapshot:
    """Return what a forecast of this world would see, with a fitted scale where the codec has one.

    Raises:
        InferenceError: the bars or the scale are not usable.
    """
    bars = tuple(_bars(world))
    last = bars[-1].close_time_us
    scale = None
    if codec.version != ReturnCodec.version:
        returns = log_returns(bars)
        closes = [bar.close_time_us for bar in bars]
        scale = fits.before(closes, returns, ranges_of(bars, returns), len(bars) - 1)
    return Snapshot(
        instrument="STRESS",
        asset_class=AssetClass.EQUITY,
        frequency=Frequency.DAILY,
        as_of_us=last + _DAY_US // 2,
        bars=bars[-_SHOWN:],
        news=() if world.direction is None else (_news(world.direction, last + _DAY_US // 4),),
        scale=scale,
    )


def _news(direction: Direction, at_us: int) -> NewsItem:
    return NewsItem(
        event_id=f"stress-{direction.value}",
        published_us=at_us,
        event_type=EventType.GUIDANCE,
        direction=direction,
        strength=Strength.STRONG,
        source_tier=1,
        headline="",
        source="stress",
    )


def _bars(world: World) -> Iterator[Bar]:
    close = float(world.first_ticks)
    ticks = world.first_ticks
    for place, move in enumerate((0.0, *world.returns)):
        opened = ticks
        close *= exp(move)
        ticks = max(1, round(close))
        # A day's range is of the order of its move's scale, so that ranges follow the storm too.
        wide = round(ticks * abs(move) * 0.4 * _uniform(place, b"range"))
        yield Bar(
            close_time_us=(place + 1) * _DAY_US,
            open_ticks=opened,
            high_ticks=max(opened, ticks) + wide,
            low_ticks=max(1, min(opened, ticks) - wide),
            close_ticks=ticks,
        )


def _asked(
    sample: Sampler, codec: ReturnCodec, snapshot: Snapshot, pair: ModelPair, table: QTable | None
) -> Forecast:
    prompt = codec.encode(snapshot)
    request = SampleRequest(
        request_id="stress",
        prompt_ids=prompt.token_ids,
        n_tokens=STEPS,
        seeds=trajectory_seeds(_SEED, PATHS),
        spec_k=0,
        allowed_range=(codec.bin_start, codec.bin_start + codec.n_bins),
        deadline_s=_DEADLINE_S,
    )
    evidence = condense(sample(request).capture, table)
    return sample_target(
        evidence,
        codec=codec,
        prompt=prompt,
        snapshot=snapshot,
        seed=_SEED,
        table=table,
        model_digest=pair.manifest_digest,
        capture_digest="",
    ).forecast


def _uniform(place: int, what: bytes) -> float:
    digest = hashlib.sha256(b"countersign/stress-world/1" + what + place.to_bytes(4, "big"))
    return (int.from_bytes(digest.digest()[:7], "big") + 1) / ((1 << 56) + 1)


def _normal(place: int) -> float:
    """Return a nearly normal draw: the sum of twelve uniform ones, less six."""
    return sum(_uniform(place, b"move%d" % one) for one in range(12)) - 6.0


def failed(checks: Sequence[GateCheck]) -> tuple[str, ...]:
    """Return the names of the checks that did not pass."""
    return tuple(one.name for one in checks if not one.passed)
