"""Positions, exposure and profit of an account and its placebo twin, folded as for the rules."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from audit.records.kinds import Kind
from audit.records.record import Record
from audit.store.reader import LedgerReader
from gateway.surfaces.web.views import formats
from gateway.surfaces.web.views.body import Body
from gateway.surfaces.web.views.plots import Caption, Line, line_plot
from gateway.walk.journal.control.adjustment import BookAdjusted
from gateway.walk.journal.control.scope import AgentScoped
from gateway.walk.journal.order import OrderReported
from gateway.walk.projections.book import (
    BOOK_KINDS,
    Twin,
    book_events,
    twin_events,
)
from risk.errors import RiskError
from risk.forms.money import minor_digits
from risk.state.book import Book
from risk.state.busts import BookFold

POSITION_KINDS: Final = tuple(dict.fromkeys((*BOOK_KINDS, *Twin.PLACEBO.kinds)))
ROWS_SHOWN: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """One run; `seq` is that of its first record."""

    run_id: str
    account: str
    started_us: int
    seq: int
    currency: str = "USD"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """Both books after the closing marks of one market time."""

    time_us: int
    book: Book
    placebo: Book

    def exposure_bp(self, instrument: str) -> int:
        """Return a holding's value over equity, in basis points."""
        return _exposure_bp(self.book, instrument)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A chart with its heading and legend (style number, name)."""

    heading: str
    chart: Markup
    legend: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdjustmentRow:
    """One adjustment: its record's number, and what it was."""

    seq: int
    time_us: int
    sort: str
    ref: str
    what: str
    adjusted_by: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """An account that holds something, or whose orders may."""

    account: str
    book: Book


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionsView:
    """The page's values.

    Attributes:
        fills: trades that stand; a busted one does not count.
        points: the last closes, newest first: the plots as a table.
        unbooked: records that the book refused; more than zero is a fault.
        adjustments: what officers booked beside the orders, newest first.
        currency: of the run's accounts.
        names: the run's accounts.
        holdings: those that hold something or have open reservations.
    """

    runs: Sequence[RunRow]
    run_id: str
    account: str
    book: Book
    placebo: Book
    plots: tuple[Plot, ...]
    points: tuple[Point, ...]
    instruments: tuple[str, ...]
    fills: int
    unbooked: int
    adjustments: tuple[AdjustmentRow, ...] = ()
    currency: str = "USD"
    names: tuple[str, ...] = ()
    holdings: tuple[Holding, ...] = ()


def accounts_of(reader: LedgerReader, own: str, before_seq: int | None) -> tuple[str, ...]:
    """Return the accounts of a run: its own, that of keys without a scope, one for each scope."""
    scoped = {
        AgentScoped.of(record).account
        for record in reader.records(kinds=(Kind.AGENT_SCOPED,), before_seq=before_seq)
    }
    beside = {f"{own}.agent", *(name for name in scoped if name.startswith(f"{own}."))}
    return (own, *sorted(beside))


def holdings(
    reader: LedgerReader, names: Sequence[str], equity_minor: int, before_seq: int | None
) -> tuple[Holding, ...]:
    """Return the accounts that hold something at a size of the log, each with its book."""
    found = []
    for name in names:
        fold = BookFold(Book.empty(name, equity_minor))
        for record in reader.records(account=name, kinds=BOOK_KINDS, before_seq=before_seq):
            try:
                for event in book_events(record):
                    fold.take(event)
            except (RiskError, KeyError, TypeError, ValueError):
                continue  # the account's own page counts what could not be booked
        if fold.book.reservations or any(one.lots for one in fold.book.positions):
            found.append(Holding(account=name, book=fold.book))
    return tuple(found)


def account_of(
    reader: LedgerReader, names: Sequence[str], wanted: str, before_seq: int | None
) -> str | None:
    """Return the account that `wanted` names, or None if the run has no such account.

    An empty `wanted` means the account with a verdict before `before_seq`, the run's own first.
    """
    own = names[0]
    if wanted:
        known = {"own": own, "agent": f"{own}.agent"}
        return known.get(wanted, wanted if wanted in names else None)
    judged = (Kind.VERDICT_GIVEN,)
    for name in names:
        if any(reader.records(account=name, kinds=judged, before_seq=before_seq, limit=1)):
            return name
    return own


def positions_view(
    runs: Sequence[RunRow], run: RunRow, equity_minor: int, records: Iterable[Record]
) -> PositionsView:
    """Fold an account's records, in ledger order, into points and plots."""
    books = BookFold(Book.empty(run.account, equity_minor))
    placebos = BookFold(books.start)
    points: list[Point] = []
    instruments: dict[str, None] = {}
    adjustments: list[AdjustmentRow] = []
    fills = unbooked = 0
    for record in records:
        body = Body(record.body)
        try:
            for event in book_events(record):
                books.take(event)
            for event in twin_events(Twin.PLACEBO, record):
                placebos.take(event)
        except (RiskError, KeyError, TypeError, ValueError):
            unbooked += 1
            continue
        fills += _trades(record)
        if record.kind is Kind.BOOK_ADJUSTED:
            adjustments.append(adjustment_row(record))
        if record.kind is Kind.MARK_TAKEN:
            instruments.setdefault(body.text("instrument"))
            if body.text("kind") != "open":
                time_us = body.whole("market_time_us") or 0
                if points and points[-1].time_us == time_us:
                    points.pop()
                points.append(Point(time_us=time_us, book=books.book, placebo=placebos.book))
    names = tuple(instruments)
    return PositionsView(
        runs=runs,
        run_id=run.run_id,
        account=run.account,
        book=books.book,
        placebo=placebos.book,
        plots=_plots(points, names, run.currency),
        points=tuple(reversed(points[-ROWS_SHOWN:])),
        instruments=names,
        fills=fills,
        unbooked=unbooked,
        adjustments=tuple(reversed(adjustments)),
        currency=run.currency,
    )


def adjustment_row(record: Record) -> AdjustmentRow:
    """Return an adjustment as a line for people."""
    done = BookAdjusted.of(record)
    said = {
        "ratio": done.terms.get("ratio"),
        "from": done.terms.get("effective"),
        "records": done.terms.get("marks"),
        "lots": ", ".join(f"{lots:+,} {name}" for name, lots in sorted(done.lots.items())),
        "at": done.terms.get("price"),
        "amount": done.terms.get("amount"),
    }
    return AdjustmentRow(
        seq=record.seq,
        time_us=record.recorded_at_us,
        sort=done.sort.value,
        ref=done.ref,
        what=", ".join(f"{name} {text}" for name, text in said.items() if text),
        adjusted_by=done.adjusted_by,
        reason=done.reason,
    )


def _trades(record: Record) -> int:
    """Return by how much a record changes the number of standing trades: -1 for a bust."""
    if record.kind is not Kind.ORDER_REPORTED:
        return 0
    report = OrderReported.of(record)
    if report.undoes_seq is not None:
        return -1 if report.fill is None else 0
    return int(report.is_trade)


def _exposure_bp(book: Book, instrument: str) -> int:
    position = book.position(instrument)
    if position is None or book.equity_minor <= 0:
        return 0
    return round(position.value_minor * 10_000 / book.equity_minor)


def _plots(points: Sequence[Point], names: tuple[str, ...], currency: str) -> tuple[Plot, ...]:
    if not points:
        return ()
    labels = (formats.day(points[0].time_us), formats.day(points[-1].time_us))
    span = f"from {labels[0]} to {labels[1]}, {len(points)} closes; at the end"
    end = points[-1]
    unit = 10 ** minor_digits(currency)
    profits = [
        tuple((b.equity_minor - b.deposit_minor) / unit for b in books) for books in _books(points)
    ]
    gained = end.book.equity_minor - end.book.deposit_minor
    twin_gained = end.placebo.equity_minor - end.placebo.deposit_minor
    twins = ("target model", "placebo twin (table only, never sent)")
    caption = Caption(
        key="pnl",
        title="Profit and loss of the target model and of the placebo twin",
        desc=f"{span} {formats.signed_money(gained, currency)} and"
        f" {formats.signed_money(twin_gained, currency)} {currency}",
    )
    lines = dict(zip(twins, profits, strict=True))
    plots = [_plot(f"Profit and loss, {currency}, after fees", lines, caption, labels)]
    for name in names:
        shares = [tuple(_exposure_bp(b, name) / 100 for b in books) for books in _books(points)]
        caption = Caption(
            key=f"exposure-{name}",
            title=f"Exposure in {name}",
            desc=f"{span} {formats.bp(end.exposure_bp(name))} and"
            f" {formats.bp(_exposure_bp(end.placebo, name))} of equity",
        )
        lines = dict(zip(twins, shares, strict=True))
        heading = f"Exposure in {name}, per cent of equity"
        plots.append(_plot(heading, lines, caption, labels, suffix=" %", steps=True))
    held = ", ".join(f"{name} {end.book.lots(name):,}" for name in names)
    caption = Caption(key="lots", title="Positions in lots", desc=f"{span} {held} lots")
    lots = {name: tuple(float(p.book.lots(name)) for p in points) for name in names}
    return (*plots, _plot("Positions, lots", lots, caption, labels, steps=True))


def _plot(
    heading: str,
    lines: Mapping[str, tuple[float, ...]],
    caption: Caption,
    labels: tuple[str, str],
    *,
    suffix: str = "",
    steps: bool = False,
) -> Plot:
    drawn = [Line(name=n, values=v, style=i) for i, (n, v) in enumerate(lines.items())]
    chart = line_plot(drawn, caption, labels=labels, suffix=suffix, steps=steps)
    return Plot(heading=heading, chart=chart, legend=tuple(enumerate(lines)))


def _books(points: Sequence[Point]) -> tuple[tuple[Book, ...], tuple[Book, ...]]:
    return tuple(p.book for p in points), tuple(p.placebo for p in points)
