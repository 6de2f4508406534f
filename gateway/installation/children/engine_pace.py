"""How fast the engine is and how much it has to do, from its own beats. Thread-safe.

The speed is tokens for each second that the engine spent in its steps, so that idle time does not
count as slowness; it moves by half towards each new measure.

Not here: what follows from it (`engine`).
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from inference.errors import FrameError

_NEW: Final = 0.5
_STEPPED_MIN_US: Final = 50_000
"""A shorter stretch of steps measures the clock, not the engine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaceNow:
    """What is known of the engine now.

    Attributes:
        tokens_s: tokens a second; None before the first measure.
        tokens_left: tokens that are still wanted.
        silent_s: seconds since it was heard.
    """

    tokens_s: float | None
    tokens_left: int
    silent_s: float

    @property
    def wait_s(self) -> float:
        """The seconds until all that was asked for is done; 0 where the speed is not known."""
        return self.tokens_left / self.tokens_s if self.tokens_s else 0.0


class EnginePace:
    """The speed and load of an engine child; `begin` starts the life of a new one."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Know nothing; `clock` is monotonic, in seconds."""
        self._clock = clock
        self._lock = threading.Lock()
        self._tokens_s: float | None = None  # outlives a child: the machine is the same
        self.begin()

    def begin(self) -> None:
        """Begin with a new child."""
        with self._lock:
            self._heard_s = self._clock()
            self._left, self._done, self._stepped_us = 0, 0, 0

    def heard(self) -> None:
        """Note a sign of life."""
        with self._lock:
            self._heard_s = self._clock()

    def asked(self, tokens: int) -> None:
        """Note that so many tokens more are wanted."""
        with self._lock:
            self._left += tokens

    def beat(self, fields: Mapping[str, Any]) -> None:
        """Take a beat of the child.

        Raises:
            FrameError: it makes no sense.
        """
        said = [fields.get(name) for name in ("tokens_left", "tokens_done", "stepped_us")]
        numbers = [one for one in said if type(one) is int and one >= 0]
        if len(numbers) != len(said):
            raise FrameError("a beat of the engine names no load")
        left, done, stepped_us = numbers
        with self._lock:
            more, spent_us = done - self._done, stepped_us - self._stepped_us
            self._left = left
            if spent_us < _STEPPED_MIN_US:
                return
            self._done, self._stepped_us = done, stepped_us
            if more > 0:
                tokens_s = more * 1e6 / spent_us
                before = self._tokens_s or tokens_s
                self._tokens_s = before + _NEW * (tokens_s - before)

    def needs_s(self, tokens: int, pending: int) -> float:
        """Return the seconds until so many more tokens would be there.

        `pending` are the tokens of all requests that wait for an answer: of what the engine has
        left, only these are waited for. Without any, or without a measure, 0: it is to be tried.
        """
        with self._lock:
            if not pending or not self._tokens_s:
                return 0.0
            return (min(self._left, pending) + tokens) / self._tokens_s

    def silent_s(self) -> float:
        """Return the seconds since the child was heard."""
        with self._lock:
            return self._clock() - self._heard_s

    def now(self) -> PaceNow:
        """Return what is known now."""
        with self._lock:
            silent_s = self._clock() - self._heard_s
            return PaceNow(tokens_s=self._tokens_s, tokens_left=self._left, silent_s=silent_s)
