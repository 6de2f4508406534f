"""When a sweep begins, what it tells and when it ends, step by step."""

from dataclasses import replace

import pytest

from fix.orders.live import LiveOrder
from fix.orders.sweep import GRACE_US, Sweep, SweepOutcome
from fix.orders.sweeper import RESEND_GRACE_US, Sweeper, SweepPhase, SweepStep, View
from tests.doubles.fix_world import PROFILE, replace_pace
from tests.unit.fix.orders.test_fix_sweep import kinds, live, without_mass_cancel

NOW_US = 5_000_000
SINGLE = replace_pace(without_mass_cancel(), sweep_timeout_s=2)
QUIET = View(
    kill_epoch=0,
    killed=False,
    logon_no=1,
    resent_us=0,
    proven_no=0,
    live=(live("A"),),
    now_us=NOW_US,
    wall_us=9,
)
KILLED = replace(QUIET, kill_epoch=1, killed=True)


def phases(step: SweepStep) -> list[SweepPhase]:
    return [phase for phase, _ in step.told]


def swept(view: View = KILLED) -> tuple[Sweeper, SweepStep]:
    sweeper = Sweeper(SINGLE)
    return sweeper, sweeper.step(view)


def test_without_a_kill_or_a_command_nothing_happens() -> None:
    sweeper = Sweeper(SINGLE)
    assert sweeper.step(QUIET) == SweepStep()
    assert sweeper.step(replace(QUIET, live=())) == SweepStep()
    assert not sweeper.is_sweeping


def test_a_kill_begins_says_what_is_live_and_cancels_it() -> None:
    sweeper, step = swept()
    assert step.told == ((SweepPhase.BEGAN, SweepOutcome(unknown=("A",))),)
    assert kinds(step.messages) == [("F", "A")]
    assert sweeper.is_sweeping
    assert phases(sweeper.step(KILLED)) == [], "told once"


@pytest.mark.parametrize("killed", [True, False])
def test_a_press_or_a_command_that_finds_nothing_is_answered_once(*, killed: bool) -> None:
    sweeper = Sweeper(SINGLE)
    nothing = replace(KILLED if killed else QUIET, live=())
    if not killed:
        assert not sweeper.is_sweeping
        sweeper.want()
        assert sweeper.is_sweeping
    assert sweeper.step(nothing) == SweepStep(told=((SweepPhase.ENDED, SweepOutcome()),))
    assert not sweeper.is_sweeping
    assert sweeper.step(nothing) == SweepStep()
    if killed:
        again = replace(nothing, kill_epoch=2)
        assert phases(sweeper.step(again)) == [SweepPhase.ENDED], "each press has its answer"
        assert sweeper.step(again) == SweepStep()


def test_a_sweep_that_begins_within_a_press_ends_before_the_presss_own_answer() -> None:
    """The gate shuts before the new epoch is on disk: a child sees it killed under the old one."""
    sweeper, step = swept(replace(KILLED, kill_epoch=0))
    assert phases(step) == [SweepPhase.BEGAN]
    gone = replace(KILLED, kill_epoch=0, live=())
    assert sweeper.step(gone).told == ((SweepPhase.ENDED, SweepOutcome(confirmed=("A",))),)
    own = replace(gone, kill_epoch=1)
    assert sweeper.step(own).told == ((SweepPhase.ENDED, SweepOutcome()),)
    assert sweeper.step(own) == SweepStep()


def test_a_press_that_was_released_before_it_was_seen_is_not_answered() -> None:
    sweeper = Sweeper(SINGLE)
    assert sweeper.step(replace(QUIET, live=(), kill_epoch=1)) == SweepStep()
    assert sweeper.step(replace(KILLED, live=())) == SweepStep(
        told=((SweepPhase.ENDED, SweepOutcome()),)
    )


def test_the_first_epoch_of_all_is_a_press_too() -> None:
    """A damaged word reads as killed under epoch 0."""
    nothing = replace(KILLED, kill_epoch=0, live=())
    assert phases(Sweeper(SINGLE).step(nothing)) == [SweepPhase.ENDED]


def test_a_command_waits_for_the_session_and_a_kill_begins_at_once_but_sends_nothing() -> None:
    down = replace(QUIET, logon_no=0)
    sweeper = Sweeper(SINGLE)
    sweeper.want()
    assert sweeper.step(down) == SweepStep()
    assert kinds(sweeper.step(QUIET).messages) == [("F", "A")]
    sweeper, step = swept(replace(KILLED, logon_no=0))
    assert (phases(step), step.messages) == ([SweepPhase.BEGAN], ())
    late = sweeper.step(replace(KILLED, now_us=NOW_US + 60_000_000))
    assert kinds(late.messages) == [("F", "A")], "with the logon"


def test_a_kill_ends_when_all_is_gone_and_not_before() -> None:
    sweeper, _ = swept()
    patient = replace(KILLED, now_us=NOW_US + 2_000_000 - 1)
    assert phases(sweeper.step(patient)) == []
    late = replace(KILLED, now_us=NOW_US + 2_000_000)
    assert sweeper.step(late).told == ((SweepPhase.WAITING, SweepOutcome(unknown=("A",))),)
    much_later = replace(KILLED, now_us=NOW_US + 90_000_000)
    assert phases(sweeper.step(much_later)) == [], "told once for each logon"
    ended = sweeper.step(replace(much_later, live=()))
    assert ended.told == ((SweepPhase.ENDED, SweepOutcome(confirmed=("A",))),)
    assert not sweeper.is_sweeping
    assert sweeper.step(replace(much_later, live=())) == SweepStep()


def test_each_logon_has_its_own_patience_and_says_when_it_is_over() -> None:
    sweeper, _ = swept()
    late = replace(KILLED, now_us=NOW_US + 2_000_000)
    assert phases(sweeper.step(late)) == [SweepPhase.WAITING]
    second = replace(late, logon_no=2)
    step = sweeper.step(second)
    assert (phases(step), kinds(step.messages)) == ([], [("F", "A")])
    assert phases(sweeper.step(replace(second, now_us=NOW_US + 4_000_000 - 1))) == []
    assert phases(sweeper.step(replace(second, now_us=NOW_US + 4_000_000))) == [SweepPhase.WAITING]


def test_a_command_ends_with_its_patience_and_is_over_then() -> None:
    sweeper = Sweeper(SINGLE)
    sweeper.want()
    assert phases(sweeper.step(QUIET)) == [SweepPhase.BEGAN]
    assert phases(sweeper.step(replace(QUIET, now_us=NOW_US + 2_000_000 - 1))) == []
    late = replace(QUIET, now_us=NOW_US + 2_000_000)
    assert sweeper.step(late).told == ((SweepPhase.ENDED, SweepOutcome(unknown=("A",))),)
    assert not sweeper.is_sweeping
    assert sweeper.step(late) == SweepStep()


@pytest.mark.parametrize("killed", [True, False])
def test_only_a_kill_takes_in_what_is_new(*, killed: bool) -> None:
    sweeper = Sweeper(SINGLE)
    sweeper.want()
    view = KILLED if killed else QUIET
    sweeper.step(view)
    more = sweeper.step(replace(view, live=(live("A"), live("B"))))
    assert kinds(more.messages) == ([("F", "B")] if killed else [])


def test_a_release_ends_the_sweep_and_tells_what_it_left() -> None:
    sweeper, _ = swept()
    step = sweeper.step(replace(KILLED, killed=False))
    assert step.told == ((SweepPhase.ENDED, SweepOutcome(unknown=("A",))),)
    assert not sweeper.is_sweeping
    assert sweeper.step(replace(QUIET, kill_epoch=1)) == SweepStep()
    again = sweeper.step(replace(KILLED, kill_epoch=2))
    assert phases(again) == [SweepPhase.BEGAN]


def test_what_lives_again_after_the_last_word_takes_it_back() -> None:
    sweeper, _ = swept()
    assert phases(sweeper.step(replace(KILLED, live=()))) == [SweepPhase.ENDED]
    step = sweeper.step(KILLED)
    assert step.told == ((SweepPhase.REVIVED, SweepOutcome(unknown=("A",))),)
    assert kinds(step.messages) == [("F", "A")], "at once"
    assert phases(sweeper.step(replace(KILLED, live=()))) == [SweepPhase.ENDED]
    assert phases(sweeper.step(replace(KILLED, kill_epoch=2))) == [SweepPhase.BEGAN], (
        "another press"
    )
    nothing = Sweeper(SINGLE)
    assert phases(nothing.step(replace(KILLED, live=()))) == [SweepPhase.ENDED]
    assert phases(nothing.step(KILLED)) == [SweepPhase.REVIVED]
    nothing.step(replace(QUIET, kill_epoch=1))
    nothing.want()
    assert phases(nothing.step(replace(QUIET, kill_epoch=1))) == [SweepPhase.BEGAN], (
        "no kill's word"
    )


@pytest.mark.parametrize("stays", [(), (live("B"),)])
def test_a_broker_that_contradicts_itself_is_not_answered_without_end(
    stays: tuple[LiveOrder, ...],
) -> None:
    """It says of each cancel that the order is gone, and then that it works."""
    sweeper, step = swept(replace(KILLED, live=(*stays, live("A"))))
    moments_us = [0]
    for ms in range(0, 40_000, 5):
        view = replace(KILLED, now_us=NOW_US + 1000 * ms)
        if ("F", "A") in kinds(step.messages) and ms:
            moments_us.append(ms)
        if ("F", "A") in kinds(step.messages):
            sweeper.step(replace(view, live=stays))
        step = sweeper.step(replace(view, live=(*stays, live("A"))))
    after_s = [round(one / 1000) for one in moments_us]
    assert after_s == [0, 0, 1, 3, 7, 15, 23, 31, 39]
    logon = replace(KILLED, now_us=NOW_US + 40_000_000, logon_no=2, live=(*stays, live("A")))
    assert ("F", "A") in kinds(sweeper.step(logon).messages), "a logon asks for all at once"


def test_a_contradiction_repeats_no_mass_cancel_either() -> None:
    sweeper = Sweeper(PROFILE)
    count = 0
    for ms in range(0, 10_000, 5):
        view = replace(KILLED, now_us=NOW_US + 1000 * ms)
        sent = kinds(sweeper.step(view).messages)
        count += len(sent)
        if sent:
            sweeper.step(replace(view, live=()))
    assert 2 < count < 8


def test_a_kill_that_finds_nothing_sends_one_mass_cancel_for_each_press_and_logon() -> None:
    nothing = replace(KILLED, live=())
    sweeper = Sweeper(PROFILE)
    ids: set[str] = set()

    def sent(view: View) -> int:
        steps = [sweeper.step(view) for _ in range(3)]
        messages = [one for step in steps for one in step.messages]
        assert {dict(one)[35] for one in messages} <= {"q"}
        ids.update(dict(one)[11] for one in messages)
        return len(messages)

    assert sweeper.step(replace(nothing, killed=False)).messages == ()
    down = replace(nothing, logon_no=0)
    assert sweeper.step(down) == SweepStep(told=((SweepPhase.ENDED, SweepOutcome()),)), (
        "nobody waits for it"
    )
    assert sent(nothing) == 1
    assert sent(replace(nothing, kill_epoch=2)) == 1, "another press"
    second = replace(nothing, kill_epoch=2, logon_no=2)
    assert sent(replace(second, logon_no=0)) == 0
    assert sent(second) == 1, "another logon"
    gap = replace(second, resent_us=NOW_US)
    assert sent(replace(gap, now_us=NOW_US + RESEND_GRACE_US - 1)) == 0
    assert sent(replace(gap, now_us=NOW_US + RESEND_GRACE_US)) == 1, "a gap fill may have taken it"
    assert sent(replace(gap, now_us=NOW_US + RESEND_GRACE_US, proven_no=2)) == 1
    assert len(ids) == 5
    assert sent(replace(second, killed=False, logon_no=3)) == 0
    single = Sweeper(SINGLE)
    assert single.step(nothing) == SweepStep(told=((SweepPhase.ENDED, SweepOutcome()),))


def test_a_sweeps_own_mass_cancel_is_enough() -> None:
    sweeper = Sweeper(PROFILE)
    assert kinds(sweeper.step(KILLED).messages) == [("q", "")]
    for _ in range(3):
        assert sweeper.step(replace(KILLED, live=())).messages == ()


def test_a_press_during_a_sweep_is_answered_by_its_end_and_by_nothing_else() -> None:
    sweeper, _ = swept()
    second = replace(KILLED, kill_epoch=2)
    assert phases(sweeper.step(second)) == []
    assert phases(sweeper.step(replace(second, live=()))) == [SweepPhase.ENDED]
    assert not sweeper.is_sweeping
    assert sweeper.step(replace(second, live=())) == SweepStep(), "one press, one last word"


def test_two_sweeps_share_no_id() -> None:
    """Also if the wall clock stands still, or was set back."""
    ids: set[str] = set()
    sweeper = Sweeper(SINGLE)
    for epoch, wall_us in enumerate((9, 9, 5, 5), start=1):
        view = replace(KILLED, kill_epoch=epoch, wall_us=wall_us)
        ids |= {dict(one)[11] for one in sweeper.step(view).messages}
        sweeper.step(replace(view, live=()))
    assert len(ids) == 4
    _, later = swept(replace(KILLED, wall_us=100))
    assert dict(later.messages[0])[11] not in ids, "nor two children"


# -- what a resend may have swallowed is asked for anew


@pytest.mark.parametrize("moment", ["at the logon", "later"])
def test_cancels_wait_until_the_engine_has_answered_a_resend_request(moment: str) -> None:
    asked_us = NOW_US - 10
    due_us = asked_us + RESEND_GRACE_US
    if moment == "at the logon":
        sweeper, first = swept(replace(KILLED, resent_us=asked_us))
        assert first.messages == ()
    else:
        sweeper, first = swept()
        assert len(first.messages) == 1
        assert sweeper.step(replace(KILLED, resent_us=asked_us)).messages == ()
    view = replace(KILLED, resent_us=asked_us)
    assert sweeper.step(replace(view, now_us=due_us - 1)).messages == ()
    assert kinds(sweeper.step(replace(view, now_us=due_us)).messages) == [("F", "A")]
    assert sweeper.step(replace(view, now_us=due_us + 1)).messages == (), "once for each request"


def test_a_request_of_long_ago_holds_nothing_up() -> None:
    _, step = swept(replace(KILLED, resent_us=NOW_US - 10 * RESEND_GRACE_US))
    assert kinds(step.messages) == [("F", "A")]


@pytest.mark.parametrize(
    ("resent_us", "proven_no", "again"),
    [(NOW_US - 90_000, 1, 1), (0, 1, 0), (NOW_US - 90_000, 2, 0)],
)
def test_a_proof_of_this_logon_asks_again_only_where_a_gap_was(
    resent_us: int, proven_no: int, again: int
) -> None:
    view = replace(KILLED, resent_us=resent_us)
    sweeper, first = swept(view)
    assert len(first.messages) == 1
    proven = replace(view, proven_no=proven_no, now_us=NOW_US + 10)
    assert len(sweeper.step(proven).messages) == again
    assert sweeper.step(replace(proven, now_us=NOW_US + 20)).messages == (), "once"


def test_what_the_broker_says_reaches_the_present_sweep_and_no_other() -> None:
    sweeper = Sweeper(SINGLE)
    heard: list[Sweep] = []
    sweeper.heard(heard.append)
    assert heard == []
    sweeper.step(KILLED)
    sweeper.heard(lambda sweep: sweep.answered("A"))
    late = sweeper.step(replace(KILLED, now_us=NOW_US + 2_000_000))
    assert late.told == ((SweepPhase.WAITING, SweepOutcome(open=("A",))),)


# -- one sweep: bounds and bookkeeping


def test_a_logon_asks_for_everything_from_the_first_round_on() -> None:
    sweep = Sweep([live("A"), live("B")], SINGLE, attempt=1, now_us=0)
    sweep.due(0, 0)
    sweep.follow([live("A")], 1, takes_more=True)
    sweep.answered("A")
    assert sweep.outcome() == SweepOutcome(confirmed=("B",), open=("A",))
    sweep.renew(10)
    assert sweep.outcome() == SweepOutcome(confirmed=("B",), unknown=("A",))
    assert sweep.due(9, 0) == ()
    assert kinds(sweep.due(10, 0)) == [("F", "A")], "without a question: a first round"
    assert not sweep.is_late(2_000_009)
    assert sweep.is_late(2_000_010)


def test_a_renewed_sweep_of_nothing_sends_no_mass_cancel() -> None:
    sweep = Sweep([live("A")], PROFILE, attempt=1, now_us=0)
    assert kinds(sweep.due(0, 0)) == [("q", "")]
    sweep.renew(10)
    assert kinds(sweep.due(10, 0)) == [("q", "")]
    sweep.closed("A")
    sweep.renew(20)
    assert sweep.due(20 + GRACE_US, 0) == ()


def test_a_late_answer_to_the_mass_cancel_leaves_the_second_round_alone() -> None:
    sweep = Sweep([live("A"), live("B")], PROFILE, attempt=1, now_us=0)
    sweep.due(0, 0)
    assert len(sweep.due(GRACE_US, 0)) == 2
    sweep.mass_answered(GRACE_US + 1, accepted=False)
    assert sweep.due(GRACE_US + 2, 0) == ()


def test_what_was_never_asked_for_goes_before_what_is_asked_again() -> None:
    slow = replace_pace(SINGLE, cancel_burst=1, cancels_per_s=1)
    sweep = Sweep([live("A", "9"), live("B", "1")], slow, attempt=1, now_us=0)
    assert kinds(sweep.due(0, 0)) == [("F", "A")]
    assert kinds(sweep.due(1_000_000, 0)) == [("F", "B")]
    assert kinds(sweep.due(2_000_000, 0)) == [("H", ""), ("F", "A")]
    assert sweep.due(3_000_000, 0) == (), "two messages took two seconds' worth"
    assert len(sweep.due(4_000_000, 0)) == 2


def test_a_burst_is_no_larger_for_having_waited() -> None:
    slow = replace_pace(SINGLE, cancel_burst=2, cancels_per_s=1)
    orders = [live(name) for name in "ABCD"]
    sweep = Sweep(orders, slow, attempt=1, now_us=0)
    sweep.renew(100_000_000)
    assert len(sweep.due(100_000_000, 0)) == 2
    assert len(sweep.due(99_000_000, 0)) == 0, "a clock that stands gives nothing"
    assert len(sweep.due(101_000_000, 0)) >= 1


def test_a_mass_cancel_takes_its_place_in_the_pace() -> None:
    slow = replace_pace(PROFILE, cancel_burst=1, cancels_per_s=1)
    sweep = Sweep([live("A")], slow, attempt=1, now_us=0)
    assert kinds(sweep.due(0, 0)) == [("q", "")]
    assert sweep.due(GRACE_US, 0) == ()
    assert kinds(sweep.due(1_000_000, 0)) == [("F", "A")]


def test_cancels_carry_the_wall_clock() -> None:
    for profile in (SINGLE, PROFILE):
        (message,) = Sweep([live("A")], profile, attempt=1, now_us=0).due(0, 1_500_000)
        assert dict(message)[60] == "19700101-00:00:01.500000"
