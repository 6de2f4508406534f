"""The result of `make mutate` in words: its last line, and docs/measured/mutation.md."""

import tomllib
from collections import Counter
from collections.abc import Sequence, Sized
from dataclasses import dataclass
from pathlib import Path

from scripts.mutation.planting import ROOT, FaultOutcome
from scripts.mutation.trial import Trial

PAGE = ROOT / "docs" / "measured" / "mutation.md"
REASONS = Path(__file__).with_name("survivors.toml")
CAUGHT_MIN = 0.9
HEAD = """\
# What the tests notice

Written by `make mutate`. Faults are planted one at a time in a copy of the tree: those of
`scripts/mutations.toml` by hand, others at places that a seed has drawn from `gateway/`, `risk/`,
`fix/` and `inference/` (`scripts/mutation/sites.py` says how, and which places are left out by
rule: texts, telemetry, types, training). Coverage picks the tests of each. `make mutate SEED=n N=m`
draws the same places again from the same sources.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class MutateRun:
    """One run; `together` is the test that noticed the survivors planted together, if `whole`."""

    seed: int
    trials: Sequence[Trial]
    together: str
    whole: bool

    @property
    def caught_share(self) -> float:
        """The share of faults that were caught, 0 to 1."""
        return self._caught() / max(1, len(self.trials))

    def _caught(self) -> int:
        return sum(one.outcome == FaultOutcome.CAUGHT for one in self.trials)

    def summary(self) -> str:
        """Return the last line of a run."""
        return (
            f"seed {self.seed}: {self._caught()} of {len(self.trials)} drawn faults caught"
            f" ({self.caught_share:.0%}, {CAUGHT_MIN:.0%} are asked for)"
        )


def reason_of(key: str) -> str:
    """Return why a survivor may survive, or that nobody gave a reason."""
    for row in tomllib.loads(REASONS.read_text()).get("survivor", ()):
        old, new = (" ".join(str(row[name]).split()) for name in ("old", "new"))
        if key.startswith(f"{row['file']}::{row['function']} [") and key.endswith(
            f"{old} -> {new}"
        ):
            return str(row["reason"])
    return "no reason given: a test is missing"


def write_page(run: MutateRun, by_hand: Sized) -> None:
    """Write docs/measured/mutation.md."""
    lines = [
        HEAD,
        f"{len(by_hand)} faults stand in the list by hand; each of them has to be caught.",
        "",
    ]
    lines += [run.summary().capitalize() + ".", ""]
    lines += ["| | drawn | caught |", "|---|---|---|"]
    for title, of in (("folder", _room), ("operator", _operator)):
        drawn = Counter(of(one) for one in run.trials)
        caught = Counter(of(one) for one in run.trials if one.outcome == FaultOutcome.CAUGHT)
        lines += [f"| {title} {name} | {drawn[name]} | {caught[name]} |" for name in sorted(drawn)]
    left = [one for one in run.trials if one.outcome != FaultOutcome.CAUGHT]
    lines += ["", "## Survivors", ""]
    lines += [f"- `{one.key}`: {reason_of(one.key)}." for one in left] or ["None."]
    if left and run.whole:
        said = f"`{run.together}` noticed" if run.together else "nothing noticed"
        lines += ["", f"Planted together under the whole suite: {said}."]
    PAGE.write_text("\n".join(lines) + "\n")


def _room(one: Trial) -> str:
    return one.file.partition("/")[0]


def _operator(one: Trial) -> str:
    return one.operator
