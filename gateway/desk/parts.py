"""The parts that a desk works with.

Not here: what is done with them (`gateway.desk.desk`), how they are made (`gateway.launch`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from audit.store.reader import LedgerReader
from fix.durable.kill_word import KillWord
from gateway.desk.controls.cancel_all import CancelAll
from gateway.desk.controls.drill import Drills
from gateway.desk.controls.kill import KillSwitch
from gateway.desk.controls.orders import CancelPort
from gateway.desk.intake.feeding import Feeding
from gateway.desk.intake.receipts import Receipts
from gateway.feeds.market import Market
from gateway.installation.children.engine_pace import PaceNow
from gateway.installation.keys.keyring import Keyring
from gateway.telemetry.session import SessionStatus
from gateway.telemetry.spans import Telemetry
from gateway.walk.dispatch import DispatchTools
from gateway.walk.ports import NarrativeReach, Tags, Tools
from gateway.walk.projections.foreign import ForeignOrders
from gateway.walk.projections.outbox import Orders
from gateway.walk.section import Section
from inference.snapshot import Snapshot
from risk.policy.policy import Policy
from risk.state.instrument import Instrument


class MarketLook(NamedTuple):
    """The market as it is now; what is said of it was read first, so it claims nothing newer."""

    reach: NarrativeReach | None
    stood: str
    snapshot: Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class DeskParts:
    """The parts that a desk works with.

    Attributes:
        tags: of the run's own account; agents trade in accounts beside it (`Scopes.tags_of`).
        parts, agreement: each part's state, "ready" or not; in what the processes agree.
        witnessed: returns how far the witnesses are; None without witnesses.
        feeding: takes what feeds post; None where the market is played.
        receipts: signs answers; None gives answers without a receipt.
        session: returns the FIX session's state, from memory; None without a session.
        foreign: orders at the broker that are not ours; None where nobody folds them.
        cancels, cancel_all: one order, every live one; the latter None without FIX, as `drills`.
        pace: how fast the engine is and what it has to do, from memory.
        policy_misfits: says in what a policy contradicts the instruments or the broker.
    """

    tags: Tags
    tools: Tools
    section: Section
    orders: Orders
    reader: LedgerReader
    market: Market
    instruments: dict[str, Instrument]
    dispatching: DispatchTools
    cancels: CancelPort
    kill_switch: KillSwitch
    word: KillWord
    keyring: Keyring
    origin: str
    parts: Callable[[], dict[str, str]]
    telemetry: Telemetry
    witnessed: Callable[[], dict[str, Any] | None] = lambda: None
    feeding: Feeding | None = None
    receipts: Receipts | None = None
    session: Callable[[], SessionStatus | None] = lambda: None
    foreign: ForeignOrders | None = None
    cancel_all: CancelAll | None = None
    drills: Drills | None = None
    policy_misfits: Callable[[Policy], tuple[str, ...]] = lambda _: ()
    agreement: Callable[[], dict[str, str]] = dict
    pace: Callable[[], PaceNow] = lambda: PaceNow(tokens_s=None, tokens_left=0, silent_s=0.0)

    def look(self, symbol: str) -> MarketLook:
        """Return an instrument's snapshot of now, with what was complete and what stood before it.

        Raises:
            RequestError: the instrument has no quote, or its market is closed.
        """
        reach, stood = self.market.reach(), self.section.forecasts.stands(symbol)
        return MarketLook(reach=reach, stood=stood, snapshot=self.market.snapshot(symbol))
