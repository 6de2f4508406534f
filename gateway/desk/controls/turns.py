"""Decisions under way, and the moment without any.

A decision takes a turn from its first record to its order, so that one policy judges all of it.
Whoever changes the policy waits until no turn is taken; decisions that come meanwhile wait for him.

Not here: what is changed (`policies`).
"""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from gateway.errors import NotReadyError


@dataclass(slots=True)
class Turns:
    """The turns of one desk; safe from any thread. A thread may take a turn within its own."""

    _changed: threading.Condition = field(default_factory=threading.Condition)
    _taken: Counter[int] = field(default_factory=Counter)
    _closed: bool = False

    @contextmanager
    def one(self) -> Iterator[None]:
        """Take a turn; wait while somebody is alone."""
        me = threading.get_ident()
        with self._changed:
            self._changed.wait_for(lambda: not self._closed or me in self._taken)
            self._taken[me] += 1
        try:
            yield
        finally:
            with self._changed:
                self._taken[me] -= 1
                if not self._taken[me]:
                    del self._taken[me]
                self._changed.notify_all()

    @contextmanager
    def alone(self, within_s: float) -> Iterator[None]:
        """Let no turn begin, and wait at most so long for those that are taken.

        Raises:
            NotReadyError: some still are, or another thread is alone.
        """
        with self._changed:
            if self._closed:
                raise NotReadyError(part="desk", state="another policy is being put in force")
            self._closed = True
        try:
            with self._changed:
                if not self._changed.wait_for(lambda: not self._taken, within_s):
                    raise NotReadyError(
                        part="desk", state=f"a decision takes longer than {within_s:g} s: try again"
                    )
            yield
        finally:
            with self._changed:
                self._closed = False
                self._changed.notify_all()
