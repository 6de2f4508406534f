"""The thread that does a decision's pure work while the engine samples."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, TypeVar

from typing_extensions import override

from gateway.walk.ports import Begun, Meanwhile
from inference.errors import LateTwinError

_Made = TypeVar("_Made")
LIMIT_S: Final = 60.0
"""The longest wait for work that was begun; a simulation takes under a second."""


class _Work(Begun[_Made]):
    def __init__(self, future: Future[_Made], limit_s: float) -> None:
        self._future, self._limit_s = future, limit_s

    @override
    def result(self) -> _Made:
        try:
            return self._future.result(self._limit_s)
        except TimeoutError:
            if self._future.done():  # the work itself raised it
                raise
            self._future.cancel()
            raise LateTwinError(f"a twin was not simulated within {self._limit_s:g} s") from None

    @override
    def drop(self) -> None:
        self._future.cancel()


class BesideTheEngine(Meanwhile):
    """One thread for the pure work of decisions, in the order in which they ask. Thread-safe.

    Work that is dropped before its turn is never done, so that decisions which failed leave nothing
    for those that follow to wait behind.
    """

    def __init__(self, limit_s: float = LIMIT_S) -> None:
        self._limit_s = limit_s
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="twin")

    @override
    def __call__(self, work: Callable[[], _Made]) -> Begun[_Made]:
        return _Work(self._pool.submit(work), self._limit_s)
