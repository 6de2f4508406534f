"""How the model's forecasts did against the bars that came."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastScores:
    """What the scored forecasts of one model say of its calibration.

    Attributes:
        model_digest: The model.
        basis_seq: Sequence number up to which records were folded.
        scored: Forecasts whose first bar came.
        evidence_milli: The largest e-value so far that their ranks are not uniform, in 1/1,000.
        shift_bp: Population stability index of their ranks in tenths against even ones, 1/10,000.
    """

    model_digest: str
    basis_seq: int
    scored: int
    evidence_milli: int
    shift_bp: int
