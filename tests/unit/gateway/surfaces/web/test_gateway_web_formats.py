import re

import pytest

from gateway.surfaces.web.sheets import TEMPLATES
from gateway.surfaces.web.views import formats
from gateway.surfaces.web.views.body import Body
from gateway.surfaces.web.views.decision import tick_of
from gateway.surfaces.web.views.tables import measured, prompt_parts, rule_rows
from inference.codec import vocabulary


def test_times_are_utc_and_say_so() -> None:
    assert formats.when(1_514_903_400_000_000) == "2018-01-02 14:30:00 UTC"
    assert formats.exactly(1_514_903_400_000_001).endswith(".000001")
    assert formats.when(None) == "–"


def test_money_is_exact_at_any_size() -> None:
    assert formats.money(10**20 + 1) == "1,000,000,000,000,000,000.01"
    assert formats.money(-5) == "−0.05"
    assert formats.signed_money(5) == "+0.05"
    assert formats.price(26837) == "268.37"
    assert formats.price(9550, 10) == "955.00", "a tick of 0.10"


def test_a_price_is_shown_in_the_ticks_of_its_instrument() -> None:
    run = Body({"instruments": [{"symbol": "ASML", "tick_minor": 10}]})
    assert (tick_of(run, "ASML"), tick_of(run, "GONE")) == (10, 1)
    (row,) = rule_rows(
        Body({"results": [{"unit": "ticks", "observed": 9550, "limit": 9560, "margin": 10}]}),
        "EUR",
        10,
    )
    assert (row.observed, row.limit, row.margin) == (
        "955.00 EUR",
        "at most 956.00 EUR",
        "1.00 EUR",
    )
    bare = [
        path.name
        for path in sorted(TEMPLATES.glob("*.html"))
        if re.search(r"\|price\b(?!\((?:view\.tick|tick|tick_of\())", path.read_text())
    ]
    assert not bare, "a template shows ticks without their size"


def test_fix_separator_is_shown_as_a_bar() -> None:
    assert formats.fix_text("8=FIX.4.4\x0135=D\x01") == "8=FIX.4.4|35=D|"


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (None, "minor", "–"),
        (12_345_678, "minor", "123,456.78 USD"),
        (-150, "bp", "−1.50 %"),
        (2_500_000, "us", "2.500 s"),
        (90_000_000_000, "us", "25.0 h"),
        (-300_000_000, "us", "−5.0 min"),
        (1, "flag", "fault"),
        (26_837, "ticks", "268.37 USD"),
        (7, "lots", "7 lots"),
        (3, "per_s", "3 /s"),
        (9, "unheard_of", "9 unheard_of"),
    ],
)
def test_a_rules_number_carries_its_unit(value: int | None, unit: str, text: str) -> None:
    assert measured(value, unit, "USD") == text


def test_an_odd_payload_reads_as_absent_and_never_raises() -> None:
    body = Body({"a": [1, {"b": True}], "n": "123", "x": None})
    assert body.text("a") == ""
    assert body.whole("n") == 123
    assert body.whole("x") is None
    assert [c.flag("b") for c in body.children("a")] == [False, True]
    assert not Body(None)
    assert not body.child("nothing").child("at all")


def test_prompt_tokens_are_grouped_by_meaning_and_none_is_lost() -> None:
    ids = (1, 5, 12, 130, 131, *vocabulary.NO_NEWS, 20, 60, 50)
    parts = prompt_parts(ids)
    assert tuple(token for part in parts for token in part.tokens) == ids
    assert [p.name for p in parts] == [
        "start",
        "kind",
        "returns",
        "narrative",
        "clock",
        "volatility",
    ]
