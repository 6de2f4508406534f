"""Commission and MiscFees of a report: what was charged, exactly, or why that is not known. Pure.

Rules:
- A fee counts only in the money of the trade, and only in whole minor units; nothing is rounded.
- What is not understood is left open, with its tags, and never counts as zero. A fee of zero is
  zero in every money and of every kind.

| tag | kind | counted |
|---|---|---|
| 13=1, 891=1 | per unit | amount by LastQty (32) |
| 13=2, 891=2 | percent | amount by LastQty, LastPx and multiplier; 5 % is 0.05 |
| 13=3 or none, 891=0 or none | absolute | the amount |
| 13=4, 5, 6 and others; 139=8 | waived, points, a markup in the price | open |

Source: FIX 4.4 volume 6: Commission (12), CommType (13), CommCurrency (479), MiscFeeAmt (137),
MiscFeeCurr (138), MiscFeeType (139), MiscFeeBasis (891).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from fix.wire.reader import DECIMAL

_COMMISSION, _COMMISSION_KIND, _COMMISSION_MONEY = 12, 13, 479
_FEES, _FEE, _FEE_MONEY, _FEE_TYPE, _FEE_BASIS = 136, 137, 138, 139, 891
_FEE_MEMBERS = frozenset({_FEE, _FEE_MONEY, _FEE_TYPE, _FEE_BASIS})
_MARKUP = "8"
_ABSOLUTE, _PER_UNIT, _PERCENT = "absolute", "per unit", "percent"
_KINDS = {"": _ABSOLUTE, "3": _ABSOLUTE, "1": _PER_UNIT, "2": _PERCENT}
_BASES = {"": _ABSOLUTE, "0": _ABSOLUTE, "1": _PER_UNIT, "2": _PERCENT}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fee:
    """One fee as the broker states it.

    Attributes:
        tag: 12 for the commission, 137 for a MiscFee; `amount` is its text.
        basis: how it is meant; empty if that is not understood.
        money: the currency, empty if none is given; `money_tag` is where it stands.
        text: its fields as text, for a person.
    """

    tag: int
    amount: str
    basis: str
    money: str
    text: str

    @property
    def money_tag(self) -> int:
        """The tag that names the currency."""
        return _COMMISSION_MONEY if self.tag == _COMMISSION else _FEE_MONEY

    @property
    def is_absolute_commission(self) -> bool:
        """Whether this is a commission that is stated as an amount."""
        return self.tag == _COMMISSION and self.basis == _ABSOLUTE


@dataclass(frozen=True, slots=True, kw_only=True)
class Traded:
    """The trade that a fee is for; `price` and money in 10**-`digits` of `currency`."""

    currency: str
    digits: int
    quantity: int
    price: int
    multiplier: int


def fees_of(pairs: Sequence[tuple[int, str]]) -> tuple[Fee, ...]:
    """Return the commission and every MiscFee in a report's fields, in wire order."""
    return (*_commission(pairs), *_misc_fees(pairs))


def charged(fee: Fee, trade: Traded) -> int | str:
    """Return a fee in minor units, or the words that say why it is not known."""
    if not DECIMAL.fullmatch(fee.amount):
        return f"{fee.text}: tag {fee.tag} is not one decimal number"
    amount = Fraction(fee.amount)
    if not amount:
        return 0
    if fee.money not in {"", trade.currency}:
        return f"{fee.text}: tag {fee.money_tag} is {fee.money[:8]}, not {trade.currency}"
    if fee.basis == _PER_UNIT:
        amount *= trade.quantity
    elif fee.basis == _PERCENT:
        amount *= Fraction(trade.quantity * trade.price * trade.multiplier, 10**trade.digits)
    elif fee.basis != _ABSOLUTE:
        return f"{fee.text}: a fee of this kind cannot be computed"
    minor = amount * 10**trade.digits
    if minor.denominator != 1:
        return _too_fine(fee, minor, trade)
    return int(minor)


def _too_fine(fee: Fee, minor: Fraction, trade: Traded) -> str:
    """Return why an amount between two minor units is open: what the broker rounds it to."""
    exact = float(minor / 10**trade.digits)
    comes = (
        "" if fee.basis == _ABSOLUTE else f"{fee.basis}, comes to {exact:.9g} {trade.currency}, "
    )
    return f"{fee.text}: {comes}finer than {trade.digits} decimals: the broker's rounding is open"


def _commission(pairs: Sequence[tuple[int, str]]) -> Iterator[Fee]:
    said = {
        tag: list(dict.fromkeys(value for one, value in pairs if one == tag))
        for tag in (_COMMISSION, _COMMISSION_KIND, _COMMISSION_MONEY)
    }
    if not any(said.values()):
        return
    sole = all(len(values) <= 1 for values in said.values())
    kind, money = (" ".join(said[tag]) for tag in (_COMMISSION_KIND, _COMMISSION_MONEY))
    yield Fee(
        tag=_COMMISSION,
        amount=said[_COMMISSION][0] if sole and said[_COMMISSION] else "",
        basis=_KINDS.get(kind, ""),
        money=money,
        text=_text((tag, value) for tag, values in said.items() for value in values),
    )


def _misc_fees(pairs: Sequence[tuple[int, str]]) -> Iterator[Fee]:
    """Yield each entry of NoMiscFees.

    None is understood in a group whose count is wrong, or whose fields do not stand together.
    """
    counts = {value for tag, value in pairs if tag == _FEES}
    places = [place for place, (tag, _) in enumerate(pairs) if tag in _FEE_MEMBERS]
    members = [pairs[place] for place in places]
    entries: list[dict[int, str]] = []
    for tag, value in members:
        if not entries or tag == members[0][0] or tag in entries[-1]:
            entries.append({})
        entries[-1][tag] = value
    if not entries and not counts <= {"0"}:
        text = _text((_FEES, count) for count in sorted(counts))
        yield Fee(tag=_FEE, amount="", basis="", money="", text=text)
    together = bool(places) and places[-1] - places[0] + 1 == len(places)
    sound = together and counts == {str(len(entries))} and pairs[places[0] - 1][0] == _FEES
    for entry in entries:
        absent = entry.get(_FEE_TYPE) == _MARKUP or not sound
        yield Fee(
            tag=_FEE,
            amount=entry.get(_FEE, ""),
            basis="" if absent else _BASES.get(entry.get(_FEE_BASIS, ""), ""),
            money=entry.get(_FEE_MONEY, ""),
            text=_text([*((_FEES, one) for one in sorted(counts)), *entry.items()]),
        )


def _text(pairs: Iterator[tuple[int, str]] | Sequence[tuple[int, str]]) -> str:
    text = " ".join(f"{tag}={value}" for tag, value in pairs)
    return "".join(c for c in text if c.isascii() and c.isprintable())[:80]
