"""A basket is judged as a whole: either every order may leave, or none does."""

from pathlib import Path
from typing import Any, cast

import pytest

from audit.errors import LedgerError
from audit.records.kinds import Kind
from audit.records.record import Draft, Record
from audit.store.reader import LedgerReader
from gateway.desk.agents import baskets
from gateway.desk.agents.baskets import basket_id_of, submit_basket, told_of
from gateway.desk.bodies.basket_requests import BasketRequest, BasketResponse
from gateway.desk.bodies.requests import IntentRequest
from gateway.errors import (
    ApprovalRefusedError,
    NotReadyError,
    RequestError,
    UnknownDecisionError,
    UnknownInstrumentError,
)
from gateway.evidence.replay.replay import replay
from gateway.installation.policies import policy
from gateway.walk.dispatch import DispatchTools, Leaving, may_leave
from gateway.walk.journal.standing import Standing
from gateway.walk.journal.verdict import VerdictGiven
from risk.forms.canonical import canonical_bytes
from risk.policy.policy import policy_document
from tests.doubles.full_policy import gathered_policy
from tests.doubles.memory_desk import AGENT, TABLE, MemoryDesk, memory_desk
from tests.doubles.restarted_desk import restarted

BASKET = basket_id_of(AGENT.name, "whole")


def leg(instrument: str, lots: int = 40, exposure_bp: int = 2_000, **more: Any) -> IntentRequest:  # noqa: ANN401 - any field
    return IntentRequest(
        client_key=f"leg-{instrument}",
        instrument=instrument,
        target_exposure_bp=exposure_bp,
        max_qty_lots=lots,
        **more,
    )


SMALL = (leg("SPXN"), leg("NDXN", lots=10))
HELD = leg("NDXN", lots=1_000, exposure_bp=2_800)
REFUSED = leg("NDXN", lots=1_000_000, exposure_bp=90_000)
NOTHING = leg("NDXN", exposure_bp=0)


def submitted(desk: MemoryDesk, *legs: IntentRequest, key: str = "whole") -> BasketResponse:
    return submit_basket(desk.small.desk, AGENT, BasketRequest(client_key=key, legs=[*legs]))


def outcome(desk: MemoryDesk) -> Record:
    (decided,) = desk.log.of_kind(Kind.BASKET_DECIDED)
    return decided


def test_a_basket_that_passes_leaves_as_a_whole(desk: MemoryDesk) -> None:
    answer = submitted(desk, *SMALL)
    assert (answer.result, answer.reason) == ("approved", None), answer
    assert [one.result for one in answer.legs] == ["approved", "approved"]
    assert len(desk.small.broker.orders) == 2
    (received,) = desk.log.of_kind(Kind.BASKET_RECEIVED)
    decided = outcome(desk)
    verdicts = desk.log.of_kind(Kind.VERDICT_GIVEN)
    sending = desk.log.of_kind(Kind.ORDER_SENDING)
    seqs = [received.seq, *(v.seq for v in verdicts), decided.seq, *(s.seq for s in sending)]
    assert seqs == sorted(seqs), "each record is before the effect that it announces"
    assert [one["verdict_seq"] for one in decided.body["legs"]] == [v.seq for v in verdicts]
    assert [one["decision_id"] for one in decided.body["legs"]] == received.body["legs"]


@pytest.mark.parametrize(
    ("last", "result", "why"),
    [
        (REFUSED, "rejected", "leg 2 is rejected"),
        (HELD, "not_sent", "leg 2 is held"),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_one_leg_that_may_not_leave_keeps_all_of_them(
    desk: MemoryDesk, last: IntentRequest, result: str, why: str, *, turned: bool
) -> None:
    legs = (last, SMALL[0]) if turned else (SMALL[0], last)
    answer = submitted(desk, *legs)
    assert (answer.result, answer.reason) == ("stopped", why.replace("2", "1") if turned else why)
    results = {one.answer.decision_id: one for one in answer.legs if one.answer}
    assert len(results) == 2
    passed, stopped = (answer.legs[1], answer.legs[0]) if turned else answer.legs
    assert (passed.result, stopped.result) == ("not_sent", result)
    assert passed.answer is not None
    assert passed.answer.reason == f"basket {BASKET} stopped"
    assert desk.outcome(passed.decision_id) == "withdrawn"
    assert not desk.small.broker.orders
    assert not desk.log.of_kind(Kind.ORDER_SENDING)
    assert desk.reserved() == 0, "nothing stays reserved for it"
    assert not list(desk.small.desk.own.orders.unsealed())


def test_a_leg_with_nothing_to_trade_does_not_stop_the_others(desk: MemoryDesk) -> None:
    answer = submitted(desk, SMALL[0], NOTHING)
    assert (answer.result, len(desk.small.broker.orders)) == ("approved", 1)
    assert [one.result for one in answer.legs] == ["approved", "no_trade"]


def test_a_basket_without_any_order_says_so(desk: MemoryDesk) -> None:
    answer = submitted(desk, leg("SPXN", exposure_bp=0), NOTHING)
    assert (answer.result, outcome(desk).body["outcome"]) == ("no_trade", "no_trade")
    assert not desk.small.broker.orders


def under(
    folder: Path, monkeypatch: pytest.MonkeyPatch, basket_max: int = 60_000_000
) -> MemoryDesk:
    """Return a desk under a policy of format 2, which has R21, with this limit of it."""
    signed = folder / "policy.json"
    chosen = gathered_policy(families__account__basket_max=basket_max)
    signed.write_bytes(canonical_bytes(policy_document(chosen)))
    monkeypatch.setattr(policy, "SHIPPED", signed)
    return memory_desk(folder)


def test_the_last_leg_is_judged_with_the_orders_of_all_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = under(tmp_path, monkeypatch)
    assert submitted(desk, *SMALL).result == "approved"
    first, last = (VerdictGiven.of(one) for one in desk.log.of_kind(Kind.VERDICT_GIVEN))
    seen_of = [one.body["inputs"]["basket"] for one in desk.log.of_kind(Kind.VERDICT_GIVEN)]
    assert [one["group"] for one in seen_of] == [BASKET, BASKET]

    def seen(given: VerdictGiven, rule: str) -> int:
        return next(r.observed or 0 for r in given.verdict.results if r.rule_id == rule)

    assert seen(first, "R21") == seen_of[1]["others_minor"] > seen_of[0]["others_minor"] == 0
    assert seen(last, "R21") == seen(first, "R21") + seen(last, "R04")
    for one in (first, last):
        replay(cast("LedgerReader", desk.log), TABLE, one.decision_id)


def test_a_leg_is_judged_with_every_leg_before_it_and_not_the_last_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = under(tmp_path, monkeypatch)
    again = leg("SPXN", lots=5).model_copy(update={"client_key": "leg-3"})
    three = BasketRequest.model_construct(client_key="whole", legs=[*SMALL, again])
    submit_basket(desk.small.desk, AGENT, three)
    given = desk.log.of_kind(Kind.VERDICT_GIVEN)
    assert len(given) == 3
    observed = [
        next(r.observed for r in VerdictGiven.of(one).verdict.results if r.rule_id == "R21")
        for one in given
    ]
    others = [one.body["inputs"]["basket"]["others_minor"] for one in given]
    assert others == [0, *observed[:2]], "what R21 saw of all legs before"


@pytest.mark.parametrize("less", [0, 1])
def test_orders_that_pass_alone_are_refused_when_their_sum_is_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, less: int
) -> None:
    (tmp_path / "first").mkdir()
    first = under(tmp_path / "first", monkeypatch)
    submitted(first, *SMALL)
    last = VerdictGiven.of(first.log.of_kind(Kind.VERDICT_GIVEN)[-1])
    (together,) = (r.observed for r in last.verdict.results if r.rule_id == "R21")
    assert together is not None
    (tmp_path / "second").mkdir()
    desk = under(tmp_path / "second", monkeypatch, together - less)
    answer = submitted(desk, *SMALL)
    assert answer.result == ("stopped" if less else "approved")
    assert len(desk.small.broker.orders) == (0 if less else 2)
    if less:
        rejected = answer.legs[1].answer
        assert rejected is not None
        assert rejected.reason == "R21.basket: BASKET_ABOVE_MAXIMUM"


def test_a_hold_of_a_leg_is_nobodys_to_answer(desk: MemoryDesk) -> None:
    answers: list[str] = []

    def before(drafts: tuple[Draft, ...]) -> None:
        if drafts[0].kind is Kind.BASKET_DECIDED:
            held = next(s.decision_id for s in desk.small.desk.own.orders.held())
            with pytest.raises(ApprovalRefusedError):
                desk.answer(held)
            answers.append(held)

    desk.log.before = before
    submitted(desk, SMALL[0], HELD)
    assert len(answers) == 1


def test_the_same_key_again_is_the_same_basket_and_no_second_order(desk: MemoryDesk) -> None:
    first = submitted(desk, *SMALL)
    size = desk.log.size
    assert submitted(desk, *SMALL) == first == told_of(desk.small.desk, BASKET, reader=AGENT)
    assert (len(desk.small.broker.orders), desk.log.size) == (2, size)


@pytest.mark.parametrize(
    "legs", [(SMALL[1], SMALL[0]), (SMALL[0], leg("NDXN", lots=11)), (SMALL[0], NOTHING)]
)
def test_a_key_that_was_used_for_another_basket_is_refused(
    desk: MemoryDesk, legs: tuple[IntentRequest, ...]
) -> None:
    submitted(desk, *SMALL)
    size = desk.log.size
    with pytest.raises(RequestError, match="another basket"):
        submitted(desk, *legs)
    assert (len(desk.small.broker.orders), desk.log.size) == (2, size)


def test_a_leg_is_found_by_its_own_key_and_takes_none_that_was_used(desk: MemoryDesk) -> None:
    answer = submitted(desk, *SMALL)
    assert desk.small.desk.submit(AGENT, SMALL[0]) == answer.legs[0].answer
    size = desk.log.size
    with pytest.raises(RequestError, match="leg was used before"):
        submitted(desk, *SMALL, key="other")
    assert (len(desk.small.broker.orders), desk.log.size) == (2, size)


def test_a_leg_that_is_not_quoted_leaves_nothing_on_record(desk: MemoryDesk) -> None:
    size = desk.log.size
    with pytest.raises(UnknownInstrumentError):
        submitted(desk, SMALL[0], leg("NOBODY"))
    assert desk.log.size == size


def test_nobody_is_told_of_a_basket_that_is_not_there_or_not_decided(desk: MemoryDesk) -> None:
    said: list[str] = []

    def before(drafts: tuple[Draft, ...]) -> None:
        if drafts[0].kind is Kind.BASKET_DECIDED:
            with pytest.raises(NotReadyError, match="still being decided"):
                submitted(desk, *SMALL)
            said.append(BASKET)

    with pytest.raises(UnknownDecisionError):
        told_of(desk.small.desk, BASKET, reader=AGENT)
    desk.log.before = before
    submitted(desk, *SMALL)
    assert said == [BASKET]


def test_a_stop_that_comes_before_the_outcome_stops_the_whole(desk: MemoryDesk) -> None:
    """A kill after the last verdict: both orders are approved, and neither leaves."""
    given: list[Kind] = []

    def after(records: tuple[Record, ...]) -> None:
        given.extend(one.kind for one in records)
        if given.count(Kind.VERDICT_GIVEN) == len(SMALL) and not desk.small.desk.own.word.read()[1]:
            desk.small.desk.own.word.press()

    desk.log.subscribe(after)
    answer = submitted(desk, *SMALL)
    assert answer.result == "stopped"
    assert "kill epoch changed" in (answer.reason or "")
    assert not desk.small.broker.orders


@pytest.mark.parametrize("number", [1, 2])
def test_a_leg_that_may_not_leave_any_more_stops_the_whole_on_record(
    desk: MemoryDesk, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """All legs are approved and still stand, but one could not leave: the outcome is `stopped`."""

    def leaves(standing: Standing, tools: DispatchTools) -> Leaving | str:
        held = basket_leg(standing) == number
        return "it may not" if held else may_leave(standing, tools)

    def basket_leg(standing: Standing) -> int:
        (received,) = desk.log.of_kind(Kind.BASKET_RECEIVED)
        legs: list[str] = received.body["legs"]
        return 1 + legs.index(standing.decision_id)

    monkeypatch.setattr(baskets, "may_leave", leaves)
    answer = submitted(desk, *SMALL)
    assert answer.result == "stopped"
    assert outcome(desk).body["outcome"] == "stopped"
    assert outcome(desk).body["reason"] == f"leg {number} may not leave: it may not"
    assert not desk.log.of_kind(Kind.ORDER_SENDING)
    assert not desk.small.broker.orders


def test_dispatch_sends_no_leg_of_a_basket_that_is_not_approved(desk: MemoryDesk) -> None:
    tried: list[str] = []

    def before(drafts: tuple[Draft, ...]) -> None:
        if drafts[0].kind is Kind.BASKET_DECIDED and not tried:
            (first, _) = desk.small.desk.own.orders.unsent()
            tried.append(first.decision_id)
            assert desk.dispatch(first) is None

    desk.log.before = before
    answer = submitted(desk, *SMALL)
    assert (answer.result, answer.reason) == ("stopped", "leg 1 is withdrawn")
    assert desk.withdrawn(tried[0]) == "basket_not_approved"
    assert not desk.small.broker.orders


class Died(BaseException):
    """The process was killed: nothing of it runs any more."""


def kinds_of(tmp_path: Path, *legs: IntentRequest) -> int:
    """Return how many appends such a basket makes."""
    desk = memory_desk(tmp_path / "counted")
    made: list[Kind] = []
    desk.log.before = lambda drafts: made.append(drafts[0].kind)
    submitted(desk, *legs)
    return len(made)


def whole_or_nothing(desk: MemoryDesk) -> None:
    """Expect orders at the broker only under a recorded outcome, and an end for every other leg."""
    sending = desk.log.of_kind(Kind.ORDER_SENDING)
    decided = desk.log.of_kind(Kind.BASKET_DECIDED)
    assert len(desk.small.broker.orders) <= len(sending)
    if sending:
        assert [one.body["outcome"] for one in decided] == ["approved"]
        assert decided[0].seq < sending[0].seq
    for received in desk.log.of_kind(Kind.BASKET_RECEIVED):
        assert len(decided) == 1, "each basket on record has its outcome"
        for decision_id in received.body["legs"]:
            standing = desk.standing(decision_id)
            assert standing.sealed or standing.cl_ord_id, f"{decision_id} is left open"
            replay(cast("LedgerReader", desk.log), TABLE, decision_id)


@pytest.mark.parametrize("legs", [SMALL, (SMALL[0], HELD)])
def test_a_kill_at_any_step_leaves_no_leg_sent_or_an_approved_whole(
    tmp_path: Path, legs: tuple[IntentRequest, ...]
) -> None:
    for step in range(kinds_of(tmp_path, *legs)):
        desk = memory_desk(tmp_path / str(step))
        left = step

        def before(_: tuple[Draft, ...]) -> None:
            nonlocal left
            if left <= 0:
                raise Died
            left -= 1

        desk.log.before = before
        with pytest.raises(Died):
            submitted(desk, *legs)
        handed = len(desk.small.broker.orders)
        desk.log.before = lambda _: None
        restarted(desk)
        whole_or_nothing(desk)
        assert len(desk.small.broker.orders) == handed, "a start sends nothing"
        if desk.log.of_kind(Kind.BASKET_RECEIVED):
            assert submitted(desk, *legs).result in {"stopped", "partly_sent", "unknown"}


@pytest.mark.parametrize("legs", [SMALL, (SMALL[0], HELD)])
def test_a_record_that_is_refused_at_any_step_sends_no_part_of_it(
    tmp_path: Path, legs: tuple[IntentRequest, ...]
) -> None:
    for step in range(kinds_of(tmp_path, *legs)):
        desk = memory_desk(tmp_path / str(step))
        left = step

        def before(_: tuple[Draft, ...]) -> None:
            nonlocal left
            left -= 1
            if left == -1:
                raise LedgerError("the ledger took it not")

        desk.log.before = before
        with pytest.raises(LedgerError):
            submitted(desk, *legs)
        desk.log.before = lambda _: None
        if not any(
            one.body["outcome"] == "approved" for one in desk.log.of_kind(Kind.BASKET_DECIDED)
        ):
            assert not desk.small.broker.orders
            assert not desk.small.desk.own.orders.unsent()
        restarted(desk)
        whole_or_nothing(desk)
