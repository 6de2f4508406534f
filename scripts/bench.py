"""Measure what speculation buys: `make bench` writes docs/measured/bench-engine.md.

One process per engine: plain vLLM, vLLM with our shared prompts but no drafter, each drafter, one
with capture, pair v2, and a compiled loop of the same weights. They take turns on the same
seeds, so a busy moment hits all of them and the ratios are paired. The figure is the wall time per
call of n requests.
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
from inference.speculation.look_ahead import accepted_pm, choose
from inference.speculation.rounds import DrafterKind
from inference.speculation.seeds import decision_seed, trajectory_seeds
from scripts import bench_twins

ROOT = Path(__file__).resolve().parent.parent
PAIR = ROOT / "inference" / "models" / "pair_v1"
SHIPPED = ROOT / "inference" / "models" / "pair_v2"
REPORT = ROOT / "docs" / "measured" / "bench-engine.md"
SIZES = (1, 8, 32)
TOKENS = 16
SPEC_K = 4
LONGEST = 8
PATHS, BARS = 64, 20  # as in `bench_limit`
WARM_UP = 3
LIMIT = "limit"
CAPTURED = "captured"
SHIPPED_NONE, SHIPPED_TABLE = "shipped none", "shipped table"
WORKERS = {
    "none": EngineConfig(
        model_dir=str(PAIR), drafter=DrafterKind.NONE, capture=False, share_prompts=False
    ),
    "shared": EngineConfig(model_dir=str(PAIR), drafter=DrafterKind.NONE, capture=False),
    "table": EngineConfig(model_dir=str(PAIR), spec_k=LONGEST, capture=False),
    "network": EngineConfig(
        model_dir=str(PAIR), drafter=DrafterKind.NETWORK, spec_k=SPEC_K, capture=False
    ),
    CAPTURED: EngineConfig(model_dir=str(PAIR), spec_k=LONGEST),
    SHIPPED_NONE: EngineConfig(
        model_dir=str(SHIPPED), drafter=DrafterKind.NONE, capture=False, share_prompts=False
    ),
    SHIPPED_TABLE: EngineConfig(model_dir=str(SHIPPED), spec_k=LONGEST, capture=False),
}
CHOSEN = 0
"""Stands for the look-ahead that is chosen for the batch."""
SERIES = (
    ("none", SPEC_K),
    ("shared", SPEC_K),
    ("table", CHOSEN),
    ("table", SPEC_K),
    ("network", SPEC_K),
    (CAPTURED, CHOSEN),
    (SHIPPED_NONE, SPEC_K),
    (SHIPPED_TABLE, CHOSEN),
)
NEEDED = {1: 3.0, 8: 2.0, 32: 1.4}
SHIPPED_BAR, LIMIT_BAR, VARIATION_BAR = 0.95, 3.0, 0.30

Series = tuple[str, int]
Times = dict[tuple[str, int, int], list[float]]  # by worker, look-ahead and requests


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

    def time_ms(self, n: int, tokens: int, spec_k: int, repetition: int) -> float:
        """Time one call of n requests."""
        stdin = self._process.stdin
        if stdin is None:
            raise RuntimeError("no pipe")
        stdin.write(f"{n} {tokens} {spec_k} {repetition}\n")
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
        started = perf_counter()
        engine.sample(request)
        print(json.dumps({"ms": (perf_counter() - started) * 1000}), flush=True)


def measure(repetitions: int) -> tuple[Times, dict[str, dict[str, Any]]]:
    """Run all workers in turn over all sizes."""
    times: Times = {}
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
                _take_turns(times, workers, SERIES, n, TOKENS, repetitions)
            pair = ((LIMIT, SPEC_K), ("table", CHOSEN))
            _take_turns(times, workers, pair, PATHS, BARS, repetitions)
        finally:
            for worker in workers.values():
                worker.end()
    return times, said


def _take_turns(
    times: Times,
    workers: dict[str, Worker],
    series: tuple[Series, ...],
    n: int,
    tokens: int,
    repetitions: int,
) -> None:
    """Time calls of n requests by each of the series in turn."""
    for repetition in range(WARM_UP + repetitions):
        for name, k in series:
            ms = workers[name].time_ms(n, tokens, k, repetition)
            if repetition >= WARM_UP:
                times.setdefault((name, k, n), []).append(ms)
    print(f"{n} x {tokens}: done", flush=True)


def report(
    times: Times, said: dict[str, dict[str, Any]], repetitions: int, twins: list[str]
) -> str:
    """Return the page."""
    chance = said["table"]["accepted_pm"]
    lines = [
        "# Speculation, measured",
        "",
        "Generated by `make bench`; do not edit.",
        "",
        f"{TOKENS} tokens per trajectory, temperature 1, {repetitions} calls each, separate",
        "processes that take turns, capture off. Median ms per call of n requests. Times faster",
        "than plain vLLM: the median of the paired ratios, 5 % and 95 % in brackets. Plain vLLM",
        "shares whole blocks of a prompt only. The table's look-ahead is chosen for each request,",
        f"of at most {LONGEST}.",
        "",
        (
            "| n | plain vLLM, ms | look-ahead | table, ms | table, times faster | bar |"
            " network of 4, ms | network, times faster |"
        ),
        "|---|---|---|---|---|---|---|---|",
    ]
    for n in SIZES:
        found = statistics.median(_ratios(times, ("table", CHOSEN), n))
        word = "reached" if found >= NEEDED[n] else "not reached"
        drafts = choose(most=LONGEST, paths=n, tokens=TOKENS, accepted_pm=chance).drafts
        cells = [str(n), _median(times, ("none", SPEC_K), n), str(drafts)]
        cells += [_median(times, ("table", CHOSEN), n), _ratio(times, ("table", CHOSEN), n)]
        cells += [f"{NEEDED[n]:g}: {word}"]
        cells += [_median(times, ("network", SPEC_K), n), _ratio(times, ("network", SPEC_K), n)]
        lines.append("| " + " | ".join(cells) + " |")
    versions = ", ".join(f"{k} {v}" for k, v in said["table"]["versions"].items())
    lines += [
        "",
        f"The table with a look-ahead of {SPEC_K}: {_row(times, ('table', SPEC_K))}.",
        (
            "Our engine without a drafter, its trajectories sharing the prompt:"
            f" {_row(times, ('shared', SPEC_K))}."
        ),
        "",
        (
            "Time with capture over time without, table:"
            f" {_row(times, ('table', CHOSEN), over=(CAPTURED, CHOSEN))}."
        ),
        "",
        *_shipped(times),
        *_limit(times, said[LIMIT]["threads"]),
        *_variation(),
        f"Chance that one draft of the table is accepted (self-test): {chance / 10:.1f} %.",
        *twins,
        f"Model {said['table']['model'][:16]}, {_processor()}, {os.cpu_count()} cores; {versions}.",
        "",
    ]
    return "\n".join(lines)


def _shipped(times: Times) -> list[str]:
    worst = min(
        statistics.median(_ratios(times, (SHIPPED_TABLE, CHOSEN), n, over=(SHIPPED_NONE, SPEC_K)))
        for n in SIZES
    )
    word = "reached" if worst >= SHIPPED_BAR else "not reached"
    return [
        f"All of the above is {PAIR.name}, whose target is a trained network of 12 layers. The",
        f"table alone, {SHIPPED.name}, has one layer and drafts with its target's own rows; times",
        (
            "faster than plain vLLM with it:"
            f" {_row(times, (SHIPPED_TABLE, CHOSEN), over=(SHIPPED_NONE, SPEC_K))}"
            f" (bar {SHIPPED_BAR}: {word})."
        ),
        "",
    ]


def _limit(times: Times, threads: int) -> list[str]:
    engine, loop = times["table", CHOSEN, PATHS], times[LIMIT, SPEC_K, PATHS]
    found = statistics.median(a / b for a, b in zip(engine, loop, strict=True))
    word = "reached" if found <= LIMIT_BAR else "not reached"
    return [
        (
            f"{PATHS} paths of {BARS} bars: {statistics.median(engine):.0f} ms with the table,"
            f" {statistics.median(loop):.0f} ms in a compiled loop"
        ),
        (
            f"of the same weights on {threads} threads, keys and values of fixed size,"
            " nothing else:"
            f" {found:.2f} times (bar {LIMIT_BAR:g}: {word})."
        ),
        "",
    ]


def _variation() -> list[str]:
    """Return the drafters' total variation from the target, as the trainer measured it."""
    figures = json.loads((PAIR / "manifest.json").read_text())["acceptance"]
    network, row = (1.0 - figures[name]["per_token"] for name in ("network", "unconditional row"))
    less = 1.0 - network / row
    word = "reached" if less >= VARIATION_BAR else "not reached"
    return [
        (
            f"Total variation from the target, mean over {figures['continuations']} held-out"
            " continuations (manifest):"
        ),
        (
            f"network {network:.4f}, unconditional row {row:.4f}, {100 * less:.0f} % less"
            f" (bar {100 * VARIATION_BAR:.0f} %: {word})."
        ),
        "",
    ]


def _ratios(times: Times, series: Series, n: int, over: Series = ("none", SPEC_K)) -> list[float]:
    return [a / b for a, b in zip(times[*over, n], times[*series, n], strict=True)]


def _ratio(times: Times, series: Series, n: int, over: Series = ("none", SPEC_K)) -> str:
    ratios = sorted(_ratios(times, series, n, over))
    low, high = ratios[len(ratios) // 20], ratios[-1 - len(ratios) // 20]
    return f"{statistics.median(ratios):.2f} ({low:.2f}-{high:.2f})"


def _row(times: Times, series: Series, over: Series = ("none", SPEC_K)) -> str:
    return ", ".join(f"n = {n}: {_ratio(times, series, n, over)}" for n in SIZES)


def _median(times: Times, series: Series, n: int) -> str:
    return f"{statistics.median(times[*series, n]):.0f}"


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
    arguments.add_argument("--worker", choices=(*WORKERS, LIMIT))
    arguments.add_argument("--repetitions", type=int, default=12)
    arguments.add_argument("--quick", action="store_true", help="show that it works; no page")
    given = arguments.parse_args()
    if given.worker is not None:
        serve(given.worker)
        return
    repetitions = 2 if given.quick else given.repetitions
    times, said = measure(repetitions)
    with tempfile.TemporaryDirectory() as folder:
        twins = bench_twins.measure(PAIR, SPEC_K, max(2, repetitions // 3), Path(folder))
    page = report(times, said, repetitions, bench_twins.lines(twins))
    if not given.quick:
        REPORT.write_text(page)
    print(page)


if __name__ == "__main__":
    main()
