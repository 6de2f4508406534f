"""The kill word closes first, lasts, and fails closed."""

import fcntl
import os
import threading
from pathlib import Path

import pytest

from fix.durable.kill_word import CLOSING, OLD_SIZE, SIZE, KillWord
from fix.errors import KillWordError


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


def test_a_word_that_was_read_is_not_trusted_once_a_bit_of_it_changes(path: Path) -> None:
    word = KillWord(path, create=True)
    whole = path.read_bytes()
    for bit in range(25 * 8):  # magic, value, checksum and the flag of a press
        assert word.read() == (0, False)
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        with path.open("r+b") as file:
            file.write(damaged)
        assert word.read().killed, f"bit {bit}"
        with path.open("r+b") as file:
            file.write(whole)


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


def begin_to_press(path: Path) -> None:
    """Shut the gate as a press does first, before its epoch is stored."""
    with path.open("r+b") as file:
        file.seek(CLOSING)
        file.write(b"\1")


def test_a_press_that_has_begun_is_acted_on_under_its_own_epoch(path: Path) -> None:
    word = KillWord(path, create=True)
    assert word.in_force() == (0, False)
    for epoch in (1, 2):
        begin_to_press(path)
        assert word.read() == (epoch - 1, True)
        assert word.in_force() == (epoch, True)
        assert word.press() == epoch
        assert word.in_force() == word.read() == (epoch, True)
    word.release(2)
    assert word.in_force() == (2, False)
    path.write_bytes(b"x" * SIZE)
    assert word.in_force().killed


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
    with pytest.raises(KillWordError, match="97 bytes"):
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


def test_each_press_draws_128_bits_that_every_mapping_reads(path: Path) -> None:
    ours, theirs = KillWord(path, create=True), KillWord(path)
    assert (ours.newest_press().press_id, ours.newest_press().killed) == ("", False)
    ours.press()
    first = theirs.newest_press()
    theirs.press()
    second = ours.newest_press()
    assert (first.kill_epoch, second.kill_epoch) == (1, 2)
    assert len(first.press_id) == len(second.press_id) == 32
    assert first.press_id != second.press_id
    assert second.is_of_this_boot
    assert first.pressed_us <= second.pressed_us


def test_a_release_names_the_press_that_is_in_force(path: Path) -> None:
    word = KillWord(path, create=True)
    word.press()
    old = word.newest_press().press_id
    word.press()
    new = word.newest_press().press_id
    with pytest.raises(KillWordError, match="names another press"):
        word.release(2, old)
    assert word.read() == (2, True)
    word.release(2, new)
    assert word.read() == (2, False)
    assert word.newest_press().press_id == new, "kept: it says which press was released"


def test_a_word_that_is_lost_and_restored_has_another_press_id(path: Path) -> None:
    word = KillWord(path, create=True)
    word.press()
    first = word.newest_press().press_id
    path.unlink()
    again = KillWord(path, create=True)
    assert again.restore(1, killed=True) == (1, True)
    assert again.newest_press().press_id not in {"", first}
    assert again.restore(1, killed=True) == (1, True)
    kept = again.newest_press().press_id
    assert again.restore(1, killed=True) == (1, True)
    assert again.newest_press().press_id == kept, "a start draws no new id for the same press"


def test_a_word_of_an_earlier_version_reads_the_same_and_gets_an_id(path: Path) -> None:
    for killed in (False, True):
        word = KillWord(path, create=True)
        word.press()
        if not killed:
            word.release(1)
        word.close()
        path.write_bytes(path.read_bytes()[:OLD_SIZE])
        word = KillWord(path)
        assert word.read() == (1, killed)
        assert word.newest_press().press_id == ""
        named = word.name_press()
        assert bool(named.press_id) is killed
        assert word.read() == (1, killed)
        assert KillWord(path).newest_press() == named
        assert path.stat().st_size == SIZE
        path.unlink()


def test_a_damaged_press_id_releases_nothing_and_is_drawn_again(path: Path) -> None:
    word = KillWord(path, create=True)
    word.press()
    sound, first = path.read_bytes(), word.newest_press().press_id
    for place in range(OLD_SIZE, SIZE - 16):
        damaged = bytearray(sound)
        damaged[place] ^= 1
        path.write_bytes(damaged)
        again = KillWord(path)
        assert again.read() == (1, True)
        assert again.newest_press().press_id == "", place
        with pytest.raises(KillWordError, match="another press"):
            again.release(1, first)
        again.close()
    assert KillWord(path).name_press().press_id not in {"", first}
