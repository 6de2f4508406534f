"""The start-up self-test: an engine that samples wrongly must not serve.

Four checks on a fixed prompt with fixed seeds:
    1. Sampling parameters reach the drafts unchanged (`sampling_fix.py`).
    2. Tokens at speculated positions follow the target's own rows: each token's place in its row,
       from likely to unlikely bins, is then uniform (chi-square over 16 equal cells). And drafts
       are accepted as often as sum(min(p, q)) says.
    3. Greedy decoding gives the same tokens with and without drafts.
    4. The target's rows are those of the weights, computed again in float64 (`teacher.py`), after a
       short prompt and after a long one: the engine's arithmetic can be wrong for one range of
       positions only (`vector_kernels.py`).

Low acceptance alone is not a fault: a bad drafter is slow, not wrong.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import erfc, exp, inf, isfinite, pi, sqrt
from time import perf_counter

import numpy as np

from inference.codec.codec import ReturnCodec
from inference.engine.flight import ROW_TOLERANCE, Sighting, Witness
from inference.engine.port import SampleRequest, Samples, SelfTest
from inference.snapshot import AssetClass, Bar, Frequency, Snapshot
from inference.speculation.rounds import row_values
from inference.speculation.seeds import Purpose, token_draw, trajectory_seeds
from inference.speculation.totals import totals
from inference.weights.teacher import Doubles

CELLS = 16
MIN_P_VALUE = 1e-6
MAX_ACCEPT_Z = 5.0
MIN_POSITIONS = 300
MAX_WEIGHTS_GAP = 5e-6
"""Largest accepted gap of a sum of probabilities from the weights'; float32 alone gives 1e-6,
a cosine of low accuracy 5e-5."""
_SEQUENCES = 160
_TOKENS = 9
_GREEDY_TOKENS = 12
_COMPARED = 2  # trajectories whose rows are computed again
_LONG_PROMPT = 300  # tokens: past the middle of the table of positions
_TIE = 1e-3
_NOT_FINITE = -1.0
_DAY_US = 86_400_000_000
RETURN_BINS = (ReturnCodec.bin_start, ReturnCodec.bin_start + ReturnCodec.n_bins)
_SEED = hashlib.sha256(b"countersign/self-test/1").digest()


RowsOf = Callable[[Sequence[int], Sequence[Sequence[int]], slice], Sequence[Doubles]]
"""Rows before each token of each answer, `Teacher.rows`: (prompt, answers, bins)."""


@dataclass(slots=True)
class Sightings:
    """Counts over the tokens that the witness gets."""

    cells: list[int] = field(default_factory=lambda: [0] * CELLS)
    expected_accepts: float = 0.0
    accept_variance: float = 0.0
    accepts: int = 0
    row_error: float = 0.0  # largest gap between a row used and the target's own

    def see(self, sighting: Sighting) -> None:
        """Check one row; count where its token fell, unless a prompt's own pass drew it."""
        gap = float(np.abs(sighting.used - sighting.target).max())
        self.row_error = max(self.row_error, gap) if gap >= 0.0 else float("inf")
        if sighting.position == 0 and sighting.draft is None:
            return
        # In this order of bins a wrong temperature moves every token the same way.
        mass = sighting.target.astype(np.float64)
        own = mass[sighting.bin]
        ranks = np.arange(len(mass))
        before = (mass > own) | ((mass == own) & (ranks < sighting.bin))
        spread = token_draw(sighting.seed, Purpose.SELF_TEST, sighting.position)
        place = float((mass[before].sum() + spread * own) / mass.sum())
        # NaN must count against the engine, not stop the count.
        cell = int(place * CELLS) if 0.0 <= place < 1.0 else 0
        self.cells[cell] += 1
        if sighting.draft is not None:
            chance = float(np.minimum(sighting.target, sighting.draft).sum())
            self.expected_accepts += chance
            self.accept_variance += chance * (1.0 - chance)
            self.accepts += sighting.accepted

    @property
    def positions(self) -> int:
        """Tokens counted."""
        return sum(self.cells)

    @property
    def chi_square(self) -> float:
        """Pearson's statistic for equal cells, CELLS - 1 degrees of freedom."""
        expected = self.positions / CELLS
        return sum((n - expected) ** 2 for n in self.cells) / expected if expected else 0.0

    @property
    def accept_z(self) -> float:
        """Accepted drafts less their expectation, in standard deviations."""
        spread = sqrt(self.accept_variance)
        return (self.accepts - self.expected_accepts) / spread if spread > 0.0 else 0.0


def run_self_test(  # noqa: PLR0913 - what an engine and its pair have of their own
    sample: Callable[[SampleRequest, Witness | None], Samples],
    *,
    spec_k: int,
    expansion_is_right: Callable[[], bool],
    weights: RowsOf,
    prompts: Sequence[tuple[int, ...]] = (),
    bins: tuple[int, int] = RETURN_BINS,
    weights_gap_max: float = MAX_WEIGHTS_GAP,
    deadline_s: float = 60.0,
) -> SelfTest:
    """Return the result of the four checks; none of their answers may take above `deadline_s`.

    `sample` gives every token to a witness, which replaces the engine's own check of the rows;
    `weights` computes the target's rows by a second implementation. A codec of text has prompts,
    symbols and a tolerance of its own.
    """
    started = perf_counter()
    prompts = prompts or _prompts()
    asked = _Tested(prompt=prompts[0], bins=bins, spec_k=spec_k, deadline_s=deadline_s)
    sightings = Sightings()
    samples = sample(asked.request("law", _SEQUENCES, _TOKENS), sightings.see)
    p_value = chi_square_tail(sightings.chi_square, CELLS - 1)
    row_error = sightings.row_error
    weights_gap = max(_weights_gap(sample, weights, replace(asked, prompt=p)) for p in prompts)
    faults = [
        text
        for text, bad in (
            ("sampling parameters are not carried to the drafts", not expansion_is_right()),
            (f"rows differ from the target's by {row_error:.1e}", not row_error <= ROW_TOLERANCE),
            (
                f"sums of rows differ from the weights' by {weights_gap:.1e}",
                not weights_gap <= weights_gap_max,
            ),
            (f"tokens do not follow the target (p {p_value:.1e})", not p_value >= MIN_P_VALUE),
            (
                f"acceptance is {sightings.accept_z:.1f} standard deviations off",
                not abs(sightings.accept_z) <= MAX_ACCEPT_Z,
            ),
            (f"only {sightings.positions} positions", sightings.positions < MIN_POSITIONS),
            ("greedy tokens differ with drafts", spec_k > 0 and not _greedy_equal(sample, asked)),
        )
        if bad
    ]
    return SelfTest(
        passed=not faults,
        detail="; ".join(faults) or "ok",
        positions=sightings.positions,
        chi_square=_finite(sightings.chi_square),
        p_value=_finite(p_value),
        row_error=_finite(row_error),
        weights_gap=_finite(weights_gap),
        mean_accepted=totals(samples.capture).mean_accepted,
        elapsed_ms=round((perf_counter() - started) * 1000),
    )


def golden_prompt() -> tuple[int, ...]:
    """Return the fixed prompt: 200 daily bars of a made-up index without news."""
    return ReturnCodec().encode(golden_snapshot()).token_ids


def golden_snapshot() -> Snapshot:
    """Return the prompt's bars; their moves come from a hash."""
    close = 1_000_000
    bars = []
    for i in range(200):
        digest = hashlib.sha256(b"countersign/golden-bar/1" + i.to_bytes(4, "big")).digest()
        opened = close
        close += (sum(digest[:8]) - 1020) * close // 40_000
        bars.append(
            Bar(
                close_time_us=(i + 1) * _DAY_US,
                open_ticks=opened,
                high_ticks=max(opened, close) + digest[8] * 10,
                low_ticks=min(opened, close) - digest[9] * 10,
                close_ticks=close,
            )
        )
    return Snapshot(
        instrument="GOLDEN",
        asset_class=AssetClass.INDEX,
        frequency=Frequency.DAILY,
        as_of_us=bars[-1].close_time_us,
        bars=tuple(bars),
        news=(),
    )


def chi_square_tail(statistic: float, degrees: int) -> float:
    """Return P(X >= statistic) for odd degrees of freedom; NaN gives 0, which fails.

    Source: Abramowitz and Stegun 26.4.4.
    """
    if not statistic >= 0.0:
        return 0.0
    root = sqrt(statistic)
    term = root * sqrt(2.0 / pi) * exp(-statistic / 2.0)
    total = erfc(root / sqrt(2.0))
    for i in range(1, (degrees - 1) // 2 + 1):
        total += term
        term *= statistic / (2 * i + 1)
    return total


def _finite(value: float) -> float:
    """Return a value that JSON can carry, so that a refusal can always be sent."""
    return value if isfinite(value) else _NOT_FINITE


def _prompts() -> tuple[tuple[int, ...], ...]:
    short = golden_prompt()
    return short, (short * (_LONG_PROMPT // len(short) + 1))[:_LONG_PROMPT]


def _weights_gap(
    sample: Callable[[SampleRequest, Witness | None], Samples],
    weights: RowsOf,
    asked: "_Tested",
) -> float:
    """Return the largest gap of a row's partial sums from those of the weights; NaN is infinite."""
    seen: dict[tuple[int, int], Sighting] = {}

    def see(sighting: Sighting) -> None:
        seen[sighting.seed, sighting.position] = sighting

    prompt = asked.prompt
    request = asked.request(f"weights-{len(prompt)}", _COMPARED, _TOKENS)
    samples = sample(request, see)
    wanted = weights(prompt, [p.tokens for p in samples.paths], slice(*request.allowed_range))
    gaps = [
        float(np.abs(np.cumsum(seen[path.seed, at].target, dtype=float) - np.cumsum(row)).max())
        for path, rows in zip(samples.paths, wanted, strict=True)
        for at, row in enumerate(rows)
    ]
    return max(gap if isfinite(gap) else inf for gap in gaps)


def _greedy_equal(
    sample: Callable[[SampleRequest, Witness | None], Samples], asked: "_Tested"
) -> bool:
    drafted = sample(asked.request("greedy", 1, _GREEDY_TOKENS, greedy=True), None)
    off = replace(asked, spec_k=0)
    plain = sample(off.request("plain", 1, _GREEDY_TOKENS, greedy=True), None)
    start = plain.capture.bin_start
    pairs = zip(drafted.paths[0].tokens, plain.paths[0].tokens, strict=True)
    for (one, other), round_ in zip(pairs, plain.capture.rounds, strict=True):
        if one != other:
            row = row_values(round_.p_rows[0])
            return row[one - start] >= row[other - start] * (1.0 - _TIE)
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tested:
    """What every request of the test has."""

    prompt: tuple[int, ...]
    bins: tuple[int, int]
    spec_k: int
    deadline_s: float

    def request(self, name: str, n: int, tokens: int, *, greedy: bool = False) -> SampleRequest:
        """Return a request of n sequences."""
        return SampleRequest(
            request_id=f"self-test-{name}",
            prompt_ids=self.prompt,
            n_tokens=tokens,
            seeds=trajectory_seeds(_SEED, n),
            spec_k=self.spec_k,
            allowed_range=self.bins,
            deadline_s=self.deadline_s,
            greedy=greedy,
            draft_first=True,
        )
