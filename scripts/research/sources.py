"""Series as read from files and from the `arch` package.

The split is by calendar time across all series: training to 2015-12-31, validation 2016-2017;
later data is not read. The same company may be in several sets, so no other split is safe. Data is
not shipped; the manifest names files, row counts and digests.
"""

import csv
import gzip
import hashlib
import importlib
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

from inference.errors import TrainingDataError
from inference.snapshot import AssetClass, Frequency
from inference.training.sources import asset_class_of

VALIDATION_END_US: Final = int(datetime(2018, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000
_NEW_YORK: Final = ZoneInfo("America/New_York")
_DAILY_CLOSE: Final = timedelta(hours=21)
_HOUR: Final = timedelta(hours=1)
_LICENCES: Final = {
    "us": "skfolio data set (BSD-3 repository; prices from a public vendor)",
    "stocknet": "yumoxu/stocknet-dataset (MIT)",
    "lean": "QuantConnect/Lean sample data (Apache-2.0)",
    "wti": "datasets/oil-prices (EIA; Unlicense)",
    "natgas": "datasets/natural-gas (EIA; PDDL)",
    "vix": "datasets/finance-vix (CBOE; PDDL)",
    "arch": "series packaged with arch (NCSA)",
}
_ARCH: Final = (
    ("sp500", "Adj Close", AssetClass.INDEX),
    ("nasdaq", "Adj Close", AssetClass.INDEX),
    ("vix", "vix", AssetClass.VOLATILITY),
    ("wti", "DCOILWTICO", AssetClass.COMMODITY),
)


OpenHighLowClose = tuple[float, float, float, float]
_COLUMNS: Final = ("open", "high", "low", "close")


@dataclass(frozen=True, slots=True, kw_only=True)
class RawSeries:
    """Closes as read, not cleaned, with ascending close times."""

    name: str
    asset_class: AssetClass
    frequency: Frequency
    split_adjusted: bool
    times_us: tuple[int, ...]
    closes: tuple[float, ...]
    licence: str
    sha256: str
    bars: tuple[OpenHighLowClose, ...] = ()
    """One for each close, NaN where unknown; empty where the source has closes only."""


def raw_series(data_dir: Path | None) -> Iterator[RawSeries]:
    """Yield every series of a data folder, then those of `arch`.

    Raises:
        TrainingDataError: when the folder has no `daily/*.csv.gz`, or a file is malformed.
    """
    if data_dir is not None:
        paths = sorted((data_dir / "daily").glob("*.csv.gz"))
        if not paths:
            raise TrainingDataError(f"expected daily/*.csv.gz under {data_dir}, was nothing")
        paths += sorted((data_dir / "hourly").glob("*.csv.gz"))
        for path in paths:
            yield _read_file(path)
    for name, column, asset_class in _ARCH:
        if data_dir is not None and (data_dir / "daily" / f"{name}.csv.gz").exists():
            continue  # the same series is in the folder
        yield _read_arch(name, column, asset_class)


def _read_file(path: Path) -> RawSeries:
    name = path.name.removesuffix(".csv.gz")
    family, _, rest = name.partition("-")
    symbol = rest or family
    frequency = Frequency(path.parent.name)
    asset_class = asset_class_of(symbol)
    local = frequency is Frequency.HOURLY and asset_class is not AssetClass.FX
    times, closes, bars = [], [], []
    content = path.read_bytes()
    for row in csv.DictReader(gzip.decompress(content).decode().splitlines()):
        price = _price(row.get("adj_close") or row.get("close") or "")
        when = _close_time_us(row["time"], frequency, local=local)
        if when < VALIDATION_END_US:
            times.append(when)
            closes.append(price)
            if "high" in row:
                bars.append(_bar(row))
    if any(after <= before for before, after in pairwise(times)):
        raise TrainingDataError(f"expected ascending times in {name}")
    return RawSeries(
        name=f"{frequency.value}/{name}",
        asset_class=asset_class,
        frequency=frequency,
        split_adjusted=family != "lean",
        times_us=tuple(times),
        closes=tuple(closes),
        licence=_LICENCES[family],
        bars=tuple(bars),
        sha256=hashlib.sha256(content).hexdigest(),
    )


def _read_arch(name: str, column: str, asset_class: AssetClass) -> RawSeries:
    frame = importlib.import_module(f"arch.data.{name}").load()
    pairs = [
        (_close_time_us(str(stamp)[:10], Frequency.DAILY, local=False), float(value))
        for stamp, value in frame[column].items()
    ]
    pairs = [pair for pair in pairs if pair[0] < VALIDATION_END_US]
    text = "".join(f"{when},{price!r}\n" for when, price in pairs)
    ranged = "High" in frame.columns
    rows = frame[[c.title() for c in _COLUMNS]].itertuples(index=False) if ranged else ()
    bars = [_four(map(float, row)) for row in rows][: len(pairs)]
    return RawSeries(
        name=f"arch/{name}",
        asset_class=asset_class,
        frequency=Frequency.DAILY,
        split_adjusted=True,
        times_us=tuple(when for when, _ in pairs),
        closes=tuple(price for _, price in pairs),
        licence=_LICENCES["arch"],
        bars=tuple(bars),
        sha256=hashlib.sha256(text.encode()).hexdigest(),
    )


def _bar(row: dict[str, str]) -> OpenHighLowClose:
    """Return a row's four prices; high and low take in open and close."""
    return _four(_price(row[name] or "") for name in _COLUMNS)


def _four(prices: Iterable[float]) -> OpenHighLowClose:
    opened, high, low, close = prices
    return opened, max(opened, high, low, close), min(opened, high, low, close), close


def _price(text: str) -> float:
    """Return the price; NaN for an empty field or "null", which the cleaning drops."""
    return float(text) if text not in {"", "null"} else math.nan


def _close_time_us(text: str, frequency: Frequency, *, local: bool) -> int:
    """Return the close, microseconds UTC; daily bars close at 21:00, hourly rows name the open."""
    stamp = datetime.fromisoformat(text)
    if frequency is Frequency.DAILY:
        return int((stamp.replace(tzinfo=UTC) + _DAILY_CLOSE).timestamp()) * 1_000_000
    stamp = stamp.replace(tzinfo=_NEW_YORK if local else UTC)
    return int((stamp.astimezone(UTC) + _HOUR).timestamp()) * 1_000_000
