"""The thread that makes the forecasts of new inputs before anybody asks for them.

A new bar or item makes another forecast due. One is made at a time, so the pace is the engine's
own, and none is begun while an intent waits. Nothing is decided here: an intent that comes first
makes its own, and who comes meanwhile waits for the one that is being made (`gateway.walk`).

Rules:
- What failed is tried again after a minute, then after twice as long each time, to an hour.
- While the engine is away nothing is begun.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Final

from gateway import clock
from gateway.desk.desk import Desk
from gateway.desk.parts import DeskParts
from gateway.errors import RequestError
from gateway.launch.threads.housekeeping import Housekeeping
from gateway.launch.threads.sampler import SamplerWatch
from gateway.walk.forecast import forecast
from gateway.walk.journal.decision import ForecastNamed
from gateway.walk.ports import Tags
from inference.errors import EngineError, ScaleError, SnapshotError
from inference.snapshot import Snapshot
from risk.state.instrument import Instrument

FIRST_WAIT_US: Final = 60_000_000
LAST_WAIT_US: Final = 3_600_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DueForecast:
    """Inputs whose forecast is due."""

    tags: Tags
    instrument: Instrument
    snapshot: Snapshot
    stood: str | None


@dataclass(slots=True, kw_only=True)
class _Tried:
    """What was last done for an instrument."""

    snapshot: Snapshot | None = None
    made: bool = False
    wait_us: int = FIRST_WAIT_US
    again_us: int = 0


@dataclass(slots=True)
class ForecastKeeper:
    """Keeps the forecast of each instrument ready; one thread calls `look`."""

    desk: Desk
    now_us: Callable[[], int] = clock.monotonic_us
    _tried: dict[str, _Tried] = field(default_factory=dict)

    def look(self) -> int:
        """Make every forecast that is due, one after the other; return how many were made.

        Raises:
            audit.errors.AuditError: the ledger does not answer; the next call goes on from there.
        """
        made = 0
        for symbol, instrument in self.desk.own.instruments.items():
            if self.desk.admission.now().queue or not self._serves():
                break
            with self.desk.turns.one():  # no policy follows meanwhile
                made += self._keep(self.desk.own, symbol, instrument)
        return made

    def _serves(self) -> bool:
        try:
            self.desk.own.tools.engine.describe()
        except EngineError:
            return False
        return True

    def _keep(self, own: DeskParts, symbol: str, instrument: Instrument) -> bool:
        """Make one instrument's forecast if its inputs are new, or its last failure is old."""
        tried = self._tried.setdefault(symbol, _Tried())
        try:
            stood = own.section.forecasts.stands(symbol)
            snapshot = own.market.inputs(symbol)
        except (RequestError, SnapshotError, ScaleError):
            return False  # not enough bars, or not sound ones: `feeds` says which
        same = snapshot == tried.snapshot
        if same and (tried.made or self.now_us() < tried.again_us):
            return False
        tried.snapshot, tried.made = snapshot, False
        tried.again_us = self.now_us() + tried.wait_us  # also where the ledger refuses it
        found = forecast(
            DueForecast(tags=own.tags, instrument=instrument, snapshot=snapshot, stood=stood),
            own.tools,
            own.section,
        )
        if not isinstance(found, ForecastNamed):
            tried.made, tried.wait_us = True, FIRST_WAIT_US
            return True
        tried.again_us = self.now_us() + tried.wait_us
        tried.wait_us = min(2 * tried.wait_us, LAST_WAIT_US)
        return False


def start_keeper(stack: ExitStack, desk: Desk, sampler: SamplerWatch) -> Housekeeping:
    """Start keeping forecasts ready, and holding some against the engine; the stack stops it."""
    chores = {
        "keeping forecasts ready": ForecastKeeper(desk).look,
        "checking direct forecasts": sampler.look,
    }
    running = Housekeeping(chores, name="forecasts")
    stack.enter_context(running.in_background())
    return running
