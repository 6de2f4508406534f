"""A name in a log: gone in every form that it can have there, and nothing else is touched."""

import html
import json
import string
import unicodedata
from collections.abc import Callable
from typing import Literal
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from gateway.privacy.name_needles import needles
from gateway.privacy.name_search import places

LETTERS = st.characters(
    categories=["Lu", "Ll", "Lt", "Lo", "Mn"],
    exclude_characters="\u0345\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0"
    + "".join(map(chr, range(0xFE00, 0xFE10))),  # what nobody sees is no part of a name
    max_codepoint=0x2FFFF,
)
NAMES = st.one_of(
    st.text(LETTERS, min_size=3, max_size=12),
    st.lists(st.text(LETTERS, min_size=2, max_size=8), min_size=2, max_size=3).map(" ".join),
    st.sampled_from(
        [
            "Jörg Übelhör-Namenlos",
            "Groß, Anna",
            'J. "Ace" O\'Neil',
            "Σίσυφος",
            "Ặng Nguyễn",
            "李小明",
        ]
    ),
).filter(lambda name: unicodedata.category(name[0])[0] == "L" and name == name.strip())
"""Names that begin with a letter: a mark alone would belong to whatever stands before it."""
PLAIN = st.text(string.ascii_letters + string.digits + " .,:;=/-_|{}[]()\x01\n\u00fc\u00df\u4e2d")

CASES: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "lower": str.lower,
    "upper": str.upper,
    "casefold": str.casefold,
    "title": str.title,
}
SHAPES: tuple[Literal["NFC"], Literal["NFD"]] = ("NFC", "NFD")
WRITTEN: dict[str, Callable[[str], bytes]] = {
    "utf-8": lambda text: text.encode(),
    "json": lambda text: json.dumps(text)[1:-1].encode(),
    "json, not ascii": lambda text: json.dumps(text, ensure_ascii=False)[1:-1].encode(),
    "json in json": lambda text: json.dumps(json.dumps(text)[1:-1])[1:-1].encode(),
    "JSON in capitals": lambda text: "".join(
        f"\\u{ord(c):04X}" if ord(c) < 1 << 16 else c for c in text
    ).encode(),
    "percent": lambda text: quote(text, safe="").encode(),
    "percent, small": lambda text: "".join(f"%{byte:02x}" for byte in text.encode()).encode(),
    "form": lambda text: quote_plus(text).encode(),
    "ascii()": lambda text: ascii(text)[1:-1].encode(),
    "bytes": lambda text: repr(text.encode())[2:-1].encode(),
    "html": lambda text: html.escape(text).encode("ascii", "xmlcharrefreplace"),
    "taken for latin": lambda text: text.encode().decode("latin-1").encode(),
}


def one_form(text: str) -> str:
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", text).casefold())


def cleaned(data: bytes, *names: str) -> bytes:
    made = bytearray(data)
    for start, end in places(data, needles(names)):
        made[start:end] = b"*" * (end - start)
    return bytes(made)


@given(
    NAMES,
    st.sampled_from(sorted(CASES)),
    st.sampled_from(SHAPES),
    st.sampled_from(sorted(WRITTEN)),
    PLAIN,
    PLAIN,
)
@example("Ada Byron", "upper", "NFC", "form", "q=", "&x=1")
@example("straße", "upper", "NFC", "utf-8", "", "")
def test_a_name_is_gone_in_every_form_and_what_stands_around_it_stays(
    name: str, case: str, shape: Literal["NFC", "NFD"], how: str, before: str, after: str
) -> None:
    said = unicodedata.normalize(shape, CASES[case](name))
    assume(one_form(said) == one_form(name))  # "title" of some letters is another word
    form = WRITTEN[how](said)
    left, right = f"{before} | ".encode(), f" | {after}".encode()
    assume(one_form(name) not in one_form(f"{before} | {after}"))
    assert cleaned(left + form + right, name) == left + b"*" * len(form) + right


@given(st.sampled_from(["Ann", "Jörg Übel", "Groß", "A", "42", "李明"]), PLAIN)
def test_what_is_not_the_name_stays(name: str, text: str) -> None:
    assume(one_form(name) not in one_form(text))
    assert cleaned(text.encode(), name) == text.encode()


@given(st.binary(max_size=300), NAMES)
def test_any_bytes_are_searched(data: bytes, name: str) -> None:
    done = cleaned(data, name)
    assert len(done) == len(data)
    for start, end in places(data, needles([name])):
        assert done[start:end] == b"*" * (end - start)
        assert done[:start] == cleaned(data[:start], name) or start > 0
    assert cleaned(done, name) == done, "cleaned once is clean"


@given(
    st.sampled_from(["Ann", "max", "Jörg"]), st.sampled_from([*"aZ9_", "é", "e\u0301", "\u0301"])
)
def test_a_longer_word_is_another_word(name: str, more: str) -> None:
    for text in (f" {name}{more} ", f" {more}{name} ", f"\u00fc{name}{more}{name}"):
        if not text.startswith(" \u0301"):  # a mark belongs to the blank before it
            assert cleaned(text.encode(), name) == text.encode()
            assert cleaned(json.dumps(text).encode(), name) == json.dumps(text).encode()


@pytest.mark.parametrize("name", ["A", "Li", "Ö", "12345"])
def test_a_short_name_goes_only_where_persons_are_named(name: str) -> None:
    other = {"A": "B", "Li": "Lu", "Ö": "Ü", "12345": "12346"}[name]
    log = (
        f"{name} grade {name}: a={name} {name}/{name}; 55={name}\x0144={name}\x01 9{name}9\n"
        f'{{"symbol": "{name}", "qty": {name}}} GET /v1/{name}?tab={name}\n'
    ).encode()
    assert cleaned(log, name) == log
    tagged = [
        f"8=FIX.4.4\x0150={name}\x0157={other}\x01448={name}\x01523={name}\x0158={name}\x01",
        f"35=8|50={name}|448={name}|",
        f'{{"person": "{name}", "x": {{"reason":"{name}"}}}}',
        json.dumps({"person": name, "said": f'{{"text": "{name}"}}'}),
        json.dumps(json.dumps({"person": name})),
        f"GET /v1/people?person={quote(name)}&x=1",
        f'person={name} user="{name}" trader={name}',
    ]
    for line in tagged:
        done = cleaned(line.encode(), name)
        assert done != line.encode(), line
        assert not places(done, needles([name]))
        for form in (f"={name}\x01", f"={name}|", f'"{name}"', f"={quote(name)}&", f"={name} "):
            assert form.encode() not in done, line
        if other in line:
            assert f"57={other}".encode() in done
    whole = f'person="{name} {other}" 50={name} {other}\x01'.encode()
    assert cleaned(whole, name) == whole, "part of a value is another value"


def test_marks_belong_to_what_they_stand_on() -> None:
    for name, text, is_it in (
        ("Aq\u0323\u0307b", "Aq\u0307\u0323b", True),  # the same letter, marks in another order
        ("J. R.", "J. R.\u0301", False),
        ("나가다", "나가닥", False),  # the third syllable begins as the name's ends
        ("\u1161나다", "가나다", False),  # and the name as the first one ends
        ("나가다", unicodedata.normalize("NFD", "나가다"), True),
    ):
        assert (cleaned(text.encode(), name) != text.encode()) == is_it, name


def test_two_names_in_one_line_and_one_in_the_other() -> None:
    line = b"Ann Lee and Ann met Lee Ann\n"
    assert cleaned(line, "Ann Lee", "Ann") == b"******* and *** met *******\n"


@pytest.mark.parametrize(
    "text",
    [
        "Ada\u00a0Lovelace-O\u2019Neil",
        "ADA  \u2009 Lovelace\u2011O'Neil",
        "Ada\tLove\u00adlace-O`Neil",
        "Ada\u200b Lovelace-O\u2032Neil",
        "Lovelace\u2010O'Neil, Ada",
        "lovelace-o'neil ada",
    ],
)
def test_a_name_is_found_however_it_was_set(text: str) -> None:
    for known in ("Ada Lovelace-O'Neil", "Ada Lovelace\u2011O\u2019Neil"):
        for form in (text.encode(), json.dumps(text).encode(), quote(text).encode()):
            done = cleaned(b"by " + form + b" x", known)
            assert done.strip(b'by x"') == b"*" * len(form.strip(b'"')), form
    long = b"ada" + b" " * 60_000 + b"x"
    assert cleaned(long, "Ada Lovelace") == long


def test_scripts_without_blanks_have_no_edges() -> None:
    for name, text in (
        ("田中太郎", "昨日田中太郎さんが"),
        ("李明", "问李明了"),
        ("สมชาย", "คุณสมชายมา"),
    ):
        done = cleaned(text.encode(), name).decode()
        assert name not in done
        assert done.replace("*", "") == text.replace(name, "")
