"""The account against its GJR twin: the difference of the two books, in three columns.

The columns are those of `FourBooks`: scale, words, execution. Beside them stand the decisions whose
target differs from the GJR twin's by the policy's no-trade band or more, and which column each is
of.

Rules:
- Everything is read from records, in integers; the same log gives the same answer.
- A decision without a GJR twin is counted, with the reason, and not compared.
- A decision that was refused, that no broker traded or that had no forecast is counted by its end;
  it adds nothing to scale and words but what both twins did.
- An interval resamples days in blocks, because a forecast's horizon overlaps the next one's, and
  all instruments of a day together, so that the decisions of one forecast are no evidence apart.
  With too few days there is none, and it is said.

Not here: what words did to one decision (the news twin).
"""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from heapq import merge
from typing import Any, Final

from audit.records.kinds import Kind
from audit.records.record import Record
from audit.store.reader import LedgerReader
from gateway.walk.journal.decision import DecisionSealed, ForecastTaken, GjrMade, SizedBeside
from gateway.walk.journal.run import PolicyActivated, RunStarted
from gateway.walk.sampled.four_books import COLUMN_KINDS, AddedParts, FourBooks, traded_lots
from risk.forms.documents import value_of
from risk.forms.money import HUNDREDTHS, grouped_money, minor_digits
from risk.policy.policy import SizingPolicy, policy_from_document
from risk.sizing import SizingBasis, SizingReason
from risk.state.instrument import Instrument

WISH: Final = "asked_for_by_an_agent"
"""Why an agent's order is not compared: it has the size that was asked for."""
TITLE: Final = "The account against its GJR twin: scale, words, execution"
MEANS: Final = {
    "scale": "the table twin less the GJR twin: the fitted scale and the table's law of moves",
    "words": "the target as simulated less the table twin: what the target adds to its table",
    "execution": "the account less the target as simulated: rules, people, prices, fees",
}
"""What each column is, for people; in the order of `AddedParts`."""
ADDS_KINDS: Final = (
    Kind.RUN_STARTED,
    Kind.POLICY_ACTIVATED,
    Kind.GJR_MADE,
    Kind.DECISION_SEALED,
)
"""What is read of every account; of the asked one also `COLUMN_KINDS` and its decisions."""
_OWN_KINDS: Final = tuple(dict.fromkeys((*COLUMN_KINDS, Kind.FORECAST_TAKEN, Kind.INTENT_PROPOSED)))
_TRADE_KINDS: Final = (Kind.ORDER_REPORTED, Kind.DIFFERENCE_RESOLVED)
BLOCK_DAYS: Final = 10
"""Days in one drawn block: as long as the shipped horizon in daily bars."""
DRAWS: Final = 1_000
DAYS_MIN: Final = 60
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


@dataclass(slots=True, kw_only=True)
class DifferingDecision:
    """One decision whose target differs from GJR's beyond the band; lots and exposures are signed.

    Attributes:
        fate: How it ended.
        counts: Whether its order traded, or it wanted none; else it adds nothing to words.
    """

    decision_id: str
    seq: int
    instrument: str
    quoted_us: int
    band_bp: int
    engine_bp: int
    table_bp: int
    gjr_bp: int
    engine_lots: int
    table_lots: int
    gjr_lots: int
    counts: bool
    fate: str = "open"

    @property
    def of(self) -> list[str]:
        """The columns in which the targets differ by the band or more."""
        gaps = {"scale": self.table_bp - self.gjr_bp, "words": self.engine_bp - self.table_bp}
        return [name for name, gap in gaps.items() if abs(gap) >= self.band_bp]

    def document(self) -> dict[str, Any]:
        """Return it for the API and the command line."""
        return {name: getattr(self, name) for name in self.__slots__} | {"of": self.of}


@dataclass(slots=True)
class EngineAdds:
    """Folds the records of one account, and those of `ADDS_KINDS`, in ledger order."""

    columns: FourBooks
    compared: int = 0
    without: Counter[str] = field(default_factory=Counter)
    ends: dict[str, str] = field(default_factory=dict)
    """How each decision of the account ended, by stream."""
    differing: dict[str, DifferingDecision] = field(default_factory=dict)
    _policy: SizingPolicy | None = None
    _instruments: dict[str, Instrument] = field(default_factory=dict)
    _reasons: dict[str, str] = field(default_factory=dict)
    """Why a forecast has no GJR twin, by the forecast's stream; empty where it has one."""
    _taken: dict[str, str] = field(default_factory=dict)
    """The stream of each decision's first forecast."""
    _gjr: dict[str, SizedBeside] = field(default_factory=dict)

    @property
    def account(self) -> str:
        """The account's name."""
        return self.columns.account

    @property
    def digits(self) -> int:
        """Decimals of the book's money; every instrument of a book is in its currency."""
        listed = next(iter(self._instruments.values()), None)
        return HUNDREDTHS if listed is None else minor_digits(listed.currency)

    def take(self, record: Record) -> None:
        """Read one record.

        Raises:
            ValueError: it does not read.
        """
        match record.kind:
            case Kind.RUN_STARTED:
                listed = [value_of(Instrument, one) for one in RunStarted.of(record).instruments]
                self._instruments |= {one.symbol: one for one in listed}
            case Kind.POLICY_ACTIVATED:
                self._policy = policy_from_document(PolicyActivated.of(record).policy).sizing
            case Kind.GJR_MADE:
                self._reasons[record.stream] = GjrMade.of(record).missing
            case Kind.FORECAST_TAKEN:
                self.ends.setdefault(record.stream, "open")
                self._taken.setdefault(record.stream, ForecastTaken.of(record).named.stream)
            case Kind.DECISION_SEALED if record.stream in self.ends:
                self.ends[record.stream] = DecisionSealed.of(record).outcome
                if record.stream in self.differing:
                    self.differing[record.stream].fate = self.ends[record.stream]
            case Kind.DECISION_SEALED:
                pass  # another account's
            case Kind.INTENT_PROPOSED:
                self._proposed(record)
            case _:
                if record.kind is Kind.GJR_JUDGED:
                    self._gjr[record.stream] = SizedBeside.of(record)
                self.columns.take(record)

    @property
    def intervals_minor(self) -> dict[str, tuple[int, int]]:
        """The 90 % interval of each column and of their sum; empty where there are too few days."""
        days = [self.columns.days[day] for day in sorted(self.columns.days)]
        if len(days) < DAYS_MIN:
            return {}
        moves = [
            tuple(now - then for now, then in zip(day, before, strict=True))
            for before, day in zip((AddedParts(), *days), days, strict=False)
        ]
        named = {name: [move[at] for move in moves] for at, name in enumerate(AddedParts._fields)}
        named["difference"] = [sum(move) for move in moves]
        return {name: interval(values) for name, values in named.items()}

    def document(self) -> dict[str, Any]:
        """Return all figures for the API and the command line; money in minor units."""
        made, parts, intervals = self.columns.made_minor, self.columns.parts, self.intervals_minor
        orders = list(self.differing.values())
        return {
            "title": TITLE,
            "account": self.account,
            "compared": self.compared,
            "without_twin": dict(sorted(self.without.items())),
            "made_minor": made,
            "difference_minor": made["account"] - made["gjr"],
            "columns": [
                {
                    "name": name,
                    "means": MEANS[name],
                    "pnl_minor": pnl,
                    "interval_minor": _listed(intervals.get(name)),
                }
                for name, pnl in parts._asdict().items()
            ],
            "interval_minor": _listed(intervals.get("difference")),
            "days": len(self.columns.days),
            "few": self.few,
            "ends": dict(sorted(Counter(self.ends.values()).items())),
            "differing": len(orders),
            "differing_scale": sum("scale" in one.of for one in orders),
            "differing_words": sum("words" in one.of for one in orders),
            "not_counted": sum(not one.counts for one in orders),
            "orders": [one.document() for one in orders],
        }

    @property
    def few(self) -> str:
        """Why there is no interval; empty where there is one."""
        days = len(self.columns.days)
        if days >= DAYS_MIN:
            return ""
        return f"too few days for an interval: {days}; at least {DAYS_MIN} are needed"

    def _proposed(self, record: Record) -> None:
        own = SizedBeside.of(record)
        if own.quote is not None or own.sizing is None or self._policy is None:
            return  # a renewal stands for its first intent
        instrument = self._instruments[own.sizing["instrument"]]
        table = self.columns.propose(record.stream, own, self._policy, instrument)
        twin = self._gjr.pop(record.stream, None)
        if own.sizing["basis"] != SizingBasis.VOLATILITY:
            self.without[WISH] += 1
            return
        if table is None or twin is None or twin.sizing is None or table.sizing is None:
            forecast = self._taken.get(record.stream, "")
            self.without[self._reasons.get(forecast) or "not_on_record"] += 1
            return
        sizings = own.sizing, table.sizing, twin.sizing
        without = {one["reason"] for one in sizings} - _AIMED
        if without:
            self.without[min(without).lower()] += 1
            return
        self.compared += 1
        self._compare(record, own, sizings, twin.quote or {})

    def _compare(
        self,
        record: Record,
        own: SizedBeside,
        sizings: tuple[dict[str, Any], ...],
        quote: dict[str, Any],
    ) -> None:
        band = 0 if self._policy is None else self._policy.no_trade_band.value
        engine_bp, table_bp, gjr_bp = (one["target_exposure_bp"] for one in sizings)
        if abs(engine_bp - gjr_bp) < band:
            return
        engine_lots, table_lots, gjr_lots = (one["delta_qty"] for one in sizings)
        self.differing[record.stream] = DifferingDecision(
            decision_id=record.stream.removeprefix("decision/"),
            seq=record.seq,
            instrument=sizings[0]["instrument"],
            quoted_us=quote["time_us"],
            band_bp=band,
            engine_bp=engine_bp,
            table_bp=table_bp,
            gjr_bp=gjr_bp,
            engine_lots=engine_lots,
            table_lots=table_lots,
            gjr_lots=gjr_lots,
            counts=self.columns.counts(record.stream, own),
        )


def engine_adds(reader: LedgerReader, account: str = "") -> EngineAdds:
    """Return the columns of an account; by default of that of the newest run."""
    runs = [
        RunStarted.of(one) for one in reader.records(stream="control", kinds=(Kind.RUN_STARTED,))
    ]
    account = account or (runs[-1].account if runs else "")
    equity = next((one.equity_minor for one in runs if one.account == account), 0)
    traded = traded_lots(reader.records(account=account, kinds=_TRADE_KINDS))
    found = EngineAdds(FourBooks(account=account, equity_minor=equity, traded=traded))
    for record in _read(reader, account):
        found.take(record)
    return found


def _read(reader: LedgerReader, account: str) -> Iterator[Record]:
    """Yield what an account's answer rests on, in ledger order."""
    return merge(
        reader.records(kinds=ADDS_KINDS),
        reader.records(account=account, kinds=_OWN_KINDS),
        key=lambda record: record.seq,
    )


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
        return (
            f"no decision of {found.account} was sized by a forecast beside a GJR twin; not"
            f" compared: {reasons}"
        )
    money = partial(grouped_money, digits=found.digits)
    made = {name: money(minor) for name, minor in said["made_minor"].items()}
    lines = [
        TITLE,
        f"account {found.account}: {found.compared} decisions, {said['days']} days",
        f"  the account made {made['account']}, its GJR twin {made['gjr']}",
        f"  (table twin {made['table']}, target as simulated {made['simulated']})",
    ]
    whole = {"name": "difference", "pnl_minor": said["difference_minor"], **_SUM}
    for one in (*said["columns"], {**whole, "interval_minor": said["interval_minor"]}):
        lines.append(f"  {one['name']:<11}{money(one['pnl_minor']):>14}  {one['means']}")
        if one["interval_minor"]:
            low, high = map(money, one["interval_minor"])
            lines.append(f"{'':27}90 % interval by blocks of days: {low} to {high}")
    if said["few"]:
        lines.append(said["few"])
    lines += [
        "one path over part of one year is no evidence of skill",
        f"{said['differing']} targets differ from GJR's by the no-trade band or more:",
        f"  scale: the table's does too in {said['differing_scale']}",
        f"  words: the target differs from the table's in {said['differing_words']}",
        f"  {said['not_counted']} were refused or did not trade, and add nothing to words",
    ]
    if said["differing"]:
        lines.append("decision  instrument  engine, bp  table, bp  GJR, bp  of  fate")
    lines += [
        f"{one.decision_id}  {one.instrument}  {one.engine_bp}  {one.table_bp}  {one.gjr_bp}"
        f"  {'+'.join(one.of) or 'sum'}  {one.fate}{'' if one.counts else ' (not counted)'}"
        for one in found.differing.values()
    ]
    return "\n".join(lines)


_SUM: Final = {"means": "the account less its GJR twin: the three columns together"}


def print_adds(reader: LedgerReader, account: str, *, as_json: bool) -> str:
    """Return what the command prints."""
    found = engine_adds(reader, account)
    return adds_json(found) if as_json else adds_text(found)


def _listed(low_high: tuple[int, int] | None) -> list[int] | None:
    return None if low_high is None else list(low_high)
