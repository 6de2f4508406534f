"""Who erases beside a running gateway sees that it is at work, and gets its answer."""

import io
import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from typing_extensions import override

from gateway.installation.keys.keyring import Keyring
from gateway.installation.keys.roles import Role
from gateway.installation.local.door import listen
from gateway.installation.settings import load
from gateway.installation.state import StateFolder
from gateway.privacy import commands as forgetting

ANSWER = {
    "subjects": ["psn-1"],
    "records": [7],
    "fields": 1,
    "of_records": 1,
    "keys_destroyed": 1,
    "rows_deleted": 1,
    "shown_to": [],
    "in_words": [],
}


WORK_S = 1.0


class Terminal(io.StringIO):
    @override
    def isatty(self) -> bool:
        return True


class Slow(BaseHTTPRequestHandler):
    """A gateway that reads a long log first."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(WORK_S)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(ANSWER).encode())

    @override
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def at_door(state: StateFolder) -> HTTPServer:
    """Return a server that listens where the gateway of a state folder does."""
    server = HTTPServer(("", 0), Slow, bind_and_activate=False)
    server.socket.close()
    server.socket = listen(state.door)
    server.server_activate()
    return server


def test_a_long_erasure_in_the_gateway_is_seen_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = load(state=tmp_path / "state")
    state = StateFolder.of(settings)
    state.create()
    Keyring.create(state.keys).issue("operator", Role.OPERATOR)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with at_door(state) as server, state.lock():
        answering = threading.Thread(target=server.handle_request, daemon=True)
        answering.start()
        assert forgetting.erase(settings, "operator", ["psn-1"], "law") == 0
        answering.join()
    assert "erase: waiting for the running gateway " in terminal.getvalue()
    assert f" {WORK_S:.0f} s" in terminal.getvalue()
    said = capsys.readouterr().out
    assert "record 7 says that psn-1 is erased" in said
    assert "no record holds the name in words" in said


@pytest.mark.parametrize(
    ("left", "code", "says"),
    [
        ([], 0, "no record holds the name in words"),
        ([3, 9], 2, "NOT erased: 2 records hold the name in words and keep it: 3, 9\n"),
        ([*range(25)], 2, "18, 19 and 5 more"),
        (None, 0, "free text was not searched: the name is gone already"),
    ],
)
def test_what_words_keep_is_said(
    left: list[int] | None,
    code: int,
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(forgetting, "carry_out", lambda *_, **__: {**ANSWER, "in_words": left})
    assert forgetting.erase(load(state=tmp_path), "operator", ["psn-1"], "law") == code
    assert says in capsys.readouterr().out
