"""The clock's own records: what makes one, what it says, and that there is no flood of them."""

from dataclasses import dataclass, replace

from audit.timekeeping import (
    AHEAD_US,
    BACK_US,
    QUIET_US,
    STATUS_EVERY_US,
    ClockReading,
    ClockWatch,
    read_clock,
)
from tests.doubles.audit_log import TIME_US

READING = ClockReading(
    source="test", status="synchronised", host="here", offset_us=-3, error_us=250
)


@dataclass(slots=True)
class Machine:
    """Two clocks that a test moves."""

    wall_us: int = TIME_US
    monotonic_us: int = 0
    reading: ClockReading = READING

    def watch(self, *, asked: bool = True) -> ClockWatch:
        return ClockWatch((lambda: self.reading) if asked else None, lambda: self.monotonic_us)

    def pass_us(self, us: int, leap_us: int = 0) -> int:
        self.monotonic_us += us
        self.wall_us += us + leap_us
        return self.wall_us


def written(watch: ClockWatch, size: int = 0) -> dict[str, object] | None:
    draft = watch.draft(size)
    if draft is None:
        return None
    assert (draft.actor, draft.idem_key) == ("ledger", f"clock:{size}")
    watch.recorded()
    return dict(draft.payload)


def test_a_process_says_first_how_good_its_clock_is() -> None:
    machine = Machine()
    watch = machine.watch()
    watch.see(machine.wall_us)
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
        "omitted": 0,
    }
    assert written(watch) is None


def test_a_leap_is_written_with_its_size_and_a_steady_clock_is_not() -> None:
    machine = Machine()
    watch = machine.watch(asked=False)
    watch.see(machine.wall_us)
    for us in (1, 1_000_000, 3_600_000_000):
        watch.see(machine.pass_us(us))
    watch.see(machine.pass_us(1_000_000, leap_us=AHEAD_US))
    watch.see(machine.pass_us(1_000, leap_us=-BACK_US - 1_000))
    assert written(watch) is None
    watch.see(machine.pass_us(1_000, leap_us=-BACK_US - 1_001))
    back = written(watch)
    assert back is not None
    assert (back["reason"], back["step_us"], back["status"]) == ("went_back", -10_001, "unknown")
    watch.see(machine.pass_us(QUIET_US, leap_us=AHEAD_US + 1))
    ahead = written(watch)
    assert ahead is not None
    assert (ahead["reason"], ahead["step_us"]) == ("jumped_ahead", AHEAD_US + 1)


def test_a_clock_that_leaps_all_the_time_is_written_once_a_while_with_the_count() -> None:
    machine = Machine()
    watch = machine.watch()
    found = []
    for _ in range(600):
        watch.see(machine.pass_us(1_000_000, leap_us=-2_000_000))
        if (payload := written(watch)) is not None:
            found.append(payload)
    assert [payload["reason"] for payload in found] == ["opened", *["went_back"] * 10]
    assert sum(int(str(payload["omitted"])) + 1 for payload in found) >= 9 * 59


def test_lost_synchronisation_is_written_when_it_is_noticed() -> None:
    machine = Machine()
    watch = machine.watch()
    watch.see(machine.wall_us)
    assert written(watch) is not None
    machine.reading = replace(READING, status="unsynchronised", error_us=16_000_000)
    watch.see(machine.pass_us(STATUS_EVERY_US - 1))
    assert written(watch) is None
    watch.see(machine.pass_us(1))
    lost = written(watch)
    assert lost is not None
    assert (lost["reason"], lost["status"]) == ("status_changed", "unsynchronised")
    assert lost["error_us"] == 16_000_000
    watch.see(machine.pass_us(STATUS_EVERY_US))
    assert written(watch) is None


def test_the_kernel_answers_or_is_said_to_be_unknown() -> None:
    reading = read_clock()
    assert reading.host
    if reading.source == "adjtimex":
        assert reading.status in {"synchronised", "unsynchronised"}
        assert reading.error_us is not None
        assert reading.error_us >= 0
    else:
        assert (reading.source, reading.status, reading.error_us) == ("unknown", "unknown", None)
