"""Measure what speculation buys: `make bench` writes docs/measured/bench-engine.md.

One engine process per drafter, one without a drafter and one with capture run at once. They take
turns on the same seeds, so a busy moment hits all of them and the ratios are paired. Only the last
captures. The figure is the wall time per call of n requests.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

from gateway.installation.children.engine_process import EngineChildConfig, child_environment
from inference.codec.codec import ReturnCodec
from inference.engine.port import EngineConfig, SampleRequest
from inference.engine.self_test import golden_prompt
from inference.speculation.rounds import DrafterKind
from inference.speculation.seeds import decision_seed, trajectory_seeds
from inference.speculation.totals import totals
from scripts import bench_twins

ROOT = Path(__file__).resolve().parent.parent
PAIR = ROOT / "inference" / "models" / "pair_v1"
SHIPPED = ROOT / "inference" / "models" / "pair_v2"
REPORT = ROOT / "docs" / "measured" / "bench-engine.md"
SIZES = (1, 8, 32)
TOKENS = 16
SPEC_K = 4
WARM_UP = 3
LOOK_AHEADS = (6, 8)
CAPTURED = "table, captured"
SHIPPED_NONE, SHIPPED_TABLE = "shipped, none", "shipped, table"
WORKERS = {
    "none": (DrafterKind.NONE, False, SPEC_K, PAIR),
    "table": (DrafterKind.TABLE, False, SPEC_K, PAIR),
    **{f"table, k = {k}": (DrafterKind.TABLE, False, k, PAIR) for k in LOOK_AHEADS},
    "network": (DrafterKind.NETWORK, False, SPEC_K, PAIR),
    CAPTURED: (DrafterKind.TABLE, True, SPEC_K, PAIR),
    SHIPPED_NONE: (DrafterKind.NONE, False, SPEC_K, SHIPPED),
    SHIPPED_TABLE: (DrafterKind.TABLE, False, SPEC_K, SHIPPED),
}

Times = dict[tuple[str, int], list[float]]


class Worker:
    """One engine process that times requests on command."""

    def __init__(self, name: str, state: Path) -> None:
        kind, capture, k, pair = WORKERS[name]
        engine = EngineConfig(model_dir=str(pair), drafter=kind, spec_k=k, capture=capture)
        config = EngineChildConfig(engine=engine, state_dir=state)
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
        """Wait until the engine is up; return its description."""
        return self._answer()

    def time_ms(self, n: int, repetition: int) -> float:
        """Time one call of n requests."""
        stdin = self._process.stdin
        if stdin is None:
            raise RuntimeError("no pipe")
        stdin.write(f"{n} {repetition}\n")
        stdin.flush()
        return float(self._answer()["ms"])

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
        raise RuntimeError(f"the {self.name} engine ended: {self._log.read_text()[-2000:]}")


def serve(name: str) -> None:
    """Run as a worker: answer each line "n repetition" with a time."""
    from inference.engine.vllm_engine import VllmEngine  # noqa: PLC0415 - only a worker loads it

    kind, capture, k, pair = WORKERS[name]
    config = EngineConfig(model_dir=str(pair), drafter=kind, spec_k=k, capture=capture)
    engine = VllmEngine(config, import_ms=0)
    codec, prompt = ReturnCodec(), golden_prompt()
    bins = (codec.bin_start, codec.bin_start + codec.n_bins)
    described = engine.describe()
    test = described.self_test
    print(
        json.dumps(
            {
                "passed": test.passed,
                "accepted": test.mean_accepted,
                "model": described.model_digest,
                "versions": dict(described.versions),
            }
        ),
        flush=True,
    )
    for line in sys.stdin:
        n, repetition = (int(word) for word in line.split())
        seed = decision_seed(b"bench".ljust(32), f"{n}", repetition)
        request = SampleRequest(
            request_id=f"{n}-{repetition}",
            prompt_ids=prompt,
            n_tokens=TOKENS,
            seeds=trajectory_seeds(seed, n),
            spec_k=k,
            allowed_range=bins,
            deadline_s=60.0,
            draft_first=True,
        )
        started = perf_counter()
        samples = engine.sample(request)
        elapsed = (perf_counter() - started) * 1000
        counts = totals(samples.capture)
        print(json.dumps({"ms": elapsed, "accepted": counts.mean_accepted}), flush=True)


def measure(repetitions: int) -> tuple[Times, dict[str, dict[str, Any]]]:
    """Run all workers in turn over all sizes."""
    times: Times = {}
    with tempfile.TemporaryDirectory() as folder:
        workers = []
        said: dict[str, dict[str, Any]] = {}
        try:
            for name in WORKERS:  # one at a time: loading is heavy
                workers.append(Worker(name, Path(folder)))
                said[name] = workers[-1].ready()
                print(f"{name}: up", flush=True)
            for n in SIZES:
                for repetition in range(WARM_UP + repetitions):
                    for worker in workers:
                        ms = worker.time_ms(n, repetition)
                        if repetition >= WARM_UP:
                            times.setdefault((worker.name, n), []).append(ms)
                print(f"n = {n}: done", flush=True)
        finally:
            for worker in workers:
                worker.end()
    return times, said


def report(
    times: Times, said: dict[str, dict[str, Any]], repetitions: int, twins: list[str]
) -> str:
    """Return the page."""
    lines = [
        "# Speculation, measured",
        "",
        "Generated by `make bench`; do not edit.",
        "",
        f"{TOKENS} tokens per trajectory, k = {SPEC_K}, temperature 1, {repetitions} calls each,",
        "separate processes that take turns, capture off. Median ms per call of n requests; the",
        "ratio is the median of the paired ratios plain / with drafter, 5 % and 95 % in brackets.",
        "",
        "| n | none, ms | table, ms | table, times faster | network, ms | network, times faster |",
        "|---|---|---|---|---|---|",
    ]
    for n in SIZES:
        cells = [str(n), f"{statistics.median(times['none', n]):.0f}"]
        for name in ("table", "network"):
            cells += [f"{statistics.median(times[name, n]):.0f}", _ratio(times, name, n)]
        lines.append("| " + " | ".join(cells) + " |")
    capture = ", ".join(
        f"n = {n}: {statistics.median(_quotients(times, CAPTURED, 'table', n)):.2f}" for n in SIZES
    )
    deeper = "; ".join(
        f"k = {k}: " + ", ".join(f"n = {n} {_ratio(times, f'table, k = {k}', n)}" for n in SIZES)
        for k in LOOK_AHEADS
    )
    shipped = ", ".join(
        f"n = {n} {statistics.median(times[SHIPPED_TABLE, n]):.0f} ms, "
        + _ratio(times, SHIPPED_TABLE, n, plain=SHIPPED_NONE)
        for n in SIZES
    )
    accepted = ", ".join(f"{name} {said[name]['accepted']:.2f}" for name in ("table", "network"))
    versions = ", ".join(f"{k} {v}" for k, v in said["table"]["versions"].items())
    model = said["table"]["model"][:16]
    lines += [
        "",
        f"Time with capture over time without, table: {capture}.",
        "",
        f"The table with a longer look-ahead, times faster than none: {deeper}.",
        "",
        f"All of the above is {PAIR.name}, whose target is a trained network. The default pair,",
        f"{SHIPPED.name}, has one layer and drafts with its target's own rows; its table drafter,",
        f"times faster than it without one: {shipped}.",
        "",
        f"Mean accepted of {SPEC_K} (self-test, golden prompt): {accepted}.",
        *twins,
        f"Model {model}, {_processor()}, {os.cpu_count()} cores; {versions}.",
        "",
    ]
    return "\n".join(lines)


def _quotients(times: Times, over: str, under: str, n: int) -> list[float]:
    return [a / b for a, b in zip(times[over, n], times[under, n], strict=True)]


def _ratio(times: Times, name: str, n: int, *, plain: str = "none") -> str:
    ratios = sorted(_quotients(times, plain, name, n))
    low, high = ratios[len(ratios) // 20], ratios[-1 - len(ratios) // 20]
    return f"{statistics.median(ratios):.2f} ({low:.2f}-{high:.2f})"


def _processor() -> str:
    path = Path("/proc/cpuinfo")
    if path.exists():
        for line in path.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown processor"


def main() -> None:
    """Measure and write the report, or run as a worker."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--worker", choices=tuple(WORKERS))
    arguments.add_argument("--repetitions", type=int, default=20)
    given = arguments.parse_args()
    if given.worker is not None:
        serve(given.worker)
        return
    times, said = measure(given.repetitions)
    with tempfile.TemporaryDirectory() as folder:
        twins = bench_twins.measure(PAIR, SPEC_K, max(3, given.repetitions // 3), Path(folder))
    page = report(times, said, given.repetitions, bench_twins.lines(twins))
    REPORT.write_text(page)
    print(page)


if __name__ == "__main__":
    main()
