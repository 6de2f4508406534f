"""The top of one book, from snapshots and changes. Pure.

Not here: whether a quote is sound: a crossed or late one is passed on, and judged where all quotes
are (`gateway.feeds.live.conditions`).

Rules:

- An entry is known by its MDEntryID, or without one by its side and place.
- A change or a deletion of an entry that is not known means that something was missed: the book is
  then not believed.
- Only firm entries make the top: some quantity (271 is not 0), no QuoteCondition (276) but those of
  `FIRM`, no MDQuoteType (1070) that says otherwise. A closed or unknown condition is not firm.
- A price in another currency (15) than the instrument's means that the book is not believed, also
  where nobody said which one that is. Pence (GBX, GBp) are not pounds (GBP).
- Entries of a snapshot without MDEntryID and place stand in their order.
- Before FIX 5.0 the entries of a snapshot have no MDEntryID. The one entry of a side that has none
  is the one that the first MDEntryID of that side names: only the top is asked for.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Final

from fix.wire.market_data import BID, CHANGE, DELETE, EMPTY_BOOK, OFFER, TRADE, BookEntry

FIRM: Final = frozenset("ACDGJK")
"""QuoteCondition (276) of a quote that somebody trades at: open, exchange best, consolidated best,
depth, outright, implied. Source: FIX 5.0 SP2 volume 6, QuoteCondition."""
_SIDES = (BID, OFFER)
_PLACE = "place "


@dataclass(frozen=True, slots=True, kw_only=True)
class Top:
    """The best bid and offer, and the last trade if there was one; decimal text."""

    bid: str
    ask: str
    last: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Level:
    """One entry; `unfirm` says why nobody trades at it, or nothing."""

    price: Decimal
    unfirm: str = ""


@dataclass(slots=True)
class TopOfBook:
    """One instrument's book as far as the broker shows it; `currency` is the instrument's."""

    currency: str = ""
    _sides: dict[str, dict[str, _Level]] = field(default_factory=lambda: {s: {} for s in _SIDES})
    _last: Decimal | None = None

    def replace(self, entries: Iterable[BookEntry]) -> str:
        """Take a whole book; return what is wrong with it, or ""."""
        self._sides = {side: {} for side in _SIDES}
        return self.change(_in_order(entries))

    def change(self, entries: Iterable[BookEntry]) -> str:
        """Take changes in order; return what is wrong, or "". Then the book is no longer right."""
        for entry in entries:
            if wrong := self._foreign(entry) or self._take(entry):
                return wrong
        return ""

    @property
    def top(self) -> Top | None:
        """The top of the book; None while a side is missing or nobody trades there."""
        bids, asks = (self._firm(side) for side in _SIDES)
        if not bids or not asks:
            return None
        last = None if self._last is None else plain(self._last)
        return Top(bid=plain(max(bids)), ask=plain(min(asks)), last=last)

    @property
    def lacking(self) -> str:
        """Which side is missing or not firm, in words."""
        said = []
        for side, name in zip(_SIDES, ("bid", "offer"), strict=True):
            if not self._sides[side]:
                said.append(f"no {name}")
            elif not self._firm(side):
                why = next(iter(self._sides[side].values())).unfirm
                said.append(f"no firm {name}: {why}")
        return " and ".join(said)

    def _firm(self, side: str) -> list[Decimal]:
        return [one.price for one in self._sides[side].values() if not one.unfirm]

    def _foreign(self, entry: BookEntry) -> str:
        """Return that an entry's price is in another currency than expected, or nothing."""
        ours = entry.kind in {"", TRADE, *_SIDES}
        if not ours or entry.currency in {"", self.currency}:
            return ""
        return f"quoted in {entry.currency[:9]}, not in {self.currency or 'a known currency'}"

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
        price = entry.price or (before and plain(before.price))
        if not price:
            return "an entry without MDEntryPx (270)"
        kept = before if entry.action == CHANGE else None
        level = _Level(price=Decimal(price), unfirm=_unfirm(entry, kept))
        self._sides[side][name or replaced] = level
        return ""


def plain(price: Decimal) -> str:
    """Return a price without an exponent and without zeros at its end."""
    text = f"{price:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _in_order(entries: Iterable[BookEntry]) -> Iterator[BookEntry]:
    """Yield the entries of a whole book; one without a name has the next place of its side.

    Two of one place are two entries: the better one is the top.
    """
    used: dict[str, set[str]] = {}
    for entry in entries:
        names = used.setdefault(entry.kind, set())
        own = entry
        number = 1
        while _name(own) in names:
            number += 1
            first = entry.entry_id or entry.place
            own = replace(entry, entry_id="", place=f"{first} {number}" if first else str(number))
        names.add(_name(own))
        yield own


def _unfirm(entry: BookEntry, before: _Level | None) -> str:
    """Return why nobody trades at an entry; a change that says nothing leaves what was said."""
    said = entry.size or entry.conditions is not None or entry.indicative
    if not said and before is not None:
        return before.unfirm
    if entry.size and not Decimal(entry.size):
        return "271=0"
    if entry.indicative:
        return "1070 says indicative"
    strange = set((entry.conditions or "").split()) - FIRM
    return f"276={' '.join(sorted(strange))[:20]}" if strange else ""


def _name(entry: BookEntry) -> str:
    return entry.entry_id or f"{_PLACE}{entry.place or 1}"


def _nameless(side: Mapping[str, _Level]) -> str:
    """Return the name of a side's only entry if it has no MDEntryID, or ""."""
    return next((name for name in side if len(side) == 1 and name.startswith(_PLACE)), "")
