"""The split of an aggregated order: fixed before it trades, and compared over a window afterwards.

Shares are basis points that sum to one; lots are dealt by largest remainder, ties to the client
that comes first by name, so a sealed split and a number of lots have exactly one outcome. Every
client has the order's average price.

Not here: when a split is sealed (`gateway/desk`). Who chooses which *order* a client shares in can
still choose well: the window test compares what the clients' orders were worth at the close.

Source: FCA COBS 11.3.8, timely and fair allocation of aggregated orders.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from risk.errors import AllocationError
from risk.windows.fairness.cases import FairnessCase
from risk.windows.fairness.exposure import DEALS, Permutation, permutation
from risk.windows.fairness.window import FairnessRow, permuted

WHOLE_BP: Final = 10_000
NO_SPLIT: Final = "no order of the window was split between clients and has a close"


@dataclass(frozen=True, slots=True, kw_only=True)
class Allotted:
    """What one client got of one order, and what it was worth at the close.

    Attributes:
        stratum: What it is compared within: instrument and day.
        gain_bp: From the order's average price to the close, in the order's direction.
    """

    decision_id: str
    client: str
    stratum: str
    gain_bp: int


def split(lots: int, shares_bp: Mapping[str, int]) -> dict[str, int]:
    """Return each client's lots, by name.

    Raises:
        AllocationError: the shares are not positive or do not sum to one, or lots are negative.
    """
    if lots < 0 or not shares_bp or min(shares_bp.values()) <= 0:
        raise AllocationError("each client needs a positive share, and lots are not negative")
    if sum(shares_bp.values()) != WHOLE_BP:
        raise AllocationError(f"shares sum to {sum(shares_bp.values())} bp, not to {WHOLE_BP}")
    dealt = {name: lots * shares_bp[name] // WHOLE_BP for name in sorted(shares_bp)}
    left = lots - sum(dealt.values())
    by_rest = sorted(dealt, key=lambda name: (-(lots * shares_bp[name] % WHOLE_BP), name))
    for name in by_rest[:left]:
        dealt[name] += 1
    return dealt


def gain_bp(*, buys: bool, close_ticks: int, lots: int, paid: int) -> int:
    """Return what an order was worth at the close against its average price, bp rounded down.

    `paid` is the sum of lots times ticks of its trades.

    Raises:
        AllocationError: nothing traded.
    """
    if lots <= 0 or paid <= 0:
        raise AllocationError("an order without a trade has no average price")
    gained = close_ticks * lots - paid
    return (gained if buys else -gained) * WHOLE_BP // paid


def allotted_row(allotted: Sequence[Allotted], root: bytes, *, deals: int) -> FairnessRow:
    """Return W8 of a window: did some client get the better orders?"""
    row = FairnessRow(test="W8", subject="allocations", attribute="client", cases=len(allotted))
    if not allotted:
        return replace(row, because=NO_SPLIT)
    return permuted(row, cherry_picking(allotted, root, deals=deals))


def cherry_picking(allotted: Iterable[Allotted], root: bytes, *, deals: int = DEALS) -> Permutation:
    """Return the permutation test of gains against clients, within strata; as W3."""
    return permutation(
        [
            FairnessCase(
                decision_id=f"{one.decision_id} {one.client}",
                group=one.client,
                stratum=one.stratum,
                approved=True,
                exposure_bp=one.gain_bp,
                hit=frozenset(),
            )
            for one in allotted
        ],
        root,
        deals=deals,
    )
