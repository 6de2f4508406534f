"""Logs are cleaned while others write them: no line lost, nothing left, no crash leaves half."""

import json
import os
import subprocess
import sys
import textwrap
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.privacy import logs as log_cleaning
from gateway.privacy.logs import (
    OVERLAP_BYTES,
    WINDOW_BYTES,
    Sought,
    clean_logs,
    finish,
    places,
    sought,
)

NAME = "Jörg Übelhör"


def clean(path: Path, *names: str) -> None:
    clean_logs([path], names or (NAME,), path.parent / "cleaning.json")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "fix.log"


def test_the_file_stays_the_same_file(log: Path) -> None:
    log.write_bytes(f"one {NAME}\ntwo {NAME.upper()} {json.dumps(NAME)}\nthree\n".encode())
    log.chmod(0o640)
    before = log.stat()
    clean(log)
    after = log.stat()
    assert (after.st_ino, after.st_mode, after.st_size) == (
        before.st_ino,
        before.st_mode,
        before.st_size,
    )
    lines = log.read_bytes().split(b"\n")
    assert lines == [
        b"one " + b"*" * 15,
        b"two " + b"*" * 15 + b' "' + b"*" * 27 + b'"',
        b"three",
        b"",
    ]
    assert [path.name for path in log.parent.iterdir()] == ["fix.log"], "no note is left"
    clean(log)
    assert log.read_bytes().split(b"\n") == lines


def test_a_name_across_windows_is_found_and_an_edge_is_no_word_end(log: Path) -> None:
    form = NAME.encode()
    for shift in (0, 5, len(form) - 1, len(form)):
        edge = WINDOW_BYTES - shift
        data = b"." * (edge - 1) + b" " + form + b" " + b"." * 100
        log.write_bytes(data)
        clean(log)
        assert log.read_bytes() == data.replace(form, b"*" * len(form))
        for ends in (b" ", b"x"):
            longer = b"x" * edge + form + ends * OVERLAP_BYTES + b"\n"
            log.write_bytes(longer)
            clean(log)
            assert log.read_bytes() == longer


APPENDER = """
    import sys
    name, path, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    with open(path, "ab", buffering=0) as file:
        print("began", flush=True)
        for n in range(count):
            line = f"{n:06d} {name} said {n}\\n".encode()
            cut = 7 + n % len(name.encode())  # every line in two writes, mostly within the name
            file.write(line[:cut])
            file.write(line[cut:])
"""


def test_no_line_of_a_busy_log_is_lost_and_none_keeps_the_name(log: Path) -> None:
    count = 6_000
    log.touch()
    writing = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(APPENDER), NAME, str(log), str(count)],
        stdout=subprocess.PIPE,
    )
    assert writing.stdout is not None
    assert writing.stdout.readline() == b"began\n"
    rounds = 0
    while writing.poll() is None:
        clean(log)
        rounds += 1
    assert writing.wait() == 0
    writing.stdout.close()
    clean(log)
    stars = b"*" * len(NAME.encode())
    wanted = [b"%06d %s said %d" % (n, stars, n) for n in range(count)]
    assert log.read_bytes().splitlines() == wanted
    assert rounds


def test_the_rest_of_a_line_is_waited_for(log: Path) -> None:
    writer = """
        import sys, time
        with open(sys.argv[1], "ab", buffering=0) as file:
            file.write("Jörg Üb".encode())
            print("half", flush=True)
            time.sleep(0.2)
            file.write("elhör\\n".encode())
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(writer), str(log)], stdout=subprocess.PIPE
    ) as writing:
        assert writing.stdout is not None
        assert writing.stdout.readline() == b"half\n"
        clean(log)
        assert log.read_bytes() == b"*" * len(NAME.encode()) + b"\n"


def test_half_a_name_that_a_crash_left_goes_with_the_next_try(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = f"a {NAME} b {NAME} c\n".encode()
    log.write_bytes(data)

    def torn(descriptor: int, ranges: list[tuple[int, int]]) -> None:
        start, _ = ranges[0]
        os.pwrite(descriptor, b"***", start)
        raise KeyboardInterrupt("the power went")

    with monkeypatch.context() as patch:
        patch.setattr(log_cleaning, "_star", torn)
        with pytest.raises(KeyboardInterrupt):
            clean(log)
    note = log.parent / "cleaning.json"
    assert NAME.encode() not in note.read_bytes()
    assert b"belh" in log.read_bytes()
    clean(log)
    stars = b"*" * len(NAME.encode())
    assert log.read_bytes() == b"a " + stars + b" b " + stars + b" c\n"
    assert not note.exists()


def test_a_note_about_another_file_overwrites_nothing(log: Path) -> None:
    log.write_bytes(b"0123456789")
    note = log.parent / "cleaning.json"
    same = {"path": str(log), "inode": log.stat().st_ino}
    for said, left in (
        ({**same, "inode": 1, "ranges": [[0, 5]]}, b"0123456789"),
        ({**same, "path": str(log) + "gone", "ranges": [[0, 5]]}, b"0123456789"),
        ({**same, "ranges": [[2, 4], [8, 20]]}, b"01**456789"),
    ):
        note.write_text(json.dumps(said))
        finish(note)
        assert log.read_bytes() == left
        assert not note.exists()


def meanwhile(patch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
    """Let something happen to a file between reading it and overwriting it, once."""
    todo = [happens]

    def searched(data: bytes, wanted: Sequence[Sought]) -> list[tuple[int, int]]:
        found = places(data, wanted)
        if todo:
            todo.pop()()
        return found

    patch.setattr(log_cleaning, "places", searched)


def test_a_log_that_is_begun_anew_is_searched_from_its_beginning(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.write_bytes(b"x" * 3 * WINDOW_BYTES + b"\n")
    meanwhile(monkeypatch, lambda: log.write_bytes(f"{NAME} is new\n".encode()))
    clean(log)
    assert log.read_bytes() == b"*" * len(NAME.encode()) + b" is new\n"


def test_only_what_was_read_is_overwritten(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log.write_bytes(f"before {NAME} behind\n".encode())
    meanwhile(monkeypatch, lambda: log.write_bytes(f"{NAME} before behind\n".encode()))
    clean(log)
    assert log.read_bytes() == b"*" * len(NAME.encode()) + b" before behind\n"


def cleaned(data: bytes, *names: str) -> bytes:
    made = bytearray(data)
    for start, end in places(data, sought(names)):
        made[start:end] = b"*" * (end - start)
    return bytes(made)


@pytest.mark.parametrize("name", [NAME, "Groß, Anna", "Ada O'Neil", "Σίσυφος", "Ặng Nguyễn"])
@pytest.mark.parametrize("shape", ["NFC", "NFD"])
@pytest.mark.parametrize("case", [str, str.lower, str.upper, str.title, str.casefold])
def test_a_name_is_gone_in_every_usual_form_and_what_stands_around_it_stays(
    name: str, shape: Literal["NFC", "NFD"], case: Callable[[str], str]
) -> None:
    text = unicodedata.normalize(shape, case(name))
    forms = {
        text.encode(),
        text.encode().decode("latin-1").encode(),
        json.dumps(text)[1:-1].encode(),
    }
    forms.add(json.dumps(text.encode().decode("latin-1"))[1:-1].encode())
    forms.add(json.dumps(json.dumps(text)[1:-1])[1:-1].encode())
    if max(text) <= "\xff":
        forms.add(text.encode("latin-1"))
    for form in forms:
        for before, after in (
            (b"by ", b" x"),
            (b'"58=', b'"'),
            (rb"\n", rb"\n"),
            (rb"\u0001", b"\x01"),
        ):
            done = cleaned(before + form + after, name)
            assert done == before + b"*" * len(form) + after, form


def test_words_of_a_name_stand_in_their_order_or_begin_with_a_later_one() -> None:
    for text in ("Byron, Ada", "BYRON  ada", "Ada\tByron"):
        assert cleaned(f"x {text}.".encode(), "Ada Byron") == b"x " + b"*" * len(text) + b"."
    assert cleaned(b"Ann Lee, and Ann met Lee Ann", "Ann Lee", "Ann").count(b"A") == 0


@pytest.mark.parametrize("text", ["Ada", "Byron said", "Ada Byrons", "xAda Byron", "Ada_Byron"])
def test_another_word_is_no_name_in_a_log(text: str) -> None:
    assert cleaned(text.encode(), "Ada Byron", "Bo", "12345") == text.encode()


def test_a_script_without_blanks_has_no_edges() -> None:
    for name, text in (
        ("田中太郎", "昨日田中太郎さんが"),
        ("李明", "a李明b"),
        ("สมชาย", "คุณสมชายมา"),
    ):
        assert cleaned(text.encode(), name).decode().replace("*", "") == text.replace(name, "")


@given(st.binary(max_size=300), st.text(min_size=1, max_size=20))
def test_any_bytes_are_searched_for_any_name(data: bytes, name: str) -> None:
    done = cleaned(data, name)
    assert len(done) == len(data)
    assert cleaned(done, name) == done
