"""Tries faults: picks the tests of each, plants it, remembers the result.

Results are kept in `.mutate/`, so that an interrupted run continues. A caught fault stays caught; a
survivor is tried again when any test has changed.
"""

import hashlib
import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from scripts.mutation.places import Site, planted
from scripts.mutation.planting import ROOT, Copy, FaultOutcome, RunResult
from scripts.mutation.sites import ROOMS, members_of, sites_of
from scripts.mutation.tests_of import Recording

STAGE_S = 240.0
SLOW_MACHINE = 6.0
SPARE_S = 45.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """The result of one drawn fault, which `tests` tests run; `by` noticed it, empty if none."""

    key: str
    file: str
    operator: str
    outcome: str
    by: str
    tests: int


def sources(root: Path = ROOT) -> dict[str, bytes]:
    """Return the text of every file in which faults can be planted."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for room in ROOMS
        for path in sorted((root / room).rglob("*.py"))
    }


def draw(seed: int, count: int, texts: Mapping[str, bytes], words: Sequence[str]) -> list[Site]:
    """Draw up to `count` sites, the rooms in turn, each site of a room equally likely.

    The same seed over the same `texts` draws the same sites. With `words`, only sites whose file or
    function contains one of them are drawn.
    """
    members = members_of(texts)
    found = [site for file, text in texts.items() for site in sites_of(file, text, members)]
    wanted = [
        one for one in found if not words or any(w in f"{one.file}::{one.function}" for w in words)
    ]
    choice = random.Random(seed)  # noqa: S311 - not for secrets: the seed is printed
    piles = {room: [one for one in wanted if one.file.startswith(f"{room}/")] for room in ROOMS}
    for pile in piles.values():
        choice.shuffle(pile)
    drawn: list[Site] = []
    while len(drawn) < count and any(piles.values()):
        for pile in piles.values():
            while pile and len(drawn) < count:
                site = pile.pop()
                if planted(texts[site.file], site) is not None:
                    drawn.append(site)
                    break
    return drawn


class Trials:
    """Tries sites in a copy; keeps the results in the file `memory`."""

    def __init__(self, copy: Copy, recording: Recording, memory: Path) -> None:
        """Load the known results."""
        self._copy = copy
        self._recording = recording
        self._memory = memory
        self._tests_now = _digest_of_tests()
        self._sound: dict[str, bool] = {}
        self._known: dict[str, tuple[str, Trial]] = {}
        if memory.exists():
            for line in memory.read_text().splitlines():
                row = json.loads(line)
                self._known[row["trial"]["key"]] = (row["state"], Trial(**row["trial"]))

    def attempt(self, site: Site, stages: Iterable[str]) -> Trial:
        """Return a site's result, from memory or by a trial."""
        state = hashlib.sha256(self._text(site)).hexdigest()[:12]
        seen, known = self._known.get(site.key, ("", None))
        if known is not None and (
            (known.outcome == FaultOutcome.CAUGHT and seen.startswith(state))
            or seen == f"{state}.{self._tests_now}"
        ):
            return known
        trial = self._attempt(site, stages)
        row = {"state": f"{state}.{self._tests_now}", "trial": asdict(trial)}
        with self._memory.open("a") as file:
            file.write(json.dumps(row) + "\n")
        return trial

    def _text(self, site: Site) -> bytes:
        """Return the file from the copy: the tree may change during a run."""
        return (self._copy.folder / site.file).read_bytes()

    def _attempt(self, site: Site, stages: Iterable[str]) -> Trial:
        text = planted(self._text(site), site)
        if text is None:
            return _trial(site, FaultOutcome.STALE, "", 0)
        asked = 0
        for stage in stages:
            times = self._recording.tests_of(site, stage, self._text(site))
            asked += len(times)
            answer = self._ask(times, site.file, text)
            if answer is not None and answer.outcome is not FaultOutcome.SURVIVED:
                return _trial(site, answer.outcome, answer.by, asked)
        return _trial(site, FaultOutcome.SURVIVED if asked else FaultOutcome.UNTESTED, "", asked)

    def _ask(self, times: Mapping[str, float], file: str, text: bytes) -> RunResult | None:
        """Run tests over a fault, without those that also fail without it."""
        tests = [name for name in times if self._sound.get(name, True)]
        while tests:
            limit_s = min(STAGE_S, SPARE_S + SLOW_MACHINE * sum(times[name] for name in tests))
            with self._copy.changed({file: text}):
                answer = self._copy.run(tests, limit_s)
            blamed = answer.failed
            if not blamed or blamed not in times or self._is_sound(blamed, times[blamed]):
                return answer
            tests.remove(blamed)
        return None

    def _is_sound(self, test: str, time_s: float) -> bool:
        """Return whether a test passes in the copy without any fault."""
        if test not in self._sound:
            answer = self._copy.run([test], SPARE_S + SLOW_MACHINE * time_s)
            self._sound[test] = answer.code == 0
        return self._sound[test]


def together(
    copy: Copy, survivors: Sequence[Site], say: Callable[[str], None], tests: Sequence[str]
) -> RunResult:
    """Plant all survivors that do not overlap in one copy, and run whole folders once."""
    texts: dict[str, bytes] = {}
    last: dict[str, int] = {}
    for site in sorted(survivors, key=lambda one: (one.file, -one.start)):
        if site.end > last.get(site.file, 1 << 60):
            say(f"not beside its neighbour: {site.key}")
            continue
        text = texts.get(site.file, (copy.folder / site.file).read_bytes())
        changed = planted(text, site)
        if changed is not None:
            texts[site.file], last[site.file] = changed, site.start
    with copy.changed(texts):
        return copy.run(tests, 3_600.0)


def _trial(site: Site, outcome: FaultOutcome, by: str, tests: int) -> Trial:
    return Trial(
        key=site.key,
        file=site.file,
        operator=site.operator,
        outcome=outcome.value,
        by=by,
        tests=tests,
    )


def _digest_of_tests() -> str:
    found = hashlib.sha256()
    for path in sorted((ROOT / "tests").rglob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()[:12]
