"""Numbers that begin anew, as the engine's callbacks see it. The engine is never started."""

import gc
from pathlib import Path

import pytest
import quickfix

from fix.dialects.profile import Profile, Resets
from fix.durable.resets import Reset, ResetCause, resets_of
from tests.doubles.fix_world import PROFILE
from tests.doubles.unstarted_engine import Engine, engine, reopened

BY_BROKER = PROFILE.model_copy(update={"resets": Resets.BY_BROKER})
LOGON = ((35, "A"), (98, "0"), (108, "10"))
FLAGGED = (*LOGON, (141, "Y"))
TOO_LOW = (35, "5"), (58, "MsgSeqNum too low, expecting 31 but received 1")


def counted(tmp_path: Path, profile: Profile) -> Engine:
    """A session that has used 40 numbers and taken 30."""
    world = engine(tmp_path, profile)
    world.session.raise_sender(41)
    quickfix.Session.lookupSession(world.callbacks.session_id).setNextTargetMsgSeqNum(31)
    world.callbacks.sequence.sent(40)
    world.callbacks.sequence.received(30)
    return world


def begun_anew(world: Engine) -> None:
    """As the engine does before it asks about a logon with 141=Y."""
    session = quickfix.Session.lookupSession(world.callbacks.session_id)
    session.setNextSenderMsgSeqNum(1)
    session.setNextTargetMsgSeqNum(1)


def resets_at_logon(world: Engine) -> bool:
    return bool(quickfix.Session.lookupSession(world.callbacks.session_id).getResetOnLogon())


def enabled(world: Engine) -> bool:
    return bool(quickfix.Session.lookupSession(world.callbacks.session_id).isEnabled())


def test_a_beginning_by_the_broker_that_is_refused_puts_the_numbers_back(tmp_path: Path) -> None:
    world = counted(tmp_path, PROFILE)
    begun_anew(world)
    with pytest.raises(quickfix.RejectLogon):
        world.comes_in(*FLAGGED)
    ((found,),) = world.told("reset")
    assert isinstance(found, Reset)
    assert (found.allowed, found.cause) == (False, ResetCause.BY_BROKER)
    assert resets_of(tmp_path) == (found,)
    assert not enabled(world), "each further try would use numbers"
    assert world.callbacks.is_leaving
    assert not resets_at_logon(world)
    world.callbacks.onLogout(world.callbacks.session_id)
    assert world.session.numbers() == (41, 31)
    begun_anew(world)
    world.callbacks.onLogout(world.callbacks.session_id)
    assert world.session.numbers() == (1, 1), "once"


def test_a_beginning_by_the_broker_that_is_allowed_is_agreed_to_at_our_next_logon(
    tmp_path: Path,
) -> None:
    world = counted(tmp_path, BY_BROKER)
    begun_anew(world)
    with pytest.raises(quickfix.RejectLogon):
        world.comes_in(*FLAGGED)
    ((found,),) = world.told("reset")
    assert isinstance(found, Reset)
    assert found.allowed
    assert enabled(world)
    assert resets_at_logon(world)
    world.callbacks.onLogout(world.callbacks.session_id)
    assert world.session.numbers() == (1, 1)
    world.goes_out(*FLAGGED)
    world.comes_in(*FLAGGED)
    assert world.told("reset") == [(found,)], "the answer to our own 141=Y is no new beginning"
    world.callbacks.onLogon(world.callbacks.session_id)
    assert not resets_at_logon(world), "agreed once"
    with pytest.raises(quickfix.RejectLogon):
        world.comes_in(*FLAGGED)


def test_a_logon_without_the_flag_is_let_in(tmp_path: Path) -> None:
    world = counted(tmp_path, PROFILE)
    world.comes_in(*LOGON, number=31)
    world.comes_in(*LOGON, (141, "N"), number=31)
    assert world.told("reset") == []
    assert world.told("fault") == []


def test_a_flag_after_a_try_of_ours_that_failed_is_the_brokers_own(tmp_path: Path) -> None:
    world = counted(tmp_path, PROFILE)
    world.goes_out(*FLAGGED, number=41)
    world.callbacks.onLogout(world.callbacks.session_id)
    with pytest.raises(quickfix.RejectLogon):
        world.comes_in(*FLAGGED)


def test_our_own_logon_under_a_used_number_shows_the_schedules_beginning(tmp_path: Path) -> None:
    world = counted(tmp_path, PROFILE)
    world.goes_out(*LOGON, number=41)
    assert world.told("reset") == []
    begun_anew(world)
    world.goes_out(*LOGON, number=1)
    ((found,),) = world.told("reset")
    assert isinstance(found, Reset)
    assert (found.cause, found.old_sender, found.old_target) == (ResetCause.NIGHTLY, 42, 31)


def test_a_broker_that_begins_again_at_one_is_refused_or_followed_by_profile(
    tmp_path: Path,
) -> None:
    for profile, allowed in ((PROFILE, False), (BY_BROKER, True)):
        folder = tmp_path / profile.resets
        folder.mkdir()
        world = counted(folder, profile)
        world.goes_out(*TOO_LOW, number=41)
        ((found,),) = world.told("reset")
        assert isinstance(found, Reset)
        assert (found.cause, found.allowed) == (ResetCause.BEGUN_AGAIN, allowed)
        assert (found.old_sender, found.old_target) == (42, 31)
        assert enabled(world) is allowed
        assert world.callbacks.is_leaving is not allowed
        assert world.session.numbers() == (41, 1 if allowed else 31)


@pytest.mark.parametrize("fields", [((35, "5"), (58, "good night")), ((35, "0"),)])
def test_other_talk_of_ours_only_counts(
    tmp_path: Path, fields: tuple[tuple[int, str], ...]
) -> None:
    world = counted(tmp_path, PROFILE)
    world.goes_out(*fields, number=44)
    assert world.told("reset") == []
    assert world.callbacks.sequence.too_low(1).old_sender == 45


def test_the_same_words_in_a_session_that_is_up_are_no_new_beginning(tmp_path: Path) -> None:
    world = counted(tmp_path, BY_BROKER)
    world.ready()
    world.goes_out(*TOO_LOW, number=41)
    assert world.told("reset") == []


# -- the store


def test_a_store_that_a_crash_left_begun_anew_is_put_back_if_that_was_refused(
    tmp_path: Path,
) -> None:
    world = counted(tmp_path, PROFILE)
    begun_anew(world)
    with pytest.raises(quickfix.RejectLogon):
        world.comes_in(*FLAGGED)
    profile = world.profile
    del world
    gc.collect()
    again = reopened(tmp_path, profile)
    assert again.session.numbers() == (1, 1)
    assert again.session.opened() is None
    assert again.session.numbers() == (41, 31)


@pytest.mark.parametrize("numbers", [(41, 35), (44, 31), (44, 35)])
def test_a_store_that_went_on_after_a_refusal_is_not_put_back(
    tmp_path: Path, numbers: tuple[int, int]
) -> None:
    """What was used or taken since would be used or taken a second time."""
    world = counted(tmp_path, PROFILE)
    with pytest.raises(quickfix.RejectLogon):
        world.comes_in(*FLAGGED)
    world.engines.setNextSenderMsgSeqNum(numbers[0])
    world.engines.setNextTargetMsgSeqNum(numbers[1])
    profile = world.profile
    del world
    gc.collect()
    again = reopened(tmp_path, profile)
    assert again.session.opened() is None
    assert again.session.numbers() == numbers


def test_a_store_that_goes_on_opens_nothing_anew(tmp_path: Path) -> None:
    world = counted(tmp_path, PROFILE)
    assert world.session.opened() is None
    assert world.session.numbers() == (41, 31)
    begun_anew(world)
    found = world.session.opened()
    assert found is not None
    assert (found.cause, found.old_sender, found.new_sender) == (ResetCause.NIGHTLY, 41, 1)


def test_numbers_are_raised_and_asked_for_from_the_first(tmp_path: Path) -> None:
    world = counted(tmp_path, PROFILE)
    world.session.raise_sender(99)
    assert world.session.numbers() == (99, 31)
    world.session.expect_from_first()
    assert world.session.numbers() == (99, 1)
