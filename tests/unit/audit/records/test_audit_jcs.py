"""RFC 8785 with floats: its example, its number table, key order, and what has no form."""

import json
import math
import re
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.errors import CanonicalError
from audit.records.canonical import DEPTH_MAX, canonical, jcs

# Source: RFC 8785 appendix B, and the sample lines of its author's test data for numbers.
NUMBERS = {
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "ffefffffffffffff": "-1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    "c340000000000000": "-9007199254740992",
    "4340000000000001": "9007199254740994",
    "4340000000000002": "9007199254740996",
    "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef4f": "999999999999999900000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333",
    "41b3de4355555556": "333333333.3333334",
    "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
}
ES6 = re.compile(r"-?(0|[1-9][0-9]{0,20})(\.[0-9]+)?(e[+-][1-9][0-9]{0,2})?")


def test_the_published_example_comes_out() -> None:
    # Source: RFC 8785 section 3.2.2 and 3.2.4.
    value = json.loads(
        r"""{
        "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
        "literals": [null, true, false]
        }"""
    )
    assert (
        jcs(value)
        == (
            '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
            '"string":"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
        ).encode()
    )


@pytest.mark.parametrize(("bits", "text"), NUMBERS.items())
def test_numbers_are_written_as_published(bits: str, text: str) -> None:
    assert jcs(struct.unpack(">d", bytes.fromhex(bits))[0]) == text.encode()


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_double_comes_back_from_its_text_in_the_form_of_es6(value: float) -> None:
    text = jcs(value).decode()
    assert float(text) == value
    assert ES6.fullmatch(text)
    assert ("e" in text) == (value != 0 and not 1e-6 <= abs(value) < 1e21)
    assert not text.startswith("-0e")
    assert text not in ("-0", "-0.0")


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        math.inf,
        -math.inf,
        [1.0, {"a": math.nan}],
        2**53,
        -(2**53),
        "\ud800",
        {"\udfff": 1},
        {1: "a"},
        {None: 1},
        b"bytes",
        {1, 2},
        object(),
    ],
)
def test_what_has_no_form_is_refused(value: object) -> None:
    with pytest.raises(CanonicalError):
        jcs(value)


def test_keys_sort_by_utf16_units() -> None:
    # Source: RFC 8785's author's test data, weird.json.
    value = {
        "\u20ac": "Euro Sign",
        "\r": "Carriage Return",
        "\n": "Newline",
        "1": "One",
        "\u0080": "Control\u007f",
        "\U0001f602": "Smiley",
        "\u00f6": "Latin Small Letter O With Diaeresis",
        "\ufb33": "Hebrew Letter Dalet With Dagesh",
        "</script>": "Browser Challenge",
    }
    text = jcs(value).decode()
    assert list(json.loads(text)) == [
        "\n",
        "\r",
        "1",
        "</script>",
        "\u0080",
        "\u00f6",
        "\u20ac",
        "\U0001f602",
        "\ufb33",
    ]
    assert text.startswith('{"\\n":"Newline","\\r":"Carriage Return","1":"One","</script>":')


def test_the_ledgers_profile_stays_without_floats_and_agrees_elsewhere() -> None:
    with pytest.raises(CanonicalError):
        canonical(1.0)  # type: ignore[arg-type]
    assert canonical({"b": [1, None], "a": "\u00e9"}) == jcs({"b": [1, None], "a": "\u00e9"})


def test_nesting_has_a_limit_of_its_own() -> None:
    value: object = 1.5
    for _ in range(DEPTH_MAX):
        value = [value]
    assert jcs(value).startswith(b"[[[")
    with pytest.raises(CanonicalError, match="nested"):
        jcs([value])
