"""Answers to figures: quantiles, counts by answer, shares, and a Markdown table. Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

VERDICTS: Final = frozenset(
    {"approved", "held", "rejected", "no_trade", "no_forecast", "not_sent", "unknown"}
)
"""Results of a decision; everything else is a refusal to decide, or no answer."""

WHY_CHARS_MAX: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one request was answered, and how long after its planned time, in seconds.

    `status` is 0 if there was no answer; `word` is the decision's result or the refusal's code,
    `why` the rule that refused or other words.
    """

    caller: str
    status: int
    word: str
    took_s: float
    why: str = ""

    @property
    def decided(self) -> bool:
        """Whether a decision was made; it is on record then."""
        return self.word in VERDICTS


def at(sorted_values: Sequence[float], level: float) -> float:
    """Return a quantile of sorted values, the nearest above: none is made up."""
    return sorted_values[min(len(sorted_values) - 1, int(level * len(sorted_values)))]


def by_answer(answers: Iterable[Answer]) -> list[list[str]]:
    """Return a row for each answer, the commonest first: answer, count, p50, p99, p99.9, longest.

    Times are in milliseconds.
    """
    found: dict[str, list[float]] = defaultdict(list)
    for one in answers:
        found[f"{one.status} {one.word}"].append(one.took_s * 1_000)
    rows = []
    for said, times in sorted(found.items(), key=lambda pair: -len(pair[1])):
        times.sort()
        levels = (at(times, 0.5), at(times, 0.99), at(times, 0.999), times[-1])
        rows.append([said, str(len(times)), *(f"{one:.1f}" for one in levels)])
    return rows


def shares(answers: Iterable[Answer]) -> str:
    """Return how many decisions each caller got: the fewest, the most, and their distance.

    The distance is that of the fewest and the most from each other, as a share of the mean.
    """
    counts: Counter[str] = Counter()
    for one in answers:
        counts[one.caller] += one.decided
    least, most, mean = min(counts.values()), max(counts.values()), counts.total() / len(counts)
    apart = (most - least) / mean if mean else 0.0
    return f"{least} to {most} of {len(counts)} callers, {apart:.1%} of the mean apart"


def reasons(answers: Iterable[Answer]) -> str:
    """Return how many decisions did not leave for which rule or reason, the commonest first."""
    said = (": ".join(one.why.split(": ")[:2]) for one in answers if one.decided and one.why)
    counts = Counter(said).most_common()
    return ", ".join(f"{why[:WHY_CHARS_MAX]} {count}" for why, count in counts) or "nothing"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(one)} |" for one in lines)
