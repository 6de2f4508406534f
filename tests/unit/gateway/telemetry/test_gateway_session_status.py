"""The session's status, from what the FIX child told."""

from typing import Any

from fix.dialects.profile import simulator_profile
from fix.session.link import Frame, SessionState
from gateway.telemetry.session import SessionStatus, session_status

VITALS: Frame = {
    "at_us": 9_000_000,
    "next_sender": 12,
    "next_target": 7,
    "in_us": 8_000_000,
    "out_us": 9_500_000,
    "received": 6,
    "sent": 11,
    "highest_in": 6,
    "last_s": {"F": 3},
    "most": {"F": 9, "D": 2, "q": 1},
    "gaps": [[9_000_000, "out", "2", "4", "0"], [9_900_000, "in", "4", "4", "7"]],
    "recent": [[9_000_000, "out", "D", 10, False, "ORDER"], [9_400_000, "in", "8", 6, True, ""]],
}


def status(vitals: Frame = VITALS, **changes: Any) -> SessionStatus:  # noqa: ANN401 - any argument
    given: dict[str, Any] = {
        "state": SessionState.READY,
        "detail": "",
        "logon_no": 2,
        "reconciled": (3, 5),
        "now_us": 10_000_000,
    }
    return session_status(simulator_profile(1), vitals, **{**given, **changes})


def test_numbers_ages_and_progress_are_the_childs() -> None:
    found = status()
    assert (found.next_sender, found.next_target, found.missing) == (12, 7, None)
    assert (found.told_ms, found.received_ms, found.sent_ms) == (1_000, 2_000, 500)
    assert (found.answered, found.asked, found.state) == (3, 5, "READY")
    assert [(one.what, one.number, one.again) for one in found.recent] == [
        ("ExecutionReport", 6, True),
        ("NewOrderSingle", 10, False),
    ]


def test_a_message_above_the_expected_number_shows_what_is_missing() -> None:
    assert status({**VITALS, "highest_in": 9}).missing == (7, 9)
    assert status({**VITALS, "highest_in": 7}).missing == (7, 7)


def test_gaps_say_who_asked_and_who_filled() -> None:
    assert [one.what for one in status().gaps] == [
        "the broker filled 4 up to 7",
        "we asked for 4 on",
    ]


def test_the_throttle_has_the_profiles_limits() -> None:
    pace = simulator_profile(1).pace
    rates = {one.what: (one.last_s, one.most, one.limit) for one in status().rates}
    assert rates == {
        "NewOrderSingle": (0, 2, None),
        "OrderCancelRequest": (3, 9, pace.cancels_per_s),
        "OrderMassCancelRequest": (0, 1, None),
        "OrderStatusRequest": (0, 0, pace.questions_per_s),
    }


def test_without_a_child_only_the_state_is_known() -> None:
    found = status({}, state=SessionState.DOWN, detail="gone")
    assert (found.told_ms, found.received_ms, found.rates, found.recent) == (None, None, (), ())
    assert found.summary() == {
        "state": "DOWN",
        "next_sender": 0,
        "next_target": 0,
        "missing": None,
        "received_ms_ago": None,
        "sent_ms_ago": None,
        "told_ms_ago": None,
        "reconciled": None,
        "detail": "gone",
        "foreign_orders": 0,
    }


def test_the_summary_names_no_order() -> None:
    assert "ORDER" in str(status())
    assert "ORDER" not in str(status().summary())


def test_figures_of_an_earlier_logon_are_not_called_reconciled() -> None:
    for state in (SessionState.DOWN, SessionState.CONNECTING, SessionState.REFUSED):
        assert status(state=state).reconciliation == "no: the session is not logged on"
        assert status(state=state).summary()["reconciled"] is None
    said = status(state=SessionState.RECONCILING).reconciliation
    assert said == "under way; 3 of 5 orders answered"
    assert status().reconciliation == "3 of 5 orders answered"
    assert status(reconciled=(0, 0)).reconciliation == "yes; no open order"
