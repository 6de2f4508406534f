"""`Engine`: what the walk asks of a sampler, with its request and answer.

Durability: none; the caller records the request before it asks and the capture after the answer.
Threads: `sample` may be called from several threads at once; requests share one batch and do not
change each other's bytes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from inference.errors import EngineError, EngineRefusedError
from inference.speculation.rounds import Capture, DrafterKind

MAX_TRAJECTORIES = 2048
MAX_TOKENS = 256
MAX_SPEC_K = 16
MAX_ID_LENGTH = 128


class EngineState(StrEnum):
    """State of an engine."""

    STOPPED = "stopped"
    STARTING = "starting"
    READY = "ready"
    REFUSING = "refusing"  # up, but its self-test failed: it does not serve
    RESTARTING = "restarting"  # waiting to be started again
    FAILED = "failed"  # died too often; stays down until a person restarts it


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleRequest:
    """Asks for one trajectory per seed, all from the same prompt."""

    request_id: str
    prompt_ids: tuple[int, ...]
    n_tokens: int
    seeds: tuple[int, ...]
    spec_k: int  # look-ahead, at most the engine's own; 0 = no speculation
    allowed_range: tuple[int, int]  # token ids that may be sampled, [start, stop)
    deadline_s: float
    greedy: bool = False  # temperature 0; only for checks, a forecast is sampled at temperature 1
    draft_first: bool = False  # draft the first token too; without, it comes of the prompt's pass

    def __post_init__(self) -> None:
        """Raise `EngineRefusedError` for a field that is empty or out of range."""
        checks = {
            "request_id": 0 < len(self.request_id) <= MAX_ID_LENGTH,
            "prompt_ids": bool(self.prompt_ids) and min(self.prompt_ids) >= 0,
            "n_tokens": 0 < self.n_tokens <= MAX_TOKENS,
            "seeds": 0 < len(self.seeds) <= MAX_TRAJECTORIES
            and all(0 <= seed < 1 << 63 for seed in self.seeds),
            "spec_k": 0 <= self.spec_k <= MAX_SPEC_K,
            "allowed_range": 0 <= self.allowed_range[0] < self.allowed_range[1],
            "deadline_s": 0.0 < self.deadline_s < float("inf"),
        }
        for name, good in checks.items():
            if not good:
                raise EngineRefusedError(f"{name} is out of range")

    @property
    def size(self) -> int:
        """The tokens that it asks for, over all trajectories."""
        return self.n_tokens * len(self.seeds)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenPath:
    """The tokens of one trajectory."""

    seed: int
    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """The engine's answer to a request."""

    paths: tuple[TokenPath, ...]  # in the order of the request's seeds
    capture: Capture  # every round; empty rounds only where capture is switched off (bench)
    first_row: tuple[float, ...]  # the target's probabilities of the first token, over the bins
    elapsed_us: int  # in the engine, without the pipe


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfTest:
    """Outcome of the start-up self-test; floats are for people, `passed` decides."""

    passed: bool
    detail: str  # what failed, or "ok"
    positions: int  # speculated positions tested
    chi_square: float  # of the tokens' place in the target's own rows, 16 equal cells
    p_value: float
    row_error: float  # largest gap between the row used and the row recomputed from logits
    weights_gap: float  # largest gap of a sum of probabilities between engine and weights
    mean_accepted: float  # of spec_k
    elapsed_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineDescription:
    """Everything about an engine that a later replay must know."""

    drafter: DrafterKind
    spec_k: int
    model_id: str
    model_digest: str  # SHA-256 of the manifest
    table_digest: str
    codec_digest: str
    versions: Mapping[str, str]  # vllm, torch, python, cpu, threads, dtype
    start_ms: Mapping[str, int]  # import, load, self_test
    self_test: SelfTest


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineLoad:
    """What an engine has to do, and has done since it began.

    Attributes:
        requests: requests that are not answered yet.
        tokens_left: tokens that they still want.
        tokens_done: tokens sampled so far; only the difference of two loads means something.
    """

    requests: int
    tokens_left: int
    tokens_done: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineConfig:
    """Configuration of the engine child, which gets it as JSON."""

    model_dir: str  # folder of the model pair
    drafter: DrafterKind = DrafterKind.TABLE
    spec_k: int = 4
    capture: bool = True  # False only to measure speed
    max_trajectories: int = 512  # sampled at once; more wait
    self_test_s: float = 240.0  # longest wait for one answer of the self-test
    kv_cache_gib: int = 1
    share_prompts: bool = True  # False only to measure vLLM's own way
    fault: str = ""  # fault injection for tests; see main.py


class Engine(Protocol):
    """Samples trajectories; the gateway's supervisor implements it over a pipe to the child."""

    def sample(self, request: SampleRequest) -> Samples:
        """Return every trajectory of the request.

        Raises:
            EngineBusyError: when it would not be complete within `deadline_s`, at the speed that
                the engine has; it was not begun.
            EngineDeadlineError: when not complete within `deadline_s`; nothing arrives later.
            EngineDeadError: when the process is not up, or ended before it answered.
            EngineRefusedError: when the request is malformed, or the self-test forbids serving.
            EngineFailedError: when the engine is down until a person restarts it.
        """
        ...

    def sample_beside(
        self, request: SampleRequest, twin: SampleRequest
    ) -> tuple[Samples, Samples | EngineError]:
        """Return a request's samples, and its twin's or why there are none.

        Both are in the batch at once, the request first, and share the prompt's cached beginning.
        The twin's failure never changes the request's answer.

        Raises:
            EngineError: as `sample`, of the request alone; then nothing comes of the twin.
        """
        ...

    def describe(self) -> EngineDescription:
        """Return the engine's models, versions and self-test.

        Raises:
            EngineDeadError: when no engine has become ready yet.
            EngineFailedError: when the engine is down until a person restarts it.
        """
        ...
