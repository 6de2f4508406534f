"""Every act of the table, in the order of the API's description."""

from typing import Final

from gateway.acts.act import Act
from gateway.acts.booking import BOOKING
from gateway.acts.fairness import FAIRNESS
from gateway.acts.governing import GOVERNING
from gateway.acts.oversight import OVERSIGHT
from gateway.acts.stopping import STOPPING

ACTS: Final[tuple[Act, ...]] = (*STOPPING, *GOVERNING, *BOOKING, *FAIRNESS, *OVERSIGHT)
