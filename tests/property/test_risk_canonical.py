"""Our canonical bytes are RFC 8785 for this profile, and outside it there are none."""

import json
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from risk.errors import DocumentError
from risk.forms.canonical import JSON_SAFE, Reader, canonical_bytes, digest, number

texts = st.text(st.characters(exclude_categories=["Cs"]))
keys = st.text(st.characters(max_codepoint=127))
documents = st.recursive(
    st.none() | st.booleans() | st.integers(-JSON_SAFE, JSON_SAFE) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=20,
)


@given(documents)
def test_canonical_bytes_equal_the_reference(document: Any) -> None:  # noqa: ANN401 - any document
    assert canonical_bytes(document) == rfc8785.dumps(document)
    assert json.loads(canonical_bytes(document)) == document


@given(documents, documents)
def test_different_documents_have_different_bytes(one: Any, other: Any) -> None:  # noqa: ANN401 - as above
    # Python takes True for 1; the bytes must not.
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (canonical_bytes(one) == canonical_bytes(other)) == same
    assert (digest("t", one) == digest("t", other)) == same
    assert digest("t", one) != digest("u", one)


@pytest.mark.parametrize(
    "bad",
    [1.0, float("nan"), {"a": 2**53}, [-(2**53)], {1: 2}, {"ü": 1}, (1,), {"a": b""}, "\ud800"],
)
def test_outside_the_profile_there_are_no_bytes(bad: Any) -> None:  # noqa: ANN401 - anything bad
    with pytest.raises(DocumentError):
        canonical_bytes(bad)


@given(st.integers())
def test_numbers_of_any_size_survive(value: int) -> None:
    if len(str(value)) > 40:
        return
    written = json.loads(canonical_bytes({"n": number(value)}))
    assert Reader(written).number("n") == value


@pytest.mark.parametrize("bad", [True, 1.0, None, "1", "01", "-0", "9007199254740991", "", "x", []])
def test_a_number_has_one_spelling(bad: Any) -> None:  # noqa: ANN401 - anything bad
    with pytest.raises(DocumentError):
        Reader({"n": bad}).number("n")


def test_a_reader_refuses_missing_left_over_and_mistyped_fields() -> None:
    for read in (
        lambda: Reader([]),
        lambda: Reader({}).text("a"),
        lambda: Reader({"a": 1}).text("a"),
        lambda: Reader({"a": 1}).flag("a"),
        lambda: Reader({"a": {}}).items("a"),
        lambda: Reader({"a": 1}).done(),
    ):
        with pytest.raises(DocumentError):
            read()
