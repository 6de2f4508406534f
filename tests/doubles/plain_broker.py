"""A broker's own book behind any FIX engine: what it answers to orders, and what it did.

It shares no code with the product or its simulator, so that both cannot be wrong alike. Each order
takes the next word of the script:

    fill      acknowledged, half filled, filled
    half      acknowledged, half filled; the rest works
    rest      acknowledged; it works until it is cancelled
    reject    refused
    bust      filled, then the trade is taken back; the order works again
    correct   filled, then the trade is corrected to half of the lots at another price
    amend     acknowledged; it works until it is replaced, then it is filled as replaced
"""

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

Reply = dict[int, str]


@dataclass
class BrokersOrder:
    """One order as the broker has it."""

    cl_ord_id: str
    symbol: str
    side: str
    qty: int
    price: str
    order_id: str = ""
    word: str = ""
    status: str = "A"
    trades: dict[str, tuple[int, str]] = field(default_factory=dict)
    before: list[str] = field(default_factory=list)
    """Its ClOrdIDs before it was replaced."""
    fees: list[str] = field(default_factory=list)
    """What was charged for it, decimal text."""
    day: str = field(default_factory=lambda: time.strftime("%Y%m%d", time.gmtime()))
    """When it came, UTC."""

    @property
    def done(self) -> int:
        return sum(qty for qty, _ in self.trades.values())

    @property
    def works(self) -> bool:
        return self.status in {"0", "1"}


class PlainBroker:
    """The broker's orders, kept in a file so that a restarted engine goes on with them."""

    def __init__(self, path: Path, script: tuple[str, ...], version: str) -> None:
        self._path = path
        self._script = script
        self._before_43 = version == "FIX.4.2"
        empty: dict[str, Any] = {"orders": [], "execs": 0}
        saved: dict[str, Any] = json.loads(path.read_text()) if path.exists() else empty
        self.orders = {one["cl_ord_id"]: BrokersOrder(**one) for one in saved["orders"]}
        self._execs = saved["execs"]

    def receive(self, fields: Mapping[int, str]) -> list[Reply]:
        """Take one application message; return what to answer, in order."""
        known = {"D": self._new, "F": self._cancel, "G": self._replace, "H": self._status}
        answer = known.get(fields[35])
        if answer is None:
            why = {58: "not supported here", 372: fields[35], 380: "3", 45: fields[34]}
            return [{35: "j", **why}]
        replies = list(answer(fields))
        kept = {"orders": [asdict(one) for one in self.orders.values()], "execs": self._execs}
        self._path.write_text(json.dumps(kept))
        return replies

    def _new(self, fields: Mapping[int, str]) -> Iterator[Reply]:
        self._refuse_again(fields[11])
        word = self._script[sum(bool(one.word) for one in self.orders.values())]
        qty, price = int(Decimal(fields[38])), fields[44]
        order = BrokersOrder(fields[11], fields[55], fields[54], qty, price, f"B{fields[11]}", word)
        self.orders[order.cl_ord_id] = order
        if word == "reject":
            order.status = "8"
            yield self._report(order, "8") | {103: "3", 58: "too large"}
            return
        order.status = "0"
        yield self._report(order, "0")
        yield from self._acknowledged(order)

    def _acknowledged(self, order: BrokersOrder) -> Iterator[Reply]:
        """Do what the order's word says."""
        word, qty = order.word, order.qty
        if word in {"fill", "half"}:
            yield self._trade(order, qty // 2)
        if word in {"fill", "bust", "correct"}:
            yield self._trade(order, qty - order.done)
        if word in {"bust", "correct"}:
            yield self._undo(order, qty // 2 if word == "correct" else 0)

    def _cancel(self, fields: Mapping[int, str]) -> Iterator[Reply]:
        order = self.orders.get(fields[41])
        if order is None or not order.works:
            yield self._too_late(fields, order, "1")
            return
        order.status = "4"
        yield self._report(order, "4") | {11: fields[11], 41: order.cl_ord_id}

    def _replace(self, fields: Mapping[int, str]) -> Iterator[Reply]:
        """Change quantity and price of a working order; its new ClOrdID names it from here on."""
        self._refuse_again(fields[11])
        order = self.orders.get(fields[41])
        if order is None or not order.works or int(Decimal(fields[38])) <= order.done:
            yield self._too_late(fields, order, "2")
            return
        order.before.append(order.cl_ord_id)
        order.cl_ord_id = fields[11]
        order.qty, order.price = int(Decimal(fields[38])), fields[44]
        self.orders = {one.cl_ord_id: one for one in self.orders.values()}
        said = self._report(order, "5") | {41: fields[41]}
        yield said | ({39: "5"} if self._before_43 else {})
        if order.word == "amend":
            yield self._trade(order, order.qty - order.done)

    def _refuse_again(self, name: str) -> None:
        """Fail: no order or replacement may come twice."""
        if any(name in {one.cl_ord_id, *one.before} for one in self.orders.values()):
            raise AssertionError(f"the order {name} came twice")

    def _too_late(self, fields: Mapping[int, str], order: BrokersOrder | None, to: str) -> Reply:
        known = {37: "NONE", 39: "8"} if order is None else {37: order.order_id, 39: order.status}
        reason = {102: "1" if order is None else "0", 434: to}
        return {35: "9", 11: fields[11], 41: fields[41], **known, **reason}

    def _status(self, fields: Mapping[int, str]) -> Iterator[Reply]:
        order = self.orders.get(fields[11])
        unknown = order is None
        if order is None:
            order = BrokersOrder(fields[11], fields[55], fields[54], 0, "", "8")
        told = self._report(order, order.status if self._before_43 else "I") | {17: "0"}
        if self._before_43:
            told[20] = "3"
        yield told | ({37: "NONE", 103: "5"} if unknown else {})

    def _trade(self, order: BrokersOrder, qty: int) -> Reply:
        exec_id = self._exec_id()
        order.trades[exec_id] = (qty, order.price)
        order.status = "2" if order.done == order.qty else "1"
        said = self._report(order, order.status if self._before_43 else "F", exec_id)
        return said | {32: str(qty), 31: order.price}

    def _undo(self, order: BrokersOrder, corrected: int) -> Reply:
        """Take the last trade back, or correct it to so many at a cent less."""
        wrong = next(reversed(order.trades))
        del order.trades[wrong]
        exec_id = self._exec_id()
        price = str(Decimal(order.price) - Decimal("0.01"))
        if corrected:
            order.trades[exec_id] = (corrected, price)
        order.status = "1" if order.done else "0"
        exec_type = "G" if corrected else "H"
        told = {32: str(corrected), 31: price} if corrected else {}
        if self._before_43:
            told[20] = "2" if corrected else "1"
            exec_type = order.status
            told |= {32: str(corrected), 31: price}
        return self._report(order, exec_type, exec_id) | {19: wrong} | told

    def _report(self, order: BrokersOrder, exec_type: str, exec_id: str = "") -> Reply:
        worth = sum(qty * Decimal(price) for qty, price in order.trades.values())
        report = {
            35: "8",
            37: order.order_id,
            11: order.cl_ord_id,
            17: exec_id or self._exec_id(),
            150: exec_type,
            39: order.status,
            55: order.symbol,
            54: order.side,
            38: str(order.qty),
            151: str(order.qty - order.done if order.works else 0),
            14: str(order.done),
            6: f"{worth / order.done:.4f}" if order.done else "0",
        }
        return report | ({20: "0"} if self._before_43 else {})

    def _exec_id(self) -> str:
        self._execs += 1
        return f"E{self._execs}"
