"""The register of looks: who opened which years, with which code, before anything is scored.

Years after 2015 judge a model; who has seen them often has chosen by them. Each line is JSON with
the SHA-256 of the line before, so that a line that was taken out or changed is noticed.
"""

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from inference.errors import TrainingDataError
from inference.training.sources import TRAIN_END_US

FREE_UNTIL_US: Final = TRAIN_END_US
"""Bars that close before 2016 may be looked at as often as you like."""
_FIRST: Final = "0" * 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One opening of the years after 2015."""

    at_us: int
    who: str
    why: str
    range_from: str
    range_to: str
    series: int
    data_digest: str
    model_digest: str
    code_digest: str


def record_look(path: Path, look: Look) -> int:
    """Append a look and flush it to disk; return how many there are.

    A crash after it leaves a look without figures, never figures without a look.

    Raises:
        TrainingDataError: when the register was changed.
    """
    lines = read_looks(path)
    before = _digest(lines[-1]) if lines else _FIRST
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        row = {**asdict(look), "before": before}
        file.write(json.dumps(row, sort_keys=True).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
    return len(lines) + 1


def read_looks(path: Path) -> list[bytes]:
    """Return the register's lines after checking that each follows from the one before.

    Raises:
        TrainingDataError: with the first line that does not.
    """
    lines = path.read_bytes().splitlines() if path.exists() else []
    before = _FIRST
    for number, line in enumerate(lines, start=1):
        try:
            named = json.loads(line)["before"]
        except (ValueError, KeyError, TypeError) as error:
            raise TrainingDataError(f"{path} line {number}: not a look: {error}") from error
        if named != before:
            raise TrainingDataError(
                f"{path} line {number}: a look before it was changed or taken out; "
                "restore the register from your repository"
            )
        before = _digest(line)
    return lines


def _digest(line: bytes) -> str:
    return hashlib.sha256(line).hexdigest()
