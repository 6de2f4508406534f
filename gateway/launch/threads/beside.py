"""The thread that does a decision's pure work while the engine samples."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_Made = TypeVar("_Made")


class BesideTheEngine:
    """One thread for the pure work of decisions, in the order in which they ask. Thread-safe."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="twin")

    def __call__(self, work: Callable[[], _Made]) -> Callable[[], _Made]:
        """Begin; return what waits for the result, or raises what the work raised."""
        return self._pool.submit(work).result
