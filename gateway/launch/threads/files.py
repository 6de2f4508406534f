"""The thread that follows files: a look at each source four times a second.

Not here: what a look does (`gateway.feeds.files.following`).
"""

import logging
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Final

from gateway import clock
from gateway.desk.feeding import Feeding
from gateway.feeds.files.following import Followed
from gateway.feeds.files.sources import FollowedSource
from gateway.feeds.files.state import FileState
from gateway.launch.plan import Plan

_log = logging.getLogger(__name__)
EVERY_S: Final = 0.25
BACK_OFF_MAX_S: Final = 4.0
PIECES: Final = 8
"""Pieces of one source before the next one has its turn."""


class FileThread:
    """Follows sources; one that fails is logged and tried again, and stops no other."""

    def __init__(self, followed: Sequence[Followed]) -> None:
        self._followed = followed
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="files", daemon=True)

    def start(self) -> None:
        """Start following."""
        self._thread.start()

    def stop(self) -> None:
        """Stop after the piece in work."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        wait_s = EVERY_S
        while not self._stopping.wait(wait_s):
            failed = [one for one in self._followed if not self._turn(one)]
            wait_s = min(wait_s * 2, BACK_OFF_MAX_S) if failed else EVERY_S

    def _turn(self, one: Followed) -> bool:
        try:
            for _ in range(PIECES):
                if self._stopping.is_set() or not one.round():
                    break
        except Exception as error:  # noqa: BLE001 - the loop's top: the next look must come
            said = f"not taken: {type(error).__name__}: {error}"
            if one.state.condition != "away":
                _log.error("files: %s: %s; it is tried again", one.state.source, said)
            one.state.condition, one.state.said = "away", said
            return False
        return True


def states_of(sources: Sequence[FollowedSource]) -> tuple[FileState, ...]:
    """Return the state of each source, before the first look."""
    return tuple(FileState(source=one.name, feed=one.feed) for one in sources)


def start_files(plan: Plan, stack: ExitStack, feeding: Feeding | None) -> None:
    """Start to follow the plan's files, if there are any; the stack stops it."""
    if feeding is None or not plan.sources:
        return
    thread = FileThread(
        [
            Followed(
                source=source,
                door=feeding,
                instruments=plan.instruments,
                monotonic_us=clock.monotonic_us,
                state=state,
            )
            for source, state in zip(plan.sources, feeding.market.files, strict=True)
        ]
    )
    stack.callback(thread.stop)
    thread.start()
