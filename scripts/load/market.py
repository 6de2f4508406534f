"""The market of a served desk under load: real daily bars, and quotes every second.

    python -m scripts.load.market ADDRESS TOKEN_FILE INSTRUMENTS

Posts the bars through the door of feeds, then quotes until it is ended or its parent is gone.
SIGUSR1 begins a storm, in which it posts a hundred times as often, and SIGUSR2 ends it.

Each instrument is another stretch of an index series of the `arch` package, moved so that its
newest bar closed an hour ago, a bar each day: the market of the bench is always open.
"""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from gateway.clock import wall_us
from gateway.feeds.intake import DayRow, parse_daily_series
from gateway.feeds.sessions import HISTORY_BARS, TICKS_PER_LEVEL, price_text, quote
from scripts.load.callers import OK, ask

SOURCE = "bench"
SERIES: Final = {"SPX": "sp500", "NDX": "nasdaq"}
"""Index series by the beginning of their instruments' symbols."""
APART_BARS = 500
"""How much further back the stretch of each further instrument of a series ends."""
FAR_BP = 250
DAY_US, HOUR_US = 86_400_000_000, 3_600_000_000
LINES_MAX = 250
QUOTE_EVERY_S, STORM_EVERY_S = 1.0, 0.01
AGAIN_S = 1.0


def symbols(count: int) -> list[str]:
    """Return the names of so many instruments; the series take turns."""
    return [f"{[*SERIES][n % len(SERIES)]}{n // len(SERIES) + 1}" for n in range(count)]


def stretches(count: int) -> dict[str, tuple[DayRow, ...]]:
    """Return the bars of so many instruments by symbol, oldest first, prices in cents."""
    spec = find_spec("arch")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("bench: the package arch, which has the series, is missing")
    folder = Path(spec.submodule_search_locations[0]) / "data"
    found = {}
    for number, symbol in enumerate(symbols(count)):
        name = SERIES[symbol[:3]]
        packed = (folder / name / f"{name}.csv.gz").read_bytes()
        rows = parse_daily_series(packed, name=name, ticks_per_unit=TICKS_PER_LEVEL).rows
        end = len(rows) - number // len(SERIES) * APART_BARS
        if end < HISTORY_BARS:
            raise SystemExit(f"bench: {name} has no stretch for {symbol}")
        found[symbol] = rows[end - HISTORY_BARS : end]
    return found


def table_text(bars: dict[str, tuple[DayRow, ...]]) -> str:
    """Return the table of instruments for `init`."""
    return "\n".join(
        f"""[[instrument]]
symbol = "{symbol}"
asset_class = "index"
currency = "USD"
tick = "0.01"
lot = 1
multiplier = 1
min_qty = 1
max_qty = 1000000
calendar = "24/7"
region = "north-america"
margin_bp = 5000
adv_lots = 50000000
reference_price = "{price_text(rows[-1].close_ticks)}"
"""
        for symbol, rows in bars.items()
    )


def resting_price(rows: Sequence[DayRow]) -> str:
    """Return the limit of buys that rest: inside the policy's collar, below any quote."""
    return price_text(rows[-1].close_ticks * (10_000 - FAR_BP) // 10_000)


def broker_quotes(bars: dict[str, tuple[DayRow, ...]]) -> str:
    """Return the counterparty's own quotes: an order beyond them rests."""
    lines = []
    for symbol, rows in bars.items():
        bid, ask_ = quote(rows[-1])
        prices = {"bid": price_text(bid), "ask": price_text(ask_)}
        lines.append(
            json.dumps({"session": 0, "instrument": symbol, "market_time_us": 0, **prices})
        )
    return "\n".join(lines) + "\n"


def bar_lines(symbol: str, rows: Sequence[DayRow], now_us: int) -> Iterator[str]:
    """Yield the bodies that deliver an instrument's bars, each at most `LINES_MAX` lines."""
    first_us = now_us - HOUR_US - (len(rows) - 1) * DAY_US
    lines = [
        json.dumps(
            {
                "source": SOURCE,
                "instrument": symbol,
                "sequence": number + 1,
                "close_time_us": first_us + number * DAY_US,
                "open": price_text(row.open_ticks),
                "high": price_text(row.high_ticks),
                "low": price_text(row.low_ticks),
                "close": price_text(row.close_ticks),
            }
        )
        for number, row in enumerate(rows)
    ]
    for begin in range(0, len(lines), LINES_MAX):
        yield "\n".join(lines[begin : begin + LINES_MAX])


def quotes_of(
    bars: dict[str, tuple[DayRow, ...]], number: int, now_us: int
) -> list[dict[str, Any]]:
    """Return a quote of each instrument as posted: the price stands."""
    found = []
    for symbol, rows in bars.items():
        bid, ask_ = quote(rows[-1])
        one = {"source": SOURCE, "instrument": symbol, "sequence": number, "event_time_us": now_us}
        found.append({**one, "bid": price_text(bid), "ask": price_text(ask_)})
    return found


def main() -> int:
    """Deliver bars, then quotes, until ended."""
    address, token_file, count = sys.argv[1:]
    token, bars = Path(token_file).read_text(encoding="ascii").strip(), stretches(int(count))
    over, parent = threading.Event(), os.getppid()
    for sign in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sign, lambda _number, _frame: over.set())
    closed_us = wall_us()  # one market: all close together, or they have no common past
    for symbol, rows in bars.items():
        for lines in bar_lines(symbol, rows, closed_us):
            _, said = _delivered(address, "bars", token, lines.encode(), over)
            print("bars", symbol, said, flush=True)
    quotes = _Quotes(address=address, token=token, bars=bars)
    signal.signal(signal.SIGUSR1, lambda _number, _frame: quotes.storm.set())
    signal.signal(signal.SIGUSR2, lambda _number, _frame: quotes.storm.clear())
    next_s = time.monotonic()
    while not over.is_set() and os.getppid() == parent:
        quotes.post()
        every_s = STORM_EVERY_S if quotes.storm.is_set() else QUOTE_EVERY_S
        next_s = max(next_s + every_s, time.monotonic())
        over.wait(next_s - time.monotonic())
    return 0


@dataclass(slots=True, kw_only=True)
class _Quotes:
    """Posts quotes, and says of each storm how many came through."""

    address: str
    token: str
    bars: dict[str, tuple[DayRow, ...]]
    storm: threading.Event = field(default_factory=threading.Event)
    number: int = 0
    taken: int = 0
    refused: int = 0
    since_s: float = 0.0

    def post(self) -> None:
        """Post a quote of each instrument."""
        self.number += 1
        body = json.dumps(quotes_of(self.bars, self.number, wall_us())).encode()
        status, said = ask(self.address, "/v1/market/quotes", self.token, body)
        if status != OK:
            print("quotes", self.number, status, said, flush=True)
        if self.storm.is_set():
            self.since_s = self.since_s or time.monotonic()
            self.taken += len(self.bars) * (status == OK)
            self.refused += len(self.bars) * (status != OK)
        elif self.since_s:
            took_s = time.monotonic() - self.since_s
            print(
                f"storm {self.taken / took_s:.0f} a second taken, {self.refused} refused,",
                f"of {len(self.bars) / STORM_EVERY_S:.0f} a second planned",
                flush=True,
            )
            self.taken, self.refused, self.since_s = 0, 0, 0.0


def _delivered(
    address: str, feed: str, token: str, body: bytes, over: threading.Event
) -> tuple[int, dict[str, Any]]:
    """Post until it is taken; the same item again is a repeat."""
    while True:
        status, said = ask(
            address, f"/v1/market/{feed}", token, body, content_type="application/x-ndjson"
        )
        if status == OK or over.is_set():
            return status, said
        print(feed, status, said, flush=True)
        over.wait(AGAIN_S)


if __name__ == "__main__":
    sys.exit(main())
