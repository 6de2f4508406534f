"""Measure that drafts change nothing: `make exactness`, docs/measured/exactness.md.

The real engine with the bundled pairs, in its child. Greedily, 1,000 prompts are answered with
drafts and without; the tokens must be equal. At temperature 1 the tokens of others must follow
the target's own rows: Pearson's test of the self-test (`inference/engine/self_test.py`), whose
teeth are the same tokens with one in a hundred bent by a sampler that is wrong on purpose.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from gateway.errors import NotReadyError
from gateway.installation.children.engine import EngineChild
from gateway.installation.children.engine_process import EngineChildConfig
from gateway.telemetry.console import Progress
from inference.codec import vocabulary as words
from inference.codec.codec import ReturnCodec
from inference.engine.flight import Sighting
from inference.engine.port import EngineConfig, SampleRequest, Samples
from inference.engine.self_test import (
    CELLS,
    Sightings,
    chi_square_tail,
    golden_prompt,
    golden_snapshot,
)
from inference.snapshot import Direction, EventType, NewsItem, Strength
from inference.speculation.rounds import DrafterKind, DraftRound, QTable, disagreements, row_values
from inference.speculation.seeds import decision_seed, trajectory_seeds
from inference.weights.registry import load_pair, load_table

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "measured" / "exactness.md"
PAIRS = tuple(ROOT / "inference" / "models" / name for name in ("pair_v1", "pair_v4"))
PROMPTS, GREEDY_TOKENS = 1_000, 16
LAWS, PATHS, LAW_TOKENS = 256, 128, 16
SPEC_K = 4
BIASED = 100  # one token in so many is bent
MIN_P = 0.001
MAX_Z = 4.0
AT_ONCE = 8
DEADLINE_S = 120.0
START_S = 300.0
SHOWN = Progress(sys.stderr)
ABOUT = f"""# Exactness, measured

Written by `make exactness`; do not edit.

The real engine with two bundled pairs, table drafter, k = {SPEC_K}, the first bar drafted. Every
prompt has the golden bars in an order of its own, and every second one tells of a fresh strong
event.

"""

Bend = Callable[[Sighting, random.Random], int]


@dataclass(slots=True)
class Law:
    """What the tokens at temperature 1 look like, as they are and bent."""

    honest: Sightings = field(default_factory=Sightings)
    bent: dict[str, Sightings] = field(default_factory=lambda: {name: Sightings() for name in BENT})
    disagreements: int = 0


def likeliest(sighting: Sighting, _: random.Random) -> int:
    """A sampler that sometimes decodes greedily."""
    return int(np.argmax(sighting.target))


def flat(sighting: Sighting, draw: random.Random) -> int:
    """A sampler that sometimes forgets the row."""
    return draw.randrange(len(sighting.target))


BENT: dict[str, Bend] = {"the likeliest bin": likeliest, "a bin out of all": flat}


def told() -> tuple[int, ...]:
    """Return the golden prompt with a fresh strong event, which moves a target that hears words."""
    quiet = golden_snapshot()
    event = NewsItem(
        event_id="exactness",
        published_us=quiet.as_of_us,
        event_type=EventType.EARNINGS,
        direction=Direction.POSITIVE,
        strength=Strength.STRONG,
        source_tier=1,
        headline="made up",
        source="exactness",
    )
    return ReturnCodec().encode(replace(quiet, news=(event,))).token_ids


def request_of(number: int, paths: int, tokens: int, *, greedy: bool) -> SampleRequest:
    """Return a request whose prompt has the golden bars in an order of its own; odd ones a word."""
    codec, ids = ReturnCodec(), told() if number % 2 else golden_prompt()
    bars = list(ids[words.HEAD_LENGTH : -words.TAIL_LENGTH])
    random.Random(number).shuffle(bars)  # noqa: S311 - made-up prompts, not keys
    seed = decision_seed(b"exactness".ljust(32), "greedy" if greedy else "law", number)
    return SampleRequest(
        request_id=f"{number}",
        prompt_ids=(*ids[: words.HEAD_LENGTH], *bars, *ids[-words.TAIL_LENGTH :]),
        n_tokens=tokens,
        seeds=trajectory_seeds(seed, paths),
        spec_k=SPEC_K,
        allowed_range=(codec.bin_start, codec.bin_start + codec.n_bins),
        deadline_s=DEADLINE_S,
        greedy=greedy,
        draft_first=True,
    )


def greedy_pairs(child: EngineChild, prompts: int) -> tuple[int, int, int]:
    """Return the prompts answered alike with drafts and without, the tokens, the drafted ones."""

    def both(number: int) -> tuple[Samples, Samples]:
        drafted = request_of(number, 1, GREEDY_TOKENS, greedy=True)
        plain = replace(drafted, request_id=f"{number}.plain", spec_k=0, draft_first=False)
        return child.sample(drafted), child.sample(plain)

    equal = tokens = accepted = 0
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for done, (one, other) in enumerate(pool.map(both, range(prompts))):
            SHOWN.show("greedy", done, prompts)
            equal += one.paths == other.paths
            tokens += sum(len(path.tokens) for path in one.paths)
            accepted += sum(round_.accepted for round_ in one.capture.rounds)
            if any(round_.drafts for round_ in other.capture.rounds):
                raise NotReadyError(part="engine", state="drafts although told not to draft")
    return equal, tokens, accepted


def sightings_of(round_: DraftRound, samples: Samples, table: QTable) -> Iterator[Sighting]:
    """Yield the tokens that a round emitted, with the rows that decided them."""
    start = samples.capture.bin_start
    for j, token in enumerate(round_.emitted):
        row = np.array(row_values(round_.p_rows[j]), dtype=np.float32)
        draft = None
        if j < round_.verified:
            q = table.row(round_.q_states[j]) if round_.q_states else round_.q_rows[j]
            draft = np.array(row_values(q), dtype=np.float32)
        yield Sighting(
            seed=samples.capture.seeds[round_.trajectory],
            position=round_.step + j,
            bin=token - start,
            target=row,
            used=row,
            draft=draft,
            accepted=j < round_.accepted,
        )


def law(child: EngineChild, table: QTable, prompts: int) -> Law:
    """Return how the tokens of `prompts` prompts lie in the target's rows."""
    found = Law()
    draw = random.Random(prompts)  # noqa: S311 - which tokens are bent, not keys
    for number in range(prompts):
        SHOWN.show("temperature 1", number, prompts)
        samples = child.sample(request_of(number, PATHS, LAW_TOKENS, greedy=False))
        found.disagreements += len(disagreements(samples.capture, table))
        for round_ in samples.capture.rounds:
            for one in sightings_of(round_, samples, table):
                found.honest.see(one)
                planted = draw.randrange(BIASED) == 0
                for name, bend in BENT.items():
                    bin_ = bend(one, draw) if planted else one.bin
                    found.bent[name].see(replace(one, bin=bin_))
    return found


def section(pair: str, greedy: tuple[int, int, int], prompts: int, found: Law) -> tuple[str, bool]:
    """Return what was found of a pair and whether every line of it holds."""
    equal, tokens, accepted = greedy
    honest = found.honest
    p_value = chi_square_tail(honest.chi_square, CELLS - 1)
    rows = [
        ("greedy: prompts with equal tokens, with drafts and without", equal == prompts,
         f"{equal:,} of {prompts:,} ({tokens:,} tokens, {accepted:,} of them drafts)"),
        (f"temperature 1: chi-square over {CELLS} cells, p at least {MIN_P}", p_value >= MIN_P,
         f"{honest.chi_square:.1f}, p {p_value:.2g}, {honest.positions:,} tokens"),
        ("accepted drafts less their expectation, at most 4 standard deviations",
         abs(honest.accept_z) <= MAX_Z, f"{honest.accept_z:+.2f} ({honest.accepts:,} accepted)"),
        ("rounds whose numbers give another decision", found.disagreements == 0,
         f"{found.disagreements}"),
    ]  # fmt: skip
    for name, seen in found.bent.items():
        p_bent = chi_square_tail(seen.chi_square, CELLS - 1)
        rows.append((f"teeth: one token in {BIASED} is {name}; caught below p {MIN_P}",
                     p_bent < MIN_P, f"{seen.chi_square:.1f}, p {p_bent:.2g}"))  # fmt: skip
    lines = [
        f"## {pair}",
        "",
        "| claim | measured | |",
        "|---|---|---|",
        *(f"| {claim} | {text} | {'holds' if good else 'fails'} |" for claim, good, text in rows),
        "",
    ]
    return "\n".join(lines), all(good for _, good, _ in rows)


def judged(pair: Path, prompts: int, laws: int) -> tuple[str, bool]:
    """Return a pair's part of the page and whether every line of it holds."""
    table = load_table(load_pair(pair))
    engine = EngineConfig(model_dir=str(pair), drafter=DrafterKind.TABLE, spec_k=SPEC_K)
    with tempfile.TemporaryDirectory() as folder:
        child = EngineChild(EngineChildConfig(engine=engine, state_dir=Path(folder)))
        child.start()
        try:
            if not child.wait_ready(START_S):
                raise NotReadyError(part="engine", state=child.refusal or child.state.value)
            greedy, found = greedy_pairs(child, prompts), law(child, table, laws)
        finally:
            child.stop()
    return section(pair.name, greedy, prompts, found)


def main() -> int:
    """Measure and write the page; exit 1 when a line of it fails."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--quick", action="store_true", help="few prompts; writes no page")
    arguments.add_argument("--pair", type=Path, help="folder of one pair; writes no page")
    given = arguments.parse_args()
    prompts, laws = (20, 4) if given.quick else (PROMPTS, LAWS)
    pairs = PAIRS if given.pair is None else (given.pair,)
    parts = [judged(pair, prompts, laws) for pair in pairs]
    text = ABOUT + "\n".join(part for part, _ in parts)
    print(text)
    if not given.quick and given.pair is None:
        PAGE.write_text(text)
    return 0 if all(good for _, good in parts) else 1


if __name__ == "__main__":
    sys.exit(main())
