"""What a codec asks of a scale, whatever its recursion."""

from typing import Protocol, Self


class PathScale(Protocol):
    """A volatility that moves along a path."""

    @property
    def sigma(self) -> float:
        """Volatility of the next bar."""
        ...

    @property
    def sigma_long(self) -> float:
        """Long-run volatility of a bar."""
        ...

    def after(self, log_return: float) -> Self:
        """Return the state after one more return."""
        ...
