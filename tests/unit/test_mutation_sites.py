"""`make mutate` plants real faults: named by text, reproducible, and not in what people read."""

import tomllib
from functools import cache
from pathlib import Path

from scripts.mutation.places import Site, planted
from scripts.mutation.report import REASONS, reason_of
from scripts.mutation.sites import members_of, sites_of
from scripts.mutation.trial import draw, sources

SAMPLE = b'''"""A docstring with 1 < 2."""
from enum import StrEnum


class Way(StrEnum):
    LEFT = "l"
    RIGHT = "r"


def choose(a: int, b: int = 3) -> bool:
    """Return 1."""
    _log.info("chose %s", a < b)
    if a < 0 and not b:
        raise ValueError(f"{a} < {b + 1}")
    keep(a, b)
    return Way.LEFT in (Way.LEFT, a) or max(a, b) == 7
'''


def sample() -> list[Site]:
    return sites_of("risk/sample.py", SAMPLE, members_of({"risk/sample.py": SAMPLE}))


def changes() -> set[str]:
    return {f"{one.operator}: {one.old} -> {one.new}" for one in sample()}


def test_the_faults_of_a_function() -> None:
    assert {
        "comparison: a < 0 -> a <= 0",
        "negated condition: a < 0 and not b -> not (a < 0 and not b)",
        "dropped check: a < 0 and not b -> False",
        "and/or: a < 0 and not b -> a < 0 or not b",
        "dropped operand: a < 0 and not b -> a < 0",
        "dropped not: not b -> (b)",
        "constant: 7 -> 8",
        "dropped call: keep(a, b) -> pass",
        "swapped arguments: keep(a, b) -> keep(b, a)",
        "max/min: max(a, b) -> min(a, b)",
        "wrong member: Way.LEFT -> Way.RIGHT",
        "dropped element: (Way.LEFT, a) -> (a)",
    } <= changes()


def test_what_people_read_is_left_out() -> None:
    assert not [
        one
        for one in changes()
        if "info" in one or "1 < 2" in one or one.startswith("arithmetic: b + 1")
    ]
    assert not [one for one in changes() if one.startswith("constant: 3")], "a default"
    assert sites_of("gateway/telemetry/console.py", SAMPLE, {}) == []
    assert sites_of("inference/training/recorded.py", SAMPLE, {}) == []


def test_a_planted_fault_is_one_change_and_a_program() -> None:
    for site in sample():
        text = planted(SAMPLE, site)
        assert text is not None, site.key
        assert text != SAMPLE
        assert text[: site.start] == SAMPLE[: site.start]
        assert text.endswith(SAMPLE[site.end :])


def test_a_site_is_named_by_function_and_text_and_not_by_its_line() -> None:
    moved = b"# a new line\n\nX = 1\n" + SAMPLE
    names = {one.key for one in sites_of("risk/sample.py", moved, members_of({"": SAMPLE}))}
    assert {one.key for one in sample()} <= names
    assert len({one.key for one in sample()}) == len(sample())


def test_the_same_seed_draws_the_same_sites_of_every_room() -> None:
    texts = {
        name: text
        for name, text in sources().items()
        if Path(name).name in {"sizing.py", "sweeper.py", "order.py", "rounds.py"}
    }
    first = [one.key for one in draw(7, 40, texts, ())]
    assert first == [one.key for one in draw(7, 40, texts, ())]
    assert first != [one.key for one in draw(8, 40, texts, ())]
    rooms = [key.partition("/")[0] for key in first]
    assert {rooms.count(room) for room in ("gateway", "risk", "fix", "inference")} == {10}
    assert [one.file for one in draw(7, 3, texts, ["sizing"])] == ["risk/sizing.py"] * 3


def test_a_survivor_without_a_reason_is_a_missing_test() -> None:
    assert "a test is missing" in reason_of("risk/none.py::f [constant 0] 1 -> 2")


def test_a_reason_is_given_for_places_that_are_there() -> None:
    """A survivor whose text is gone would excuse something else one day."""
    texts = sources()
    members = members_of(texts)
    sites = cache(lambda name: sites_of(name, texts[name], members))
    rows = tomllib.loads(REASONS.read_text())["survivor"]
    assert rows
    for row in rows:
        found = [
            one
            for one in sites(row["file"])
            if (one.function, one.old, one.new) == (row["function"], row["old"], row["new"])
        ]
        assert len(found) == 1, row
        assert reason_of(found[0].key) == row["reason"]
