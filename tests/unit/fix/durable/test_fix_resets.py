"""Numbers that begin anew: counted, judged by the profile, and durable before they count."""

from pathlib import Path

import pytest

from fix.dialects.engine_settings import initiator_settings
from fix.dialects.profile import (
    Profile,
    Resets,
    SessionMode,
    parse_profile,
    simulator_profile,
)
from fix.durable.resets import DAY_US, ResetCause, Sequence, last_start_us, resets_of
from fix.errors import ProfileError

SIMULATOR = simulator_profile(9)
BY_BROKER = SIMULATOR.model_copy(update={"resets": Resets.BY_BROKER})
NIGHTLY = SIMULATOR.model_copy(
    update={"resets": Resets.NIGHTLY, "session_start": "22:15:00", "session_end": "22:00:00"}
)


def counted(
    folder: Path, profile: Profile = SIMULATOR, *, sent: int = 40, received: int = 30
) -> Sequence:
    """A session that has used so many numbers."""
    stored = (sent + 1, received + 1)
    return Sequence(folder, profile, lambda: 7, stored=stored, on_record=0)


def test_a_beginning_that_is_not_allowed_changes_no_number_and_is_in_the_file(
    tmp_path: Path,
) -> None:
    sequence = counted(tmp_path)
    found = sequence.flagged()
    assert found is not None
    assert (found.allowed, found.cause) == (False, ResetCause.BY_BROKER)
    assert (found.old_sender, found.old_target) == (41, 31)
    assert (found.new_sender, found.new_target) == (41, 31)
    assert (sequence.epoch, resets_of(tmp_path)) == (0, (found,))


def test_an_allowed_beginning_opens_an_epoch(tmp_path: Path) -> None:
    sequence = counted(tmp_path, BY_BROKER)
    found = sequence.flagged()
    assert found is not None
    assert (found.allowed, found.reset_no, sequence.epoch) == (True, 1, 1)
    assert (found.old_sender, found.new_sender, found.new_target) == (41, 1, 1)
    again = counted(tmp_path, BY_BROKER, sent=3, received=3)
    assert again.epoch == 1
    second = again.flagged()
    assert second is not None
    assert (second.reset_no, second.old_sender, again.epoch) == (2, 4, 2)


def test_what_counted_nothing_begins_nothing_anew(tmp_path: Path) -> None:
    sequence = counted(tmp_path, sent=0, received=0)
    assert sequence.logging_on(1, 1) is None
    assert sequence.flagged() is None
    sequence.sent(1)  # the logout in between
    assert sequence.logging_on(1, 1) is None  # it agrees by 141=Y
    assert sequence.logged_on() is True
    assert sequence.logging_on(2, 2) is None
    assert sequence.logged_on() is False
    assert resets_of(tmp_path) == ()


def test_a_broker_that_begins_again_leaves_our_own_numbers(tmp_path: Path) -> None:
    found = counted(tmp_path, BY_BROKER).too_low(31)
    assert (found.cause, found.allowed) == (ResetCause.BEGUN_AGAIN, True)
    assert (found.old_sender, found.new_sender) == (41, 41)
    assert (found.old_target, found.new_target) == (31, 1)


def test_a_used_number_of_our_own_logon_shows_the_schedules_beginning(tmp_path: Path) -> None:
    sequence = counted(tmp_path, NIGHTLY)
    assert sequence.logging_on(41, 31) is None
    found = sequence.logging_on(1, 1)
    assert found is not None
    assert (found.cause, found.old_sender, found.old_target) == (ResetCause.NIGHTLY, 42, 31)
    assert sequence.logging_on(2, 2) is None


def test_a_store_that_the_engine_began_anew_shows_when_it_is_opened(tmp_path: Path) -> None:
    assert counted(tmp_path, NIGHTLY).opened(41) is None
    found = counted(tmp_path, NIGHTLY).opened(1)
    assert found is not None
    assert found.cause is ResetCause.NIGHTLY


def test_a_persons_word_allows_one_beginning(tmp_path: Path) -> None:
    sequence = counted(tmp_path)
    sequence.accept_once = True
    first, second = sequence.flagged(), sequence.too_low(9)
    assert first is not None
    assert (first.allowed, second.allowed) == (True, False)


def refused(folder: Path) -> Sequence:
    """A session that has refused a beginning, and was opened again."""
    assert counted(folder).flagged() is not None
    return counted(folder)


def test_a_refused_beginning_is_remembered_until_the_session_goes_on(tmp_path: Path) -> None:
    sequence = refused(tmp_path)
    assert sequence.last_refused == resets_of(tmp_path)[0]
    assert sequence.epoch == 0
    assert sequence.goes_on() is None, "neither the profile nor a person allows it"
    assert sequence.last_refused is not None
    sequence.accept_once = True
    found = sequence.goes_on()
    assert found is not None
    assert (found.cause, found.allowed, found.reset_no) == (ResetCause.AFTER_REFUSAL, True, 2)
    assert (found.new_sender, found.new_target) == (41, 1), "theirs are asked for from 1 on"
    assert sequence.last_refused is None, "the next logon of this life asks for nothing anew"
    assert sequence.epoch == 2
    assert counted(tmp_path).last_refused is None, "after the next start neither"
    assert counted(tmp_path).epoch == 2


def test_a_profile_that_follows_the_broker_goes_on_after_a_refusal(tmp_path: Path) -> None:
    refused(tmp_path)
    for profile, goes_on in ((NIGHTLY, False), (BY_BROKER, True)):
        assert (counted(tmp_path, profile).goes_on() is not None) is goes_on


def test_a_refused_beginning_opens_no_epoch_and_keeps_its_number(tmp_path: Path) -> None:
    counted(tmp_path, BY_BROKER).flagged()
    refused(tmp_path)
    sequence = counted(tmp_path, BY_BROKER)
    assert sequence.epoch == 1
    third = sequence.flagged()
    assert third is not None
    assert (third.reset_no, sequence.epoch) == (3, 3)


def test_several_beginnings_in_one_life_are_numbered_on(tmp_path: Path) -> None:
    sequence = counted(tmp_path, BY_BROKER)
    first, second = sequence.too_low(31), sequence.flagged()
    assert second is not None
    assert (first.reset_no, second.reset_no) == (1, 2)
    assert (second.old_sender, second.old_target) == (41, 1), "theirs began anew before"
    assert [one.reset_no for one in resets_of(tmp_path)] == [1, 2]


@pytest.mark.parametrize(
    ("sent", "received", "counts"), [(1, 0, False), (0, 0, False), (2, 0, True), (1, 1, True)]
)
def test_more_than_a_logon_of_ours_is_something_to_lose(
    tmp_path: Path, sent: int, received: int, *, counts: bool
) -> None:
    found = counted(tmp_path, sent=sent, received=received).flagged()
    assert (found is not None) is counts


@pytest.mark.parametrize(("number", "begun"), [(39, True), (40, True), (41, False)])
def test_a_number_that_was_used_shows_a_beginning(
    tmp_path: Path, number: int, *, begun: bool
) -> None:
    assert (counted(tmp_path, NIGHTLY).opened(number) is not None) is begun
    at_logon = counted(tmp_path, NIGHTLY).logging_on(number, 1)
    assert (at_logon is not None) is begun


def test_in_reset_mode_each_logon_begins_anew_and_says_so(tmp_path: Path) -> None:
    profile = SIMULATOR.model_copy(update={"mode": SessionMode.RESET})
    sequence = counted(tmp_path, profile)
    found = sequence.logging_on(1, 9)
    assert found is not None
    assert (found.cause, found.new_sender, found.new_target) == (ResetCause.AT_LOGON, 1, 1)
    sequence.sent(5)
    again = sequence.logging_on(1, 1)
    assert again is not None
    assert (again.old_sender, again.old_target, again.reset_no) == (6, 9, 2)


def test_a_logon_that_agrees_to_the_brokers_beginning_is_not_one_more(tmp_path: Path) -> None:
    sequence = counted(tmp_path, BY_BROKER)
    sequence.flagged()
    sequence.sent(3)
    assert sequence.logging_on(1, 1) is None
    assert sequence.logged_on()
    assert not sequence.logged_on()
    found = sequence.logging_on(1, 1)
    assert found is not None
    assert found.cause is ResetCause.NIGHTLY


def test_a_schedule_does_not_let_the_broker_begin_anew(tmp_path: Path) -> None:
    sequence = counted(tmp_path, NIGHTLY)
    found = sequence.flagged()
    assert found is not None
    assert not found.allowed
    assert not sequence.too_low(31).allowed


def test_a_refusal_agrees_to_nothing(tmp_path: Path) -> None:
    sequence = counted(tmp_path)
    sequence.flagged()
    assert not sequence.logged_on()


def test_numbers_that_arrive_late_count_once(tmp_path: Path) -> None:
    sequence = counted(tmp_path)
    sequence.sent(12)
    sequence.received(11)
    assert str(sequence.flagged()) == (
        "the broker begins its numbers anew (141=Y in its logon); next were 41 of ours and 31 of"
        " theirs, refused"
    )


def test_numbers_go_on_behind_what_is_on_record(tmp_path: Path) -> None:
    """A folder whose file is lost does not use a number of the ledger's again."""
    sequence = Sequence(tmp_path, BY_BROKER, lambda: 7, stored=(5, 5), on_record=3)
    assert sequence.epoch == 3
    found = sequence.flagged()
    assert found is not None
    assert (found.reset_no, sequence.epoch) == (4, 4)


def test_a_line_that_a_crash_cut_off_is_no_beginning(tmp_path: Path) -> None:
    counted(tmp_path, BY_BROKER).flagged()
    whole = (tmp_path / "resets").read_bytes()
    (tmp_path / "resets").write_bytes(whole + whole[:20])
    assert len(resets_of(tmp_path)) == 1
    counted(tmp_path, BY_BROKER).flagged()
    assert [one.reset_no for one in resets_of(tmp_path)] == [1, 2]


def test_a_disk_that_refuses_leaves_the_numbers(tmp_path: Path) -> None:
    sequence = counted(tmp_path / "gone", BY_BROKER)
    with pytest.raises(OSError, match="resets"):
        sequence.flagged()
    assert sequence.epoch == 0


@pytest.mark.parametrize(
    ("resets", "start", "end"),
    [
        ("nightly", "", ""),
        ("nightly", "22:00:00", ""),
        ("nightly", "22:00:00", "22:00:00"),
        ("by_broker", "22:00:00", "21:00:00"),
        ("none", "", "21:00:00"),
        ("nightly", "24:00:00", "21:00:00"),
        ("sometimes", "", ""),
    ],
)
def test_resets_and_times_that_do_not_fit_are_no_profile(resets: str, start: str, end: str) -> None:
    document = SIMULATOR.model_dump(mode="json")
    changed = document | {"resets": resets, "session_start": start, "session_end": end}
    with pytest.raises(ProfileError):
        parse_profile(Profile.model_construct(**changed).model_dump_json(warnings=False))


def test_a_nightly_session_keeps_its_times_in_the_engine() -> None:
    lines = initiator_settings(NIGHTLY, store="s", log="l", dictionary="d").splitlines()
    assert {"StartTime=22:15:00", "EndTime=22:00:00"} <= set(lines)
    assert "NonStopSession=Y" not in lines
    assert parse_profile(NIGHTLY.model_dump_json()) == NIGHTLY


def test_a_session_began_last_at_its_time_of_day() -> None:
    begins = (22 * 3600 + 15 * 60) * 1_000_000
    assert last_start_us(NIGHTLY, DAY_US * 5 + begins) == DAY_US * 5 + begins
    assert last_start_us(NIGHTLY, DAY_US * 5 + begins - 1) == DAY_US * 4 + begins
    assert last_start_us(SIMULATOR, DAY_US) == 0
