"""Forecast with a text model of one's own: `make text-model`, docs/measured/text-model.md.

The real engine with a pinned folder forecasts the first sessions of the playback, three at a time
and each beside its twin without news, so that batches have many shapes. Every capture is condensed,
written, read and judged as the walk does it; every fiftieth is held against the weights. A mutant
of every capture, one first row moved by 1e-3, must be refused.

One line of STATE/decisions.jsonl is a decision: a run that was stopped goes on behind the last.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from time import monotonic
from typing import Any

import numpy as np

from gateway.errors import NotReadyError, ReplayDiffersError
from gateway.evidence.replay.weights import RowQuestion, regenerated
from gateway.feeds.scales import scales_for
from gateway.feeds.sessions import PlaybackSession, load_playback
from gateway.installation.children.engine import EngineChild
from gateway.installation.children.engine_process import EngineChildConfig
from gateway.telemetry.console import Progress
from gateway.walk.sampled.news import sampled_beside
from inference.codec.codec import ReturnCodec
from inference.engine.port import Engine, EngineConfig, SampleRequest, Samples
from inference.errors import CaptureError, EngineError, InferenceError
from inference.forecast.target import sample_target
from inference.speculation.condense import condense
from inference.speculation.evidence import FIRST_ROW_GAP, Evidence, judge
from inference.speculation.evidence_bytes import decode_evidence, encode_evidence
from inference.speculation.rounds import Capture, DrafterKind, QTable, row_bytes, row_values
from inference.speculation.seeds import decision_seed, trajectory_seeds
from inference.speculation.totals import totals
from inference.weights.registry import ModelPair, load_pair, load_table
from inference.weights.text_pair import codec_for

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "measured" / "text-model.md"
DECISIONS, PATHS, HORIZON, SPEC_K = 200, 16, 5, 4
AT_ONCE = 3
WEIGHED = 50  # every so many decisions are held against the weights
MUTANT = 1e-3
DEADLINE_S, START_S = 600.0, 1_800.0
SEED_ROOT = b"a text model, measured".ljust(32)
SHOWN = Progress(sys.stderr)
PREFACE = (
    "# A text model of one's own, measured",
    "",
    "Written by `make text-model MODEL=folder`; do not edit. Every forecast is of",
    f"{PATHS} paths of {HORIZON} bars; {AT_ONCE} are asked at once, each with its twin without",
    "news, on the first sessions of the playback. Whether such a forecast is worth anything is not",
    "measured here.",
    "",
)


@dataclass(frozen=True, kw_only=True)
class Bench:
    """What every decision of a run has."""

    pair: ModelPair
    codec: ReturnCodec
    table: QTable
    engine: Engine
    spec_k: int


@contextmanager
def bench_of(folder: Path, drafter: DrafterKind) -> Iterator[tuple[Bench, dict[str, Any]]]:
    """Start an engine with a pair; yield it with its description.

    Raises:
        NotReadyError: it does not start.
        RegistryError: the pair was not pinned, or cannot be used.
    """
    pair = load_pair(folder)
    config = EngineConfig(model_dir=str(folder), drafter=drafter, spec_k=SPEC_K)
    with tempfile.TemporaryDirectory() as state:
        child = EngineChild(
            EngineChildConfig(engine=config, state_dir=Path(state), start_timeout_s=START_S)
        )
        child.start()
        try:
            if not child.wait_ready(START_S):
                raise NotReadyError(part="engine", state=child.refusal or child.state.value)
            told = child.describe()
            bench = Bench(
                pair=pair,
                codec=codec_for(pair),
                table=load_table(pair),
                engine=child,
                spec_k=0 if drafter is DrafterKind.NONE else SPEC_K,
            )
            yield (
                bench,
                {
                    "versions": dict(told.versions),
                    "self_test_s": told.self_test.elapsed_ms / 1000,
                    "weights_gap": told.self_test.weights_gap,
                    "drafter": drafter.value,
                },
            )
        finally:
            child.stop()


def decided(bench: Bench, session: PlaybackSession) -> dict[str, Any]:
    """Return what became of one decision, as its line says it."""
    started, snapshot, codec = monotonic(), session.snapshot, bench.codec
    prompt = codec.encode(snapshot)
    seed = decision_seed(SEED_ROOT, f"{session.instrument}-{session.index}", 0)
    request = SampleRequest(
        request_id=f"d{session.index}",
        prompt_ids=prompt.token_ids,
        n_tokens=codec.tokens_for(HORIZON),
        seeds=trajectory_seeds(seed, PATHS),
        spec_k=bench.spec_k,
        allowed_range=(codec.bin_start, codec.bin_start + codec.n_bins),
        deadline_s=DEADLINE_S,
        draft_first=bench.spec_k > 0,
    )
    line: dict[str, Any] = {
        "index": session.index,
        "session": f"{session.session_date} {session.instrument}",
        "prompt": len(prompt.token_ids),
    }
    try:
        samples, beside = sampled_beside(bench.engine, request, codec.encode_without_news(snapshot))
        line |= {"twin": kept_of(bench, beside) if beside is not None else None}
        evidence = kept(bench, samples)
        line |= told_of(bench, samples, evidence)
        line["forecast"] = sample_target(
            evidence,
            codec=codec,
            prompt=prompt,
            snapshot=snapshot,
            seed=seed,
            table=bench.table,
            model_digest=bench.pair.manifest_digest,
            capture_digest="",
        ).forecast.expected_1e8
        if session.index % WEIGHED == 0:
            question = RowQuestion(
                name="own",
                evidence=evidence,
                prompt_ids=prompt.token_ids,
                model_digest=bench.pair.manifest_digest,
            )
            line["weights"] = regenerated(question, bench.pair)
    except (InferenceError, ReplayDiffersError) as error:
        line |= {"failed": error.code, "detail": str(error)}
    return {**line, "s": round(monotonic() - started, 1)}


def kept(bench: Bench, samples: Samples) -> Evidence:
    """Return the evidence as it comes back from its bytes, judged.

    Raises:
        CaptureError: it does not decide.
    """
    evidence = decode_evidence(encode_evidence(condense(samples.capture, bench.table)))
    if judge(evidence, bench.table):
        raise AssertionError("what was condensed decides and what was read does not")
    return evidence


def kept_of(bench: Bench, beside: Samples | EngineError) -> str:
    """Return "ok" for a twin, else the code of what failed."""
    try:
        if isinstance(beside, EngineError):
            raise beside
        kept(bench, beside)
    except InferenceError as error:
        return f"{error.code}: {error}"
    return "ok"


def told_of(bench: Bench, samples: Samples, evidence: Evidence) -> dict[str, Any]:
    """Return figures of a capture, and whether its mutant is refused."""
    rows = np.array([evidence.first_row, *(one.row for one in evidence.other_firsts)])
    counted = totals(evidence)
    try:
        condense(mutant(samples.capture), bench.table)
        refused = False
    except CaptureError:
        refused = True
    return {
        "first_rows": len(rows),
        "gap": float(np.ptp(rows, axis=0).max()),
        "drafted": counted.drafted,
        "accepted": counted.accepted,
        "mutant_refused": refused,
    }


def mutant(capture: Capture) -> Capture:
    """Return a capture whose last trajectory saw a first row that lies `MUTANT` away."""
    rounds = list(capture.rounds)
    at = max(i for i, r in enumerate(rounds) if r.step == 0)
    row = list(row_values(rounds[at].p_rows[0]))
    row[0] += -MUTANT if row[0] > MUTANT else MUTANT
    rounds[at] = replace(rounds[at], p_rows=(row_bytes(row), *rounds[at].p_rows[1:]))
    return replace(capture, rounds=tuple(rounds))


def played(bench: Bench, wanted: int, file: Path) -> list[dict[str, Any]]:
    """Make the decisions that the file lacks; return all its lines, in order."""
    done = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    made = {one["index"] for one in done}
    playback = replace(load_playback(), scales=scales_for(bench.pair.directory))
    left = (one for one in playback.sessions(wanted) if one.index not in made)
    started = monotonic()
    with file.open("a") as out, ThreadPoolExecutor(AT_ONCE) as pool:
        for line in pool.map(lambda one: decided(bench, one), left):
            done.append(line)
            out.write(json.dumps(line) + "\n")
            out.flush()
            SHOWN.say(f"{len(done)} of {wanted}, {monotonic() - started:.0f} s: {json.dumps(line)}")
    return sorted(done, key=lambda one: int(one["index"]))


def page(model: str, told: dict[str, Any], lines: list[dict[str, Any]]) -> tuple[str, bool]:
    """Return the page and whether each line of it holds."""
    failed = Counter(one["failed"] for one in lines if "failed" in one)
    twins = [one["twin"] for one in lines if one.get("twin")]
    invalid = failed["capture_invalid"] + sum("capture_invalid" in twin for twin in twins)
    seen = [one for one in lines if "first_rows" in one]
    weighed = [one for one in lines if "weights" in one]
    spread = [one for one in seen if one["first_rows"] > 1]
    gap = max((one["gap"] for one in seen), default=0.0)
    drafted, accepted = (sum(one[name] for one in seen) for name in ("drafted", "accepted"))
    share = f"{accepted / drafted:.2f}" if drafted else "no drafts"
    others = ", ".join(f"{n} {code}" for code, n in sorted(failed.items())) or "none"
    kept_twins = f"{twins.count('ok')} of {len(twins)}"
    made = f"{sum('forecast' in one for one in lines)} of {len(lines)}; without: {others}"
    refused = sum(one["mutant_refused"] for one in seen)
    differ = failed["replay_differs"]
    rows = [
        ("forecasts and twins that ended `capture_invalid`", invalid == 0, f"{invalid}"),
        ("decisions with a forecast", True, made),
        ("twins without news whose capture was kept", True, kept_twins),
        ("mutants, one first row moved by 1e-3, that were refused", refused == len(seen),
         f"{refused} of {len(seen)}"),
        ("captures with more than one first row; largest gap of a probability, at most 2e-4",
         gap <= FIRST_ROW_GAP, f"{len(spread)}; {gap:.1e}"),
        ("captures whose numbers are those of the weights, by transformers", differ == 0,
         f"{len(weighed)} of {len(weighed) + differ}"),
        ("drafts accepted", True, share),
        ("seconds of a decision beside two others, median", True,
         f"{median(one['s'] for one in lines):.1f}"),
    ]  # fmt: skip
    versions = told["versions"]
    using = f"vLLM {versions['vllm']}, torch {versions['torch']}"
    near = f"within {told['weights_gap']:.1e}"
    text = [
        *PREFACE,
        f"Model: {model}, drafter {told['drafter']}.",
        f"Machine: {processor()}, {versions['vectors']}, {versions['threads']} threads; {using}.",
        f"Self-test: {told['self_test_s']:.1f} s, sums of rows {near} of the weights'.",
        "",
        "| claim | measured | |",
        "|---|---|---|",
        *(f"| {claim} | {said} | {'holds' if good else 'fails'} |" for claim, good, said in rows),
        "",
    ]
    return "\n".join(text), all(good for _, good, _ in rows)


def processor() -> str:
    """Return the processor's name."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, "unknown processor")


def main() -> int:
    """Decide, report; exit 1 when a line of the page fails."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("model", type=Path, help="a folder that `countersign models pin` pinned")
    arguments.add_argument("--name", default="", help="what the page calls the model")
    arguments.add_argument("--decisions", type=int, default=DECISIONS)
    arguments.add_argument("--drafter", type=DrafterKind, default=DrafterKind.TABLE)
    arguments.add_argument("--state", type=Path, default=Path("state/text-model"))
    arguments.add_argument("--write", action="store_true", help="write the page")
    given = arguments.parse_args()
    given.state.mkdir(parents=True, exist_ok=True)
    with bench_of(given.model, given.drafter) as (bench, told):
        lines = played(bench, given.decisions, given.state / "decisions.jsonl")
    text, good = page(given.name or given.model.name, told, lines)
    print(text)
    if given.write:
        PAGE.write_text(text)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
