"""What to check, how, and where a resumed check goes on.

If the log changed below the state's position, the check starts again, so its verdict is that of a
whole check.
"""

import hashlib
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from audit.errors import FsckStateError
from audit.upkeep.fsck.chunk import CHUNK
from audit.upkeep.fsck.state import FsckState
from audit.verifier.verify import Outside, Report

Progress = Callable[[str, int, int], None]
"""Called with the stage, the position and the total."""


class ChangedBelowError(Exception):
    """The part that was checked before has changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FsckPlan:
    """What to check and how.

    Attributes:
        outside: keys, policy and checkpoints from outside.
        state: the state's file; removed at the end.
        resume: go on from the state.
        payloads: read payloads, stored headers and blobs as well.
        readers: processes that read and hash; 0 means this process.
        width: records of a chunk, a power of two.
    """

    outside: Outside
    state: Path
    resume: bool = False
    payloads: bool = True
    readers: int = 2
    width: int = CHUNK

    def about(self, source: str) -> tuple[str, ...]:
        """Return what the check is about, to be compared with the state file."""
        given = self.outside
        digest = hashlib.sha256(repr((*given.notes, given.policy, *given.rotations)).encode())
        return (
            source,
            *sorted(given.vkeys),
            digest.hexdigest(),
            f"payloads={self.payloads} width={self.width}",
        )


def whole_or_again(plan: FsckPlan, source: str, check: Callable[[FsckState], Report]) -> Report:
    """Return a check's report; if the part checked before has changed, check from the beginning.

    An interruption leaves the state's file, an end removes it.

    Raises:
        FsckStateError: the state file cannot be used.
    """
    for resume in (True, False) if plan.resume else (False,):
        state = FsckState(plan.state, plan.about(source), resume=resume)
        done = False
        try:
            report = check(state)
            done = True
        except ChangedBelowError:
            continue
        except sqlite3.Error as error:  # mostly a full disk
            raise FsckStateError(f"cannot keep the state in {plan.state}: {error}") from error
        finally:
            state.close(keep=not done)
        if plan.resume and not resume:
            report.say("what was checked before has changed since: all was checked again")
        return report
    raise AssertionError("a check from the beginning takes over nothing that could change")
