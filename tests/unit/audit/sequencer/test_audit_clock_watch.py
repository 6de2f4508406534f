"""The clock's own records: what makes one, what it says, and that there is no flood of them."""

from dataclasses import dataclass, replace

import pytest

from audit.sequencer.clock_watch import (
    AHEAD_US,
    BACK_US,
    QUIET_US,
    RENEW_US,
    ClockReading,
    ClockWatch,
    discipline_of,
    read_clock,
)
from tests.doubles.audit_log import TIME_US

READING = ClockReading(
    source="test", status="synchronised", host="here", offset_us=-3, error_us=250
)


@dataclass(slots=True)
class Machine:
    """Two clocks that a test moves; a thread may sleep between two looks at them."""

    wall_us: int = TIME_US
    monotonic_us: int = 0
    slept_us: tuple[int, int] = (0, 0)
    reading: ClockReading = READING

    def watch(self, *, asked: bool = True, recorded_us: int = 0) -> ClockWatch:
        read = (lambda: self.reading) if asked else None
        return ClockWatch(self._wall, read, recorded_us, lambda: self.monotonic_us)

    def pass_us(self, us: int, leap_us: int = 0) -> None:
        self.monotonic_us += us
        self.wall_us += us + leap_us

    def _wall(self) -> int:
        self.pass_us(self.slept_us[0])
        told = self.wall_us
        self.pass_us(self.slept_us[1])
        return told


def written(watch: ClockWatch, size: int = 0) -> dict[str, object] | None:
    """Look at the clock as for a batch; return what went on record with it."""
    watch.now_us()
    draft = watch.draft(size)
    if draft is None:
        return None
    assert (draft.actor, draft.idem_key) == ("ledger", f"clock:{size}")
    watch.recorded()
    return dict(draft.payload)


def facts(payload: dict[str, object] | None) -> tuple[object, object] | None:
    if payload is None:
        return None
    return payload["reason"], payload["step_us"]


def test_a_process_says_first_how_good_its_clock_is() -> None:
    machine = Machine()
    watch = machine.watch()
    assert watch.now_us() == TIME_US
    assert watch.draft(7) == watch.draft(7), "until it is committed it is still to be written"
    assert written(watch) == {
        "reason": "opened",
        "wall_us": TIME_US,
        "source": "test",
        "status": "synchronised",
        "offset_us": -3,
        "error_us": 250,
        "host": "here",
        "step_us": 0,
    }
    assert written(watch) is None


def test_what_keeps_the_clock_is_said_where_it_is_known() -> None:
    kept = replace(READING, discipline="phase-locked loop")
    payload = written(Machine(reading=kept).watch())
    assert payload is not None
    assert payload["discipline"] == "phase-locked loop"


@pytest.mark.parametrize("asked", [True, False])
def test_a_leap_is_written_with_its_size_and_a_steady_clock_is_not(*, asked: bool) -> None:
    machine = Machine()
    watch = machine.watch(asked=asked)
    assert facts(written(watch)) == (("opened", 0) if asked else None)
    for us in (1, 1_000_000, RENEW_US - 2_000_000):
        machine.pass_us(us)
        assert written(watch) is None
    machine.pass_us(1_000, leap_us=-BACK_US - 1_001)
    back = written(watch)
    assert back is not None
    assert facts(back) == ("went_back", -10_001 if not asked else -11_001)
    assert back["status"] == ("synchronised" if asked else "unknown")
    machine.pass_us(QUIET_US, leap_us=AHEAD_US + 1)
    assert facts(written(watch)) == ("jumped_ahead", AHEAD_US + 1)


def test_small_leaps_are_nothing_until_their_sum_is_something() -> None:
    machine = Machine()
    watch = machine.watch()
    assert written(watch) is not None
    for _ in range(10):
        machine.pass_us(1_000_000, leap_us=AHEAD_US // 10)
        assert written(watch) is None
    machine.pass_us(1_000_000, leap_us=1)
    assert facts(written(watch)) == ("jumped_ahead", AHEAD_US + 1)


@pytest.mark.parametrize("asked", [True, False])
def test_a_clock_set_back_in_small_steps_is_on_record(*, asked: bool) -> None:
    machine = Machine()
    watch = machine.watch(asked=asked)
    found = [facts(written(watch))]
    for _ in range(500):
        machine.pass_us(0, leap_us=-9_999)
        found.append(facts(written(watch)))
    assert [row for row in found if row][-1] == ("went_back", -2 * 9_999)
    machine.pass_us(QUIET_US)
    assert facts(written(watch)) == ("went_back", -498 * 9_999), "and then all of the rest"


def test_a_clock_that_loses_a_little_each_second_is_on_record() -> None:
    """It never goes below a time that was recorded: only the monotonic clock shows it."""
    machine = Machine()
    watch = machine.watch()
    found = []
    for _ in range(500):
        machine.pass_us(1_000_000, leap_us=-9_999)
        found.append(written(watch))
    sums = [int(str(row["step_us"])) for row in found if row is not None]
    assert -500 * 9_999 <= sum(sums) <= -440 * 9_999
    assert found[-1] is None or sum(sums) == -499 * 9_999


def test_a_leap_back_counts_from_the_highest_and_one_ahead_from_the_lowest() -> None:
    machine = Machine()
    watch = machine.watch()
    assert written(watch) is not None
    machine.pass_us(1_000_000, leap_us=AHEAD_US)
    assert written(watch) is None
    machine.pass_us(1_000_000, leap_us=-BACK_US - 1)
    assert facts(written(watch)) == ("went_back", -BACK_US - 1)
    machine.pass_us(QUIET_US, leap_us=-BACK_US)
    assert written(watch) is None
    machine.pass_us(1_000_000, leap_us=AHEAD_US + 1)
    assert facts(written(watch)) == ("jumped_ahead", AHEAD_US + 1)


def test_a_clock_that_nobody_keeps_is_not_held_to_run_evenly() -> None:
    machine = Machine()
    watch = machine.watch(asked=False)
    for leap_us in (-9_000_000, AHEAD_US, AHEAD_US):
        machine.pass_us(9_000_000, leap_us)
        assert written(watch) is None


def test_a_clock_that_was_set_back_before_the_process_began_is_on_record() -> None:
    machine = Machine()
    hour_us = 3_600_000_000
    watch = machine.watch(recorded_us=TIME_US + hour_us)
    assert facts(written(watch)) == ("went_back", -hour_us)
    machine.pass_us(1, leap_us=-BACK_US - 1)
    assert written(watch) is None, "not again so soon"
    machine.pass_us(QUIET_US)
    assert facts(written(watch)) == ("went_back", -BACK_US - 1)
    machine.pass_us(QUIET_US)
    assert written(watch) is None
    assert facts(written(machine.watch(asked=False, recorded_us=machine.wall_us + 10_001))) == (
        "went_back", -10_001
    )  # fmt: skip
    assert facts(written(machine.watch(recorded_us=machine.wall_us + BACK_US))) == ("opened", 0)
    assert facts(written(machine.watch(recorded_us=machine.wall_us - hour_us))) == ("opened", 0)


def test_a_thread_that_sleeps_between_two_looks_sees_no_leap() -> None:
    machine = Machine()
    watch = machine.watch()
    assert written(watch) is not None
    for slept_us in ((0, 5_000_000), (0, 0), (30_000_000, 7), (0, 9_000_000), (2_000_000, 0)):
        machine.slept_us = slept_us
        machine.pass_us(1_000)
        assert written(watch) is None


def test_a_clock_that_leaps_all_the_time_is_written_once_a_minute_with_all_of_it() -> None:
    machine = Machine()
    watch = machine.watch()
    found = [written(watch)]
    for _ in range(600):
        machine.pass_us(1_000_000, leap_us=-2_000_000)
        found.append(written(watch))
    payloads = [payload for payload in found if payload is not None]
    assert [payload["reason"] for payload in payloads] == ["opened", *["went_back"] * 10]
    assert sum(int(str(payload["step_us"])) for payload in payloads) <= -9 * 60 * 2_000_000


def test_a_clock_that_comes_home_before_its_leap_is_written_went_back_all_the_same() -> None:
    machine = Machine()
    watch = machine.watch()
    found = [facts(written(watch))]
    for leap_us in (-3_000_000, -50_000, 50_000, 2_000_000):
        machine.pass_us(1_000_000, leap_us)
        found.append(facts(written(watch)))
    assert found == [("opened", 0), ("went_back", -3_000_000), None, None, None]
    machine.pass_us(QUIET_US)
    assert facts(written(watch)) == ("went_back", -50_000)


def test_a_leap_while_the_record_of_another_is_committed_is_not_lost() -> None:
    machine = Machine()
    watch = machine.watch(asked=False)
    watch.now_us()
    machine.pass_us(0, leap_us=-1_000_000)
    watch.now_us()
    draft = watch.draft(1)
    assert draft is not None
    machine.pass_us(0, leap_us=-3_000_000)
    watch.now_us()
    watch.recorded()
    machine.pass_us(QUIET_US)
    assert (draft.payload["step_us"], facts(written(watch))) == (
        -1_000_000, ("went_back", -3_000_000)
    )  # fmt: skip


def test_a_leap_whose_batch_was_lost_is_in_the_next_one() -> None:
    machine = Machine()
    watch = machine.watch()
    watch.now_us()
    machine.pass_us(0, leap_us=-1_000_000)
    watch.now_us()
    assert watch.draft(1) is not None
    machine.pass_us(0, leap_us=-3_000_000)
    assert facts(written(watch)) == ("went_back", -4_000_000)


def test_lost_synchronisation_is_written_within_the_hour() -> None:
    machine = Machine()
    watch = machine.watch()
    assert written(watch) is not None
    machine.reading = replace(READING, status="unsynchronised", error_us=16_000_000)
    machine.pass_us(RENEW_US - 1)
    assert written(watch) is None
    machine.pass_us(1)
    lost = written(watch)
    assert lost is not None
    assert (lost["reason"], lost["status"]) == ("renewed", "unsynchronised")
    assert lost["error_us"] == 16_000_000
    assert written(watch) is None


def test_evidence_is_an_hour_old_at_most_when_records_are_written() -> None:
    machine = Machine()
    watch = machine.watch()
    assert facts(written(watch)) == ("opened", 0)
    machine.pass_us(RENEW_US - 1)
    assert written(watch) is None
    machine.pass_us(1)
    assert facts(written(watch)) == ("renewed", 0)
    machine.pass_us(9 * RENEW_US)
    assert facts(written(watch)) == ("renewed", 0)
    assert written(watch) is None


def test_a_clock_that_nobody_keeps_is_not_renewed() -> None:
    machine = Machine()
    watch = machine.watch(asked=False)
    assert written(watch) is None
    machine.pass_us(9 * RENEW_US)
    assert written(watch) is None


def test_the_kernel_answers_or_is_said_to_be_unknown() -> None:
    reading = read_clock()
    assert reading.host
    if reading.source == "adjtimex":
        assert reading.status in {"synchronised", "unsynchronised"}
        assert reading.error_us is not None
        assert reading.error_us >= 0
        assert reading.discipline
    else:
        assert (reading.source, reading.status, reading.error_us) == ("unknown", "unknown", None)


def test_the_discipline_is_what_the_status_word_says() -> None:
    """Source: linux/timex.h; a bit that asks for a pulse is nothing without the pulse's own."""
    assert discipline_of(0x2001) == "phase-locked loop"
    assert discipline_of(0x2009) == "frequency-locked loop"
    assert discipline_of(0x2107) == "pulse per second"
    assert discipline_of(0x2005) == "phase-locked loop"
    assert discipline_of(0x0040) == discipline_of(0x2000) == "no kernel loop"
