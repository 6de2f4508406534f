"""The judge of the gateway campaign: the broker's capture against the ledger, round after round.

It shares no code with what it judges but the name of an order and the reading of a message. It
takes each line of the capture and each record once. Checks, named after the design's invariants:

    I1    every order on the wire has a committed `order_sending` that was made before, a
          replace its `replace_requested`
    I2    that record names one approving verdict, the name follows from its leaf, the fields are
          the announced ones; no name is on the wire twice, a decision has one name, a key one
          decision, and what a caller was told is "not sent" is not on the wire
    I3    after a kill's acknowledgement and until its release no new order left; at the end of the
          round nothing is alive at the broker
    I4    what a caller was told is on record is there, once; every report of the broker is, but
          those that it sent into a bad line and forgot with its numbers
    F1 F2 forecasts: see `gateway_forecasts`
    book  the account's lots are the sum of the broker's own trades, and each order's fills are its
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from audit.records.kinds import Kind
from audit.records.record import Record
from audit.store.reader import LedgerReader
from fix.simulator.control import read_capture
from fix.wire.identity import cl_ord_id
from fix.wire.messages import parse
from tests.crash.gateway_forecasts import KINDS as FORECASTS
from tests.crash.gateway_forecasts import ForecastJudge
from tests.crash.kill_judge import Seen, seen, sent_us
from tests.doubles.walk_oracle import ENGINE_FIELDS

_OWN, _NAME, _ORIG, _EXEC, _REF, _LAST = 11, 11, 41, 17, 19, 32
_TYPE, _POSS_DUP, _LEAVES, _SYMBOL, _SIDE, _WHAT = 35, 43, 151, 55, 54, 150
_NEVER_LEFT: Final = frozenset({"not_sent", "rejected", "no_trade", "no_forecast"})
_TRADES: Final = frozenset("FGH")
_READ: Final = (
    *FORECASTS,
    Kind.ORDER_SENDING,
    Kind.REPLACE_REQUESTED,
    Kind.FIX_INBOUND,
    Kind.BOOK_ADJUSTED,
)


class Trade(NamedTuple):
    """A trade of an order, or its bust (no lots) or correction, which name the trade they end."""

    report: tuple[str, ...]
    exec_id: str
    ref: str
    symbol: str
    lots: int


@dataclass(slots=True)
class Side:
    """What the broker's capture says so far."""

    left: Counter[str] = field(default_factory=Counter)
    orders: dict[str, tuple[int, int, str, bool]] = field(default_factory=dict)
    alive: dict[str, int] = field(default_factory=dict)
    trades: dict[str, list[Trade]] = field(default_factory=lambda: defaultdict(list))
    reports: dict[tuple[str, ...], int] = field(default_factory=dict)
    cancels: int = 0
    first: dict[str, str] = field(default_factory=dict)
    """The first name of an order, by each name that a replace gave it."""

    def named(self, name: str) -> str:
        """Return the name under which an order first left."""
        return self.first.get(name, name)


class Judge:
    """Keeps what was seen; `faults` says what is broken, each thing once."""

    def __init__(self, capture: Path) -> None:
        """Read nothing yet."""
        self._capture = capture
        self._lines = 0
        self._seq = -1
        self.side = Side()
        self.forecasts = ForecastJudge()
        self._sending: dict[str, Record] = {}
        self._replaces: dict[str, Record] = {}
        self._recorded: Counter[tuple[str, ...]] = Counter()
        self._judged: set[str] = set()
        self._kills: list[tuple[int, int]] = []
        self._acked = 0
        self._fees: Counter[str] = Counter()
        self._decisions: dict[str, set[str]] = defaultdict(set)
        self._unsent: set[str] = set()
        self._told: set[str] = set()
        self._records: dict[int, str] = {}
        self._booked: set[str] = set()
        self.unheard = 0
        """Orders with a trade, bust or correction that the broker forgot and never told again."""
        self._forgot: list[tuple[int, int]] = []

    @property
    def orders(self) -> int:
        """How many new orders the broker received."""
        return sum(self.side.left.values())

    def acknowledged(self, wall_us: int) -> None:
        """Note that a caller knows of a kill since this time."""
        self._acked = self._acked or wall_us

    def releasing(self, wall_us: int) -> None:
        """Note that a release is asked for now."""
        if self._acked:
            self._kills.append((self._acked, wall_us))
        self._acked = 0

    def forgotten(self, since_us: int, until_us: int) -> None:
        """Note that the broker lost its numbers, and with them what it sent in this time."""
        self._forgot.append((since_us, until_us))

    def heard(self, answers: dict[str, list[dict[str, Any]]], fees: set[str]) -> None:
        """Note what callers were told about their intents, and which fees are booked."""
        self._booked |= fees
        for key, told in answers.items():
            for one in told:
                if one.get("record_seq") is not None:
                    self._records[int(one["record_seq"])] = str(one["record_leaf"])
                decision = str(one.get("decision_id") or "")
                if decision:
                    self._decisions[key].add(decision)
                if one.get("result") in _NEVER_LEFT and decision:
                    self._unsent.add(decision)

    def read(self, reader: LedgerReader) -> None:
        """Read the rest of the capture, then the rest of the ledger."""
        for number, message in enumerate(read_capture(self._capture)):
            if number < self._lines:
                continue
            self._lines = number + 1
            self._take(seen(message.wall_us, message.direction, message.raw), message.raw)
        for record in reader.records(kinds=_READ, after_seq=self._seq):
            self._seq = max(self._seq, record.seq)
            self.forecasts.read(record)
            match record.kind:
                case Kind.ORDER_SENDING:
                    self._sending[str(record.body["cl_ord_id"])] = record
                case Kind.REPLACE_REQUESTED:
                    self._replaces[cl_ord_id(record.leaf)] = record
                case Kind.FIX_INBOUND if record.body["msg_type"] == "8":
                    self._recorded[_identity(str(record.body["raw"]))] += 1
                case Kind.BOOK_ADJUSTED:
                    self._fees[str(record.body["ref"])] += 1
                case _:
                    pass

    def faults(self, reader: LedgerReader) -> list[str]:
        """Return what is broken and was not told before."""
        found = [*self._order_faults(reader), *self._caller_faults(), *self.forecasts.faults]
        found += [f"I4: fee {ref} is not on record" for ref in self._booked - {*self._fees}]
        for seq, leaf in self._records.items():
            record = reader.record(seq)
            if record is None or record.leaf.hex() != leaf:
                found.append(f"I4: record {seq}, which a caller was shown, is gone or another")
        self._records.clear()
        found += [
            f"book: adjustment {ref} on record {n} times" for ref, n in self._once(self._fees)
        ]
        return self._fresh(found)

    def settled_faults(self, lots: dict[str, int], booked: dict[str, int]) -> list[str]:
        """Return what is broken once the session is reconciled and the inbox settled."""
        forgot = {one for one, at_us in self.side.reports.items() if self._is_forgotten(one, at_us)}
        found = [
            f"I4: report {' '.join(one)} is not on record"
            for one in self.side.reports
            if one not in self._recorded and one not in forgot
        ]
        mine: Counter[str] = Counter()
        self.unheard = 0
        for name in sorted({*booked, *self.side.trades}):
            trades = self.side.trades.get(name, [])
            has, whole = booked.get(name, 0), _folded(trades)
            self.unheard += any(one.report in forgot for one in trades)
            if has != abs(whole):
                found.append(f"book: order {name} has {has} lots, at the broker {abs(whole)}")
            if trades:
                mine[trades[0].symbol] += whole
        return found + [
            f"book: {lots.get(symbol, 0)} lots of {symbol}, the broker's trades make {mine[symbol]}"
            for symbol in sorted({*lots, *mine})
            if lots.get(symbol, 0) != mine[symbol]
        ]

    def _is_forgotten(self, report: tuple[str, ...], at_us: int) -> bool:
        times = self._forgot
        return report not in self._recorded and any(a <= at_us <= b for a, b in times)

    def tell(self, faults: Iterable[str]) -> list[str]:
        """Return those of the faults that were not told before."""
        return self._fresh(faults)

    def knows(self, fault: str) -> bool:
        """Return whether this was told before."""
        return fault in self._told

    def _fresh(self, faults: Iterable[str]) -> list[str]:
        fresh = [one for one in faults if one not in self._told]
        self._told.update(fresh)
        return fresh

    @staticmethod
    def _once(counted: Counter[str]) -> list[tuple[str, int]]:
        return [(name, n) for name, n in counted.items() if n > 1]

    def _take(self, one: Seen, raw: str) -> None:
        side, fields = self.side, one.fields
        kind = fields.get(_TYPE)
        if one.direction == "in":
            if kind in {"F", "q"}:
                side.cancels += 1
            if kind in {"D", "G"}:
                name = fields[_OWN]
                side.left[name] += 1
                again = fields.get(_POSS_DUP) == "Y"
                side.orders.setdefault(name, (one.wall_us, sent_us(one), raw, again))
                if kind == "G":
                    side.first[name] = side.named(fields[_ORIG])
            return
        if kind != "8" or fields.get(_POSS_DUP) == "Y":
            return
        side.reports.setdefault(_identity(raw), one.wall_us)
        name = side.named(fields.get(_ORIG) or fields.get(_NAME, ""))
        if not name:  # the answer to a mass status request without orders
            return
        if any(digit in "123456789" for digit in fields.get(_LEAVES, "0")):
            side.alive.setdefault(name, one.wall_us)
        else:
            side.alive.pop(name, None)
        self._trade(raw, name, fields)

    def _trade(self, raw: str, name: str, fields: dict[int, str]) -> None:
        what, trades = fields.get(_WHAT, ""), self.side.trades[name]
        if what not in _TRADES or any(one.exec_id == fields[_EXEC] for one in trades):
            return
        sign = 1 if fields.get(_SIDE) == "1" else -1
        lots = 0 if what == "H" else sign * int(fields[_LAST])
        ref = "" if what == "F" else fields.get(_REF, "")
        trades.append(Trade(_identity(raw), fields[_EXEC], ref, fields.get(_SYMBOL, ""), lots))

    def _order_faults(self, reader: LedgerReader) -> list[str]:
        found = [f"I2: order {name} left {n} times" for name, n in self._once(self.side.left)]
        for name, (received_us, left_us, raw, again) in self.side.orders.items():
            if name in self._judged:
                continue
            self._judged.add(name)
            if again:
                found.append(f"I2: order {name} left marked as sent again (43=Y)")
            found += self._after_kill(name, left_us)
            record = self._sending.get(name) or self._replaces.get(name)
            if record is None:
                found.append(f"I1: order {name} left without a record")
                continue
            if record.recorded_at_us > received_us:
                found.append(f"I1: order {name} was received before its record was made")
            if record.kind is Kind.REPLACE_REQUESTED:
                found += _replace_faults(name, record, raw)
            else:
                found += self._approval_faults(name, record, raw, reader)
        names = Counter(record.stream for record in self._sending.values())
        found += [f"I2: {stream} announced {n} orders" for stream, n in self._once(names)]
        return found

    def _after_kill(self, name: str, left_us: int) -> list[str]:
        open_kill = [(self._acked, 1 << 62)] if self._acked else []
        return [
            f"I3: order {name} left {(left_us - since) // 1000} ms after a kill's acknowledgement"
            for since, until in (*self._kills, *open_kill)
            if since < left_us < until
        ]

    @staticmethod
    def _approval_faults(name: str, record: Record, raw: str, reader: LedgerReader) -> list[str]:
        approving = reader.record(record.body["approving_seq"])
        if approving is None or approving.kind is not Kind.VERDICT_GIVEN:
            return [f"I2: order {name} names no verdict"]
        found = []
        if cl_ord_id(approving.leaf) != name or approving.body["result"] != "approved":
            found.append(f"I2: order {name} does not follow from its approving record")
        told = [(int(t), v) for t, v in record.body["fields"] if t not in ENGINE_FIELDS]
        wire = [(tag, text) for tag, text in parse(raw) if tag not in ENGINE_FIELDS]
        if sorted(told) != sorted(wire):
            found.append(f"I2: order {name} left with other fields than announced")
        return found

    def _caller_faults(self) -> list[str]:
        left = {self._sending[name].stream for name in self.side.left if name in self._sending}
        found = [
            f"I2: key {key} made {len(made)} decisions: {', '.join(sorted(made))}"
            for key, made in self._decisions.items()
            if len(made) > 1
        ]
        return found + [
            f"I2: {one} was told as not sent and left"
            for one in self._unsent
            if f"decision/{one}" in left
        ]


def _replace_faults(name: str, record: Record, raw: str) -> list[str]:
    """Return where a replace on the wire is not the one on record."""
    told, wire = record.body["after"], dict(parse(raw))
    asked = (record.body["orig_cl_ord_id"], told["quantity"], told["price"])
    if (wire.get(_ORIG), wire.get(38), wire.get(44)) != asked:
        return [f"I2: replace {name} left with other terms than asked for"]
    return []


def _folded(trades: Iterable[Trade]) -> int:
    """Return the lots that the trades make, signed."""
    lots: dict[str, int] = {}
    for one in trades:
        lots.pop(one.ref, None)
        lots[one.exec_id] = one.lots
    return sum(lots.values())


def _identity(raw: str) -> tuple[str, ...]:
    """Return what identifies a report: order, execution, type, status, total."""
    fields = dict(parse(raw))
    return tuple(fields.get(tag, "") for tag in (_NAME, _EXEC, _WHAT, 39, 14))
