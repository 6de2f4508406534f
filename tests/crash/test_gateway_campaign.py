"""A short form of the gateway campaign: every fault, a few actions, and one tooth."""

import json
from pathlib import Path

import pytest

from tests.crash.gateway_campaign import BITES, Kept, tooth, verified, world_of
from tests.crash.gateway_desk import AGENTS, PATHS, SYMBOLS
from tests.crash.gateway_judge import Judge
from tests.crash.gateway_mutants import BITING, MUTANTS
from tests.crash.gateway_plan import (
    ACTIONS,
    ENDS_GATEWAY,
    FAULTS,
    KILLS,
    LINE_WAYS,
    OUTCOMES,
    drawn,
)
from tests.crash.gateway_report import page
from tests.crash.gateway_round import Result, Rounds

SEED = "a1"


def test_a_round_follows_from_its_seed_and_number_alone() -> None:
    plans = [drawn(SEED, number) for number in range(400)]
    assert plans == [drawn(SEED, number) for number in range(400)]
    assert plans != [drawn("b2", number) for number in range(400)]
    assert {fault for plan in plans for fault in plan.faults} == {*FAULTS}
    assert {plan.action for plan in plans} == {*ACTIONS}
    assert {*ACTIONS} == {*OUTCOMES}
    assert {plan.faults[0] for plan in plans[: len(FAULTS)]} == {*FAULTS}
    for plan in plans:
        lines = [fault for fault in plan.faults if fault in LINE_WAYS]
        assert len(lines) <= 1
        assert len({*plan.faults}) == len(plan.faults)
        assert {*plan.symbols} < {*SYMBOLS}
        assert {*plan.agents} < {*AGENTS}
    assert {*FAULTS} >= ENDS_GATEWAY
    kills = [drawn(SEED, number, kills=True) for number in range(200)]
    assert {fault for plan in kills for fault in plan.faults} == {*KILLS} < {*FAULTS}
    assert {*BITING} == {*MUTANTS}


def test_a_run_goes_on_with_the_rounds_of_its_seed(tmp_path: Path) -> None:
    path = tmp_path / "rounds.jsonl"
    done = Result(number=7, action="kill", struck=("gateway",), faults=("I1: so",))
    Kept(path, SEED).keep(done)
    assert Kept(path, SEED).results == {7: done}
    assert Kept(path, "another").results == {}
    row = json.loads(path.read_text())
    path.write_text(json.dumps(row | {"commit": "0000000"}) + "\n")
    assert Kept(path, SEED).results == {}, "rounds of another commit say nothing of this one"
    assert Kept(path, SEED, "0000000").results == {7: done}
    text = page([done], [], SEED, "0000000")
    assert "| gateway " in text
    assert "`pair_v4`" in text
    assert "`desk`" in text
    assert f"{PATHS} paths" in text


@pytest.mark.walk
@pytest.mark.timeout(600)
def test_every_fault_leaves_a_desk_that_comes_back_and_a_judge_that_finds_nothing() -> None:
    with world_of("test") as world:
        rounds = Rounds(world, SEED)
        for number in range(len(FAULTS)):  # each comes once
            result = rounds.play(drawn(SEED, number))
            assert result.faults == (), (drawn(SEED, number).said, result)
        assert rounds.judge.orders > 0
        assert verified(world) == []


@pytest.mark.walk
@pytest.mark.timeout(600)
def test_an_order_that_left_before_its_record_is_caught() -> None:
    found = tooth("send before record", "test")
    assert found.caught_after is not None
    assert found.caught_after <= BITES


def test_the_judge_reads_each_line_once(tmp_path: Path) -> None:
    assert Judge(tmp_path / "capture.jsonl").orders == 0
