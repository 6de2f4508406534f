"""The top of one book, from snapshots and changes. Pure.

Not here: whether a quote is sound: a crossed or late one is passed on, and judged where all quotes
are (`gateway.feeds.live.conditions`).

Rules:

- An entry is known by its MDEntryID, or without one by its side and place.
- A change or a deletion of an entry that is not known means that something was missed: the book is
  then not believed.
- Before FIX 5.0 the entries of a snapshot have no MDEntryID. The one entry of a side that has none
  is the one that the first MDEntryID of that side names: only the top is asked for.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from fix.wire.market_data import BID, CHANGE, DELETE, EMPTY_BOOK, OFFER, TRADE, BookEntry

_SIDES = (BID, OFFER)
_PLACE = "place "


@dataclass(frozen=True, slots=True, kw_only=True)
class Top:
    """The best bid and offer, and the last trade if there was one; decimal text."""

    bid: str
    ask: str
    last: str | None


@dataclass(slots=True)
class TopOfBook:
    """One instrument's book as far as the broker shows it."""

    _sides: dict[str, dict[str, Decimal]] = field(default_factory=lambda: {s: {} for s in _SIDES})
    _last: Decimal | None = None

    def replace(self, entries: Iterable[BookEntry]) -> str:
        """Take a whole book; return what is wrong with it, or ""."""
        self._sides = {side: {} for side in _SIDES}
        return self.change(entries)

    def change(self, entries: Iterable[BookEntry]) -> str:
        """Take changes in order; return what is wrong, or "". Then the book is no longer right."""
        for entry in entries:
            if wrong := self._take(entry):
                return wrong
        return ""

    @property
    def top(self) -> Top | None:
        """The top of the book; None while a side is missing."""
        bids, asks = (self._sides[side].values() for side in _SIDES)
        if not bids or not asks:
            return None
        last = None if self._last is None else plain(self._last)
        return Top(bid=plain(max(bids)), ask=plain(min(asks)), last=last)

    @property
    def lacking(self) -> str:
        """Which side is missing, in words."""
        empty = [n for s, n in zip(_SIDES, ("bid", "offer"), strict=True) if not self._sides[s]]
        return f"no {' and no '.join(empty)}" if empty else ""

    def _take(self, entry: BookEntry) -> str:
        if entry.kind == EMPTY_BOOK:
            self._sides = {side: {} for side in _SIDES}
            return ""
        if entry.kind == TRADE:
            if entry.action != DELETE and entry.price:
                self._last = Decimal(entry.price)
            return ""
        if entry.kind and entry.kind not in _SIDES:
            return ""  # an opening price, a volume: not ours
        name = _name(entry)
        replaced = entry.ref_id or name
        side = entry.kind or next((one for one in _SIDES if replaced in self._sides[one]), "")
        if side and entry.entry_id and replaced not in self._sides[side]:
            replaced = _nameless(self._sides[side]) or replaced
        if entry.action in {CHANGE, DELETE} and (not side or replaced not in self._sides[side]):
            what = "change" if entry.action == CHANGE else "deletion"
            return f"{what} of an unknown entry {replaced[:40]!r}"
        if not side:
            return "an entry without MDEntryType (269)"
        if entry.action == DELETE:
            del self._sides[side][replaced]
            return ""
        before = self._sides[side].pop(replaced, None)
        price = Decimal(entry.price) if entry.price else before
        if price is None:
            return "an entry without MDEntryPx (270)"
        self._sides[side][name or replaced] = price
        return ""


def plain(price: Decimal) -> str:
    """Return a price without an exponent and without zeros at its end."""
    text = f"{price:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _name(entry: BookEntry) -> str:
    return entry.entry_id or f"{_PLACE}{entry.place or 1}"


def _nameless(side: Mapping[str, Decimal]) -> str:
    """Return the name of a side's only entry if it has no MDEntryID, or ""."""
    return next((name for name in side if len(side) == 1 and name.startswith(_PLACE)), "")
