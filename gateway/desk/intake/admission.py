"""Who is handled next: a bounded line in which every key waits as long as every other one.

The rule, which holds for everybody:

- Persons go before agents. What an agent calls a reduction does not: nobody has judged it yet, and
  one who says so each time would keep all others out.
- Within both, keys take turns, one intent each; a key's own intents keep their order. So equal keys
  wait equally, and who asks more often only waits for himself.
- The line is short. Who finds it full, or would get his answer after his deadline at the speed that
  the desk has, is refused as soon as that shows and told when to come again; nothing of his is
  begun.
- A key that has nobody in line always finds a place, so that others cannot keep it out.

Not here: how often a key may ask (`scope`), what is handled.
"""

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

AT_ONCE: Final = 2
"""Intents handled at once: one is judged while the engine samples the other's paths."""
EACH_MAX: Final = 8
ALL_MAX: Final = 12
FIRST_MAX: Final = 8
"""Places beyond `ALL_MAX`, each for a key that has nobody in line."""
_NEW: Final = 0.25
"""How much of a new measure goes into the usual time: one slow intent must not shut the door."""


class LineFullError(Exception):
    """Not now; `retry_after_s` is when it is likely to be admitted."""

    def __init__(self, retry_after_s: float) -> None:
        """Take the seconds after which to ask again."""
        self.retry_after_s = max(1, math.ceil(retry_after_s))
        super().__init__(f"try again in {self.retry_after_s} s")


@dataclass(slots=True, kw_only=True, eq=False)
class InLine:
    """One who waits; `until_s` is when his answer must be there, on the monotonic clock."""

    key: str
    first: bool
    since_s: float
    until_s: float
    begun_s: float = 0.0
    refused: bool = False
    called: threading.Event = field(default_factory=threading.Event)


class WaitingLine:
    """The order in which tickets are called. Pure; not safe from threads."""

    def __init__(self) -> None:
        """Start empty."""
        self._keys: tuple[dict[str, deque[InLine]], dict[str, deque[InLine]]] = ({}, {})

    def __len__(self) -> int:
        """The number of tickets."""
        return sum(len(one) for keys in self._keys for one in keys.values())

    def of(self, key: str) -> int:
        """Return how many tickets a key has."""
        return sum(len(keys[key]) for keys in self._keys if key in keys)

    def oldest_s(self) -> float | None:
        """Return since when the oldest ticket waits."""
        return min((q[0].since_s for keys in self._keys for q in keys.values()), default=None)

    def ahead(self, ticket: InLine) -> int:
        """Return how many would be called before a ticket that entered now."""
        before = 0 if ticket.first else sum(map(len, self._keys[0].values()))
        own = self._keys[not ticket.first]
        turn = len(own.get(ticket.key, ()))
        others = (len(q) for key, q in own.items() if key != ticket.key)
        return before + turn + sum(min(one, turn + 1) for one in others)

    def enter(self, ticket: InLine) -> None:
        """Put a ticket at the end of its key's."""
        self._keys[not ticket.first].setdefault(ticket.key, deque()).append(ticket)

    def next(self) -> InLine | None:
        """Take the next ticket; its key goes to the end of the keys."""
        for keys in self._keys:
            for key in keys:
                waiting = keys.pop(key)
                ticket = waiting.popleft()
                if waiting:
                    keys[key] = waiting
                return ticket
        return None

    def in_order(self) -> list[InLine]:
        """Return all tickets in the order in which they would be called."""
        order = list[InLine]()
        for keys in self._keys:
            rounds = [list(waiting) for waiting in keys.values()]
            for turn in range(max(map(len, rounds), default=0)):
                order += [waiting[turn] for waiting in rounds if turn < len(waiting)]
        return order

    def leave(self, ticket: InLine) -> None:
        """Take out a ticket that nobody waits for."""
        keys = self._keys[not ticket.first]
        waiting = keys.get(ticket.key, deque())
        if ticket in waiting:
            waiting.remove(ticket)
            if not waiting:
                del keys[ticket.key]


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """How it stands.

    Attributes:
        handled: intents that are being handled.
        queue: intents that wait.
        oldest_s: how long the oldest of them has waited.
        needs_s: how long one of a new key would take from now on to its answer; 0 while nothing
            is handled: what was slow before need not be slow now.
    """

    handled: int
    queue: int
    oldest_s: float
    needs_s: float


class Admission:
    """Admits so many intents at once, the next in line first; safe from any thread."""

    def __init__(
        self, at_once: int = AT_ONCE, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Start with nobody."""
        self._at_once, self._clock = at_once, clock
        self._line, self._usual_s = WaitingLine(), 0.0
        self._begun: list[float] = []  # when each that is handled began
        self._lock = threading.Lock()

    @contextmanager
    def one(self, key: str, within_s: float, *, first: bool = False) -> Iterator[None]:
        """Wait for a turn and hold it.

        Args:
            key: who asks.
            within_s: seconds until his answer must be there.
            first: whether he goes before those who are not.

        Raises:
            LineFullError: the line is full, or his answer would come too late.
        """
        began_s = self._admitted(key, within_s, first=first)
        try:
            yield
        finally:
            with self._lock:
                self._begun.remove(began_s)
                took_s = self._clock() - began_s
                before_s = self._usual_s or took_s
                self._usual_s = before_s + _NEW * (took_s - before_s)
                self._call()

    def refuse_full(self, key: str, within_s: float, *, first: bool = False) -> None:
        """Refuse one who would be refused at once by `one`; waits for nothing.

        Raises:
            LineFullError: the line is full, or his answer would come too late.
        """
        now_s = self._clock()
        ticket = InLine(key=key, first=first, since_s=now_s, until_s=now_s + within_s)
        with self._lock:
            if not self._is_free():
                self._refuse_full(ticket, within_s)

    def now(self) -> Waiting:
        """Return how it stands."""
        with self._lock:
            now_s, oldest_s = self._clock(), self._line.oldest_s()
            newcomer = InLine(key="", first=False, since_s=now_s, until_s=now_s)
            handled = len(self._begun)
            needs_s = self._takes_s() if handled < self._at_once else self._needs_s(newcomer)
            return Waiting(
                handled=handled,
                queue=len(self._line),
                oldest_s=0.0 if oldest_s is None else now_s - oldest_s,
                needs_s=needs_s if handled else 0.0,
            )

    def _admitted(self, key: str, within_s: float, *, first: bool) -> float:
        now_s = self._clock()
        ticket = InLine(key=key, first=first, since_s=now_s, until_s=now_s + within_s)
        with self._lock:
            if self._is_free():
                self._begun.append(now_s)
                return now_s
            self._refuse_full(ticket, within_s)
            self._line.enter(ticket)
        if not ticket.called.wait(within_s):
            with self._lock:
                if not ticket.called.is_set():
                    self._line.leave(ticket)
                    raise LineFullError(self._usual_s)
        if ticket.refused:
            raise LineFullError(self._usual_s)
        return ticket.begun_s

    def _is_free(self) -> bool:
        """Return whether one would be handled without waiting."""
        return len(self._begun) < self._at_once and not len(self._line)

    def _refuse_full(self, ticket: InLine, within_s: float) -> None:
        room = ALL_MAX if (mine := self._line.of(ticket.key)) else ALL_MAX + FIRST_MAX
        needs_s = self._needs_s(ticket)
        if len(self._line) >= room or mine >= EACH_MAX or needs_s > within_s:
            raise LineFullError(max(self._takes_s() / self._at_once, needs_s - within_s))

    def _needs_s(self, ticket: InLine) -> float:
        """Return the seconds to the answer of a ticket that entered now."""
        return self._takes_s() * ((self._line.ahead(ticket) + 1) / self._at_once + 1)

    def _takes_s(self) -> float:
        """Return what an intent takes lately; one that is under way for longer says so too."""
        return max(self._usual_s, *(self._clock() - one for one in self._begun), 0.0)

    def _call(self) -> None:
        """Call those next in line; all whose answer would be late are called to be refused."""
        now_s, takes_s, before = self._clock(), self._takes_s(), 0
        for ticket in self._line.in_order():
            ends_s = now_s + takes_s * (before // self._at_once + 1)
            if ends_s > ticket.until_s:
                self._line.leave(ticket)
                ticket.refused = True
                ticket.called.set()
            else:
                before += 1
        while len(self._begun) < self._at_once and (next_one := self._line.next()) is not None:
            next_one.begun_s = now_s
            self._begun.append(now_s)
            next_one.called.set()
