"""Limits on connections to the gateway's and the witness's HTTP servers.

Not here: how large a body may be (`gateway.surfaces.limits`, `audit.witnesses.witness`).

Rules:
- A request must arrive completely before its deadline.
- An answer has no deadline; it is given up only when the peer takes none of it for a time.
- Above the limit of one peer or of all, the connection that has owed a request longest is closed,
  so prompt callers are served beside any number of silent ones. If all are being answered, the
  newest is closed.
- Only root and the gateway's own user may use the Unix socket; together they are one peer.
- One peer is one IPv4 address or one IPv6 /64, because a single host has all addresses of a /64.

Source: RFC 9112 section 9.5 (a server may close at any time); tcp(7), TCP_USER_TIMEOUT.
"""

import asyncio
import ipaddress
import os
import socket
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import h11
import uvicorn
from typing_extensions import override
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from gateway.installation.local.door import ROOT, peer_uid

_ON_ITS_WAY: Final = (h11.IDLE, h11.SEND_BODY)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """What a server grants its callers.

    Attributes:
        request_within_s: from connecting, or from the last answer, to the end of a request.
        idle_s: how long a silent connection stays open after an answer.
        stalled_s: how long a peer may take nothing of an answer.
        head_bytes_max: request line and headers.
        peer_max: open connections of one peer.
    """

    request_within_s: float = 15.0
    idle_s: int = 5
    stalled_s: float = 120.0
    head_bytes_max: int = 16_384
    peer_max: int = 64
    total_max: int = 256


def peer_of(client: tuple[str, int] | None) -> str:
    """Return the peer of a remote address; the empty text for a Unix socket."""
    if client is None:
        return ""
    address = ipaddress.ip_address(client[0])
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return f"{int(address) >> 64:016x}"


class BoundedConfig(uvicorn.Config):
    """uvicorn's configuration, with the limits and the open connections."""

    def __init__(
        self,
        app: Callable[..., Any],
        limits: ConnectionLimits,
        local_users: frozenset[int] | None = None,
    ) -> None:
        """Serve `app`; `local_users` may use the Unix socket (None: root and our own user)."""
        super().__init__(
            app,
            http=BoundedConnection,
            ws="none",  # a WebSocket would escape the limits
            lifespan="off",
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_keep_alive=limits.idle_s,
            h11_max_incomplete_event_size=limits.head_bytes_max,
            # also counts calls that outlive their connections; connections alone never reach it
            limit_concurrency=limits.total_max + 1,
        )
        self.limits = limits
        self.local_users = frozenset({ROOT, os.geteuid()}) if local_users is None else local_users
        self._peers: Counter[str] = Counter()
        self._open: dict[BoundedConnection, str] = {}
        self._awaited: dict[BoundedConnection, None] = {}

    def enter(self, connection: "BoundedConnection", peer: str) -> None:
        """Add a connection, and close one if there are too many now."""
        self._open[connection] = peer
        self._peers[peer] += 1
        self._awaited[connection] = None
        if self._peers[peer] > self.limits.peer_max:
            next(one for one in self._awaited if self._open[one] == peer).cut()
        elif len(self._open) > self.limits.total_max:
            next(iter(self._awaited)).cut()

    def leave(self, connection: "BoundedConnection") -> None:
        """Forget a connection; more than once does no harm."""
        self._awaited.pop(connection, None)
        if (peer := self._open.pop(connection, None)) is not None:
            self._peers[peer] -= 1
            if not self._peers[peer]:
                del self._peers[peer]

    def awaits(self, connection: "BoundedConnection", *, on: bool) -> None:
        """Note whether a connection owes a request; the order of the notes decides who is cut."""
        if not on:
            self._awaited.pop(connection, None)
        elif connection in self._open:
            self._awaited.setdefault(connection)


class BoundedConnection(H11Protocol):
    """A connection that is closed when its request does not come."""

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        if not isinstance(config, BoundedConfig):
            raise TypeError("the limits are missing")
        super().__init__(config, server_state, app_state, _loop)
        self._door = config
        self._deadline: asyncio.TimerHandle | None = None

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        wire = transport.get_extra_info("socket")
        if wire.family == socket.AF_UNIX and peer_uid(wire) not in self._door.local_users:
            self.cut()
            return
        self._tend()
        self._door.enter(self, peer_of(self.client))

    @override
    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._tend()

    @override
    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._tend()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self._door.leave(self)
        super().connection_lost(exc)

    def cut(self) -> None:
        """Close at once, whatever is still to be sent."""
        self._stop_waiting()
        self._door.leave(self)
        self.connections.discard(self)  # its own end comes a moment later and must not count
        self.transport.abort()

    def _tend(self) -> None:
        """Run the deadline exactly while a request is awaited or arriving."""
        if self.transport.is_closing() or self.conn.their_state not in _ON_ITS_WAY:
            self._stop_waiting()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(self._door.limits.request_within_s, self.cut)
            self._door.awaits(self, on=True)

    def _stop_waiting(self) -> None:
        self._door.awaits(self, on=False)
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def bound(listener: socket.socket, limits: ConnectionLimits) -> None:
    """Let the system, where it can, give up answers that nobody takes."""
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        stalled_ms = int(limits.stalled_s * 1000)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, stalled_ms)
