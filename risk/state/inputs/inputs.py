"""The inputs of a state: what the rules of format 2 read besides book, quote and forecast.

Rules:
- An input is frozen, integers, names and enumerations only, and says when it was true.
- An absent input is None: an armed rule that needs it refuses the intent.
"""

from dataclasses import dataclass

from risk.state.inputs.activity import Activity, Publications, Quoting
from risk.state.inputs.fairness import FairnessLook
from risk.state.inputs.firm import Basket, Crowd, Firm
from risk.state.inputs.health import MachineLook
from risk.state.inputs.market import LastBars, MarketStress, SessionClock
from risk.state.inputs.model import ForecastScores
from risk.state.inputs.reconciliation import OpenDifferences
from risk.state.inputs.reference import Reference
from risk.state.paths.joint import BookPaths


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Inputs by source; None where the gateway has none."""

    reference: Reference | None = None
    firm: Firm | None = None
    activity: Activity | None = None
    reconciliation: OpenDifferences | None = None
    market: LastBars | None = None
    health: MachineLook | None = None
    paths: BookPaths | None = None
    basket: Basket | None = None
    stress: MarketStress | None = None
    scores: ForecastScores | None = None
    session: SessionClock | None = None
    quoting: Quoting | None = None
    crowd: Crowd | None = None
    publications: Publications | None = None
    fairness: FairnessLook | None = None
