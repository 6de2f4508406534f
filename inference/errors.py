"""The package's errors; the walk turns each into a record.

InferenceError
|- ScaleError
|- SnapshotError
|- CodecError
|- ForecastError
|  `- AnswerError
|- CaptureError
|- RegistryError
|- TrainingDataError
`- EngineError
   |- EngineDeadlineError
   |- EngineDeadError
   |- EngineRefusedError
   |- EngineFailedError
   `- FrameError
"""

from typing import ClassVar

from typing_extensions import override


class InferenceError(Exception):
    """Root of the package's errors; `detail` says what was expected and found, in one line."""

    code: ClassVar[str] = "inference"

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail

    @override
    def __str__(self) -> str:
        return f"{self.code}: {self.detail}"


class ScaleError(InferenceError):
    """Parameters that are no variance law, or too few returns for a scale."""

    code: ClassVar[str] = "scale_refused"


class SnapshotError(InferenceError):
    """A snapshot breaks its rules of time, order or price."""

    code: ClassVar[str] = "snapshot_invalid"


class CodecError(InferenceError):
    """The codec cannot encode a snapshot, or did not make these tokens."""

    code: ClassVar[str] = "codec_refused"


class ForecastError(InferenceError):
    """A forecast cannot be stated in integers: NaN, infinity or overflow."""

    code: ClassVar[str] = "forecast_invalid"


class LateTwinError(ForecastError):
    """A twin was not simulated in time, so there is no forecast."""

    code: ClassVar[str] = "twin_late"


class AnswerError(ForecastError):
    """A text model's answer is malformed or incomplete, so there is no forecast."""

    code: ClassVar[str] = "answer_malformed"


class CaptureError(InferenceError):
    """A capture cannot be decoded, or does not follow from its own numbers."""

    code: ClassVar[str] = "capture_invalid"


class RegistryError(InferenceError):
    """Weights, table or manifest are missing, changed or inconsistent."""

    code: ClassVar[str] = "registry_invalid"


class TrainingDataError(InferenceError):
    """A training source or checkpoint cannot be used."""

    code: ClassVar[str] = "training_data_invalid"


class EngineError(InferenceError):
    """The engine did not serve a request."""

    code: ClassVar[str] = "engine"


class EngineBusyError(EngineError):
    """What is being sampled takes until after the deadline; the request was not begun."""

    code: ClassVar[str] = "engine_busy"


class EngineDeadlineError(EngineError):
    """The deadline passed before every trajectory was complete; the request was aborted."""

    code: ClassVar[str] = "engine_deadline"


class EngineDeadError(EngineError):
    """The engine process is gone; it is being restarted."""

    code: ClassVar[str] = "engine_dead"


class EngineRefusedError(EngineError):
    """The engine runs but refuses this request, or its self-test failed."""

    code: ClassVar[str] = "engine_refused"


class EngineFailedError(EngineError):
    """The engine died too often and stays down until a person restarts it."""

    code: ClassVar[str] = "engine_failed"


class FrameError(EngineError):
    """Bytes on the engine's pipe are not a frame, or the frame's fields are wrong."""

    code: ClassVar[str] = "engine_frame"
