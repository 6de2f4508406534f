"""Pairs of series on the same days, with codec 2's scale before each day.

Series are cleaned as training cleans them (splits taken out), and fitted each quarter on their own
past. A day is an origin where both series close on it and on each of the next `STEPS` days.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from inference.errors import TrainingDataError
from inference.scale.correlation import PastCloses
from inference.scale.moving import MovingScale
from inference.training.series import Floats, Ints
from scripts.research.scaled.choice import midnight_us
from scripts.research.scaled.history import SERVED_RETURNS, FitShelf, ScaledSeries, scaled
from scripts.research.series import clean
from scripts.research.sources import VALIDATION_END_US, RawSeries

STEPS: Final = 10
"""Bars of a path."""
START_US: Final = midnight_us(2005)
END_US: Final = VALIDATION_END_US
PAIRS: Final = (
    ("arch/sp500", "arch/nasdaq"),
    ("daily/lean-spy", "daily/lean-iwm"),
    ("daily/lean-spy", "daily/lean-eem"),
)
DAY_US: Final = 86_400_000_000
_TICKS: Final = 1_000_000
"""Ticks of a first close; prices are rebuilt from cleaned returns, so splits are out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairGround:
    """Two series and their common origins.

    Attributes:
        where: For each origin, the next return of each series, shape [origins, 2].
        closes: Closes of each series in ticks, one more than returns.
        skipped: Common days whose next ten closes the two do not share.
    """

    one: ScaledSeries
    other: ScaledSeries
    where: Ints
    closes: tuple[Ints, Ints]
    skipped: int

    @property
    def name(self) -> str:
        """Short names of both."""
        return f"{short(self.one)} and {short(self.other)}"

    @property
    def members(self) -> tuple[ScaledSeries, ScaledSeries]:
        """Both, in their order."""
        return self.one, self.other

    @property
    def days(self) -> Ints:
        """Day since 1970 of each origin's last close, [origins]."""
        return np.asarray((self.one.closes_us[self.where[:, 0]] - 1) // DAY_US)

    def truth(self) -> Floats:
        """Return log returns of the next days, [origins, 2, STEPS]."""
        ahead = self.where[:, :, None] + np.arange(STEPS)
        return np.stack([m.returns[ahead[:, k]] for k, m in enumerate(self.members)], axis=1)

    def past(self, origin: int, member: int) -> PastCloses:
        """Return the closes that a served snapshot has at an origin."""
        last = int(self.where[origin, member])
        part = slice(max(0, last - SERVED_RETURNS), last + 1)
        return PastCloses(
            bar_us=DAY_US,
            times_us=tuple(self.members[member].closes_us[part].tolist()),
            closes=tuple(self.closes[member][part].tolist()),
        )


def short(series: ScaledSeries) -> str:
    """Return a series' name without its source."""
    return series.name.rpartition("/")[2].removeprefix("lean-")


def pair_ground(
    raws: Iterable[RawSeries], shelf: FitShelf, say: Callable[[str], None]
) -> list[PairGround]:
    """Return the pairs, fitted from 2005 on.

    Raises:
        TrainingDataError: a series is missing.
    """
    wanted = {name for pair in PAIRS for name in pair}
    found = dict[str, ScaledSeries]()
    for raw in raws:
        if raw.name in wanted:
            times, returns, dropped = clean(raw)
            found[raw.name] = scaled(raw, times, returns, shelf, START_US)
            fits = len(found[raw.name].fits)
            say(f"scaled {raw.name}: {len(returns)} returns, {dropped} dropped, {fits} fits")
    if wanted - found.keys():
        raise TrainingDataError(f"expected {', '.join(sorted(wanted - found.keys()))}")
    return [paired(found[one], found[other]) for one, other in PAIRS]


def paired(one: ScaledSeries, other: ScaledSeries) -> PairGround:
    """Return two series on their common days."""
    days = [((m.closes_us - 1) // DAY_US) for m in (one, other)]
    last = [m.between(START_US, END_US) for m in (one, other)]
    last = [
        part[part + STEPS <= len(m.returns)] for part, m in zip(last, (one, other), strict=True)
    ]
    place = {int(days[1][i]): int(i) for i in last[1]}
    common = [(int(i), place[int(days[0][i])]) for i in last[0] if int(days[0][i]) in place]
    ahead = STEPS + 1
    where = [
        (i, j)
        for i, j in common
        if i > one.first
        and j > other.first
        and np.array_equal(days[0][i : i + ahead], days[1][j : j + ahead])
    ]
    closes = [
        np.rint(_TICKS * np.exp(np.concatenate(([0.0], m.returns.cumsum())))).astype(np.int64)
        for m in (one, other)
    ]
    return PairGround(
        one=one,
        other=other,
        where=np.asarray(where, dtype=np.int64).reshape(-1, 2),
        closes=(closes[0], closes[1]),
        skipped=len(common) - len(where),
    )


def scale_at(series: ScaledSeries, index: int) -> MovingScale:
    """Return the scale before a return."""
    fit = series.fits[int(series.fit_of[index])]
    return MovingScale(
        fit=fit,
        garch=float(series.garch[index]),
        gjr=float(series.gjr[index]),
        long=float(series.long[index]),
        ranges=() if fit.ranges is None else tuple(series.ranges[index].tolist()),
        fall=float(series.falls[index]),
        hour=int(series.hours[index]),
    )
