"""Errors of the forecast side of the walk.

    InferenceError
    |- SnapshotError         a snapshot breaks its own rules (time, order, price)
    |- CodecError            a snapshot or token sequence the codec cannot carry
    |- ForecastError         no integer forecast can be made (NaN, infinity, overflow)
    |- CaptureError          capture bytes that do not decode or do not recompute
    |- RegistryError         weights, table or manifest missing, changed or inconsistent
    |- TrainingDataError     a training source that cannot be used
    `- EngineError           the engine did not serve
       |- EngineDeadlineError   not within the deadline; the request was aborted
       |- EngineDeadError       the process is gone; it is being restarted
       |- EngineRefusedError    this request is not acceptable, or the self-test failed
       |- FrameError            bytes on the engine's pipe that are no frame
       `- EngineFailedError     too many deaths; a person must look

Refusals of the risk gate are verdicts, never exceptions; these are for callers in the walk,
which turn each into a record.
"""

from __future__ import annotations

from typing import ClassVar

from typing_extensions import override


class InferenceError(Exception):
    """Root of the package's errors.

    Attributes:
        detail: What was expected and what was found, in one line.
    """

    code: ClassVar[str] = "inference"

    def __init__(self, detail: str) -> None:
        """Keep the one-line detail."""
        super().__init__(detail)
        self.detail = detail

    @override
    def __str__(self) -> str:
        return f"{self.code}: {self.detail}"


class SnapshotError(InferenceError):
    """A snapshot that must not reach the codec."""

    code: ClassVar[str] = "snapshot_invalid"


class CodecError(InferenceError):
    """Input the codec has no tokens for, or tokens it did not make."""

    code: ClassVar[str] = "codec_refused"


class ForecastError(InferenceError):
    """No forecast can be stated in integers."""

    code: ClassVar[str] = "forecast_invalid"


class CaptureError(InferenceError):
    """Capture bytes that cannot be read or do not recompute."""

    code: ClassVar[str] = "capture_invalid"


class RegistryError(InferenceError):
    """Model files that differ from their manifest."""

    code: ClassVar[str] = "registry_invalid"


class TrainingDataError(InferenceError):
    """A training source that cannot be used."""

    code: ClassVar[str] = "training_data_invalid"


class EngineError(InferenceError):
    """The engine did not serve a request."""

    code: ClassVar[str] = "engine"


class EngineDeadlineError(EngineError):
    """The deadline passed before every trajectory was complete."""

    code: ClassVar[str] = "engine_deadline"


class EngineDeadError(EngineError):
    """The engine process is not there."""

    code: ClassVar[str] = "engine_dead"


class EngineRefusedError(EngineError):
    """The engine is up and says no."""

    code: ClassVar[str] = "engine_refused"


class EngineFailedError(EngineError):
    """The engine died too often and stays down."""

    code: ClassVar[str] = "engine_failed"


class FrameError(EngineError):
    """Bytes on the engine's pipe that are no frame, or a frame that makes no sense."""

    code: ClassVar[str] = "engine_frame"
