"""Scores kept by the digest of everything that they depend on; an interrupted run goes on."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any, Final

import numpy as np

from inference.training.series import Floats

_PACKAGE: Final = Path(__file__).resolve().parents[3]


def code_digest() -> str:
    """Return the SHA-256, hex, of every Python file of `inference`."""
    found = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        found.update(path.relative_to(_PACKAGE).as_posix().encode() + b"\0")
        found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()


class ScoreCache:
    """One file for each series and set of options."""

    def __init__(self, folder: Path, options: dict[str, Any]) -> None:
        """Create the folder; `options` has everything but the series."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._options = folder, options

    def _path(self, digest: str) -> Path:
        text = json.dumps({**self._options, "series": digest}, sort_keys=True)
        return self._folder / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.npz"

    def get(self, digest: str) -> dict[str, Floats] | None:
        """Return the scores of a series, or None; a file that cannot be read counts as none."""
        path = self._path(digest)
        try:
            with np.load(path, allow_pickle=False) as stored:
                return {name: np.asarray(stored[name]) for name in stored.files}
        except (OSError, ValueError, KeyError, EOFError):
            return None

    def put(self, digest: str, scores: dict[str, Floats]) -> None:
        """Write the scores; a crash leaves the whole file or a partial one that nobody reads."""
        path = self._path(digest)
        partial = path.with_suffix(".partial")
        with partial.open("wb") as file:
            np.savez(file, **scores)  # type: ignore[arg-type]
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
