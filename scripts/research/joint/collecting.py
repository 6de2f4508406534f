"""What was said and seen at every origin of a pair, kept by year so that a killed run goes on."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from inference.scale.correlation import KEEP_BP
from inference.training.series import Floats
from scripts.research.joint.ground import PairGround, short
from scripts.research.joint.sampling import PATHS, WAYS, origin, row_of

Said = dict[str, NDArray[Any]]
"""Arrays of all origins by "way/figure", with "days" and "asked"."""
_YEAR: Final = 250
"""Origins of a file."""


def collected(
    pair: PairGround, table: Floats, folder: Path, limit: int, say: Callable[[str], None]
) -> Said:
    """Return what every way said at every origin; `limit` is a count of origins, 0 is all."""
    rows = (row_of(table, pair.one), row_of(table, pair.other))
    key = hashlib.sha256(b"%d %d %b" % (KEEP_BP, PATHS, rows[0].tobytes())).hexdigest()[:8]
    count = min(limit, len(pair.where)) if limit else len(pair.where)
    parts = []
    for start in range(0, count, _YEAR):
        stop = min(start + _YEAR, count)
        path = folder / f"{'-'.join(map(short, pair.members))}-{key}-{start}-{stop}.npz"
        if not path.exists():
            found = [origin(pair, rows, at) for at in range(start, stop)]
            partial = path.with_suffix(".part.npz")
            np.savez(partial, allow_pickle=False, **_stacked(found))
            partial.rename(path)
            say(f"{pair.name}: {stop} of {count} origins")
        with np.load(path) as file:
            parts.append({name: file[name] for name in file.files})
    said = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    said["days"] = pair.days[:count]
    return said


def _stacked(found: list[dict[str, Any]]) -> Said:
    said = {"asked": np.asarray([one["asked"] for one in found])}
    for way in WAYS:
        for name in found[0][way]:
            said[f"{way}/{name}"] = np.asarray([one[way][name] for one in found])
    return said
