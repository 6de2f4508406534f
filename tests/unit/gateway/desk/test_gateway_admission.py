"""The line before the desk: equal keys wait equally, and who cannot be answered is told at once."""

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.desk.intake.admission import (
    ALL_MAX,
    AT_ONCE,
    EACH_MAX,
    FIRST_MAX,
    Admission,
    InLine,
    LineFullError,
    WaitingLine,
)
from tests.doubles.fix_world import until

ASKED = st.lists(st.tuples(st.sampled_from("abcd"), st.booleans()), max_size=40)


class Clock:
    """A clock that a test turns."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now_s


def ticket(key: str, *, first: bool = False) -> InLine:
    return InLine(key=key, first=first, since_s=0.0, until_s=100.0)


def called(line: WaitingLine) -> Iterator[InLine]:
    while (one := line.next()) is not None:
        yield one


@given(ASKED)
def test_keys_take_turns_and_each_keeps_its_own_order(asked: list[tuple[str, bool]]) -> None:
    line, tickets = WaitingLine(), [ticket(key, first=first) for key, first in asked]
    for one in tickets:
        line.enter(one)
    foreseen = line.in_order()
    order = list(called(line))
    assert foreseen == order
    assert sorted(map(id, order)) == sorted(map(id, tickets)), "each is called once"
    assert [one.first for one in order] == sorted((one.first for one in order), reverse=True)
    for first in (True, False):
        group = [one for one in order if one.first is first]
        given_by = [one for one in tickets if one.first is first]
        for key in "abcd":
            assert [o for o in group if o.key == key] == [o for o in given_by if o.key == key]
        left, had = Counter(one.key for one in given_by), Counter[str]()
        for one in group:
            had[one.key] += 1
            waiting = [key for key in left if had[key] < left[key]]
            assert all(had[one.key] - had[key] <= 1 for key in waiting), "nobody is overtaken twice"


@given(ASKED, st.sampled_from("abcde"), st.booleans())
def test_it_says_how_many_are_ahead(asked: list[tuple[str, bool]], key: str, first: bool) -> None:  # noqa: FBT001 - drawn
    line, mine = WaitingLine(), ticket(key, first=first)
    for other, is_first in asked:
        line.enter(ticket(other, first=is_first))
    ahead = line.ahead(mine)
    line.enter(mine)
    assert ahead <= len(asked)
    place = next(number for number, one in enumerate(called(line)) if one is mine)
    # a key's turn is when it came into line, so one of the others may or may not be before it
    assert abs(place - ahead) <= len({other for other, _ in asked})


def test_one_who_asks_ten_times_as_often_only_waits_for_himself() -> None:
    """Two at once take half a second each; `a` asks for ten a second, `b` for one."""
    line, now, waits = WaitingLine(), 0.0, dict[str, list[float]](a=[], b=[])
    busy: list[float] = []
    for step in range(600):
        now = step / 10
        busy = [until_s for until_s in busy if until_s > now]
        for key in "a" * (line.of("a") < EACH_MAX) + "b" * (step % 10 == 0):
            line.enter(InLine(key=key, first=False, since_s=now, until_s=now + 20))
        while len(busy) < AT_ONCE and (one := line.next()) is not None:
            waits[one.key].append(now - one.since_s)
            busy.append(now + 0.5)
    assert max(waits["b"]) <= 1.0
    assert sorted(waits["a"])[len(waits["a"]) // 2] > 1.0


def test_a_key_has_its_share_of_the_line_and_another_one_always_finds_a_place() -> None:
    admission, going = Admission(), threading.Event()

    def hold(key: str) -> str:
        with admission.one(key, 60):
            assert going.wait(30)
        return key

    with ThreadPoolExecutor(AT_ONCE + ALL_MAX + FIRST_MAX) as pool:
        hands = [pool.submit(hold, "a") for _ in range(AT_ONCE + EACH_MAX)]
        until(lambda: admission.now().queue == EACH_MAX)
        with pytest.raises(LineFullError), admission.one("a", 60):
            pass
        with pytest.raises(LineFullError):
            admission.refuse_full("a", 60)
        admission.refuse_full("b", 60)
        assert admission.now().queue == EACH_MAX, "a look takes no place"
        others = [f"k{n}" for n in range(ALL_MAX + FIRST_MAX - EACH_MAX)]
        hands += [pool.submit(hold, key) for key in others]
        until(lambda: admission.now().queue == ALL_MAX + FIRST_MAX)
        with pytest.raises(LineFullError), admission.one("too-many", 60):
            pass
        going.set()
        assert Counter(one.result() for one in hands)["a"] == AT_ONCE + EACH_MAX
    assert (admission.now().handled, admission.now().queue) == (0, 0)


def test_what_would_be_late_is_refused_at_once_and_an_idle_desk_tries_it() -> None:
    clock = Clock()
    admission = Admission(1, clock=clock)
    with admission.one("a", 5):
        clock.now_s += 10  # it took ten seconds
    assert admission.now().needs_s == 0.0, "nothing speaks against the next one"
    admission.refuse_full("a", 5)
    with admission.one("a", 5):
        assert admission.now().needs_s > 5
        with pytest.raises(LineFullError) as late, admission.one("b", 5):
            pass
        assert late.value.retry_after_s >= 1


def test_one_that_takes_long_already_speaks_against_those_who_come() -> None:
    clock = Clock()
    admission = Admission(1, clock=clock)
    with admission.one("a", 60):
        clock.now_s = 12.0
        with (
            pytest.raises(LineFullError, match="try again in 12 s") as late,
            admission.one("b", 20),
        ):
            pass
        assert late.value.retry_after_s == 12


def test_one_whose_time_is_over_when_he_is_called_is_refused_and_the_next_one_called() -> None:
    clock = Clock()
    admission, refused = Admission(1, clock=clock), list[str]()

    def ask(key: str, within_s: float) -> None:
        try:
            with admission.one(key, within_s):
                pass
        except LineFullError:
            refused.append(key)

    with admission.one("a", 100):
        threads = [threading.Thread(target=ask, args=one) for one in (("b", 30), ("c", 90))]
        for number, one in enumerate(threads):
            one.start()
            until(lambda wanted=number + 1: admission.now().queue == wanted)  # type: ignore[misc]
        clock.now_s = 29.0
    for one in threads:
        one.join(30)
    assert refused == ["b"]
    assert (admission.now().handled, admission.now().queue) == (0, 0)


def test_one_who_is_never_called_leaves_the_line_when_his_time_is_over() -> None:
    admission = Admission(1)
    with admission.one("a", 60):
        with pytest.raises(LineFullError), admission.one("b", 0.01):
            pass
        assert admission.now().queue == 0


def test_persons_go_first() -> None:
    admission, order = Admission(1), list[str]()

    def ask(key: str, *, first: bool) -> None:
        with admission.one(key, 60, first=first):
            order.append(key)

    with admission.one("a", 60):
        threads = [
            threading.Thread(target=ask, args=("agent",), kwargs={"first": False}),
            threading.Thread(target=ask, args=("person",), kwargs={"first": True}),
        ]
        for number, one in enumerate(threads):
            one.start()
            until(lambda wanted=number + 1: admission.now().queue == wanted)  # type: ignore[misc]
    for one in threads:
        one.join(30)
    assert order == ["person", "agent"]
