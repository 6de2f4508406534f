"""Cancelling every live order, apart from the kill: recorded, then swept by the FIX child.

It stops nothing: new orders may follow unless a stop is in force.

A request whose sweep did not end (the FIX child or the gateway died) goes on at the next logon,
from its record, for the orders that were live when it was made.
"""

import logging
import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from audit.sequencer.ledger import Lane
from gateway.errors import StopRefusedError
from gateway.walk.journal.control.stops import CancelAllAsked, CancelAllOutcome
from gateway.walk.ports import LedgerPort
from gateway.walk.projections.stops import OpenCancelAll

_ID_BYTES: Final = 16
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class CancelAll:
    """Cancels every live order through the FIX child's sweep, at the profile's pace.

    Attributes:
        sweep: asks the child for one sweep; it returns whether the child took it.
        live: ClOrdIDs that may work at the broker.
        again: asks the child for a sweep of the orders with these ClOrdIDs.
        open: the request whose sweep has not ended, at first the one on record.
    """

    ledger: LedgerPort
    sweep: Callable[[], bool]
    live: Callable[[], Sequence[str]]
    again: Callable[[Sequence[str]], bool] = lambda _: False
    open: OpenCancelAll | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def ask(self, actor: str, reason: str) -> dict[str, Any]:
        """Record the request, then let the child cancel; the outcome is recorded when it ends.

        The sweep begins when the session is up, and takes in no order that is handed over later.

        Raises:
            AuditError: the ledger does not take the request; nothing is cancelled. The kill cancels
                without the ledger.
            StopRefusedError: the FIX child is down.
        """
        cancel_id, live = secrets.token_hex(_ID_BYTES), sorted(self.live())
        with self._lock:
            asked = CancelAllAsked(
                cancel_id=cancel_id, actor_name=actor, reason=reason, live=tuple(live)
            )
            self.ledger.append(asked.draft(), lane=Lane.URGENT)
            # a crash here leaves a request without an outcome: it goes on at the next logon
            self.open = OpenCancelAll(cancel_id=cancel_id, live=tuple(live))
        if not self.sweep():
            raise StopRefusedError(
                problem="the FIX process is down or does not answer: nothing is cancelled yet. The"
                " request is on record and goes on when the session is back; the kill also cancels"
                " until every order is gone"
            )
        return {"cancel_id": cancel_id, "live": live}

    def go_on(self) -> None:
        """Ask for the open request's sweep again, after a logon; nothing without one.

        Raises:
            AuditError: the ledger does not take the outcome of a request that had no order.
        """
        found = self.open
        if found is None:
            return
        if not found.live:
            self.record_outcome(confirmed=(), unknown=(), still_open=())
        elif self.again(found.live):
            _log.warning("cancel-all %s goes on: %s orders", found.cancel_id, len(found.live))

    def record_outcome(
        self, *, confirmed: Sequence[str], unknown: Sequence[str], still_open: Sequence[str]
    ) -> None:
        """Record how the sweep ended; nothing if nobody asked for one.

        Raises:
            AuditError: the ledger does not take it.
        """
        with self._lock:
            if self.open is None:
                return
            outcome = CancelAllOutcome(
                cancel_id=self.open.cancel_id,
                confirmed=tuple(confirmed),
                unknown=tuple(unknown),
                open=tuple(still_open),
            )
            self.ledger.append(outcome.draft(), lane=Lane.URGENT)
            self.open = None
