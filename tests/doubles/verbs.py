"""Verbs as a person types them, and a gateway that notes what they ask."""

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import pytest

from gateway.cli.main import app, exit_code_of
from gateway.installation.local import client
from gateway.installation.local.client import DoorAnswer


def typed(folder: Path, *words: object) -> tuple[int, str]:
    """Run a verb on a state folder; return its exit code and what it printed."""
    out = io.StringIO()
    line = [*map(str, words), "--state", str(folder)]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        code = exit_code_of(lambda: app(line, standalone_mode=False))
    return code, out.getvalue()


class DoorNotes:
    """What verbs sent, path, token and body, and what a gateway would answer."""

    def __init__(self) -> None:
        self.found, self.done = dict[str, Any](), dict[str, Any]()
        self.sent: list[tuple[str, str, Any]] = []

    def get(self, _state: object, path: str, token: str, _within_s: float) -> DoorAnswer:
        """Note a read; answer `found`."""
        self.sent.append((path, token, None))
        return DoorAnswer(status=200, document=self.found)

    def post(self, _state: object, path: str, body: str, token: str, _s: float) -> DoorAnswer:
        """Note an act; answer `done`."""
        self.sent.append((path, token, json.loads(body)))
        return DoorAnswer(status=200, document=self.done)

    def stand_in(self, monkeypatch: pytest.MonkeyPatch, *modules: object) -> None:
        """Take the place of the local door, also in modules that imported it by name."""
        for module in (client, *modules):
            monkeypatch.setattr(module, "get", self.get)
            monkeypatch.setattr(module, "post", self.post)
