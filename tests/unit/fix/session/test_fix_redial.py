"""A session that is down is tried at the profile's pace, and every second while killed."""

import socket
from itertools import pairwise

import pytest

from fix.session.line import abandon, hanging
from fix.session.redial import Redial
from tests.doubles.fix_world import PROFILE, until

SLOW = PROFILE.model_copy(update={"reconnect_s": 5, "logon_timeout_s": 10})
TENTH_US = 100_000


def tries(
    redial: Redial, *, hurry: bool, from_s: int, until_s: int, every: int = 10, seen: bool = True
) -> list[float]:
    """When an engine that tries every so many tenths, and is refused at once, may do so.

    `seen`: a call comes while the logon is out; else only the number tells of it.
    """
    found: list[float] = []
    for tenth in range(from_s * 10, until_s * 10):
        now_us, number = tenth * TENTH_US, from_s * 10 + len(found)
        may, _ = redial.step(now_us, hurry=hurry, trying=False, number=number)
        if may and tenth % every == every // 2:
            found.append(tenth / 10)
            if seen:
                redial.step(now_us, hurry=hurry, trying=True, number=number + 1)
    return found


def test_the_profiles_pause_is_kept_until_a_kill_is_in_force() -> None:
    redial = Redial(SLOW)
    quiet = tries(redial, hurry=False, from_s=0, until_s=30)
    assert quiet[0] < 1.0, "the first try is not held back"
    gaps = [later - sooner for sooner, later in pairwise(quiet)]
    assert gaps
    assert all(5.0 <= gap <= 7.0 for gap in gaps), quiet
    killed = tries(redial, hurry=True, from_s=30, until_s=40)
    assert len(killed) == 10, killed
    assert len(tries(redial, hurry=False, from_s=40, until_s=60)) <= 4


@pytest.mark.parametrize("seen", [True, False])
@pytest.mark.parametrize("every", [10, 13, 29])
def test_an_engine_that_is_late_tries_all_the_same(every: int, *, seen: bool) -> None:
    found = tries(Redial(SLOW), hurry=False, from_s=0, until_s=60, every=every, seen=seen)
    gaps = [later - sooner for sooner, later in pairwise(found)]
    assert len(gaps) >= 6
    assert all(5.0 <= gap <= 5.1 + every / 10 for gap in gaps), found


def test_a_connect_that_hangs_does_not_leave_the_engine_to_itself() -> None:
    redial = Redial(SLOW)
    may = [
        redial.step(tenth * TENTH_US, hurry=False, trying=False, number=1).may_try
        for tenth in range(300)
    ]
    assert 100 <= sum(may) <= 200


def test_a_profile_of_one_second_is_never_held_back() -> None:
    assert len(tries(Redial(PROFILE), hurry=False, from_s=0, until_s=10)) == 10


def test_a_silent_logon_ends_soon_and_a_slow_broker_gets_its_chance_all_the_same() -> None:
    redial = Redial(SLOW)
    patience = []
    for number in range(8):
        patience.append(redial.step(number, hurry=True, trying=True, number=1).patience_s)
        redial.step(number, hurry=True, trying=False, number=1)
    assert patience == [1, 1, 3, 10] * 2
    assert redial.step(9, hurry=False, trying=True, number=1).patience_s == 10
    redial.step(9, hurry=False, trying=False, number=1)
    redial.abandoned()
    assert redial.step(10, hurry=True, trying=False, number=1).patience_s == 3


def test_a_connect_that_nobody_answers_is_found_and_given_up() -> None:
    """The queue of a listener that accepts nobody is full: further first packets get no answer."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as deaf:
        waiting = []
        try:
            for _ in range(4):
                link = socket.socket()
                link.setblocking(False)  # noqa: FBT003
                link.connect_ex(deaf.getsockname())
                waiting.append(link)
            assert until(hanging, 5.0)
            stuck = hanging()
            assert abandon(frozenset()) == 0
            assert hanging() == stuck
            assert abandon(stuck) == len(stuck)
            assert hanging() == frozenset()
        finally:
            for link in waiting:
                link.close()
