"""A name in words is found however it was written, as whole words, and never without its trace."""

import json
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.privacy.mentions import ODD, Wanted

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
    words = escaped(data)
    traced = re.search(ODD, words) or any(trace in words for trace in wanted.traces)
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
        ("Ada Byron", "Ada By\u200bron"),
        ("Ada Byron", "ad\u00ada by\u2060ron"),
        ("Ada Byron", "\uff22\uff39\uff32\uff2f\uff2e, \uff21\uff44\uff41"),
        ("\uff22\uff39\uff32\uff2f\uff2e", "byron"),
        ("Fritz Fisher", "Fritz \ufb01sher"),
        ("Kelvin", "\u212aelvin"),
        ("王伟", "王\u200b伟"),
        ("\u02b9\u02b9\u02b9", "'''"),
        ("1234567", "\uff11\uff12\uff13\uff14\uff15\uff16\uff17"),
        ("Ada Byron", r"Ada \u0042yron"),
    ],
)
def test_a_name_is_found_however_it_was_set(name: str, text: str) -> None:
    for data in said(text):
        assert found(name, data), data


def test_the_control_characters_of_a_message_are_nothing_odd() -> None:
    assert not re.search(ODD, escaped(json.dumps({"raw": "8=FIX.4.4\x0135=8\x01"}).encode()))


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
