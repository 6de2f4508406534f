"""How many lots each account holds, as the records before say it.

The trade of a report counts under the number of the record that booked it. One that is taken back
or corrected after a split leaves its position unknown: which fractions were cut off is not here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from audit.verifier.parts.canonical import text_of

Place = tuple[str, str]
"""An account and an instrument."""


@dataclass(slots=True)
class Positions:
    """The fold; give it every record with `take`."""

    _lots: dict[Place, int] = field(default_factory=dict)
    _trades: dict[int, tuple[Place, int, int]] = field(default_factory=dict)
    _splits: dict[Place, int] = field(default_factory=dict)
    _unknown: set[Place] = field(default_factory=set)

    def lots(self, account: object, instrument: object) -> int | None:
        """Return the lots of a position, negative if short; None if they are not known."""
        place = (text_of(account), text_of(instrument))
        return None if place in self._unknown else self._lots.get(place, 0)

    def take(self, seq: int, kind: str, body: Mapping[str, Any]) -> None:
        """Fold a record."""
        account = text_of(body.get("account"))
        match kind:
            case "order_reported":
                undone = body.get("undoes_seq")
                number = undone if type(undone) is int else seq
                self._undo(number)
                place, lots = _traded(account, body.get("fill"))
                if lots:
                    self._trades[number] = (place, lots, self._splits.get(place, 0))
                    self._add(place, lots)
            case "difference_resolved":
                self._add(*_traded(account, body.get("adjustment")))
            case "book_adjusted":
                self._adjust(account, body)
            case _:
                pass

    def _undo(self, number: int) -> None:
        place, lots, splits = self._trades.pop(number, (("", ""), 0, 0))
        if splits != self._splits.get(place, 0):
            self._unknown.add(place)
        self._add(place, -lots)

    def _adjust(self, account: str, body: Mapping[str, Any]) -> None:
        lots = body.get("lots")
        for name, more in lots.items() if isinstance(lots, dict) else ():
            self._add((account, name), more if type(more) is int else 0)
        if body.get("sort") == "split":
            place = (account, text_of(body.get("instrument")))
            self._splits[place] = self._splits.get(place, 0) + 1

    def _add(self, place: Place, lots: int) -> None:
        self._lots[place] = self._lots.get(place, 0) + lots


def _traded(account: str, fill: object) -> tuple[Place, int]:
    booked = fill if isinstance(fill, dict) else {}
    lots = booked.get("qty_lots")
    lots = lots if type(lots) is int else 0
    place = (account, text_of(booked.get("instrument")))
    return place, lots if booked.get("side") == "BUY" else -lots
