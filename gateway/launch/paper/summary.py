"""The run in numbers, computed from the ledger's records alone.

Forecasts are those that the run's decisions rest on, each counted once, also one that an earlier
run made.

Not here: printing (`telemetry.console`), the verification.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from audit.records.kinds import Kind
from audit.records.record import Record
from audit.store.reader import LedgerReader
from gateway.evidence.answers.engine_adds import engine_adds
from gateway.launch.paper.acceptance_rate import TableFigure
from gateway.launch.paper.rolling import rolling
from gateway.walk.journal.decision import DecisionSealed, ForecastTaken, TwinJudged
from gateway.walk.journal.forecast import ForecastRequested, RoundsCaptured
from gateway.walk.journal.order import OrderReported, OrderSent
from gateway.walk.journal.run import MarkTaken, RunMember
from gateway.walk.journal.verdict import VerdictGiven
from gateway.walk.projections.book import Twin, book_events, twin_events
from gateway.walk.projections.forecasts import forecasts_of
from risk.state.book import Book
from risk.state.busts import BookFold, FoldEvent


@dataclass(slots=True)
class _Curve:
    """One account's equity at each close, folded from its records."""

    books: BookFold
    closes_minor: list[int] = field(default_factory=list)
    orders: int = 0
    last_close_us: int = 0

    @property
    def book(self) -> Book:
        return self.books.book

    def take(self, record: Record, events: Iterable[FoldEvent]) -> None:
        for event in events:
            self.books.take(event)
        mark = MarkTaken.of(record) if record.kind is Kind.MARK_TAKEN else None
        if mark is None or mark.kind != "close":
            return
        at = mark.market_time_us
        if at == self.last_close_us:
            self.closes_minor[-1] = self.book.equity_minor
        else:
            self.closes_minor.append(self.book.equity_minor)
            self.last_close_us = at

    def rolling(self, target_bp: int) -> dict[str, Any]:
        """Return how the account kept its volatility target, in rolling windows."""
        return rolling([self.book.deposit_minor, *self.closes_minor], target_bp)


def summarise(
    reader: LedgerReader,
    *,
    run_id: str,
    account: str,
    equity_minor: int,
    target_vol_bp: int,
    figure: TableFigure,
) -> dict[str, Any]:
    """Return the summary of one run; `play` adds the verification."""
    own = _decisions(reader, run_id, Kind.FORECAST_TAKEN, account)
    made = [record for found in forecasts_of(reader, own) for record in found]
    taken = [ForecastTaken.of(r) for r in own if r.kind is Kind.FORECAST_TAKEN]
    decisions = sum(1 for one in taken if not one.attempt)
    agents = _decisions(reader, run_id, Kind.INTENT_RECEIVED, f"{account}.agent")
    curve = _Curve(BookFold(Book.empty(account, equity_minor)))
    twins = {
        twin: _Curve(BookFold(Book.empty(twin.account(account), equity_minor))) for twin in Twin
    }
    for record in reader.records(account=account):
        curve.take(record, book_events(record))
        for twin, beside in twins.items():
            beside.take(record, twin_events(twin, record))
    placebo = twins[Twin.PLACEBO]
    kinds = Counter(r.kind for r in own)
    reports = [OrderReported.of(r) for r in own if r.kind is Kind.ORDER_REPORTED]
    verdicts = [VerdictGiven.of(r) for r in own if r.kind is Kind.VERDICT_GIVEN]
    sent = [OrderSent.of(r) for r in own if r.kind is Kind.ORDER_SENT]
    wire = [us / 1_000 for one in sent if (us := one.decision_to_wire_us) is not None]
    rounds = [RoundsCaptured.of(r) for r in made if r.kind is Kind.ROUNDS_CAPTURED]
    forecast_ms = [one.elapsed_us / 1_000 for one in rounds]
    drafted = figure.measured(_captured(made), reader)
    return {
        "run_id": run_id,
        "decisions": decisions,
        "forecasts": sum(1 for r in made if r.kind is Kind.FORECAST_MADE),
        "no_forecasts": sum(1 for one in taken if one.missing),
        "verdicts": _by(one.result for one in verdicts),
        "rules": _rules(verdicts),
        "orders": kinds[Kind.ORDER_SENDING],
        "fills": sum(1 for one in reports if one.is_trade),
        "rejects": _by(one.report["text"] for one in reports if one.order_state == "REJECTED"),
        "outcomes": _by(
            DecisionSealed.of(r).outcome for r in own if r.kind is Kind.DECISION_SEALED
        ),
        "demo_agent": _agents(agents),
        "mean_accepted": drafted.mean_accepted,
        "table_accepted": drafted.table_accepted,
        "forecast_ms_p50": quantile(forecast_ms, 0.5),
        "forecast_ms_p99": quantile(forecast_ms, 0.99),
        "decision_to_wire_ms_p50": quantile(wire, 0.5),
        "decision_to_wire_ms_p99": quantile(wire, 0.99),
        "rolling": {
            "target": curve.rolling(target_vol_bp),
            "placebo": placebo.rolling(target_vol_bp),
            "gjr": twins[Twin.GJR].rolling(target_vol_bp),
        },
        "pnl_minor": curve.book.equity_minor - equity_minor,
        "placebo_pnl_minor": placebo.book.equity_minor - equity_minor,
        "placebo_orders": _fills(own, Twin.PLACEBO),
        "gjr_pnl_minor": twins[Twin.GJR].book.equity_minor - equity_minor,
        "gjr_orders": _fills(own, Twin.GJR),
        "engine_adds": _adds(reader, account),
        "false_holds_per_100": _false_holds(verdicts),
        "decisions_after_halt": _after_halt(verdicts, decisions),
    }


def quantile(values: Sequence[float], level: float) -> float | None:
    """Return the nearest-rank quantile to three decimals, or None without values."""
    if not values:
        return None
    ordered = sorted(values)
    rank = min(len(ordered) - 1, max(0, int(level * len(ordered) + 0.5) - 1))
    return round(ordered[rank], 3)


def _decisions(reader: LedgerReader, run_id: str, first: Kind, account: str) -> list[Record]:
    """Return the records of the decisions of one run's account that a kind of record opens.

    The id of an agent's decision does not name the run, so the records' run id decides.
    """
    opened = reader.records(kinds=(first,), account=account)
    streams = dict.fromkeys(r.stream for r in opened if RunMember.of(r).run_id == run_id)
    return [record for stream in streams for record in reader.records(stream=stream)]


def _captured(records: Iterable[Record]) -> list[tuple[str, tuple[int, ...]]]:
    found: list[tuple[str, tuple[int, ...]]] = []
    prompt: tuple[int, ...] = ()
    for record in records:
        if record.kind is Kind.FORECAST_REQUESTED:
            prompt = ForecastRequested.of(record).prompt_ids
        elif record.kind is Kind.ROUNDS_CAPTURED:
            found.append((RoundsCaptured.of(record).capture_blob, prompt))
    return found


def _adds(reader: LedgerReader, account: str) -> dict[str, Any]:
    """Return the account against its GJR twin, without the single decisions."""
    document = engine_adds(reader, account).document()
    return {name: value for name, value in document.items() if name not in {"account", "orders"}}


def _fills(records: Iterable[Record], twin: Twin) -> int:
    """Count the orders that a twin would have had filled."""
    return sum(1 for r in records if r.kind is twin.judged and TwinJudged.of(r).fill is not None)


def _agents(records: list[Record]) -> dict[str, Any]:
    verdicts = [VerdictGiven.of(r) for r in records if r.kind is Kind.VERDICT_GIVEN]
    return {
        "intents": sum(1 for r in records if r.kind is Kind.INTENT_RECEIVED),
        "verdicts": _by(one.result for one in verdicts),
        "rules": _rules(verdicts),
        "orders": sum(1 for r in records if r.kind is Kind.ORDER_SENDING),
    }


def _rules(verdicts: Iterable[VerdictGiven]) -> dict[str, int]:
    """Count the verdicts in which a rule said more than ALLOW, by rule, action and reason."""
    counted: Counter[str] = Counter()
    for given in verdicts:
        seen = {
            f"{r['rule_id']} {r['action']} {r['reason']}"
            for r in given.verdict_document["results"]
            if r["action"] != "ALLOW"
        }
        counted.update(seen)
    return dict(sorted(counted.items()))


def _false_holds(verdicts: Sequence[VerdictGiven]) -> float | None:
    """Return how many of a hundred of the strategy's orders waited for a person.

    The strategy is honest, so each such hold cost a person's time and stopped nothing.
    """
    first = [one.result for one in verdicts if one.approval_document is None]
    return round(100 * first.count("held") / len(first), 2) if first else None


def _after_halt(verdicts: Sequence[VerdictGiven], decisions: int) -> int:
    actions = [given.verdict_document["action"] for given in verdicts]
    first = next((i for i, a in enumerate(actions) if a in {"HALT", "KILL"}), None)
    return 0 if first is None else min(decisions, len(actions) - first - 1)


def _by(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items()))
