"""Two sequencers fight for one log, for minutes. `make fight MINUTES=10`.

    python -m tests.crash.ledger_fight --minutes 10 [--seed 7] [--write]

Each contender is a process that opens the ledger as soon as it gets it, appends with three threads
for a while, closes or is thrown out, and comes again. Meanwhile they are stopped and woken, killed
and replaced, their server processes are cut or hung. In half of the bouts no contender asks for
the lock at all, so that fence and compare-and-swap alone decide. Each bout is a log of its own; in
the end of it the judge and the verifier read all of it: every acknowledged record stands in the
one chain. The teeth: contenders without fence and compare-and-swap must be caught. A bout of theirs
in which the two never wrote at the same time proves nothing: both start again, on a new log.
"""

import argparse
import random
import secrets
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from audit.upkeep.dump import verify_database
from tests.crash.ledger_crew import Crew, Writer
from tests.crash.ledger_mutants import Mutant, loosen
from tests.crash.ledger_oracle import Finding, Flaw, Judge
from tests.crash.ledger_report import machine, table, write_section
from tests.crash.ledger_world import World, scratch_folder, signal_process
from tests.doubles.audit_log import ORIGIN, SIGNER

BOUT_S = 30.0
TEETH_BOUT_S = 5.0
TEETH_BOUTS = 2
TEETH_PAUSE_S = 0.3
"""Both read the log before either writes to it."""
STARTS_MAX = 10
SIDES = 2
CLOSE_WITHIN_S = 60.0
WRITTEN_FROM_MINUTES = 10
"""A shorter fight does not replace the page's figures."""


@dataclass(slots=True)
class Bout:
    """What came of one log that was fought for."""

    mutant: Mutant
    acked: int = 0
    records: int = 0
    takeovers: int = 0
    refused: int = 0
    blows: Counter[str] = field(default_factory=Counter)
    findings: tuple[Finding, ...] = ()
    met: bool = False


class Ring:
    """Two contenders on one log, and the blows they get."""

    def __init__(self, world: World, crew: Crew, chance: random.Random) -> None:
        """Start them."""
        self._world = world
        self._crew = crew
        self._chance = chance
        self._sides: list[Writer] = [crew.start() for _ in range(SIDES)]
        self.blows: Counter[str] = Counter()

    def fight(self, seconds: float) -> None:
        """Strike now and then until the time is over, then let nobody be stopped."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            time.sleep(self._chance.uniform(0.02, 0.25))
            self._replace_dead()
            name, blow = self._chance.choice(self._all_blows())
            self.blows[name] += 1
            blow()
        for side in self._sides:
            signal_process(side.pid, signal.SIGCONT)

    def end(self) -> None:
        """Kill both."""
        for side in self._sides:
            side.kill()

    def _replace_dead(self) -> None:
        for place, side in enumerate(self._sides):
            if not side.process.is_alive():
                side.kill()
                self._sides[place] = self._crew.start()

    def _all_blows(self) -> Sequence[tuple[str, Callable[[], None]]]:
        return (
            ("stopped and woken", self._stop),
            ("stopped and woken", self._stop),
            ("connection cut", self._cut),
            ("connection cut", self._cut),
            ("server process hung", self._hang),
            ("killed", self._kill),
        )

    def _stop(self) -> None:
        """Stop one; perhaps its connection breaks, so that the other gets the log; wake it."""
        side = self._chance.choice(self._sides)
        signal_process(side.pid, signal.SIGSTOP)
        if self._chance.random() < 0.7:
            self._cut()
        time.sleep(self._chance.uniform(0.01, 0.6))
        signal_process(side.pid, signal.SIGCONT)

    def _cut(self) -> None:
        pid = self._world.sequencer_backend(self._crew.dsn)
        if pid is not None:
            with psycopg.connect(self._crew.dsn) as connection:
                connection.execute("SELECT pg_terminate_backend(%s)", (pid,))

    def _hang(self) -> None:
        """Hang the holder's server process, past the commit's deadline or not."""
        pid = self._world.sequencer_backend(self._crew.dsn)
        if pid is not None:
            signal_process(pid, signal.SIGSTOP)
            time.sleep(self._chance.uniform(0.05, 1.3))
            signal_process(pid, signal.SIGCONT)

    def _kill(self) -> None:
        self._chance.choice(self._sides).kill()


def bout(world: World, folder: Path, name: str, seconds: float, mutant: Mutant) -> Bout:
    """Let two contenders fight for a new log, and judge it."""
    chance = random.Random(name)  # noqa: S311 - which blow comes next, not a secret
    dsn = world.new_database(name)
    loosen(dsn, mutant)
    crew = Crew(
        dsn,
        folder / name,
        chance.randrange(2**31),
        mutant,
        threads=3,
        appends_max=60,
        rounds=10**6,
        pause_s=TEETH_PAUSE_S if mutant is Mutant.NO_FENCE else 0.0,
        lock_wait_s=chance.choice([0.0, 0.05, 0.3]),
    )
    ring = Ring(world, crew, chance)
    try:
        ring.fight(seconds)
    finally:
        ring.end()
    findings: tuple[Finding, ...] = ()
    try:
        met = crew.met()
        if mutant is not Mutant.NO_FENCE and met:
            findings = (Finding(Flaw.FORKED, "two wrote after both had opened the log"),)
        if mutant is not Mutant.NO_FENCE and not crew.finish(CLOSE_WITHIN_S):
            findings += (Finding(Flaw.STUCK, "the log could not be taken over and closed"),)
        crew.listen()
        judge = Judge(ORIGIN)
        findings += judge.judge(dsn, crew.history)
        if mutant is not Mutant.NO_FENCE:
            report = verify_database(dsn, [str(SIGNER.vkey)], tuple(crew.history.notes))
            if report.exit_code != 0:
                findings += (Finding(Flaw.UNSOUND, f"the verifier says {report.lines[:3]}"),)
    finally:
        crew.close()
    world.drop_database(name)
    voices = crew.voices
    return Bout(
        mutant=mutant,
        acked=crew.history.acked,
        records=judge.size,
        takeovers=sum(voice.opened for voice in voices),
        refused=sum(voice.refused for voice in voices),
        blows=ring.blows,
        findings=findings,
        met=met,
    )


def teeth_bout(world: World, folder: Path, name: str) -> Bout:
    """Let two fight that nothing keeps apart, again and again until they meet."""
    start = 1
    while True:
        one = bout(world, folder, f"{name}_{start}", TEETH_BOUT_S, Mutant.NO_FENCE)
        forks = sum(finding.flaw is Flaw.FORKED for finding in one.findings)
        print(f"  teeth, start {start}: {forks} signs of a fork, met: {one.met}", flush=True)
        if one.met or forks or start == STARTS_MAX:
            return one
        start += 1


def fight_table(bouts: Sequence[Bout]) -> str:
    """Return one line for each sort of contender."""
    names = ["contenders", "bouts", "taken over", "refused", "blows", "acked", "records", *Flaw]
    body = []
    for mutant in (Mutant.NONE, Mutant.NO_LOCK, Mutant.NO_FENCE):
        some = [one for one in bouts if one.mutant is mutant]
        flaws = [finding.flaw for one in some for finding in one.findings]
        counts = [
            len(some),
            sum(one.takeovers for one in some),
            sum(one.refused for one in some),
            sum(one.blows.total() for one in some),
            sum(one.acked for one in some),
            sum(one.records for one in some),
            *(flaws.count(flaw) for flaw in Flaw),
        ]
        label = {
            Mutant.NONE: "as they are",
            Mutant.NO_LOCK: "without the lock: fence and compare-and-swap alone",
            Mutant.NO_FENCE: "TEETH: without lock, fence, compare-and-swap",
        }[mutant]
        body.append([label, *(f"{count:,}" for count in counts)])
    return table([names, *body])


def failures(bouts: Sequence[Bout]) -> list[str]:
    """Return one line for each thing that must not be."""
    found = [
        f"{finding.flaw}: {finding.text}"
        for one in bouts
        if one.mutant is not Mutant.NO_FENCE
        for finding in one.findings
    ]
    teeth = [one for one in bouts if one.mutant is Mutant.NO_FENCE]
    caught = [one for one in teeth if any(f.flaw is Flaw.FORKED for f in one.findings)]
    if not teeth or len(caught) != len(teeth):
        found.append(f"forks were caught in {len(caught)} of {len(teeth)} bouts of the mutant")
    if not all(one.takeovers > 1 and one.acked for one in bouts):
        found.append("a bout without a fight")
    return found


def fight(minutes: float, seed: str, folder: Path) -> list[Bout]:
    """Fight bouts until the time is over, the teeth first."""
    world = World(folder / "world")
    bouts: list[Bout] = []
    try:
        bouts += [teeth_bout(world, folder, f"teeth_{seed}_{n}") for n in range(TEETH_BOUTS)]
        fought_s, number = 0.0, 0
        while fought_s < minutes * 60:
            seconds = min(BOUT_S, minutes * 60 - fought_s)
            mutant = (Mutant.NONE, Mutant.NO_LOCK)[number % 2]
            one = bout(world, folder, f"bout_{seed}_{number}", seconds, mutant)
            bouts.append(one)
            fought_s, number = fought_s + seconds, number + 1
            print(
                f"  {fought_s:4.0f} s fought: {one.acked:,} acknowledged,"
                f" {one.takeovers} times taken over, {len(one.findings)} findings ({mutant})",
                flush=True,
            )
    finally:
        world.close()
    return bouts


def main(arguments: Sequence[str] | None = None) -> int:
    """Fight and say whether there was ever more than one log."""
    parser = argparse.ArgumentParser(description="Two sequencers fight for one log.")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", default="")
    parser.add_argument("--write", action="store_true", help="write docs/measured/crash-ledger.md")
    asked = parser.parse_args(arguments)
    seed = asked.seed or secrets.token_hex(3)
    folder = scratch_folder()
    print(f"{asked.minutes:g} minutes, SEED={seed}", flush=True)
    try:
        bouts = fight(asked.minutes, seed, folder)
    except KeyboardInterrupt:
        print("stopped")
        return 130
    print(f"\n{fight_table(bouts)}\n")
    found = failures(bouts)
    for line in found[:20]:
        print(f"FAILED  {line}")
    if found:
        print(f"{len(found)} failures; SEED={seed}; the writers' words: {folder}")
        return 1
    shutil.rmtree(folder, ignore_errors=True)
    if asked.write and asked.minutes >= WRITTEN_FROM_MINUTES:
        said = f"`make fight MINUTES={asked.minutes:g} SEED={seed}`; {machine()}."
        write_section("fight", f"{said}\n\n{fight_table(bouts)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
