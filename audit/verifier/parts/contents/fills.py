"""The fills on record against the broker's own file.

A ClOrdID is the first 100 bits of its approving record's leaf in base32. Whoever rewrites what
was decided changes the leaf, and the broker's file has the ClOrdID of the leaf that was.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from audit.verifier.parts.canonical import text_of
from audit.verifier.parts.contents.approvals import FIX_SIDES, fields_of, order_name
from audit.verifier.parts.contents.phone import Phoned, line_of, market_day
from audit.verifier.parts.report import INCOMPLETE, NOT_CHECKABLE, TAMPERED, Report, stamp
from audit.verifier.parts.trust.brokerfile import (
    SCALE,
    BrokerFile,
    BrokerFill,
    decimal_of,
    moment_of,
    units_of,
)

_DECISION = "decision/"


@dataclass(slots=True, kw_only=True)
class _SentOrder:
    """An order on record; quantities and prices are integers of 10**-18."""

    seq: int
    stream: str
    cl_ord_id: str
    instrument: str
    side: str
    quantity: int
    price: int
    account: str
    own_account: str
    approved_lots: int
    limit_ticks: int
    currency: str
    day: str
    alarmed: bool = False


@dataclass(slots=True, kw_only=True)
class _Booked:
    """A trade on record, after corrections; `names` are its ExecIDs."""

    seq: int
    order: _SentOrder
    names: list[str]
    quantity: int
    price: int
    lots: int
    day: str
    fee: int | None


@dataclass(slots=True, kw_only=True)
class _Sums:
    fills: int = 0
    bought: int = 0
    sold: int = 0
    value: int = 0

    def add(self, side: str, quantity: int, price: int) -> None:
        """Add one trade."""
        self.fills += 1
        self.value += quantity * price
        if side == "BUY":
            self.bought += quantity
        else:
            self.sold += quantity

    def text(self) -> str:
        """Return it for people."""
        return (
            f"{self.fills} fills, {decimal_of(self.bought)} bought, {decimal_of(self.sold)} sold,"
            f" worth {decimal_of(self.value, 2 * SCALE)}"
        )


@dataclass(slots=True)
class Fills:
    """The orders and trades of a log or of one decision, compared with the broker's file.

    Give it every record in order with `see`, then call `finish`. Without a file it does nothing.
    `whole` says whether all orders are there; a bundle has those of one decision.
    """

    broker: BrokerFile | None
    whole: bool = True
    _named: dict[str, tuple[int, str]] = field(default_factory=dict)
    _wanted: set[str] = field(default_factory=set)
    _approved: dict[tuple[str, int], Mapping[str, Any]] = field(default_factory=dict)
    _last_us: int = 0
    _orders: dict[str, _SentOrder] = field(default_factory=dict)
    _booked: dict[int, _Booked] = field(default_factory=dict)
    _undone: set[tuple[str, str]] = field(default_factory=set)
    _resolved: dict[str, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    _resolutions: dict[int, str] = field(default_factory=dict)
    _by_officers: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    phoned: Phoned = field(default_factory=Phoned)

    @property
    def relied_on(self) -> dict[int, str]:
        """The adjustments and resolutions that account for a fill, each with what it explains."""
        return {**self.phoned.relied_on, **self._resolutions}

    def __post_init__(self) -> None:
        for fill, _ in () if self.broker is None else self.broker.fills:
            self._wanted |= {fill.cl_ord_id, fill.orig_cl_ord_id} - {""}

    def see(
        self, report: Report, head: Mapping[str, Any], body: Mapping[str, Any], leaf: bytes
    ) -> None:
        """Take one record whose bytes were verified."""
        if self.broker is None:
            return
        stream, name = head["stream"], order_name(leaf)
        self._last_us = head["recorded_at_us"]
        if name in self._wanted:
            self._named[name] = (head["seq"], stream)
        match head["kind"]:
            case "verdict_given" if body.get("result") == "approved":
                self._approved[stream, head["seq"]] = body.get("reservation") or {}
            case "order_sending":
                self._announced(head, body)
            case "replace_requested":
                self._raised(head, body)
            case "order_reported":
                self._reported(report, head, body)
            case "difference_resolved":
                self._by_person(head, body)
            case _:
                self.phoned.see(head, body)

    def _announced(self, head: Mapping[str, Any], body: Mapping[str, Any]) -> None:
        """Take an order; `approvals` compares it with the record that approved it."""
        name, stream = text_of(body.get("cl_ord_id")), head["stream"]
        reserved = self._approved.get((stream, body.get("approving_seq", -1)), {})
        fields = fields_of(body)
        self._orders[name] = _SentOrder(
            seq=head["seq"],
            stream=stream,
            cl_ord_id=name,
            instrument=fields.get(55, ""),
            side=FIX_SIDES.get(fields.get(54, ""), ""),
            quantity=units_of(fields.get(38, "")) or 0,
            price=units_of(fields.get(44, "")) or 0,
            account=fields.get(1, ""),
            own_account=text_of(body.get("account", "")),
            approved_lots=reserved.get("qty_lots", 0),
            limit_ticks=reserved.get("limit_ticks", 0),
            currency=fields.get(15, ""),
            day=market_day(body.get("market_now_us")),
        )

    def _raised(self, head: Mapping[str, Any], body: Mapping[str, Any]) -> None:
        """Take the larger quantity that a replace of an order may have."""
        for one in self._orders.values():
            if one.stream == head["stream"] and body["after"]["qty_lots"] > one.approved_lots:
                one.approved_lots = body["after"]["qty_lots"]
                one.quantity = units_of(body["after"]["quantity"]) or 0

    def _reported(self, report: Report, head: Mapping[str, Any], body: Mapping[str, Any]) -> None:
        """Take what a report books, corrects or takes back."""
        undoes, told, fill = body.get("undoes_seq"), body.get("report") or {}, body.get("fill")
        order = self._orders.get(text_of(body.get("cl_ord_id")))
        if order is not None and body.get("anomaly"):
            order.alarmed = True
        if fill is None and undoes is None:
            return
        seq = head["seq"]
        if order is None or order.stream != head["stream"]:
            name = text_of(body.get("cl_ord_id"))
            report.find(TAMPERED, f"a fill of order {name}: never announced", seq)
            return
        before = self._booked.pop(undoes, None) if undoes is not None else None
        names = [*([] if before is None else before.names), text_of(told.get("exec_id"))]
        if fill is None:
            self._undone |= {(order.cl_ord_id, name) for name in names}
            return
        booked = _Booked(
            seq=seq,
            order=order,
            names=names,
            quantity=units_of(told.get("last_qty", "")) or 0,
            price=units_of(told.get("last_price", "")) or 0,
            lots=fill["qty_lots"],
            day=text_of(body.get("trade_date", ""))[:8] if before is None else before.day,
            fee=units_of(told.get("commission", "")),
        )
        _judge_units(report, booked, fill)
        self._booked[seq if undoes is None else undoes] = booked

    def _by_person(self, head: Mapping[str, Any], body: Mapping[str, Any]) -> None:
        """Take a quantity that two officers booked because the broker was right."""
        fill, name, trade = body.get("adjustment"), body.get("decision_id"), body.get("trade")
        if fill and trade:
            sign = 1 if fill["side"] == "BUY" else -1
            more = sign * (units_of(text_of(trade.get("quantity"))) or 0)
            self._by_officers[text_of(trade.get("instrument"))] += more
        stream = f"{_DECISION}{name}"
        order = next((one for one in self._orders.values() if one.stream == stream), None)
        day, account = ("", "") if order is None else (order.day, order.account)
        if self.phoned.resolves(head["seq"], body, day, account):
            return
        if fill and name:
            sign = 1 if fill["side"] == "BUY" else -1
            self._resolved[stream].append((head["seq"], sign * fill["qty_lots"]))

    def finish(self, report: Report) -> None:
        """Compare both sides; report every fill that does not match, and the sums."""
        if self.broker is None:
            return
        names = ", ".join(self.broker.names)
        trades = {(b.order.cl_ord_id, name): b for b in self._booked.values() for name in b.names}
        matched: set[int] = set()
        left: dict[str, list[BrokerFill]] = defaultdict(list)
        strangers = 0
        for fill, execs in self.broker.fills:
            order = self._order_of(fill)
            if (
                order is None
                and not self.whole
                and not self._named.keys() | self._orders.keys() >= {fill.cl_ord_id}
            ):
                strangers += 1
                continue
            if order is None:
                self._judge_stranger(report, fill)
                continue
            found = (trades.get((order.cl_ord_id, name)) for name in execs)
            booked = next((one for one in found if one is not None), None)
            if booked is None or booked.seq in matched:
                if not self.phoned.accounts_for(report, fill):
                    left[order.stream].append(fill)
                continue
            matched.add(booked.seq)
            _judge_pair(report, fill, booked)
        for stream, fills in left.items():
            self._judge_left(report, stream, fills)
        self._judge_lacking(report, matched)
        self.phoned.judge_lacking(report, self.broker)
        self.phoned.judge_resolved(report, self.broker)
        self._judge_approved(report)
        self._say_sums(report, matched)
        if strangers:
            report.say(f"{strangers} fills of the broker's file are of other decisions: not judged")
        if not self.whole and not matched and not left:
            report.find(NOT_CHECKABLE, f"no fill of {names} is of this decision")
        days = f"{self.broker.first_day or 'the beginning'} to {self.broker.last_day or 'the end'}"
        report.say(f"{len(matched)} fills of {names} ({days}) match their approving records")

    def _order_of(self, fill: BrokerFill) -> _SentOrder | None:
        """Return the order that a fill's ClOrdID names through a leaf of this log."""
        for name in (fill.cl_ord_id, fill.orig_cl_ord_id):
            if name in self._orders:
                return self._orders[name]
            seq, stream = self._named.get(name, (-1, ""))
            same = (one for one in self._orders.values() if one.stream == stream and seq >= 0)
            found = next(same, None)  # the name of a later message of that order
            if found is not None:
                return found
        return None

    def _judge_stranger(self, report: Report, fill: BrokerFill) -> None:
        """Judge a fill of no order on record: only a signed adjustment can account for it."""
        if self.phoned.accounts_for(report, fill):
            return
        text = f"{line_of(fill)}: no record of this ledger approved order {fill.cl_ord_id or '-'}"
        report.find(TAMPERED, text)

    def _judge_left(self, report: Report, stream: str, fills: Iterable[BrokerFill]) -> None:
        """Judge the fills of an order that the ledger lacks: a person may have booked their sum."""
        fills = list(fills)
        order = next(one for one in self._orders.values() if one.stream == stream)
        resolved = self._resolved.get(stream, [])
        sign = {"BUY": 1, "SELL": -1}
        left = sum(sign[fill.side] * fill.quantity for fill in fills)
        lots = sum(number for _, number in resolved)
        if resolved and left * order.approved_lots == lots * order.quantity:
            seqs = ", ".join(str(seq) for seq, _ in resolved)
            text = f"{len(fills)} fills of {order.cl_ord_id} are booked by resolution {seqs}"
            self._resolutions |= {seq: text for seq, _ in resolved}
            report.say(text)
            return
        for fill in fills:
            text, code = f"{line_of(fill)} of order {order.cl_ord_id}", TAMPERED
            if (order.cl_ord_id, fill.exec_id) in self._undone:
                text += ": the ledger says that the broker took it back"
            elif moment_of(fill.time) > stamp(self._last_us // 1_000_000):
                code = INCOMPLETE
                text += ": it is later than the last record here"
            else:
                text += ": the ledger lacks it"
            report.find(code, text)

    def _judge_lacking(self, report: Report, matched: set[int]) -> None:
        """Report the trades on record that the file should have and has not."""
        broker = self.broker
        for booked in self._booked.values():
            order = booked.order
            if broker is None or booked.seq in matched:
                continue
            covers = broker.covers
            told = covers(booked.day, order.own_account) or covers(booked.day, order.account)
            if told and not self.phoned.takes_out(booked.names, order.side, booked.quantity):
                text = (
                    f"the broker's file lacks fill {booked.names[0]} of order {order.cl_ord_id},"
                    f" {decimal_of(booked.quantity)} {order.instrument} on {booked.day}"
                )
                report.find(TAMPERED, text, booked.seq)

    def _judge_approved(self, report: Report) -> None:
        """Report orders that were filled beyond what was approved, unless the ledger says so."""
        lots: dict[str, int] = defaultdict(int)
        for booked in self._booked.values():
            lots[booked.order.cl_ord_id] += booked.lots
        for name, filled in lots.items():
            order = self._orders[name]
            if order.approved_lots and filled > order.approved_lots:
                text = f"order {name}: {filled} lots filled, {order.approved_lots} approved"
                if order.alarmed:
                    report.say(f"{text}; the ledger has the alarm")
                else:
                    report.find(TAMPERED, text, order.seq)

    def _say_sums(self, report: Report, matched: set[int]) -> None:
        """Compare the sums per instrument of what both sides have in the file's days."""
        if self.broker is None:
            return
        theirs: dict[str, _Sums] = defaultdict(_Sums)
        ours: dict[str, _Sums] = defaultdict(_Sums)
        for fill, _ in self.broker.fills:
            if self.whole or self._order_of(fill) is not None:
                theirs[fill.instrument].add(fill.side, fill.quantity, fill.price)
        for booked in self._booked.values():
            inside = self.broker.covers(booked.day, booked.order.own_account)
            if inside or booked.seq in matched:
                order = booked.order
                ours[order.instrument].add(order.side, booked.quantity, booked.price)
        for symbol in sorted({*theirs, *ours, *self._by_officers}):
            one, other = theirs[symbol], ours[symbol]
            apart = self._by_officers.get(symbol)
            if apart is not None:
                more = f"{decimal_of(apart)} of officers' resolutions"
                text = f"the ledger has {other.text()}, and {more}"
                report.say(f"{symbol}: the broker's file has {one.text()}; {text}")
            elif one == other:
                report.say(f"{symbol}: {one.text()}: the broker's file and the ledger agree")
            else:
                report.say(
                    f"{symbol}: the broker's file has {one.text()}; the ledger has {other.text()}"
                )


def _judge_pair(report: Report, fill: BrokerFill, booked: _Booked) -> None:
    """Compare a line of the broker's with the trade on record."""
    order = booked.order
    pairs = {
        "quantity": (decimal_of(fill.quantity), decimal_of(booked.quantity)),
        "price": (decimal_of(fill.price), decimal_of(booked.price)),
        "side": (fill.side, order.side),
        "instrument": (fill.instrument, order.instrument),
        "account": (fill.account or order.account, order.account),
    }
    if fill.currency and order.currency:
        pairs["currency"] = (fill.currency, order.currency)
    if fill.fee is not None and booked.fee is not None:
        pairs["fee"] = (decimal_of(fill.fee), decimal_of(booked.fee))
    for name, (theirs, ours) in pairs.items():
        if theirs != ours:
            text = f"{line_of(fill)} of order {order.cl_ord_id}: {name} {theirs}, on record {ours}"
            report.find(TAMPERED, text, booked.seq)


def _judge_units(report: Report, booked: _Booked, fill: Mapping[str, Any]) -> None:
    """Require that the booked lots and ticks are those of the report, in the order's own units."""
    order, seq = booked.order, booked.seq
    if order.approved_lots and booked.quantity * order.approved_lots != (
        fill["qty_lots"] * order.quantity
    ):
        text = f"{fill['qty_lots']} lots are booked for {decimal_of(booked.quantity)} reported"
        report.find(TAMPERED, text, seq)
    if order.limit_ticks and booked.price * order.limit_ticks != fill["price_ticks"] * order.price:
        text = f"{fill['price_ticks']} ticks are booked for a price of {decimal_of(booked.price)}"
        report.find(TAMPERED, text, seq)
    if [fill["instrument"], fill["side"]] != [order.instrument, order.side]:
        report.find(TAMPERED, "a fill is booked for another instrument or side than its order", seq)
