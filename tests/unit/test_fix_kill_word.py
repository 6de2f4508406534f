"""The kill word closes first, lasts, and fails closed."""

import fcntl
import os
import threading
from pathlib import Path

import pytest

from fix.errors import KillWordError
from fix.kill import CLOSING, SIZE, KillWord


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "kill.word"


def test_a_new_word_is_open_and_a_press_is_seen_by_every_mapping(path: Path) -> None:
    ours, theirs = KillWord(path, create=True), KillWord(path)
    assert theirs.read() == (0, False)
    assert ours.press() == 1
    assert theirs.read() == (1, True)
    assert theirs.press() == 2
    assert ours.read() == (2, True)


def test_a_press_survives_the_process(path: Path) -> None:
    KillWord(path, create=True).press()
    assert KillWord(path, create=True).read() == (1, True)


def test_a_release_names_the_epoch_that_is_pressed(path: Path) -> None:
    word = KillWord(path, create=True)
    with pytest.raises(KillWordError, match="not pressed"):
        word.release(0)
    word.press()
    word.press()
    with pytest.raises(KillWordError, match="epoch 1, pressed is 2"):
        word.release(1)
    assert word.read() == (2, True)
    word.release(2)
    assert word.read() == (2, False)


def test_no_changed_bit_opens_a_killed_word(path: Path) -> None:
    word = KillWord(path, create=True)
    word.press()
    sound = path.read_bytes()
    for place in range(CLOSING):
        for bit in range(8):
            damaged = bytearray(sound)
            damaged[place] ^= 1 << bit
            path.write_bytes(damaged)
            assert KillWord(path).read().killed, (place, bit)


def test_a_press_that_was_cut_off_still_counts_and_blocks_a_release(path: Path) -> None:
    word = KillWord(path, create=True)
    with path.open("r+b") as file:
        file.seek(CLOSING)
        file.write(b"\x01")
    assert word.read() == (0, True)
    with pytest.raises(KillWordError, match="press has begun"):
        word.release(0)
    assert word.press() == 1
    word.release(1)
    assert word.read() == (1, False)


def test_a_removed_replaced_or_short_file_reads_as_killed(path: Path, tmp_path: Path) -> None:
    word = KillWord(path, create=True)
    path.rename(tmp_path / "away")
    assert word.read().killed
    KillWord(path, create=True)
    assert word.read().killed, "another file under the same name is not ours"
    (tmp_path / "away").replace(path)
    assert not word.read().killed
    os.truncate(path, SIZE + 1)
    assert word.read().killed
    with pytest.raises(KillWordError, match="33 bytes"):
        KillWord(path)


def test_a_missing_word_is_not_created_in_passing(path: Path) -> None:
    with pytest.raises(KillWordError):
        KillWord(path)
    assert not path.exists()


def test_the_ledger_brings_a_lost_word_back_and_never_opens_one(path: Path) -> None:
    word = KillWord(path, create=True)
    assert word.restore(3, killed=True) == (3, True)
    assert word.restore(2, killed=False) == (3, True)
    assert word.restore(3, killed=False) == (3, True), "a press the ledger has not seen stays"
    word.release(3)
    assert word.restore(3, killed=False) == (3, False)
    word.press()
    assert word.restore(9, killed=False) == (10, True), "no release on record opens a shut gate"
    assert word.restore(9, killed=False) == (10, True)
    assert word.restore(11, killed=True) == (11, True)
    word.release(11)
    assert word.restore(12, killed=False) == (12, False)
    damaged = bytearray(path.read_bytes())
    damaged[9] ^= 1
    path.write_bytes(damaged)
    assert word.restore(15, killed=False) == (16, True)


def test_presses_at_the_same_time_have_different_epochs(path: Path) -> None:
    words = [KillWord(path, create=True), KillWord(path)]
    epochs: list[int] = []
    threads = [
        threading.Thread(target=lambda word=word: epochs.append(word.press())) for word in words * 8
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(epochs) == list(range(1, 17))
    assert words[0].read() == (16, True)


def test_a_writer_that_hangs_delays_no_closing(path: Path) -> None:
    word = KillWord(path, create=True)
    with path.open("rb") as hanging:
        fcntl.flock(hanging, fcntl.LOCK_EX)
        with pytest.raises(KillWordError, match="shut, but another process holds its lock"):
            word.press()
        assert KillWord(path).read().killed
    assert word.press() == 1
    assert word.read() == (1, True)
