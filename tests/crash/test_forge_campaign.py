"""A small draw of forged logs, and a verifier with a statement less, which the draw must find."""

from pathlib import Path

import pytest

from audit.records.kinds import KINDS
from audit.verifier import verify
from gateway.evidence.publication.statements_page import judged, unjudged
from tests.crash.forge_campaign import Tally, World, campaign


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("forge"))


def drawn(world: World, number: int) -> Tally:
    return campaign(world, number, seed=5)


def test_every_judged_field_that_was_drawn_is_found_in_both(world: World) -> None:
    tally = drawn(world, 100)
    assert tally.missed == []
    assert sum(tally.found.values()) > 20


def test_each_field_of_the_scenes_is_judged_or_listed_as_not_judged(world: World) -> None:
    """Fields inside `fill` and `report` were in neither list."""
    for kind, names in world.places().items():
        known = {*judged(KINDS[kind]), *unjudged(KINDS[kind])}
        left = [
            name
            for name in names
            if not any(f"{name}.".startswith(f"{one}.") for one in known)
            and not any(one.startswith(f"{name}.") for one in known)
        ]
        assert left == [], kind


def test_a_verifier_with_a_statement_less_is_found_out(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other verifier still has it, so the two differ."""
    monkeypatch.setitem(verify.JUDGES, "decision", lambda *_: iter(()))
    with pytest.raises(AssertionError, match="decision"):
        drawn(world, 100)


def test_the_scenes_have_most_kinds_of_the_walk(world: World) -> None:
    kinds = {str(kind) for kind in world.places()}
    assert {"order_sending", "verdict_given", "approval_given", "replace_requested"} <= kinds
    assert Path(verify.__file__).name == "verify.py"
