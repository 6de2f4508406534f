"""Which entries of a broker's book make a top that somebody trades at (repro r19, by table)."""

from itertools import product

import pytest

from fix.errors import ReportError
from fix.feed.book import FIRM, TopOfBook
from fix.wire.market_data import BookMessage, read_answer
from fix.wire.messages import Fields, wire_text

Entry = tuple[tuple[int, str], ...]
CONDITIONS = [*"ABCDEFGHIJKLMNOPQRSTUVWXYZ", *"0123456789", *"abcdef", "A B", "C I", "A  I", "?"]


def entries(kind: str, *groups: Entry) -> BookMessage:
    """Return the message of these entries, each begun by its first field."""
    head: Fields = ((35, kind), (52, "20261127-15:00:00.000"), (262, "r"), (55, "X"))
    flat = [pair for group in groups for pair in group]
    found = read_answer(wire_text([*head, (268, str(len(groups))), *flat], begin_string="FIX.4.4"))
    assert isinstance(found, BookMessage)
    return found


def entry(side: str, price: str, *more: tuple[int, str]) -> Entry:
    return ((269, side), (270, price), *more)


def whole(*groups: Entry, currency: str = "USD") -> tuple[str, TopOfBook]:
    book = TopOfBook(currency)
    return book.replace(entries("W", *groups).entries), book


def prices(book: TopOfBook) -> tuple[str, str] | None:
    return None if book.top is None else (book.top.bid, book.top.ask)


@pytest.mark.parametrize(("condition", "side"), list(product(CONDITIONS, "01")))
def test_only_listed_conditions_are_firm(condition: str, side: str) -> None:
    both = (("0", "100"), ("1", "101"))
    said = ((276, condition),)
    wrong, book = whole(*(entry(one, price, *(said if one == side else ())) for one, price in both))
    assert wrong == ""
    if set(condition.split()) <= FIRM:
        assert prices(book) == ("100", "101")
    else:
        assert book.top is None
        name = "bid" if side == "0" else "offer"
        assert book.lacking.startswith(f"no firm {name}: 276=")


@pytest.mark.parametrize(
    ("field", "firm"),
    [
        ((271, "0"), False),
        ((271, "0.00"), False),
        ((271, ".0"), False),
        ((271, "0.5"), True),
        ((271, "1"), True),
        ((1070, "0"), False),
        ((1070, "1"), True),
        ((1070, "2"), False),
        ((1070, "3"), False),
        ((1070, "4"), True),
    ],
)
@pytest.mark.parametrize("side", "01")
def test_no_quantity_and_indicative_prices_are_not_firm(
    field: tuple[int, str],
    firm: bool,  # noqa: FBT001 - a table's column
    side: str,
) -> None:
    both = (("0", "100"), ("1", "101"))
    _, book = whole(*(entry(one, price, *((field,) if one == side else ())) for one, price in both))
    assert prices(book) == (("100", "101") if firm else None)


def test_a_quantity_that_is_none_is_garbled() -> None:
    for text in ("-1", "1e5", "x"):
        with pytest.raises(ReportError, match="is no quantity"):
            whole(entry("0", "100", (271, text)))


def test_the_next_firm_entry_is_the_top() -> None:
    closed, empty = (276, "B"), (271, "0")
    _, book = whole(
        entry("0", "100", closed), entry("0", "99"), entry("1", "101", empty), entry("1", "102")
    )
    assert prices(book) == ("99", "102")


@pytest.mark.parametrize("named", ["GBX", "GBp", "GBP", "usd", "EUR", "ZZZ"])
def test_a_price_in_another_currency_is_not_believed(named: str) -> None:
    wrong, _ = whole(entry("0", "7212", (15, named)), entry("1", "7215"))
    assert wrong == f"quoted in {named}, not in USD"
    unknown, _ = whole(entry("0", "7212", (15, named)), currency="")
    assert unknown == f"quoted in {named}, not in a known currency"
    assert whole(entry("0", "7212", (15, named)), currency=named)[0] == ""


def test_entries_without_names_and_places_stand_in_their_order() -> None:
    """A full refresh of several levels: the last of a side took the place of the first."""
    _, book = whole(
        entry("0", "100"), entry("0", "99"), entry("0", "98"), entry("1", "103"), entry("1", "101")
    )
    assert prices(book) == ("100", "101")
    _, twice = whole(*(entry("0", price, (290, "1")) for price in ("100", "99")), entry("1", "101"))
    assert prices(twice) == ("100", "101")
    _, named = whole(*(entry("0", price, (278, "b")) for price in ("100", "99")), entry("1", "101"))
    assert prices(named) == ("100", "101")


def changed(book: TopOfBook, *groups: Entry) -> str:
    return book.change(entries("X", *groups).entries)


def test_a_change_that_says_nothing_of_it_leaves_a_closed_entry_closed() -> None:
    _, book = whole(entry("0", "100", (278, "b"), (276, "B")), entry("1", "101", (278, "a")))
    change = ((279, "1"), (269, "0"), (278, "b"), (270, "100.5"))
    assert changed(book, change) == ""
    assert book.top is None
    assert changed(book, (*change, (276, "A"))) == ""
    assert prices(book) == ("100.5", "101")
    assert changed(book, (*change, (271, "0"))) == ""
    assert book.top is None
    assert changed(book, ((279, "0"), (269, "0"), (278, "c"), (270, "99"))) == ""
    assert prices(book) == ("99", "101")
