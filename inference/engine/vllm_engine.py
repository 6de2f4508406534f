"""The only door to vLLM: an engine that is stepped in this process.

One thread owns it. Requests join the running batch at any step and do not change each other's
bytes. It tests itself at start (`self_test.py`); the result decides whether it may serve.

Only the engine child (`main.py`) imports this module; its parent sets vLLM's environment.
"""

import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, perf_counter_ns
from typing import Any

import torch
import vllm
from vllm import EngineArgs, LLMEngine, SamplingParams
from vllm.model_executor.models import registry as model_registry
from vllm.sampling_params import RequestOutputKind

from inference.codec.codec import ReturnCodec
from inference.codec.text.codec import TextCodec
from inference.engine import prompt_sharing, sampling_fix, vector_kernels
from inference.engine.capture_adapter import KEY, Deck
from inference.engine.drafters import Drafter, NetworkDrafter, TableDrafter
from inference.engine.flight import Flight, Witness
from inference.engine.port import (
    EngineConfig,
    EngineDescription,
    EngineLoad,
    SampleRequest,
    Samples,
    SelfTest,
    TokenPath,
)
from inference.engine.self_test import golden_snapshot, run_self_test
from inference.errors import (
    EngineDeadlineError,
    EngineError,
    EngineRefusedError,
    RegistryError,
)
from inference.speculation.rounds import Capture, DrafterKind, row_values
from inference.weights.registry import TEXT_KIND, ModelPair, load_pair, load_table
from inference.weights.teacher import Teacher
from inference.weights.text_pair import codec_for, missing_draft, model_length
from inference.weights.text_teacher import TEXT_TOLERANCE, TextTeacher

FAULT_NO_FIX = "no_sampling_fix"
FAULT_POSITIONS = "rough_positions"
_MAX_MODEL_LEN = 512
_BLOCK_SIZE = 32  # prefix caching shares whole blocks only; the CPU default of 128 shares nothing
_MAX_BATCHED_TOKENS = 16_384  # no prompt is ever cut into chunks


@dataclass(slots=True)
class _Running:
    request: SampleRequest
    flights: list[Flight]
    started_ns: int
    tokens: dict[int, tuple[int, ...]]


class VllmEngine:
    """Samples with vLLM in this process. Not thread-safe: one thread owns it.

    Attributes:
        prompt_tokens_cached: Prompt tokens of finished trajectories that were not computed again.
    """

    def __init__(self, config: EngineConfig, *, import_ms: int) -> None:
        """Check the model files, load, test.

        Raises:
            RegistryError: when the pair differs from its manifest or is of another codec, or
                vLLM's environment is not set.
        """
        started = perf_counter()
        if os.environ.get("VLLM_CPU_ATTN_SPLIT_KV") != "0":
            raise RegistryError(
                "VLLM_CPU_ATTN_SPLIT_KV must be 0; the gateway's supervisor sets it"
            )
        self._config = config
        self._pair = load_pair(Path(config.model_dir))
        self._codec = codec_for(self._pair)
        self._alphabet = self._codec.alphabet
        self._model_len = (
            model_length(self._pair.target) if self._pair.kind == TEXT_KIND else _MAX_MODEL_LEN
        )
        self._drafter = _drafter(config, self._pair, self._codec)
        vector_kernels.resolve()
        if config.fault != FAULT_NO_FIX:
            sampling_fix.install_fix()
        # vLLM would inspect the model class in one more process, which costs 10 s of imports, to
        # keep CUDA out of this one; this process needs the class anyway and has no CUDA.
        model_registry._run_in_subprocess = lambda look: look()  # noqa: SLF001 - see above
        draws = sampling_fix.Draws(self._alphabet)
        self._deck = Deck(self._drafter, draws)
        self._llm = LLMEngine.from_engine_args(self._arguments())
        self._connect(draws)
        self._running: dict[str, _Running] = {}
        self._tokens_asked = 0  # of all requests but what was dropped of them
        self.prompt_tokens_cached = 0
        self._import_ms = import_ms
        self._load_ms = round((perf_counter() - started) * 1000)
        self.self_test = self._test()
        self._deck.keep_rounds = config.capture  # the self-test always needs its rounds

    def begin(self, request: SampleRequest) -> None:
        """Add a request to the batch.

        Raises:
            EngineRefusedError: when the request does not fit this engine or its id is in use.
        """
        self._check(request)
        flights = []
        base = self._drafter.begin(request.prompt_ids)
        before = self._drafter.before(request.prompt_ids)
        spec_k = 0 if self._drafter.kind is DrafterKind.NONE else request.spec_k
        for index, seed in enumerate(request.seeds):
            flight = Flight(
                key=f"{request.request_id}/{index}",
                index=index,
                seed=seed,
                spec_k=spec_k,
                n_tokens=request.n_tokens,
                greedy=request.greedy,
                table_base=base,
                drafts_first=request.draft_first and spec_k > 0,
                before=before,
                group=request.request_id,
            )
            flights.append(flight)
            self._deck.flights[flight.key] = flight
        self._drafter.start(flights)
        for flight in flights:
            self._llm.add_request(
                flight.key,
                {"prompt_token_ids": list(request.prompt_ids)},
                _sampling(request, flight),  # the runner masks everything but the bins
            )
        self._running[request.request_id] = _Running(request, flights, perf_counter_ns(), {})
        self._tokens_asked += request.size

    def step(self) -> dict[str, Samples | str]:
        """Run one engine step and return what ended: samples, or why there are none."""
        done: dict[str, Samples | str] = {}
        for output in self._llm.step():
            request_id, _, index = output.request_id.rpartition("/")
            running = self._running.get(request_id)
            if running is not None and output.finished:
                ids = enumerate(output.outputs[0].token_ids)
                tokens = tuple(self._alphabet.token_at(place, one) for place, one in ids)
                running.tokens[int(index)] = tokens
                self.prompt_tokens_cached += output.num_cached_tokens or 0
        for request_id, running in list(self._running.items()):
            fault = next((f.fault for f in running.flights if f.fault), "")
            if fault:
                self.abort(request_id)
                done[request_id] = fault
            elif len(running.tokens) == len(running.flights):
                done[request_id] = self._finish(request_id)
        return done

    @property
    def busy(self) -> bool:
        """Return whether anything is being sampled."""
        return bool(self._running)

    def load(self) -> EngineLoad:
        """Return what is to be done, and what was done."""
        left = sum(map(_left, self._running.values()))
        return EngineLoad(
            requests=len(self._running), tokens_left=left, tokens_done=self._tokens_asked - left
        )

    def abort(self, request_id: str) -> bool:
        """Drop a request and return whether it was running."""
        running = self._running.pop(request_id, None)
        if running is None:
            return False
        self._tokens_asked -= _left(running)
        self._llm.abort_request([f.key for f in running.flights if f.index not in running.tokens])
        for flight in running.flights:
            self._deck.flights.pop(flight.key, None)
        self._forget(request_id)
        return True

    def sample(self, request: SampleRequest) -> Samples:
        """Sample one request to its end; nothing else may be running.

        Raises:
            EngineDeadlineError: when it took longer than its deadline.
            EngineError: when the sampler's rows were wrong.
            EngineRefusedError: as in `begin`.
        """
        self.begin(request)
        limit = perf_counter() + request.deadline_s
        while True:
            done = self.step().get(request.request_id)
            if isinstance(done, Samples):
                return done
            if done is not None:
                raise EngineError(done)
            if perf_counter() > limit:
                self.abort(request.request_id)
                raise EngineDeadlineError(f"{request.request_id} after {request.deadline_s} s")

    def describe(self) -> EngineDescription:
        """Return the engine's models, versions and self-test."""
        return EngineDescription(
            drafter=self._drafter.kind,
            spec_k=self._config.spec_k,
            model_id=self._pair.model_id,
            model_digest=self._pair.manifest_digest,
            table_digest=self._drafter.table_digest,
            codec_digest=self._codec.digest,
            versions=_versions(),
            start_ms={
                "import": self._import_ms,
                "load": self._load_ms,
                "self_test": self.self_test.elapsed_ms,
            },
            self_test=self.self_test,
        )

    def _connect(self, draws: sampling_fix.Draws) -> None:
        core: Any = self._llm.engine_core
        scheduler = core.engine_core.scheduler
        runner = core.engine_core.model_executor.driver_worker.worker.model_runner
        scheduler.deck = self._deck
        runner.deck = self._deck
        sampling_fix.install_draws(draws, runner.sampler)
        if self._config.share_prompts and self._drafter.kind is not DrafterKind.NETWORK:
            # The draft network has keys and values of its own, which this does not copy.
            copies = prompt_sharing.BlockCopies()
            prompt_sharing.install(copies)
            self._deck.shared = prompt_sharing.SharedPrompts(copies)
        if self._config.fault == FAULT_POSITIONS:
            _roughen_positions(runner.model)

    def _test(self) -> SelfTest:
        spec_k = 0 if self._drafter.kind is DrafterKind.NONE else self._config.spec_k

        def sample(request: SampleRequest, witness: Witness | None) -> Samples:
            self._deck.witness = witness
            try:
                return self.sample(request)
            finally:
                self._deck.witness = None

        return run_self_test(
            sample,
            spec_k=spec_k,
            expansion_is_right=sampling_fix.expansion_is_right,
            deadline_s=self._config.self_test_s,
            **self._tested(),
        )

    def _tested(self) -> dict[str, Any]:
        """Return what the self-test of this pair reads besides."""
        codec = self._codec
        if not isinstance(codec, TextCodec):
            return {"weights": Teacher(self._pair.target).rows}
        return {
            "weights": TextTeacher(self._pair.target, self._alphabet).rows,
            "prompts": (codec.encode(golden_snapshot()).token_ids,),
            "bins": (codec.bin_start, codec.bin_start + codec.n_bins),
            "weights_gap_max": TEXT_TOLERANCE,
        }

    def _finish(self, request_id: str) -> Samples | str:
        running = self._running.pop(request_id)
        for flight in running.flights:
            self._deck.flights.pop(flight.key, None)
        self._forget(request_id)
        rounds = tuple(r for flight in running.flights for r in flight.rounds)
        request = running.request
        paths = []
        for flight in running.flights:
            tokens = running.tokens[flight.index]
            booked = tuple(token for r in flight.rounds for token in r.emitted)
            if self._deck.keep_rounds and booked != tokens:
                return f"trajectory {flight.index}: the record and the output differ"
            paths.append(TokenPath(seed=flight.seed, tokens=tokens))
        first = row_values(rounds[0].p_rows[0]) if rounds else ()
        return Samples(
            paths=tuple(paths),
            capture=Capture(
                drafter=self._drafter.kind,
                spec_k=0 if self._drafter.kind is DrafterKind.NONE else request.spec_k,
                bin_start=self._codec.bin_start,
                n_bins=self._codec.n_bins,
                greedy=request.greedy,
                table_digest=self._drafter.table_digest,
                seeds=request.seeds,
                rounds=rounds,
            ),
            first_row=first,
            elapsed_us=(perf_counter_ns() - running.started_ns) // 1000,
        )

    def _forget(self, request_id: str) -> None:
        if self._deck.shared is not None:
            self._deck.shared.forget(request_id)

    def _check(self, request: SampleRequest) -> None:
        bins = (self._codec.bin_start, self._codec.bin_start + self._codec.n_bins)
        if request.request_id in self._running:
            raise EngineRefusedError(f"request {request.request_id} is already running")
        if request.allowed_range != bins:
            raise EngineRefusedError(f"only the codec's bins {bins} may be sampled")
        if request.spec_k > self._config.spec_k:
            raise EngineRefusedError(f"look-ahead {request.spec_k} is above {self._config.spec_k}")
        if max(request.prompt_ids) >= self._codec.vocab_size:
            raise EngineRefusedError("a prompt id is outside the vocabulary")
        if len(request.prompt_ids) + request.n_tokens + request.spec_k > self._model_len:
            raise EngineRefusedError(f"prompt and answer exceed {self._model_len} tokens")

    def _arguments(self) -> EngineArgs:
        config = self._config
        return EngineArgs(
            model=str(self._pair.target),
            skip_tokenizer_init=True,
            trust_remote_code=False,
            load_format="safetensors",
            dtype="float32",  # bfloat16 is 3-4 times slower on this kind of CPU
            enforce_eager=True,
            block_size=_BLOCK_SIZE,
            max_model_len=self._model_len,
            max_num_seqs=config.max_trajectories,
            max_num_batched_tokens=_MAX_BATCHED_TOKENS,
            kv_cache_memory_bytes=config.kv_cache_gib << 30,
            disable_log_stats=True,
            worker_cls="inference.engine.capture_adapter.CaptureWorker",
            scheduler_cls="inference.engine.look_ahead_scheduler.LookAheadScheduler",
            speculative_config=self._drafter.engine_settings(config.spec_k),
            seed=0,
        )


def _left(running: _Running) -> int:
    """Return how many tokens a request still wants."""
    return sum(max(0, one.n_tokens - one.produced) for one in running.flights)


def _roughen_positions(model: Any) -> None:
    """Give the upper half of the rotary table the errors of a low-accuracy cosine."""
    for module in model.modules():
        table = getattr(module, "cos_sin_cache", None)
        if table is not None:
            table[_MAX_MODEL_LEN // 2 :] = (table[_MAX_MODEL_LEN // 2 :] * 4096).round() / 4096


def _drafter(config: EngineConfig, pair: ModelPair, codec: ReturnCodec) -> Drafter:
    match config.drafter:
        case DrafterKind.NONE:
            return Drafter()
        case DrafterKind.NETWORK:
            if not pair.has_draft:
                raise missing_draft(pair)
            return NetworkDrafter(pair.draft)
        case DrafterKind.TABLE:
            return TableDrafter(load_table(pair), codec)


def _sampling(request: SampleRequest, flight: Flight) -> SamplingParams:
    return SamplingParams(
        temperature=0.0 if request.greedy else 1.0,
        max_tokens=request.n_tokens,
        # Every draw is ours; vLLM would rewind a seeded generator after a cut pass, and no CPU can.
        seed=None if flight.drafts_first else flight.seed,
        ignore_eos=True,
        detokenize=False,
        output_kind=RequestOutputKind.FINAL_ONLY,
        skip_clone=True,
        extra_args={KEY: flight.key},
        # With whole blocks and one token more, the cache could hold all but that token. vLLM then
        # pads the pass with drafts that are none, and there is no pass to cut for the first draft.
        skip_reading_prefix_cache=len(request.prompt_ids) % _BLOCK_SIZE == 1,
    )


def _versions() -> Mapping[str, str]:
    return {
        "vllm": vllm.__version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "threads": str(torch.get_num_threads()),
        "vectors": torch.backends.cpu.get_cpu_capability(),
        "openmp": Path(os.environ.get("LD_PRELOAD", "") or "none").name,
        "dtype": "float32",
        "attention_split": os.environ["VLLM_CPU_ATTN_SPLIT_KV"],
        "system": sys.platform,
    }
