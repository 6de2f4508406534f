"""Logs are cleaned while others write them: no line lost, nothing left, no crash leaves half."""

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from gateway.privacy import logs as log_cleaning
from gateway.privacy.logs import OVERLAP_BYTES, WINDOW_BYTES, clean_logs, finish
from gateway.privacy.name_needles import Needle
from gateway.privacy.name_search import places

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

    def searched(data: bytes, wanted: Sequence[Needle]) -> list[tuple[int, int]]:
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
