"""One cell of a crash run: a world, its logs, and crash after crash with the judge behind each.

A log lives for a *round* of some crashes. At the end of a round the writer closes its ledger, a
fresh judge reads everything from the start, and the project's own verifier reads it too.
"""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import psycopg

from audit.upkeep.dump import verify_database
from tests.crash.ledger_crew import Crew
from tests.crash.ledger_faults import FAULTS, Need, Stage
from tests.crash.ledger_mutants import Mutant, loosen
from tests.crash.ledger_oracle import Finding, Flaw, Judge
from tests.crash.ledger_world import World
from tests.doubles.audit_log import ORIGIN, SIGNER

ROUND_CRASHES = 25
BACK_WITHIN_S = 60.0
READS_MAX = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Crash:
    """What one crash came to.

    Attributes:
        fault: its name.
        bit: the fault hurt somebody.
        acked: operations acknowledged since the crash before.
        findings: what the judge found, new ones only.
        up_s: from the end of the fault until the server takes connections.
        back_s: from the end of the fault to the first new acknowledgement.
    """

    fault: str
    bit: bool
    acked: int
    findings: tuple[Finding, ...]
    up_s: float
    back_s: float


@dataclass(slots=True)
class Round:
    """One log and everything that is known about it."""

    name: str
    crew: Crew
    judge: Judge = field(default_factory=lambda: Judge(ORIGIN))
    found: set[Finding] = field(default_factory=set)
    acked: int = 0

    def new_findings(self, world: World) -> tuple[Finding, ...]:
        """Let the judge read on; a server that goes down meanwhile is started again."""
        self.crew.check_ghosts()
        self.crew.listen()
        findings: tuple[Finding, ...] = ()
        for attempt in range(READS_MAX):
            try:
                findings = self.judge.judge(self.crew.dsn, self.crew.history)
                break
            except psycopg.OperationalError as error:
                findings = (Finding(Flaw.LOST, f"the log cannot be read: {error}"),)
                time.sleep(0.1 * attempt)
                world.ensure_up()
        new = tuple(finding for finding in findings if finding not in self.found)
        self.found.update(new)
        return new

    def new_acks(self) -> int:
        """Count what was acknowledged since the last time."""
        before, self.acked = self.acked, self.crew.history.acked
        return self.acked - before


class Cell:
    """Crashes one world, again and again."""

    def __init__(
        self,
        world: World,
        folder: Path,
        seed: str,
        mutant: Mutant = Mutant.NONE,
        back_within_s: float = BACK_WITHIN_S,
    ) -> None:
        """Keep the world; `seed` fixes the faults' details, though not the machine's timing."""
        self._world = world
        self._folder = folder
        self._chance = random.Random(seed)  # noqa: S311 - which crash comes next, not a secret
        self._mutant = mutant
        self._rounds = 0
        self._back_within_s = back_within_s

    def run(self, faults: Sequence[str]) -> Iterator[Crash]:
        """Do the faults in order, and yield what each came to."""
        for start in range(0, len(faults), ROUND_CRASHES):
            turn = self.begin()
            try:
                part = faults[start : start + ROUND_CRASHES]
                for place, fault in enumerate(part):
                    crash = self.crash(turn, fault)
                    if place + 1 == len(part):
                        crash = self._closed(turn, crash)
                    yield crash
            finally:
                turn.crew.close()
            self._world.drop_database(turn.name)

    def begin(self, **plan: float) -> Round:
        """Start a log with a writer."""
        self._rounds += 1
        seed = self._chance.randrange(2**31)
        name = f"log_{self._rounds}_{seed}"
        dsn = self._world.new_database(name)
        loosen(dsn, self._mutant)
        crew = Crew(dsn, self._folder / name, seed, self._mutant, **plan)
        return Round(name, crew)

    def crash(self, turn: Round, fault: str) -> Crash:
        """Let a writer work, strike, bring everything back and judge."""
        crew = turn.crew
        stuck = [] if self._back(crew, 1 + self._chance.randrange(30)) else ["before the fault"]
        time.sleep(self._chance.uniform(0.0, 0.05))
        bit = FAULTS[fault].strike(Stage(self._world, crew, self._chance))
        since = time.monotonic()
        self._world.ensure_up()
        up_s = time.monotonic() - since
        stuck += [] if self._back(crew, 1) else ["after the fault"]
        back_s = time.monotonic() - since
        findings = tuple(Finding(Flaw.STUCK, f"{fault}: no append {when}") for when in stuck)
        findings += turn.new_findings(self._world)
        return Crash(
            fault=fault,
            bit=bit,
            acked=turn.new_acks(),
            findings=findings,
            up_s=up_s,
            back_s=back_s,
        )

    def _back(self, crew: Crew, acks: int) -> bool:
        """Wait until a writer is answered again, starting one as often as one gives up."""
        deadline = time.monotonic() + self._back_within_s
        while time.monotonic() < deadline:
            if crew.wait_for_acks(acks, deadline - time.monotonic()):
                return True
            if crew.history.broken:
                return False
            self._world.ensure_up()
        return False

    def _closed(self, turn: Round, crash: Crash) -> Crash:
        """Close the log, read it all again and let the verifier read it."""
        findings = list(crash.findings)
        if not turn.crew.finish(BACK_WITHIN_S):
            findings.append(Finding(Flaw.STUCK, "the ledger could not be closed"))
        whole = Judge(ORIGIN).judge(turn.crew.dsn, turn.crew.history)
        findings += [finding for finding in whole if finding not in turn.found]
        notes = tuple(turn.crew.history.notes)
        report = verify_database(turn.crew.dsn, [str(SIGNER.vkey)], notes)
        if report.exit_code != 0:
            findings.append(Finding(Flaw.UNSOUND, f"the verifier says {report.lines[:3]}"))
        acked = crash.acked + turn.new_acks()
        return replace(crash, acked=acked, findings=tuple(findings))


def deck(count: int, seed: str, allowed: Callable[[Need], bool]) -> list[str]:
    """Return `count` faults in random order, each by its share and none left out if there is room.

    Args:
        count: how many.
        seed: fixes the order.
        allowed: which needs the machine meets.
    """
    chance = random.Random(seed)  # noqa: S311 - which crash comes next, not a secret
    shares = {name: fault.share for name, fault in FAULTS.items() if allowed(fault.need)}
    total = sum(shares.values())
    cards = [name for name, share in shares.items() for _ in range(max(1, share * count // total))]
    while len(cards) < count:
        cards.append(chance.choices(list(shares), list(shares.values()))[0])
    chance.shuffle(cards)
    return cards[:count]
