"""A logon counts once the counterparty has answered a question that came after it."""

from fix.session.logon_probe import PROBE_AGAIN_US, RESENT_US, LogonProbe


def test_nothing_is_asked_without_a_logon() -> None:
    probe = LogonProbe()
    assert probe.due(0) is None
    assert not probe.answered("")
    assert not probe.answered("logon-0-1")


def test_a_probe_is_asked_at_once_and_again_until_one_is_answered() -> None:
    probe = LogonProbe()
    probe.logged_on(3)
    first = probe.due(0)
    assert first is not None
    assert probe.due(PROBE_AGAIN_US - 1) is None
    second = probe.due(PROBE_AGAIN_US)
    assert second is not None
    assert second != first
    assert probe.answered(second)
    assert probe.due(10 * PROBE_AGAIN_US) is None
    assert not probe.answered(first), "a logon is proven once"


def test_a_probe_that_a_gap_fill_may_have_swallowed_is_asked_again_soon() -> None:
    probe = LogonProbe()
    probe.logged_on(1)
    asked_us = 5_000_000
    assert probe.due(asked_us) is not None
    resent_us = asked_us + 1_000
    assert probe.due(resent_us + RESENT_US - 1, resent_us) is None
    assert probe.due(resent_us + RESENT_US, resent_us) is not None
    assert probe.due(resent_us + 2 * RESENT_US, resent_us) is None, "once for each request"
    again_us = resent_us + 3 * RESENT_US
    assert probe.due(again_us + RESENT_US, again_us) is not None


def test_an_answer_of_another_logon_or_question_proves_nothing() -> None:
    probe = LogonProbe()
    probe.logged_on(1)
    old = probe.due(0)
    assert old is not None
    probe.logged_on(11)
    assert not probe.answered(old)
    assert not probe.answered("before logout")
    new = probe.due(0)
    assert new is not None
    assert probe.answered(new)


def test_an_answer_after_the_logout_proves_nothing() -> None:
    probe = LogonProbe()
    probe.logged_on(1)
    asked = probe.due(0)
    assert asked is not None
    probe.logged_off()
    assert not probe.answered(asked)
    assert probe.due(PROBE_AGAIN_US) is None


def test_a_probe_sent_while_the_engine_answers_a_resend_request_is_asked_again() -> None:
    """Until the grace is over the gap fill may be on its way, and swallows what left before it."""
    for after_us, again in ((0, True), (RESENT_US - 1, True), (RESENT_US, False)):
        probe = LogonProbe()
        probe.logged_on(1)
        resent_us = 5_000_000
        assert probe.due(resent_us + after_us) is not None
        due = probe.due(resent_us + RESENT_US, resent_us)
        assert (due is not None) is again
