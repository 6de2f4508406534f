"""Sums over the last seconds, in whole numbers: each event enters once and leaves once."""

from collections import deque
from dataclasses import dataclass, field


@dataclass(slots=True)
class Rolling:
    """What happened within `span_us` before the newest event."""

    span_us: int
    total: int = 0
    _kept: deque[tuple[int, int, int]] = field(default_factory=deque)

    def add(self, time_us: int, value: int, seq: int) -> None:
        """Count an event of this time; `seq` is its record."""
        self._kept.append((time_us, value, seq))
        self.total += value
        self.forget(time_us)

    def forget(self, now_us: int) -> None:
        """Drop what is older than the span."""
        while self._kept and self._kept[0][0] < now_us - self.span_us:
            self.total -= self._kept.popleft()[1]

    def clear(self) -> None:
        """Forget everything: an alarm has told of it."""
        self._kept.clear()
        self.total = 0

    @property
    def count(self) -> int:
        """How many events there are."""
        return len(self._kept)

    @property
    def seqs(self) -> tuple[int, ...]:
        """The records, oldest first."""
        return tuple(seq for _, _, seq in self._kept)
