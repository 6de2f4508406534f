"""What a broker's message says of a trade: the fields of its report, its money and its fees.

A fee counts only in the money of the trade, of a kind that is understood, and in whole minor
units; what is left open counts as nothing.

Source: FIX 4.4 volume 6: Commission (12), CommType (13), CommCurrency (479), NoMiscFees (136):
MiscFeeAmt (137), MiscFeeCurr (138), MiscFeeType (139), MiscFeeBasis (891).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from audit.verifier.parts.canonical import text_of
from audit.verifier.parts.trust.brokerfile import SCALE, units_of
from audit.verifier.parts.trust.wire import exec_type_of, first_of_each, wire_pairs

RAW_MAX = 8_192
"""Characters of a message that a record holds; the rest of a longer one is in a blob."""
REPORT_TAGS = {
    "37": "order_id",
    "11": "cl_ord_id",
    "41": "orig_cl_ord_id",
    "17": "exec_id",
    "19": "exec_ref_id",
    "150": "exec_type",
    "39": "ord_status",
    "32": "last_qty",
    "31": "last_price",
    "151": "leaves_qty",
    "14": "cum_qty",
    "6": "average_price",
}
"""The fields of an ExecutionReport that a record of it repeats."""
_SOLE = tuple(
    str(tag) for tag in (11, 14, 15, 17, 19, 20, 31, 32, 37, 39, 41, 54, 55, 120, 150, 151)
)
"""The tags that no group of a report has: two values of one contradict each other."""
_FEE_MEMBERS = frozenset({"137", "138", "139", "891"})
_BASES = {"12": {"": "absolute", "3": "absolute", "1": "unit", "2": "percent"}}
_BASES["137"] = {"": "absolute", "0": "absolute", "1": "unit", "2": "percent"}
_MARKUP = "8"
_FEES_MAX_MINOR = 10**14


class ToldFee(NamedTuple):
    """A fee as a message states it; the basis is empty where it is not understood."""

    amount: str
    basis: str
    money: str


class Message(NamedTuple):
    """What is kept of a message; `fees` is None for one that is cut."""

    report: Mapping[str, str]
    order: Mapping[str, str]
    doubled: Sequence[str]
    commission: str
    fees: Sequence[ToldFee] | None


class ToldTrade(NamedTuple):
    """The trade that a fee is for; money in 10**-`digits` of `currency`."""

    currency: object
    digits: int
    quantity: int
    price_minor: int
    multiplier: int


def message_of(body: Mapping[str, Any]) -> Message:
    """Return what a record of an inbound message holds."""
    raw = text_of(body.get("raw"))
    is_cut = len(raw) == RAW_MAX  # the beginning of a longer message: its last field may be cut too
    pairs = wire_pairs(raw.rpartition("\x01")[0] if is_cut else raw)
    fields = first_of_each(pairs)
    if told := exec_type_of(fields):
        fields["150"] = told
    commission = list(_commission(pairs))
    absolute = next((one.amount for one in commission if one.basis == "absolute"), "")
    values = {tag: {value for one, value in pairs if one == tag} for tag in _SOLE}
    return Message(
        report={tag: fields.get(tag, "") for tag in REPORT_TAGS if not is_cut or tag in fields},
        order={tag: fields.get(tag, "") for tag in ("15", "54", "55", "120")},
        doubled=[tag for tag in _SOLE if len(values[tag]) > 1],
        commission=absolute,
        fees=None if is_cut else [*commission, *_misc_fees(pairs)],
    )


def fee_minor_of(fees: Sequence[ToldFee], trade: ToldTrade) -> int:
    """Return the sum of the fees that are understood, in minor units."""
    total = sum(_charged(fee, trade) or 0 for fee in fees)
    return 0 if abs(total) > _FEES_MAX_MINOR else total


def _charged(fee: ToldFee, trade: ToldTrade) -> int | None:
    """Return a fee in minor units, None if it is left open."""
    units = units_of(fee.amount)
    if not units or not fee.basis or fee.money not in {"", trade.currency}:
        return None
    if fee.basis == "percent":
        units *= trade.quantity * trade.price_minor * trade.multiplier
    else:
        units *= 10**trade.digits * (trade.quantity if fee.basis == "unit" else 1)
    minor, rest = divmod(units, 10**SCALE)
    return None if rest else minor


def _commission(pairs: Sequence[tuple[str, str]]) -> Iterator[ToldFee]:
    said = {
        tag: list(dict.fromkeys(value for one, value in pairs if one == tag))
        for tag in ("12", "13", "479")
    }
    if any(said.values()):
        is_sole = all(len(values) <= 1 for values in said.values())
        amount = said["12"][0] if is_sole and said["12"] else ""
        yield ToldFee(amount, _BASES["12"].get(" ".join(said["13"]), ""), " ".join(said["479"]))


def _misc_fees(pairs: Sequence[tuple[str, str]]) -> Iterator[ToldFee]:
    """Yield each entry of NoMiscFees; none is understood in a group that is not whole."""
    counts = {value for tag, value in pairs if tag == "136"}
    places = [place for place, (tag, _) in enumerate(pairs) if tag in _FEE_MEMBERS]
    entries: list[dict[str, str]] = []
    for tag, value in (pairs[place] for place in places):
        if not entries or tag == pairs[places[0]][0] or tag in entries[-1]:
            entries.append({})
        entries[-1][tag] = value
    if not entries and not counts <= {"0"}:
        yield ToldFee("", "", "")
    together = bool(places) and places[-1] - places[0] + 1 == len(places)
    sound = together and counts == {str(len(entries))} and pairs[places[0] - 1][0] == "136"
    for entry in entries:
        is_open = entry.get("139") == _MARKUP or not sound
        basis = "" if is_open else _BASES["137"].get(entry.get("891", ""), "")
        yield ToldFee(entry.get("137", ""), basis, entry.get("138", ""))
