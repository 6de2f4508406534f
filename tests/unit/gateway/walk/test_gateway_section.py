"""One firm, one section: what a verdict rests on is what was committed, or it is given again."""

import threading
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from audit.errors import LedgerWriteError
from audit.records.canonical import JSON
from audit.records.kinds import Kind
from audit.records.record import Draft
from audit.sequencer.ledger import Lane
from gateway.desk.bodies.requests import IntentRequest, IntentResponse
from gateway.errors import NotReadyError
from gateway.installation.policies.policy import development_policy
from gateway.walk.journal.control.difference import DifferenceCause, Found, book_difference
from gateway.walk.journal.decision import book_digest
from gateway.walk.projections.book import Twin
from gateway.walk.section import Section
from risk.forms.canonical import canonical_bytes
from risk.policy.policy import parse_policy, policy_document
from risk.state.state import RiskState
from risk.verdict import Verdict
from tests.doubles.memory_desk import AGENT, AGENT_ACCOUNT, MemoryDesk, StillMarket

KILL_WAIT_S = 5.0


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
    switch = own.kill_switch
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
    assert parse_policy(canonical_bytes(policy_document(section.policy))) == section.policy
    desk.wall.ahead_us = section.policy.expires_us - desk.wall()
    assert section.status().standing == "EXPIRED"
    response = desk.ask()
    assert response.result == "rejected"
    assert "POLICY_EXPIRED" in {one.reason for one in response.rules}


def differs(instrument: str = "SPXN") -> Draft:
    """A difference between book and broker."""
    found = Found(
        cause=DifferenceCause.CUM_QTY,
        account=AGENT_ACCOUNT,
        instrument=instrument,
        cl_ord_id="X",
        book_lots=1,
        broker_lots=2,
    )
    return book_difference(found, session="EMSSIM", source="report", number=1)


def refusals(response: IntentResponse) -> set[str | None]:
    return {one.reason for one in response.rules if one.action == "REJECT"}


def test_a_difference_that_is_told_between_fold_and_verdict_is_seen(desk: MemoryDesk) -> None:
    once_before_a_verdict(desk, lambda: desk.log.append(differs()))
    response = desk.ask()
    assert (response.result, refusals(response)) == ("rejected", {"BOOK_DIFFERS"})
    assert desk.verdict(response.decision_id).body["state"]["book_differs"] is True


@pytest.mark.parametrize(("instrument", "result"), [("SPXN", "rejected"), ("NDXN", "approved")])
def test_the_newest_record_is_read_although_nobody_told_of_it(
    desk: MemoryDesk, instrument: str, result: str
) -> None:
    """A section that does not follow the ledger finds a difference in it all the same."""
    own = desk.small.desk.own
    fresh = Section(
        ledger=own.tools.ledger,
        reader=own.reader,
        bundle=development_policy(desk.small.keyring),
        policy_keys=desk.small.keyring.public_keys(),
        kill=own.word.read,
        wall_us=desk.wall,
        send_within_us=10_000_000,
    )
    fresh.open_account(AGENT_ACCOUNT, 100_000_000)
    desk.small.desk.own = replace(own, section=fresh)
    once_before_a_verdict(desk, lambda: desk.log.append(differs(instrument)))
    response = desk.ask()
    assert desk.verdict(response.decision_id).body["result"] == result


@pytest.mark.parametrize(
    "epochs", [((Kind.KILL_PRESSED, 5), (Kind.KILL_PRESSED, 2)), ((Kind.KILL_RELEASED, 5),)]
)
def test_the_highest_kill_epoch_that_the_ledger_names_counts(
    desk: MemoryDesk, epochs: tuple[tuple[Kind, int], ...]
) -> None:
    """Also where the press itself is not in this ledger, and whatever an older record says."""
    for kind, epoch in epochs:
        body: dict[str, JSON] = {
            "kill_epoch": epoch,
            "actor_name": "ops",
            "reason": "of another folder",
            "confirmed": True,
        }
        if kind is Kind.KILL_RELEASED:
            body = {
                "kill_epoch": epoch,
                "press_id": "0" * 32,
                "log_id": "memory.test#0",
                "released_by": "ops",
                "reason": "of another folder",
                "signatures": {},
            }
        desk.log.append(
            Draft(
                stream="control", kind=kind, payload=body, actor="ops", idem_key=f"{kind}:{epoch}"
            )
        )
        desk.ask()  # folded one after the other
    response = desk.ask()
    assert refusals(response) == {"KILL_EPOCH_DIFFERS"}
    assert desk.verdict(response.decision_id).body["state"]["kill_epoch"] == 5


def test_a_policy_is_judged_by_a_clock_that_does_not_go_back(desk: MemoryDesk) -> None:
    section = desk.small.desk.own.section
    desk.wall.ahead_us = -20 * 365 * 86_400_000_000
    assert section.status().standing == "ACTIVE", "years before it begins, by the wall clock"


@pytest.mark.parametrize("ahead_us", [-60_000_000, 0, 60_000_000])
def test_a_hold_ends_by_the_earlier_of_its_beginning_and_its_record(
    desk: MemoryDesk, ahead_us: int
) -> None:
    """The clock is set while the verdict is about to be committed."""

    def turn() -> None:
        desk.wall.ahead_us = ahead_us

    once_before_a_verdict(desk, turn)
    began_us = desk.wall()
    decision_id = desk.hold()
    desk.log.before = lambda _: None
    (asked,) = desk.log.of_kind(Kind.APPROVAL_REQUESTED)
    life_us = int(desk.small.desk.own.section.policy.approval.ttl.value)
    at_most_us = desk.verdict(decision_id).recorded_at_us + life_us
    expires_us = int(asked.body["expires_us"])
    assert expires_us <= at_most_us
    if ahead_us < 0:
        assert expires_us == at_most_us
    assert began_us + life_us + min(0, ahead_us) <= expires_us
    assert expires_us <= began_us + life_us + 5_000_000
    left_us = 5_000_000
    desk.wall.ahead_us += expires_us - left_us - desk.wall()
    assert desk.small.desk.holds.expire() == 0
    desk.wall.ahead_us += left_us
    assert desk.small.desk.holds.expire() == 1, "at the time that the person was told"


def test_a_verdict_names_what_it_was_told_up_to_and_when(desk: MemoryDesk) -> None:
    market = desk.small.desk.own.market
    assert isinstance(market, StillMarket)
    market.time_us += 1_000_000
    body = desk.verdict(desk.ask().decision_id).body
    assert body["narrative_as_of_us"] == market.session("SPXN").snapshot.as_of_us
    assert body["market_now_us"] == body["narrative_as_of_us"] + 1_000_000


def test_the_twin_is_judged_against_its_own_book(
    desk: MemoryDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    section, states = desk.small.desk.own.section, list[RiskState]()
    judge = section.judge_twin

    def judged_twin(*given: Any) -> tuple[Verdict, RiskState]:  # noqa: ANN401 - as the section
        verdict, state = judge(*given)
        states.append(state)
        return verdict, state

    monkeypatch.setattr(section, "judge_twin", judged_twin)
    order = desk.rest(200)
    desk.settled(desk.report(order, t32="100", t14="100"))
    twin_before = book_digest(desk.small.desk.own.section.twin_book(Twin.PLACEBO, AGENT_ACCOUNT))
    response = desk.ask(60)
    (*_, judged) = desk.log.records(
        stream=f"decision/{response.decision_id}", kinds=(Kind.PLACEBO_JUDGED,)
    )
    assert judged.body["verdict"] is not None
    assert judged.body["book_digest"] == judged.body["judged_book_digest"] == twin_before
    real = book_digest(desk.small.desk.own.section.book(AGENT_ACCOUNT))
    assert judged.body["judged_book_digest"] != real
    assert {state.book.account for state in states} == {f"{AGENT_ACCOUNT}.placebo"}
    assert not any(state.renewal for state in states), "its own first verdicts count against it"


def test_the_same_wish_twice_is_a_duplicate(desk: MemoryDesk) -> None:
    def again(key: str) -> IntentResponse:
        wanted = IntentRequest(
            client_key=key, instrument="SPXN", target_exposure_bp=2_000, max_qty_lots=33
        )
        return desk.small.desk.submit(AGENT, wanted)

    assert again("one").result == "approved"
    assert "DUPLICATE_ORDER" in refusals(again("two"))
