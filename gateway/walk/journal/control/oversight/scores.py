"""Records of scored forecasts: what came at one step, and how the target and the table did.

Not here: the scores themselves (`inference.forecast.outcome`), which bars came (`scoring`).
"""

from audit.records.record_kind import Contents, Filing, RecordKind


class Scored(Contents, frozen=True, kw_only=True):
    """One set of paths; units as in `PathScore`."""

    paths: int
    crps_1e8: int
    rank: int
    mean_1e8: int


class ForecastScored(RecordKind, frozen=True, kw_only=True):
    """What came at a step of a forecast; a step is scored once.

    Attributes:
        scored_id: the attempt that made the forecast, `{forecast_id}.{attempt}`.
        step: bars after the forecast's last bar, from 1.
        forecast_seq, snapshot_seq: the forecast's record, and that of the later snapshot which has
            both bars.
        base_us, came_us: closing times of the two bars.
        came_1e8: relative change of the close from one to the other.
        table: the table's twin of the same forecast; None where it has no paths.
    """

    filing = Filing("market/{instrument}", "scored:{scored_id}:{attempt}:{step}")

    scored_id: str
    instrument: str
    attempt: int
    step: int
    forecast_seq: int
    snapshot_seq: int
    base_us: int
    came_us: int
    came_1e8: int
    model_digest: str
    target: Scored
    table: Scored | None
