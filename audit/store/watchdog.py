"""Deadlines for database calls.

A hung server answers neither a query nor a cancel request. So when a deadline passes, the call's
socket is shut down: the blocked thread wakes with a connection error, and its write is in doubt.
"""

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator

from audit.store.tables import DatabaseError, TupleConnection

_TICK_S = 0.05


class Watchdog:
    """One thread that ends overdue calls, until `close`."""

    def __init__(self) -> None:
        self._guarded: dict[int, tuple[float, TupleConnection]] = {}
        self._changed = threading.Condition()
        self._closed = False
        self._next_id = 0
        self._thread = threading.Thread(target=self._run, name="ledger-watchdog", daemon=True)
        self._thread.start()

    @contextlib.contextmanager
    def within(self, connection: TupleConnection, timeout_s: float) -> Iterator[None]:
        """Shut the connection's socket down if the block takes longer than `timeout_s`."""
        with self._changed:
            self._next_id += 1
            mine = self._next_id
            self._guarded[mine] = (time.monotonic() + timeout_s, connection)
            self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                self._guarded.pop(mine, None)

    def close(self) -> None:
        """Stop the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        with self._changed:
            while not self._closed:
                now = time.monotonic()
                for mine, (deadline, connection) in list(self._guarded.items()):
                    if deadline <= now:
                        del self._guarded[mine]
                        _shut_down(connection)
                self._changed.wait(_TICK_S if self._guarded else None)


def _shut_down(connection: TupleConnection) -> None:
    """End both directions of the socket without touching the driver's own state."""
    with contextlib.suppress(OSError, DatabaseError):
        handle = os.dup(connection.fileno())
        with socket.socket(fileno=handle) as wire:
            wire.shutdown(socket.SHUT_RDWR)
