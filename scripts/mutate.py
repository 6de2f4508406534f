"""Plant faults one at a time in a copy of the tree; the tests must notice each (`make mutate`).

- By hand: `mutations.toml` gives the file, the text, its replacement and the tests that hold the
  promise. A fault whose text is no longer in the code is an error, so the list cannot rot.
- Drawn: a printed seed chooses places in gateway/, risk/, fix/ and inference/ (`mutation/sites.py`
  says how, and what is left out). Coverage picks the tests of each (`mutation/tests_of.py`).

Survivors are planted together, once, under the whole suite. `docs/measured/mutation.md` has the
figures and the survivors, with the reasons in `mutation/survivors.toml`.

Exit codes: 0 every fault by hand and at least 90 % of the drawn ones were caught; 1 otherwise, or a
fault could not be planted, or the named tests fail without any fault.
"""

from __future__ import annotations

import argparse
import secrets
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

from scripts.mutation.planting import ROOT, Copy, FaultOutcome, copied
from scripts.mutation.report import CAUGHT_MIN, MutateRun, write_page
from scripts.mutation.tests_of import STAGES, Recording
from scripts.mutation.trial import Trial, Trials, draw, sources, together

TABLE = ROOT / "scripts" / "mutations.toml"
KEPT = ROOT / ".mutate"
TIMEOUT_S = 300.0
SITES = 60
SUITE = ("tests/unit", "tests/property", "tests/golden", "tests/integration", "tests/walk")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """One fault by hand: the text that changes, and the tests that must notice."""

    promise: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


def read_table(path: Path) -> tuple[Mutation, ...]:
    """Return the faults of a table, in its order."""
    rows = tomllib.loads(path.read_text())["mutation"]
    return tuple(Mutation(**{**row, "tests": tuple(row["tests"])}) for row in rows)


def say(text: str) -> None:
    """Print one progress line at once."""
    print(text, flush=True)


def try_mutation(copy: Copy, mutation: Mutation) -> FaultOutcome:
    """Plant one fault, run its tests, remove the fault."""
    path = copy.folder / mutation.file
    text = path.read_text() if path.is_file() else ""
    if text.count(mutation.old) != 1:
        return FaultOutcome.STALE
    changed = text.replace(mutation.old, mutation.new).encode()
    with copy.changed({mutation.file: changed}):
        return copy.run(mutation.tests, TIMEOUT_S).outcome


def by_hand(copy: Copy, words: list[str]) -> int:
    """Try the faults of the table and return how many were not caught."""
    chosen = [
        one
        for one in read_table(TABLE)
        if not words or any(word in one.file + one.promise for word in words)
    ]
    bad = 0
    for test in sorted({test for one in chosen for test in one.tests}):
        sound = copy.run([test], TIMEOUT_S)
        if sound.code != 0:
            say(f"{test} fails without any fault: repair it first\n{sound.tail}")
            return len(chosen)
    for one in chosen:
        started = time.monotonic()
        outcome = try_mutation(copy, one)
        bad += outcome is not FaultOutcome.CAUGHT
        say(f"{outcome:9} {one.file}: {one.promise} ({time.monotonic() - started:.1f} s)")
    say(f"{len(chosen) - bad} of {len(chosen)} faults planted by hand were caught")
    return bad


def drawn(copy: Copy, options: argparse.Namespace) -> bool:
    """Try sites drawn by the seed; return whether enough of them were caught."""
    recording = Recording(ROOT, KEPT / "coverage")
    for stage in options.stages:
        recording.record(stage, say)
    sites = draw(options.seed, options.sites, sources(copy.folder), options.words)
    say(f"seed {options.seed}: {len(sites)} sites")
    trials = Trials(copy, recording, KEPT / "trials.jsonl")
    results: list[Trial] = []
    for number, site in enumerate(sites, 1):
        started = time.monotonic()
        trial = trials.attempt(site, options.stages)
        results.append(trial)
        took_s = time.monotonic() - started
        say(f"{number}/{len(sites)} {trial.outcome} {site.key} {trial.by} ({took_s:.1f} s)")
    left = [one for one, t in zip(sites, results, strict=True) if t.outcome != FaultOutcome.CAUGHT]
    noticed = ""
    if left and not options.apart:
        say(f"{len(left)} survivors together, under the whole suite")
        noticed = together(copy, left, say, SUITE).by
    run = MutateRun(
        seed=options.seed, trials=tuple(results), together=noticed, whole=not options.apart
    )
    say(run.summary())
    if options.write:
        write_page(run, read_table(TABLE))
    return run.caught_share >= CAUGHT_MIN


def main() -> int:
    """Try every fault and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("words", nargs="*", help="only faults whose place or promise has one")
    parser.add_argument("--seed", type=int, default=None, help="draw the same sites again")
    parser.add_argument("--sites", type=int, default=SITES, help="how many sites are drawn")
    parser.add_argument("--stages", default="unit,integration", help="of unit,integration,walk")
    parser.add_argument("--only", choices=("hand", "drawn"), help="one sort of fault")
    parser.add_argument("--apart", action="store_true", help="do not plant survivors together")
    parser.add_argument("--write", action="store_true", help="write docs/measured/mutation.md")
    options = parser.parse_args()
    options.stages = [one for one in STAGES if one in options.stages.split(",")]
    if options.seed is None:
        options.seed = secrets.randbelow(1_000_000)
    KEPT.mkdir(exist_ok=True)
    good = True
    with copied() as copy:
        if options.only != "drawn":
            good = by_hand(copy, options.words) == 0
        if options.only != "hand":
            good = drawn(copy, options) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
