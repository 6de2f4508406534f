"""The engine child's configuration, environment, start, and what it must say of itself.

The environment is listed item by item, so that nothing of the gateway's leaks into it.
"""

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from gateway.installation.children.child import ChildProcess
from inference.build import build_digest
from inference.engine.frames import config_text
from inference.engine.port import EngineConfig
from inference.speculation.rounds import DrafterKind, QTable
from inference.weights.registry import load_pair, load_table

_ROOT = Path(__file__).resolve().parents[3]
VECTOR_CAPS: Final = ("ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA", "MKL_ENABLE_INSTRUCTIONS")
"""What keeps PyTorch, oneDNN and MKL to older vector instructions; the child may have them too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineChildConfig:
    """Configuration of the child; times in seconds.

    Attributes:
        silent_s: without a beat for so long, a child that missed its deadlines is dead.
        hung_s: so is one that missed none.
        model_digest: of the pair that the child must have loaded; empty: the gateway reads it.
    """

    engine: EngineConfig
    state_dir: Path  # of its log and caches
    program: tuple[str, ...] = (sys.executable, "-m", "inference.engine.main")
    fault: str = ""  # fault injection, tests only
    niceness: int = 5
    start_timeout_s: float = 240.0
    back_off_first_s: float = 1.0
    back_off_most_s: float = 60.0
    max_deaths: int = 5
    death_window_s: float = 600.0
    max_missed: int = 2
    silent_s: float = 5.0
    hung_s: float = 60.0
    model_digest: str = ""

    @property
    def too_slow(self) -> str:
        """What is said of a child that did not start in time."""
        limit = f"not ready within {self.start_timeout_s:g} s"
        return f"{limit}: a large model needs more, set COUNTERSIGN_ENGINE__START_TIMEOUT_S"


def own_identity(config: EngineChildConfig) -> dict[str, str]:
    """Return build and model as the gateway has them, by name.

    Raises:
        RegistryError: the pair cannot be read.
    """
    model = config.model_digest or load_pair(Path(config.engine.model_dir)).manifest_digest
    return {"build": build_digest(), "model": model}


def table_of(engine: EngineConfig) -> QTable | None:
    """Return the drafter's table, from which each answer recomputes; None for other drafters.

    Raises:
        RegistryError: it cannot be read.
    """
    if engine.drafter is not DrafterKind.TABLE:
        return None
    return load_table(load_pair(Path(engine.model_dir)))


def spawn(config: EngineChildConfig) -> ChildProcess:
    """Start an engine child; its output goes to `logs/engine.log`.

    No answer of its self-test may take longer than the start as a whole.
    """
    engine = replace(config.engine, self_test_s=config.start_timeout_s)
    return ChildProcess(
        [
            *config.program,
            *("--parent", str(os.getpid())),
            *("--nice", str(config.niceness)),
            *("--config", config_text(engine)),
            "--fd",
        ],
        config.state_dir / "logs" / "engine.log",
        environment=child_environment(config),
        folder=_ROOT,
    )


def child_environment(config: EngineChildConfig) -> dict[str, str]:
    """Return the child's whole environment."""
    home = config.state_dir / "engine"
    home.mkdir(parents=True, exist_ok=True)
    environment = {
        "PATH": os.defpath,
        "LANG": "C.UTF-8",
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / "cache"),
        "VLLM_CACHE_ROOT": str(home / "cache" / "vllm"),
        "VLLM_CONFIG_ROOT": str(home / "config"),
        "PYTHONPATH": str(_ROOT),
        "PYTHONHASHSEED": "0",
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0",  # the engine lives in the child itself
        "VLLM_CPU_ATTN_SPLIT_KV": "0",  # splitting depends on the batch and moves the last bit
        "VLLM_CPU_KVCACHE_SPACE": str(config.engine.kv_cache_gib),
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_LOGGING_LEVEL": "WARNING",
        "DO_NOT_TRACK": "1",
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
    }
    openmp = Path(sys.prefix) / "lib" / "libiomp5.so"
    if openmp.exists():  # with the default OpenMP a single request costs up to 6 times the CPU
        environment["LD_PRELOAD"] = str(openmp)
    environment |= {name: os.environ[name] for name in VECTOR_CAPS if name in os.environ}
    if config.fault:
        environment["COUNTERSIGN_ENGINE_FAULT"] = config.fault
    return environment
