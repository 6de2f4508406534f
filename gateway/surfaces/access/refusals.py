"""Attempts refused at the door, on record: one record per minute, caller and reason, with a count.

Rules kept here:
- No key enters a record. A key that is not known is a pseudonym under a secret of this process:
  the same wrong key is seen to come again, and nobody can guess a mistyped key from the record.
- Strangers cannot fill the ledger: of the unknown keys of one minute only the first `CALLERS_MAX`
  have records of their own, the rest are counted together, and whoever is known keeps his own
  however many there are; what the ledger does not take waits, bounded.
- Whoever is refused never waits for the ledger; what is counted is written by a thread, at the end
  of the minute and when the gateway stops. A process that is killed loses that minute's counts.

Not here: what is refused (`bearer`, `web.doors`, `web.sign_in`).
"""

import hashlib
import hmac
import logging
import secrets
import threading
from collections import Counter, deque
from collections.abc import Callable
from enum import StrEnum
from typing import Final

from audit.errors import AuditError
from audit.records.record import Draft
from gateway.walk.journal import access as journal_access
from gateway.walk.ports import LedgerPort

_log = logging.getLogger(__name__)

WINDOW_S: Final = 60
CALLERS_MAX: Final = 32
"""Unknown keys and reasons of one minute with a record of their own."""
WINDOWS_MAX: Final = 10
DUE_MAX: Final = 1_000
BATCH: Final = 50
NOBODY: Final = "none"
OTHERS: Final = "others"
_UNKNOWN: Final = "unknown-"


class AccessReason(StrEnum):
    """Why the door stayed shut; a role that may not is `may_not_ACTION`."""

    NO_KEY = "no_key"
    UNKNOWN_KEY = "unknown_key"
    NOT_SIGNED_IN = "not_signed_in"
    SIGN_IN_FAILED = "sign_in_failed"
    LINK_NOT_VALID = "link_not_valid"
    FOREIGN_FORM = "foreign_form"
    NOT_LOCAL = "not_local"


def may_not(action: str) -> str:
    """Return the reason of a role that may not."""
    return f"may_not_{action}"


class Refusals:
    """Counts refusals and writes them; safe from any thread."""

    def __init__(self, ledger: LedgerPort, wall_us: Callable[[], int]) -> None:
        """Write to a ledger, by a clock; nothing is written before `start` or `flush`."""
        self._ledger = ledger
        self._wall_us = wall_us
        self._secret = secrets.token_bytes(32)
        self._counts: dict[int, Counter[tuple[str, str]]] = {}
        self._due: deque[Draft] = deque()
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def pseudonym(self, key: str) -> str:
        """Return what a key that nobody holds is called on record."""
        offered = key.encode("utf-8", "surrogatepass")
        return f"{_UNKNOWN}{hmac.new(self._secret, offered, hashlib.sha256).hexdigest()[:16]}"

    def count(self, who: str, reason: str) -> None:
        """Count one refusal; never waits and never fails."""
        now_us = self._wall_us()
        window_us = WINDOW_S * 1_000_000
        from_us = now_us - now_us % window_us
        with self._lock:
            if from_us not in self._counts and len(self._counts) >= WINDOWS_MAX:
                from_us = max(self._counts)
            counts = self._counts.setdefault(from_us, Counter())
            if who.startswith(_UNKNOWN) and (who, reason) not in counts:
                strangers = sum(other.startswith(_UNKNOWN) for other, _ in counts)
                who = OTHERS if strangers >= CALLERS_MAX else who
            counts[who, reason] += 1

    def flush(self, *, all_of_it: bool = True) -> int:
        """Write what is counted, of ended minutes or all of it; return how many records.

        Raises:
            AuditError: the ledger does not take them; they are kept, and tried again.
        """
        written = 0
        with self._writing:
            while self._draw_up(all_of_it=all_of_it):
                drafts = [self._due[place] for place in range(min(BATCH, len(self._due)))]
                # a crash here leaves these minutes uncounted; the same drafts again write nothing
                self._ledger.append(*drafts)
                for _ in drafts:
                    self._due.popleft()
                written += len(drafts)
        return written

    def start(self) -> None:
        """Write each minute from now on, on a thread of its own."""
        self._thread = threading.Thread(target=self._run, name="refusals", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop the thread and write what is left."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(10.0)
        self._try(all_of_it=True)

    def _draw_up(self, *, all_of_it: bool) -> bool:
        """Turn counts into drafts with their final idempotency keys, while there is room.

        Returns whether there is anything to write.
        """
        ended_us = self._wall_us() - WINDOW_S * 1_000_000
        with self._lock:
            for from_us in sorted(self._counts):
                if len(self._due) > DUE_MAX or not (all_of_it or from_us <= ended_us):
                    continue
                for (who, reason), count in self._counts.pop(from_us).items():
                    key = f"refused:{from_us}:{who}:{reason}:{secrets.token_hex(4)}"
                    self._due.append(
                        journal_access.access_refused(
                            who, reason, count, from_us=from_us, window_s=WINDOW_S, idem_key=key
                        )
                    )
        return bool(self._due)

    def _run(self) -> None:
        while not self._stop.wait(WINDOW_S - self._wall_us() / 1_000_000 % WINDOW_S):
            self._try(all_of_it=False)

    def _try(self, *, all_of_it: bool) -> None:
        try:
            self.flush(all_of_it=all_of_it)
        except AuditError as error:
            _log.warning("refusals wait for the ledger: %s", error)
