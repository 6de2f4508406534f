"""What to check, how, and where a resumed check goes on.

A state whose log changed below its position is not gone on from: the check begins again, so that
its verdict is that of a whole one.
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
"""Told the stage, how far it is, and how far it goes."""


class ChangedBelowError(Exception):
    """What was checked before is not there any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FsckPlan:
    """What to check and how.

    Attributes:
        outside: keys, policy and checkpoints from outside.
        state: the file that a resumed check goes on from; removed at the end.
        resume: go on from it.
        payloads: read payloads, stored headers and blobs as well.
        readers: processes that read and hash; 0: none but this one.
        width: records of a chunk, a power of two.
    """

    outside: Outside
    state: Path
    resume: bool = False
    payloads: bool = True
    readers: int = 2
    width: int = CHUNK

    def about(self, source: str) -> tuple[str, ...]:
        """Return what the check is of, for its state file."""
        given = self.outside
        digest = hashlib.sha256(repr((*given.notes, given.policy, *given.rotations)).encode())
        return (
            source,
            *sorted(given.vkeys),
            digest.hexdigest(),
            f"payloads={self.payloads} width={self.width}",
        )


def whole_or_again(plan: FsckPlan, source: str, check: Callable[[FsckState], Report]) -> Report:
    """Run a check on its state; once more from the beginning if what was below has changed.

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
        except sqlite3.Error as error:  # a full disk, most of all
            raise FsckStateError(f"cannot keep the state in {plan.state}: {error}") from error
        finally:
            state.close(keep=not done)
        if plan.resume and not resume:
            report.say("what was checked before has changed since: all was checked again")
        return report
    raise AssertionError("a check from the beginning rests on nothing before")
