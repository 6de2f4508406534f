"""Measure the direct sampler: `make bench-direct` writes docs/measured/direct.md.

CPU time of whole forecasts of the shipped pair on real bars, the size of their captures, and
whether its tokens have the law of the real engine's: a chi-square of two samples, state by state.
"""

from __future__ import annotations

import argparse
import gc
import random
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import process_time_ns
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import chdtrc

from gateway.errors import NotReadyError
from gateway.feeds.scales import Scales
from gateway.feeds.sessions import load_playback
from gateway.installation.children.engine import EngineChild
from gateway.installation.children.engine_process import EngineChildConfig
from gateway.telemetry.console import Progress
from inference.codec.scaled import codec_named
from inference.engine.port import EngineConfig, SampleRequest, Samples
from inference.forecast.direct import DirectSample, judge_direct, sample_direct
from inference.speculation.direct_bytes import decode_direct
from inference.speculation.pooled import pooled
from inference.speculation.rounds import DrafterKind
from inference.speculation.seeds import decision_seed, prompt_label, trajectory_seeds
from inference.weights.by_state import state_gap
from inference.weights.registry import load_pair, load_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from inference.codec.prompt import Prompt
    from inference.snapshot import Snapshot

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "measured" / "direct.md"
PAIR = ROOT / "inference" / "models" / "pair_v4"
SPEC_K = 4
WARM_UP = 5
P50_BAR_MS, SIZE_BAR, MIN_P = 60.0, 8_000, 0.001
MAX_GAP = 1e-5
DEADLINE_S, START_S = 120.0, 300.0
SHOWN = Progress(sys.stderr)


@dataclass(frozen=True)
class Size:
    """How much is sampled: of each forecast, and in all."""

    paths: int = 1_024
    horizon: int = 10
    forecasts: int = 300
    tokens: int = 500_000
    bent: int = 200  # one token in so many is bent


Claim = tuple[str, str, bool]
"""What is claimed, what was measured, whether it holds."""
Counts = dict[int, "npt.NDArray[np.int64]"]
"""Tokens by state: how many fell into each bin."""


@dataclass(slots=True)
class Law:
    """What was seen of both samplers."""

    direct: Counts = field(default_factory=dict)
    engine: Counts = field(default_factory=dict)
    first_gap: float = 0.0  # largest gap of the engine's first rows from the table's
    same_bits: int = 0
    prompts: int = 0


class Bench:
    """The shipped pair, and prompts of real bars without news."""

    def __init__(self, size: Size) -> None:
        self.size = size
        self.pair = load_pair(PAIR)
        self.codec, self.table = codec_named(self.pair.codec_digest), load_table(self.pair)
        playback = replace(load_playback(), scales=Scales())
        self.cases: list[tuple[Snapshot, Prompt]] = []
        for session in playback.sessions(size.forecasts):
            SHOWN.show("prompts", len(self.cases), size.forecasts)
            snapshot = replace(session.snapshot, news=())
            self.cases.append((snapshot, self.codec.encode(snapshot)))
        # Hundreds of histories at once are this program's: no forecast pays for walking over them.
        gc.collect()
        gc.freeze()

    def seed(self, prompt: Prompt) -> bytes:
        """Return a forecast's seed."""
        return decision_seed(b"direct".ljust(32), prompt_label(prompt.token_ids), 0)

    def direct(self, snapshot: Snapshot, prompt: Prompt) -> DirectSample:
        """Return one forecast with its capture."""
        return sample_direct(
            codec=self.codec,
            prompt=prompt,
            snapshot=snapshot,
            seed=self.seed(prompt),
            plan=self.size,
            table=self.table,
            model_digest=self.pair.manifest_digest,
        )

    def times(self) -> tuple[list[float], int]:
        """Return the CPU times of forecasts, milliseconds, sorted, and the largest capture."""
        found, largest = [], 0
        for number, (snapshot, prompt) in enumerate(self.cases):
            SHOWN.show("direct", number, len(self.cases))
            began = process_time_ns()
            made = self.direct(snapshot, prompt)
            found.append((process_time_ns() - began) / 1e6)
            largest = max(largest, len(made.capture))
            if number == 0 and judge_direct(
                made.capture, codec=self.codec, prompt=prompt, table=self.table
            ):
                raise NotReadyError(part="direct sampler", state="a capture that does not follow")
        return sorted(found[WARM_UP:]), largest

    def law(self, child: EngineChild) -> Law:
        """Return what both samplers draw from the same prompts."""
        found, each = Law(), self.size.paths * self.size.horizon
        rounds = -(-self.size.tokens // each)
        for number in range(rounds):
            SHOWN.show("engine", number, rounds)
            snapshot, prompt = self.cases[number * len(self.cases) // rounds]
            own = self.direct(snapshot, prompt)
            self._count(found.direct, prompt, [t.tokens for t in own.sampled.trajectories])
            answer = child.sample(self._request(number, prompt))
            self._count(found.engine, prompt, [path.tokens for path in answer.paths])
            self._compare(found, answer, decode_direct(own.capture).first_row)
        return found

    def _compare(self, found: Law, answer: Samples, first: Sequence[float]) -> None:
        gap = float(np.abs(np.array(answer.first_row) - np.array(first)).max())
        found.first_gap = max(found.first_gap, gap)
        found.same_bits += tuple(answer.first_row) == tuple(first)
        found.prompts += 1

    def _request(self, number: int, prompt: Prompt) -> SampleRequest:
        return SampleRequest(
            request_id=f"direct-{number}",
            prompt_ids=prompt.token_ids,
            n_tokens=self.size.horizon,
            seeds=trajectory_seeds(self.seed(prompt), self.size.paths),
            spec_k=SPEC_K,
            allowed_range=(self.codec.bin_start, self.codec.bin_start + self.codec.n_bins),
            deadline_s=DEADLINE_S,
            draft_first=True,
        )

    def _count(self, counts: Counts, prompt: Prompt, paths: Iterable[Sequence[int]]) -> None:
        base = self.codec.table_base(prompt.token_ids)
        for path in paths:
            state = self.codec.table_state(prompt.token_ids)
            for token in path:
                row = counts.setdefault(state, np.zeros(self.codec.n_bins, np.int64))
                row[token - self.codec.bin_start] += 1
                state = self.codec.table_step(base, token)


def bent(counts: Counts, one_in: int, *, likeliest: bool) -> Counts:
    """Return counts in which one token in so many fell into its row's likeliest bin, or any."""
    draw, found = random.Random(one_in), Counts()  # noqa: S311 - which tokens are bent, not keys
    for state, row in counts.items():
        moved = row.copy()
        for bin_, count in enumerate(row.tolist()):
            for _ in range(sum(draw.randrange(one_in) == 0 for _ in range(count))):
                moved[bin_] -= 1
                moved[int(row.argmax()) if likeliest else draw.randrange(len(row))] += 1
        found[state] = moved
    return found


def told(found: Law, one_in: int) -> list[Claim]:
    """Return the claims of the law; the teeth are engine tokens of which one in so many is bent."""
    statistic, degrees = pooled(found.direct, found.engine)
    p, n = float(chdtrc(degrees, statistic)), tokens_in(found.engine)
    claim = f"chi-square of direct and engine tokens, pooled over {len(found.engine)} states"
    text = f"{statistic:.1f}, {degrees} degrees of freedom, p {p:.2g}, {n:,} tokens each"
    rows = [(f"{claim}: p at least {MIN_P}", text, p >= MIN_P)]
    for name, likeliest in (("the likeliest bin", True), ("a bin out of all", False)):
        statistic, degrees = pooled(found.direct, bent(found.engine, one_in, likeliest=likeliest))
        p = float(chdtrc(degrees, statistic))
        claim = f"teeth: one engine token in {one_in} is {name}; caught below p {MIN_P}"
        rows.append((claim, f"{statistic:.1f}, p {p:.2g}", p < MIN_P))
    same = f"{found.same_bits} of {found.prompts} to the bit"
    claim = f"the engine's first rows are the table's rows, within {MAX_GAP:.0e}"
    text = f"largest gap {found.first_gap:.1e}; {same}"
    return [*rows, (claim, text, found.first_gap <= MAX_GAP)]


def tokens_in(counts: Counts) -> int:
    """Return how many tokens were counted."""
    return sum(int(row.sum()) for row in counts.values())


def cost(bench: Bench) -> list[Claim]:
    """Return the claims of time, size and rows."""
    times, largest = bench.times()
    p50, p99 = (times[min(len(times) - 1, int(level * len(times)))] for level in (0.5, 0.99))
    gap = state_gap(bench.pair)
    time = f"CPU time of a forecast with its capture, p50 at most {P50_BAR_MS:.0f} ms"
    text = f"p50 {p50:.1f} ms, p99 {p99:.1f} ms, {len(times)} forecasts"
    size = f"largest capture, at most {SIZE_BAR:,} bytes"
    rows = "the target's rows, from its weights, are the table's, for every class, frequency, ratio"
    return [
        (time, text, p50 <= P50_BAR_MS),
        (size, f"{largest:,} bytes", largest <= SIZE_BAR),
        (f"{rows}, within {MAX_GAP:.0e}", f"largest gap {gap:.1e}", gap <= MAX_GAP),
    ]


def page(bench: Bench, rows: Sequence[Claim], commit: str) -> str:
    """Return the page."""
    size, pair, n = bench.size, bench.pair, len(bench.cases)
    lines = [f"| {what} | {text} | {'holds' if ok else 'fails'} |" for what, text, ok in rows]
    table = "\n".join(lines)
    return f"""# The direct sampler, measured

Written by `make bench-direct`; do not edit.

Pair {pair.model_id} (manifest {pair.manifest_digest[:16]}), {size.paths:,} paths of {size.horizon}
bars, commit {commit}; no policy acts here. Prompts are {n} decisions of the playback (two indices,
daily bars of the `arch` package's data) without their news. CPU time is this process's, from the
prompt to the forecast with its paths and the bytes of its capture; other work ran beside it. The
engine is the real one, in its child, with the table drafter, k = {SPEC_K}.

| claim | measured | |
|---|---|---|
{table}
"""


def with_engine(bench: Bench) -> Law:
    """Return what both samplers draw, with an engine of its own."""
    engine = EngineConfig(model_dir=str(PAIR), drafter=DrafterKind.TABLE, spec_k=SPEC_K)
    with tempfile.TemporaryDirectory() as folder:
        child = EngineChild(EngineChildConfig(engine=engine, state_dir=Path(folder)))
        child.start()
        try:
            if not child.wait_ready(START_S):
                raise NotReadyError(part="engine", state=child.refusal or child.state.value)
            return bench.law(child)
        finally:
            child.stop()


def main() -> int:
    """Measure and write the page; exit 1 when a line of it fails."""
    arguments = argparse.ArgumentParser(prog="python -m scripts.bench_direct")
    arguments.add_argument("--quick", action="store_true", help="few forecasts; writes no page")
    arguments.add_argument("--no-engine", action="store_true", help="times only; writes no page")
    given = arguments.parse_args()
    bench = Bench(Size(forecasts=20, tokens=20_000, bent=10) if given.quick else Size())
    rows = cost(bench)
    if not given.no_engine:
        rows += told(with_engine(bench), bench.size.bent)
    head = ["git", "-C", str(ROOT), "rev-parse", "--short=8", "HEAD"]
    commit = subprocess.run(head, capture_output=True, text=True, check=False).stdout.strip()
    text = page(bench, rows, commit or "unknown")
    print(text)
    if not given.quick and not given.no_engine:
        PAGE.write_text(text)
    return 0 if all(good for _, _, good in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
