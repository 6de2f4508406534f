"""Local verbs reach the gateway of their folder and nobody else; a key goes to no stranger."""

import fcntl
import json
import os
import pwd
import shutil
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fastapi import FastAPI, Request

from fix.durable.kill_word import KillWord
from gateway.errors import DoorError, StateInUseError
from gateway.installation.keys.keyring import Keyring
from gateway.installation.local import door as local_door
from gateway.installation.local.client import post
from gateway.installation.settings import ApiSettings, load
from gateway.installation.state import StateFolder
from gateway.launch.commands.kill import press_kill
from gateway.surfaces.connections import BoundedConfig
from gateway.surfaces.server import LIMITS, Server
from tests.doubles.other_user import STRANGER, opened_by_stranger

ME = os.geteuid()
STRANGERS = frozenset({ME + 1})


@pytest.fixture
def state() -> Iterator[StateFolder]:
    """A state folder with keys, below folders that everybody may pass through."""
    root = Path(tempfile.mkdtemp(prefix="countersign-door-"))
    root.chmod(0o711)
    folder = StateFolder.of(load(state=root / "state"))
    folder.create()
    Keyring.create(folder.keys)
    yield folder
    shutil.rmtree(root)


@contextmanager
def gateway(state: StateFolder) -> Iterator[list[str]]:
    """Run the gateway's own server at the folder's door; yield the keys that it was shown."""
    app, shown = FastAPI(), []

    @app.post("/v1/kill")
    async def kill(request: Request) -> dict[str, object]:
        shown.append(request.headers["authorization"])
        return {"said": (await request.json())["reason"]}

    server = Server(ApiSettings(port=0), door=state.door)
    server.start(app)
    try:
        yield shown
    finally:
        server.stop()


def test_a_verb_reaches_the_gateway_of_its_folder(state: StateFolder) -> None:
    with state.lock(), gateway(state) as shown:
        answer = post(state, "/v1/kill", json.dumps({"reason": "why"}), "a-key", 5.0)
    assert answer.document == {"said": "why"}
    assert shown == ["Bearer a-key"]
    with pytest.raises(ConnectionRefusedError, match="no gateway runs on"):
        post(state, "/v1/kill", "{}", "a-key", 5.0)


def test_a_path_longer_than_a_socket_name_may_be_does_no_harm(state: StateFolder) -> None:
    deep = state.root / ("d" * 120) / ("e" * 120)
    far = StateFolder.of(load(state=deep))
    deep.mkdir(parents=True)
    Keyring.create(far.keys)
    with far.lock(), gateway(far) as shown:
        post(far, "/v1/kill", json.dumps({"reason": "why"}), "a-key", 5.0)
    assert shown == ["Bearer a-key"]


def test_a_stranger_at_the_recorded_port_is_sent_no_key(state: StateFolder) -> None:
    """The attack: keep the lock, wait for the gateway's end, listen where it did."""
    word = KillWord(state.kill_word, create=True)
    with socket.create_server(("127.0.0.1", 0)) as port:
        port.settimeout(0.0)
        with state.lock(), gateway(state):
            state.say_address(f"http://127.0.0.1:{port.getsockname()[1]}")
        with state.lock_file.open() as handle:
            fcntl.flock(handle, fcntl.LOCK_SH)
            assert press_kill(load(state=state.root), "why") == 0
        with pytest.raises(BlockingIOError):
            port.accept()
    assert word.read().killed
    word.close()


def test_a_lock_that_a_stranger_may_have_open_is_replaced(state: StateFolder) -> None:
    for name in ("lock", "address"):
        (state.root / name).write_text("http://127.0.0.1:9 1")
        (state.root / name).chmod(0o644)  # as an earlier version made them
    with state.lock_file.open() as held:
        fcntl.flock(held, fcntl.LOCK_SH)
        with pytest.raises(StateInUseError):
            state.lock()
        fcntl.flock(held, fcntl.LOCK_UN)
        with state.lock():
            state.say_address("http://127.0.0.1:9")
            fcntl.flock(held, fcntl.LOCK_SH | fcntl.LOCK_NB)  # his, and no lock of ours
            with pytest.raises(StateInUseError, match=str(os.getpid())):
                state.lock()
        state.lock().close()
    for name in ("lock", "address"):
        assert (state.root / name).stat().st_mode & 0o777 == 0o600


def test_another_user_opens_neither_lock_nor_address_nor_door(state: StateFolder) -> None:
    with state.lock(), gateway(state):
        state.say_address("http://127.0.0.1:9")
        private = [
            state.lock_file,
            state.root / "address",
            state.door,
            state.door / local_door.SOCKET_NAME,
            state.keys / "operator.token",
        ]
        assert all(path.exists() for path in private)
        open_to_all = state.root / "open"
        open_to_all.write_text("")
        open_to_all.chmod(0o644)
        assert opened_by_stranger([*private, open_to_all]) == [open_to_all]


def test_a_door_of_somebody_else_is_not_spoken_at(state: StateFolder) -> None:
    with state.lock(), gateway(state) as shown:
        with pytest.raises(DoorError, match=f"belongs to user {ME}: no key was sent"):
            local_door.connect(state.door, STRANGERS, 5.0)
        state.door.chmod(0o755)
        with pytest.raises(DoorError, match="is open to other users"):
            post(state, "/v1/kill", "{}", "a-key", 5.0)
        state.door.chmod(0o700)
        (state.door / local_door.SOCKET_NAME).chmod(0o666)
        with pytest.raises(DoorError, match="is open to other users"):
            post(state, "/v1/kill", "{}", "a-key", 5.0)
        elsewhere = state.root / "elsewhere"
        state.door.rename(elsewhere)
        state.door.symlink_to(elsewhere)
        with pytest.raises(OSError, match="Not a directory"):
            post(state, "/v1/kill", "{}", "a-key", 5.0)
    assert shown == []


def test_whoever_answers_is_asked_of_the_kernel(state: StateFolder) -> None:
    """The files are another user's, but who listens is not he; only root can make it so."""
    stranger = pwd.getpwnam(STRANGER).pw_uid
    with state.lock(), gateway(state) as shown:
        if ME == 0:
            os.chown(state.door, stranger, -1)
            os.chown(state.door / local_door.SOCKET_NAME, stranger, -1)
        with pytest.raises(DoorError, match="is answered by" if ME == 0 else "belongs to"):
            local_door.connect(state.door, frozenset({stranger}), 5.0)
    assert shown == []


def test_a_caller_of_another_user_is_cut_off_unheard(state: StateFolder) -> None:
    app, heard = FastAPI(), threading.Event()
    app.add_api_route("/", heard.set, methods=["POST"])
    server = Server(ApiSettings(port=0), LIMITS, state.door, local_users=STRANGERS)
    server.start(app)
    try:
        with local_door.connect(state.door, frozenset({ME}), 5.0) as caller:
            assert ended(caller, b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
    finally:
        server.stop()
    assert not heard.is_set()
    assert BoundedConfig(app, LIMITS).local_users == {0, ME}


def ended(caller: socket.socket, request: bytes) -> bool:
    """Say whether a request is answered by nothing but the connection's end."""
    try:
        caller.sendall(request)
        return caller.recv(1) == b""
    except (BrokenPipeError, ConnectionResetError):
        return True
