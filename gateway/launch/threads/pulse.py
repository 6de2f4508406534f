"""Readiness of the database: a thread asks it every second and keeps when it last answered.

A request for readiness never waits for the database itself, which may hang.
"""

import logging
import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import Final, Protocol

from audit.errors import AuditError
from audit.sequencer.ledger import Ledger
from audit.sequencer.liveness import Liveness
from audit.store.tables import DatabaseError
from gateway import clock

_log = logging.getLogger(__name__)
BEAT_S: Final = 1.0
ANSWER_WITHIN_S: Final = 2.0
"""Timeout of one question; a beat asks up to three."""
SILENT_AFTER_S: Final = 5.0
"""After this long without an answer the database is not ready."""
READY: Final = "ready"


class Heart(Protocol):
    """The questions to the database."""

    def beat(self, timeout_s: float) -> None:
        """Return when all is well; raise otherwise, in bounded time."""

    def close(self) -> None:
        """Release its resources."""


class Pulse:
    """Asks one `Heart` every second."""

    def __init__(self, heart: Heart, monotonic_us: Callable[[], int] = clock.monotonic_us) -> None:
        """Count the construction as an answer: the ledger was opened just now."""
        self._heart = heart
        self._now_us = monotonic_us
        self._answered_us = monotonic_us()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pulse", daemon=True)

    @property
    def state(self) -> str:
        """`ready`, or how long the database has not answered."""
        silent_s = (self._now_us() - self._answered_us) / 1_000_000
        return READY if silent_s <= SILENT_AFTER_S else f"no answer for {silent_s:.0f} s"

    def start(self) -> None:
        """Start asking."""
        self._thread.start()

    def stop(self) -> None:
        """Stop asking; a question in progress ends at its timeout."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()
        self._heart.close()

    def _run(self) -> None:
        silent = False
        while not self._stopping.is_set():
            asked_us = self._now_us()
            try:
                self._heart.beat(ANSWER_WITHIN_S)
            except (AuditError, DatabaseError) as error:
                if not silent:
                    _log.error("the database does not answer: %s", type(error).__name__)
                silent = True
            except Exception:  # noqa: BLE001 - the loop's top: a pulse that stopped would read as silence
                if not silent:
                    _log.exception("the database cannot be asked")
                silent = True
            else:
                if silent:
                    _log.warning("the database answers again")
                silent = False
                self._answered_us = asked_us
            self._stopping.wait(BEAT_S)


def start_pulse(stack: ExitStack, ledger: Ledger, dsn: str) -> Pulse:
    """Start the pulse of a ledger; the stack stops it."""
    pulse = Pulse(Liveness(ledger, dsn))
    stack.callback(pulse.stop)
    pulse.start()
    return pulse
