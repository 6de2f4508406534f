"""The threads that follow files, one for each source: a look four times a second.

Not here: what a look does (`gateway.feeds.files.following`).
"""

import logging
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Final

from audit.errors import AuditError
from gateway import clock
from gateway.desk.intake.feeding import Feeding
from gateway.errors import GatewayError
from gateway.feeds.files.following import Followed
from gateway.feeds.files.sources import FollowedSource
from gateway.feeds.files.state import FileState
from gateway.launch.plan import Plan

_log = logging.getLogger(__name__)
EVERY_S: Final = 0.25
BACK_OFF_MAX_S: Final = 4.0
STOP_S: Final = 5.0
"""How long a stop waits for looks that are under way; a read that hangs ends with the process."""


class FileThreads:
    """Follows sources; one that is slow, hangs or fails stops no other."""

    def __init__(self, followed: Sequence[Followed]) -> None:
        self._stopping = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=(one,), name=f"file {number}", daemon=True)
            for number, one in enumerate(followed, start=1)
        ]

    def start(self) -> None:
        """Start following."""
        for one in self._threads:
            one.start()

    def stop(self) -> None:
        """Stop after the pieces in work."""
        self._stopping.set()
        until_us = clock.monotonic_us() + int(STOP_S * 1_000_000)
        for one in self._threads:
            if one.ident is not None:
                one.join(max(0.0, (until_us - clock.monotonic_us()) / 1_000_000))

    def _run(self, one: Followed) -> None:
        wait_s = EVERY_S
        while not self._stopping.wait(wait_s):
            wait_s = EVERY_S if self._turn(one) else min(wait_s * 2, BACK_OFF_MAX_S)

    def _turn(self, one: Followed) -> bool:
        try:
            while not self._stopping.is_set() and one.round():
                pass
        except Exception as error:  # noqa: BLE001 - the loop's top: the next look must come
            said = f"not taken: {type(error).__name__}"
            if isinstance(error, GatewayError | AuditError):  # another one may quote the file
                said = f"{said}: {error}"
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
    threads = FileThreads(
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
    stack.callback(threads.stop)
    threads.start()
