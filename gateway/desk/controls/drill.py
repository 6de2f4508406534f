"""A drill of the kill: the path of a press is walked and timed, and nothing stops.

The kill word is locked and made durable without a change, and the FIX child answers as it would
answer a kill. No order is refused and none is cancelled.

Not here: the kill (`kill`).
"""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from audit.errors import AuditError
from audit.sequencer.ledger import Lane
from fix.durable.kill_word import KillWord, boot_id, monotonic_us
from gateway.desk.controls.kill import CONFIRM_WITHIN_S
from gateway.walk.journal.control.kill import KillDrilled
from gateway.walk.ports import LedgerPort
from gateway.walk.projections.kill_times import drill_line


class DrilledChild(Protocol):
    """The part of the FIX child's supervisor that a drill needs."""

    def drill(self, timeout_s: float = CONFIRM_WITHIN_S) -> bool:
        """Return whether the child answered in time."""


@dataclass(slots=True, kw_only=True)
class Drills:
    """The drills of one gateway.

    Attributes:
        live: ClOrdIDs that a kill would cancel now.
        newest: a line about the newest drill, empty before the first.
    """

    word: KillWord
    child: DrilledChild
    ledger: LedgerPort
    live: Callable[[], Sequence[str]]
    newest: str = ""

    def drill(self, actor: str, reason: str) -> dict[str, Any]:
        """Walk the path of a press, record the times, and return them.

        Raises:
            KillWordError: the word cannot be made durable: a kill would not be durable either.
            AuditError: the ledger does not take the record.
        """
        pressed_us = monotonic_us()
        self.word.rehearse()
        durable_us = monotonic_us()
        confirmed = self.child.drill()
        drilled = KillDrilled(
            kill_epoch=self.word.read().kill_epoch,
            actor_name=actor,
            reason=reason,
            confirmed=confirmed,
            live=len(self.live()),
            boot_id=boot_id().hex(),
            pressed_us=pressed_us,
            durable_us=durable_us,
            confirmed_us=monotonic_us() if confirmed else None,
        )
        (record,) = self.ledger.append(drilled.draft(), lane=Lane.URGENT)
        with contextlib.suppress(AuditError):
            self.newest = drill_line(record)
        return {"confirmed": confirmed, "seq": record.seq, "told": self.newest}
