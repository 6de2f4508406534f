"""What the simulated broker does with a message: text in, fields out. Pure.

The published table: orders are numbered from 0 over the whole capture. Each block of ten takes its
outcomes from this deck, shuffled by the seed and the block's number:

| outcome | of ten | what happens                                                               |
|---------|--------|----------------------------------------------------------------------------|
| fill    | 5      | acknowledged, filled                                                       |
| partial | 3      | acknowledged, half filled (rounded down, at least 1), then the rest        |
| reject  | 1      | rejected, 103=0, text ``published table``                                  |
| silence | 1      | executed, but nothing is reported before a request (H, AF) or a cancel (F) |

An order trades only if marketable against the simulator's own quote: a buy at its ask, a sell at
its bid, never beyond the limit. Otherwise DAY and GTC orders rest (acknowledged) until a later
session's quote meets them or they are cancelled; IOC and FOK orders are cancelled at once.
Commission (12, 13=3) is per fill. No quote for a known session rejects with 103=2.

Outcomes of a script only:

| outcome         | what happens                                                                  |
|-----------------|-------------------------------------------------------------------------------|
| bust            | acknowledged, filled; busted after the delay (150=H), then rests              |
| correct         | acknowledged, filled; corrected to half after the delay (150=G), then rests   |
| session_reject  | a Reject (3) of the message; the order stays unknown                          |
| business_reject | a BusinessMessageReject (j) of the message; the order stays unknown           |

Not here: time, sockets, quickfix.
"""

import hashlib
import random
from collections.abc import Callable, Mapping
from decimal import ROUND_HALF_EVEN, Decimal

from fix.simulator.control import SimulatedQuote
from fix.simulator.order import LATER, Execution, Order, OrderOutcome, Reply
from fix.wire.messages import Fields

DECK = (
    (OrderOutcome.FILL,) * 5
    + (OrderOutcome.PARTIAL,) * 3
    + (OrderOutcome.REJECT, OrderOutcome.SILENCE)
)
_IMMEDIATE = frozenset("34")
_REJECTS = frozenset({OrderOutcome.SESSION_REJECT, OrderOutcome.BUSINESS_REJECT})
_UNDOING = frozenset({OrderOutcome.BUST, OrderOutcome.CORRECT})
_CENT = Decimal("0.01")


def outcome_of(seed: str, index: int) -> OrderOutcome:
    """Return the published table's outcome for the order with this number."""
    block, place = divmod(index, len(DECK))
    key = hashlib.sha256(f"{seed}/{block}".encode()).digest()
    deck = list(DECK)
    random.Random(int.from_bytes(key, "big")).shuffle(deck)  # noqa: S311  # a published table
    return deck[place]


class SimulatedMarket:
    """The broker's order book; the caller sends the returned replies in order."""

    def __init__(  # noqa: PLR0913  # keyword-only settings
        self,
        *,
        seed: str,
        script: tuple[str, ...],
        fee_bp: int,
        orders_before: int,
        reports_before: int,
        known: frozenset[str],
        quote: Callable[[str], SimulatedQuote | None],
        has_quotes: bool,
    ) -> None:
        """Continue a capture with so many orders and reports, and with these ClOrdIDs.

        `quote` returns an instrument's quote in the current session; without `has_quotes` every
        order trades at its limit. The other options are those of `SimulatorConfig`.
        """
        self._seed, self._script, self._fee_bp = seed, script, fee_bp
        self._index, self._exec_no = orders_before, reports_before
        self._first_index = orders_before
        self._known = set(known)
        self._quote, self._has_quotes = quote, has_quotes
        self.orders: dict[str, Order] = {}

    def receive(self, fields: Mapping[int, str]) -> list[Reply]:
        """Return the replies to one application message."""
        match fields[35]:
            case "D":
                return self._new_order(fields)
            case "F":
                return self._cancel(fields)
            case "q":
                return self._mass_cancel(fields)
            case "H":
                return self._status(fields)
            case "AF":
                return self._mass_status(fields)
            case other:
                reject = ((35, "j"), (45, fields[34]), (372, other), (380, "3"))
                return [Reply(fields=(*reject, (58, "not supported here")))]

    def session_changed(self) -> list[Reply]:
        """Return the fills of resting orders that the new session's quotes meet."""
        return [answer for order in self.orders.values() for answer in self._trade_rest(order)]

    def cancel_all(self) -> list[Reply]:
        """Return the cancels of every live order, for cancel-on-disconnect."""
        return [
            answer
            for order in self.orders.values()
            if order.is_live
            for answer in self._say(order, [self._cancelled(order, ())])
        ]

    def hold(self, fields: Fields) -> None:
        """Hold a report that a silent broker does not send before a request."""
        said = dict(fields)
        order = self.orders.get(said.get(41, said.get(11, "")))
        if order is not None and said[35] == "8" and said[150] != "I":
            order.held.append(fields)

    def _next_outcome(self) -> OrderOutcome:
        place, index = self._index - self._first_index, self._index
        self._index += 1
        if place < len(self._script):
            return OrderOutcome(self._script[place])
        return outcome_of(self._seed, index)

    def _new_order(self, fields: Mapping[int, str]) -> list[Reply]:
        if fields.get(97) == "Y" and fields[11] in self.orders:
            return self._status(fields)  # FIX 4.4 volume 4, order state matrix F.1.b
        number = self._index
        outcome = self._next_outcome()
        if outcome in _REJECTS:
            return [Reply(fields=_reject(fields, outcome))]
        order = Order(
            cl_ord_id=fields[11],
            order_id=f"E{number:08d}",
            symbol=fields[55],
            side=fields[54],
            qty=int(Decimal(fields[38])),
            limit=Decimal(fields.get(44, "0")),
            tif=fields.get(59, "0"),
            account=fields.get(1, ""),
            outcome=outcome,
        )
        if order.cl_ord_id in self._known:
            return [self._rejected(order, "6", "duplicate order")]
        self._known.add(order.cl_ord_id)
        self.orders[order.cl_ord_id] = order
        if outcome is OrderOutcome.REJECT:
            return [self._rejected(order, "0", "published table")]
        if self._has_quotes and self._quote(order.symbol) is None:
            return [self._rejected(order, "2", "no quote in this session")]
        return self._say(order, self._work(order), silent=outcome is OrderOutcome.SILENCE)

    def _work(self, order: Order) -> list[Reply]:
        answers = [self._report(order, "0")]
        price = self._price(order)
        if price is None:
            if order.tif in _IMMEDIATE:
                answers.append(self._cancelled(order, ((58, "not marketable"),)))
        elif order.outcome is OrderOutcome.PARTIAL and order.qty > 1 and order.tif != "4":
            answers.append(self._trade(order, order.qty // 2, price))
            answers.append(Reply(fields=(), later=LATER))
        else:
            answers.append(self._trade(order, order.qty, price))
            if order.outcome in _UNDOING:
                answers.append(Reply(fields=(), later=LATER))
        return answers

    def finish(self, cl_ord_id: str) -> list[Reply]:
        """Return the delayed rest of a partial fill, bust or correction, if still due."""
        order = self.orders[cl_ord_id]
        if order.outcome in _UNDOING:
            return self._say(order, [self._undo(order)])
        return self._trade_rest(order)

    def _trade_rest(self, order: Order) -> list[Reply]:
        price = self._price(order) if order.is_live else None
        if price is None:
            return []
        return self._say(order, [self._trade(order, order.leaves, price)])

    def _say(self, order: Order, answers: list[Reply], *, silent: bool = False) -> list[Reply]:
        """Hold replies while the order is silent; name the order of a delayed one."""
        if silent or order.held:
            order.held += [answer.fields for answer in answers if answer.fields]
            return []
        return [
            Reply(fields=((11, order.cl_ord_id),), later=LATER) if answer.later else answer
            for answer in answers
        ]

    def _break_silence(self, order: Order) -> list[Reply]:
        held, order.held = order.held, []
        return [Reply(fields=fields) for fields in held]

    def _price(self, order: Order) -> Decimal | None:
        if not self._has_quotes:
            return order.limit
        quote = self._quote(order.symbol)
        if quote is None:
            return None
        price = quote.ask if order.side == "1" else quote.bid
        meets = price <= order.limit if order.side == "1" else price >= order.limit
        return price if meets else None

    def _trade(self, order: Order, qty: int, price: Decimal) -> Reply:
        order.cum += qty
        order.value += qty * price
        order.status = "2" if order.cum == order.qty else "1"
        fee = (qty * price * self._fee_bp / 10_000).quantize(_CENT, rounding=ROUND_HALF_EVEN)
        extra = ((32, str(qty)), (31, f"{price:f}"), (12, f"{fee:f}"), (13, "3"))
        answer = self._report(order, "F", extra)
        order.trades.append(Execution(dict(answer.fields)[17], qty, price))
        return answer

    def _undo(self, order: Order) -> Reply:
        """Bust the last trade, or correct it to half its quantity."""
        trade = order.trades.pop()
        order.cum -= trade.qty
        order.value -= trade.qty * trade.price
        order.status = "1" if order.cum else "0"
        if order.outcome is OrderOutcome.BUST:
            return self._report(order, "H", ((19, trade.exec_id),))
        answer = self._trade(order, max(1, trade.qty // 2), trade.price)
        return Reply(fields=tuple((dict(answer.fields) | {150: "G", 19: trade.exec_id}).items()))

    def _cancelled(self, order: Order, extra: Fields) -> Reply:
        order.status = "4"
        return self._report(order, "4", extra)

    def _rejected(self, order: Order, reason: str, words: str) -> Reply:
        order.status = "8"
        return self._report(order, "8", ((103, reason), (58, words)))

    def _report(self, order: Order, exec_type: str, extra: Fields = ()) -> Reply:
        self._exec_no += 1
        exec_id = "0" if exec_type == "I" else f"X{self._exec_no:08d}"
        average = order.value / order.cum if order.cum else Decimal(0)
        own = dict(extra)
        fields: Fields = (
            (35, "8"),
            (37, order.order_id),
            (11, own.pop(11, order.cl_ord_id)),
            (17, exec_id),
            (150, exec_type),
            (39, order.status),
            (1, order.account),
            (55, order.symbol),
            (54, order.side),
            (38, str(order.qty)),
            (44, f"{order.limit:f}"),
            (151, str(order.leaves)),
            (14, str(order.cum)),
            (6, f"{average:.6f}"),
            *own.items(),
        )
        return Reply(fields=tuple((tag, value) for tag, value in fields if value))

    def _cancel(self, fields: Mapping[int, str]) -> list[Reply]:
        order = self.orders.get(fields[41])
        late = self._break_silence(order) if order else []
        if order is None or not order.is_live:
            status, reason = ("8", "1") if order is None else (order.status, "0")
            reject = (
                (35, "9"),
                (37, order.order_id if order else "NONE"),
                (11, fields[11]),
                (41, fields[41]),
                (39, status),
                (434, "1"),
                (102, reason),
            )
            return [*late, Reply(fields=reject)]
        return [*late, self._cancelled(order, ((11, fields[11]), (41, order.cl_ord_id)))]

    def _mass_cancel(self, fields: Mapping[int, str]) -> list[Reply]:
        live = [order for order in self.orders.values() if order.is_live]
        answers = [
            Reply(
                fields=(
                    (35, "r"),
                    (37, f"M{fields[34]}"),
                    (11, fields[11]),
                    (530, fields[530]),
                    (531, fields[530]),
                    (533, str(len(live))),
                )
            )
        ]
        for order in live:
            answers += self._break_silence(order)
            answers.append(self._cancelled(order, ()))
        return answers

    def _status(self, fields: Mapping[int, str]) -> list[Reply]:
        order = self.orders.get(fields[11])
        if order is None:
            return [Reply(fields=_not_known(fields))]
        return [*self._break_silence(order), self._report(order, "I")]

    def _mass_status(self, fields: Mapping[int, str]) -> list[Reply]:
        answers: list[Reply] = []
        chosen = [order for order in self.orders.values() if order.is_live or order.held]
        for order in chosen:
            extra = ((584, fields[584]), (911, str(len(chosen))))
            answers += [*self._break_silence(order), self._report(order, "I", extra)]
        return answers


def _reject(fields: Mapping[int, str], outcome: OrderOutcome) -> Fields:
    words = (45, fields[34]), (372, fields[35]), (58, "by script")
    if outcome is OrderOutcome.SESSION_REJECT:
        return ((35, "3"), *words, (373, "99"))
    return ((35, "j"), *words, (379, fields[11]), (380, "0"))


def _not_known(fields: Mapping[int, str]) -> Fields:
    return (
        (35, "8"),
        (37, "NONE"),
        (11, fields[11]),
        (17, "0"),
        (150, "I"),
        (39, "8"),
        (55, fields[55]),
        (54, fields[54]),
        (151, "0"),
        (14, "0"),
        (6, "0"),
        (103, "5"),
        (58, "unknown order"),
    )
