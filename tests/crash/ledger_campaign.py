"""A crash run: some cells side by side, the teeth, one table. `make crash` and the tests call it.

    python -m tests.crash.ledger_campaign --crashes 1000 [--seed 7] [--cells 2] [--write]

Fails when anything was lost, reordered, duplicated, forked, unsound or stuck, when a mutant was not
caught, and when a cell ended early. What this machine cannot do is said by name.
"""

import argparse
import contextlib
import multiprocessing
import secrets
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import FrameType

from tests.crash.ledger_cell import Cell, Crash, deck
from tests.crash.ledger_faults import FAULTS, Need
from tests.crash.ledger_report import crash_table, machine, teeth_table, write_section
from tests.crash.ledger_teeth import BITES, Tooth, bite
from tests.crash.ledger_world import (
    MissingToolError,
    World,
    build_shim,
    check_images,
    scratch_folder,
)

SILENT_MAX_S = 300.0
SLOW_S = 5.0
WRITTEN_FROM = 1000
"""A shorter run does not replace the page's figures."""
_SAY_EVERY_S = 15.0
_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What one cell does."""

    folder: Path
    seed: str
    shim: Path | None
    on_image: bool
    faults: Sequence[str]
    bites: Sequence[int]


@dataclass(slots=True)
class Outcome:
    """What came of a run."""

    crashes: list[Crash] = field(default_factory=list)
    teeth: list[Tooth] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    stuck_servers: int = 0

    def failures(self) -> list[str]:
        """Return one line for each thing that must not be."""
        found = [f"{f.flaw}: {f.text}" for crash in self.crashes for f in crash.findings]
        missed = [f"not caught: {tooth.mutant}" for tooth in self.teeth if not tooth.caught_after]
        return [*found, *missed, *self.broken]


def work(job: Job, pipe: Connection) -> None:
    """Be a cell: send each crash and each tooth, then how many servers were stuck."""
    signal.signal(signal.SIGTERM, _leave)
    signal.signal(signal.SIGINT, _leave)
    try:
        world = World(job.folder / "world", shim=job.shim, on_image=job.on_image)
        try:
            for number, which in enumerate(job.bites):
                folder = job.folder / f"tooth{number}"
                pipe.send(bite(world, folder, f"{job.seed}_{number}", list(BITES)[which]))
            for crash in Cell(world, job.folder, job.seed).run(job.faults):
                pipe.send(crash)
            pipe.send(world.stuck)
        finally:
            world.close()
    except Exception:  # noqa: BLE001 - said by the parent
        pipe.send(traceback.format_exc())
    pipe.close()


def _leave(number: int, _: FrameType | None) -> None:
    raise SystemExit(number)


def run(jobs: Sequence[Job], say: Callable[[Outcome], None]) -> Outcome:
    """Run the cells side by side; `say` is called with what is known so far."""
    outcome = Outcome()
    context = multiprocessing.get_context("fork")
    cells = {}
    for job in jobs:
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=work, args=(job, theirs))
        process.start()
        theirs.close()
        cells[ours] = process
    try:
        while cells:
            ready = wait(list(cells), SILENT_MAX_S)
            if not ready:
                outcome.broken.append(f"no cell said anything for {SILENT_MAX_S:.0f} s")
                return outcome
            for pipe in ready:
                assert isinstance(pipe, Connection)
                if not _take(outcome, pipe):
                    cells.pop(pipe).join()
            say(outcome)
    finally:
        for process in cells.values():
            process.terminate()
        for process in cells.values():
            process.join()
    return outcome


def _take(outcome: Outcome, pipe: Connection) -> bool:
    """Take one message of a cell; say whether there can be more."""
    try:
        message = pipe.recv()
    except EOFError:
        return False
    match message:
        case Crash():
            outcome.crashes.append(message)
            if message.back_s > SLOW_S:
                print(
                    f"  slow: {message.fault}, server {message.up_s:.1f} s, {message.back_s:.1f} s"
                )
        case Tooth():
            outcome.teeth.append(message)
        case int():
            outcome.stuck_servers += message
        case _:
            outcome.broken.append(str(message))
    return True


class Progress:
    """A line now and then, so that nobody waits in silence."""

    def __init__(self, crashes: int) -> None:
        """Say of how many."""
        self._total = crashes
        self._started = self._said = time.monotonic()

    def say(self, outcome: Outcome) -> None:
        """Print where the run stands."""
        now = time.monotonic()
        if now - self._said < _SAY_EVERY_S:
            return
        self._said = now
        acked = sum(crash.acked for crash in outcome.crashes)
        print(
            f"  {now - self._started:5.0f} s  {len(outcome.crashes):,} of {self._total:,} crashes,"
            f" {acked:,} acknowledged, {len(outcome.teeth)} mutants tried,"
            f" {len(outcome.failures())} failures",
            flush=True,
        )


def what_is_here(folder: Path, *, portable: bool) -> tuple[set[Need], Path | None, list[str]]:
    """Return which needs this machine meets, the shim, and what is left out and why."""
    here, left_out, shim = {Need.NOTHING}, [], None
    try:
        shim = build_shim(folder)
        here.add(Need.SHIM)
    except MissingToolError as error:
        left_out.append(f"{_needing(Need.SHIM)}: {error}")
    if not portable:
        try:
            check_images(folder)
            here.add(Need.IMAGE)
        except MissingToolError as error:
            left_out.append(f"{_needing(Need.IMAGE)}: {error}")
    return here, shim, left_out


def _needing(need: Need) -> str:
    return ", ".join(name for name, fault in FAULTS.items() if fault.need is need)


def campaign(asked: argparse.Namespace, folder: Path) -> Outcome:
    """Plan the cells, run them, print the tables."""
    here, shim, left_out = what_is_here(folder, portable=asked.portable)
    faults = deck(asked.crashes, asked.seed, here.__contains__)
    bites = [number for number, how in enumerate(BITES.values()) if how.need in here] * asked.teeth
    jobs = []
    for cell in range(asked.cells):
        (folder / f"c{cell}").mkdir(mode=0o711)
        jobs.append(
            Job(
                folder=folder / f"c{cell}",
                seed=f"{asked.seed}_{cell}",
                shim=shim,
                on_image=Need.IMAGE in here,
                faults=faults[cell :: asked.cells],
                bites=bites[cell :: asked.cells],
            )
        )
    print(f"{asked.crashes:,} crashes in {asked.cells} cells, SEED={asked.seed}", flush=True)
    for line in left_out:
        print(f"  not run: {line}", flush=True)
    outcome = run(jobs, Progress(asked.crashes).say)
    if len(outcome.crashes) != asked.crashes:
        outcome.broken.append(f"{len(outcome.crashes)} of {asked.crashes} crashes were made")
    if len(outcome.teeth) != len(bites):
        outcome.broken.append(f"{len(outcome.teeth)} of {len(bites)} mutants were tried")
    tables = f"{crash_table(outcome.crashes)}\n\n{teeth_table(outcome.teeth)}"
    print(f"\n{tables}\n", flush=True)
    if asked.write and asked.crashes >= WRITTEN_FROM and not outcome.failures():
        said = [f"`make crash N={asked.crashes} SEED={asked.seed}`; {machine()}."]
        said += [f"Not run: {line}." for line in left_out]
        stuck = f"Servers that hung in their own recovery and were killed: {outcome.stuck_servers}."
        write_section("crashes", "\n\n".join([" ".join([*said, stuck]), tables]))
    return outcome


def main(arguments: Sequence[str] | None = None) -> int:
    """Run and say whether it was clean."""
    parser = argparse.ArgumentParser(description="Crash the ledger many times; lose nothing.")
    parser.add_argument("--crashes", type=int, default=200)
    parser.add_argument("--teeth", type=int, default=1, help="how often each mutant is tried")
    parser.add_argument("--cells", type=int, default=2, help="side by side")
    parser.add_argument("--seed", default="", help="repeat the faults of a run")
    parser.add_argument("--portable", action="store_true", help="only what every machine can do")
    parser.add_argument("--write", action="store_true", help="write docs/measured/crash-ledger.md")
    asked = parser.parse_args(arguments)
    asked.seed = asked.seed or secrets.token_hex(3)
    folder = scratch_folder()
    started = time.monotonic()
    outcome = None
    with contextlib.suppress(KeyboardInterrupt):
        outcome = campaign(asked, folder)
    if outcome is None:
        print("stopped")
        return 130
    failures = outcome.failures()
    for line in failures[:_SHOWN]:
        print(f"FAILED  {line}")
    if failures:
        print(f"{len(failures)} failures; SEED={asked.seed}; the writers' words: {folder}")
        return 1
    shutil.rmtree(folder, ignore_errors=True)
    print(f"clean, {asked.crashes} crashes, {time.monotonic() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
