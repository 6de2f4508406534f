"""Requests of a verb to the running gateway, through the local door and never to a port.

Not here: the check of who answers (`door`).
"""

import http.client
import json
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typing_extensions import override

from gateway.errors import RequestError
from gateway.installation.local.door import ROOT, connect
from gateway.installation.state import StateFolder


@dataclass(frozen=True, slots=True, kw_only=True)
class DoorAnswer:
    """An answer of the running gateway: HTTP status and JSON object."""

    status: int
    document: dict[str, Any]

    @property
    def refused(self) -> str:
        """The reason of a refusal, or ""."""
        if self.status < http.HTTPStatus.BAD_REQUEST:
            return ""
        said = self.document.get("message") or self.document.get("detail") or "refused"
        return str(said.get("message", said) if isinstance(said, dict) else said)

    def granted(self) -> dict[str, Any]:
        """Return the document.

        Raises:
            RequestError: the gateway refused.
        """
        if self.refused:
            raise RequestError(problem=self.refused)
        return self.document


def post(state: StateFolder, path: str, content: str, token: str, timeout_s: float) -> DoorAnswer:
    """Send one JSON document to the gateway of a state folder and return its answer.

    Only root and the owner of the key folder may answer: they have the bearer key already. The
    timeout is for connecting, and for each read.

    Raises:
        OSError: no gateway runs there, or it did not answer.
        DoorError: another user answers there; nothing was sent.
    """
    return _ask(state, ("POST", path, content), token, timeout_s)


def get(state: StateFolder, path: str, token: str, timeout_s: float) -> DoorAnswer:
    """Return the answer of the gateway of a state folder; see `post`."""
    return _ask(state, ("GET", path, ""), token, timeout_s)


def _ask(
    state: StateFolder, what: tuple[str, str, str], token: str, timeout_s: float
) -> DoorAnswer:
    trusted = frozenset({ROOT, state.keys.stat().st_uid})
    connection = _Connection(state.door, trusted, timeout_s)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    method, path, content = what
    try:
        connection.request(method, path, content.encode(), headers)
        answer = connection.getresponse()
        found = json.loads(answer.read())
    except (FileNotFoundError, ConnectionRefusedError) as error:
        raise ConnectionRefusedError(
            f"no gateway runs on {state.root}: start it, or name its folder with --state"
        ) from error
    except (http.client.HTTPException, ValueError) as error:
        raise ConnectionError(f"its answer was cut off ({type(error).__name__})") from error
    finally:
        connection.close()
    return DoorAnswer(status=answer.status, document=found if isinstance(found, dict) else {})


class _Connection(http.client.HTTPConnection):
    def __init__(self, door: Path, trusted: frozenset[int], timeout_s: float) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._door = door
        self._trusted = trusted
        self._timeout_s = timeout_s

    @override
    def connect(self) -> None:
        self.sock: socket.socket = connect(self._door, self._trusted, self._timeout_s)
