"""Measure what the news twin costs a decision: a part of `make bench`.

One engine child with capture, as a run has it. A call is what the walk waits for: the request, its
answer recomputed, its evidence condensed; with a twin, both. Calls with and without a twin take
turns, and each has a prompt of its own, so nothing but the twin's shared beginning is cached.
"""

import statistics
from itertools import count
from pathlib import Path
from time import perf_counter

from gateway.errors import NotReadyError
from gateway.installation.children.engine import EngineChild
from gateway.installation.children.engine_process import EngineChildConfig
from inference.codec import vocabulary as words
from inference.codec.codec import ReturnCodec
from inference.engine.port import EngineConfig, SampleRequest
from inference.engine.self_test import golden_prompt
from inference.speculation.condense import condense
from inference.speculation.rounds import Capture, QTable
from inference.speculation.seeds import decision_seed, trajectory_seeds
from inference.weights.registry import load_pair, load_table

SIZES = (1, 8, 32, 64, 128, 256)
BASE = 32
TOKENS = 10
BOUNDS = ((BASE, 2.0), (256, 12.0))
"""Longest time with a twin, of the time of `BASE` paths alone, by paths."""
SLOT = (words.TYPE_START + 6, words.LEAN_START + 5, words.AGE_START)  # macro, positive, strong, new
DEADLINE_S = 120.0
START_S = 300.0

TwinTimes = dict[tuple[int, bool], list[float]]


def measure(pair: Path, spec_k: int, repetitions: int, folder: Path) -> TwinTimes:
    """Return the times of calls, milliseconds, by paths and whether there was a twin.

    Raises:
        NotReadyError: the engine does not start.
    """
    engine = EngineConfig(model_dir=str(pair), spec_k=spec_k)
    child = EngineChild(EngineChildConfig(engine=engine, state_dir=folder))
    table, numbers, times = load_table(load_pair(pair)), count(), TwinTimes()
    child.start()
    try:
        if not child.wait_ready(START_S):
            raise NotReadyError(part="engine", state=child.refusal or child.state.value)
        for n in SIZES:
            for repetition in range(1 + repetitions):
                for twin in (False, True):
                    request, beside = _requests(n, next(numbers), spec_k)
                    ms = _timed(child, table, request, beside if twin else None)
                    if repetition:  # the first of each size is warm-up
                        times.setdefault((n, twin), []).append(ms)
            print(f"twins, n = {n}: done", flush=True)
    finally:
        child.stop()
    return times


def lines(times: TwinTimes) -> list[str]:
    """Return the section of the page."""
    base = statistics.median(times[BASE, False])
    found = [
        "",
        "## The news twin",
        "",
        f"Table drafter, capture on, {len(times[BASE, False])} calls each, which take turns, each",
        "with a prompt of its own. Median ms that a decision waits: sampled, checked, condensed.",
        "The ratio is the median of paired ratios, smallest and largest in brackets; the last is",
        f"in times of {BASE} paths without a twin.",
        "",
        f"| paths x bars | alone, ms | with twin, ms | with twin, times | in times of {BASE} |",
        "|---|---|---|---|---|",
    ]
    for n in SIZES:
        alone, both = times[n, False], times[n, True]
        ratios = sorted(b / a for a, b in zip(alone, both, strict=True))
        middle = statistics.median(both)
        ratio = f"{statistics.median(ratios):.2f} ({ratios[0]:.2f}-{ratios[-1]:.2f})"
        found.append(
            f"| {n} x {TOKENS} | {statistics.median(alone):.0f} | {middle:.0f} | {ratio} |"
            f" {middle / base:.1f} |"
        )
    said = []
    for n, bound in BOUNDS:
        factor = statistics.median(times[n, True]) / base
        word = "reached" if factor <= bound else "not reached"
        said.append(f"{n} paths with twin at most {bound:.0f} times: {factor:.2f}, {word}")
    return [*found, "", f"Bounds, of {BASE} paths alone: {'; '.join(said)}.", ""]


def _requests(n: int, number: int, spec_k: int) -> tuple[SampleRequest, SampleRequest]:
    """Return a request and its twin; the bars of its prompt are turned by `number` places."""
    codec, ids = ReturnCodec(), golden_prompt()
    head, tail = ids[: words.HEAD_LENGTH], ids[-words.TAIL_LENGTH :]
    bars = ids[words.HEAD_LENGTH : -words.TAIL_LENGTH]
    at = number % len(bars)
    start = (*head, *bars[at:], *bars[:at])
    request = SampleRequest(
        request_id=f"{number}",
        prompt_ids=(*start, *SLOT, *tail[len(SLOT) :]),
        n_tokens=TOKENS,
        seeds=trajectory_seeds(decision_seed(b"twins".ljust(32), f"{n}", number), n),
        spec_k=spec_k,
        allowed_range=(codec.bin_start, codec.bin_start + codec.n_bins),
        deadline_s=DEADLINE_S,
        draft_first=True,
    )
    twin = SampleRequest(
        request_id=f"{number}.news",
        prompt_ids=(*start, *tail),
        n_tokens=request.n_tokens,
        seeds=request.seeds,
        spec_k=spec_k,
        allowed_range=request.allowed_range,
        deadline_s=DEADLINE_S,
        draft_first=True,
    )
    return request, twin


def _timed(
    child: EngineChild, table: QTable, request: SampleRequest, twin: SampleRequest | None
) -> float:
    started = perf_counter()
    captures: list[Capture] = []
    if twin is None:
        captures.append(child.sample(request).capture)
    else:
        samples, beside = child.sample_beside(request, twin)
        if isinstance(beside, Exception):
            raise beside
        captures += [samples.capture, beside.capture]
    for capture in captures:
        condense(capture, table)
    return (perf_counter() - started) * 1000
