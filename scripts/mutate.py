"""Plant known faults one at a time in a copy of the tree, and demand that the tests notice each.

What it is for: `make mutate`. A suite that stays green over a planted fault proves nothing about
that promise. The faults stand in mutations.toml: file, text, replacement, and the tests that hold
the promise. A fault whose text is no longer in the code is an error too, so the list cannot rot.

Exit codes: 0 every fault was caught; 1 one survived, or could not be planted, or the tests named
are red without any fault.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "scripts" / "mutations.toml"
COPIED = ("gateway", "risk", "audit", "inference", "fix", "migrations", "scripts", "tests")
FILES = ("pyproject.toml", "Makefile", "README.md", "ARCHITECTURE.md", "CHANGELOG.md")
TIMEOUT_S = 300.0
TAIL_LINES = 12
PYTEST_FAILED = 1  # pytest's exit code for "tests ran, some failed"; 2 to 5 mean that it could not


class Outcome(StrEnum):
    """What became of one planted fault."""

    CAUGHT = "caught"
    SURVIVED = "SURVIVED"
    STALE = "STALE: the text is not in the file exactly once"
    BROKEN = "BROKEN: the tests did not run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """One fault: in which file which text becomes what, and which tests must notice."""

    promise: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


def read_table(path: Path) -> tuple[Mutation, ...]:
    """Return the faults of a table, in its order."""
    rows = tomllib.loads(path.read_text())["mutation"]
    return tuple(Mutation(**{**row, "tests": tuple(row["tests"])}) for row in rows)


def copy_tree(target: Path) -> None:
    """Copy what the tests need, but neither the environment nor any state."""
    skip = shutil.ignore_patterns("__pycache__", ".hypothesis")
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target / name, ignore=skip)
    for name in FILES:
        shutil.copy(ROOT / name, target / name)


def run_tests(folder: Path, tests: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    """Run some tests in a copy, which comes first on the path, up to the first failure."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )


def try_mutation(folder: Path, mutation: Mutation) -> Outcome:
    """Plant one fault, run its tests, take the fault out again."""
    path = folder / mutation.file
    text = path.read_text() if path.is_file() else ""
    if text.count(mutation.old) != 1:
        return Outcome.STALE
    path.write_text(text.replace(mutation.old, mutation.new))
    try:
        code = run_tests(folder, mutation.tests).returncode
    finally:
        path.write_text(text)
    if code == PYTEST_FAILED:
        return Outcome.CAUGHT
    return Outcome.SURVIVED if code == 0 else Outcome.BROKEN


def main() -> int:
    """Try every fault and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "words", nargs="*", help="only faults whose file or promise has one of these"
    )
    words = parser.parse_args().words
    chosen = [
        mutation
        for mutation in read_table(TABLE)
        if not words or any(word in mutation.file + mutation.promise for word in words)
    ]
    bad = 0
    with tempfile.TemporaryDirectory(prefix="countersign-mutate-") as name:
        folder = Path(name)
        copy_tree(folder)
        tests = tuple(sorted({test for mutation in chosen for test in mutation.tests}))
        sound = run_tests(folder, tests)
        if sound.returncode != 0:
            print("\n".join(sound.stdout.splitlines()[-TAIL_LINES:]))
            print("the tests are red without any fault; nothing can be said")
            return 1
        for mutation in chosen:
            started = time.monotonic()
            outcome = try_mutation(folder, mutation)
            bad += outcome is not Outcome.CAUGHT
            elapsed_s = time.monotonic() - started
            print(
                f"{outcome:9} {mutation.file}: {mutation.promise} ({elapsed_s:.1f} s)", flush=True
            )
    print(f"{len(chosen) - bad} of {len(chosen)} planted faults caught")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
