"""Clocks that a test moves: the wall clock leaps, and time passes on both.

`python -m tests.doubles.set_clock DAYS COMMAND..` runs a command, and all that it starts, that many
days ahead (`make later`).
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gateway import clock

Clock = Callable[[], int]
SHIM_SOURCE = Path(__file__).with_name("clock_shim.c")


class MissingCompilerError(Exception):
    """There is nothing to compile the shim with."""


@dataclass(slots=True)
class SetClock:
    """The machine's clocks, moved."""

    leapt_us: int = 0
    passed_us: int = 0
    began: tuple[int, int] | None = None

    @classmethod
    def still(cls) -> "SetClock":
        """Return clocks on which no time passes by itself, however slow the machine is."""
        return cls(began=(clock.wall_us(), clock.monotonic_us()))

    def wall_us(self) -> int:
        """Return the wall clock as somebody has set it."""
        wall_us, _ = self._read()
        return wall_us + self.leapt_us + self.passed_us

    def monotonic_us(self) -> int:
        """Return the clock that nobody can set."""
        _, monotonic_us = self._read()
        return monotonic_us + self.passed_us

    def _read(self) -> tuple[int, int]:
        return self.began or (clock.wall_us(), clock.monotonic_us())

    def leap(self, by_us: int) -> None:
        """Set the wall clock, ahead or back."""
        self.leapt_us += by_us

    def passes(self, time_us: int) -> None:
        """Let time pass, on both clocks."""
        self.passed_us += time_us


class ShimmedClock:
    """A wall clock for processes of their own: `clock_shim.c` in front of their readings."""

    def __init__(self, folder: Path) -> None:
        """Compile the shim; the clock is right until it is set.

        Raises:
            MissingCompilerError: there is no C compiler here.
        """
        compiler = shutil.which("gcc") or shutil.which("cc") or shutil.which("clang")
        if compiler is None:
            raise MissingCompilerError("no C compiler")
        library = folder / "clock_shim.so"
        command = [compiler, "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", str(library)]
        subprocess.run([*command, str(SHIM_SOURCE), "-ldl"], check=True)
        self._offset = folder / "clock_offset"
        self.environment = {"LD_PRELOAD": str(library), "CLOCK_SHIM": str(self._offset)}
        self.set(0)

    def set(self, seconds: int) -> None:
        """Set the clock of every process that has the shim, from the right time."""
        whole = self._offset.with_suffix(".new")
        whole.write_text(str(seconds))
        whole.replace(self._offset)


def main(arguments: list[str]) -> int:
    """Run a command some days ahead; return its exit code."""
    days, *command = arguments
    with tempfile.TemporaryDirectory(prefix="countersign-later-") as folder:
        ahead = ShimmedClock(Path(folder))
        preload = ahead.environment["LD_PRELOAD"]
        moved = {"LD_PRELOAD": preload, "CLOCK_SHIM_S": str(int(days) * 86_400)}
        return subprocess.run(command, env={**os.environ, **moved}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
