"""Periodic chores. One that fails stops neither the others nor the next round.

A failed chore is logged, tried again with back-off, and named in `state` until it succeeds.
"""

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from gateway import clock

_log = logging.getLogger(__name__)
EVERY_S: Final = 0.5
BACK_OFF_MAX_S: Final = 4.0
STANDS_STILL_S: Final = 60.0
"""A longer round is reported: each chore waits for the ledger at most 5 s."""
READY: Final = "ready"


@dataclass(slots=True)
class _Trouble:
    words: str
    since_us: int
    wait_s: float = EVERY_S
    again_us: int = 0


class Housekeeping:
    """Runs chores, in their order; `state` names them by their keys."""

    def __init__(
        self,
        chores: Mapping[str, Callable[[], object]],
        monotonic_us: Callable[[], int] = clock.monotonic_us,
        name: str = "housekeeping",
    ) -> None:
        self._chores = dict(chores)
        self._now_us = monotonic_us
        self._troubles: dict[str, _Trouble] = {}
        self._turn = threading.Lock()
        self._began_us: int | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @property
    def state(self) -> str:
        """`ready`, or which chore fails and for how long."""
        now_us, began_us = self._now_us(), self._began_us
        for name, trouble in dict(self._troubles).items():
            for_s = (now_us - trouble.since_us) / 1_000_000
            return f"{name}: {trouble.words} for {for_s:.0f} s"
        if began_us is not None and now_us - began_us > STANDS_STILL_S * 1_000_000:
            return f"a round takes {(now_us - began_us) / 1_000_000:.0f} s already"
        if self._thread.ident is not None and not self._thread.is_alive():
            return "stopped"
        return READY

    def round(self) -> None:
        """Run every chore that is due; errors of a chore are not raised."""
        with self._turn:
            self._began_us = self._now_us()
            for name, chore in self._chores.items():
                trouble = self._troubles.get(name)
                if trouble is None or self._now_us() >= trouble.again_us:
                    self._do(name, chore)
            self._began_us = None

    @contextmanager
    def in_background(self) -> Iterator[None]:
        """Run a round every half second on a thread, until the block ends."""
        self._thread.start()
        try:
            yield
        finally:
            self._stopping.set()
            self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(EVERY_S):
            self.round()

    def _do(self, name: str, chore: Callable[[], object]) -> None:
        try:
            chore()
        except Exception as error:  # noqa: BLE001 - the loop's top: the next round must come
            self._failed(name, type(error).__name__)
        else:
            if self._troubles.pop(name, None) is not None:
                _log.warning("housekeeping: %s is done again", name)

    def _failed(self, name: str, words: str) -> None:
        trouble = self._troubles.get(name)
        if trouble is None or trouble.words != words:
            _log.error("housekeeping: %s failed; it is tried again", name, exc_info=True)
        since_us = self._now_us() if trouble is None else trouble.since_us
        wait_s = EVERY_S if trouble is None else min(trouble.wait_s * 2, BACK_OFF_MAX_S)
        self._troubles[name] = _Trouble(
            words=words,
            since_us=since_us,
            wait_s=wait_s,
            again_us=self._now_us() + int(wait_s * 1_000_000),
        )
