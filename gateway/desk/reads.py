"""Reads on record: who looked at what, once for each person, object and minute.

Rules kept here:
- The record stands before what was read is shown: a ledger that takes no record shows nothing. Only
  whether a kill is in force is told without it.
- The same person's next look at the same object within the minute writes nothing.
- Only what exists is named: a text that somebody asked for in vain enters no record.

Not here: who may read (`roles`), and reads of personal values (`privacy`, each with its reason).
"""

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from audit.errors import AuditError
from gateway.installation.keys.keyring import Caller
from gateway.walk.journal import access as journal_access
from gateway.walk.ports import LedgerPort

_log = logging.getLogger(__name__)

MINUTE_S: Final = 60
HOUR_S: Final = 3_600
TRIED_S: Final = 0.5
REMEMBERED_MAX: Final = 4_096
"""What is remembered saves appends only: the ledger itself keeps a key from being written twice."""


class Reads:
    """Puts reads on record; safe from any thread."""

    def __init__(self, ledger: LedgerPort, wall_us: Callable[[], int]) -> None:
        """Write to a ledger, by a clock."""
        self._ledger = ledger
        self._wall_us = wall_us
        self._noted: OrderedDict[tuple[str, str, str], int] = OrderedDict()
        self._lock = threading.Lock()

    def try_note(self, reader: Caller, what: str) -> None:
        """Record a read that is answered in any case: what must be told while the ledger is down.

        It waits `TRIED_S` at most; the log has what could not be recorded.
        """
        try:
            self.note(reader, what, timeout_s=TRIED_S)
        except AuditError as error:
            _log.warning("%s read %s, not on record: %s", reader.name, what, error)

    def note(
        self, reader: Caller, what: str, *, window_s: int = MINUTE_S, timeout_s: float = 5.0
    ) -> None:
        """Record that somebody reads an object; return when that is durable.

        Raises:
            AuditError: the ledger does not take it; what was asked for must not be shown.
        """
        window_us = window_s * 1_000_000
        from_us = self._wall_us() // window_us * window_us
        key = (reader.name, reader.role.value, what)
        with self._lock:
            if self._noted.get(key) == from_us:
                return
        draft = journal_access.read_recorded(*key, from_us=from_us, window_s=window_s)
        self._ledger.append(draft, timeout_s=timeout_s)
        with self._lock:
            self._noted[key] = from_us
            self._noted.move_to_end(key)
            while len(self._noted) > REMEMBERED_MAX:
                self._noted.popitem(last=False)
