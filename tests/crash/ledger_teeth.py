"""The teeth: ledgers known to be wrong go through the same harness, which must catch each.

Each mutant meets the crash that shows it, on a log of its own each time. It is caught when the
judge finds what is wrong with it; with fsync=off, when the server or the log itself does not come
back.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from audit.errors import LedgerUnsafeError
from gateway.errors import PostgresError
from tests.crash.ledger_cell import Cell
from tests.crash.ledger_faults import Need
from tests.crash.ledger_mutants import Mutant
from tests.crash.ledger_oracle import Finding, Flaw
from tests.crash.ledger_world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class Bite:
    """How a mutant is shown.

    Attributes:
        fault: the crash that shows it.
        crashes_max: it must be caught by then.
        shown_as: only these findings count; being stuck, say, is not enough.
        plan: numbers of the writers' plan.
        forced: server settings of a world of its own; None: any world does.
        need: what the machine must have.
    """

    fault: str
    crashes_max: int
    shown_as: frozenset[Flaw]
    plan: Mapping[str, float] = field(default_factory=dict)
    forced: Mapping[str, str] | None = None
    need: Need = Need.NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class Tooth:
    """What became of one mutant: after how many crashes it was caught, None if never, and how."""

    mutant: str
    caught_after: int | None
    said: tuple[Finding, ...]


_LOST = frozenset({Flaw.LOST})
_UNSOUND = frozenset({Flaw.UNSOUND})
# Neither checkpoints nor blobs: their commits would flush what the mutant leaves in memory.
_NOTHING_ELSE = {"checkpoint_every_s": 0.0, "blobs": 0}

BITES: Mapping[tuple[Mutant, str], Bite] = {
    (Mutant.ASYNC_COMMIT, "all killed"): Bite(
        fault="all killed", crashes_max=5, shown_as=_LOST, plan=_NOTHING_ELSE
    ),
    (Mutant.EARLY_ACK, "writer killed"): Bite(
        fault="writer killed", crashes_max=20, shown_as=_LOST
    ),
    (Mutant.EARLY_ACK, "all killed"): Bite(fault="all killed", crashes_max=20, shown_as=_LOST),
    (Mutant.SKIPS_FIELD, "writer killed"): Bite(
        fault="writer killed", crashes_max=1, shown_as=_UNSOUND
    ),
    (Mutant.BREAKS_CHAIN, "writer killed"): Bite(
        fault="writer killed", crashes_max=1, shown_as=_UNSOUND
    ),
    # Both read the log before either writes to it.
    (Mutant.NO_FENCE, "two writers start at once"): Bite(
        plan={"pause_s": 0.3},
        fault="two writers start at once",
        crashes_max=10,
        shown_as=frozenset({Flaw.FORKED}),
    ),
    (Mutant.FORGETS_KEYS, "writer killed"): Bite(
        fault="writer killed", crashes_max=10, shown_as=frozenset({Flaw.DUPLICATED})
    ),
    (Mutant.ASYNC_COMMIT, "power cut"): Bite(
        fault="power cut", crashes_max=5, shown_as=_LOST, plan=_NOTHING_ELSE, need=Need.IMAGE
    ),
    (Mutant.NO_FSYNC, "power cut"): Bite(
        fault="power cut", crashes_max=5, shown_as=_LOST, forced={"fsync": "off"}, need=Need.IMAGE
    ),
}


def bite(world: World, folder: Path, seed: str, which: tuple[Mutant, str]) -> Tooth:
    """Crash a mutant until it is caught, or often enough to say that it is not."""
    mutant, _ = which
    how = BITES[which]
    folder.mkdir(exist_ok=True)
    if how.forced is None:
        return _bite(world, folder, seed, mutant, how)
    own = World(
        folder / "world",
        shim=world.shim,
        on_image=world.image is not None,
        forced=how.forced,
        up_within_s=3.0,
    )
    try:
        return _bite(own, folder, seed, mutant, how)
    finally:
        own.close()


def _bite(world: World, folder: Path, seed: str, mutant: Mutant, how: Bite) -> Tooth:
    cell = Cell(world, folder, seed, mutant, back_within_s=3.0)
    name = f"{mutant} / {how.fault}"
    number = 0
    try:
        for number in range(1, how.crashes_max + 1):
            findings = _one_crash(cell, how)
            said = tuple(finding for finding in findings if finding.flaw in how.shown_as)
            if said:
                return Tooth(mutant=name, caught_after=number, said=said[:20])
    except (LedgerUnsafeError, PostgresError, psycopg.OperationalError) as error:
        if how.forced is None:
            raise
        gone = Finding(flaw=Flaw.LOST, text=f"the server does not come back: {error}"[:300])
        return Tooth(mutant=name, caught_after=number, said=(gone,))
    return Tooth(mutant=name, caught_after=None, said=())


def _one_crash(cell: Cell, how: Bite) -> tuple[Finding, ...]:
    """Crash a log of its own once."""
    turn = cell.begin(**how.plan)
    try:
        return cell.crash(turn, how.fault).findings
    finally:
        turn.crew.close()
