import threading
from collections import Counter
from typing import Any

import pytest
from typing_extensions import override

from audit.errors import LedgerTimeoutError
from audit.records.record import Draft, Record
from gateway.surfaces.access.refusals import (
    CALLERS_MAX,
    DUE_MAX,
    NOBODY,
    OTHERS,
    WINDOW_S,
    WINDOWS_MAX,
    AccessReason,
    Refusals,
)
from tests.doubles.page_person import KeptDrafts

MINUTE_US = WINDOW_S * 1_000_000
START_US = 29_000_000 * MINUTE_US


class Clock:
    """A wall clock that a test moves."""

    def __init__(self) -> None:
        self.us = START_US

    def __call__(self) -> int:
        return self.us


class Stubborn(KeptDrafts):
    """A ledger that does not answer while it is told not to, though it may have written."""

    def __init__(self) -> None:
        super().__init__()
        self.away = True
        self.asked: list[tuple[Draft, ...]] = []

    @override
    def append(self, *drafts: Draft, **more: Any) -> tuple[Record, ...]:
        self.asked.append(drafts)
        if self.away:
            raise LedgerTimeoutError("no answer", written=False)
        return super().append(*drafts, **more)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def said(ledger: KeptDrafts) -> list[tuple[object, object, object]]:
    return [(d.payload["who"], d.payload["reason"], d.payload["count"]) for d in ledger.drafts]


def test_one_record_for_each_minute_caller_and_reason(clock: Clock) -> None:
    ledger = KeptDrafts()
    refusals = Refusals(ledger, clock)
    for _ in range(3):
        refusals.count(NOBODY, AccessReason.NO_KEY)
    refusals.count("agent", "may_not_kill")
    clock.us += MINUTE_US
    refusals.count(NOBODY, AccessReason.NO_KEY)
    assert refusals.flush(all_of_it=False) == 2, "the minute in hand is still counted"
    assert said(ledger) == [(NOBODY, "no_key", 3), ("agent", "may_not_kill", 1)]
    assert {d.payload["from_us"] for d in ledger.drafts} == {START_US}
    assert refusals.flush() == 1
    assert said(ledger)[2:] == [(NOBODY, "no_key", 1)]
    assert refusals.flush() == 0
    assert {d.stream for d in ledger.drafts} == {"control"}
    assert len({d.idem_key for d in ledger.drafts}) == 3


def test_strangers_cannot_fill_the_ledger(clock: Clock) -> None:
    ledger = KeptDrafts()
    refusals = Refusals(ledger, clock)
    for number in range(5_000):
        refusals.count(refusals.pseudonym(f"guess-{number}"), AccessReason.UNKNOWN_KEY)
        refusals.count(refusals.pseudonym(f"guess-{number}"), AccessReason.SIGN_IN_FAILED)
    refusals.flush()
    assert len(ledger.drafts) <= CALLERS_MAX + len(AccessReason)
    counts: Counter[str] = Counter()
    for who, reason, count in said(ledger):
        counts[str(reason)] += int(str(count))
        assert who == OTHERS or count == 1
    assert counts == {"unknown_key": 5_000, "sign_in_failed": 5_000}


def test_a_key_is_a_pseudonym_that_says_only_that_it_came_again(clock: Clock) -> None:
    one, other = Refusals(KeptDrafts(), clock), Refusals(KeptDrafts(), clock)
    assert one.pseudonym("cs_secret") == one.pseudonym("cs_secret")
    assert one.pseudonym("cs_secret") != one.pseudonym("cs_secret2")
    assert one.pseudonym("cs_secret") != other.pseudonym("cs_secret"), "nobody can guess it again"
    assert "secret" not in one.pseudonym("cs_secret")
    assert one.pseudonym("\udcff")


def test_what_the_ledger_does_not_take_waits_and_is_bounded(clock: Clock) -> None:
    ledger = Stubborn()
    refusals = Refusals(ledger, clock)
    total = 0
    for minute in range(200):
        for number in range(40):
            refusals.count(f"unknown-{minute}-{number}", AccessReason.UNKNOWN_KEY)
            total += 1
        clock.us += MINUTE_US
        with pytest.raises(LedgerTimeoutError):
            refusals.flush(all_of_it=False)
    ledger.away = False
    refusals.flush()
    assert sum(int(str(count)) for _, _, count in said(ledger)) == total, "none is lost"
    most = DUE_MAX + (WINDOWS_MAX + 1) * (CALLERS_MAX + len(AccessReason))
    assert len(ledger.drafts) <= most


def test_the_same_drafts_are_offered_again(clock: Clock) -> None:
    ledger = Stubborn()
    refusals = Refusals(ledger, clock)
    refusals.count(NOBODY, AccessReason.NO_KEY)
    for _ in range(2):
        with pytest.raises(LedgerTimeoutError):
            refusals.flush()
    refusals.count(NOBODY, AccessReason.NO_KEY)
    ledger.away = False
    refusals.flush()
    first, second, *_ = ledger.asked
    assert first == second, "a write whose answer was lost must not count twice"
    assert [count for _, _, count in said(ledger)] == [1, 1]


def test_what_is_counted_is_written_when_the_gateway_stops(clock: Clock) -> None:
    ledger = KeptDrafts()
    refusals = Refusals(ledger, clock)
    refusals.start()
    refusals.count(NOBODY, AccessReason.NO_KEY)
    refusals.close()
    assert said(ledger) == [(NOBODY, "no_key", 1)]
    assert not any(thread.name == "refusals" for thread in threading.enumerate())


def test_a_ledger_that_is_gone_does_not_stop_the_stop(clock: Clock) -> None:
    refusals = Refusals(Stubborn(), clock)
    refusals.start()
    refusals.count(NOBODY, AccessReason.NO_KEY)
    refusals.close()


def test_no_more_minutes_are_counted_apart_than_are_kept(clock: Clock) -> None:
    ledger = KeptDrafts()
    refusals = Refusals(ledger, clock)
    for minute in range(WINDOWS_MAX + 2):
        clock.us = START_US + minute * MINUTE_US
        refusals.count("a", AccessReason.NO_KEY)
    refusals.flush()
    counted = {one.payload["from_us"]: one.payload["count"] for one in ledger.drafts}
    last = START_US + (WINDOWS_MAX - 1) * MINUTE_US
    assert len(counted) == WINDOWS_MAX
    assert counted[last] == 3, "what came later counts as of the newest minute that is kept"
    assert set(counted.values()) == {1, 3}


def test_the_first_strangers_of_a_minute_keep_records_of_their_own(clock: Clock) -> None:
    ledger = KeptDrafts()
    refusals = Refusals(ledger, clock)
    names = [f"unknown-{number}" for number in range(CALLERS_MAX)]
    for who in (*names, "unknown-late", names[0], "unknown-later", names[-1]):
        refusals.count(who, AccessReason.NO_KEY)
    refusals.flush()
    counts = {who: count for who, _, count in said(ledger)}
    assert counts == dict.fromkeys(names, 1) | {names[0]: 2, names[-1]: 2, OTHERS: 2}


def test_whoever_is_known_is_named_however_many_strangers_came(clock: Clock) -> None:
    ledger = KeptDrafts()
    refusals = Refusals(ledger, clock)
    for number in range(100):
        refusals.count(refusals.pseudonym(f"guess-{number}"), AccessReason.UNKNOWN_KEY)
    for who in (*(f"agent-{number}" for number in range(40)), NOBODY):
        refusals.count(who, AccessReason.NO_KEY)
    refusals.flush()
    named = {str(who) for who, _, _ in said(ledger)}
    assert {f"agent-{number}" for number in range(40)} | {NOBODY, OTHERS} <= named
    assert len(named) == CALLERS_MAX + 42
