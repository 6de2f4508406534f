"""What the simulated broker says about prices: W for a request, X as they move, Y if it has none.

Prices are planted (`--prices`), one after the other and the last one for ever, or the playback's
of the current session. Not here: quickfix.

`asked` gets the fields of each request; `forget` may be called from the engine's thread.
"""

import json
import queue
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from fix.simulator.control import SimulatedQuote
from fix.wire.messages import Fields

_CENT = Decimal("0.01")


@dataclass(slots=True)
class _Shown:
    request_id: str
    place: int = 0


class Ticker:
    """The market data of one session; the caller sends the returned messages in order."""

    def __init__(
        self,
        target: str,
        tick_ms: int,
        planted: Mapping[str, list[SimulatedQuote]] | None,
        quote: Callable[[str], SimulatedQuote | None],
    ) -> None:
        """Begin without a request; `quote` is asked where no prices are planted."""
        self._target, self._tick_s = target, tick_ms / 1000
        self._planted, self._quote = planted, quote
        self._lines: dict[str, _Shown] = {}
        self._next_s, self._quiet, self._over = 0.0, False, False
        self.asked: queue.SimpleQueue[Mapping[int, str]] = queue.SimpleQueue()

    def is_of(self, session: str) -> bool:
        """Return whether a session, as quickfix names it, is the market data session."""
        return session.endswith(f"->{self._target}")

    def forget(self) -> None:
        """Forget all requests: their session is over."""
        self._over = True

    def step(self, now_s: float) -> list[Fields]:
        """Return the answers to new requests, and the prices that are due."""
        told: list[Fields] = []
        if self._over:
            self._over = False
            self._lines.clear()
        while not self.asked.empty():
            told += self._answer(self.asked.get())
        if now_s >= self._next_s:
            self._next_s = now_s + self._tick_s
            for symbol, line in self._lines.items() if not self._quiet else ():
                line.place += 1
                told += self._change(symbol, line)
        return told

    def act(self, what: str, symbol: str = "") -> list[Fields]:
        """Return what is sent when this is done to the market data (`fix.simulator.acts`)."""
        if what in {"quiet", "loud"}:
            self._quiet = what == "quiet"
            return []
        return [
            message
            for name, line in self._lines.items()
            if symbol in {"", name}
            for message in self._spoiled(what, name, line)
        ]

    def _answer(self, fields: Mapping[int, str]) -> list[Fields]:
        if fields[35] != "V":
            return []
        symbol, request_id = fields.get(55, ""), fields[262]
        if fields[263] == "2":
            if (line := self._lines.get(symbol)) and line.request_id == request_id:
                del self._lines[symbol]
            return []
        line = _Shown(request_id)
        price = self._price(symbol, line)
        if price is None:
            return [((35, "Y"), (262, request_id), (281, "0"), (58, f"no prices of {symbol}"))]
        self._lines[symbol] = line
        entries = [pair for entry in _entries(symbol, price) for pair in entry]
        return [((35, "W"), (262, request_id), (55, symbol), (268, "2"), *entries)]

    def _change(self, symbol: str, line: _Shown) -> list[Fields]:
        price = self._price(symbol, line)
        return [] if price is None else [_changes(line, symbol, "0", price)]

    def _spoiled(self, what: str, symbol: str, line: _Shown) -> list[Fields]:
        price = self._price(symbol, line)
        if price is None:
            return []
        if what == "crossed":
            return [_changes(line, symbol, "0", price._replace(bid=price.ask + _CENT))]
        gone = f"{symbol}-B" if what == "one_sided" else f"{symbol}-UNKNOWN"
        entry = ((279, "2"), (269, "0"), (278, gone), (55, symbol))
        return [((35, "X"), (262, line.request_id), (268, "1"), *entry)]

    def _price(self, symbol: str, line: _Shown) -> SimulatedQuote | None:
        if self._planted is None:
            return self._quote(symbol)
        path = self._planted.get(symbol, [])
        return path[min(line.place, len(path) - 1)] if path else None


def read_prices(path: Path) -> dict[str, list[SimulatedQuote]]:
    """Return planted prices by instrument, in the file's order."""
    found: dict[str, list[SimulatedQuote]] = {}
    for line in path.read_text(encoding="ascii").splitlines():
        row = json.loads(line)
        price = SimulatedQuote(0, Decimal(str(row["bid"])), Decimal(str(row["ask"])))
        found.setdefault(str(row["instrument"]), []).append(price)
    return found


def _entries(symbol: str, price: SimulatedQuote) -> list[Fields]:
    sides = (("0", f"{symbol}-B", price.bid), ("1", f"{symbol}-A", price.ask))
    return [
        ((269, kind), (278, name), (270, f"{one:f}"), (271, "100")) for kind, name, one in sides
    ]


def _changes(line: _Shown, symbol: str, action: str, price: SimulatedQuote) -> Fields:
    """Return both sides anew: an entry that is there already is replaced."""
    parts: list[tuple[int, str]] = []
    for kind, name, value, size in _entries(symbol, price):
        parts += [(279, action), kind, name, (55, symbol), value, size]
    return ((35, "X"), (262, line.request_id), (268, "2"), *parts)
