"""What the engine adds to GJR: the orders that differ beyond the no-trade band, and what they made.

Beside an account stands an imagined one, of the difference. At each decision of the strategy it
holds the engine's target exposure less that of the GJR twin, where the two differ by at least the
policy's no-trade band, and nothing otherwise. It trades at the touch of the decision's quote, pays
the paper broker's fee, and holds until the next decision on the instrument.

Rules:
- Everything is read from records, in integers; the same log gives the same answer.
- A decision without a GJR twin is counted, with the reason, and not compared.
- The interval resamples days in blocks, because a forecast's horizon overlaps the next one's, and
  all instruments of a day together. With too few days or orders there is none, and it is said.

Not here: what the target adds to its table (the placebo twin), what words did (the news twin).
"""

import json
from collections import Counter
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

from audit.records.kinds import Kind
from audit.records.record import Record
from audit.store.reader import LedgerReader
from gateway.walk.journal.control.adjustment import BookAdjusted
from gateway.walk.journal.decision import DecisionSealed, GjrMade, SizedBeside
from gateway.walk.journal.run import MarkTaken, PolicyActivated, RunStarted
from gateway.walk.sampled.placebo import FEE_BP
from risk.forms.documents import value_of
from risk.policy.policy import policy_from_document
from risk.sizing import BP, SizingBasis, SizingReason
from risk.state.instrument import Instrument

ADDS_KINDS: Final = (
    Kind.RUN_STARTED,
    Kind.POLICY_ACTIVATED,
    Kind.GJR_MADE,
    Kind.GJR_JUDGED,
    Kind.INTENT_PROPOSED,
    Kind.MARK_TAKEN,
    Kind.BOOK_ADJUSTED,
    Kind.DECISION_SEALED,
)
BLOCK_DAYS: Final = 10
"""Days in one drawn block: as long as the shipped horizon in daily bars."""
DRAWS: Final = 1_000
DAYS_MIN: Final = 60
DIFFERING_MIN: Final = 20
_AIMED: Final = frozenset(
    {
        SizingReason.ORDER,
        SizingReason.ORDER_CAPPED_AT_STEP,
        SizingReason.INSIDE_NO_TRADE_BAND,
        SizingReason.LESS_THAN_SMALLEST_ORDER,
    }
)
"""Sizings that have a target to compare."""
_LOW, _HIGH = DRAWS // 20, DRAWS - DRAWS // 20 - 1
_DAY_US: Final = 86_400_000_000


@dataclass(slots=True, kw_only=True)
class DifferingDecision:
    """One decision whose target differs beyond the band; lots and exposures are signed.

    Attributes:
        held_lots: What the account of the difference holds until the next decision.
        gross_minor, cost_minor: Its gain since the quote at mid, and what trading into it cost.
    """

    decision_id: str
    seq: int
    instrument: str
    quoted_us: int
    band_bp: int
    engine_bp: int
    gjr_bp: int
    engine_lots: int
    gjr_lots: int
    held_lots: int
    gross_minor: int = 0
    cost_minor: int = 0
    fate: str = "open"

    def document(self) -> dict[str, Any]:
        """Return it for the API and the command line."""
        names = self.__slots__
        return {name: getattr(self, name) for name in names} | {
            "pnl_minor": self.gross_minor - self.cost_minor
        }


@dataclass(slots=True)
class _Held:
    """What the account of the difference holds of one instrument since its last decision."""

    lots: int = 0
    twice_mid: int = 0
    unit_minor: int = 0
    day: int = 0
    of: DifferingDecision | None = None


@dataclass(slots=True)
class EngineAdds:
    """Folds the records of `ADDS_KINDS` in order, for one account."""

    account: str
    compared: int = 0
    without: Counter[str] = field(default_factory=Counter)
    differing: list[DifferingDecision] = field(default_factory=list)
    engine_orders: int = 0
    gjr_orders: int = 0
    closed_minor: int = 0
    """Costs of leaving a difference that no longer exceeds the band."""
    _days: dict[int, int] = field(default_factory=dict)
    _band_bp: int = 0
    _units: dict[str, int] = field(default_factory=dict)
    _reasons: dict[str, str] = field(default_factory=dict)
    _judged: dict[str, SizedBeside] = field(default_factory=dict)
    _held: dict[str, _Held] = field(default_factory=dict)
    _of: dict[str, DifferingDecision] = field(default_factory=dict)

    def take(self, record: Record) -> None:
        """Read one record.

        Raises:
            ValueError: it does not read.
        """
        match record.kind:
            case Kind.RUN_STARTED:
                run = RunStarted.of(record)
                listed = [value_of(Instrument, one) for one in run.instruments]
                self._units |= {one.symbol: one.unit_minor for one in listed}
            case Kind.POLICY_ACTIVATED:
                policy = policy_from_document(PolicyActivated.of(record).policy)
                self._band_bp = policy.sizing.no_trade_band.value
            case Kind.GJR_MADE:
                self._reasons[record.stream] = GjrMade.of(record).missing
            case Kind.GJR_JUDGED:
                judged = SizedBeside.of(record)
                if judged.account == self.account:
                    self._judged[record.stream] = judged
            case Kind.INTENT_PROPOSED:
                self._proposed(record)
            case Kind.MARK_TAKEN:
                self._marked(MarkTaken.of(record))
            case Kind.BOOK_ADJUSTED:
                self._split(BookAdjusted.of(record))
            case Kind.DECISION_SEALED if record.stream in self._of:
                self._of[record.stream].fate = DecisionSealed.of(record).outcome
            case _:
                pass

    @property
    def gross_minor(self) -> int:
        """What the differences gained at mid."""
        return sum(one.gross_minor for one in self.differing)

    @property
    def cost_minor(self) -> int:
        """What trading into and out of them cost."""
        return self.closed_minor + sum(one.cost_minor for one in self.differing)

    @property
    def interval_minor(self) -> tuple[int, int] | None:
        """The 90 % interval of the sum after costs; None where there are too few."""
        if len(self._days) < DAYS_MIN or len(self.differing) < DIFFERING_MIN:
            return None
        return interval([self._days[day] for day in sorted(self._days)])

    def document(self) -> dict[str, Any]:
        """Return all figures for the API and the command line; money in minor units."""
        interval_minor = self.interval_minor
        return {
            "account": self.account,
            "compared": self.compared,
            "without_twin": dict(sorted(self.without.items())),
            "differing": len(self.differing),
            "engine_orders": self.engine_orders,
            "gjr_orders": self.gjr_orders,
            "fates": dict(sorted(Counter(one.fate for one in self.differing).items())),
            "gross_minor": self.gross_minor,
            "cost_minor": self.cost_minor,
            "pnl_minor": self.gross_minor - self.cost_minor,
            "days": len(self._days),
            "interval_minor": None if interval_minor is None else list(interval_minor),
            "few": self.few,
            "lines": [self._line(name) for name in sorted({o.instrument for o in self.differing})],
            "orders": [one.document() for one in self.differing],
        }

    @property
    def few(self) -> str:
        """Why there is no interval; empty where there is one."""
        if self.interval_minor is not None:
            return ""
        return (
            f"too few for an interval: {len(self._days)} days and {len(self.differing)} differing"
            f" decisions; at least {DAYS_MIN} and {DIFFERING_MIN} are needed"
        )

    def _line(self, instrument: str) -> dict[str, Any]:
        ours = [one for one in self.differing if one.instrument == instrument]
        return {
            "instrument": instrument,
            "differing": len(ours),
            "engine_more": sum(one.held_lots > 0 for one in ours),
            "gross_minor": sum(one.gross_minor for one in ours),
            "cost_minor": sum(one.cost_minor for one in ours),
        }

    def _proposed(self, record: Record) -> None:
        own = SizedBeside.of(record)
        sizing = own.sizing
        if own.account != self.account or own.quote is not None or sizing is None:
            return
        if sizing["basis"] != SizingBasis.VOLATILITY:
            return  # an agent's wish: no forecast moves it
        twin = self._judged.pop(record.stream, None)
        if twin is None or twin.sizing is None or twin.quote is None:
            self.without[self._reasons.get(record.stream) or "not_on_record"] += 1
            return
        without = {sizing["reason"], twin.sizing["reason"]} - _AIMED
        if without:
            self.without[min(without).lower()] += 1
            return
        self.compared += 1
        self._compare(record, sizing, twin.sizing, twin.quote)

    def _compare(
        self, record: Record, own: dict[str, Any], twin: dict[str, Any], quote: dict[str, Any]
    ) -> None:
        name = own["instrument"]
        unit, twice_mid = self._units[name], quote["bid_ticks"] + quote["ask_ticks"]
        moved_bp = own["target_exposure_bp"] - twin["target_exposure_bp"]
        lots = 0
        if abs(moved_bp) >= self._band_bp and twice_mid > 0:
            lots = _toward_zero(2 * moved_bp * own["equity_minor"], BP * twice_mid * unit)
        held = self._held.setdefault(name, _Held())
        self._value(held, twice_mid)
        traded = abs(lots - held.lots)
        spread = quote["ask_ticks"] - quote["bid_ticks"]
        cost = traded * unit * spread // 2 + traded * unit * twice_mid * FEE_BP // (2 * BP)
        day = quote["time_us"] // _DAY_US
        self._days[day] = self._days.get(day, 0) - cost
        held.lots, held.twice_mid, held.unit_minor, held.day = lots, twice_mid, unit, day
        held.of = None
        if not lots:
            self.closed_minor += cost
            return
        self.engine_orders += own["delta_qty"] != 0
        self.gjr_orders += twin["delta_qty"] != 0
        held.of = DifferingDecision(
            decision_id=record.stream.removeprefix("decision/"),
            seq=record.seq,
            instrument=name,
            quoted_us=quote["time_us"],
            band_bp=self._band_bp,
            engine_bp=own["target_exposure_bp"],
            gjr_bp=twin["target_exposure_bp"],
            engine_lots=own["delta_qty"],
            gjr_lots=twin["delta_qty"],
            held_lots=lots,
            cost_minor=cost,
        )
        self.differing.append(held.of)
        self._of[record.stream] = held.of

    def _marked(self, mark: MarkTaken) -> None:
        held = self._held.get(mark.instrument)
        if held is not None and mark.account == self.account:
            self._value(held, 2 * mark.price_ticks)

    def _split(self, done: BookAdjusted) -> None:
        held = self._held.get(done.instrument)
        if held is not None and done.split is not None and done.account == self.account:
            new, old = done.split
            held.lots, held.twice_mid = held.lots * new // old, held.twice_mid * old // new

    def _value(self, held: _Held, twice_price: int) -> None:
        """Book what has been gained since the last valuation to the decision that holds it."""
        if held.of is not None:
            gained = held.lots * held.unit_minor * (twice_price - held.twice_mid)
            whole = _toward_zero(gained, 2)
            held.of.gross_minor += whole
            self._days[held.day] += whole
        held.twice_mid = twice_price


def engine_adds(reader: LedgerReader, account: str = "") -> EngineAdds:
    """Return what the engine adds in an account; by default in that of the newest run."""
    if not account:
        newest = reader.records(
            stream="control", kinds=(Kind.RUN_STARTED,), limit=1, newest_first=True
        )
        account = next((RunStarted.of(one).account for one in newest), "")
    found = EngineAdds(account)
    for record in reader.records(kinds=ADDS_KINDS):
        found.take(record)
    return found


def interval(days: list[int]) -> tuple[int, int]:
    """Return the 90 % interval of the sum of days, by a circular block bootstrap.

    The blocks are drawn by SHA-256 of a counter, so everybody draws the same ones.
    """
    n = len(days)
    sums = [0]
    for value in (*days, *days):
        sums.append(sums[-1] + value)
    totals = []
    for draw in range(DRAWS):
        total, left, block = 0, n, 0
        while left:
            digest = sha256(b"countersign/engine-adds/1 %d %d" % (draw, block)).digest()
            start, length = int.from_bytes(digest[:8]) % n, min(BLOCK_DAYS, left)
            total += sums[start + length] - sums[start]
            left, block = left - length, block + 1
        totals.append(total)
    totals.sort()
    return totals[_LOW], totals[_HIGH]


def adds_json(found: EngineAdds) -> str:
    """Return the answer for a script."""
    return json.dumps(found.document(), indent=2)


def adds_text(found: EngineAdds) -> str:
    """Return the answer for a person."""
    said = found.document()
    if not found.compared:
        reasons = ", ".join(f"{n} {why}" for why, n in said["without_twin"].items()) or "none"
        return f"no decision of {found.account} has a GJR twin (decisions without: {reasons})"
    money = {name: _money(said[f"{name}_minor"]) for name in ("gross", "cost", "pnl")}
    lines = [
        f"account {found.account}: {found.compared} decisions beside their GJR twin",
        f"{len(found.differing)} have a target that differs by the no-trade band or more:",
        f"  the engine made {found.engine_orders} orders, GJR would have made {found.gjr_orders}",
        f"  the difference gained {money['gross']} and cost {money['cost']}:",
        f"  {money['pnl']} after costs, over {said['days']} days",
    ]
    found_interval = found.interval_minor
    if found_interval is None:
        lines.append(found.few)
    else:
        low, high = found_interval
        lines.append(f"90 % interval by blocks of days: {_money(low)} to {_money(high)}")
    lines.append("one path over part of one year is no evidence of skill")
    if said["differing"]:
        lines.append("decision  instrument  engine, bp  GJR, bp  held lots  after costs  fate")
    lines += [
        f"{one.decision_id}  {one.instrument}  {one.engine_bp}  {one.gjr_bp}  {one.held_lots}"
        f"  {_money(one.gross_minor - one.cost_minor)}  {one.fate}"
        for one in found.differing
    ]
    return "\n".join(lines)


def print_adds(reader: LedgerReader, account: str, *, as_json: bool) -> str:
    """Return what the command prints."""
    found = engine_adds(reader, account)
    return adds_json(found) if as_json else adds_text(found)


def _money(minor: int) -> str:
    sign = "-" if minor < 0 else ""
    return f"{sign}{abs(minor) // 100:,}.{abs(minor) % 100:02d}"


def _toward_zero(part: int, whole: int) -> int:
    return part // whole if part >= 0 else -(-part // whole)
