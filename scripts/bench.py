"""Measure what speculation buys: `make bench` writes docs/measured/bench-engine.md.

One process per engine: plain vLLM, vLLM with our shared prompts but no drafter, each drafter, one
with capture, the shipped pair, and a compiled loop of the same weights. They take turns on the same
seeds, so a busy moment hits all of them and the ratios are paired. The figure is the wall time per
call of n requests. Names of metrics are OpenTelemetry's (semantic conventions for generative AI).
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from gateway.installation.children.engine_process import EngineChildConfig, child_environment
from inference.codec.codec import ReturnCodec
from inference.engine.port import SampleRequest
from inference.engine.self_test import golden_prompt
from inference.speculation.look_ahead import accepted_pm, choose
from inference.speculation.seeds import decision_seed, trajectory_seeds
from scripts import bench_twins
from scripts.bench_page import (
    BARS,
    CHOSEN,
    FIRST,
    FIRST_OF,
    LIMIT,
    PAIR,
    PATHS,
    REPORT,
    ROOT,
    SERIES,
    SIZES,
    SPEC_K,
    TOKENS,
    WARM_UP,
    WORKERS,
    Found,
    Series,
    report,
)


class Worker:
    """One process that times calls on command."""

    def __init__(self, name: str, state: Path) -> None:
        config = EngineChildConfig(engine=WORKERS.get(name, WORKERS["none"]), state_dir=state)
        self.name = name
        self._log = state / f"{name}.log"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "scripts.bench", "--worker", name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log.open("wb"),
            env=child_environment(config),
            cwd=ROOT,
            text=True,
        )

    def ready(self) -> dict[str, Any]:
        """Wait until it is up; return its description."""
        return self._answer()

    def time(self, n: int, tokens: int, spec_k: int, repetition: int) -> dict[str, float]:
        """Time one call of n requests: `ms`, and but for the compiled loop `cpu_ms`, `cached`."""
        stdin = self._process.stdin
        if stdin is None:
            raise RuntimeError("no pipe")
        stdin.write(f"{n} {tokens} {spec_k} {repetition}\n")
        stdin.flush()
        return {name: float(value) for name, value in self._answer().items()}

    def end(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.wait()

    def _answer(self) -> dict[str, Any]:
        stdout = self._process.stdout
        while stdout is not None and (line := stdout.readline()):
            if line.startswith("{"):  # vLLM prints lines of its own
                answer: dict[str, Any] = json.loads(line)
                return answer
        raise RuntimeError(f"the {self.name} process ended: {self._log.read_text()[-2000:]}")


def serve(name: str) -> None:
    """Run as a worker: answer each line "n tokens look-ahead repetition" with a time."""
    if name == LIMIT:
        from scripts import bench_limit  # noqa: PLC0415 - torch: only this worker loads it

        bench_limit.serve(PAIR)
        return
    from inference.engine.vllm_engine import VllmEngine  # noqa: PLC0415 - only a worker loads it

    config = WORKERS[name]
    engine = VllmEngine(config, import_ms=0)
    codec, prompt = ReturnCodec(), golden_prompt()
    described = engine.describe()
    test = described.self_test
    chance = accepted_pm(test.mean_accepted, config.spec_k)
    print(
        json.dumps(
            {
                "passed": test.passed,
                "accepted_pm": chance,
                "model": described.model_digest,
                "versions": dict(described.versions),
            }
        ),
        flush=True,
    )
    for line in sys.stdin:
        n, tokens, spec_k, repetition = (int(word) for word in line.split())
        if spec_k == CHOSEN:
            spec_k = choose(most=config.spec_k, paths=n, tokens=tokens, accepted_pm=chance).drafts
        request = SampleRequest(
            request_id=f"{n}-{tokens}-{spec_k}-{repetition}",
            prompt_ids=prompt,
            n_tokens=tokens,
            seeds=trajectory_seeds(decision_seed(b"bench".ljust(32), f"{n}", repetition), n),
            spec_k=spec_k,
            allowed_range=(codec.bin_start, codec.bin_start + codec.n_bins),
            deadline_s=60.0,
            draft_first=True,
        )
        hits = engine.prompt_tokens_cached
        started, used = perf_counter(), process_time()
        engine.sample(request)
        took = {"ms": (perf_counter() - started) * 1000, "cpu_ms": (process_time() - used) * 1000}
        took["cached"] = (engine.prompt_tokens_cached - hits) / (n * len(prompt))
        print(json.dumps(took), flush=True)


def measure(repetitions: int) -> tuple[Found, dict[str, dict[str, Any]]]:
    """Run all workers in turn over all sizes."""
    found = Found()
    with tempfile.TemporaryDirectory() as folder:
        workers: dict[str, Worker] = {}
        said: dict[str, dict[str, Any]] = {}
        try:
            for name in (*WORKERS, LIMIT):  # one at a time: loading is heavy
                workers[name] = Worker(name, Path(folder))
                said[name] = workers[name].ready()
                if not said[name]["passed"]:
                    raise RuntimeError(f"{name}: {said[name]}")
                print(f"{name}: up", flush=True)
            for n in SIZES:
                _take_turns(found, workers, SERIES, n, TOKENS, repetitions)
                _first_tokens(found, workers, n, repetitions)
            pair = ((LIMIT, SPEC_K), ("table", CHOSEN))
            _take_turns(found, workers, pair, PATHS, BARS, repetitions)
        finally:
            for worker in workers.values():
                worker.end()
    return found, said


def _take_turns(
    found: Found,
    workers: dict[str, Worker],
    series: tuple[Series, ...],
    n: int,
    tokens: int,
    repetitions: int,
) -> None:
    """Time calls of n requests by each of the series in turn."""
    for repetition in range(WARM_UP + repetitions):
        for name, k in series:
            took = workers[name].time(n, tokens, k, repetition)
            if repetition >= WARM_UP:
                found.ms.setdefault((name, k, n, tokens), []).append(took["ms"])
                if "cpu_ms" in took:
                    found.cpu_ms.setdefault((name, k, n, tokens), []).append(took["cpu_ms"])
    print(f"{n} x {tokens}: done", flush=True)


def _first_tokens(found: Found, workers: dict[str, Worker], n: int, repetitions: int) -> None:
    """Time calls of n requests up to their first token, on a prompt that was just answered."""
    for repetition in range(repetitions):
        for name in FIRST_OF:
            took = workers[name].time(n, FIRST, SPEC_K, repetition)
            found.ms.setdefault((name, SPEC_K, n, FIRST), []).append(took["ms"])
            found.cached.setdefault((name, SPEC_K, n, FIRST), []).append(took["cached"])


def main() -> None:
    """Measure and write the report, or run as a worker."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--worker", choices=(*WORKERS, LIMIT))
    arguments.add_argument("--repetitions", type=int, default=12)
    arguments.add_argument("--quick", action="store_true", help="show that it works; no page")
    given = arguments.parse_args()
    if given.worker is not None:
        serve(given.worker)
        return
    repetitions = 2 if given.quick else given.repetitions
    found, said = measure(repetitions)
    with tempfile.TemporaryDirectory() as folder:
        twins = bench_twins.measure(PAIR, SPEC_K, max(2, repetitions // 3), Path(folder))
    page = report(found, said, repetitions, bench_twins.lines(twins))
    if not given.quick:
        REPORT.write_text(page)
    print(page)


if __name__ == "__main__":
    main()
