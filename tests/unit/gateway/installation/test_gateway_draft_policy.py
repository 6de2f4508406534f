"""A draft's sections are true for the table's asset classes, and its limits are scaled by value."""

import json
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from gateway.cli.main import app
from gateway.installation.policies.account import EQUITY_MINOR
from gateway.installation.policies.classes import STARTING, STARTS
from gateway.installation.policies.policy import POLICIES
from gateway.installation.policies.policy_files import read_policy
from gateway.installation.policies.sections import first_draft, missing_said, next_draft
from gateway.installation.policies.traded import TradedInstrument, said
from inference.snapshot import AssetClass
from risk.numbers.stated import Stated
from risk.policy.policy import Policy
from risk.policy.text import parse_policy_text, policy_text
from risk.verdict import RuleId
from tests.doubles.beginning import FLAGS

ROW: Final = {
    "asset_class": "equity",
    "currency": "USD",
    "tick": "0.01",
    "lot": 1,
    "multiplier": 1,
    "min_qty": 1,
    "max_qty": 1_000_000,
    "calendar": "XNYS",
}


def table(folder: Path, *rows: dict[str, object]) -> Path:
    """Write a table of instruments as a desk has it."""
    file = folder / "own.toml"
    sections = (
        "\n".join(["[[instrument]]", *(f"{name} = {json.dumps(v)}" for name, v in row.items())])
        for row in ({**ROW, **row} for row in rows)
    )
    file.write_text("\n\n".join(sections))
    return file


CHEAP: Final[dict[str, object]] = {"symbol": "CHEAP", "reference_price": "3.00"}
DEAR: Final[dict[str, object]] = {"symbol": "DEAR", "reference_price": "3000"}
FUTURE: Final[dict[str, object]] = {
    "symbol": "FUT",
    "asset_class": "index",
    "multiplier": 50,
    "tick": "0.25",
    "reference_price": "1000",
    "calendar": "CMES",
    "margin_bp": 600,
}
PAIR: Final[dict[str, object]] = {
    "symbol": "EURUSD",
    "asset_class": "fx",
    "lot": 1000,
    "min_qty": 10,
    "reference_price": "1.10",
    "calendar": "24/5",
}
YEN: Final[dict[str, object]] = {
    "symbol": "7203.T",
    "currency": "JPY",
    "tick": "1",
    "lot": 100,
    "calendar": "XTKS",
    "reference_price": "2800",
}
CRYPTO: Final[dict[str, object]] = {"asset_class": "crypto", "calendar": "24/7"}


@pytest.fixture(autouse=True)
def shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draft from the policy that ships, whatever the settings of these tests say."""
    monkeypatch.setenv("COUNTERSIGN_POLICY", "desk")


def do(*words: object) -> Result:
    return CliRunner().invoke(app, ["policy", "new", *map(str, words)])


def drafted(folder: Path, *rows: dict[str, object], more: tuple[object, ...] = ()) -> Policy:
    file = folder / "policy.toml"
    done = do(file, "--instruments", table(folder, *rows), *more)
    assert done.exit_code == 0, done.exception
    return read_policy(file).policy


def limits(policy: Policy, symbol: str) -> tuple[int, int]:
    section = policy.of_instrument(symbol)
    assert section is not None
    return section.order_qty_max.value, section.position_max.value


def reasons(policy: Policy, asset_class: str) -> dict[RuleId, str]:
    section = policy.of_class(asset_class)
    assert section is not None
    return {one.rule: one.reason for one in section.arming if not one.armed}


def test_lots_are_what_an_amount_buys_whatever_one_lot_is_worth(tmp_path: Path) -> None:
    policy = drafted(tmp_path, CHEAP, DEAR, FUTURE, PAIR)
    # a quarter of 1,000,000 USD in each of four, and a quarter of that as room
    assert policy.sizing.exposure_max.value == 2500
    assert limits(policy, "CHEAP") == (104_166, 104_166)
    assert limits(policy, "DEAR") == (104, 104)
    assert limits(policy, "FUT") == (6, 6), "one lot is 50,000 USD"
    assert limits(policy, "EURUSD") == (280, 280), "in steps of ten lots of 1,100 USD"
    section = policy.of_instrument("FUT")
    assert section is not None
    assert "312,500.00 USD; one lot is 50,000.00 USD at 1000 USD (the table's reference_price)" in (
        section.position_max.rationale
    )


def test_a_yen_desk_has_yen_limits(tmp_path: Path) -> None:
    policy = drafted(tmp_path, YEN, {**YEN, "symbol": "6758.T", "reference_price": "3500"})
    assert policy.currency == "JPY"
    assert policy.account.order_notional_max.value == 40_000_000
    assert "40,000,000 JPY, 40 % of an equity of 100,000,000 JPY" in (
        policy.account.order_notional_max.rationale
    )
    assert limits(policy, "7203.T") == (142, 223), "one lot is 280,000 yen"


def test_the_manual_says_with_what_an_account_begins_in_each_sort_of_currency() -> None:
    """An account in yen begins with 100,000,000, not with 1,000,000.00."""
    manual = " ".join((Path(__file__).parents[4] / "docs" / "operate.md").read_text().split())
    amounts = ", ".join(said(EQUITY_MINOR, one) for one in ("USD", "JPY", "KWD"))
    assert f"account begins with {EQUITY_MINOR:,} of its currency's smallest unit" in manual
    assert manual.count(amounts) == 2
    assert "with 1,000,000.00 in cash" not in manual


def test_amounts_follow_the_equity_that_is_given(tmp_path: Path) -> None:
    policy = drafted(tmp_path, DEAR, more=("--equity", "30,000.00"))
    assert policy.account.order_notional_max.value == 1_200_000
    assert policy.families is not None
    assert policy.families.account.credit_max.value == 4_500_000
    assert limits(policy, "DEAR") == (4, 6), "12,000 USD an order, 18,750 USD a position"


def test_no_policy_is_drafted_for_a_table_that_cannot_be_served(tmp_path: Path) -> None:
    """Before an officer signs it: a book, and so an installation, has one currency."""
    file = tmp_path / "policy.toml"
    done = do(file, "--instruments", table(tmp_path, CHEAP, DEAR, YEN))
    assert done.exit_code != 0
    assert "JPY, but most of the table has USD; a book has one currency" in str(done.exception)
    assert not file.exists()


def test_without_a_price_one_smallest_order_is_allowed_and_the_draft_says_what_is_missing(
    tmp_path: Path,
) -> None:
    file = tmp_path / "policy.toml"
    unpriced = {"symbol": "AAA", "min_qty": 5}
    done = do(file, "--instruments", table(tmp_path, unpriced, DEAR))
    assert "no price of AAA: the draft allows one smallest order of each" in done.stdout
    policy = read_policy(file).policy
    assert "--price AAA=.., --bars FILE, or reference_price in the table" in done.stdout
    assert limits(policy, "AAA") == (5, 5)
    section = policy.of_instrument("AAA")
    assert section is not None
    assert "no price of AAA was given" in section.position_max.rationale
    assert policy.sizing.limit_allowance.value == 1


def test_one_lot_that_is_worth_more_than_a_position_may_not_be_held(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    done = do(file, "--instruments", table(tmp_path, {**FUTURE, "reference_price": "90000"}))
    assert "FUT: one smallest order is worth more than a position may be" in done.stdout
    assert limits(read_policy(file).policy, "FUT") == (0, 0)


def test_a_price_option_goes_before_the_last_bar_and_that_before_the_table(
    tmp_path: Path,
) -> None:
    bars = tmp_path / "bars.ndjson"
    lines = [
        {"source": "alpha", "instrument": name, "sequence": n, "close_time_us": n * 86_400_000_000}
        | {"open": price, "high": price, "low": price, "close": price}
        for name, n, price in (
            *(("DEAR", 2, "1000.00"), ("DEAR", 1, "500.00"), ("CHEAP", 1, "2.00")),
            ("ELSE", 1, "7.00"),
        )
    ]
    bars.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    more = ("--bars", bars, "--price", "CHEAP=4")
    policy = drafted(tmp_path, CHEAP, DEAR, FUTURE, more=more)
    said = {one.symbol: one.position_max.rationale for one in policy.instruments}
    assert "at 4 USD (--price)" in said["CHEAP"]
    assert "at 1000 USD (the close of 1970-01-03 in 'bars.ndjson')" in said["DEAR"]
    assert "at 1000 USD (the table's reference_price)" in said["FUT"]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (("--price", "CHEAP"), "write SYMBOL=PRICE"),
        (("--price", "CHEAP=-1"), "write SYMBOL=PRICE"),
        (("--price", "CHEAP=nan"), "write SYMBOL=PRICE"),
        (("--price", "CHEEP=1"), "the table has no CHEEP"),
        (("--price", "CHEAP=0.001"), "below one tick"),
        (("--equity", "much"), "--equity much: write an amount in USD"),
        (("--equity", "0.001"), "write an amount in USD"),
        (("--bars", "none.ndjson"), "cannot read none.ndjson"),
    ],
)
def test_a_price_or_equity_that_is_none_is_refused(
    tmp_path: Path, more: tuple[str, ...], says: str
) -> None:
    file = tmp_path / "policy.toml"
    done = do(file, "--instruments", table(tmp_path, CHEAP), *more)
    assert says in str(done.exception)
    assert not file.exists()
    assert "--instruments FILE" in str(do(file, "--price", "SPXN=1").exception)


def test_a_bar_that_is_none_is_named_with_its_line(tmp_path: Path) -> None:
    bars = tmp_path / "bars.ndjson"
    bars.write_text('{"instrument": "CHEAP", "close": "x"}\n')
    done = do(tmp_path / "p.toml", "--instruments", table(tmp_path, CHEAP), "--bars", bars)
    assert "bars.ndjson line 1: " in str(done.exception)


def test_each_class_has_reasons_of_its_own(tmp_path: Path) -> None:
    policy = drafted(tmp_path, CHEAP, FUTURE, PAIR, {**CHEAP, "symbol": "BTC"} | CRYPTO)
    assert [one.asset_class for one in policy.classes] == ["equity", "index", "fx", "crypto"]
    equity, pair, coin = (reasons(policy, name) for name in ("equity", "fx", "crypto"))
    assert "gives no `sector` for CHEAP" in equity[RuleId.R10]
    assert "over the counter" in pair[RuleId.R15]
    assert "always open" in coin[RuleId.R43]
    assert "for CHEAP, EURUSD, BTC" in equity[RuleId.R23], "the margin is the whole book's"
    text = policy_text(policy)
    for untrue in ("broad indices", "playback", "SPXN", "two instruments", "Both instruments"):
        assert untrue not in text, untrue
    collars = {one.asset_class: one.price_collar.value for one in policy.classes}
    assert collars["fx"] < collars["equity"]
    ages = {one.asset_class: one.forecast_age_max.value for one in policy.classes}
    assert ages["crypto"] < ages["equity"], "no weekend lies between two bars"


def test_a_rule_is_armed_once_the_table_gives_what_it_measures(tmp_path: Path) -> None:
    whole = {"sector": "energy", "adv_lots": 1_000_000, "margin_bp": 5000}
    policy = drafted(tmp_path, {**CHEAP, **whole}, {**DEAR, **whole})
    assert set(reasons(policy, "equity")) == {RuleId.R43, RuleId.R46}
    assert policy.sizing.exposure_max.value == 2000, "above it R10 asks a person"
    (tmp_path / "policy.toml").unlink()
    policy = drafted(tmp_path, {**CHEAP, **whole, "adv_lots": 0}, {**DEAR, **whole})
    assert "gives no `adv_lots` for CHEAP" in reasons(policy, "equity")[RuleId.R15]


def test_an_allowance_in_ticks_is_small_for_a_cheap_stock(tmp_path: Path) -> None:
    assert drafted(tmp_path, CHEAP).sizing.limit_allowance.value == 1
    (tmp_path / "policy.toml").unlink()
    assert drafted(tmp_path, DEAR).sizing.limit_allowance.value == 10


def test_init_scales_its_draft_too(tmp_path: Path) -> None:
    own = table(tmp_path, {"symbol": "AAA"}, {"symbol": "BBB"})
    words = ["init", tmp_path / "desk", *FLAGS, "--instruments", own, "--price", "AAA=10"]
    done = CliRunner().invoke(app, [*map(str, words), "--equity", "10000"])
    assert done.exit_code == 0, done.exception
    assert "no price of BBB" in done.stdout
    policy = read_policy(tmp_path / "desk/gateway/policy.toml").policy
    assert limits(policy, "AAA") == (400, 625)
    assert limits(policy, "BBB") == (1, 1)


def test_a_table_that_is_too_long_for_a_policy_is_refused_and_named(tmp_path: Path) -> None:
    rows = [{**CHEAP, "symbol": f"S{n}"} for n in range(90)]
    file = tmp_path / "policy.toml"
    done = do(file, "--instruments", table(tmp_path, *rows))
    assert "policy is too large (90 instruments, 64 KiB at most)" in str(done.exception)
    assert not file.exists()


def test_the_example_table_has_a_price(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["init", str(tmp_path / "desk"), *FLAGS])
    assert "no price" not in done.stdout
    policy = read_policy(tmp_path / "desk/gateway/policy.toml").policy
    assert min(limits(policy, "AAPL")) > 100


def test_every_asset_class_of_a_table_has_a_start() -> None:
    assert set(STARTS) == set(AssetClass)


TRADED = st.builds(
    TradedInstrument,
    symbol=st.from_regex(r"[A-Z]{1,64}", fullmatch=True),
    asset_class=st.sampled_from([*AssetClass]),
    currency=st.sampled_from(["USD", "JPY", "KWD"]),
    min_qty=st.integers(1, 1000),
    max_qty=st.integers(1000, 10**9),
    unit_minor=st.integers(1, 10**12),
    calendar=st.sampled_from(["XNYS", "24/7"]),
    price_ticks=st.none() | st.integers(1, 10**12),
    stated=st.frozensets(st.sampled_from(["sector", "adv_lots", "margin_bp"])),
)


@given(
    traded=st.lists(TRADED, min_size=1, max_size=4, unique_by=lambda one: one.symbol),
    equity_minor=st.integers(1, 10**14),
)
def test_every_draft_is_a_policy_whose_positions_are_worth_no_more_than_it_says(
    traded: list[TradedInstrument], equity_minor: int
) -> None:
    for shipped in POLICIES.values():
        policy = first_draft(read_policy(shipped).policy, traded, equity_minor)
        assert parse_policy_text(policy_text(policy)) == policy
        most = equity_minor * policy.sizing.exposure_max.value * 125 // 1_000_000
        for one, section in zip(traded, policy.instruments, strict=True):
            held, ordered = section.position_max.value, section.order_qty_max.value
            assert ordered <= min(max(held, 0), one.max_qty)
            assert held % one.min_qty == 0
            if one.currency != policy.currency:
                assert held == 0
            elif one.lot_minor is None:
                assert held == one.min_qty
            else:
                assert held * one.lot_minor <= most
        list(missing_said(policy, traded))


def test_what_follows_a_signed_policy_keeps_its_numbers() -> None:
    shipped = read_policy(POLICIES["desk"]).policy
    new = TradedInstrument(
        symbol="AAA",
        asset_class="equity",
        currency="USD",
        min_qty=1,
        max_qty=10_000,
        unit_minor=1,
        calendar="XNYS",
        price_ticks=10_000,
        price_said="100 USD (--price)",
    )
    kept = TradedInstrument(
        symbol="SPXN",
        asset_class="index",
        currency="USD",
        min_qty=1,
        max_qty=1000,
        unit_minor=1,
        calendar="XNYS",
    )
    policy = next_draft(shipped, [kept, new], None)
    before, after = shipped.of_instrument("SPXN"), policy.of_instrument("SPXN")
    assert before is not None
    assert after is not None
    assert after.position_max == before.position_max
    assert after.order_qty_max.value == 1000, "the venue takes no more"
    assert policy.of_class("index") == shipped.of_class("index")
    assert (policy.account, policy.sizing) == (shipped.account, shipped.sizing)
    assert limits(policy, "AAA") == (4000, 6250), f"of {EQUITY_MINOR}: 400,000 and 625,000 USD"
    section = policy.of_class("equity")
    assert section is not None
    assert all(
        number.rationale.startswith(STARTING) for _, number in section if isinstance(number, Stated)
    )


def test_what_follows_a_policy_in_dollars_stays_in_dollars(tmp_path: Path) -> None:
    """Its amounts would mean another money in the currency of most of a new table."""
    signed = POLICIES["desk"]
    rows = ({**YEN, "symbol": f"Y{n}"} for n in range(2))
    file = tmp_path / "next.toml"
    more = ("--from", signed, "--equity", "1000000.00")
    done = do(file, "--instruments", table(tmp_path, *rows), *more)
    policy = read_policy(file).policy
    assert (policy.currency, limits(policy, "Y0")) == ("USD", (0, 0))
    assert "Y0, Y1: not in USD, the policy's currency" in done.stdout
