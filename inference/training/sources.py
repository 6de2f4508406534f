"""Where training ended, and the classes of symbols, for whoever judges a pair."""

from datetime import UTC, datetime
from typing import Final

from inference.snapshot import AssetClass

TRAIN_END_US: Final = int(datetime(2016, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000
_CLASSES: Final = {
    **dict.fromkeys(("eurusd", "gbpusd", "eurgbp"), AssetClass.FX),
    **dict.fromkeys(("wti", "natgas", "uso", "bno"), AssetClass.COMMODITY),
    **dict.fromkeys(("spy", "qqq", "iwm", "eem"), AssetClass.INDEX),
    "vix": AssetClass.VOLATILITY,
}
"""Classes of symbols; all others are equities."""


def asset_class_of(symbol: str) -> AssetClass:
    """Return the class of a symbol in lower case; unknown ones are equities."""
    return _CLASSES.get(symbol, AssetClass.EQUITY)
