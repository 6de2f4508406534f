"""Records to the cases of a window: first verdicts, forecasts, outcomes, trades, reference data.

A record's day is that of the last market opening of its account, as in the statement; of any
account before that; before any opening it is the UTC date on which it was recorded.

Rules:
- Only records count, so whoever has the log gathers the same cases.
- A decision's forecast is the one that it took; several decisions may rest on one.
- `size` is one more than the last record that any case rests on: later records change nothing
  below it, and nobody chooses it.
- What clients were allotted of an order counts once the order's instrument closed after its last
  trade; the close is that of the order's account.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from audit.records.kinds import Kind
from audit.records.record import Record
from gateway.clock import date_of
from gateway.evidence.decisions import PREFIX
from gateway.walk.journal.control.groups.allocation import OrderAllocated
from gateway.walk.journal.decision import ForecastTaken
from gateway.walk.journal.forecast import ForecastMade
from gateway.walk.journal.order import OrderReported, OrderSending
from gateway.walk.journal.run import InstrumentListed, MarkTaken, RunStarted
from gateway.walk.journal.verdict import VerdictGiven
from risk.intent import Side
from risk.verdict import Action
from risk.windows.allocation import Allotted, gain_bp
from risk.windows.fairness.window import WindowCase
from risk.windows.together import AgentOrder

WINDOW_KINDS: Final = (
    Kind.RUN_STARTED,
    Kind.INSTRUMENT_LISTED,
    Kind.MARK_TAKEN,
    Kind.FORECAST_MADE,
    Kind.FORECAST_TAKEN,
    Kind.VERDICT_GIVEN,
    Kind.ORDER_SENDING,
    Kind.ORDER_REPORTED,
    Kind.ORDER_ALLOCATED,
)
ABSENT: Final = {
    "region": "the table of instruments names no region",
    "sector": "the table of instruments names no sector",
    "client": "an intent has no client of its own: W8 compares what clients were allotted",
}
_ONE: Final = 100_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class GatheredWindow:
    """The cases of a window with their splits and orders, and the size that they rest on; or 0."""

    cases: tuple[WindowCase, ...]
    allotted: tuple[Allotted, ...]
    placed: tuple[AgentOrder, ...]
    size: int


@dataclass(slots=True, kw_only=True)
class _Found:
    """One decision as far as records tell."""

    given: VerdictGiven
    day: str
    listed: Mapping[str, str]
    seq: int
    forecast: Mapping[str, Any] | None
    forecast_seq: int | None
    filled: bool = False
    base: int = 0
    closes: dict[int, int] = field(default_factory=dict)
    trades: dict[int, tuple[int, int]] = field(default_factory=dict)
    parts: Mapping[str, int] = field(default_factory=dict)
    split_seq: int = 0
    close: int = 0
    sent_us: int = 0
    sent_seq: int = 0

    @property
    def is_split(self) -> bool:
        """Whether clients have parts of what traded, and its worth is known."""
        return bool(self.parts and self.close and any(lots for lots, _ in self.trades.values()))

    @property
    def last_seq(self) -> int:
        """The last record that its case rests on, with its split and its announcement."""
        return max(self.seq, self.split_seq if self.is_split else 0, self.sent_seq)

    @property
    def as_of_us(self) -> int:
        """When the forecast was made."""
        return 0 if self.forecast is None else int(self.forecast["as_of_us"])

    @property
    def horizon(self) -> int:
        """After how many closes it can be judged."""
        return 0 if self.forecast is None else int(self.forecast["horizon"])


@dataclass(slots=True)
class _Gathering:
    first: str
    last: str
    listed: dict[str, dict[str, str]] = field(default_factory=dict)
    days: dict[str, str] = field(default_factory=dict)
    forecasts: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    taken: dict[str, int] = field(default_factory=dict)
    closes: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    waiting: dict[tuple[str, str], list[_Found]] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    found: dict[str, _Found] = field(default_factory=dict)
    trading: dict[tuple[str, str], list[_Found]] = field(default_factory=dict)

    def take(self, record: Record) -> None:
        match record.kind:
            case Kind.RUN_STARTED:
                for one in RunStarted.of(record).instruments:
                    self._list(one, {})
            case Kind.INSTRUMENT_LISTED:
                listed = InstrumentListed.of(record)
                self._list(listed.instrument, listed.reference)
            case Kind.MARK_TAKEN:
                self._mark(record, MarkTaken.of(record))
            case Kind.FORECAST_MADE | Kind.FORECAST_TAKEN:
                self._forecast(record)
            case Kind.VERDICT_GIVEN if record.stream not in self.seen:
                self.seen.add(record.stream)
                self._judged(record, VerdictGiven.of(record))
            case Kind.ORDER_SENDING | Kind.ORDER_REPORTED if record.stream in self.found:
                self._ordered(record)
            case Kind.ORDER_ALLOCATED:
                split = OrderAllocated.of(record)
                if (own := self.found.get(PREFIX + split.decision_id)) is not None:
                    own.parts, own.split_seq = split.parts, max(own.split_seq, record.seq)
            case _:
                pass

    def _forecast(self, record: Record) -> None:
        """Keep a forecast by its number, and which one a decision names."""
        if record.kind == Kind.FORECAST_MADE:
            self.forecasts[record.seq] = ForecastMade.of(record).forecast
        elif (seq := ForecastTaken.of(record).of_seq) is not None:
            self.taken[record.stream] = seq

    def _ordered(self, record: Record) -> None:
        found = self.found[record.stream]
        if record.kind == Kind.ORDER_SENDING:
            found.sent_us, found.sent_seq = OrderSending.of(record).market_now_us, record.seq
            return
        report = OrderReported.of(record)
        if report.is_trade:
            found.filled, found.seq = True, max(found.seq, record.seq)
        if report.fill is None and report.undoes_seq is None:
            return
        traded = (0, 0) if report.fill is None else (report.fill.qty_lots, report.fill.price_ticks)
        found.trades[record.seq if report.undoes_seq is None else report.undoes_seq] = traded
        found.close, found.split_seq = 0, max(found.split_seq, record.seq)
        self.trading.setdefault((found.given.account, found.given.instrument), []).append(found)

    def _list(self, instrument: Mapping[str, Any], reference: Mapping[str, Any]) -> None:
        symbol = str(instrument["symbol"])
        said = {**instrument, **reference}
        names = ("region", "sector", "mic", "currency", "asset_class")
        known = self.listed.setdefault(symbol, {})
        known.update({name: str(said[name]) for name in names if said.get(name)})

    def _mark(self, record: Record, mark: MarkTaken) -> None:
        if mark.kind == "open":
            self.days[mark.account] = self.days[""] = mark.session_date
        if mark.kind != "close":
            return
        place = (mark.account, mark.instrument)
        self.closes[place] = (mark.market_time_us, mark.price_ticks)
        for one in self.trading.pop(place, ()):
            one.close, one.split_seq = mark.price_ticks, max(one.split_seq, record.seq)
        still = []
        for one in self.waiting.pop(place, ()):
            if mark.market_time_us > one.as_of_us:
                one.closes[mark.market_time_us] = mark.price_ticks
            if len(one.closes) < one.horizon:
                still.append(one)
            else:
                one.seq = max(one.seq, record.seq)
        self.waiting[place] = still

    def _judged(self, record: Record, given: VerdictGiven) -> None:
        day = self.days.get(given.account) or self.days.get("")
        day = day or date_of(record.recorded_at_us)
        if not self.first <= day <= self.last:
            return
        seq = self.taken.get(record.stream, -1)
        said = self.forecasts.get(seq)
        close = self.closes.get((given.account, given.instrument), (0, 0))
        found = _Found(
            given=given,
            day=day,
            listed=dict(self.listed.get(given.instrument, {})),
            seq=record.seq,
            forecast=said,
            forecast_seq=None if said is None else seq,
        )
        if said is not None and 0 < close[0] <= found.as_of_us:
            found.base = close[1]
            self.waiting.setdefault((given.account, given.instrument), []).append(found)
        self.found[record.stream] = found


def gathered(records: Iterable[Record], first: str, last: str) -> GatheredWindow:
    """Return the window of the days from `first` to `last`, from records in ledger order."""
    gathering = _Gathering(first, last)
    for record in records:
        gathering.take(record)
    found = gathering.found
    return GatheredWindow(
        cases=tuple(_case(stream.removeprefix(PREFIX), one) for stream, one in found.items()),
        allotted=tuple(part for one in found.items() for part in _allotted(*one)),
        placed=tuple(_placed(one) for one in found.values() if one.sent_seq),
        size=max((one.last_seq + 1 for one in found.values()), default=0),
    )


def _placed(found: _Found) -> AgentOrder:
    intent = found.given.intent
    return AgentOrder(
        agent=intent.author,
        stratum=f"{intent.instrument} {found.day}",
        side=intent.side.value,
        time_us=found.sent_us,
    )


def _allotted(stream: str, found: _Found) -> list[Allotted]:
    """Return what each client got of an order whose worth is known."""
    if not found.is_split:
        return []
    gained = gain_bp(
        buys=found.given.intent.side is Side.BUY,
        close_ticks=found.close,
        lots=sum(lots for lots, _ in found.trades.values()),
        paid=sum(lots * price for lots, price in found.trades.values()),
    )
    return [
        Allotted(
            decision_id=stream.removeprefix(PREFIX),
            client=client,
            stratum=f"{found.given.instrument} {found.day}",
            gain_bp=gained,
        )
        for client, lots in sorted(found.parts.items())
        if lots > 0
    ]


def _case(decision_id: str, found: _Found) -> WindowCase:
    intent, listed, said = found.given.intent, found.listed, found.forecast
    hit = {
        one.rule_id.value for one in found.given.verdict.results if one.action >= Action.THROTTLE
    }
    error, covered = _outcome(found)
    return WindowCase(
        decision_id=decision_id,
        day=found.day,
        asset_class=listed.get("asset_class", ""),
        levels={
            "region": listed.get("region", ""),
            "sector": listed.get("sector", ""),
            "side": intent.side.value,
            "agent": intent.author,
        },
        features={
            "asset class": listed.get("asset_class", ""),
            "currency": listed.get("currency", ""),
            "venue": listed.get("mic", ""),
            "strategy": intent.strategy,
        },
        result=found.given.result,
        rules=frozenset(hit),
        exposure_bp=intent.target_exposure_bp,
        filled=found.filled,
        expected_1e8=None if said is None else int(said["expected_1e8"]),
        error_1e8=error,
        covered=covered,
        forecast=found.forecast_seq,
    )


def _outcome(found: _Found) -> tuple[int | None, bool]:
    """Return how far off the forecast was at its horizon, and whether its interval held."""
    said = found.forecast
    if said is None or not found.base or len(found.closes) < found.horizon:
        return None, False
    close = found.closes[max(found.closes)]
    log_return = (Decimal(close) / Decimal(found.base)).ln()
    happened = int((log_return * _ONE).to_integral_value())
    inside = int(said["interval_low_1e8"]) <= happened <= int(said["interval_high_1e8"])
    return abs(happened - int(said["expected_1e8"])), inside
