"""A restart loses no hold: it goes on with its remaining life, or ends for a stated reason."""

from typing import Any, cast

import pytest
from msgspec import structs

from audit.records.canonical import canonical
from audit.records.kinds import Kind
from audit.records.record import Draft, Record
from audit.store.reader import LedgerReader
from gateway.errors import ApprovalRefusedError, NotReadyError, ReplayDiffersError, RequestError
from gateway.evidence.replay.replay import replay
from gateway.walk.approval import is_over
from gateway.walk.deadlines import hold_of
from gateway.walk.journal.standing import Stage
from inference.engine.port import EngineDescription
from inference.errors import EngineDeadError
from tests.doubles.memory_desk import TABLE, MemoryDesk
from tests.doubles.restarted_desk import NEXT, Change, restarted
from tests.doubles.row_engine import RowEngine

SECOND_US = 1_000_000


def last(desk: MemoryDesk, decision_id: str) -> Record:
    return list(desk.log.records(stream=f"decision/{decision_id}"))[-1]


def test_a_hold_keeps_its_reservation_and_its_remaining_life(desk: MemoryDesk) -> None:
    decision_id = desk.hold()
    reserved = desk.reserved()
    asked = last(desk, decision_id).body["expires_us"]
    assert restarted(desk) == 0
    assert desk.standing(decision_id).stage is Stage.HELD
    assert desk.reserved() == reserved > 0
    resumed = last(desk, decision_id)
    assert resumed.kind is Kind.APPROVAL_RESUMED
    assert (resumed.body["resumed_by"], resumed.body["expires_us"]) == (NEXT, asked)
    end = desk.small.desk.own.section.deadlines.end(hold_of(decision_id))
    assert end is not None
    assert end.wall_us == asked, "not a new life"
    desk.wall.ahead_us = asked - desk.wall()
    assert desk.small.desk.holds.expire() == 1
    assert desk.outcome(decision_id) == "hold_expired"
    assert desk.reserved() == 0


def test_its_release_takes_the_standing_forecast_sends_once_and_replays(desk: MemoryDesk) -> None:
    decision_id = desk.hold()
    restarted(desk)
    restarted(desk, run_id="run-3")
    assert desk.answer(decision_id) == "approved"
    kinds = desk.kinds(decision_id)
    assert kinds.count(Kind.APPROVAL_RESUMED) == 2
    assert kinds[kinds.index(Kind.APPROVAL_GIVEN) :].count(Kind.FORECAST_TAKEN) == 1
    assert len(desk.log.of_kind(Kind.FORECAST_REQUESTED)) == 1, "the same inputs"
    assert len(desk.small.broker.orders) == 1
    desk.small.answer()
    lines = replay(cast("LedgerReader", desk.log), TABLE, decision_id).lines
    assert [one.split()[-1] for one in lines if one.startswith("approval_resumed")] == [
        NEXT,
        "run-3",
    ]
    with pytest.raises(ApprovalRefusedError, match="nothing waits"):
        desk.answer(decision_id)


def test_a_hold_that_is_over_ends(desk: MemoryDesk) -> None:
    decision_id = desk.hold()
    desk.wall.ahead_us = last(desk, decision_id).body["expires_us"] - desk.wall()
    assert restarted(desk) == 1
    assert desk.outcome(decision_id) == "hold_expired"
    assert desk.reserved() == 0


def test_a_hold_ends_where_a_clock_went_back_and_nobody_knows_how_much_is_left(
    desk: MemoryDesk,
) -> None:
    decision_id = desk.hold()
    desk.wall.ahead_us = -3_600 * SECOND_US
    assert restarted(desk) == 1
    assert desk.outcome(decision_id) == "hold_expired"
    assert Kind.APPROVAL_RESUMED not in desk.kinds(decision_id)


@pytest.mark.parametrize(
    "change",
    [
        lambda terms: terms.update(mode="live"),
        lambda terms: terms.update(account="other"),
        lambda terms: terms.update(equity_minor=terms["equity_minor"] + 1),
        lambda terms: terms["instruments"][0].update(tick_minor=7),
        lambda terms: terms["order_profile"].update(account="other"),
    ],
)
def test_a_run_on_other_terms_ends_the_hold(desk: MemoryDesk, change: Change) -> None:
    decision_id = desk.hold()

    def other(terms: dict[str, Any]) -> None:
        terms.update(deep(terms))
        change(terms)

    assert restarted(desk, other) == 1
    assert desk.outcome(decision_id) == "hold_expired"
    assert Kind.APPROVAL_RESUMED not in desk.kinds(decision_id)


def deep(terms: dict[str, Any]) -> dict[str, Any]:
    """Copy what a change touches, so that the first run's record stays as it is."""
    return {
        **terms,
        "instruments": [dict(one) for one in terms["instruments"]],
        "order_profile": dict(terms["order_profile"]),
    }


def test_an_agreement_that_a_crash_cut_off_is_not_asked_for_again(desk: MemoryDesk) -> None:
    decision_id = desk.hold()
    desk.log.before = stop_at_forecast
    with pytest.raises(RuntimeError, match="power"):
        desk.answer(decision_id)
    desk.log.before = lambda _: None
    assert last(desk, decision_id).kind is Kind.APPROVAL_GIVEN
    assert restarted(desk) == 1
    assert desk.outcome(decision_id) == "hold_expired"


def stop_at_forecast(drafts: tuple[Draft, ...]) -> None:
    if any(one.kind is Kind.FORECAST_TAKEN for one in drafts):
        raise RuntimeError("power")


def test_a_yes_before_engine_and_quotes_are_there_costs_nothing(
    desk: MemoryDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    decision_id = desk.hold()
    restarted(desk)

    def starting(_: RowEngine) -> EngineDescription:
        raise EngineDeadError("the engine is starting")

    before = desk.log.size
    with monkeypatch.context() as patch:
        patch.setattr(RowEngine, "describe", starting)
        with pytest.raises(NotReadyError, match="still waits"):
            desk.answer(decision_id)
    with monkeypatch.context() as patch:
        patch.setattr(desk.small.desk.own.market, "_sessions", {})
        with pytest.raises(RequestError, match="not quoted"):
            desk.answer(decision_id)
    written = desk.log.records(after_seq=before - 1)
    assert {one.kind for one in written} <= {Kind.READ_RECORDED}, "more than that he read"
    assert not is_over(desk.standing(decision_id), desk.small.desk.own.section, desk.wall())
    assert desk.answer(decision_id) == "approved"


def test_a_replay_refuses_a_hold_kept_by_a_run_that_never_was(desk: MemoryDesk) -> None:
    decision_id = desk.hold()
    restarted(desk)
    resumed = last(desk, decision_id)
    desk.log.forged = structs.replace(
        resumed, payload=canonical({**resumed.body, "resumed_by": "run-9"})
    )
    with pytest.raises(ReplayDiffersError, match="run-9"):
        replay(cast("LedgerReader", desk.log), TABLE, decision_id)


def test_a_hold_is_taken_over_on_the_terms_of_its_own_run(desk: MemoryDesk) -> None:
    """Not on those of the ledger's first run, which had less equity."""

    def richer(terms: dict[str, Any]) -> None:
        terms.update(equity_minor=terms["equity_minor"] + 1)

    restarted(desk, richer)
    decision_id = desk.hold()
    assert restarted(desk, richer, run_id="run-3") == 0
    assert desk.standing(decision_id).stage is Stage.HELD
    assert restarted(desk, run_id="run-4") == 1
    assert desk.outcome(decision_id) == "hold_expired"
