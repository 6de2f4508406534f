"""A message counts as received once its bytes are on the disk, and not before."""

import os
from pathlib import Path

import pytest

from fix.durable.inbox import FRAME_BYTES_MAX, Inbox, read_from
from fix.errors import InboxError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "inbox"


def test_a_message_is_on_the_disk_before_it_counts(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inbox = Inbox(path)
    synced: list[tuple[int, int]] = []
    real = {"fdatasync": os.fdatasync, "fsync": os.fsync}

    def watching(name: str, descriptor: int) -> None:
        real[name](descriptor)
        synced.append((os.fstat(descriptor).st_size, inbox.end))

    for name in real:
        monkeypatch.setattr(os, name, lambda fd, name=name: watching(name, fd))
    for number in range(3):
        before = inbox.end
        inbox.append(f"35=8|n={number}|")
        size, counted = synced[-1]
        assert len(synced) == number + 1, "one sync for each message"
        assert size == path.stat().st_size, "all bytes were written before the sync"
        assert counted == before, "it counts after the sync"


def test_a_message_that_the_disk_refused_does_not_count(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inbox = Inbox(path)
    first = inbox.append("35=8|n=0|")

    def refuse(_: int) -> None:
        raise OSError("the disk is gone")

    with monkeypatch.context() as broken:
        for name in ("fdatasync", "fsync"):
            broken.setattr(os, name, refuse)
        with pytest.raises(OSError, match="gone"):
            inbox.append("35=8|n=1|")
    assert inbox.end == first.next_offset
    again = inbox.append("35=8|n=2|")
    assert again.offset == first.next_offset
    assert [one.raw for one in read_from(path, 0)] == ["35=8|n=0|", "35=8|n=2|"]


def test_a_message_that_was_written_short_does_not_count(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inbox = Inbox(path)
    real = os.pwrite
    with monkeypatch.context() as full:
        full.setattr(os, "pwrite", lambda to, data, at: real(to, data[:-1], at))
        with pytest.raises(OSError, match="bytes to the inbox"):
            inbox.append("35=8|n=0|")
    assert (inbox.end, read_from(path, 0)) == (0, [])


def test_a_last_frame_that_a_power_cut_left_whole_but_wrong_is_dropped(path: Path) -> None:
    """Its length reached the disk, its bytes did not: it was never counted."""
    inbox = Inbox(path)
    first, second = inbox.append("35=8|n=0|"), inbox.append("35=8|n=1|")
    inbox.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:-3] + bytes(3))
    assert [one.raw for one in read_from(path, 0)] == ["35=8|n=0|"]
    again = Inbox(path)
    assert again.end == path.stat().st_size == first.next_offset
    assert again.append("35=8|n=2|").offset == second.offset
    again.close()
    assert [one.raw for one in read_from(path, 0)] == ["35=8|n=0|", "35=8|n=2|"]


@pytest.mark.parametrize("too_many", [0, 1])
def test_a_length_that_no_frame_has_is_damage_and_not_a_frame_on_its_way(
    path: Path, too_many: int
) -> None:
    inbox = Inbox(path)
    first = inbox.append("35=8|n=0|")
    inbox.close()
    head = (FRAME_BYTES_MAX + too_many).to_bytes(4, "little") + bytes(4)
    path.write_bytes(path.read_bytes() + head + b"35=8|")
    if too_many:
        with pytest.raises(InboxError, match=str(first.next_offset)):
            read_from(path, 0)
        with pytest.raises(InboxError):
            Inbox(path)
    else:
        assert [one.raw for one in read_from(path, 0)] == ["35=8|n=0|"]
        Inbox(path).close()
        assert path.stat().st_size == first.next_offset


def test_a_message_that_nobody_could_read_again_is_not_written(tmp_path: Path) -> None:
    inbox = Inbox(tmp_path / "inbox")
    long = inbox.append("x" * (1 << 20) + "y")
    with pytest.raises(OSError, match="too long for the inbox"):
        inbox.append("x" * (FRAME_BYTES_MAX + 1))
    after = inbox.append("8=x")
    assert [one.offset for one in read_from(tmp_path / "inbox", 0)] == [long.offset, after.offset]
