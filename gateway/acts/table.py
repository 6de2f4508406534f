"""Every act of the table, in the order of the API's description."""

from collections.abc import Mapping
from typing import Final

from gateway.acts.act import Act
from gateway.acts.booking import BOOKING
from gateway.acts.fairness import FAIRNESS
from gateway.acts.governing import GOVERNING
from gateway.acts.oversight import OVERSIGHT
from gateway.acts.stopping import STOPPING

HEADINGS: Final[Mapping[str, tuple[Act, ...]]] = {
    "Orders and stops": STOPPING,
    "Policy, keys and persons": GOVERNING,
    "Book": BOOKING,
    "Oversight": (*FAIRNESS, *OVERSIGHT),
}
"""Every act, under the heading of `countersign verbs`."""
ACTS: Final[tuple[Act, ...]] = tuple(act for acts in HEADINGS.values() for act in acts)
