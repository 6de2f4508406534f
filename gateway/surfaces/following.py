"""Server-sent events out of the ledger: a cursor for each connection, and no queue.

Rules:
- A connection reads the log from its own cursor, so a reconnect with the last id misses nothing.
- Only committed records are told. The log's size is asked for at most every `POLL_S`, once for all
  connections, and only while somebody follows.
- The number of connections is bounded, in all and for each caller. A reader that takes nothing for
  `SLOW_S` is dropped. A connection ends after `LIFE_S`, and soon after its key ended.

Not here: which records are told, and to whom (`gateway.desk.agents.happenings`, the routes).

Source: https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

import anyio
from anyio import CapacityLimiter, to_thread
from fastapi.responses import StreamingResponse
from starlette.types import Message, Send
from typing_extensions import override

from audit.records.kinds import Kind
from audit.records.record import Record
from audit.store.reader import LedgerReader
from gateway.clock import monotonic_us
from gateway.surfaces.places import FullError, Places

POLL_S: Final = 0.2
ALIVE_S: Final = 10.0
SLOW_S: Final = 10.0
LIFE_S: Final = 3_600.0
PAGE: Final = 200
TOTAL_MAX: Final = 32
CALLER_MAX: Final = 2
FIRST_MAX: Final = 16
"""Connections beyond those in all, each of a caller that has none: nobody is kept out by others."""
KEPT_MAX: Final = 4
"""Connections beyond all those, for persons: whom programs must never keep from looking."""
THREADS: Final = 2

Tell = Callable[[Record], Mapping[str, Any] | None]
"""Returns a record's event (with `event` and `seq`) for one follower, or None."""


class TooManyError(Exception):
    """No more connections are granted now."""


class Following:
    """The followers of one ledger; used on the server's event loop only."""

    def __init__(self, reader: Callable[[], LedgerReader]) -> None:
        """Read nothing before the first follower; `reader` returns the ledger's reader."""
        self._reader = reader
        self._lane = CapacityLimiter(THREADS)
        self._asking = anyio.Lock()
        self._size, self._asked_us = 0, -1
        self._places = Places(TOTAL_MAX, FIRST_MAX, CALLER_MAX, KEPT_MAX)
        self._closing = False

    @property
    def followers(self) -> int:
        """The number of open connections."""
        return self._places.taken

    def close(self) -> None:
        """End every connection within `POLL_S`; safe from any thread."""
        self._closing = True

    @contextlib.contextmanager
    def place(self, caller: str, *, person: bool = False) -> Iterator[None]:
        """Hold one connection's place, for a person or a program.

        Raises:
            TooManyError: the caller, or all callers together, have as many as they may.
        """
        with contextlib.ExitStack() as held:
            try:
                held.enter_context(self._places.one(caller, person=person))
            except FullError:
                raise TooManyError from None
            yield

    async def size(self) -> int:
        """Return the log's size, at most `POLL_S` old.

        Raises:
            AuditError: the database does not answer.
        """
        async with self._asking:
            now_us = monotonic_us()
            if self._asked_us < 0 or now_us - self._asked_us >= POLL_S * 1_000_000:
                head = await to_thread.run_sync(self._reader().head, limiter=self._lane)
                self._size, self._asked_us = head.size, now_us
            return self._size

    async def events(
        self,
        after_seq: int,
        kinds: Sequence[Kind],
        tell: Tell,
        *,
        wait_s: float,
        welcome: Callable[[], bool],
    ) -> AsyncGenerator[bytes, None]:
        """Yield events behind a record, as they are committed, until `wait_s` is over.

        Args:
            after_seq: the last record that the follower knows.
            kinds: the kinds that may be told.
            tell: makes the event of a record, in a thread.
            wait_s: how long to stay; 0 tells what is there and ends.
            welcome: returns whether the follower's key still stands.

        Raises:
            AuditError: the database does not answer.
        """
        cursor, began_us = after_seq, monotonic_us()
        alive_us = began_us
        while not self._closing:
            size = await self.size()
            more = size - 1 > cursor
            if more:
                page = partial(self._page, cursor, size, kinds, tell)
                told, cursor = await to_thread.run_sync(page, limiter=self._lane)
                for one in told:
                    yield one
            now_us = monotonic_us()
            if now_us - alive_us >= ALIVE_S * 1_000_000:
                if not welcome():
                    return
                alive_us = now_us
                yield f": alive\nid: {cursor}\n\n".encode()
            if more and size - 1 > cursor:
                continue  # there is another page
            if now_us - began_us >= min(wait_s, LIFE_S) * 1_000_000:
                return
            await anyio.sleep(POLL_S)

    def _page(
        self, after_seq: int, size: int, kinds: Sequence[Kind], tell: Tell
    ) -> tuple[list[bytes], int]:
        """Return the events of some records and the cursor behind them.

        They are made here, not on the event loop: who follows from the first record on reads every
        verdict, and eighteen such readers kept the loop from answering for seconds.
        """
        found = tuple(
            self._reader().records(kinds=kinds, after_seq=after_seq, before_seq=size, limit=PAGE)
        )
        told = [_event(one) for one in map(tell, found) if one is not None]
        return told, found[-1].seq if len(found) == PAGE else size - 1


class EventStream(StreamingResponse):
    """An answer of server-sent events that drops a slow reader; `done` runs when it is over."""

    def __init__(self, content: AsyncIterator[bytes], place: contextlib.ExitStack) -> None:
        """Send events; `place` is closed at the end, whatever happens."""
        super().__init__(
            content,
            media_type="text/event-stream",
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )
        self._place = place

    @override
    async def __call__(self, scope: Any, receive: Any, send: Send) -> None:
        with self._place:
            await super().__call__(scope, receive, send)

    @override
    async def stream_response(self, send: Send) -> None:
        async def bounded(message: Message) -> None:
            with anyio.fail_after(SLOW_S):
                await send(message)

        with contextlib.suppress(TimeoutError):
            await super().stream_response(bounded)


def _event(told: Mapping[str, Any]) -> bytes:
    text = json.dumps(told, separators=(",", ":"))  # ASCII, one line
    return f"id: {told['seq']}\nevent: {told['event']}\ndata: {text}\n\n".encode()
