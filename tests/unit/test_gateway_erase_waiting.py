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

from gateway import forgetting
from gateway.errors import RequestError
from gateway.keyring import Keyring
from gateway.progress import QUIET_S
from gateway.roles import Role
from gateway.settings import load
from gateway.state import StateFolder

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


class Terminal(io.StringIO):
    @override
    def isatty(self) -> bool:
        return True


class Slow(BaseHTTPRequestHandler):
    """A gateway that reads a long log first."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(QUIET_S + 0.5)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(ANSWER).encode())

    @override
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def test_a_long_erasure_in_the_gateway_is_seen_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = load(state=tmp_path / "state")
    state = StateFolder.of(settings)
    state.create()
    Keyring.create(state.keys).issue("operator", Role.OPERATOR)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with HTTPServer(("127.0.0.1", 0), Slow) as server, state.lock():
        state.say_address(f"http://127.0.0.1:{server.server_port}")
        answering = threading.Thread(target=server.handle_request)
        answering.start()
        assert forgetting.erase(settings, "operator", ["psn-1"], "law") == 0
        answering.join()
    assert f"erase: the running gateway is at it  {QUIET_S} s" in terminal.getvalue()
    said = capsys.readouterr().out
    assert "record 7 says that psn-1 is erased" in said
    assert "no record holds the name in words" in said


def test_nobody_but_the_running_gateway_is_told_a_name_or_shown_a_key(tmp_path: Path) -> None:
    """Its address outlives it, and anybody may listen there then."""
    settings = load(state=tmp_path / "state")
    state = StateFolder.of(settings)
    state.create()
    Keyring.create(state.keys).issue("operator", Role.OPERATOR)
    with state.lock():
        state.say_address("http://127.0.0.1:9")
        assert state.gateway_address() == "http://127.0.0.1:9"
    assert state.gateway_address() is None, "nothing runs"
    with state.lock():
        state.lock_file.write_text("1")  # another process took it since
        assert state.gateway_address() is None
        with pytest.raises(RequestError, match="another command has the state folder"):
            forgetting.erase(settings, "operator", ["Ada Byron"], "law")


@pytest.mark.parametrize(
    ("left", "code", "says"),
    [
        ([], 0, "no record holds the name in words"),
        ([3, 9], 2, "NOT erased: 2 records hold the name in words and keep it: 3, 9\n"),
        ([*range(25)], 2, "18, 19 and 5 more"),
        (None, 0, "is unknown: it is gone already, or too short"),
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
