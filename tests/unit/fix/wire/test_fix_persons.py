"""Names out of FIX messages and back, byte for byte; firms and codes stay."""

import itertools
import json
import re
import struct
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fix.dialects.data_tags import LENGTH_TAGS
from fix.dialects.person_tags import (
    NOT_PERSONS,
    PERSON_TAGS,
    TEXT_TAGS,
)
from fix.durable.inbox import Inbox, forget, read_from
from fix.durable.wire_log import WireLog, scrub_log
from fix.errors import FixError, MessageError
from fix.wire.fields import SOH
from fix.wire.messages import parse
from fix.wire.persons import (
    FIELDS_MAX,
    Redacted,
    masked,
    redacted,
    restored,
    scrubbings,
    subject_at,
)


class People:
    """Pseudonyms as a vault gives them, in memory."""

    def __init__(self, *known: str) -> None:
        self.names: dict[str, str] = {}
        for name in known:
            self.subject(name)

    def subject(self, name: str) -> str:
        letters = "abcdefghijklmnopqrstuvwxyz"
        number = len(self.names)
        made = "psn-" + letters[number // 26] + letters[number % 26] + "a" * 14
        return self.names.setdefault(name, made)

    def named_in(self, text: str) -> str | None:
        return next((who for name, who in self.names.items() if name in text), None)


def framed(*fields: tuple[int, str], msg_type: str = "8") -> str:
    body = "".join(f"{tag}={value}{SOH}" for tag, value in ((35, msg_type), *fields))
    text = f"8=FIX.4.4{SOH}9={len(body)}{SOH}{body}"
    return f"{text}10={sum(text.encode('latin-1')) % 256:03d}{SOH}"


def out(raw: str, *known: str) -> Redacted:
    people = People(*known)
    return redacted(raw, people.subject, people.named_in)


def party(
    name: str, role: str, source: str = "D", qualifier: str = ""
) -> tuple[tuple[int, str], ...]:
    more = ((2376, qualifier),) if qualifier else ()
    return ((453, "1"), (448, name), (447, source), (452, role), *more)


PERSONS = [
    *(((tag, "Jane Roe"),) for tag in PERSON_TAGS),
    *(party("Jane Roe", role) for role in ("3", "5", "11", "12", "36", "37", "44", "53", "122")),
    party("Jane Roe", "9999"),
    party("Jane Roe", "12", "P"),
    party("Jane Roe", "12", "P", "24"),
    ((453, "1"), (448, "Jane Roe")),
    ((453, "1"), (448, "FIRM"), (447, "D"), (452, "1"), (802, "1"), (523, "Jane Roe"), (803, "9")),
    ((453, "1"), (448, "FIRM"), (447, "D"), (452, "1"), (802, "1"), (523, "Jane Roe")),
    ((539, "1"), (524, "Jane Roe"), (525, "D"), (538, "12")),
]
FIRMS = [
    *(((tag, "Jane Roe"),) for tag in NOT_PERSONS),
    *(party("ACME", role) for role in ("1", "4", "7", "13", "17", "22")),
    party("2001", "12", "P", "24"),
    party("1001", "122", "P", "22"),
    party("robot", "122", "D", "22"),
    party("5493001KJTIIGC8Y1R12", "12", "N"),
    party("psn-aaaaaaaaaaaaaaaa", "11"),
    ((58, "simulator: rejected by script"),),
]


@pytest.mark.parametrize("fields", PERSONS)
def test_a_person_is_taken_out_and_comes_back(fields: tuple[tuple[int, str], ...]) -> None:
    raw = framed((34, "7"), (49, "EMS"), *fields, (37, "X1"))
    done = out(raw)
    assert len(done.named) == 1
    assert "Jane" not in done.text
    parse(done.text)  # length and checksum are right
    assert subject_at(done.text, done.named[0].path) == done.named[0].subject
    assert restored(done.text, {one.path: one.value for one in done.named}) == raw
    assert out(done.text) == Redacted(text=done.text, named=()), "twice is once"


@pytest.mark.parametrize("fields", FIRMS)
def test_a_firm_a_code_or_a_plain_reason_stays(fields: tuple[tuple[int, str], ...]) -> None:
    raw = framed((34, "7"), *fields)
    assert out(raw) == Redacted(text=raw, named=())


def test_text_goes_when_it_names_somebody_known_or_named_here() -> None:
    for raw, known in (
        (framed((57, "J Roe"), (58, "call J ROE about this")), ()),
        (framed((58, "call Jane Roe about this")), ("Jane Roe",)),
    ):
        done = out(raw, *known)
        assert "oe" not in done.text.casefold().replace("reject", "")
        assert {one.path.rpartition("/")[2] for one in done.named} >= {"58"}
        assert restored(done.text, {one.path: one.value for one in done.named}) == raw


def test_an_encoded_text_that_nobody_can_read_goes_whole() -> None:
    """ISO 2022 changes alphabets by escapes: what stands between them may be a name."""
    raw = framed((354, "9"), (355, "\x1b$B;3ED\x1b("))
    done = out(raw)
    assert ";3ED" not in done.text
    assert "355" in {one.path.rpartition("/")[2] for one in done.named}


def test_length_and_checksum_do_not_confirm_a_guess() -> None:
    short, long = out(framed((57, "Jo"))), out(framed((57, "Wilhelmina Featherstonehaugh")))
    assert short.text == long.text
    broken = framed((57, "Jane Roe")).replace("10=", "10=9")
    done = out(broken)
    assert {one.path.rpartition("/")[2] for one in done.named} == {"57", "9", "10"}
    assert restored(done.text, {one.path: one.value for one in done.named}) == broken


def test_a_crowd_is_kept_as_one_value() -> None:
    crowd = [pair for n in range(FIELDS_MAX + 5) for pair in ((448, f"Person {n}"), (452, "12"))]
    raw = framed((453, str(FIELDS_MAX + 5)), *crowd)
    done = out(raw)
    assert [one.path for one in done.named] == ["raw"]
    assert "Person" not in done.text
    assert restored(done.text, {"raw": done.named[0].value}) == raw
    huge = out(framed((57, "Jane"), *crowd, (96, "x" * 60_000)))
    assert huge.named == ()
    assert "Person" not in huge.text


def test_a_value_of_another_message_is_refused() -> None:
    done = out(framed((57, "Jane Roe")))
    for path in ("raw/99/57", "raw/2/57", "raw/x/57", "text", ""):
        with pytest.raises(MessageError):
            restored(done.text, {path: "Jane Roe"})


OTHERS = (448, 447, 452, 2376, 453, 523, 803, 11, 17, 37, 10, 9, 76, 1, 5700, 9999, 20001, 3000)
tags = st.sampled_from([*PERSON_TAGS, *TEXT_TAGS, *LENGTH_TAGS, *OTHERS])
words = st.text(
    st.characters(min_codepoint=0x20, max_codepoint=0xFF), min_size=1, max_size=12
) | st.sampled_from(["Jane Roe", "JANE ROE-1", "by Jane Roe, thanks", "Roe", "Jane*", "*", "psn-x"])


@given(st.lists(st.tuples(tags, words), max_size=12), st.binary(max_size=6))
def test_any_message_comes_back_and_stays_the_same_under_the_mask(
    fields: list[tuple[int, str]], junk: bytes
) -> None:
    for raw in (framed(*fields), framed(*fields) + junk.decode("latin-1")):
        people = People()
        done = redacted(raw, people.subject, people.named_in)
        assert restored(done.text, {one.path: one.value for one in done.named}) == raw
        body = raw.encode("latin-1")
        again = redacted(done.text, lambda name: name, lambda _: None)
        assert again.text == done.text or any(one.path == "raw" for one in done.named)
        before = body
        for once in scrubbings(body):
            assert len(once) == len(body)
            assert masked(once) == masked(body)
            for cut in range(0, len(body), 3):  # a power cut in the middle of the overwriting
                assert masked(once[:cut] + before[cut:]) == masked(body)
                assert masked(before[:cut] + once[cut:]) == masked(body)
            before = once


@given(st.binary(max_size=80))
def test_any_bytes_are_taken(data: bytes) -> None:
    people = People()
    raw = data.decode("latin-1")
    done = redacted(raw, people.subject, people.named_in)
    assert restored(done.text, {one.path: one.value for one in done.named}) == raw
    assert len(scrubbings(data)[-1]) == len(data) == len(masked(data))


def test_the_inbox_forgets_a_name_and_keeps_the_report(tmp_path: Path) -> None:
    path = tmp_path / "inbox"
    inbox = Inbox(path)
    plain, named = framed((37, "X1")), framed((57, "Jane Roe"), (58, "ask Jane"), (37, "X2"))
    entries = [inbox.append(raw) for raw in (plain, named, plain)]
    assert [one.raw for one in read_from(path, 0)] == [plain, named, plain]
    before = path.stat().st_size
    for entry in entries:
        forget(path, entry.offset)
    assert path.stat().st_size == before
    assert b"Jane" not in path.read_bytes()
    kept = read_from(path, 0)
    assert [one.offset for one in kept] == [one.offset for one in entries]
    assert dict(parse(kept[1].raw))[37] == "X2"
    assert kept[0].raw == kept[2].raw == plain
    inbox.close()
    again = Inbox(path)
    assert again.end == entries[-1].next_offset
    again.close()


@pytest.mark.parametrize("more", [(5700, "Jim Doe"), (337, "Jim"), (37, "Jane Roe-4")])
def test_a_frame_whose_checksum_leaves_nothing_out_is_read_and_forgotten(
    tmp_path: Path, more: tuple[int, str]
) -> None:
    path = tmp_path / "inbox"
    body = framed((57, "Jane Roe"), more, (58, "ask Jane")).encode()
    checksum = zlib.crc32(body)
    assert checksum != zlib.crc32(masked(body))
    path.write_bytes(struct.pack("<II", len(body), checksum) + body)
    assert [one.raw.encode() for one in read_from(path, 0)] == [body]
    for _ in range(2):
        forget(path, 0)
        assert not re.search(rb"Jane|Jim", path.read_bytes())
        assert len(read_from(path, 0)) == 1
    inbox = Inbox(path)
    assert inbox.end == path.stat().st_size
    inbox.close()


def test_damage_beside_a_name_is_still_seen(tmp_path: Path) -> None:
    path = tmp_path / "inbox"
    inbox = Inbox(path)
    inbox.append(framed((57, "Jane Roe"), (37, "X2")))
    inbox.append(framed((37, "X3")))
    inbox.close()
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"37=X2", b"37=Y2"))
    with pytest.raises(FixError):
        read_from(path, 0)


def test_the_engines_log_forgets_at_once_and_after_a_crash(tmp_path: Path) -> None:
    path = tmp_path / "messages.current.log"
    raw = framed((34, "5"), (49, "EMS"), (57, "Jane Roe"), (58, "ask Jane"))
    logon = framed((34, "1"), (49, "EMS"), (553, "jroe"), (554, "secret"), msg_type="A")
    log = WireLog(path, "EMS")
    with path.open("ab") as file:
        file.write(b"20261121-05:00:00 : " + logon.encode() + b"\n")
        file.write(b"20261121-05:00:01 : " + raw.encode() + b"\n")
        file.write(b"20261121-05:00:01 : " + raw.encode()[:40])
        file.flush()
        assert log.original(raw) == raw
        after = path.read_bytes()
        assert not re.search(rb"Jane|jroe|secret", after[: after.rindex(b"\n")])
        file.write(raw.encode()[40:] + b"\n")
    assert b"Jane" in path.read_bytes()
    scrub_log(path)
    assert not re.search(rb"Jane|jroe|secret", path.read_bytes())
    assert path.read_bytes().count(b"\n") == 3


def test_tables_say_why() -> None:
    reasons = itertools.chain(PERSON_TAGS.values(), NOT_PERSONS.values(), TEXT_TAGS.values())
    assert all(reasons)
    assert not set(PERSON_TAGS) & set(NOT_PERSONS)
    assert json.dumps(sorted(PERSON_TAGS))


@pytest.mark.parametrize(
    ("kind", "stays"), [("8", False), ("9", False), ("3", False), ("5", True), ("A", True)]
)
def test_words_of_the_session_itself_stay_and_all_others_go(kind: str, *, stays: bool) -> None:
    """They name fields and numbers; an operator needs them."""
    body = f"8=FIX.4.4{SOH}35={kind}{SOH}58=Jane Roe was here{SOH}10=000{SOH}".encode()
    assert (b"Jane" in scrubbings(body)[-1]) is stays


@pytest.mark.parametrize(
    ("fields", "stays"),
    [
        (("523=Jane",), False),
        (("523=Jane", "803=2"), False),
        (("523=Jane", "803=1"), True),
        (("803=1", "523=Jane"), False),
        (("523=Jane", "58=x"), False),
    ],
)
def test_a_partys_own_name_goes_unless_its_type_behind_it_is_a_firms(
    fields: tuple[str, ...], *, stays: bool
) -> None:
    text = "".join(f"{one}{SOH}" for one in ("8=FIX.4.4", "35=8", *fields))
    assert (b"Jane" in scrubbings(text.encode())[-1]) is stays
