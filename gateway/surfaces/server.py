"""The HTTP server in a thread: API and pages, on one address and one local socket."""

import secrets
import socket
import threading
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from audit.privacy.erasure import Privacy
from gateway.clock import monotonic_us, pause
from gateway.desk.desk import Desk
from gateway.errors import DoorError, SettingsError
from gateway.evidence.publication.published import LogFiles
from gateway.installation.keys.keyring import Keyring
from gateway.installation.local.door import leave, listen
from gateway.installation.settings import ApiSettings
from gateway.surfaces.access.refusals import Refusals
from gateway.surfaces.api.app import build_api
from gateway.surfaces.connections import BoundedConfig, ConnectionLimits, bound
from gateway.surfaces.following import Following
from gateway.surfaces.route_table import access_rows
from gateway.surfaces.web.doors import Entrance
from gateway.surfaces.web.forms import FormGuard
from gateway.surfaces.web.sessions import Sessions
from gateway.surfaces.web.site import register
from gateway.surfaces.web.views.lists import Views

START_WITHIN_S = 10.0
LIMITS = ConnectionLimits(peer_max=128, total_max=512)
"""One address may be all the agents and browsers of a firm."""


def build_site(
    desk: Desk,
    keyring: Keyring,
    views: Views,
    privacy: Privacy | None = None,
    *,
    log: LogFiles | None = None,
    entrance: Entrance | None = None,
) -> FastAPI:
    """Return API and pages as one application.

    Raises:
        DoorlessError: when a route lets anybody in and `route_table` gives no reason.
    """
    entrance = entrance or entrance_of(desk, keyring)
    app = build_api(desk, keyring, entrance.refusals)
    app.state.privacy = privacy
    app.state.log = log
    register(app, views, desk, entrance)
    access_rows(app)
    return app


def entrance_of(desk: Desk, keyring: Keyring) -> Entrance:
    """Return a desk's entrance, with nobody signed in and no refusal counted."""
    return Entrance(
        keyring=keyring,
        sessions=Sessions(keyring, monotonic_us),
        refusals=Refusals(desk.own.tools.ledger, desk.own.dispatching.wall_us),
        guard=FormGuard(secrets.token_bytes(32)),
    )


class Server:
    """One listening server; `start` serves in a thread."""

    def __init__(
        self,
        settings: ApiSettings,
        limits: ConnectionLimits = LIMITS,
        door: Path | None = None,
        local_users: frozenset[int] | None = None,
    ) -> None:
        """Bind the address now, so that a taken port is reported before anything starts.

        Args:
            settings: where to listen.
            limits: what callers are granted.
            door: folder of the socket for local verbs; the caller holds its state folder's lock.
            local_users: see `BoundedConfig`.

        Raises:
            SettingsError: when the address is taken or not ours.
            DoorError: when the folder or the socket is not ours.
        """
        self._door = door
        self._local_users = local_users
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind((settings.host, settings.port))
        except OSError as error:
            raise _taken(f"{settings.host}:{settings.port}", error) from None
        bound(self._socket, limits)
        self._sockets = [self._socket]
        if door is not None:
            try:
                self._sockets.append(listen(door))
            except DoorError:
                self._socket.close()
                raise
        self._limits = limits
        self.address = f"http://{settings.host}:{self._socket.getsockname()[1]}"
        self._following: Following | None = None
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None

    def start(self, app: FastAPI) -> None:
        """Serve the application until `stop`; wait at most `START_WITHIN_S` for it to come up.

        Raises:
            SettingsError: when the port was taken since, or the server does not come up in time.
        """
        try:
            self._socket.listen()  # uvloop closes a socket that cannot listen and reports nothing
        except OSError as error:
            raise _taken(self.address, error) from None
        self._following = getattr(app.state, "following", None)
        self._server = uvicorn.Server(BoundedConfig(app, self._limits, self._local_users))
        self._server.install_signal_handlers = lambda: None  # type: ignore[attr-defined, method-assign, unused-ignore]  # the gateway owns signals
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": self._sockets}, name="http", daemon=True
        )
        self._thread.start()
        for _ in range(int(START_WITHIN_S / 0.02)):
            if self._server.started:
                return
            pause(0.02)
        raise SettingsError(
            name="COUNTERSIGN_API__PORT",
            problem=f"nothing serves {self.address} after {START_WITHIN_S:g} s; start again when"
            " the machine is less busy, unless stderr shows an error of the server",
        )

    def stop(self) -> None:
        """Stop serving; open event streams end first, because a stop waits for every answer."""
        if self._following is not None:
            self._following.close()
        if self._server is not None:
            self._server.should_exit = True
        if self._thread is not None:
            self._thread.join(5.0)
        for one in self._sockets:
            one.close()
        if self._door is not None:
            leave(self._door)


def _taken(where: str, error: OSError) -> SettingsError:
    return SettingsError(
        name="COUNTERSIGN_API__PORT",
        problem=f"cannot listen on {where} ({error.strerror}); choose another port, or 0 for a free"
        " one",
    )
