"""RFC 8785 inside our profile: its published example, the library as oracle, bad inputs."""

import json
from collections.abc import Callable
from enum import StrEnum
from typing import Any

import pytest
import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st
from typing_extensions import override

from audit.errors import CanonicalError
from audit.records.canonical import INT_MAX, JSON, canonical, parse, parse_slowly
from audit.verifier.verify import parse_canonical

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
VALUES: st.SearchStrategy[JSON] = st.recursive(
    st.none() | st.booleans() | st.integers(-INT_MAX, INT_MAX) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


class Colour(StrEnum):
    RED = "red"


def test_keys_sort_by_utf16_as_published() -> None:
    # Source: RFC 8785 section 3.2.3.
    value: JSON = {
        "\u20ac": "Euro Sign",
        "\r": "Carriage Return",
        "\ufb33": "Hebrew Letter Dalet With Dagesh",
        "1": "One",
        "\U0001f600": "Emoji: Grinning Face",
        "\u0080": "Control",
        "\u00f6": "Latin Small Letter O With Diaeresis",
    }
    order = list(json.loads(canonical(value)))
    assert order == ["\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]


def test_strings_escape_as_published() -> None:
    # Source: RFC 8785 section 3.2.2.2.
    assert (
        canonical('\u20ac$\x0f\nA\'B"\\\\"/') == '"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"'.encode()
    )


@given(VALUES)
def test_the_form_is_the_librarys(value: JSON) -> None:
    assert canonical(value) == rfc8785.dumps(value)


@given(VALUES)
def test_what_is_encoded_parses_back(value: JSON) -> None:
    data = canonical(value)
    assert parse(data) == value
    assert parse_canonical(data) == value


def test_an_enum_is_its_text_and_a_tuple_a_list() -> None:
    assert canonical({"a": Colour.RED, "b": (1, True)}) == b'{"a":"red","b":[1,true]}'


@pytest.mark.parametrize(
    "value",
    [1.0, float("nan"), 2**53, -(2**53), {1: 2}, b"x", "\ud800", {"\ud800": 1}, {1, 2}, object()],
)
def test_a_value_outside_the_profile_is_refused(value: JSON) -> None:
    with pytest.raises(CanonicalError):
        canonical(value)


def test_nesting_without_end_is_refused() -> None:
    value: JSON = []
    for _ in range(40):
        value = [value]
    with pytest.raises(CanonicalError):
        canonical(value)


@pytest.mark.parametrize(
    "data",
    [
        b'{"a":1,"a":1}',
        b'{"b":1,"a":1}',
        b'{"a": 1}',
        b"1.0",
        b"1e3",
        b"NaN",
        b"9007199254740992",
        b"-0",
        b'"\\u0041"',
        b'"\\ud800"',
        b"\xff",
        b"",
        b"[1,]",
        b"[" * 100_000,
    ],
)
def test_bytes_in_another_form_are_refused(data: bytes) -> None:
    with pytest.raises(CanonicalError):
        parse(data)


@given(st.binary(max_size=40))
def test_any_bytes_parse_or_raise_only_their_own_error(data: bytes) -> None:
    try:
        value = parse(data)
    except CanonicalError:
        return
    assert canonical(value) == data


ASCII_KEYS: st.SearchStrategy[JSON] = st.recursive(
    st.none() | st.booleans() | st.integers(-INT_MAX, INT_MAX) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(max_codepoint=127), max_size=4), inner, max_size=5)
    ),
    max_leaves=20,
)


@given(ASCII_KEYS)
def test_the_fast_way_is_the_librarys_too(value: JSON) -> None:
    try:
        expected = rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, UnicodeEncodeError):
        with pytest.raises(CanonicalError):
            canonical(value)
    else:
        assert canonical(value) == expected


class Loud(str):
    """Says something else than it is."""

    __slots__ = ()

    @override
    def __str__(self) -> str:
        return "loud"


class Wide(int):
    @override
    def __str__(self) -> str:
        return "wide"

    @override
    def __repr__(self) -> str:
        return "wide"


class Shown(dict[str, Any]):
    """Shows other items than it holds."""

    @override
    def items(self) -> Any:
        return {"shown": 1}.items()


def test_a_subclass_is_what_it_is_whichever_way_it_is_encoded() -> None:
    for beside in ("a", "ä"):  # the fast way, and the library's
        value: JSON = {beside: Loud("quiet"), "n": Wide(5), Loud("key"): (Colour.RED, [True])}
        plain: Any = {beside: "quiet", "n": 5, "key": ["red", [True]]}
        assert canonical(value) == rfc8785.dumps(plain)
    assert canonical(Shown(held=1.5)) == b'{"shown":1}'


def test_an_integer_too_long_to_print_is_refused() -> None:
    with pytest.raises(CanonicalError, match="bits"):
        canonical(10**5000)


@given(
    st.one_of(
        st.binary(max_size=40),
        st.text(alphabet='{}[]":,.0123456789eE-+ abn\\u', max_size=40).map(str.encode),
        st.integers(-(2**70), 2**70).map(lambda n: b'{"a":%d}' % n),
        st.floats(allow_nan=True).map(lambda n: b"[%r]" % n),
    )
)
@example(b'{"a":1,"a":2}')
@example(b'{"b":1,"a":2}')
@example(b"-0")
@example(b"9007199254740991")
@example(b"9007199254740992")
@example(b'["9007199254740992"]')
@example(b"[" * 33 + b"]" * 33)
@example(b"[" * 32 + b"]" * 32)
@example(b'{"\\u0061":1}')
def test_the_fast_way_to_read_takes_and_refuses_the_same(data: bytes) -> None:
    def outcome(read: Callable[[bytes], JSON]) -> tuple[str, JSON]:
        try:
            return "value", read(data)
        except CanonicalError as error:
            return str(error), None

    slow, fast = outcome(parse_slowly), outcome(parse)
    assert fast == slow
    assert [type(fast[1])] == [type(slow[1])]
