"""Looks at the disk and the clock under the gateway, for verdicts.

Not here: what is too little or too much (the policy), and alarms (`alarms`).
"""

import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

from gateway import clock
from risk.state.inputs.health import MachineLook

_ANEW_US: Final = 1_000_000
_APART_US: Final = 60_000_000
_BP: Final = 10_000


class Vitals:
    """Looks when a verdict asks, at most once a second; safe from any thread.

    A step of the clock counts for a minute after it was seen, so that it cannot pass between two
    verdicts.
    """

    def __init__(
        self,
        folder: Path,
        wall_us: Callable[[], int] = clock.wall_us,
        monotonic_us: Callable[[], int] = clock.monotonic_us,
    ) -> None:
        """Begin with the clocks' present distance."""
        self._folder = folder
        self._wall_us = wall_us
        self._monotonic_us = monotonic_us
        self._lock = threading.Lock()
        self._seen_us = monotonic_us()
        self._apart_us = wall_us() - self._seen_us
        self._free_bp: int | None = None
        self._step_us, self._stepped_us = 0, self._seen_us

    def __call__(self) -> MachineLook | None:
        """Return the newest look, or None if the disk cannot be looked at."""
        with self._lock:
            now_us = self._monotonic_us()
            if self._free_bp is None or now_us - self._seen_us >= _ANEW_US:
                self._look(now_us)
            if self._free_bp is None:
                return None
            return MachineLook(
                age_us=now_us - self._seen_us,
                disk_free_bp=self._free_bp,
                clock_step_us=self._step_us,
            )

    def _look(self, now_us: int) -> None:
        try:
            room = shutil.disk_usage(self._folder)
        except OSError:
            self._free_bp = None
            return
        self._free_bp = room.free * _BP // room.total if room.total else None
        apart_us = self._wall_us() - now_us
        # a time service may move the clock slowly: after long silence nothing is compared
        step_us = apart_us - self._apart_us if now_us - self._seen_us <= _APART_US else 0
        if abs(step_us) >= abs(self._step_us) or now_us - self._stepped_us > _APART_US:
            self._step_us, self._stepped_us = step_us, now_us
        self._apart_us, self._seen_us = apart_us, now_us
