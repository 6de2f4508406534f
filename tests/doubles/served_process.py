"""A served desk as a process of its own, with the scripted engine: it lives until it is killed.

`python -m tests.doubles.served_process` serves the desk of the present folder; a word
`fail:POINT:ACTION` arms a failpoint, and `mutant:NAME` makes the gateway wrong on purpose.
"""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import httpx

from audit.records.record import Draft, Record
from gateway.clock import pause
from gateway.desk.controls.turns import Turns
from gateway.installation.children.simulator import wait_for
from gateway.installation.settings import load
from gateway.launch.app import running
from gateway.launch.plan import serving_plan
from gateway.walk import failpoints
from gateway.walk.journal.decision import policy_named
from gateway.walk.section import Section
from risk.policy.signing import SignedPolicy, check_signatures
from tests.doubles.fix_world import ROOT, until
from tests.doubles.scene_desk import BACK_S, PROGRAM, WITHIN_S, ServedDesk

MODULE = "tests.doubles.served_process"
ALONE, FOLLOW = "alone", "follow"


@contextlib.contextmanager
def served_apart(desk: ServedDesk, log: Path, *more: str) -> Iterator[subprocess.Popen[bytes]]:
    """Yield the process that serves a desk that is made; `killed` ends it, or the test's end."""
    words = (sys.executable, "-m", MODULE, *more)
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    with log.open("ab") as file:
        one = subprocess.Popen(
            words, env={**os.environ, "PYTHONPATH": path}, stdout=file, stderr=file
        )
    try:
        up = until(lambda: is_ready(desk) or one.poll() is not None, BACK_S)
        assert up, log.read_text()[-3_000:]
        assert one.poll() is None, log.read_text()[-3_000:]
        yield one
    finally:
        if one.poll() is None:
            killed(one)


def is_ready(desk: ServedDesk) -> bool:
    """Return whether the gateway says that it takes orders."""
    try:
        return httpx.get(f"{desk.address}/readyz", trust_env=False).status_code == httpx.codes.OK
    except httpx.TransportError:
        return False


def killed(one: subprocess.Popen[bytes], *, whole: bool = False) -> None:
    """SIGKILL. Its FIX child then cancels what is live, logs out and ends.

    With `whole` the FIX child is killed too, before the gateway could see that, as by the end of
    the machine; then nothing is cancelled.
    """
    if whole:
        one.send_signal(signal.SIGSTOP)
        (child,) = filter(_is_fix_child, _children(one.pid))
        os.kill(child, signal.SIGKILL)
    one.send_signal(signal.SIGKILL)
    one.wait()


def _children(pid: int) -> list[int]:
    """Return the children of a process, also of those that a thread of it made."""
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(word) for one in lists for word in one.read_text().split()]


def _is_fix_child(pid: int) -> bool:
    return b"fix.session.main" in Path(f"/proc/{pid}/cmdline").read_bytes()


@contextlib.contextmanager
def _not_alone(_turns: Turns, _within_s: float) -> Iterator[None]:
    """Put a policy in force whoever is in the middle of a decision."""
    yield


def _no_turns() -> None:
    setattr(Turns, ALONE, _not_alone)  # the mutant, on purpose


def _before_the_record() -> None:
    sound = Section.follow

    def early(
        self: Section, bundle: SignedPolicy, keys: Mapping[str, bytes], draft: Draft
    ) -> Record:
        self._checked = check_signatures(bundle, keys)
        self.policy_named = policy_named(bundle.policy)
        pause(0.5)
        return sound(self, bundle, keys, draft)

    setattr(Turns, ALONE, _not_alone)
    setattr(Section, FOLLOW, early)


MUTANTS = {"no turns": _no_turns, "before its record": _before_the_record}
"""Gateways whose policy does not change at one record."""


def main() -> None:
    """Serve until killed."""
    given = [word.partition(":")[::2] for word in sys.argv[1:]]
    for mutant in (rest for sort, rest in given if sort == "mutant"):
        MUTANTS[mutant]()
    plan = replace(serving_plan(load()), engine_program=PROGRAM)
    with running(plan, print) as app, app.housekeeping.in_background():
        wait_for(lambda: app.engine.wait_ready(0.1), WITHIN_S, part="engine")
        for failpoint in (rest for sort, rest in given if sort == "fail"):
            failpoints.arm(failpoint)
        while True:
            pause(60)


if __name__ == "__main__":
    main()
