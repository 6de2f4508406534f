"""The daily statement of an account: positions, cash, fees, profit, trades, adjustments.

It is folded from records only, as the rules fold the book. A record's day is that of the last
market opening before it; before any opening it is the UTC date on which it was recorded. The
statement of a day rests on the records up to its end, so the same day always says the same.
"""

import csv
import datetime as dt
import io
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from audit.records.kinds import Kind
from audit.records.record import Record
from audit.store.reader import LedgerReader
from gateway.clock import date_of, day_of
from gateway.errors import RequestError
from gateway.installation.place import Place
from gateway.walk.journal.contents import Fill
from gateway.walk.journal.control.adjustment import BookAdjusted
from gateway.walk.journal.control.difference import DifferenceResolved
from gateway.walk.journal.control.scope import AgentScoped
from gateway.walk.journal.order import OrderReported
from gateway.walk.journal.run import MarkTaken, RunStarted
from gateway.walk.projections.book import BOOK_KINDS, book_events
from risk.forms.money import money_text
from risk.state.book import Book
from risk.state.busts import BookFold

_FORMULA: Final = frozenset("=+-@\t\r")
"""What a spreadsheet reads as the begin of a formula."""
_NUMBERS: Final = re.compile(r"[+-]?[0-9][0-9.,]*(?: [+-]?[0-9][0-9.,]*)*")
COLUMNS: Final = (
    *("section", "record", "time", "what", "reference", "instrument", "side", "lots"),
    *("price", "value", "cost", "unrealised", "fee", "amount"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountRun:
    """What the statement needs of the runs of an account: where its book began, and its units.

    Attributes:
        digits: decimals of the currency.
        tick_minor: minor units per tick, by symbol.
    """

    account: str
    equity_minor: int
    currency: str
    digits: int
    tick_minor: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class TradeLine:
    """A trade, bust or correction as it was recorded that day."""

    seq: int
    time_us: int
    what: str
    reference: str
    fill: Fill | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DayStatement:
    """One account's statement of one day; money in minor units.

    Attributes:
        size: all records it rests on are below this size of the log.
        before: the book when the day began.
        book: the book when it ended, or now.
    """

    run: AccountRun
    day: str
    size: int
    before: Book
    book: Book
    trades: Sequence[TradeLine]
    adjustments: Sequence[tuple[Record, BookAdjusted]]

    @property
    def unrealised_minor(self) -> int:
        """Market value less cost of all positions."""
        return sum(p.value_minor - p.cost_minor for p in self.book.positions)

    def totals(self) -> dict[str, int]:
        """Return the totals, minor units; those of the day are differences to its beginning."""
        book, before = self.book, self.before
        return {
            "cash": book.cash_minor,
            "positions": sum(p.value_minor for p in book.positions),
            "equity": book.equity_minor,
            "equity before": before.equity_minor,
            "deposits": book.deposit_minor,
            "deposits of the day": book.deposit_minor - before.deposit_minor,
            "realised": book.realised_minor,
            "realised of the day": book.realised_minor - before.realised_minor,
            "unrealised": self.unrealised_minor,
            "fees": book.fees_minor,
            "fees of the day": book.fees_minor - before.fees_minor,
        }

    def money(self, minor: int) -> str:
        """Return minor units as decimal text."""
        return money_text(minor, self.run.digits)

    def price(self, symbol: str, ticks: int) -> str:
        """Return a price in ticks as decimal text."""
        return self.money(ticks * self.run.tick_minor.get(symbol, 1))

    def rows(self) -> Iterator[tuple[str, ...]]:
        """Yield the lines of the CSV, without its header."""
        for name, minor in self.totals().items():
            yield _row(section="total", what=name, amount=self.money(minor))
        for p in self.book.positions:
            yield _row(
                section="position",
                time=_time(p.mark_time_us),
                instrument=p.instrument,
                lots=str(p.lots),
                price=self.price(p.instrument, p.mark_ticks),
                value=self.money(p.value_minor),
                cost=self.money(p.cost_minor),
                unrealised=self.money(p.value_minor - p.cost_minor),
            )
        for line in self.trades:
            fill = line.fill
            yield _row(
                section="trade",
                record=str(line.seq),
                time=_time(line.time_us),
                what=line.what,
                reference=line.reference,
                instrument="" if fill is None else fill.instrument,
                side="" if fill is None else fill.side.value,
                lots="" if fill is None else str(fill.qty_lots),
                price="" if fill is None else self.price(fill.instrument, fill.price_ticks),
                value="" if fill is None else self.money(worth(fill)),
                fee="" if fill is None else self.money(fill.fee_minor),
            )
        for record, done in self.adjustments:
            yield _row(
                section="adjustment",
                record=str(record.seq),
                time=_time(record.recorded_at_us),
                what=done.sort.value,
                reference=done.ref,
                instrument=done.instrument,
                lots=" ".join(f"{lots:+}" for lots in done.lots.values()),
                amount=self.money(done.amount_minor),
            )

    def to_csv(self) -> str:
        """Return the statement as CSV; the first line names account, day and size."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(COLUMNS)
        head = {"what": f"{self.run.account} {self.day} {self.run.currency}"}
        writer.writerow(_plain(_row(section="statement", record=str(self.size), **head)))
        writer.writerows(map(_plain, self.rows()))
        return out.getvalue()


def _plain(cells: Sequence[str]) -> list[str]:
    """Return cells that no spreadsheet reads as a formula: a broker's text may begin with one.

    A number keeps its sign; other text that begins as a formula does gets an apostrophe before it.
    """
    return [
        f"'{cell}" if cell[:1] in _FORMULA and not _NUMBERS.fullmatch(cell) else cell
        for cell in cells
    ]


def statement_of(run: AccountRun, records: Iterable[Record], day: str, size: int) -> DayStatement:
    """Return an account's statement of a day from its records, in ledger order, below a size.

    `size` counts if no later day is on record; otherwise the statement ends where that day begins.
    """
    fold = BookFold(Book.empty(run.account, run.equity_minor))
    before, now = fold.book, ""
    opened, trades, adjustments = False, list[TradeLine](), list[tuple[Record, BookAdjusted]]()
    for record in records:
        if record.kind is Kind.MARK_TAKEN and (mark := MarkTaken.of(record)).kind == "open":
            now = max(now, mark.session_date) if opened else mark.session_date
            opened = True
        elif not opened:
            now = date_of(record.recorded_at_us)
        if now > day:
            size = record.seq
            break
        for event in book_events(record):
            fold.take(event)
        if now < day:
            before = fold.book
            continue
        if record.kind is Kind.BOOK_ADJUSTED:
            adjustments.append((record, BookAdjusted.of(record)))
        trades.extend(_trades(record))
    return DayStatement(
        run=run,
        day=day,
        size=size,
        before=before,
        book=fold.book,
        trades=trades,
        adjustments=adjustments,
    )


def account_runs(reader: LedgerReader) -> dict[str, AccountRun]:
    """Return every account with its newest run; agents trade in accounts beside it."""
    found: dict[str, AccountRun] = {}
    scoped = {AgentScoped.of(one).account for one in reader.records(kinds=(Kind.AGENT_SCOPED,))}
    for record in reader.records(kinds=(Kind.RUN_STARTED,)):
        started = RunStarted.of(record)
        own = started.account
        beside = {f"{own}.agent", *(name for name in scoped if name.startswith(f"{own}."))}
        for account in (own, *sorted(beside)):
            found[account] = AccountRun(
                account=account,
                equity_minor=started.equity_minor,
                currency=str(started.order_profile.get("currency", "")),
                digits=int(started.order_profile.get("minor_digits", 2)),
                tick_minor={str(i["symbol"]): int(i["tick_minor"]) for i in started.instruments},
            )
    return found


def read_statement(reader: LedgerReader, account: str, day: str) -> DayStatement:
    """Return an account's statement of a day.

    Raises:
        RequestError: the day is not a date, or the ledger has no such account.
    """
    day_of(day)
    runs = account_runs(reader)
    if account not in runs:
        raise RequestError(problem=f"no account {account[:64]}: {', '.join(sorted(runs))}")
    size = reader.log_size()
    records = reader.records(kinds=BOOK_KINDS, account=account, before_seq=size)
    return statement_of(runs[account], records, day, size)


def last_day(reader: LedgerReader, account: str) -> str:
    """Return the last day of an account's records, or "" if it has none."""
    for record in reader.records(kinds=(Kind.MARK_TAKEN,), account=account, newest_first=True):
        mark = MarkTaken.of(record)
        if mark.kind == "open":
            return mark.session_date
    newest = reader.records(kinds=BOOK_KINDS, account=account, newest_first=True, limit=1)
    return next((date_of(record.recorded_at_us) for record in newest), "")


def print_statement(place: Place, account: str, day: str, form: str) -> int:
    """Print the statement of a day of one account, or of all; `form` is text, csv or json."""
    names = [account] if account else sorted(account_runs(place.reader))
    if not names:
        raise RequestError(problem="no run is on record yet")
    for name in names:
        made = read_statement(place.reader, name, day)
        match form:
            case "csv":
                sys.stdout.write(made.to_csv())
            case "json":
                document = {"account": name, "day": day, "size": made.size, **made.totals()}
                rows = [dict(zip(COLUMNS, row, strict=True)) for row in made.rows()]
                sys.stdout.write(json.dumps({**document, "rows": rows}) + "\n")
            case _:
                sys.stdout.write(_text(made))
    return 0


def _text(made: DayStatement) -> str:
    """Return the statement for a terminal."""
    lines = [f"{made.run.account}, {made.day}, {made.run.currency}, records below {made.size}"]
    for row in made.rows():
        section, *rest = row
        said = "  ".join(cell for cell in rest if cell)
        lines.append(f"  {section:10} {said}")
    return "\n".join(lines) + "\n"


def _trades(record: Record) -> Iterator[TradeLine]:
    """Yield what a record traded, took back, corrected or resolved."""
    if record.kind is Kind.DIFFERENCE_RESOLVED:
        done = DifferenceResolved.of(record)
        if done.adjustment is not None:
            yield TradeLine(
                seq=record.seq,
                time_us=record.recorded_at_us,
                what="resolution",
                reference=str(done.of_seq),
                fill=done.adjustment,
            )
    if record.kind is not Kind.ORDER_REPORTED:
        return
    report = OrderReported.of(record)
    if report.fill is None and report.undoes_seq is None:
        return
    what = "trade" if report.undoes_seq is None else "correction"
    if report.fill is None:
        what = "bust"
    yield TradeLine(
        seq=record.seq,
        time_us=record.recorded_at_us,
        what=what if report.undoes_seq is None else f"{what} of record {report.undoes_seq}",
        reference=f"{report.cl_ord_id} {report.exec_id}",
        fill=report.fill,
    )


def worth(fill: Fill) -> int:
    """Return what a fill is worth, minor units, before fees."""
    return fill.qty_lots * fill.price_ticks * fill.unit_minor


def _time(time_us: int) -> str:
    moment = dt.datetime.fromtimestamp(time_us // 1_000_000, tz=dt.UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _row(**cells: str) -> tuple[str, ...]:
    return tuple(cells.get(column, "") for column in COLUMNS)
