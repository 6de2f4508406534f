"""What the instrument's finished bars say of its market."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LastBars:
    """The newest bars of the decision's snapshot.

    Attributes:
        as_of_us: When the newest of them closed.
        closes_ticks: The last closes, oldest first; at most 22, which have 21 moves.
    """

    as_of_us: int
    closes_ticks: tuple[int, ...]
