"""Refused attempts on record: one record per minute, caller and reason, with a count.

Rules:
- No key enters a record. An unknown key gets a pseudonym under a secret of this process: a repeated
  wrong key shows as the same one, and nobody can guess a mistyped key from the record.
- Strangers cannot fill the ledger. Of one minute's unknown keys only the first `CALLERS_MAX` have
  their own records; the rest are counted together. Known callers always have their own. Records
  that the ledger does not take wait in a bounded queue.
- A refused caller never waits for the ledger: a thread writes the counts at the end of the minute
  and when the gateway stops. A killed process loses the counts of that minute.

Not here: what is refused (`bearer`, `web.doors`, `web.sign_in`, `gateway.desk.intake.scope`).
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
from gateway import clock
from gateway.errors import BusyError, GatewayError, OutOfScopeError, UnknownInstrumentError
from gateway.walk.deadlines import SteadyWall
from gateway.walk.journal.control.access import AccessRefused
from gateway.walk.ports import LedgerPort

_log = logging.getLogger(__name__)

WINDOW_S: Final = 60
CALLERS_MAX: Final = 32
"""Pairs of unknown key and reason that have their own record in one minute."""
WINDOWS_MAX: Final = 10
DUE_MAX: Final = 1_000
BATCH: Final = 50
NOBODY: Final = "none"
OTHERS: Final = "others"
_UNKNOWN: Final = "unknown-"


class AccessReason(StrEnum):
    """Why an attempt was refused; `may_not` adds a reason for each action."""

    NO_KEY = "no_key"
    UNKNOWN_KEY = "unknown_key"
    NOT_SIGNED_IN = "not_signed_in"
    SIGN_IN_FAILED = "sign_in_failed"
    LINK_NOT_VALID = "link_not_valid"
    FOREIGN_FORM = "foreign_form"
    NOT_LOCAL = "not_local"
    KEY_EXPIRED = "key_expired"
    UNKNOWN_INSTRUMENT = "unknown_instrument"
    BUSY = "busy"
    TOO_MANY_STREAMS = "too_many_streams"


def may_not(action: str) -> str:
    """Return the reason of a caller whose role may not do this."""
    return f"may_not_{action}"


def reason_of(refusal: GatewayError) -> str:
    """Return the reason to count a refused intent under; '' where it is no refused attempt."""
    match refusal:
        case OutOfScopeError():
            return f"scope_{refusal.bound}"
        case UnknownInstrumentError():
            return AccessReason.UNKNOWN_INSTRUMENT
        case BusyError():
            return AccessReason.BUSY
        case _:
            return ""


class Refusals:
    """Counts refusals and writes them; safe from any thread."""

    def __init__(self, ledger: LedgerPort, wall_us: Callable[[], int]) -> None:
        """Count for a ledger; nothing is written before `start` or `flush`."""
        self._ledger = ledger
        self._wall_us = wall_us
        self.steady_us = SteadyWall(wall_us, clock.monotonic_us)
        """The time that decides whether a key has expired."""
        self._secret = secrets.token_bytes(32)
        self._counts: dict[int, Counter[tuple[str, str]]] = {}
        self._totals: Counter[str] = Counter()
        self._due: deque[Draft] = deque()
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def pseudonym(self, key: str) -> str:
        """Return the name on record of a key that nobody holds."""
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
            self._totals[reason] += 1

    def totals(self) -> dict[str, int]:
        """Return the refusals since the start, by reason."""
        with self._lock:
            return dict(self._totals)

    def flush(self, *, all_of_it: bool = True) -> int:
        """Write the counts of ended minutes, or all of them; return how many records.

        Raises:
            AuditError: when the ledger does not take them; they are kept for the next call.
        """
        written = 0
        with self._writing:
            while self._draw_up(all_of_it=all_of_it):
                drafts = [self._due[place] for place in range(min(BATCH, len(self._due)))]
                # a crash here loses these counts; a second append of the same drafts writes nothing
                self._ledger.append(*drafts)
                for _ in drafts:
                    self._due.popleft()
                written += len(drafts)
        return written

    def start(self) -> None:
        """Write each minute from now on, in a thread of its own."""
        self._thread = threading.Thread(target=self._run, name="refusals", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop the thread and write what is left."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(10.0)
        self._try(all_of_it=True)

    def _draw_up(self, *, all_of_it: bool) -> bool:
        """Turn counts into drafts while there is room; return whether any wait to be written."""
        ended_us = self._wall_us() - WINDOW_S * 1_000_000
        with self._lock:
            for from_us in sorted(self._counts):
                if len(self._due) > DUE_MAX or not (all_of_it or from_us <= ended_us):
                    continue
                for (who, reason), count in self._counts.pop(from_us).items():
                    refused = AccessRefused(
                        who=who, reason=reason, count=count, from_us=from_us, window_s=WINDOW_S
                    )
                    self._due.append(refused.draft(random=secrets.token_hex(4)))
        return bool(self._due)

    def _run(self) -> None:
        while not self._stop.wait(WINDOW_S - self._wall_us() / 1_000_000 % WINDOW_S):
            self._try(all_of_it=False)

    def _try(self, *, all_of_it: bool) -> None:
        try:
            self.flush(all_of_it=all_of_it)
        except AuditError as error:
            _log.warning("refusals wait for the ledger: %s", error)
