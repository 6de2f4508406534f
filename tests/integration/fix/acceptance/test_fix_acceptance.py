"""The simulator keeps the rules of the FIX session layer, dialogue by dialogue."""

import pytest

from tests.doubles.fix_acceptance import (
    DEVIATIONS,
    PAGE,
    SLOW,
    Played,
    Scenario,
    page,
    play_all,
    scenarios,
)

pytestmark = pytest.mark.timeout(120)
ALL = scenarios()
TEETH = (
    Scenario("wrong_number", "", ("connect", "I 35=A|34=1|98=0|108=30", "E 35=A|34=2|98=0|108=30")),
    Scenario("wrong_field", "", ("connect", "I 35=A|34=1|98=0|108=30", "E 35=A|34=1|98=0")),
    Scenario("no_end", "", ("connect", "I 35=A|34=1|98=0|108=30", "closed")),
    Scenario("no_answer", "", ("connect", "I 35=0|34=1", "E 35=A|34=1")),
    Scenario(
        "thin_report",
        "",
        (
            "connect",
            "I 35=A|34=1|98=0|108=30",
            "E 35=A|34=1|98=0|108=30",
            "I 35=D|34=2|@order",
            "E 35=8|34=2|150=F",
        ),
    ),
)
"""Dialogues that expect what a sound broker does not do."""


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Played]:
    """Play everything once, the slow ones beside the rest."""
    return play_all([*ALL, *TEETH], tmp_path_factory.mktemp("acceptance"))


@pytest.mark.parametrize("name", [one.name for one in ALL])
def test_the_simulator_keeps_the_rule(name: str, played: dict[str, Played]) -> None:
    fault = played[name].fault
    assert bool(fault) == (name in DEVIATIONS), fault


@pytest.mark.parametrize("name", [one.name for one in TEETH])
def test_a_dialogue_that_expects_the_wrong_thing_fails(
    name: str, played: dict[str, Played]
) -> None:
    assert played[name].fault


def test_at_least_55_of_the_59_rules_are_held_and_the_page_says_which() -> None:
    assert len(ALL) == 59
    assert {one.name for one in ALL} >= DEVIATIONS.keys() | SLOW
    assert len(DEVIATIONS) <= 4
    told = [Played(one, "seen" if one.name in DEVIATIONS else "") for one in ALL]
    table = page(told).partition("| scenario |")[2]
    assert PAGE.read_text(encoding="utf-8").partition("| scenario |")[2] == table


def test_every_dialogue_says_its_rule_in_one_sentence() -> None:
    for one in ALL:
        assert one.rule.endswith("."), one.name
        assert len(one.lines) > 2, one.name
