"""Decisions drawn by a seed, judged here and again elsewhere after a way through their documents.

`python -m tests.doubles.random_decisions 10000 7` compares 10,000 verdicts with those of processes
of another locale, time zone and hash seed, and exits 1 if one digest differs.
"""

import copy
import json
import locale
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from risk.evaluate import evaluate
from risk.forms.canonical import JSON, canonical_bytes
from risk.forms.documents import document_of, value_of
from risk.intent import Intent, Side
from risk.policy.policy import Policy, policy_document, policy_from_document
from risk.state.inputs.inputs import Inputs
from risk.state.state import RiskState, seen
from tests.doubles.full_policy import FULL, INPUTS, full_state
from tests.doubles.risk_cases import (
    INTENT,
    NOW_US,
    PLAYBACK,
    QUOTE,
    bought,
    fold,
    reserved,
    state_with,
)

ROOT = Path(__file__).resolve().parent.parent.parent
OTHERS = (
    {"PYTHONHASHSEED": "1", "LC_ALL": "C", "TZ": "UTC"},
    {"PYTHONHASHSEED": "4242", "LC_ALL": "C.UTF-8", "TZ": "Asia/Tokyo"},
    {"PYTHONHASHSEED": "random", "LC_ALL": "POSIX", "TZ": "America/New_York"},
)
"""Environments of the other processes."""
NONSENSE: tuple[Any, ...] = (
    *(None, 1.0, float("nan"), True, "7", b"7", (), (None,), [], "BUY", object),
    *(-1, 0, 2**62, 2**63, -(2**63), 2**70),
)


def decisions(count: int, seed: int) -> Iterator[tuple[Policy, RiskState, Intent]]:
    """Draw decisions under both formats; some are malformed, some lack an input."""
    draw = random.Random(seed)  # noqa: S311 - made-up decisions, not keys
    for number in range(count):
        policy = (PLAYBACK, FULL)[draw.randrange(2)]
        intent = replace(
            INTENT,
            decision_id=f"d-{number}",
            side=draw.choice(tuple(Side)),
            qty_lots=draw.randint(-2, 2_600),
            limit_ticks=draw.randint(25_000, 29_000),
            directional=draw.random() < 0.5,
        )
        yield policy, _state(draw, policy), intent


def bent(draw: random.Random, value: Any, depth: int = 0) -> Any:  # noqa: ANN401 - any argument
    """The same value with one leaf of it replaced by nonsense."""
    if is_dataclass(value) and not isinstance(value, type) and (depth == 0 or draw.random() < 0.9):
        name = draw.choice(fields(value)).name
        changed = copy.copy(value)
        object.__setattr__(changed, name, bent(draw, getattr(value, name), depth + 1))
        return changed
    if type(value) is tuple and value and draw.random() < 0.8:
        place = draw.randrange(len(value))
        return (*value[:place], bent(draw, value[place], depth + 1), *value[place + 1 :])
    return draw.choice(NONSENSE)


def digests(count: int, seed: int, *, from_documents: bool) -> list[str]:
    """The digest of each verdict; from documents, every argument is first written and read."""
    found = []
    for policy, state, intent in decisions(count, seed):
        if from_documents:
            policy = policy_from_document(_read(policy_document(policy)))  # noqa: PLW2901
            state = value_of(RiskState, _read(document_of(state)))  # noqa: PLW2901
            intent = value_of(Intent, _read(document_of(intent)))  # noqa: PLW2901
        found.append(evaluate(policy, state, intent).verdict_digest)
    return found


def digests_elsewhere(count: int, seed: int, other: dict[str, str]) -> list[str]:
    """The digests of another process, which draws, writes and reads every argument itself."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.doubles.random_decisions", str(count), str(seed), "child"],
        cwd=ROOT,
        env={**os.environ, **other, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def _state(draw: random.Random, policy: Policy) -> RiskState:
    events: list[Any] = []
    for key, low, high in (("SPXN", -600, 2_400), ("NDXN", -300, 900)):
        if lots := draw.randint(low, high):
            events.append(bought(lots, draw.randint(20_000, 60_000), instrument=key))
    for number in range(draw.randint(0, 3)):
        lots = draw.choice((-1, 1)) * draw.randint(1, 900)
        events.append(reserved(f"r-{number}", lots, draw.randint(25_000, 29_000)))
    book = fold(*events)
    book = replace(
        book, day=replace(book.day, low_minor=book.day.start_minor - draw.randint(0, 3_000_000))
    )
    changes: dict[str, Any] = {
        "book": book,
        "quote": replace(
            QUOTE,
            ask_ticks=QUOTE.bid_ticks + draw.randint(-1, 6),
            time_us=NOW_US - draw.randint(0, 3_000_000),
        ),
        "recent": tuple(
            seen(replace(INTENT, decision_id=f"s-{age}"), NOW_US - age)
            for age in sorted({draw.randint(0, 2_000_000) for _ in range(draw.randint(0, 2))})
        ),
    }
    if policy is PLAYBACK:
        return state_with(**changes)
    absent = [field.name for field in fields(Inputs) if draw.randrange(10) == 0]
    return full_state(inputs=replace(INPUTS, **dict.fromkeys(absent)), **changes)


def _read(document: JSON) -> Any:  # noqa: ANN401 - a document
    return json.loads(canonical_bytes(document))


def main(arguments: list[str]) -> int:
    """Print the digests (as the child), or compare with every other process."""
    count, seed = int(arguments[0]), int(arguments[1])
    if arguments[2:] == ["child"]:
        locale.setlocale(locale.LC_ALL, "")
        sys.stdout.write("\n".join(digests(count, seed, from_documents=True)) + "\n")
        return 0
    here = digests(count, seed, from_documents=False)
    worst = 0
    for other in OTHERS:
        there = digests_elsewhere(count, seed, other)
        same = sum(one == two for one, two in zip(here, there, strict=True))
        worst = max(worst, count - same)
        sys.stdout.write(f"{same} of {count} digests the same, seed {seed}, {other}\n")
    return int(worst > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
