"""The symbols of an answer: which vocabulary ids it may hold at each place, and their tokens.

An answer's token, as it is recorded, is a symbol's number from `start`. A codec of returns has one
slot with every bin, and its tokens are the vocabulary's own ids. A text codec has one slot for each
character of a bar, and two symbols of different slots may be the same vocabulary id.

Rules:
    - At place i only the symbols of slot `i % len(slots)` have any probability, in the target's
      law, in the drafter's and in replay.
    - Slots are disjoint, so a token says which slot it belongs to.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Masks = npt.NDArray[np.bool_]
    Ids = npt.NDArray[np.int64]


class Alphabet:
    """Symbols and slots; immutable."""

    def __init__(
        self, *, start: int, ids: Sequence[int], slots: Sequence[tuple[int, int]] = ()
    ) -> None:
        """Take each symbol's vocabulary id and the symbols [from, to) of each slot.

        Without slots every symbol may stand at every place.
        """
        self.start: Final = start
        self._ids: Final = tuple(map(int, ids))
        self.slots: Final = tuple(slots) or ((0, len(self._ids)),)

    @classmethod
    def of_range(cls, start: int, n: int) -> "Alphabet":
        """Return the alphabet of n ids from `start`, each its own token."""
        return cls(start=start, ids=range(start, start + n))

    @property
    def n(self) -> int:
        """Number of symbols."""
        return len(self._ids)

    @cached_property
    def ids(self) -> "Ids":
        """Each symbol's vocabulary id."""
        # Here and below: verbs that only read a ledger know codecs, and need no numpy.
        import numpy as np  # noqa: PLC0415

        return np.asarray(self._ids, dtype=np.int64)

    @cached_property
    def columns(self) -> "slice | Ids":
        """What cuts a row over the vocabulary to a row over the symbols."""
        first = self._ids[0]
        whole = self._ids == tuple(range(first, first + self.n))
        return slice(first, first + self.n) if whole else self.ids

    def masks(self, places: Sequence[int]) -> "Masks | None":
        """Return which symbols may stand at each place, [places, n]; None where all may."""
        if len(self.slots) == 1:
            return None
        return self._slot_masks[[place % len(self.slots) for place in places]]

    def ids_of(self, symbols: "Ids") -> "Ids":
        """Return the vocabulary ids of symbols."""
        found: Ids = self.ids[symbols]
        return found

    def id_of(self, token: int) -> int:
        """Return the vocabulary id of a recorded token."""
        return self._ids[token - self.start]

    def token_at(self, place: int, vocabulary_id: int) -> int:
        """Return the recorded token of a vocabulary id; one outside the slot is outside all."""
        if self._own:
            return vocabulary_id
        found = self._symbols[place % len(self.slots)].get(int(vocabulary_id), self.n)
        return self.start + found

    @cached_property
    def _own(self) -> bool:
        """Whether a token is its vocabulary id."""
        return isinstance(self.columns, slice) and self.columns.start == self.start

    @cached_property
    def _slot_masks(self) -> "Masks":
        import numpy as np  # noqa: PLC0415

        masks = np.zeros((len(self.slots), self.n), dtype=bool)
        for row, (first, end) in zip(masks, self.slots, strict=True):
            row[first:end] = True
        return masks

    @cached_property
    def _symbols(self) -> tuple[dict[int, int], ...]:
        return tuple(
            {self._ids[symbol]: symbol for symbol in range(first, end)} for first, end in self.slots
        )
