"""One firm, one section: what a verdict rests on is what was committed, or it is given again."""

import threading
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from audit.errors import LedgerWriteError
from audit.kinds import Kind
from audit.ledger import Lane
from audit.record import Draft
from gateway.errors import NotReadyError
from gateway.killing import KillSwitch
from risk.policy import parse_policy, policy_bytes
from tests.doubles.memory_desk import AGENT_ACCOUNT, MemoryDesk, memory_desk

KILL_WAIT_S = 5.0


@pytest.fixture
def desk(tmp_path: Path) -> MemoryDesk:
    return memory_desk(tmp_path)


def once_before_a_verdict(desk: MemoryDesk, act: Callable[[], object]) -> None:
    """Let something be committed between the fold of the next verdict and its append."""
    acted: list[bool] = []

    def before(drafts: tuple[Draft, ...]) -> None:
        if not acted and any(one.kind is Kind.VERDICT_GIVEN for one in drafts):
            acted.append(True)
            act()

    desk.log.before = before


def test_a_verdict_rests_on_everything_that_was_committed_before_it(desk: MemoryDesk) -> None:
    desk.ask(800, exposure_bp=9_000)
    other: list[str] = []
    once_before_a_verdict(desk, lambda: other.append(desk.ask(850, exposure_bp=9_000).decision_id))
    second = desk.ask(900, exposure_bp=9_000)
    first = desk.verdict(other[0])
    assert first.body["result"] == "approved"
    verdicts = [
        one
        for one in desk.log.of_kind(Kind.VERDICT_GIVEN)
        if one.body["decision_id"] == second.decision_id
    ]
    assert len(verdicts) == 1, "the verdict that rested on less was never committed"
    assert verdicts[0].body["basis_seq"] > first.seq
    limit = desk.small.desk.own.section.policy.instruments[0].position_max.value
    assert verdicts[0].body["result"] == "rejected", "both together exceed the position limit"
    assert desk.reserved() <= limit


def test_a_press_between_fold_and_verdict_is_seen(desk: MemoryDesk) -> None:
    switch = desk.small.desk.kill_switch
    once_before_a_verdict(desk, lambda: switch.press(actor="ops", reason="now"))
    response = desk.ask()
    assert response.result == "rejected"
    assert any(line.rule.startswith("R01") and line.action == "REJECT" for line in response.rules)
    assert desk.small.broker.orders == []


def test_a_section_that_moves_under_every_try_gives_no_verdict(desk: MemoryDesk) -> None:
    number = iter(range(1_000))

    def before(drafts: tuple[Draft, ...]) -> None:
        if any(one.kind is Kind.VERDICT_GIVEN for one in drafts):
            draft = Draft(
                stream="market/SPXN",
                kind=Kind.MARK_TAKEN,
                payload={
                    **replace(desk.small.tags, account=AGENT_ACCOUNT).document(),
                    "instrument": "SPXN",
                    "market_time_us": 1,
                    "price_ticks": 26_900,
                    "kind": "open",
                    "session_index": 1,
                    "session_date": "2018-01-02",
                },
                actor="playback",
                idem_key=f"moves:{next(number)}",
            )
            desk.log.append(draft)

    desk.log.before = before
    with pytest.raises(NotReadyError, match="section"):
        desk.ask()
    assert desk.log.of_kind(Kind.VERDICT_GIVEN) == []
    assert desk.small.broker.orders == []


@pytest.mark.parametrize("epoch", [1, 7])
def test_where_ledger_and_kill_word_differ_nothing_is_approved(
    desk: MemoryDesk, epoch: int
) -> None:
    desk.log.append(
        Draft(
            stream="control",
            kind=Kind.KILL_PRESSED,
            payload={
                "kill_epoch": epoch,
                "actor_name": "ops",
                "reason": "pressed on another folder",
                "confirmed": True,
            },
            actor="ops",
            idem_key=f"kill:{epoch}",
        ),
        lane=Lane.URGENT,
    )
    response = desk.ask()
    assert response.result == "rejected"
    (line,) = (one for one in response.rules if one.reason == "KILL_EPOCH_DIFFERS")
    assert (line.action, line.observed) == ("REJECT", str(epoch))
    assert desk.verdict(response.decision_id).body["state"]["kill_epoch"] == epoch


def test_a_word_that_is_ahead_of_the_ledger_approves_nothing(desk: MemoryDesk) -> None:
    word = desk.small.desk.own.word
    word.press()
    assert desk.ask().result == "rejected"
    word.release(word.read().kill_epoch)
    response = desk.ask()
    assert response.result == "rejected"
    assert [one.reason for one in response.rules if one.action == "REJECT"] == [
        "KILL_EPOCH_DIFFERS"
    ]


def test_a_recorded_and_released_kill_lets_orders_through_again(desk: MemoryDesk) -> None:
    own = desk.small.desk.own
    switch = KillSwitch(word=own.word, child=desk.small.broker, ledger=desk.small.ledger)
    epoch = switch.press(actor="ops", reason="drill").kill_epoch
    assert desk.ask().result == "rejected"
    own.word.release(epoch)
    response = desk.ask()
    assert response.result == "approved"
    assert desk.verdict(response.decision_id).body["kill_epoch"] == epoch


def test_a_verdict_that_is_not_on_record_approves_nothing(desk: MemoryDesk) -> None:
    def before(drafts: tuple[Draft, ...]) -> None:
        if any(one.kind is Kind.VERDICT_GIVEN for one in drafts):
            desk.log.refuses = LedgerWriteError("the database is away")

    desk.log.before = before
    with pytest.raises(LedgerWriteError):
        desk.ask()
    desk.log.refuses, desk.log.before = None, lambda _: None
    assert desk.small.broker.orders == []
    assert desk.reserved() == 0


def test_two_agents_at_once_are_judged_one_after_the_other(desk: MemoryDesk) -> None:
    """Each verdict's basis is at least the record of the verdict before it."""
    threads = [threading.Thread(target=desk.ask, args=(100 + 10 * n,)) for n in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(KILL_WAIT_S)
    verdicts = desk.log.of_kind(Kind.VERDICT_GIVEN)
    assert len(verdicts) == len(threads)
    for before, after in pairwise(verdicts):
        assert after.body["basis_seq"] >= before.seq


def test_another_policy_is_refused_by_the_rules_and_named_by_status(desk: MemoryDesk) -> None:
    section = desk.small.desk.own.section
    assert section.status().standing == "ACTIVE"
    assert parse_policy(policy_bytes(section.policy)) == section.policy
    desk.wall.ahead_us = section.policy.expires_us
    assert section.status().standing == "EXPIRED"
    response = desk.ask()
    assert response.result == "rejected"
    assert "POLICY_EXPIRED" in {one.reason for one in response.rules}
