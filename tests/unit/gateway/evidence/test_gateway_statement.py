"""The daily statement says what the book's fold says at the same prefix, and nothing else."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from audit.store.reader import LedgerReader
from gateway.errors import RequestError
from gateway.evidence.statement import (
    COLUMNS,
    DayStatement,
    account_runs,
    last_day,
    print_statement,
    read_statement,
    statement_of,
)
from gateway.installation.place import Place
from gateway.walk.journal.run import feed_mark
from gateway.walk.projections.book import BOOK_KINDS, book_events
from risk.forms.money import money_text
from risk.state.book import Book
from risk.state.busts import BookFold
from tests.doubles.adjusting import adjusted
from tests.doubles.memory_desk import AGENT_ACCOUNT, MemoryDesk, memory_desk
from tests.doubles.small_desk import EQUITY_MINOR
from tests.doubles.walk_scenes import quantity

FIRST, SECOND = "2018-01-02", "2018-01-03"


@pytest.fixture
def desk(tmp_path: Path) -> MemoryDesk:
    """Two days: an opening and a purchase; then a bust, a purchase, and adjustments."""
    desk = memory_desk(tmp_path)
    opening = [{"instrument": "SPXN", "quantity": 400, "price": "250.00"}]
    opens(desk, FIRST)
    adjusted(desk, ref="o", sort="opening", amount="500000.00", positions=opening)
    bought(desk, "A")
    opens(desk, SECOND)
    order = desk.small.desk.own.orders.traded()[0]
    gone = {"t150": "H", "t19": "A", "t17": "A2", "t32": "0", "t31": "0", "t14": "0"}
    desk.settled(desk.report(order, **gone, t151="51", t39="0"))
    bought(desk, "B")
    adjusted(desk, ref="d", sort="dividend", instrument="SPXN", amount="12.50")
    adjusted(desk, ref="f", sort="fee", amount="2.00")
    return desk


def opens(desk: MemoryDesk, day: str) -> None:
    """Open the market of a day for the agents' account, as a feed does."""
    desk.log.append(
        feed_mark(
            replace(desk.small.tags, account=AGENT_ACCOUNT),
            instrument="SPXN",
            market_time_us=desk.small.desk.own.market.now_us() + int(day[-2:]),
            price_ticks=26_800,
            day=day,
            opens=True,
        )
    )


def bought(desk: MemoryDesk, exec_id: str) -> None:
    order = desk.rest(50)
    lots = str(quantity(order))
    more = {"t32": lots, "t14": lots, "t151": "0", "t39": "2", "t12": "1.25", "t13": "3"}
    desk.settled(desk.report(order, t17=exec_id, **more))


def made(desk: MemoryDesk, day: str) -> DayStatement:
    return read_statement(cast("LedgerReader", desk.log), AGENT_ACCOUNT, day)


def folded(desk: MemoryDesk, size: int) -> Book:
    """Fold the book by itself from all records below a size."""
    fold = BookFold(Book.empty(AGENT_ACCOUNT, EQUITY_MINOR))
    records = desk.log.records(kinds=BOOK_KINDS, account=AGENT_ACCOUNT, before_seq=size)
    for record in records:
        for event in book_events(record):
            fold.take(event)
    return fold.book


@pytest.mark.parametrize("day", [FIRST, SECOND])
def test_the_totals_are_those_of_the_fold_at_that_prefix(desk: MemoryDesk, day: str) -> None:
    found = made(desk, day)
    book, totals = folded(desk, found.size), found.totals()
    assert found.book == book
    assert totals["cash"] == book.cash_minor
    assert totals["equity"] == totals["cash"] + totals["positions"] == book.equity_minor
    assert totals["realised"] == book.realised_minor
    assert totals["fees"] == book.fees_minor
    gain = totals["realised"] + totals["unrealised"] - totals["fees"]
    assert totals["equity"] == totals["deposits"] + gain, "nothing is lost or made up"


def test_a_day_has_its_own_trades_and_adjustments_and_ends_where_the_next_begins(
    desk: MemoryDesk,
) -> None:
    first, second = made(desk, FIRST), made(desk, SECOND)
    assert [line.what for line in first.trades] == ["trade"]
    assert [done.ref for _, done in first.adjustments] == ["o"]
    assert [line.what.split(" ")[0] for line in second.trades] == ["bust", "trade"]
    assert [done.ref for _, done in second.adjustments] == ["d", "f"]
    assert first.size < second.size == desk.log.size
    assert second.before == first.book
    day = second.totals()
    assert day["fees of the day"] == 125 + 200 - 125, "the bust took its fee back"
    assert day["realised of the day"] == 1_250
    # what comes later does not change an earlier day
    adjusted(desk, ref="later", sort="fee", amount="9.00")
    assert made(desk, FIRST) == first


def test_a_day_without_records_is_the_day_before_it(desk: MemoryDesk) -> None:
    later = made(desk, "2018-01-09")
    assert (later.book, list(later.trades)) == (folded(desk, desk.log.size), [])
    earlier = made(desk, "2017-12-31")
    assert (earlier.book.positions, earlier.size < made(desk, FIRST).size) == ((), True)
    assert last_day(cast("LedgerReader", desk.log), AGENT_ACCOUNT) == SECOND


@pytest.mark.parametrize("first", ["=", "+", "-", "@", "\t", "\r"])
def test_no_cell_of_the_csv_is_a_formula(desk: MemoryDesk, first: str) -> None:
    """Repro sec_misc: a broker's ExecID is shown as text, also to a spreadsheet."""
    exec_id = f'{first}HYPERLINK("http://127.0.0.1/x")'
    found = made(desk, SECOND)
    trade = replace(found.trades[0], reference=exec_id)
    rows = list(csv.reader(io.StringIO(replace(found, trades=(trade,)).to_csv())))
    cells = [cell for row in rows for cell in row]
    assert f"'{exec_id}" in cells
    assert exec_id not in cells
    for cell in cells:
        assert cell[:1] not in "=@\t\r" or not cell
        if cell[:1] in {"+", "-"}:
            assert all(
                part.replace(".", "").replace(",", "").isdigit() for part in cell[1:].split()
            )


def test_the_csv_has_every_line_once_and_only_decimal_text(desk: MemoryDesk) -> None:
    found = made(desk, SECOND)
    rows = list(csv.DictReader(io.StringIO(found.to_csv())))
    assert tuple(rows[0]) == COLUMNS
    totals = {row["what"]: row["amount"] for row in rows if row["section"] == "total"}
    assert totals["cash"] == money_text(found.book.cash_minor, 2)
    sections = [row["section"] for row in rows]
    assert [sections.count(name) for name in ("position", "trade", "adjustment")] == [1, 2, 2]
    (position,) = (row for row in rows if row["section"] == "position")
    assert position["lots"] == str(found.book.lots("SPXN"))
    assert position["price"] == "268.00"


def test_an_unknown_account_or_day_is_refused(desk: MemoryDesk) -> None:
    reader = cast("LedgerReader", desk.log)
    with pytest.raises(RequestError, match="write 2026-11-20"):
        read_statement(reader, AGENT_ACCOUNT, "yesterday")
    with pytest.raises(RequestError, match="no account x"):
        read_statement(reader, "x", FIRST)
    run = account_runs(reader)[AGENT_ACCOUNT]
    assert statement_of(run, (), FIRST, 0).book == Book.empty(AGENT_ACCOUNT, EQUITY_MINOR)


@pytest.mark.parametrize(
    ("minor", "digits", "text"), [(-5, 2, "-0.05"), (123456, 2, "1234.56"), (7, 0, "7")]
)
def test_money_is_decimal_text(minor: int, digits: int, text: str) -> None:
    assert money_text(minor, digits) == text


def test_the_verb_prints_each_account_in_each_form(
    desk: MemoryDesk, capsys: pytest.CaptureFixture[str]
) -> None:
    place = cast("Place", SimpleNamespace(reader=desk.log))
    assert print_statement(place, "", SECOND, "json") == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    by_account = {one["account"]: one for one in told}
    assert by_account[AGENT_ACCOUNT]["cash"] == made(desk, SECOND).book.cash_minor
    assert len(by_account) == 2
    print_statement(place, AGENT_ACCOUNT, SECOND, "csv")
    assert capsys.readouterr().out == made(desk, SECOND).to_csv()
    print_statement(place, AGENT_ACCOUNT, SECOND, "text")
    said = capsys.readouterr().out
    assert said.startswith(f"{AGENT_ACCOUNT}, {SECOND}, USD, records below {desk.log.size}\n")
    assert "dividend" in said
