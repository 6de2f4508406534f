"""The log's key files, killed between any two changes on disk: given again, a change goes through.

Each attempt runs in a process of its own that dies without a word, as `kill -9` would have it.
"""

import os
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from audit.errors import KeyFileError
from audit.signers.file import FileSigner, public_file
from audit.tlog.note import VerifierKey
from gateway.installation.keys import log_keys
from gateway.installation.keys.log_keys import (
    FILE,
    hand_over,
    keep_statement,
    make_key,
    next_of,
    old_of,
    open_key,
    own_vkeys,
    place_of,
    retire,
    settle,
)

ORIGIN = "keys.example/log"
CHANGES = ("open", "link", "rename", "replace", "unlink", "fsync")


def dies_at(number: int, action: Callable[[], object]) -> bool:
    """Do something in a process that is killed before its change of that number; was it killed?"""
    child = os.fork()
    if child == 0:
        try:
            _count_down(number)
            action()
        except BaseException:  # noqa: BLE001 - never back into the tests
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return True
    assert status == 0, "the action failed by itself"
    return False


def _count_down(number: int) -> None:
    left = [number]

    def counted(change: Callable[..., Any]) -> Callable[..., Any]:
        def counting(*args: Any, **named: Any) -> Any:  # noqa: ANN401 - passed on
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)
            return change(*args, **named)

        return counting

    for name in CHANGES:
        setattr(os, name, counted(getattr(os, name)))


@pytest.fixture
def current(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.key"
    FileSigner.generate(path, ORIGIN)
    return path


def rotate(current: Path) -> None:
    """Do what `rotate-key` does to the files, given for the first time or again."""
    settle(current, ORIGIN)
    if old_of(current).exists():
        return
    if not next_of(current).exists():
        make_key(next_of(current), ORIGIN, FILE)
    open_key(current, ORIGIN), open_key(next_of(current), ORIGIN)
    keep_statement(current.with_name("rotation-1.note"), b"statement")
    hand_over(current)


def finish(current: Path) -> None:
    """Do what `rotate-key --finish` does to the files."""
    if not settle(current, ORIGIN) and old_of(current).exists():
        open_key(old_of(current), ORIGIN)
        retire(current, "1")


def vkey(path: Path) -> VerifierKey:
    found = open_key(path, ORIGIN).vkey
    assert VerifierKey.parse(public_file(path).read_text()) == found
    return found


@pytest.mark.parametrize("verb", [rotate, finish])
def test_a_change_of_keys_killed_anywhere_is_taken_up_again(
    current: Path, verb: Callable[[Path], None]
) -> None:
    killed, number = True, 0
    while killed:
        number += 1
        before = vkey(current)
        if verb is finish:
            rotate(current)
        killed = dies_at(number, partial(verb, current))
        note = current.with_name("rotation-1.note")
        assert not note.exists() or note.read_bytes() == b"statement"
        settle(current, ORIGIN)  # as every start does
        vkey(current)
        for path in filter(Path.exists, (next_of(current), old_of(current))):
            vkey(path)
        rotate(current)
        if verb is rotate:
            assert vkey(old_of(current)) == before
            assert vkey(current) != before
            assert set(own_vkeys(current)) >= {str(before), str(vkey(current))}
        finish(current)
        finish(current)
        note.unlink()
        left = {path.name for path in current.parent.iterdir()}
        assert {name for name in left if not name.startswith("rotation-1.note")} == {
            "ledger.key",
            "ledger.key.pub",
            "retired-1.pub",
        }
    assert number > 5, "nothing was cut off"


def test_a_first_key_killed_anywhere_is_made_again(tmp_path: Path) -> None:
    killed, number = True, 0
    while killed:
        number += 1
        current = tmp_path / f"{number}" / "ledger.key"
        current.parent.mkdir()
        killed = dies_at(number, partial(FileSigner.generate, current, ORIGIN))
        settle(current, ORIGIN)
        if not current.exists():
            FileSigner.generate(current, ORIGIN)
        vkey(current)
    assert number > 5, "nothing was cut off"


def test_a_lost_key_is_not_replaced_by_another_beside_its_public_line(current: Path) -> None:
    current.unlink()
    with pytest.raises(KeyFileError, match="without its key"):
        FileSigner.generate(current, ORIGIN)
    assert not current.exists()


def test_a_key_in_a_device_without_its_file_is_said_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who believed that the key was made would sign with it at no later start."""

    class Device:
        """A device that has the key."""

        vkey = "keys.example/log+00000000+AQ=="

        def __init__(self, *_: object) -> None:
            """Open it."""

        @staticmethod
        def exists(_place: str) -> bool:
            """Say that it was made before."""
            return True

    monkeypatch.setattr(log_keys, "Pkcs11Signer", Device)
    place = "pkcs11:token=t;object=k"
    path = tmp_path / "ledger.key"
    make_key(path, ORIGIN, place)
    assert place_of(path) == place
    with pytest.raises(KeyFileError, match="exist"):
        make_key(path, ORIGIN, place)
    with pytest.raises(KeyFileError, match="cannot write"):
        make_key(path / "ledger.key", ORIGIN, place)
