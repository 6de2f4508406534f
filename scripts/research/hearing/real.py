"""Words on real origins of 2014-2015: what the network says, beside what the market did.

Two sources of tags, both known before the bar that is judged:

    crowd     texts about 84 companies between a close and the next open (2014), tagged by a short
              list of words. They are of tier 3, so all are weak; the texts themselves are used
              for measuring only.
    calendar  central banks' decisions, published within the bar of their day: macro, neutral,
              strong, of age 1 at the next open. As a notice the tag could also be posted before
              that bar, since dates are published a year ahead; then its age is 0.

CRPS is that of tagged origins only, with the words over without; months of all series are
resampled jointly. No row of 2016 or later is read.
"""

import csv
import gzip
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

import numpy as np

from inference.codec import vocabulary as words
from inference.errors import TrainingDataError
from inference.snapshot import AssetClass, EventType, Frequency
from inference.training.evaluation.score import row_crps
from inference.training.model import SmallLlama
from inference.training.series import Floats, Ints
from scripts.research.hearing.bars import law_of, rows_of
from scripts.research.hearing.worlds import ToldEvents
from scripts.research.scaled.choice import (
    CHOICE_END_US,
    LEARN_END_US,
    Tally,
    compare,
    one_per_company,
)
from scripts.research.scaled.history import FitShelf, ScaledSeries, scaled_all
from scripts.research.scaled.table import group_of
from scripts.research.sources import raw_series

_NEW_YORK: Final = ZoneInfo("America/New_York")
_CLOSE, _OPEN = time(16, 0), time(9, 30)
_DRAWS: Final = 1000
_SEED: Final = 2014


def _known(text: str) -> frozenset[str]:
    return frozenset(text.split())


_GOOD: Final = _known(
    "beat beats upgrade upgraded upgrades raises raised outperform strong growth win wins won "
    "approval approved approves buy bullish long profit profits positive launches"
)
_BAD: Final = _known(
    "miss misses missed downgrade downgraded downgrades cuts cut underperform weak loss losses "
    "recall recalls probe fraud bearish short sell warning warns negative halts breach fine"
)
_MOVED: Final = _known(
    "high highs low lows movers gainers losers jump jumps jumped surge surges surged plunge "
    "plunges plunged fall falls fell drop drops dropped rise rises rose rally rallies"
)
"""A text that tells a move is an echo, whatever else it says."""
_TYPES: Final = (
    (EventType.EARNINGS, _known("earnings eps quarter results revenue")),
    (EventType.GUIDANCE, _known("guidance outlook forecast forecasts")),
    (EventType.MNA, _known("merger acquire acquires acquisition buyout takeover deal")),
    (EventType.LEGAL, _known("lawsuit sued sues court settlement patent")),
    (EventType.REGULATORY, _known("fda sec ftc doj antitrust regulator regulators")),
    (EventType.CAPITAL, _known("dividend buyback offering debt bond")),
    (EventType.MGMT, _known("ceo cfo chairman resigns appoints")),
)
_OPINION: Final = EventType.RATING
"""A text with none of these words is an opinion."""
_BANKS: Final = {
    "FED": (AssetClass.EQUITY, AssetClass.INDEX),
    "ECB": ("eurusd", "eurgbp"),
    "BOE": ("gbpusd", "eurgbp"),
}
"""What a bank's meetings are about: classes (of US series), or symbols."""

FRESH: Final = "all, at the first open that may see them"
NOTICED: Final = "meetings, noticed at the open before (macro, strong)"
Tag = tuple[int, int, int, int]
"""Type, direction (-1, 0, 1), strong (0, 1), age in bars."""
Told = dict[int, list[Tag]]
"""Tags before each return of a series."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judged:
    """Tagged origins of one series."""

    series: ScaledSeries
    where: Ints
    events: ToldEvents
    values: Floats
    """z, the returns over their scale."""


def real_figures(
    model: SmallLlama, table: Floats, data: Path, out: Path, say: Callable[[str], None]
) -> dict[str, Any]:
    """Return figures for each kind of tag.

    Raises:
        TrainingDataError: the folder has no texts or no calendar.
    """
    texts = data / "narrative" / "stocknet-tweets-2014.csv.gz"
    calendar = data / "calendar" / "central_banks.csv"
    for path in (texts, calendar):
        if not path.exists():
            raise TrainingDataError(f"expected {path.name} under {data}, was none")
    series = _daily(data, out, say)
    crowd = _crowd(texts, [one for one in series if "stocknet" in one.name])
    meetings, after = _meetings(calendar, series, age=0), _meetings(calendar, series, age=1)
    kinds = {
        FRESH: _merged(after, crowd),
        "crowd, directed (weak)": _where(crowd, lambda t: t[1] != 0 and not _echo(t)),
        "crowd, all (weak)": _where(crowd, lambda _: True),
        "crowd, echo only": _where(crowd, _echo),
        NOTICED: meetings,
        "decisions, the open after (macro, strong)": after,
        "crowd, directed, were it called strong": [
            (one, {at: [(a, b, 1, d) for a, b, _, d in tags] for at, tags in told.items()})
            for one, told in _where(crowd, lambda t: t[1] != 0 and not _echo(t))
        ],
    }
    return {
        name: _figures(model, table, [_judged(one, told) for one, told in parts if told])
        for name, parts in kinds.items()
    }


def _daily(data: Path, out: Path, say: Callable[[str], None]) -> list[ScaledSeries]:
    """Return daily equities, indices and currencies, one for each company, scaled until 2015."""
    known = {AssetClass.EQUITY, AssetClass.INDEX, AssetClass.FX}
    raws = [
        raw
        for raw in raw_series(data)
        if raw.frequency is Frequency.DAILY
        and raw.asset_class in known
        and not raw.name.endswith("-close")
    ]
    order = sorted(raws, key=lambda raw: "stocknet" not in raw.name)
    found = scaled_all(order, FitShelf(out / "fits.jsonl"), say)
    stock = [one for one in found if "stocknet" in one.name]
    names = {_symbol(one) for one in stock}
    return stock + one_per_company(
        [one for one in found if "stocknet" not in one.name and _symbol(one) not in names]
    )


def _symbol(series: ScaledSeries) -> str:
    return series.name.rpartition("/")[2].rpartition("-")[2]


def _day(close_us: int) -> datetime:
    return datetime.fromtimestamp(close_us / 1e6, UTC)


def _crowd(path: Path, series: list[ScaledSeries]) -> list[tuple[ScaledSeries, Told]]:
    """Return the tags of texts published between a close and the next open, all of age 0."""
    texts: dict[str, list[tuple[datetime, str]]] = defaultdict(list)
    for row in csv.DictReader(gzip.decompress(path.read_bytes()).decode().splitlines()):
        texts[row["ticker"].lower()].append((datetime.fromisoformat(row["time"]), row["text"]))
    found = []
    for one in series:
        own = sorted(texts.get(_symbol(one), []))
        times = [at.timestamp() for at, _ in own]
        told: Told = {}
        for index in one.between(LEARN_END_US, CHOICE_END_US):
            closed, ends = (_day(int(one.closes_us[index + k])).date() for k in (0, 1))
            start = datetime.combine(closed, _CLOSE, _NEW_YORK).timestamp()
            stop = datetime.combine(ends, _OPEN, _NEW_YORK).timestamp()
            low, high = np.searchsorted(times, [start, stop])
            tags = _tags([text for _, text in own[int(low) : int(high)]])
            if tags:
                told[int(index)] = tags
        found.append((one, told))
    return found


def _tags(texts: list[str]) -> list[Tag]:
    """Return at most three tags of a night's texts: the types with most texts, echoes last."""
    counts: Counter[EventType] = Counter()
    leans: Counter[EventType] = Counter()
    for text in texts:
        said = set(text.lower().split())
        kind = next((kind for kind, known in _TYPES if said & known), _OPINION)
        if said & _MOVED:
            kind = EventType.ECHO
        counts[kind] += 1
        leans[kind] += len(said & _GOOD) - len(said & _BAD)
    order = sorted(counts, key=lambda kind: (kind is EventType.ECHO, -counts[kind], kind))
    return [
        (words.EVENT_TYPES.index(kind), int(np.sign(leans[kind])), 0, 0)
        for kind in order[: words.N_SLOTS]
    ]


def _meetings(
    path: Path, series: list[ScaledSeries], *, age: int
) -> list[tuple[ScaledSeries, Told]]:
    """Return a macro tag for the bar of each scheduled meeting, or the bar after (age 1)."""
    days: dict[str, set[str]] = defaultdict(set)
    for row in csv.DictReader(path.read_text().splitlines()):
        if row["kind"] == "meeting":
            days[row["bank"]].add(row["date"])
    macro = words.EVENT_TYPES.index(EventType.MACRO)
    found = []
    for one in series:
        banks = [
            bank for bank, about in _BANKS.items() if {one.asset_class, _symbol(one)} & set(about)
        ]
        told: Told = {}
        for index in one.between(LEARN_END_US, CHOICE_END_US):
            day = _day(int(one.closes_us[index + 1 - age])).date().isoformat()
            if any(day in days[bank] for bank in banks):
                told[int(index)] = [(macro, 0, 1, age)]
        found.append((one, told))
    return found


def _echo(tag: Tag) -> bool:
    return words.EVENT_TYPES[tag[0]] is EventType.ECHO


def _merged(
    first: list[tuple[ScaledSeries, Told]], second: list[tuple[ScaledSeries, Told]]
) -> list[tuple[ScaledSeries, Told]]:
    """Return the origins of both; where both have tags, the first's lead, and three stay."""
    more = {one.name: told for one, told in second}
    return [
        (
            one,
            {
                at: (told.get(at, []) + more.get(one.name, {}).get(at, []))[: words.N_SLOTS]
                for at in {**told, **more.get(one.name, {})}
            },
        )
        for one, told in first
    ]


def _where(
    parts: list[tuple[ScaledSeries, Told]], chosen: Callable[[Tag], bool]
) -> list[tuple[ScaledSeries, Told]]:
    """Return the origins whose first tag is chosen."""
    return [
        (one, {at: tags for at, tags in told.items() if chosen(tags[0])}) for one, told in parts
    ]


def _judged(series: ScaledSeries, told: Mapping[int, list[Tag]]) -> _Judged:
    where = np.asarray(sorted(told), dtype=np.int64)
    grid = np.zeros((4, len(where), words.N_SLOTS), dtype=np.int64)
    grid[0] = -1
    for row, at in enumerate(where):
        for slot, tag in enumerate(told[int(at)]):
            grid[:, row, slot] = tag
    return _Judged(
        series=series,
        where=where,
        events=ToldEvents(types=grid[0], directions=grid[1], strong=grid[2], ages=grid[3]),
        values=series.returns[where] / series.sigmas[where],
    )


def _figures(model: SmallLlama, table: Floats, parts: list[_Judged]) -> dict[str, Any]:
    """Return CRPS with words over without, and shift and spread said beside those seen."""
    own, plain = (Tally(names=[], months=[], scores=[]) for _ in range(2))
    shifts, seen, spreads, months = [], [], [], []
    rest: list[tuple[float, int]] = []
    for one in parts:
        group = group_of(one.series)
        groups = np.full(len(one.where), group)
        rows = rows_of(model, groups, one.events, 1)[:, 0]
        without = np.broadcast_to(table[group], rows.shape)
        when = _months(one.series, one.where)
        sigma = one.series.sigmas[one.where]
        for tally, laws in ((own, rows), (plain, without)):
            tally.names.append(one.series.name)
            tally.months.append(when)
            tally.scores.append(row_crps(laws, one.values) * sigma)
        mean, spread = law_of(rows)
        middle, width = law_of(table[group])
        lean = one.events.directions[:, 0]
        shifts.append(lean * (mean - middle))
        seen.append(lean * (one.values - middle))
        spreads.append(np.stack((spread / width, np.abs(one.values)), axis=1))
        months.append(when)
        others = np.setdiff1d(one.series.between(LEARN_END_US, CHOICE_END_US), one.where)
        z = np.abs(one.series.returns[others] / one.series.sigmas[others])
        rest.append((float(z.sum()), len(z)))
    usual = sum(total for total, _ in rest) / sum(count for _, count in rest)
    wide = np.concatenate(spreads)
    return {
        "crps": compare(own, plain),
        "directed": int(sum((one.events.directions[:, 0] != 0).sum() for one in parts)),
        "shift_said": round(float(np.concatenate(shifts).mean()), 4),
        "shift_seen": _interval(np.concatenate(seen), np.concatenate(months)),
        "spread_said": round(float(wide[:, 0].mean()), 4),
        "spread_seen": _interval(wide[:, 1] / usual, np.concatenate(months)),
    }


def _months(series: ScaledSeries, where: Ints) -> Ints:
    ends = series.closes_us[where + 1]
    return np.asarray(ends.astype("datetime64[us]").astype("datetime64[M]").astype(np.int64))


def _interval(values: Floats, months: Ints) -> dict[str, Any]:
    """Return a mean with its 90 % interval over resampled months."""
    known, place = np.unique(months, return_inverse=True)
    sums = np.bincount(place, values, len(known)), np.bincount(place, minlength=len(known))
    turns = np.random.default_rng(_SEED).integers(len(known), size=(_DRAWS, len(known)))
    draws = sums[0][turns].sum(axis=1) / sums[1][turns].sum(axis=1)
    low, high = np.quantile(draws, (0.05, 0.95))
    return {
        "figure": round(float(values.mean()), 4),
        "interval_90": [round(float(low), 4), round(float(high), 4)],
    }
