"""Files of prices to returns and variance proxies; an error names file and line.

A file has a column `time` or `date` (ISO, ascending) and `close` or `adj_close`; `open`, `high` and
`low` are used where present. A row without a positive price, and a weekend row of a daily currency,
is dropped and counted. Splits and bad prints: as in training (`data/series.py`).

The proxy of a bar's variance is the overnight square plus Garman and Klass (1980) where the file
has ranges, else the squared return.
"""

import csv
import gzip
import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np

from inference.errors import TrainingDataError
from inference.snapshot import AssetClass, Frequency
from inference.training.series import LARGEST_MOVE, Floats, Ints, without_split
from inference.training.sources import asset_class_of

_SUFFIXES: Final = (".csv", ".csv.gz")
_FOLDERS: Final = ("", "daily", "hourly")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DAILY_CLOSE: Final = timedelta(hours=21)
_HOUR_US: Final = 3_600_000_000
_SATURDAY: Final = 5
_RANGE_SHARE: Final = 0.9
"""Share of bars with a range from which the series counts as having ranges."""
_GARMAN_KLASS: Final = 2.0 * math.log(2.0) - 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """One series: n returns, n + 1 closes."""

    name: str
    asset_class: AssetClass
    frequency: Frequency
    closes_us: Ints
    returns: Floats
    proxy: Floats
    has_range: bool
    dropped: int
    digest: str
    shapes: Floats | None = None
    """[n, 3]: log of open, high and low over the close; NaN where a bar has no sound range."""

    def until(self, end_us: int) -> "History":
        """Return the series without the bars that close at `end_us` or later."""
        count = max(int(np.searchsorted(self.closes_us, end_us)), 1)
        return self.part(0, count - 1)

    def part(self, start: int, stop: int) -> "History":
        """Return the returns [start, stop) with their closes."""
        return History(
            name=self.name,
            asset_class=self.asset_class,
            frequency=self.frequency,
            closes_us=self.closes_us[start : stop + 1],
            returns=self.returns[start:stop],
            proxy=self.proxy[start:stop],
            has_range=self.has_range,
            dropped=self.dropped,
            digest=self.digest,
            shapes=None if self.shapes is None else self.shapes[start:stop],
        )


def files_of(folder: Path) -> list[Path]:
    """Return the price files of a folder, of its `daily` and of its `hourly`, sorted.

    Raises:
        TrainingDataError: when there is none.
    """
    found = [
        path
        for sub in _FOLDERS
        for path in sorted((folder / sub).glob("*"))
        if path.is_file() and path.name.endswith(_SUFFIXES)
    ]
    if not found:
        raise TrainingDataError(
            f"{folder}: expected *.csv or *.csv.gz here or in daily/ and hourly/, found none"
        )
    return found


def series_name(path: Path) -> str:
    """Return the name by which `--series` chooses a file."""
    return path.name.removesuffix(".gz").removesuffix(".csv")


def read_history(path: Path) -> History:
    """Read one file.

    Raises:
        TrainingDataError: with file and line, when a row cannot be read.
    """
    content = path.read_bytes()
    try:
        plain = gzip.decompress(content) if path.name.endswith(".gz") else content
        lines = plain.decode("utf-8").splitlines()
    except (OSError, EOFError, ValueError) as error:
        raise TrainingDataError(f"{path.name}: not readable as text: {error}") from error
    name = series_name(path)
    asset_class = asset_class_of(name.rpartition("-")[2])
    rows = list(_rows(path.name, lines))
    frequency = _frequency([when for when, _ in rows])
    weekend = asset_class is AssetClass.FX and frequency is Frequency.DAILY
    closes, returns, proxies, shapes = _Bars(frequency, asset_class, weekend=weekend).read(rows)
    squares = returns * returns
    has_range = bool(len(returns)) and float(np.isfinite(proxies).mean()) >= _RANGE_SHARE
    return History(
        name=f"{frequency.value}/{name}",
        asset_class=asset_class,
        frequency=frequency,
        closes_us=closes,
        returns=returns,
        proxy=np.where(np.isfinite(proxies), proxies, squares) if has_range else squares,
        has_range=has_range,
        dropped=len(rows) - len(closes),
        digest=hashlib.sha256(content).hexdigest(),
        shapes=shapes,
    )


_Row = tuple[datetime, Mapping[str, float]]


def _rows(file: str, lines: list[str]) -> Iterator[_Row]:
    """Yield time and prices of each row, NaN where a field is empty or "null"."""
    reader = csv.DictReader(lines)
    names = [str(name).strip().lower() for name in reader.fieldnames or ()]
    reader.fieldnames = names
    clock = next((n for n in ("time", "date") if n in names), None)
    if clock is None or not {"close", "adj_close"} & set(names):
        raise TrainingDataError(
            f"{file} line 1: expected the columns time (or date) and close, was {','.join(names)}"
        )
    before: datetime | None = None
    for row in reader:
        where = f"{file} line {reader.line_num}"
        try:
            when = datetime.fromisoformat(row[clock])
            prices: dict[str, float] = {
                name: _number(row.get(name))
                for name in ("open", "high", "low", "close", "adj_close")
                if name in names
            }
        except (TypeError, ValueError) as error:
            raise TrainingDataError(f"{where}: {error}; expected ISO time and numbers") from error
        when = when if when.tzinfo else when.replace(tzinfo=UTC)
        if before is not None and when <= before:
            raise TrainingDataError(f"{where}: time {row[clock]} is not after the row before it")
        before = when
        yield when, prices


def _number(text: str | None) -> float:
    return math.nan if text is None or text.strip() in {"", "null"} else float(text)


def _frequency(times: list[datetime]) -> Frequency:
    gaps = sorted(b - a for a, b in pairwise(times))
    hourly = bool(gaps) and gaps[len(gaps) // 2] < timedelta(hours=12)
    return Frequency.HOURLY if hourly else Frequency.DAILY


class _Bars:
    """Rows to closes, returns and range proxies."""

    def __init__(self, frequency: Frequency, asset_class: AssetClass, *, weekend: bool) -> None:
        self.frequency = frequency
        self.weekend = weekend
        self.may_split = asset_class is not AssetClass.FX
        self.limit = LARGEST_MOVE[frequency]

    def read(self, rows: list[_Row]) -> tuple[Ints, Floats, Floats, Floats]:
        closes: list[int] = []
        returns: list[float] = []
        proxies: list[float] = []
        shapes: list[tuple[float, float, float]] = []
        previous = math.nan
        for when, prices in rows:
            price = prices.get("adj_close", math.nan)
            adjusted = price > 0.0
            price = price if adjusted else prices.get("close", math.nan)
            if not price > 0.0 or (self.weekend and when.weekday() >= _SATURDAY):
                continue
            if math.isnan(previous):
                closes.append(self._close_us(when))
                previous = price
                continue
            move = math.log(price / previous)
            previous = price
            if not adjusted and self.may_split:
                move = without_split(move)
            if abs(move) > self.limit:
                continue
            closes.append(self._close_us(when))
            returns.append(move)
            proxies.append(range_proxy(prices, move))
            shapes.append(_shape(prices, proxies[-1]))
        return (
            np.asarray(closes, dtype=np.int64),
            np.asarray(returns),
            np.asarray(proxies),
            np.asarray(shapes, dtype=np.float64).reshape(-1, 3),
        )

    def _close_us(self, when: datetime) -> int:
        if self.frequency is Frequency.HOURLY:
            return (when - _EPOCH) // timedelta(microseconds=1) + _HOUR_US
        day = datetime(when.year, when.month, when.day, tzinfo=UTC) + _DAILY_CLOSE
        return (day - _EPOCH) // timedelta(microseconds=1)


def _shape(prices: Mapping[str, float], proxy: float) -> tuple[float, float, float]:
    if math.isnan(proxy):
        return (math.nan, math.nan, math.nan)
    opened, high, low = (math.log(prices[n] / prices["close"]) for n in ("open", "high", "low"))
    return (opened, high, low)


def range_proxy(prices: Mapping[str, float], move: float) -> float:
    """Return overnight square plus Garman and Klass, or NaN without a sound range."""
    opened, high, low, close = (prices.get(n, math.nan) for n in ("open", "high", "low", "close"))
    if not (0.0 < low <= min(opened, close) and max(opened, close) <= high and low < high):
        return math.nan
    day = math.log(close / opened)
    overnight = move - day
    inside = 0.5 * math.log(high / low) ** 2 - _GARMAN_KLASS * day * day
    return overnight * overnight + max(inside, 0.0)
