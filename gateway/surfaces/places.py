"""Places for what is handled at once, shared so that one key cannot keep every other one out.

Not here: how often a key may ask (`gateway.desk.intake.scope`), what is handled.
"""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager


class FullError(Exception):
    """No place is free for this key now."""


class Places:
    """So many places for all keys, and some more for keys that hold none; safe from any thread."""

    def __init__(self, shared: int, first: int, each: int, kept: int) -> None:
        """Start empty.

        Args:
            shared: places that any key may take.
            first: places beyond those, for a key's first one.
            each: the most that one key may hold.
            kept: places beyond all those, for persons only.
        """
        self._shared, self._first, self._each, self._kept = shared, first, each, kept
        self._held: Counter[str] = Counter()
        self._lock = threading.Lock()

    @property
    def taken(self) -> int:
        """The number of places that are held."""
        return self._held.total()

    @contextmanager
    def one(self, key: str, *, person: bool = False) -> Iterator[None]:
        """Hold a place for a key, a person's or not.

        Raises:
            FullError: all are held, or the key has as many as it may.
        """
        with self._lock:
            mine = self._held[key]
            room = self._shared if mine else self._shared + self._first
            room += self._kept if person else 0
            if self._held.total() >= room or mine == self._each:
                raise FullError
            self._held[key] += 1
        try:
            yield
        finally:
            with self._lock:
                self._held[key] -= 1
                if not self._held[key]:
                    del self._held[key]
