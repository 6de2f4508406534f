"""One evaluation from a folder to figures: read, register the look, walk, summarise."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from inference.errors import TrainingDataError
from inference.training.evaluation.walkforward.cache import ScoreCache, code_digest
from inference.training.evaluation.walkforward.looks import FREE_UNTIL_US, Look, record_look
from inference.training.evaluation.walkforward.report import figures
from inference.training.evaluation.walkforward.series import (
    History,
    files_of,
    read_history,
    series_name,
)
from inference.training.evaluation.walkforward.walk import (
    HORIZONS,
    WalkPlan,
    origins_of,
    walk,
)
from inference.training.series import Floats
from inference.weights.registry import MANIFEST

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EMBARGO: Final = timedelta(days=2 * HORIZONS[-1])
"""Calendar days after a pair's last training bar in which scores count as seen in training."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationAsked:
    """What is asked; `at_us` is the wall clock, for the register only."""

    data: Path
    first: date
    last: date | None
    series: tuple[str, ...]
    pair: Path | None
    every: int
    sampled: int
    paths: int
    seed: int
    folder: Path
    looks: Path
    who: str
    why: str
    at_us: int


def evaluate(
    question: EvaluationAsked, say: Callable[[str], None], progress: Callable[[int, int, str], None]
) -> dict[str, Any]:
    """Return asked, notes and figures as JSON values.

    Raises:
        TrainingDataError: when a file, a name or a date does not fit; it says which.
        RegistryError: when the pair is not whole.
    """
    histories = _histories(question)
    notes: list[str] = []
    digest, model_id = _pair_facts(question, notes)
    _register(question, histories, digest, notes)
    plan = WalkPlan(
        from_us=_us(question.first),
        every=question.every,
        sampled=question.sampled,
        paths=question.paths,
        seed=question.seed,
    )
    scored = _scored(question, histories, plan, digest, progress)
    dropped = sum(h.dropped for h in histories)
    if dropped:
        notes.append(f"{dropped} rows without a price, at weekends or with a bad print left out")
    notes += _fallbacks(scored)
    say(f"scored     {len(scored)} series")
    own = "model" if question.pair is not None else "gjr-t"
    ranged = sum(h.has_range for h in histories)
    return {
        "asked": {
            "own": own,
            "model_id": model_id,
            "model_digest": digest,
            "code_digest": code_digest(),
            "from": question.first.isoformat(),
            "to": _day(max(int(h.closes_us[-1]) for h in histories)),
            "series": len(scored),
            "every": plan.every,
            "sampled": plan.sampled,
            "paths": plan.paths,
            "seed": plan.seed,
            "proxy": f"range of {ranged} series, squared return of {len(histories) - ranged}",
            "data": {h.name: h.digest for h in histories},
        },
        "notes": notes,
        "figures": figures(scored, plan.seed, own),
    }


def _histories(question: EvaluationAsked) -> list[History]:
    paths = files_of(question.data)
    known = {series_name(path) for path in paths}
    unknown = sorted(set(question.series) - known)
    if unknown:
        raise TrainingDataError(
            f"--series {unknown[0]}: no such file in {question.data}; there are "
            f"{', '.join(sorted(known)[:8])} .."
        )
    chosen = [p for p in paths if not question.series or series_name(p) in question.series]
    end = _us(question.last) + 86_400_000_000 if question.last else None
    found = [
        history if end is None else history.until(end) for history in map(read_history, chosen)
    ]
    plan = WalkPlan(from_us=_us(question.first), every=1)
    found = [h for h in found if len(origins_of(h, plan))]
    if not found:
        raise TrainingDataError(
            f"--from {question.first}: no series has a bar then with 300 bars before it"
        )
    return found


def _pair_facts(question: EvaluationAsked, notes: list[str]) -> tuple[str, str]:
    """Return digest and name of the pair; note where it was trained on the years asked."""
    if question.pair is None:
        notes.append("no pair: GJR-t stands in for the forecaster under test")
        return "", ""
    try:
        manifest = json.loads((question.pair / MANIFEST).read_bytes())
        trained = date.fromisoformat(manifest["data"]["train_until"])
        digest = str(manifest["files"]["target/model.safetensors"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TrainingDataError(f"{question.pair}: not a model pair: {error}") from error
    if question.first <= trained + _EMBARGO:
        notes.append(
            f"IN SAMPLE: {question.pair.name} was trained to {trained} on series like these; "
            f"only --from {trained + _EMBARGO + timedelta(days=1)} or later judges it"
        )
    return digest, question.pair.name


def _register(
    question: EvaluationAsked, histories: list[History], digest: str, notes: list[str]
) -> None:
    """Record the look before any score exists, if a bar after 2015 is in reach."""
    last_us = max(int(h.closes_us[-1]) for h in histories)
    if last_us < FREE_UNTIL_US:
        return
    data = json.dumps({h.name: h.digest for h in histories}, sort_keys=True)
    number = record_look(
        question.looks,
        Look(
            at_us=question.at_us,
            who=question.who,
            why=question.why,
            range_from=question.first.isoformat(),
            range_to=_day(last_us),
            series=len(histories),
            data_digest=_sha(data),
            model_digest=digest,
            code_digest=code_digest(),
        ),
    )
    notes.append(f"look {number} at years after 2015, recorded in {question.looks.name}")


def _scored(
    question: EvaluationAsked,
    histories: list[History],
    plan: WalkPlan,
    digest: str,
    progress: Callable[[int, int, str], None],
) -> dict[str, dict[str, Floats]]:
    options = {
        "code": code_digest(),
        "model": digest,
        "pair": question.pair is not None,
        "plan": [plan.from_us, plan.every, plan.sampled, plan.paths, plan.seed],
        "to": None if question.last is None else question.last.isoformat(),
    }
    cache = ScoreCache(question.folder, options)
    counts = [len(origins_of(h, plan)) for h in histories]
    total, done = sum(counts), 0
    under_test = None
    found: dict[str, dict[str, Floats]] = {}
    for history, count in zip(histories, counts, strict=True):
        key = _sha(f"{history.name} {history.digest}")
        scores = cache.get(key)
        if scores is None:
            if under_test is None and question.pair is not None:
                under_test = _loaded(question.pair, plan)
            scores = walk(history, under_test, plan, partial(_tell, progress, done, total, history))
            cache.put(key, scores)
        done += count
        progress(done, total, history.name)
        found[history.name] = scores
    return found


def _fallbacks(scored: dict[str, dict[str, Floats]]) -> list[str]:
    """Return a note for each series whose scale had no fit at some origins."""
    shares = {
        name: float(scores["model/1/fallback"].mean())
        for name, scores in sorted(scored.items())
        if "model/1/fallback" in scores
    }
    return [
        f"FALLBACK: {name} had no fit of its scale at {share:.0%} of origins; default laws stood in"
        for name, share in shares.items()
        if share > 0.0
    ]


def _tell(
    progress: Callable[[int, int, str], None], before: int, total: int, history: History, done: int
) -> None:
    progress(before + done, total, history.name)


def _loaded(folder: Path, plan: WalkPlan) -> Any:  # noqa: ANN401 - UnderTest, loaded late
    from inference.training.evaluation.walkforward.pair import (  # noqa: PLC0415 - loads torch
        PairForecaster,
    )

    return PairForecaster(folder, plan.paths, plan.seed)


def _us(day: date) -> int:
    return (datetime(day.year, day.month, day.day, tzinfo=UTC) - _EPOCH) // timedelta(
        microseconds=1
    )


def _day(at_us: int) -> str:
    return str(np.datetime64(at_us, "us").astype("datetime64[D]"))


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
