"""A broker whose reports are spoiled, in other money, or end orders in their own way.

What it answers beside the plain broker's words, and what of it is true at the broker:

    empty             filled; the report has an empty Text (58)
    data              filled; EncodedText (355) holds the delimiter and what looks like a rejection
    same twice        filled; the total stands twice in the report
    two prices        filled; the report has a second LastPx (31)
    no price          filled; the report has no LastPx
    pence             filled; Currency (15) is GBX
    settled elsewhere filled; SettlCurrency (120) is GBP
    per unit          filled; one cent for each share, CommType (13) 1
    percent           20 shares at 5 %, CommType 2, then the rest
    waived            filled; CommType 4, of which 1.50 is due in the end
    misc              filled; two MiscFees, 2.00 together
    fee elsewhere     filled; a commission of 2.00 EUR, which is 2.20 in the end
    rejects           half filled, then rejected
    ends unseen       half filled; it ends, and only a status report says so
    under the cancel  half filled under the ClOrdID of its cancel, then cancelled
    reuse             filled in two trades under one ExecID
    phoned            filled; then a trade in the same instrument of an order that nobody sent
    elsewhere         filled; then a trade in MSFT of an order that nobody sent, taken back at once

Every order is for its day: on a later one the broker does not know it any more.
"""

import time
from collections.abc import Iterator, Mapping
from decimal import Decimal

from typing_extensions import override

from tests.doubles.plain_broker import BrokersOrder, PlainBroker, Reply

RAW = 0
"""Not a tag: text that an engine puts at the end of a message as it is, | for the delimiter."""
HIDDEN = "late|150=8|39=8|14=0|17=E999"
PHONED = 5
IN_PERCENT = 20
SPOILED: dict[str, Reply] = {
    "empty": {RAW: "58=|"},
    "data": {RAW: f"354={len(HIDDEN)}|355={HIDDEN}|"},
    "two prices": {RAW: "31=1.00|"},
    "pence": {15: "GBX"},
    "settled elsewhere": {120: "GBP"},
    "per unit": {12: "0.01", 13: "1"},
    "waived": {12: "1.50", 13: "4"},
    "misc": {RAW: "136=2|137=1.25|138=USD|139=1|137=0.75|138=USD|139=4|"},
    "fee elsewhere": {12: "2.00", 13: "3", 479: "EUR"},
}
"""What a fill of such an order has beside a fill's own fields."""
DUE = {"waived": "1.50", "misc": "2.00", "fee elsewhere": "2.20"}


class MisreportingBroker(PlainBroker):
    """The plain broker, and the words above."""

    @override
    def _acknowledged(self, order: BrokersOrder) -> Iterator[Reply]:
        yield from super()._acknowledged(order)
        half, word = order.qty // 2, order.word
        match word:
            case "same twice":
                said = self._trade(order, order.qty)
                yield said | {RAW: f"14={said[14]}|"}
            case "no price":
                yield {
                    tag: text for tag, text in self._trade(order, order.qty).items() if tag != 31
                }
            case "percent":
                yield self._trade(order, IN_PERCENT) | {12: "0.05", 13: "2"}
                order.fees.append(str(IN_PERCENT * Decimal(order.price) / 20))
                yield self._trade(order, order.qty - order.done)
            case "rejects":
                yield self._trade(order, half)
                order.status = "8"
                yield self._report(order, "8") | {103: "99", 58: "no longer"}
            case "ends unseen":
                yield self._trade(order, half)
            case "reuse":
                first = self._trade(order, half)
                again = self._trade(order, order.qty - half)
                order.trades[f"{first[17]} again"] = order.trades.pop(again[17])
                yield from (first, again | {17: first[17]})
            case "phoned" | "elsewhere":
                yield self._trade(order, order.qty)
                yield from self._by_phone(order)
            case _ if word in SPOILED:
                said = self._trade(order, order.qty)
                if word == "per unit":
                    order.fees.append(str(order.qty * Decimal("0.01")))
                order.fees += [DUE[word]] if word in DUE else []
                yield said | SPOILED[word]
            case _:
                pass

    def _by_phone(self, beside: BrokersOrder) -> Iterator[Reply]:
        """Trade for an order that came by phone; one in MSFT is taken back."""
        ours = beside.word == "phoned"
        name = f"{'PHONE':A<19}{'23'[not ours]}"  # in the form of the desk's own
        symbol = beside.symbol if ours else "MSFT"
        order = BrokersOrder(name, symbol, "1", PHONED, beside.price, f"B{name}", status="0")
        self.orders[name] = order
        yield self._trade(order, PHONED)
        if not ours:
            yield self._undo(order, 0) | {151: "0", 39: "4"}
            order.status = "4"

    @override
    def _cancel(self, fields: Mapping[int, str]) -> Iterator[Reply]:
        order = self.orders.get(fields[41])
        if order is not None and order.word == "under the cancel" and not order.done:
            yield self._trade(order, order.qty // 2) | {11: fields[11]}
        yield from super()._cancel(fields)

    @override
    def _status(self, fields: Mapping[int, str]) -> Iterator[Reply]:
        order = self.orders.get(fields[11])
        if order is not None and order.day < time.strftime("%Y%m%d", time.gmtime()):
            order.status = "4" if order.works else order.status
            yield self._unknown(fields)
            return
        if order is not None and order.word == "ends unseen" and order.works:
            order.status = "4"
        yield from super()._status(fields)

    def _unknown(self, fields: Mapping[int, str]) -> Reply:
        order = BrokersOrder(fields[11], fields[55], fields[54], 0, "", "", status="8")
        return self._report(order, "I") | {17: "0", 37: "NONE", 103: "5"}
