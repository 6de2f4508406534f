"""As much of vLLM as our door touches: a batch, a rejection sampler, and the same places to hook.

A small real implementation: its model is a matrix of logits by newest token, its sampler accepts
and rejects as vLLM's does, through the module functions that `inference/engine/sampling_fix.py`
replaces. Its `expand_batch_to_tokens` has the fault of vllm-project/vllm issue 55005: what it
returns is not what it was given.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch

VOCAB: Final = 384
OURS: Final = (
    "sampling_fix",
    "prompt_sharing",
    "capture_adapter",
    "look_ahead_scheduler",
    "vllm_engine",
)
_RANDOM = np.random.default_rng(7)
TARGET: Final = torch.from_numpy(_RANDOM.normal(size=(VOCAB, VOCAB)).astype(np.float32))
DRAFT: Final = torch.from_numpy(
    (TARGET.numpy() + _RANDOM.normal(size=(VOCAB, VOCAB)) * 0.7).astype(np.float32)
)


class Bigrams:
    """The weights' own rows of this model, in float64: what `Teacher` is for the served pair."""

    def __init__(self, folder: Path) -> None:
        del folder

    def rows(
        self, prompt: Sequence[int], answers: Sequence[Sequence[int]], bins: slice
    ) -> list[npt.NDArray[np.float64]]:
        """Return the rows before each token of each answer."""
        before = [[prompt[-1], *answer][: len(answer)] for answer in answers]
        return [TARGET[tokens].double()[:, bins].softmax(-1).numpy() for tokens in before]


class Given(SimpleNamespace):
    """Keeps whatever it is given by name: `EngineArgs` and `SamplingParams`."""


class Request:
    """One sequence."""

    def __init__(self, key: str, prompt: list[int], params: Any) -> None:  # noqa: ANN401 - ours
        self.key = key
        self.prompt = prompt
        self.sampling_params = params
        self.tokens: list[int] = []
        self.spec_token_ids: list[int] = []

    @property
    def newest(self) -> int:
        """The token that the next row follows."""
        return (self.tokens or self.prompt)[-1]

    def is_finished(self) -> bool:
        """Whether it has all its tokens."""
        return len(self.tokens) >= int(self.sampling_params.max_tokens)


class RequestStatus(Enum):
    """How far a sequence is."""

    WAITING = 1
    RUNNING = 2
    PREEMPTED = 3


class AttentionImpl:
    """Writes a layer's keys and values: slot i of the cache gets row i of both."""

    def do_kv_cache_update(
        self,
        layer: object,
        key: torch.Tensor,
        value: torch.Tensor,
        cache: torch.Tensor,
        slots: torch.Tensor,
    ) -> None:
        """Write rows to their slots; the cache is [blocks, heads, block size, 2 * head size]."""
        del layer
        size, width = cache.shape[2], key.shape[2]
        for row, slot in enumerate(slots.tolist()):
            cache[slot // size, :, slot % size, :width] = key[row]
            cache[slot // size, :, slot % size, width:] = value[row]


class Scheduler:
    """Keeps the requests and the drafts that are verified next."""

    max_num_scheduled_tokens = 400
    block_size = 32

    def __init__(self) -> None:
        self.requests: dict[str, Any] = {}

    def schedule(self) -> None:
        """Schedule nothing: this engine's `step` runs what is there."""

    def _get_local_prefix_cache_hit(self, request: object) -> tuple[None, int, int, bool]:
        """Find nothing in the cache."""
        del request
        return None, 0, 0, False

    def _update_after_schedule(self, scheduler_output: Any) -> None:  # noqa: ANN401 - as vLLM's
        """Count what runs as computed."""
        for key, n in scheduler_output.num_scheduled_tokens.items():
            self.requests[key].num_computed_tokens += n

    def _reserve_prefill_lookahead(self, request: Any, computed: int, new: int) -> int:  # noqa: ANN401 - as vLLM's
        """Cut nothing."""
        del request, computed
        return new

    def update_draft_token_ids(self, draft_token_ids: Any) -> None:  # noqa: ANN401 - as vLLM's
        """Take the drafts of each request."""
        for key, drafts in zip(
            draft_token_ids.req_ids, draft_token_ids.draft_token_ids, strict=True
        ):
            if key in self.requests:
                self.requests[key].spec_token_ids = list(drafts)


class CPUModelRunner:
    """Samples a batch; `_sample` is what our runner watches."""

    def __init__(self, modules: dict[str, ModuleType], num_spec_tokens: int) -> None:
        self._rejection = modules["vllm.v1.sample.rejection_sampler"]
        self._proposer = modules["vllm.v1.spec_decode.llm_base_proposer"]
        self.num_spec_tokens = num_spec_tokens
        self.requests: dict[str, Request] = {}
        self.input_batch = SimpleNamespace(req_ids=[])
        self.discard_request_mask = SimpleNamespace(np=np.zeros(256, dtype=bool))
        self.model_config = SimpleNamespace(get_vocab_size=lambda: VOCAB)
        self.sampler = SimpleNamespace(
            topk_topp_sampler=SimpleNamespace(forward=lambda logits, *_: (logits.argmax(-1), None))
        )
        self._drafted: dict[str, torch.Tensor] = {}

    def _batch(self) -> list[Request]:
        return [self.requests[key] for key in self.input_batch.req_ids]

    def _sample(self, logits: torch.Tensor, metadata: Any) -> Any:  # noqa: ANN401 - as vLLM's
        batch = self._batch()
        counts = [0] * len(batch) if metadata is None else metadata.num_draft_tokens
        ends = np.cumsum([n + 1 for n in counts])
        greedy = batch[0].sampling_params.temperature == 0.0
        last = logits[ends - 1]
        forward = self.sampler.topk_topp_sampler.forward
        bonus = last.argmax(-1) if greedy else forward(last, {}, None, None)[0]
        rows = [[int(token)] for token in bonus]
        if metadata is not None:
            tested = [row for row in range(len(logits)) if row + 1 not in set(ends)]
            rows = self._reject(logits[tested], metadata, rows, greedy=greedy)
        width = max(len(row) for row in rows)
        padded = [row + [-1] * (width - len(row)) for row in rows]
        logits.zero_()  # the buffer is the next step's
        return SimpleNamespace(sampled_token_ids=torch.tensor(padded))

    def _reject(
        self,
        logits: torch.Tensor,
        metadata: Any,  # noqa: ANN401 - as vLLM's
        bonus: list[list[int]],
        *,
        greedy: bool,
    ) -> list[list[int]]:
        counts, drafts = metadata.num_draft_tokens, metadata.draft_token_ids
        total = len(drafts)
        if greedy:
            wanted = logits.argmax(-1)
            good, instead = (wanted == drafts).tolist(), wanted.tolist()
        else:
            uniform = self._rejection.generate_uniform_probs(total, counts, {}, "cpu")
            ends = torch.tensor(np.cumsum(counts), dtype=torch.int32)
            warm = self._rejection.expand_batch_to_tokens(torch.ones(len(counts)), ends, total)
            p = (logits / warm[:, None]).softmax(-1, dtype=torch.float32)
            q = self._get_spec_decode_draft_probs(metadata)
            instead = self._rejection.sample_recovered_tokens(
                max(counts), counts, ends, drafts, q, p, None, "cpu"
            ).tolist()
            at = torch.arange(total)
            ratio = p[at, drafts] / q[at, drafts]
            good = [bool(r >= u) for r, u in zip(ratio, uniform, strict=True)]
        rows, first = [], 0
        for n, extra in zip(counts, bonus, strict=True):
            stood = next((j for j in range(n) if not good[first + j]), n)
            kept = drafts[first : first + stood].tolist()
            rows.append(kept + (extra if stood == n else [instead[first + stood]]))
            first += n
        return rows

    def propose_draft_token_ids(
        self,
        scheduler_output: Any,  # noqa: ANN401 - as vLLM's
        sampled_token_ids: list[list[int]],
    ) -> list[list[int]]:
        """Draft with the draft model's own rows."""
        del scheduler_output
        newest = [tokens[-1] for tokens in sampled_token_ids]
        greedy = self._batch()[0].sampling_params.temperature == 0.0
        columns, rows = [], []
        for _ in range(self.num_spec_tokens):
            logits = DRAFT[newest]
            tokens, probs = logits[:, 128:].argmax(-1) + 128, logits
            if not greedy:
                choose = self._proposer.compute_probs_and_sample_next_token
                tokens, probs = choose(logits, None)
            newest = tokens.tolist()
            columns.append(newest)
            rows.append(probs)
        for i, key in enumerate(self.input_batch.req_ids):
            self._drafted[key] = torch.stack([probs[i] for probs in rows])
        return [[column[i] for column in columns] for i in range(len(newest))]

    def _get_spec_decode_draft_probs(self, metadata: Any) -> Any:  # noqa: ANN401 - as vLLM's
        pairs = zip(self.input_batch.req_ids, metadata.num_draft_tokens, strict=True)
        return torch.cat([self._drafted[key][:n] for key, n in pairs if n])


class CPUWorker:
    """Builds the runner."""

    def __init__(self, modules: dict[str, ModuleType], num_spec_tokens: int) -> None:
        self._made_of = (modules, num_spec_tokens)
        self.model_runner: CPUModelRunner

    def init_device(self) -> None:
        """Build it."""
        self.model_runner = CPUModelRunner(*self._made_of)


class LLMEngine:
    """Steps a batch: rows, samples, drafts."""

    def __init__(self, modules: dict[str, ModuleType], arguments: Any) -> None:  # noqa: ANN401 - ours
        settings = arguments.speculative_config or {"num_speculative_tokens": 0}
        self.arguments = arguments
        self.aborted: list[str] = []
        self._scheduler = _named(arguments.scheduler_cls)()
        worker = _named(arguments.worker_cls)(modules, settings["num_speculative_tokens"])
        worker.init_device()
        self.runner = worker.model_runner
        core = SimpleNamespace(
            scheduler=self._scheduler,
            model_executor=SimpleNamespace(driver_worker=SimpleNamespace(worker=worker)),
        )
        self.engine_core = SimpleNamespace(engine_core=core)

    def add_request(self, key: str, prompt: dict[str, list[int]], params: Any) -> None:  # noqa: ANN401 - ours
        """Take a sequence."""
        request = Request(key, prompt["prompt_token_ids"], params)
        self._scheduler.requests[key] = self.runner.requests[key] = request

    def abort_request(self, keys: list[str]) -> None:
        """Drop sequences."""
        self.aborted += keys
        for key in keys:
            del self._scheduler.requests[key]

    def step(self) -> list[Any]:
        """Sample for every sequence in the batch; return those that are at their end."""
        live = list(self._scheduler.requests.values())[: self.arguments.max_num_seqs]
        if not live:
            return []
        self.runner.input_batch.req_ids = [one.key for one in live]
        counts = [len(one.spec_token_ids) for one in live]
        drafts = [token for one in live for token in one.spec_token_ids]
        logits = TARGET[[t for one in live for t in (one.newest, *one.spec_token_ids)]].clone()
        metadata = SimpleNamespace(
            num_draft_tokens=counts, draft_token_ids=torch.tensor(drafts, dtype=torch.int32).long()
        )
        out = self.runner._sample(logits, metadata if drafts else None)  # noqa: SLF001 - as vLLM's
        sampled = [[t for t in row if t >= 0] for row in out.sampled_token_ids.tolist()]
        for one, tokens in zip(live, sampled, strict=True):
            one.tokens += tokens
        if self.runner.num_spec_tokens:
            proposed = self.runner.propose_draft_token_ids(None, sampled)
            self._scheduler.update_draft_token_ids(
                SimpleNamespace(req_ids=[one.key for one in live], draft_token_ids=proposed)
            )
        ended = [one for one in live if one.is_finished()]
        for one in ended:
            del self._scheduler.requests[one.key]
        return [_output(one) for one in live]


def _output(one: Request) -> Any:  # noqa: ANN401 - as vLLM's
    tokens = one.tokens[: one.sampling_params.max_tokens]
    return SimpleNamespace(
        request_id=one.key,
        finished=one.is_finished(),
        outputs=[SimpleNamespace(token_ids=tokens)],
        num_cached_tokens=0,
    )


def _named(path: str) -> Any:  # noqa: ANN401 - a class of ours
    module, _, name = path.rpartition(".")
    return getattr(sys.modules[module], name)


def _broken_expand(x: torch.Tensor, ends: torch.Tensor, total: int, *_: int) -> torch.Tensor:
    del ends
    return torch.full((total,), 3.0, dtype=x.dtype)


def _modules() -> dict[str, ModuleType]:
    """Return this vLLM's modules, by name."""
    names = (
        "vllm.model_executor.models.registry",
        "vllm.sampling_params",
        "vllm.v1.attention.backends.cpu_attn",
        "vllm.v1.core.sched.scheduler",
        "vllm.v1.request",
        "vllm.v1.sample.rejection_sampler",
        "vllm.v1.spec_decode.llm_base_proposer",
        "vllm.v1.worker.cpu_model_runner",
        "vllm.v1.worker.cpu_worker",
    )
    modules: dict[str, ModuleType] = {}
    for name in names:
        parts = name.split(".")
        for depth in range(1, len(parts) + 1):
            path = ".".join(parts[:depth])
            if path not in modules:
                modules[path] = ModuleType(path)
                if depth > 1:
                    setattr(modules[".".join(parts[: depth - 1])], parts[depth - 1], modules[path])
    engines = SimpleNamespace(from_engine_args=lambda arguments: LLMEngine(modules, arguments))
    contents: dict[str, dict[str, Any]] = {
        "vllm": {
            "EngineArgs": Given,
            "SamplingParams": Given,
            "LLMEngine": engines,
            "__version__": "small",
        },
        "vllm.sampling_params": {"RequestOutputKind": SimpleNamespace(FINAL_ONLY="final")},
        "vllm.v1.attention.backends": {"cpu_attn": modules["vllm.v1.attention.backends.cpu_attn"]},
        "vllm.v1.attention.backends.cpu_attn": {
            "CPUAttentionBackendImpl": type("CPUAttentionBackendImpl", (AttentionImpl,), {})
        },
        "vllm.v1.core.sched.scheduler": {"Scheduler": Scheduler},
        "vllm.v1.request": {"RequestStatus": RequestStatus},
        "vllm.v1.sample.rejection_sampler": {
            "generate_uniform_probs": lambda total, *_: torch.full((total,), 0.5),
            "sample_recovered_tokens": lambda *args: args[3],
            "expand_batch_to_tokens": _broken_expand,
        },
        "vllm.v1.spec_decode.llm_base_proposer": {
            "compute_probs_and_sample_next_token": lambda logits, _: (logits.argmax(-1), logits),
        },
        "vllm.v1.worker.cpu_model_runner": {"CPUModelRunner": CPUModelRunner},
        "vllm.v1.worker.cpu_worker": {"CPUWorker": CPUWorker},
    }
    for path, values in contents.items():
        for name, value in values.items():
            setattr(modules[path], name, value)
    return modules


@contextmanager
def small_vllm() -> Iterator[SimpleNamespace]:
    """Load our door over this vLLM; yields its modules by name, and puts back what was there."""
    modules = _modules()
    package = import_module("inference.engine")
    ours = [f"inference.engine.{name}" for name in OURS]
    kept = {name: sys.modules.pop(name, None) for name in (*modules, *ours)}
    named = {name: vars(package).pop(name, None) for name in OURS}
    sys.modules.update(modules)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # its matrices are small: on a busy machine threads mostly wait
    try:
        loaded = {name: import_module(f"inference.engine.{name}") for name in OURS}
        vars(loaded["vllm_engine"])["Teacher"] = Bigrams  # this model has no file of weights
        yield SimpleNamespace(**loaded)
    finally:
        torch.set_num_threads(threads)
        for name, module in kept.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module
        for name, module in named.items():
            vars(package).pop(name, None)
            if module is not None:
                setattr(package, name, module)
