"""Rounds of faults against gateways, with recorded captures or `--whole`, and the teeth.

    python -m tests.crash.gateway_campaign --kills [--seed 7] [--results FILE] [--write]
    python -m tests.crash.gateway_campaign --tooth MUTANT    one gateway that is wrong on purpose
    python -m tests.crash.gateway_campaign --seed 7 --only 314    one round again, on a fresh ledger

Fails when an invariant was broken, a round was stuck, a ledger does not verify, or a mutant was not
caught. With `--results` every finished round is a line of that file; a run that is started again
with the same file, seed and commit goes on where it stood. SIGTERM ends a run after its round, once
the ledger is judged.
"""

import argparse
import json
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from audit.upkeep.dump import dump, verify_database
from tests.crash.gateway_desk import FIRST_BEFORE_US
from tests.crash.gateway_mutants import BITING, MUTANTS, biting
from tests.crash.gateway_plan import drawn
from tests.crash.gateway_report import Tooth, commit_of, page, write_section
from tests.crash.gateway_round import Result, Rounds
from tests.crash.gateway_world import World
from tests.doubles.second_verifier import SECOND

SEGMENT = 100
"""Rounds over one state folder; the next begins with an empty ledger."""
BITES = 4
WRITTEN_FROM = {"kills": 470, "all faults": 800, "whole gateways": 30}
"""A shorter run does not replace a section of the page."""


@contextmanager
def world_of(
    name: str,
    mutant: str = "",
    *,
    whole: bool = False,
    bars_us: int = FIRST_BEFORE_US,
    patience: float = 1.0,
) -> Iterator[World]:
    """Yield a world in a folder of its own, which is kept if it ends badly."""
    folder = Path(tempfile.mkdtemp(prefix=f"gateways-{name}-"))
    folder.chmod(0o711)
    world = World(folder, mutant, whole=whole, bars_us=bars_us, patience=patience)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """How rounds are played: with the engine for real, with kills alone, how patiently."""

    whole: bool = False
    kills: bool = False
    patience: float = 1.0


_ending = threading.Event()
"""Whether the run was told to end (SIGTERM): after this round, once its ledger is judged."""


class BrokenError(Exception):
    """A round broke something; its world is kept."""


def verified(world: World, *, both: bool = False) -> list[str]:
    """Return what a whole check of the ledger finds; with `both` the second verifier's too."""
    world.up().end()  # its last checkpoint covers everything
    world.database_up()
    report = verify_database(world.dsn, (world.desk.vkey,))
    found = [f"ledger: {line}" for line in report.lines] if report.exit_code else []
    return [*found, *(_second(world) if both else ())]


def _second(world: World) -> list[str]:
    node, path = shutil.which("node"), world.folder / "ledger.dump"
    if node is None:
        return ["ledger: the second verifier needs Node"]
    dump(world.dsn, path)
    call = [node, "--no-warnings", str(SECOND), str(path), "--key", world.desk.vkey]
    done = subprocess.run(call, capture_output=True, text=True, timeout=1_800, check=False)
    path.unlink()
    return [f"second: {line}" for line in done.stdout.splitlines()] if done.returncode else []


def segment(seed: str, numbers: Sequence[int], *, how: How) -> Iterator[Result]:
    """Play rounds over one state folder; then the ledger must verify.

    Raises:
        BrokenError: a round broke something, after it was yielded; the world is kept.
    """
    with world_of(seed, whole=how.whole, patience=how.patience) as world:
        rounds = Rounds(world, seed)
        broken = 0
        for number in numbers:
            result = rounds.play(drawn(seed, number, kills=how.kills))
            over = number == numbers[-1] or _ending.is_set()
            if over and not result.faults:
                result = _with(result, verified(world, both=True))
            broken += bool(result.faults)
            yield result
            if over:
                break
        if broken:
            raise BrokenError


def _with(result: Result, faults: list[str]) -> Result:
    return Result(**{**asdict(result), "faults": (*result.faults, *faults)})


def tooth(mutant: str, seed: str, patience: float = 1.0) -> Tooth:
    """Throw rounds at a gateway that is wrong until the judge, or the verifier, says so."""
    bite = BITING[mutant]
    said: tuple[str, ...] = ()
    with world_of(f"{seed}-tooth", mutant, bars_us=bite.bars_us, patience=patience) as world:
        rounds = Rounds(world, f"{seed}/{mutant}")
        for number in range(1, BITES + 1):
            result = rounds.play(biting(mutant, number))
            found = [*result.faults, *(verified(world) if bite.verified else ())]
            said = tuple(one for one in found if one.startswith(bite.said) and bite.verified in one)
            if said:
                return Tooth(mutant=mutant, caught_after=number, said=said[:3])
    return Tooth(mutant=mutant, caught_after=None, said=said)


class Kept:
    """Finished rounds of one seed and commit, a line each; a run can go on with them."""

    def __init__(self, path: Path | None, seed: str, commit: str = "") -> None:
        """Read what is there of a commit, which is the tree's own unless one is named."""
        self._path, self._seed, self.commit = path, seed, commit or commit_of()
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


def played(seed: str, numbers: Sequence[int], kept: Kept, *, how: How) -> None:
    """Play these rounds, segment by segment, and say each."""
    left = [number for number in numbers if number not in kept.results]
    while left and not _ending.is_set():
        turn, left = left[:SEGMENT], left[SEGMENT:]
        try:
            for result in segment(seed, turn, how=how):
                kept.keep(result)
                _say(drawn(seed, result.number, kills=how.kills).said, result)
        except BrokenError:
            pass  # each broken round was said


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _say(said: str, result: Result) -> None:
    what = "; ".join(result.faults) or ("ok" if result.bit else "ok (not reached)")
    _print(
        f"{result.number:4} {said:75} {result.took_s:5.1f} s"
        f" back {result.back_s:4.1f} s orders {result.orders:2}: {what}",
    )


def _asked(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.crash.gateway_campaign")
    parser.add_argument("--rounds", type=int, help="default: what the page's section needs")
    parser.add_argument("--kills", action="store_true", help="nothing but SIGKILL")
    parser.add_argument("--whole", action="store_true", help="with the engine child for real")
    parser.add_argument("--first", type=int, default=0, help="number of the first round")
    parser.add_argument("--only", type=int, help="one round, by its number")
    parser.add_argument("--seed", default="", help="repeat the rounds of a run")
    parser.add_argument("--results", type=Path, help="a file of finished rounds, to go on with")
    parser.add_argument("--commit", default="", help="of the rounds in that file, if another one")
    parser.add_argument("--tooth", choices=[*MUTANTS], help="one mutant, and no rounds")
    parser.add_argument(
        "--patience", type=float, default=1.0, help="how much longer all may take: a busy machine"
    )
    parser.add_argument("--no-teeth", action="store_true")
    parser.add_argument("--write", action="store_true", help="docs/measured/crash-gateways.md")
    return parser.parse_args(words)


def _bitten(given: argparse.Namespace, seed: str) -> list[Tooth]:
    """Return what became of the mutants that are asked for."""
    names = [] if given.no_teeth or given.only is not None else [*MUTANTS]
    found = []
    for mutant in [given.tooth] if given.tooth else names:
        found.append(tooth(mutant, seed, given.patience))
        _print(f"{mutant}: {found[-1]}")
    return found


def main(words: Sequence[str] | None = None) -> int:
    """Play, judge, say; 1 if anything was broken or a mutant got through."""
    given = _asked(words)
    signal.signal(signal.SIGTERM, lambda *_: _ending.set())
    seed = given.seed or secrets.token_hex(3)
    kept = Kept(given.results, seed, given.commit)
    _print(f"SEED={seed}, commit {kept.commit}")
    began = time.monotonic()
    section = "whole gateways" if given.whole else "kills" if given.kills else "all faults"
    full = WRITTEN_FROM[section]
    numbers = list(range(given.first, given.first + (given.rounds or full)))
    numbers = [] if given.tooth else numbers if given.only is None else [given.only]
    how = How(whole=given.whole, kills=given.kills, patience=given.patience)
    played(seed, numbers, kept, how=how)
    teeth = _bitten(given, seed)
    results = sorted(kept.results.values(), key=lambda one: one.number)
    text = page(results, teeth, seed, kept.commit, whole=given.whole, patience=given.patience)
    _print(f"\n{text}\n{time.monotonic() - began:.0f} s")
    missed = [one.mutant for one in teeth if one.caught_after is None]
    broken = [one for one in results if one.faults]
    for one in broken:
        _print(f"FAILED  SEED={seed} round {one.number}: {'; '.join(one.faults)}")
    for mutant in missed:
        _print(f"FAILED  not caught: {mutant}")
    if given.write and len(results) >= full and teeth and not broken and not missed:
        write_section(section, text)
    return int(bool(broken or missed))


if __name__ == "__main__":
    sys.exit(main())
