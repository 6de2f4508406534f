"""What witnesses are asked for next, how far they lag, and when a quorum counts as lost."""

from hypothesis import given
from hypothesis import strategies as st

from audit.witnesses.quorum_watch import Quorum, QuorumWatch, next_target, percentile


def test_a_lag_ends_with_this_quorum_or_a_later_one() -> None:
    watch = QuorumWatch(lost_after_s=15.0)
    assert watch.state(0.0) is Quorum.STARTING
    assert watch.lags().p99_s is None
    for size, at_s in ((10, 0.0), (20, 1.0), (30, 2.0)):
        watch.stored(size, at_s)
    watch.cosigned(20, 2.5)
    assert (watch.lags().count, watch.lags().max_s, watch.lags().last_s) == (2, 2.5, 1.5)
    assert watch.waiting_s(3.0) == 1.0
    assert watch.state(3.0) is Quorum.MET
    watch.cosigned(10, 3.0)  # late news of an older tree takes nothing back
    assert watch.cosigned_size == 20
    watch.stored(20, 3.0)  # offered again: it has its quorum
    assert watch.waiting_s(3.0) == 1.0


def test_a_quorum_is_lost_when_a_checkpoint_waits_too_long_and_met_again() -> None:
    watch = QuorumWatch(lost_after_s=15.0)
    watch.stored(1, 0.0)
    assert watch.state(15.0) is Quorum.STARTING
    assert watch.state(15.1) is Quorum.LOST
    for size in range(2, 20_000):  # a flood of checkpoints forgets no oldest one
        watch.stored(size, 16.0)
    assert watch.waiting_s(20.0) == 20.0
    watch.cosigned(20_000, 21.0)
    assert watch.state(1e9) is Quorum.MET
    assert watch.waiting_s(1e9) == 0.0


def test_percentiles_are_values_that_occurred() -> None:
    ordered = [float(n) for n in range(1, 101)]
    assert [percentile(ordered, p) for p in (1, 50, 99, 100)] == [1.0, 50.0, 99.0, 100.0]
    assert percentile([7.0], 99) == 7.0


def test_all_are_asked_for_one_checkpoint_until_it_is_settled() -> None:
    assert next_target(0, 0, 0, [0, 0]) == 0
    assert next_target(0, 5, 0, [0, 0]) == 5
    assert next_target(5, 9, 0, [5, 0]) == 5, "one of them has not answered yet"
    assert next_target(5, 9, 5, [5, 0]) == 9, "the quorum does not need the other"
    assert next_target(5, 9, 0, [5]) == 9, "nobody in good order is left to ask"
    assert next_target(5, 9, 0, []) == 9


@given(st.lists(st.integers(1, 40), min_size=1, max_size=5), st.integers(1, 9), st.data())
def test_witnesses_of_any_pace_meet_at_the_same_checkpoints(
    paces: list[int], every: int, data: st.DataObject
) -> None:
    """Simulated: each witness needs its own time for an answer; so many of them are the quorum."""
    needed = data.draw(st.integers(1, len(paces)))
    needed_pace = sorted(paces)[needed - 1]
    done, asked, busy = ([0] * len(paces) for _ in range(3))
    signed: dict[int, set[int]] = {}
    target = newest = quorum = waits_since = 0
    for tick in range(1, 500):
        if tick % every == 0:
            newest = tick
            waits_since = waits_since or tick
        for who, pace in enumerate(paces):
            busy[who] -= 1
            if busy[who] == 0:
                done[who] = asked[who]
                signed.setdefault(done[who], set()).add(who)
                if len(signed[done[who]]) >= needed and done[who] > quorum:
                    quorum = done[who]
                    waits_since = 0 if quorum == newest else tick
            target = next_target(target, newest, quorum, done)
            if busy[who] <= 0 and done[who] < target:
                asked[who], busy[who] = target, pace
        slowest_wait = 3 * needed_pace + max(paces)
        assert not waits_since or tick - waits_since <= slowest_wait, "no quorum for too long"
