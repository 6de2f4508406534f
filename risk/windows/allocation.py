"""The split of an aggregated order: fixed before it trades, and compared over a window afterwards.

Shares are basis points that sum to one; lots are dealt by largest remainder, ties to the client
that comes first by name, so a sealed split and a number of lots have exactly one outcome. Every
client has the order's average price.

Not here: when a split is sealed (`gateway/desk`). Who chooses which *order* a client shares in can
still choose well: the window test compares what the clients' orders were worth at the close.

Source: FCA COBS 11.3.8, timely and fair allocation of aggregated orders.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from risk.errors import AllocationError
from risk.windows.fairness.cases import FairnessCase
from risk.windows.fairness.exposure import DEALS, Permutation, permutation

WHOLE_BP: Final = 10_000


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
