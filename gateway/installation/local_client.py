"""How a verb asks the gateway that runs on its state folder: one request through the local door.

Not here: whose door it is (`local_door`). Nothing is sent to an address: whoever listens on a port
may be anybody.
"""

import http.client
import json
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typing_extensions import override

from gateway.installation.local_door import ROOT, connect
from gateway.installation.state import StateFolder


@dataclass(frozen=True, slots=True, kw_only=True)
class DoorAnswer:
    """What a running gateway answered.

    Attributes:
        status: the HTTP status.
        document: the JSON object.
    """

    status: int
    document: dict[str, Any]

    @property
    def refused(self) -> str:
        """Why it refused, or "" if it did not."""
        if self.status < http.HTTPStatus.BAD_REQUEST:
            return ""
        said = self.document.get("message") or self.document.get("detail") or "refused"
        return str(said.get("message", said) if isinstance(said, dict) else said)


def post(state: StateFolder, path: str, content: str, token: str, timeout_s: float) -> DoorAnswer:
    """Send one JSON document to the gateway of a state folder and return its answer.

    The key goes to no one but root and the owner of the key folder, who have it already.

    Args:
        state: whose gateway.
        path: of the API.
        content: the JSON body.
        token: the caller's bearer key.
        timeout_s: of connecting, and of each read.

    Raises:
        OSError: no gateway runs there, or it did not answer.
        DoorError: somebody else answers there; nothing was sent.
    """
    return _ask(state, ("POST", path, content), token, timeout_s)


def get(state: StateFolder, path: str, token: str, timeout_s: float) -> DoorAnswer:
    """Ask the gateway of a state folder for one JSON document.

    Raises:
        OSError: no gateway runs there, or it did not answer.
        DoorError: somebody else answers there; nothing was sent.
    """
    return _ask(state, ("GET", path, ""), token, timeout_s)


def _ask(
    state: StateFolder, what: tuple[str, str, str], token: str, timeout_s: float
) -> DoorAnswer:
    """Send method, path and content; return the answer."""
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
    """HTTP over the door of a state folder."""

    def __init__(self, door: Path, trusted: frozenset[int], timeout_s: float) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._door = door
        self._trusted = trusted
        self._timeout_s = timeout_s

    @override
    def connect(self) -> None:
        """Connect, but to nobody else."""
        self.sock: socket.socket = connect(self._door, self._trusted, self._timeout_s)
