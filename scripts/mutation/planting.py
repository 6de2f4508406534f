"""A copy of the tree in which faults are planted, one at a time or together, and tests run."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO

from scripts.mutation.runner import TIMED_OUT

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("gateway", "risk", "audit", "inference", "fix", "migrations", "scripts", "tests", "docs")
FILES = ("pyproject.toml", "Makefile", "README.md", "ARCHITECTURE.md", "CHANGELOG.md")
PYTEST_FAILED = (1, 2)  # tests failed, or a test's file could not even be imported


class FaultOutcome(StrEnum):
    """What became of one planted fault."""

    CAUGHT = "caught"
    SURVIVED = "SURVIVED"
    UNTESTED = "SURVIVED: no test runs it"
    STALE = "STALE: the text is not in the file exactly once"
    BROKEN = "BROKEN: the tests did not run"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """The result of a run of tests; `failed` is the first failed test, empty if none failed."""

    code: int
    failed: str
    tail: str

    @property
    def outcome(self) -> FaultOutcome:
        """What the result means for the planted fault."""
        if self.code == 0:
            return FaultOutcome.SURVIVED
        if self.code in PYTEST_FAILED or self.timed_out or self.code < 0:
            return FaultOutcome.CAUGHT
        return FaultOutcome.BROKEN

    @property
    def timed_out(self) -> bool:
        """Return whether the tests had to be killed."""
        return self.code == TIMED_OUT

    @property
    def by(self) -> str:
        """The test that noticed."""
        return "no end" if self.timed_out else self.failed or "import"


class Copy:
    """A copy of the tree, made by `copied`, with a runner of tests in it."""

    def __init__(self, folder: Path, runner: "subprocess.Popen[str]") -> None:
        self.folder = folder
        self._runner = runner

    def run(self, tests: Sequence[str], timeout_s: float) -> RunResult:
        """Run tests, in this order, up to the first failure."""
        to, back = self._pipes()
        to.write(json.dumps({"tests": list(tests), "timeout_s": timeout_s}) + "\n")
        to.flush()
        line = back.readline()
        if not line:
            raise RuntimeError("the runner of the tests has ended")
        return RunResult(**json.loads(line))

    def _pipes(self) -> tuple[IO[str], IO[str]]:
        if self._runner.stdin is None or self._runner.stdout is None:
            raise RuntimeError("the runner has no pipes")
        return self._runner.stdin, self._runner.stdout

    @contextmanager
    def changed(self, files: Mapping[str, bytes]) -> Iterator[None]:
        """Give some files other contents within the block."""
        kept = {name: (self.folder / name).read_bytes() for name in files}
        try:
            for name, content in files.items():
                (self.folder / name).write_bytes(content)
            yield
        finally:
            for name, content in kept.items():
                (self.folder / name).write_bytes(content)


@contextmanager
def copied() -> Iterator[Copy]:
    """Yield a copy of what the tests need, without the environment and any state."""
    skip = shutil.ignore_patterns("__pycache__", ".hypothesis")
    with tempfile.TemporaryDirectory(prefix="countersign-mutate-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # the embedded server runs as another user, who must get through
        for room in COPIED:
            shutil.copytree(ROOT / room, folder / room, ignore=skip)
        for file in FILES:
            shutil.copy(ROOT / file, folder / file)
        runner = subprocess.Popen(
            [sys.executable, "-m", "scripts.mutation.runner"],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": name, "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            yield Copy(folder, runner)
        finally:
            if runner.stdin is not None:
                runner.stdin.close()
            runner.wait(60)
