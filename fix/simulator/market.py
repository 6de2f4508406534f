"""What the simulated broker does with a message: text in, fields out. Pure.

The published table: orders are numbered from 0 over the whole capture. Each block of ten takes its
outcomes from `DECK`, shuffled by the seed and the block's number. A script, or whoever plays the
broker, deals other outcomes (`fix.simulator.acts` says what each is).

An order trades only if marketable against the simulator's own quote: a buy at its ask, a sell at
its bid, never beyond the limit. Otherwise DAY and GTC orders rest (acknowledged) until a later
session's quote meets them or they are cancelled; IOC and FOK orders are cancelled at once.
Commission (12, 13=3) is per fill. No quote for a known session rejects with 103=2. An order that is
done for the day works again in the next session.

Not here: time, sockets, quickfix.
"""

import hashlib
import random
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal

from fix.simulator.acts import BrokerAct, act_on, first_steps, fits
from fix.simulator.control import SimulatedQuote
from fix.simulator.order import HALTED, LATER, Manner, Order, OrderOutcome, Reply
from fix.simulator.reporting import Reporter, none_found, not_known, refused, rejected_message
from fix.wire.messages import Fields

DECK = (
    (OrderOutcome.FILL,) * 5
    + (OrderOutcome.PARTIAL,) * 3
    + (OrderOutcome.REJECT, OrderOutcome.SILENCE)
)
_IMMEDIATE = frozenset("34")
_O = OrderOutcome
_REJECTS = frozenset({_O.SESSION_REJECT, _O.BUSINESS_REJECT})
_UNDOING = frozenset({_O.BUST, _O.CORRECT})
_RESTING = frozenset({_O.REST, _O.SUSPEND, _O.DONE_FOR_DAY, _O.EXPIRE, _O.RESTATE})
_DROP = Reply(fields=(), drop=True)
_TOO_LATE, _UNKNOWN = "0", "1"
STRANGER = "TRADER-"
"""How the ClOrdID of an order begins that a trader entered by hand."""


def outcome_of(seed: str, index: int) -> OrderOutcome:
    """Return the published table's outcome for the order with this number."""
    block, place = divmod(index, len(DECK))
    key = hashlib.sha256(f"{seed}/{block}".encode()).digest()
    deck = list(DECK)
    random.Random(int.from_bytes(key, "big")).shuffle(deck)  # noqa: S311  # a published table
    return deck[place]


class SimulatedMarket:
    """The broker's order book; the caller sends the returned replies in order.

    `cancels` and `replaces` are how requests are answered from now on.
    """

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
        self._seed = seed
        self._index = orders_before
        self._dealt = deque(OrderOutcome(word) for word in script)
        self._known = set(known)
        self._quote, self._has_quotes = quote, has_quotes
        self._tell = Reporter(fee_bp, reports_before)
        self.orders: dict[str, Order] = {}
        self.cancels = self.replaces = Manner.CONFIRM

    def receive(self, fields: Mapping[int, str]) -> list[Reply]:
        """Return the replies to one application message."""
        match fields[35]:
            case "D":
                return self._new_order(fields)
            case "F" | "G":
                return self._change(fields)
            case "q":
                return self._mass_cancel(fields)
            case "H":
                return self._status(fields)
            case "AF":
                return self._mass_status(fields)
            case other:
                reject = ((35, "j"), (45, fields[34]), (372, other), (380, "3"))
                return [Reply(fields=(*reject, (58, "not supported here")))]

    def deal(self, outcomes: Iterable[str]) -> None:
        """Deal these outcomes to the next orders."""
        self._dealt += [OrderOutcome(word) for word in outcomes]

    def act(self, act: BrokerAct) -> list[Reply]:
        """Do this to the named order, or to the newest that it fits; nothing if there is none."""
        if act.what == "stranger":
            return self._entered_by_hand(act)
        named = [self.orders[act.order]] if act.order in self.orders else []
        chosen = named or [] if act.order else [o for o in self._each() if fits(o, act)][-1:]
        return [one for order in chosen for one in self._say(order, act_on(order, act, self._tell))]

    def _entered_by_hand(self, act: BrokerAct) -> list[Reply]:
        """Take an order that did not come over the session; its name continues no other."""
        number = 1 + sum(name.startswith(STRANGER) for name in self.orders)
        order = Order(
            cl_ord_id=f"{STRANGER}{number}",
            order_id=f"S{self._index:08d}-{number}",
            symbol=act.order,
            side="1",
            qty=act.qty or 1,
            limit=Decimal(act.price or "1"),
            tif="0",
            account="TRADER",
            outcome=_O.REST,
        )
        self.orders[order.cl_ord_id] = order
        return [self._tell.report(order, "0")]

    def session_changed(self) -> list[Reply]:
        """Return the fills of resting orders that the new session's quotes meet."""
        for order in self._each():
            if order.status in {"3", "B"}:
                order.status = "1" if order.cum else "0"
        return [answer for order in self._each() for answer in self._trade_rest(order)]

    def cancel_all(self) -> list[Reply]:
        """Return the cancels of every live order, for cancel-on-disconnect."""
        return [
            answer
            for order in self._each()
            if order.is_live
            for answer in self._say(order, [self._tell.ended(order, "4")])
        ]

    def hold(self, fields: Fields) -> None:
        """Hold a report that a silent broker does not send before a request."""
        said = dict(fields)
        order = self.orders.get(said.get(41, said.get(11, "")))
        if order is not None and said[35] == "8" and said[150] != "I":
            order.held.append(fields)

    def _each(self) -> Iterator[Order]:
        """Yield every order once, also one that was replaced and has several names."""
        return iter({order.order_id: order for order in self.orders.values()}.values())

    def _next_outcome(self) -> OrderOutcome:
        index = self._index
        self._index += 1
        return self._dealt.popleft() if self._dealt else outcome_of(self._seed, index)

    def _new_order(self, fields: Mapping[int, str]) -> list[Reply]:
        if fields.get(97) == "Y" and fields[11] in self.orders:
            return self._status(fields)  # FIX 4.4 volume 4, order state matrix F.1.b
        number = self._index
        outcome = self._next_outcome()
        if outcome in _REJECTS:
            return [rejected_message(fields, session=outcome is _O.SESSION_REJECT)]
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
            return [self._tell.rejected(order, "6", "duplicate order")]
        if outcome is _O.IGNORE:
            return []
        self._known.add(order.cl_ord_id)
        self.orders[order.cl_ord_id] = order
        if outcome is _O.REJECT:
            return [self._tell.rejected(order, "0", "published table")]
        if self._has_quotes and self._quote(order.symbol) is None:
            return [self._tell.rejected(order, "2", "no quote in this session")]
        return self._say(order, self._work(order), silent=outcome is _O.SILENCE)

    def _work(self, order: Order) -> list[Reply]:
        answers = [_DROP] if order.outcome is _O.DROP_BEFORE else []
        if order.outcome is _O.PENDING:
            answers.append(self._tell.report(order, "A", ((39, "A"),)))
        answers.append(self._tell.report(order, "0"))
        answers += [_DROP] if order.outcome is _O.DROP_AFTER else []
        answers += first_steps(order, self._tell)
        if order.outcome not in _RESTING:
            answers += self._trade_at_market(order)
        return answers

    def _trade_at_market(self, order: Order) -> list[Reply]:
        price = self._price(order)
        if price is None:
            immediate = order.tif in _IMMEDIATE
            return [self._tell.ended(order, "4", ((58, "not marketable"),))] if immediate else []
        if order.outcome is _O.PARTIAL and order.qty > 1 and order.tif != "4":
            return [
                self._tell.trade(order, order.qty // 2, price),
                Reply(fields=(), later=LATER),
            ]
        stopped = [self._tell.ended(order, "7")] if order.outcome is _O.STOP else []
        traded = [*stopped, self._tell.trade(order, order.qty, price)]
        if order.outcome is _O.REPEAT:
            traded.append(traded[-1])
        return traded + ([Reply(fields=(), later=LATER)] if order.outcome in _UNDOING else [])

    def finish(self, cl_ord_id: str) -> list[Reply]:
        """Return the delayed rest of a partial fill, bust or correction, if still due."""
        order = self.orders[cl_ord_id]
        if order.outcome in _UNDOING:
            undo = self._tell.bust if order.outcome is _O.BUST else self._tell.correct
            return self._say(order, [undo(order)] if order.trades else [])
        return self._trade_rest(order)

    def _trade_rest(self, order: Order) -> list[Reply]:
        price = self._price(order) if order.is_live and order.status not in HALTED else None
        if price is None or order.outcome in _RESTING:
            return []
        return self._say(order, [self._tell.trade(order, order.leaves, price)])

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

    def _change(self, fields: Mapping[int, str]) -> list[Reply]:
        """Answer a request to cancel (F) or to replace (G), in the manner that is in force."""
        replaces = fields[35] == "G"
        manner = self.replaces if replaces else self.cancels
        order = self.orders.get(fields[41])
        if manner is Manner.IGNORE:
            return []
        late = self._break_silence(order) if order else []
        if order is not None and order.is_live and manner is Manner.FILL:
            late.append(self._tell.trade(order, order.qty - order.cum, order.limit))
        if order is None or not order.is_live or manner is Manner.REJECT:
            return [*late, refused(fields, order, _UNKNOWN if order is None else _TOO_LATE)]
        named = ((11, fields[11]), (41, fields[41]))
        if manner is Manner.PENDING:
            pending = "E" if replaces else "6"
            late.append(self._tell.report(order, pending, ((39, pending), *named)))
        if replaces:
            return [*late, *self._replaced(order, fields)]
        return [*late, self._tell.ended(order, "4", ((11, fields[11]), (41, order.cl_ord_id)))]

    def _replaced(self, order: Order, fields: Mapping[int, str]) -> list[Reply]:
        qty = int(Decimal(fields[38]))
        if qty <= order.cum or fields[11] in self._known:
            return [refused(fields, order, _TOO_LATE if qty <= order.cum else "6")]
        order.qty, order.limit = qty, Decimal(fields.get(44, f"{order.limit:f}"))
        order.tif, order.cl_ord_id = fields.get(59, order.tif), fields[11]
        self._known.add(order.cl_ord_id)
        self.orders[order.cl_ord_id] = order
        replaced = self._tell.report(order, "5", ((41, fields[41]),))
        return [replaced, *self._trade_rest(order)]

    def _mass_cancel(self, fields: Mapping[int, str]) -> list[Reply]:
        live = [order for order in self._each() if order.is_live]
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
            answers.append(self._tell.ended(order, "4"))
        return answers

    def _status(self, fields: Mapping[int, str]) -> list[Reply]:
        order = self.orders.get(fields[11])
        if order is None:
            return [not_known(fields)]
        return [*self._break_silence(order), self._tell.report(order, "I")]

    def _mass_status(self, fields: Mapping[int, str]) -> list[Reply]:
        answers: list[Reply] = []
        chosen = [order for order in self._each() if order.is_live or order.held]
        for number, order in enumerate(chosen, start=1):
            last = ((912, "Y"),) if number == len(chosen) else ()
            extra = ((584, fields[584]), (911, str(len(chosen))), *last)
            answers += [*self._break_silence(order), self._tell.report(order, "I", extra)]
        return answers or [none_found(fields)]
