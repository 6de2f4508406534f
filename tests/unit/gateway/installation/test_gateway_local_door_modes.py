"""Whose the door of local verbs is: each bit of a mode, each owner, each link; without a server."""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from gateway.errors import DoorError, StateInUseError
from gateway.installation.local.client import DoorAnswer, get, post
from gateway.installation.local.door import SOCKET_NAME, connect, leave, listen, peer_uid
from gateway.installation.settings import load
from gateway.installation.state import StateFolder

ME = os.geteuid()
US = frozenset({ME})
BITS = (0o040, 0o020, 0o010, 0o004, 0o002, 0o001)


@contextmanager
def door(folder: Path) -> Iterator[socket.socket]:
    """Listen at a door."""
    with closing(listen(folder)) as listener:
        listener.listen()
        yield listener
    leave(folder)


def test_a_door_is_made_for_nobody_else(tmp_path: Path) -> None:
    folder = tmp_path / "door"
    with door(folder):
        assert folder.stat().st_mode & 0o777 == 0o700
        assert (folder / SOCKET_NAME).stat().st_mode & 0o777 == 0o600
        with connect(folder, US, 5.0) as caller:
            assert peer_uid(caller) == ME
    assert not (folder / SOCKET_NAME).exists()


@pytest.mark.parametrize("bit", BITS, ids=oct)
def test_a_door_with_any_bit_for_others_is_not_spoken_at(tmp_path: Path, bit: int) -> None:
    folder = tmp_path / "door"
    with door(folder):
        for path, mode in ((folder, 0o700), (folder / SOCKET_NAME, 0o600)):
            path.chmod(mode | bit)
            with pytest.raises(DoorError, match="open to other users"):
                connect(folder, US, 5.0)
            path.chmod(mode)
        connect(folder, US, 5.0).close()


def test_a_door_that_was_open_is_closed_by_the_next_start(tmp_path: Path) -> None:
    folder = tmp_path / "door"
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    (folder / SOCKET_NAME).write_text("what an earlier start left")
    with door(folder):
        assert folder.stat().st_mode & 0o777 == 0o700
        connect(folder, US, 5.0).close()


@pytest.mark.skipif(ME != 0, reason="only root can give a folder away")
def test_nobody_listens_in_a_folder_of_somebody_else(tmp_path: Path) -> None:
    folder = tmp_path / "door"
    folder.mkdir(mode=0o700)
    os.chown(folder, 1, 1)
    with pytest.raises(DoorError, match="belongs to user 1"):
        listen(folder)


@pytest.mark.skipif(ME != 0, reason="only root can give a file away")
def test_neither_folder_nor_socket_may_be_somebody_elses(tmp_path: Path) -> None:
    folder = tmp_path / "door"
    with door(folder):
        for path in (folder, folder / SOCKET_NAME):
            os.chown(path, 1, -1)
            with pytest.raises(DoorError, match="belongs to user 1"):
                connect(folder, US, 5.0)
            os.chown(path, ME, -1)
        os.chown(folder, -1, 1)
        connect(folder, US, 5.0).close()


def test_a_link_is_no_door(tmp_path: Path) -> None:
    folder, link = tmp_path / "door", tmp_path / "link"
    link.symlink_to(folder)
    with door(folder):
        with pytest.raises(OSError, match="Not a directory"):
            connect(link, US, 5.0)
        with pytest.raises(DoorError, match="cannot listen"):
            listen(link)
        (folder / SOCKET_NAME).rename(tmp_path / "moved")
        (folder / SOCKET_NAME).symlink_to(tmp_path / "moved")
        with pytest.raises(DoorError, match="open to other users"):
            connect(folder, US, 5.0)


def test_nobody_there_is_an_error_of_the_system(tmp_path: Path) -> None:
    folder = tmp_path / "door"
    with pytest.raises(FileNotFoundError):
        connect(folder, US, 5.0)
    listen(folder).close()
    with pytest.raises(ConnectionRefusedError):
        connect(folder, US, 5.0)


def test_a_folder_has_one_holder_and_says_who(tmp_path: Path) -> None:
    state = StateFolder.of(load(state=tmp_path / "state"))
    state.create()
    assert state.root.stat().st_mode & 0o777 == 0o711
    for part in ("fix", "ems", "runs", "logs", "engine"):
        assert (state.root / part).stat().st_mode & 0o777 == 0o700
    state.lock_file.write_text("an earlier holder, 123456789 1234567890")
    state.lock_file.chmod(0o600)
    with state.lock():
        assert state.lock_file.read_text() == str(os.getpid())
    with state.lock():
        pass


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666])
def test_a_lock_that_others_may_open_is_replaced_by_a_private_one(
    tmp_path: Path, mode: int
) -> None:
    """Who has the old one open still keeps nobody out."""
    state = StateFolder.of(load(state=tmp_path / "state"))
    state.create()
    state.lock_file.touch()
    state.lock_file.chmod(mode)
    with state.lock_file.open() as stranger, state.lock() as handle:
        assert state.lock_file.stat().st_mode & 0o777 == 0o600
        assert os.path.samestat(os.fstat(handle.fileno()), state.lock_file.stat())
        assert not os.path.samestat(os.fstat(stranger.fileno()), state.lock_file.stat())
        with pytest.raises(StateInUseError, match=str(os.getpid())):
            state.lock()


def test_a_lock_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    state = StateFolder.of(load(state=tmp_path / "state"))
    state.create()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine")
    state.lock_file.symlink_to(elsewhere)
    with pytest.raises(OSError, match="symbolic links"):
        state.lock()
    assert elsewhere.read_text() == "mine"


def test_a_lock_that_is_replaced_while_it_is_taken_is_taken_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another start removes a lock of an earlier version between our opening and locking it."""
    state = StateFolder.of(load(state=tmp_path / "state"))
    state.create()
    state.lock().close()
    real, turns = os.fdopen, threading.Semaphore(1)

    def replaced(*values: object, **names: object) -> object:
        if turns.acquire(blocking=False):
            state.lock_file.unlink()
            state.lock_file.touch(mode=0o600)
        return real(*values, **names)  # type: ignore[call-overload]

    monkeypatch.setattr(os, "fdopen", replaced)
    with state.lock() as handle:
        assert os.path.samestat(os.fstat(handle.fileno()), state.lock_file.stat())


def test_parts_of_an_earlier_version_are_closed(tmp_path: Path) -> None:
    state = StateFolder.of(load(state=tmp_path / "state"))
    state.create()
    state.kill_word.write_bytes(b"word")
    state.kill_word.chmod(0o644)
    (state.root / "fix").chmod(0o755)
    state.create()
    assert state.kill_word.stat().st_mode & 0o777 == 0o600
    assert (state.root / "fix").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("status", "document", "refused"),
    [
        (200, {"message": "well"}, ""),
        (399, {}, ""),
        (400, {"message": "not so"}, "not so"),
        (403, {"detail": {"code": "forbidden", "message": "may not"}}, "may not"),
        (409, {"detail": "in words"}, "in words"),
        (503, {}, "refused"),
    ],
)
def test_a_refusal_is_read_as_one(status: int, document: dict[str, object], refused: str) -> None:
    assert DoorAnswer(status=status, document=document).refused == refused


@pytest.mark.skipif(ME != 0, reason="only root can have a group of another number")
def test_whoever_answers_is_known_by_his_user_not_his_group(tmp_path: Path) -> None:
    folder = tmp_path / "door"
    with closing(listen(folder)) as listener:
        os.setegid(ME + 1)
        try:
            listener.listen()  # whose the kernel says that it is
        finally:
            os.setegid(os.getgid())
        with connect(folder, US, 5.0) as caller:
            assert peer_uid(caller) == ME


@pytest.mark.skipif(ME != 0, reason="only root can give a folder away")
def test_a_key_goes_to_its_folders_owner_and_to_nobody_else(tmp_path: Path) -> None:
    state = StateFolder.of(load(state=tmp_path / "state"))
    state.create()
    state.keys.mkdir(mode=0o700)
    with door(state.door):
        for path in (state.door, state.door / SOCKET_NAME):
            os.chown(path, 1, -1)
            with pytest.raises(DoorError, match="belongs to user 1"):
                post(state, "/v1/kill", "{}", "a-key", 5.0)
            os.chown(path, ME, -1)
        os.chown(state.keys, 1, -1)
        os.chown(state.door, 2, -1)
        with pytest.raises(DoorError, match="belongs to user 2"):
            get(state, "/v1/kill", "a-key", 5.0)


def test_without_a_gateway_a_verb_is_told_which_folder_was_asked(tmp_path: Path) -> None:
    state = StateFolder.of(load(state=tmp_path / "state"))
    state.create()
    state.keys.mkdir(mode=0o700, exist_ok=True)
    for _ in ("no door", "a door that nobody opens"):
        with pytest.raises(OSError, match=f"no gateway runs on {state.root}: start it"):
            get(state, "/v1/kill", "a-key", 5.0)
        listen(state.door).close()
