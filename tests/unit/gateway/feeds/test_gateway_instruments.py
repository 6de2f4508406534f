"""A table of instruments: every error at once, with its place; a round trip; fit and change."""

import csv
import io
from dataclasses import fields, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.records.kinds import KINDS, Kind
from audit.records.record import prepare
from fix.dialects.profile import simulator_profile
from gateway.errors import InstrumentsError
from gateway.feeds.instruments.codes import figi_digit, isin_digit
from gateway.feeds.instruments.fields import FIELDS
from gateway.feeds.instruments.fit import changes, misfits
from gateway.feeds.instruments.table import (
    EXAMPLE,
    PLAYED_TABLE,
    InstrumentTable,
    parse_table,
    read_table,
)
from gateway.feeds.sessions import PLAYED
from gateway.walk.journal.run import InstrumentListed, Listing, instrument_listed
from inference.snapshot import AssetClass
from risk.forms.documents import document_of
from risk.forms.money import minor_digits
from risk.policy.policy import parse_policy
from risk.state.instrument import Instrument

POLICY = Path(__file__).parents[4] / "risk" / "policy" / "policies" / "playback.json"
GOOD: dict[str, Any] = {
    "symbol": "AAPL",
    "asset_class": "equity",
    "currency": "USD",
    "tick": "0.01",
    "lot": 1,
    "multiplier": 1,
    "min_qty": 1,
    "max_qty": 100,
    "calendar": "XNYS",
    "isin": "US0378331005",
    "figi": "BBG000B9XRY4",
    "mic": "XNAS",
}
ORDER = tuple(GOOD)


def written(value: object) -> str:
    return str(value) if isinstance(value, int) else f'"{value}"'


def toml(*rows: dict[str, Any]) -> bytes:
    sections = (
        "\n".join(("[[instrument]]", *(f"{name} = {written(one)}" for name, one in row.items())))
        for row in rows
    )
    return "\n".join(sections).encode()


def comma(*rows: dict[str, Any]) -> bytes:
    out = io.StringIO(newline="")
    table = csv.DictWriter(out, list(FIELDS), restval="")
    table.writeheader()
    table.writerows(rows)
    return out.getvalue().encode()


def parsed(data: bytes) -> InstrumentTable:
    return parse_table(data, name="t.toml")


def faults(data: bytes, *, commas: bool = False) -> tuple[str, ...]:
    with pytest.raises(InstrumentsError) as refused:
        parse_table(data, name="t", comma=commas)
    assert str(refused.value).startswith("t: ")
    return refused.value.faults


def test_the_played_table_has_the_instruments_that_run_always_played() -> None:
    table = read_table(PLAYED_TABLE)
    assert table.instruments == {
        played.symbol: Instrument(
            symbol=played.symbol,
            asset_class="index",
            tick_minor=played.tick_minor,
            lot=played.lot,
            multiplier=played.multiplier,
            currency=played.currency,
            min_qty=1,
        )
        for played in PLAYED
    }
    assert table.digest == sha256(PLAYED_TABLE.read_bytes()).hexdigest()


def test_the_example_has_every_field() -> None:
    (listing,) = read_table(EXAMPLE).listings
    assert None not in {getattr(listing, one.name) for one in fields(listing)}
    assert [name for name in FIELDS if f"\n{name} = " not in EXAMPLE.read_text()] == []


WRONG = [
    ("symbol", "A B", "not a symbol"),
    ("asset_class", "stock", "write equity, index, fx"),
    ("currency", "usd", "not a currency of ISO 4217"),
    ("currency", "XXX", "not a currency of ISO 4217"),
    ("tick", "0", "price above zero"),
    ("tick", "-0.01", "price above zero"),
    ("tick", "1e-2", "price above zero"),
    ("tick", "0.001", "not a whole number of USD 0.01"),
    ("lot", 0, "whole number from 1"),
    ("lot", "1", "without quotes"),
    ("multiplier", -5, "whole number from 1"),
    ("min_qty", 101, "max_qty: 100 is below min_qty, 101"),
    ("max_qty", 10**10, "whole number from 1 to 1000000000"),
    ("calendar", "New York", "not a calendar's name"),
    ("calendar", "XNYSE", "has no XNYSE; write a market's code such as XNYS"),
    ("isin", "US037833100", "not an ISIN"),
    ("isin", "US0378331006", "check digit of US0378331006 would be 5"),
    ("figi", "BBG000B9XRY5", "check digit of BBG000B9XRY5 would be 4"),
    ("figi", "GBG000B9XRY4", "not a FIGI"),
    ("mic", "XNASDAQ", "market identifier of ISO 10383"),
]


@pytest.mark.parametrize(("name", "value", "says"), WRONG)
def test_a_wrong_value_is_named_with_its_line_and_column(
    name: str, value: object, says: str
) -> None:
    (fault,) = faults(toml(GOOD | {name: value}))
    told = says.partition(":")[0] if says.startswith("max_qty") else name
    line, column = ORDER.index(told) + 2, len(told) + 4
    assert fault.startswith(f"line {line}, column {column}: {told}: "), fault
    assert says in fault


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("tick = nan", "price above zero"),
        ("tick = inf", "price above zero"),
        ("tick = 1e999999999", "price above zero"),
        ("lot = 1.0", "whole number"),
        ("lot = true", "whole number"),
        ("issuer = ' Apple'", "without spaces at the ends"),
        ("issuer = 'App\u200ble'", "invisible character U+200B"),
        ("sector = 'Health Care'", "write small letters"),
        ("ISIN = 'US0378331005'", "write isin"),
        ("margin_bp = -1", "whole number from 0"),
    ],
)
def test_a_value_that_toml_allows_is_still_checked(line: str, says: str) -> None:
    name = line.partition(" ")[0]
    rest = {one: value for one, value in GOOD.items() if one != name}
    (fault,) = faults(toml(rest) + b"\n" + line.encode())
    assert fault.startswith(f"line {len(rest) + 2}, column {len(name) + 4}: ")
    assert says in fault


def test_every_error_is_named_and_not_the_first_alone() -> None:
    wrong = {name: value for name, value, _ in WRONG[::-1] if name not in {"min_qty", "max_qty"}}
    found = faults(toml(GOOD, GOOD | wrong | {"symbol": "A B"}))
    assert [one.split(": ")[1] for one in found] == [n for n in ORDER if n in wrong]


@pytest.mark.parametrize("name", [name for name, one in FIELDS.items() if one.required])
def test_a_missing_field_is_named_with_its_section(name: str) -> None:
    rest = {one: value for one, value in GOOD.items() if one != name}
    (fault,) = faults(
        toml(GOOD | {"symbol": "MSFT", "isin": "US5949181045", "figi": "BBG000BPH459"}, rest)
    )
    assert fault.startswith(f"line {len(GOOD) + 2}, column 1: {name} is missing; write {name} = ")


def test_a_symbol_an_isin_of_a_venue_and_a_figi_stand_once() -> None:
    found = faults(toml(GOOD, GOOD))
    assert [one.split(": ", 2)[1] for one in found] == ["symbol", "isin", "figi"]
    assert all("already; remove one of the two" in one for one in found)
    elsewhere = {"symbol": "APC", "figi": "BBG000BLNNH6", "mic": "XETR"}
    assert len(parsed(toml(GOOD, GOOD | elsewhere)).listings) == 2


@pytest.mark.parametrize(
    ("text", "where", "says"),
    [
        (b"", "line 1", "0 instruments"),
        (b"[[instrument]]\nsymbol = AAPL", "line 2", "not TOML"),
        (b"[[instrument]]\nlot = 1\nlot = 2", "line 3", "not TOML"),
        (b"[[instrument]]\n[[instruments]]", "line 2", "instruments does not belong here"),
        (b"instrument = 1", "line 1", "does not belong here"),
        (b"instrument = [{lot = 1}]", "line 1", "on a line of its own"),
        (b'[[instrument]]\nissuer = """\nlot = 1\n"""', "line 1", "on a line of its own"),
        (b"[[instrument]]\na.b = 1", "line 1", "on a line of its own"),
        (b"[[instrument]]\nissuer = '\xff'", "line 2, column 11", "not UTF-8"),
        (b"lot = " + b"9" * 5000, "line 1", "not TOML"),
        (b"a = " + b"[" * 5000, "line 1", "not TOML"),
    ],
)
def test_what_is_no_table_is_refused_with_its_place(text: bytes, where: str, says: str) -> None:
    (fault,) = faults(text)
    assert fault.startswith(where), fault
    assert says in fault


@pytest.mark.parametrize(
    ("text", "where", "says"),
    [
        (b"symbol,symbol\n", "line 1, column 2", "name each field once"),
        (b"symbol,lot\nAAPL\n", "line 2, column 1", "1 cells"),
        (b'symbol,issuer\nAAPL,"Ap\nple"\n', "line 3", "line break"),
        (b'symbol,lot\n"AAPL"x,1\n', "line 2", "not CSV"),
    ],
)
def test_what_is_no_csv_is_refused_with_its_place(text: bytes, where: str, says: str) -> None:
    (fault,) = faults(text, commas=True)
    assert fault.startswith(where), fault
    assert says in fault


def test_csv_has_the_same_checks_and_counts_fields() -> None:
    found = faults(comma(GOOD, GOOD | {"symbol": "B", "lot": "1.5", "isin": ""}), commas=True)
    at = list(FIELDS).index("lot") + 1
    assert next(one for one in found if "lot: " in one).startswith(f"line 3, column {at}: lot: ")


def test_a_file_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(InstrumentsError, match=r"cannot be read .*No such file"):
        read_table(tmp_path / "none.toml")


LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
CONSONANTS = "BCDFGHJKLMNPQRSTVWXYZ"


@st.composite
def rows(draw: st.DrawFn, currency: str) -> dict[str, Any]:
    minor = draw(st.integers(1, 10_000))
    digits = minor_digits(currency)
    whole, part = divmod(minor, 10**digits)
    isin = "US" + draw(st.text(LETTERS, min_size=9, max_size=9))
    figi = "BBG" + draw(st.text(CONSONANTS + "0123456789", min_size=8, max_size=8))
    least = draw(st.integers(1, 1000))
    row = {
        "symbol": draw(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,8}", fullmatch=True)),
        "asset_class": str(draw(st.sampled_from(AssetClass))),
        "currency": currency,
        "tick": f"{whole}.{part:0{digits}}" if digits else str(whole),
        "lot": draw(st.integers(1, 10**6)),
        "multiplier": draw(st.integers(1, 10**6)),
        "min_qty": least,
        "max_qty": draw(st.integers(least, 10**9)),
        "calendar": draw(st.sampled_from(["XNYS", "24/7", "us_futures"])),
    }
    more = {
        "isin": isin + isin_digit(isin),
        "figi": figi + figi_digit(figi),
        "mic": draw(st.text(LETTERS, min_size=4, max_size=4)),
        "sector": "health-care",
        "region": "europe",
        "issuer": draw(st.text("abcXYZäöü.&, ", min_size=1, max_size=20)).strip() or "A",
        "margin_bp": draw(st.integers(0, 10_000)),
        "adv_lots": draw(st.integers(0, 10**9)),
        "borrow_bp": draw(st.integers(0, 10_000)),
        "locate_lots": draw(st.integers(0, 10**9)),
    }
    return row | {name: one for name, one in more.items() if draw(st.booleans())}


def written_again(listing: Listing) -> dict[str, Any]:
    """Return the row of a listing, as a person would write it."""
    units = document_of(listing.instrument)
    digits = minor_digits(listing.instrument.currency)
    units["tick"] = f"{listing.instrument.tick_minor / 10**digits:.{digits}f}"
    return {
        name: one for name, one in (units | listing.reference()).items() if name != "tick_minor"
    }


MONEY = ("USD", "EUR", "JPY", "KWD", "CLF")


def tables(currency: str) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Return rows of one currency, each symbol once."""
    return st.lists(rows(currency), min_size=1, max_size=4, unique_by=lambda row: row["symbol"])


@given(st.lists(st.sampled_from(MONEY), min_size=1, max_size=8))
def test_a_table_of_several_currencies_names_what_is_not_in_most(money: list[str]) -> None:
    """No officer signs for a table that `serve` refuses."""
    bare = {name: one for name, one in GOOD.items() if name not in {"isin", "figi"}}
    table = [
        bare | {"symbol": f"S{at}", "currency": one, "tick": "1"} for at, one in enumerate(money)
    ]
    most = max(money, key=money.count)
    others = [at for at, one in enumerate(money) if one != most]
    if not others:
        assert parsed(toml(*table)).instruments["S0"].currency == most
        return
    found = faults(toml(*table))
    size = len(bare) + 1
    assert [one.partition(", column")[0] for one in found] == [
        f"line {at * size + 4}" for at in others
    ]
    assert all(f"but most of the table has {most}; a book has one currency" in one for one in found)


@pytest.mark.parametrize(
    ("part", "currency"),
    [("GBX", "GBP"), ("GBp", "GBP"), ("ZAc", "ZAR"), ("ILA", "ILS"), ("USX", "USD")],
)
def test_a_part_of_a_currency_says_how_to_list_it(part: str, currency: str) -> None:
    (fault,) = faults(toml(GOOD | {"currency": part}))
    assert f'write "{currency}", and tick and all prices in {currency}' in fault
    assert f"a tick below 0.01 {currency}" in fault
    (finer,) = faults(toml(GOOD | {"currency": currency, "tick": "0.005"}))
    assert f"0.005 is not a whole number of {currency} 0.01" in finer


@given(st.sampled_from(MONEY).flatmap(tables))
def test_a_table_written_and_read_again_is_the_same_in_toml_and_in_csv(
    table: list[dict[str, Any]],
) -> None:
    for at, row in enumerate(table):  # a venue of its own: an ISIN may stand twice
        row.pop("figi", None) if at else None
        row["mic"] = f"X{at:03}"
    first = parsed(toml(*table))
    again = [written_again(one) for one in first.listings]
    assert [{name: str(one) for name, one in row.items() if name != "tick"} for row in again] == [
        {name: str(row[name]) for name in other if name != "tick"}
        for row, other in zip(table, again, strict=True)
    ]
    assert all(set(row) == set(other) for row, other in zip(table, again, strict=True))
    for data, commas in ((toml(*again), False), (comma(*table), True)):
        assert parse_table(data, name="again", comma=commas).listings == first.listings


def test_a_listing_goes_on_record_with_its_table_and_an_old_record_stays_readable() -> None:
    table = parsed(toml(GOOD | {"adv_lots": 7}))
    draft = instrument_listed(table.listings[0], table.digest)
    body = dict(draft.payload)
    assert body["table_digest"] == table.digest
    assert body["reference"] == {
        "max_qty": 100,
        "calendar": "XNYS",
        "isin": "US0378331005",
        "figi": "BBG000B9XRY4",
        "mic": "XNAS",
        "adv_lots": 7,
    }
    prepare(draft)
    spec = KINDS[Kind.INSTRUMENT_LISTED]
    assert spec.fields == {"instrument"}, "old records stay valid"
    assert spec.version == 1
    assert InstrumentListed.read({"instrument": body["instrument"]}).instrument["symbol"] == "AAPL"


def test_a_change_of_the_table_is_a_new_record_and_no_change_the_same() -> None:
    one, other = parsed(toml(GOOD)), parsed(toml(GOOD) + b"\n# a note")
    assert one.listings == other.listings
    drafts = [instrument_listed(t.listings[0], t.digest).idem_key for t in (one, other, one)]
    assert drafts[0] == drafts[2] != drafts[1]


def test_the_units_of_an_instrument_are_written_as_ever() -> None:
    assert set(document_of(read_table(PLAYED_TABLE).instruments["SPXN"])) == {
        "symbol",
        "asset_class",
        "tick_minor",
        "lot",
        "multiplier",
        "currency",
        "min_qty",
    }


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"max_qty": 10}, "SPXN: max_qty is 10 lots, the policy allows 1600"),
        ({"asset_class": "equity"}, "asset_class is equity, the policy has index"),
        ({"currency": "EUR"}, "currency is EUR, the policy has USD"),
    ],
)
def test_what_the_policy_or_the_broker_contradicts_does_not_fit(
    change: dict[str, Any], says: str
) -> None:
    policy = parse_policy(POLICY.read_bytes())
    broker = simulator_profile(1, sender="A", target="B")
    fits = {"symbol": "SPXN", "asset_class": "index", "max_qty": 5000}
    assert list(misfits(parsed(toml(GOOD | fits)).listings, policy, broker)) == []
    assert any(
        says in one for one in misfits(parsed(toml(GOOD | fits | change)).listings, policy, broker)
    )


def test_an_instrument_with_orders_keeps_its_units_and_stays_in_the_table() -> None:
    listed = read_table(PLAYED_TABLE).instruments
    before = [InstrumentListed.read({"instrument": document_of(one)}) for one in listed.values()]
    changed = listed | {"SPXN": replace(listed["SPXN"], lot=10)}
    assert list(changes(changed, before, [])) == []
    (fault,) = changes(changed, before, ["SPXN", "SPXN", "NDXN"])
    assert fault.startswith("SPXN: lot is 10, the ledger has 1 and orders in it; write 1")
    (fault,) = changes({"NDXN": listed["NDXN"]}, before, ["SPXN"])
    assert fault.startswith("SPXN: is not in the table, but has orders on record")
