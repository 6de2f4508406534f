"""Records of direct forecasts that were held against the engine.

Not here: which ones are, and when they differ (`gateway.launch.threads.sampler`).
"""

from audit.records.record_kind import Filing, RecordKind


class SamplerChecked(RecordKind, frozen=True, kw_only=True):
    """The engine's sample of a direct forecast's request, compared; it is never used to size.

    Attributes:
        checked_id: the attempt that made the forecast, `{forecast_id}.{attempt}`.
        of_seq, of_leaf: the record of its draws.
        capture_blob: what the engine sampled, of `capture_bytes`.
        tokens: of each sample.
        statistic_1e6: the chi-square of both samples, state by state, with so many degrees of
            freedom.
    """

    filing = Filing("sampler/{model_digest}", "checked:{checked_id}")

    model_digest: str
    checked_id: str
    of_seq: int
    of_leaf: str
    capture_blob: str
    capture_bytes: int
    tokens: int
    statistic_1e6: int
    degrees: int
