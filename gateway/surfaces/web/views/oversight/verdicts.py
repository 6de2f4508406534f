"""What became of each sampled trajectory: kept or dropped, why, and where both sorts end."""

import json
from dataclasses import dataclass

from audit.store.reader import LedgerReader
from gateway.surfaces.web.views.body import Body
from inference.errors import InferenceError
from inference.forecast.forecast import LEVELS_BP
from inference.forecast.verdicts import KEPT, counted, end_quantiles


@dataclass(frozen=True, slots=True, kw_only=True)
class TrajectoryVerdicts:
    """Counts by verdict, and quantiles of the log return at the horizon, 1e-8; empty for none."""

    counts: tuple[tuple[str, int], ...]
    levels_bp: tuple[int, ...]
    kept_1e8: tuple[int, ...]
    dropped_1e8: tuple[int, ...]

    @property
    def dropped(self) -> int:
        """How many were dropped."""
        return sum(count for name, count in self.counts if name != KEPT)


def trajectory_verdicts(reader: LedgerReader, made: Body) -> TrajectoryVerdicts | None:
    """Return the verdicts behind a forecast; None where none are on record."""
    digest = made.text("verdicts_blob")
    raw = reader.blob(digest) if digest else None
    if raw is None:
        return None
    try:
        document = json.loads(raw)
        return TrajectoryVerdicts(
            counts=tuple(counted(document).items()),
            levels_bp=LEVELS_BP,
            kept_1e8=end_quantiles(document, LEVELS_BP, kept=True),
            dropped_1e8=end_quantiles(document, LEVELS_BP, kept=False),
        )
    except (ValueError, KeyError, TypeError, InferenceError):
        return None
