"""A backup's lines have one form; anything else, of any bytes, is no backup and says so."""

import gzip
import io
import json
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.errors import BackupError
from audit.upkeep.backup import form as backup_form
from audit.upkeep.backup.form import ABOUT, DONE, TABLES, encoded, read_backup
from tests.doubles.backup_world import Line, about_of, ended, head_of, opening, packed

ROWS: dict[str, dict[str, Any]] = {
    "cosignature": {
        "size": 1,
        "name": "w",
        "key_id": b"abcd",
        "line": b"x",
        "received_at_us": 5,
    },
    "checkpoint": {"size": 1, "note": b"n"},
    "blob": {"digest": b"d", "data": b"\0" * 5},
    "entry": {
        **dict.fromkeys(TABLES["entry"], b""),
        **dict.fromkeys(("seq", "stream_seq", "version", "recorded_at_us"), 0),
        **dict.fromkeys(("stream", "kind", "idem_key"), "control"),
        "actor": "Zoë",
        "account": None,
    },
    "disclosure": {"seq": 0, "position": 0, "subject": "s", "sealed": b"x"},
}
LINES: list[Line] = [*opening(1), *ROWS.items()]
SOUND = packed(LINES)


def read(data: bytes) -> list[Line]:
    return list(read_backup(io.BytesIO(data)))


def refused(data: bytes, why: str | None = None) -> None:
    with pytest.raises(BackupError, match=why):
        read(data)


def joined(*lines: bytes) -> bytes:
    """Return a backup of lines as they stand, with a last one that fits them."""
    return gzip.compress(ended(b"".join(lines)))


def with_line(line: bytes, kind: str) -> bytes:
    """Return the sound backup with another line in the place of a kind's."""
    return joined(*(line if k == kind else encoded({"type": k, **row}) for k, row in LINES))


def test_what_was_written_is_what_is_read() -> None:
    *lines, (kind, end) = read(SOUND)
    assert lines == LINES
    assert (kind, end["lines"]) == (DONE, 7)
    assert set(ROWS) | {"head"} == set(TABLES)


@pytest.mark.parametrize(
    "after",
    [
        b"\0",
        bytes(512),
        b"\n",
        b"garbage",
        gzip.compress(b"", mtime=0),
        gzip.compress(b"{}\n", mtime=0),
        SOUND,
        b"\x1f\x8b",
    ],
)
def test_nothing_may_follow_the_end(after: bytes) -> None:
    refused(SOUND + after, "something follows")
    inside = gzip.decompress(SOUND)
    refused(gzip.compress(inside + after), "goes on after its last line")
    half = len(inside) // 2
    refused(gzip.compress(inside[:half]) + gzip.compress(inside[half:]), "something follows|damag")


def test_every_cut_and_every_flipped_bit_is_refused() -> None:
    for place in range(len(SOUND)):
        refused(SOUND[:place])
        spoiled = bytearray(SOUND)
        spoiled[place] ^= 1 << place % 8
        # time, level and system in gzip's header, and the bits that fill its last byte say nothing
        if 3 < place < 10 or place == len(SOUND) - 9:
            continue
        refused(bytes(spoiled))
    inside = gzip.decompress(SOUND)
    for place in range(len(inside)):
        refused(gzip.compress(inside[:place]))
    refused(zlib.compress(inside))
    refused(inside)


@given(st.binary(max_size=300))
def test_any_bytes_are_a_backup_or_a_backup_error(data: bytes) -> None:
    for given_bytes in (data, gzip.compress(data), gzip.compress(ended(data))):
        refused(given_bytes)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)


@given(st.sampled_from(sorted(ROWS)), st.data())
def test_a_column_holds_what_a_database_can_hold_or_is_refused(kind: str, data: Any) -> None:  # noqa: ANN401
    name = data.draw(st.sampled_from(sorted(ROWS[kind])))
    value = data.draw(JSON_VALUES | st.just({"b": "!"}) | st.just({"b": "QQ==", "c": 1}))
    plain = {**json.loads(encoded({"type": kind, **ROWS[kind]})), name: value}
    line = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
    try:
        found = read(with_line(line.encode("utf-8", "surrogatepass") + b"\n", kind))
    except BackupError:
        return
    (row,) = [row for k, row in found if k == kind]
    wanted = TABLES[kind][name]
    right = {"int": int, "tex": str, "byt": bytes}[wanted[:3]]
    assert type(row[name]) is right or (row[name] is None and wanted == "text?")


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        ("entry", "seq", True),
        ("entry", "seq", 0.0),
        ("entry", "seq", "0"),
        ("entry", "seq", 2**63),
        ("entry", "recorded_at_us", 10**400),
        ("entry", "version", 2**31),
        ("entry", "stream", None),
        ("entry", "actor", "a\0b"),
        ("entry", "actor", b"bytes"),
        ("entry", "account", 1),
        ("entry", "leaf", "text"),
        ("entry", "leaf", None),
        ("disclosure", "position", 2**15),
        ("disclosure", "position", -(2**15) - 1),
        ("blob", "data", ["x"]),
        ("blob", "data", {"b": 5}),
        ("blob", "data", {"b": "QR=="}),
        ("blob", "data", {"b": "QQ"}),
    ],
)
def test_wrong_types_and_huge_numbers_are_refused(kind: str, name: str, value: object) -> None:
    refused(with_line(encoded({"type": kind, **ROWS[kind], name: value}), kind))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("origin", ["x"]),
        ("size", True),
        ("size", None),
        ("taken_at_us", "x"),
        ("format", "countersign-backup/2"),
        ("origin", "y"),
        ("size", 2),
    ],
)
def test_a_wrong_word_about_itself_is_refused(name: str, value: object) -> None:
    refused(packed([(ABOUT, {**about_of(1), name: value}), *LINES[1:]]))


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"checkpoint","size":NaN,"note":{"b":"bg=="}}\n',
        b'{"type":"checkpoint","size":1e0,"note":{"b":"bg=="}}\n',
        b'{"type":"checkpoint","size":1,"size":1,"note":{"b":"bg=="}}\n',
        b'{"type":"checkpoint","note":{"b":"bg=="},"size":1,"type":"checkpoint"}\n',
        b'{"type":"checkpoint", "size":1,"note":{"b":"bg=="}}\n',
        b'{"type":"checkpoint","size":1,"note":{"b":"bg=="}}\r\n',
        b'\xef\xbb\xbf{"type":"checkpoint","size":1,"note":{"b":"bg=="}}\n',
        '{"type":"checkpoint","size":1,"note":{"b":"bg=="}}\n'.encode("utf-16"),
        b'{"type":"checkpoint","size":1,"note":{"b":"bg=="},"more":1}\n',
        b'{"type":"checkpoint","size":1}\n',
        b'{"type":"tile","level":0,"n":0}\n',
        b'{"type":["checkpoint"],"size":1}\n',
        b'{"type":"checkpoint\xff","size":1}\n',
        b"[" * 100_000 + b"\n",
        b"\n",
        b"null\n",
    ],
)
def test_a_line_in_another_form_is_refused(line: bytes) -> None:
    refused(with_line(line, "checkpoint"))


def test_text_that_is_no_unicode_is_refused() -> None:
    line = encoded({"type": "entry", **ROWS["entry"]})
    assert b"Zo\xc3\xab" in line
    for other in (b"Zo\xeb", b"Zo\\u00eb", b"Zo\\ud800", b"Zo\xed\xa0\x80"):
        refused(with_line(line.replace(b"Zo\xc3\xab", other), "entry"))


def test_each_line_has_its_place() -> None:
    about, head, *rest = LINES
    for name, lines in (
        ("no first line", [head, *rest]),
        ("no head", [about, *rest]),
        ("nothing but a first line", [about]),
        ("head first", [head, about, *rest]),
        ("two first lines", [about, about, head, *rest]),
        ("two heads", [about, head, head, *rest]),
        ("a head at the end", [about, head, *rest, head]),
        ("tables swapped", [about, head, *reversed(rest)]),
        ("a row twice", [about, head, rest[0], rest[0]]),
        ("a blob twice", [about, head, rest[2], rest[2]]),
        ("a value twice", [about, head, rest[4], rest[4]]),
        ("sizes down", [about, head, ("checkpoint", {"size": 2, "note": b""}), rest[1]]),
    ):
        with pytest.raises(BackupError):
            read(packed(lines))
        assert name
    more = ("disclosure", {**ROWS["disclosure"], "position": 1})
    assert len(read(packed([*LINES, more]))) == 9
    assert [kind for kind, _ in read(packed([(ABOUT, about_of()), ("head", head_of())]))] == [
        *(ABOUT, "head", DONE)
    ]


def test_the_last_line_must_count_and_hash_what_stands_before() -> None:
    text = gzip.decompress(SOUND)
    before, _, last = text.rstrip(b"\n").rpartition(b"\n")
    end = json.loads(last)
    for change in ({"lines": 8}, {"lines": 7.0}, {"sha256": "0" * 64}, {"sha256": None}):
        line = encoded({**end, **change})
        refused(gzip.compress(before + b"\n" + line))
    refused(gzip.compress(before + b"\n"), "cut off")
    refused(gzip.compress(text.rstrip(b"\n")), "form")


def test_a_line_that_never_ends_is_not_kept_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backup_form, "LINE_MAX", 1 << 20)
    refused(gzip.compress(b"x" * (5 << 20)), "more than 1048576 bytes")
    wide = ("blob", {"digest": b"d", "data": bytes(700_000)})
    assert read(packed([*opening(), wide]))[2] == wide
    assert len(read(packed([*opening(), *(("entry", ROWS["entry"]) for _ in range(9000))]))) == 9003
