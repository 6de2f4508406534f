"""Rounds of faults against gateways, with a scripted engine or `--whole`, and the teeth.

    python -m tests.crash.gateway_campaign --rounds 800 [--seed 7] [--results FILE] [--write]
    python -m tests.crash.gateway_campaign --seed 7 --only 314    one round again, on a fresh ledger

Fails when an invariant was broken, a round was stuck, a ledger does not verify, or a mutant was not
caught. With `--results` every finished round is a line of that file; a run that is started again
with the same file, seed and commit goes on where it stood.
"""

import argparse
import json
import secrets
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from audit.upkeep.dump import verify_database
from tests.crash.gateway_mutants import BITING, MUTANTS, biting
from tests.crash.gateway_plan import drawn
from tests.crash.gateway_report import Tooth, commit_of, page, write_section
from tests.crash.gateway_round import Result, Rounds
from tests.crash.gateway_world import World
from tests.doubles.programs import use_first_parts

SEGMENT = 100
"""Rounds over one state folder; the next begins with an empty ledger."""
BITES = 4
WRITTEN_FROM, WHOLE_FROM = 800, 200
"""A shorter run does not replace the page's figures."""


@contextmanager
def world_of(name: str, mutant: str = "", *, whole: bool = False) -> Iterator[World]:
    """Yield a world in a folder of its own, which is kept if it ends badly."""
    folder = Path(tempfile.mkdtemp(prefix=f"gateways-{name}-"))
    folder.chmod(0o711)
    world = World(folder, mutant, whole=whole)
    good = False
    try:
        yield world
        good = True
    finally:
        world.close()
        if good:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            _print(f"  kept: {folder}")


class BrokenError(Exception):
    """A round broke something; its world is kept."""


def verified(world: World) -> list[str]:
    """Return what a whole check of the ledger finds."""
    world.up().end()  # its last checkpoint covers everything
    world.database_up()
    key = (world.state / "keys" / "ledger.key.pub").read_text().strip()
    report = verify_database(world.dsn, (key,))
    return [f"ledger: {line}" for line in report.lines] if report.exit_code else []


def segment(seed: str, numbers: Sequence[int], *, whole: bool) -> Iterator[Result]:
    """Play rounds over one state folder; then the ledger must verify.

    Raises:
        BrokenError: a round broke something, after it was yielded; the world is kept.
    """
    with world_of(seed, whole=whole) as world:
        rounds = Rounds(world, seed)
        broken = 0
        for place, number in enumerate(numbers):
            result = rounds.play(drawn(seed, number))
            if place == len(numbers) - 1 and not result.faults:
                result = _with(result, verified(world))
            broken += bool(result.faults)
            yield result
        if broken:
            raise BrokenError


def _with(result: Result, faults: list[str]) -> Result:
    return Result(**{**asdict(result), "faults": (*result.faults, *faults)})


def tooth(mutant: str, seed: str) -> Tooth:
    """Throw rounds at a gateway that is wrong until the judge says so."""
    wanted = BITING[mutant].said
    said: tuple[str, ...] = ()
    with world_of(f"{seed}-tooth", mutant) as world:
        rounds = Rounds(world, f"{seed}/{mutant}")
        for number in range(1, BITES + 1):
            result = rounds.play(biting(mutant, number))
            said = tuple(one for one in result.faults if one.startswith(wanted))
            if said:
                return Tooth(mutant=mutant, caught_after=number, said=said[:3])
    return Tooth(mutant=mutant, caught_after=None, said=said)


class Kept:
    """Finished rounds of one seed and commit, a line each; a run can go on with them."""

    def __init__(self, path: Path | None, seed: str) -> None:
        """Read what is there."""
        self._path, self._seed, self.commit = path, seed, commit_of()
        self.results: dict[int, Result] = {}
        for line in path.read_text().splitlines() if path is not None and path.exists() else ():
            row = json.loads(line)
            if (row.pop("seed"), row.pop("commit")) == (seed, self.commit):
                for name in ("struck", "faults"):
                    row[name] = tuple(row[name])
                self.results[row["number"]] = Result(**row)

    def keep(self, result: Result) -> None:
        """Add a round."""
        self.results[result.number] = result
        if self._path is not None:
            row = {"seed": self._seed, "commit": self.commit, **asdict(result)}
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")


def played(seed: str, numbers: Sequence[int], kept: Kept, *, whole: bool) -> None:
    """Play these rounds, segment by segment, and say each."""
    left = [number for number in numbers if number not in kept.results]
    while left:
        turn, left = left[:SEGMENT], left[SEGMENT:]
        try:
            for result in segment(seed, turn, whole=whole):
                kept.keep(result)
                _say(seed, result)
        except BrokenError:
            pass  # each broken round was said


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _say(seed: str, result: Result) -> None:
    what = "; ".join(result.faults) or ("ok" if result.bit else "ok (not reached)")
    _print(
        f"{result.number:4} {drawn(seed, result.number).said:75} {result.took_s:5.1f} s"
        f" back {result.back_s:4.1f} s orders {result.orders:2}: {what}",
    )


def main(words: Sequence[str] | None = None) -> int:
    """Play, judge, say; 1 if anything was broken or a mutant got through."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash.gateway_campaign")
    parser.add_argument("--rounds", type=int, help="default: 800, whole 200")
    parser.add_argument("--whole", action="store_true", help="with the engine child for real")
    parser.add_argument("--first", type=int, default=0, help="number of the first round")
    parser.add_argument("--only", type=int, help="one round, by its number")
    parser.add_argument("--seed", default="", help="repeat the rounds of a run")
    parser.add_argument("--results", type=Path, help="a file of finished rounds, to go on with")
    parser.add_argument("--no-teeth", action="store_true")
    parser.add_argument("--write", action="store_true", help="docs/measured/crash-gateways.md")
    given = parser.parse_args(words)
    use_first_parts()
    seed = given.seed or secrets.token_hex(3)
    kept = Kept(given.results, seed)
    _print(f"SEED={seed}, commit {kept.commit}")
    began = time.monotonic()
    full = WHOLE_FROM if given.whole else WRITTEN_FROM
    numbers = list(range(given.first, given.first + (given.rounds or full)))
    numbers = [given.only] if given.only is not None else numbers
    played(seed, numbers, kept, whole=given.whole)
    teeth = [] if given.no_teeth or given.only is not None else [tooth(m, seed) for m in MUTANTS]
    results = sorted(kept.results.values(), key=lambda one: one.number)
    text = page(results, teeth, seed, kept.commit)
    _print(f"\n{text}\n{time.monotonic() - began:.0f} s")
    missed = [one.mutant for one in teeth if one.caught_after is None]
    broken = [one for one in results if one.faults]
    for one in broken:
        _print(f"FAILED  SEED={seed} round {one.number}: {'; '.join(one.faults)}")
    for mutant in missed:
        _print(f"FAILED  not caught: {mutant}")
    if given.write and len(results) >= full and teeth and not broken and not missed:
        write_section("whole gateways" if given.whole else "without the engine", text)
    return int(bool(broken or missed))


if __name__ == "__main__":
    sys.exit(main())
