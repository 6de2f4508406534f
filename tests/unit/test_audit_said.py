"""A name in words is found however it was written, as whole words, and never without its trace."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.said import Wanted

NAMES = ["Jörg Übelhör-Namenlos", "Ada Byron", "Ng Bo", "王伟", "Ольга Чехова", "jroe", "1234567"]


def said(text: str) -> list[bytes]:
    """Return a text as records may have it."""
    latin = text.encode().decode("latin-1")
    return [
        json.dumps({"text": one}, ensure_ascii=ascii_).encode()
        for one in (text, latin, f'"{text}"', json.dumps({"in": text}))
        for ascii_ in (False, True)
    ]


def escaped(data: bytes) -> str:
    """Return bytes as PostgreSQL's `lower(encode(.., 'escape'))` does."""
    return "".join(
        "\\\\" if b == 0x5C else chr(b).lower() if 0 < b < 0x80 else f"\\{b:03o}" for b in data
    )


def found(name: str, data: bytes) -> bool:
    wanted = Wanted([name])
    exact = wanted.is_in(b"{}", data)
    traced = any(trace in escaped(data) for trace in wanted.traces)
    assert traced or not exact, "the first look would have missed it"
    return exact


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", ["{}", "ask {} about it", "({}),", "re: {}!"])
def test_a_name_is_found_in_words(name: str, text: str) -> None:
    for data in said(text.format(name)):
        assert found(name, data), data
    assert found(name, f"x {text.format(name.upper())}".encode()), "in what is no document too"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Mark", "the market"),
        ("Ada Byron", "Ada, and Byrons"),
        ("jroe", "jroes"),
        ("Bo", "Bo"),
        ("12345", "at 12345"),
        ("1234567", "12345678"),
        ("A", "A"),
        ("", "nothing"),
    ],
)
def test_another_word_is_no_name(name: str, text: str) -> None:
    assert not any(found(name, data) for data in said(text))


def test_what_is_too_short_is_not_looked_for() -> None:
    assert Wanted(["Bo", "12345", " "]).names == ()
    assert Wanted(["Bo", "Bo Ek"]).names == ("Bo Ek",)


@given(st.text(min_size=1, max_size=20), st.binary(max_size=40))
def test_any_name_and_any_bytes_are_taken(name: str, data: bytes) -> None:
    found(name, data)
    found(name, json.dumps([unicodedata.normalize("NFC", name)], ensure_ascii=False).encode())
