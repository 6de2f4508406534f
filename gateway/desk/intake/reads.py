"""Records of who looked at what, one for each person, object and minute.

Rules:

- The record is durable before the object is shown: without the ledger nothing is shown. Only the
  state of a kill is shown all the same.
- Only objects that exist are named: a text that was asked for in vain enters no record.

Not here: who may read (`roles`), reads of personal values (`privacy`).
"""

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from audit.errors import AuditError
from gateway.installation.keys.keyring import Caller
from gateway.walk.journal.control.access import ReadRecorded
from gateway.walk.ports import LedgerPort

_log = logging.getLogger(__name__)

MINUTE_S: Final = 60
HOUR_S: Final = 3_600
TRIED_S: Final = 0.5
REMEMBERED_MAX: Final = 4_096
"""A forgotten entry costs one append: the ledger writes no idempotency key twice."""


class Reads:
    """Records reads. Thread-safe."""

    def __init__(self, ledger: LedgerPort, wall_us: Callable[[], int]) -> None:
        self._ledger = ledger
        self._wall_us = wall_us
        self._noted: OrderedDict[tuple[str, str, str], int] = OrderedDict()
        self._lock = threading.Lock()

    def try_note(self, reader: Caller, what: str) -> None:
        """Try for `TRIED_S` to record a read that is answered in any case; log a failure."""
        try:
            self.note(reader, what, timeout_s=TRIED_S)
        except AuditError as error:
            _log.warning("%s read %s, not on record: %s", reader.name, what, error)

    def note(
        self, reader: Caller, what: str, *, window_s: int = MINUTE_S, timeout_s: float = 5.0
    ) -> None:
        """Record a read; return once the record is durable.

        Raises:
            AuditError: the ledger does not take the record; do not show the object.
        """
        window_us = window_s * 1_000_000
        from_us = self._wall_us() // window_us * window_us
        key = (reader.name, reader.role.value, what)
        with self._lock:
            if self._noted.get(key) == from_us:
                return
        read = ReadRecorded(
            reader=reader.name,
            role=reader.role.value,
            object=what,
            from_us=from_us,
            window_s=window_s,
        )
        self._ledger.append(read.draft(), timeout_s=timeout_s)
        with self._lock:
            self._noted[key] = from_us
            self._noted.move_to_end(key)
            while len(self._noted) > REMEMBERED_MAX:
                self._noted.popitem(last=False)
