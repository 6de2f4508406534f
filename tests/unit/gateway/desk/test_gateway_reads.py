import logging
from typing import Any

import pytest
from typing_extensions import override

from audit.errors import LedgerTimeoutError
from audit.records.record import Draft, Record
from gateway.desk.intake.reads import HOUR_S, REMEMBERED_MAX, TRIED_S, Reads
from gateway.installation.keys.keyring import Caller
from gateway.installation.keys.roles import Role
from tests.doubles.page_person import KeptDrafts

MINUTE_US = 60_000_000
START_US = 27_000_000 * MINUTE_US  # an hour begins here
AUDITOR = Caller(name="regulator", role=Role.AUDITOR)
OPERATOR = Caller(name="ops", role=Role.OPERATOR)


class Clock:
    """A wall clock that a test moves."""

    def __init__(self) -> None:
        self.us = START_US

    def __call__(self) -> int:
        return self.us


class Away(KeptDrafts):
    """A ledger that does not answer while it is told not to."""

    def __init__(self) -> None:
        super().__init__()
        self.away = True
        self.waited_s: list[float] = []

    @override
    def append(self, *drafts: Draft, timeout_s: float = 5.0, **more: Any) -> tuple[Record, ...]:
        self.waited_s.append(timeout_s)
        if self.away:
            raise LedgerTimeoutError("no answer", written=False)
        return super().append(*drafts, **more)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def said(ledger: KeptDrafts) -> list[tuple[object, ...]]:
    return [
        tuple(d.payload[name] for name in ("reader", "role", "object", "from_us", "window_s"))
        for d in ledger.drafts
    ]


def test_once_a_minute_for_each_person_and_object(clock: Clock) -> None:
    ledger = KeptDrafts()
    reads = Reads(ledger, clock)
    for offset_us in (0, 1, MINUTE_US - 1, MINUTE_US, 2 * MINUTE_US - 1):
        clock.us = START_US + offset_us
        reads.note(AUDITOR, "decision/a")
    reads.note(OPERATOR, "decision/a")
    reads.note(AUDITOR, "decision/b")
    later = START_US + MINUTE_US
    assert said(ledger) == [
        ("regulator", "auditor", "decision/a", START_US, 60),
        ("regulator", "auditor", "decision/a", later, 60),
        ("ops", "operator", "decision/a", later, 60),
        ("regulator", "auditor", "decision/b", later, 60),
    ]
    assert len({d.idem_key for d in ledger.drafts}) == 4
    assert {d.stream for d in ledger.drafts} == {"control"}


def test_a_window_may_be_an_hour(clock: Clock) -> None:
    ledger = KeptDrafts()
    reads = Reads(ledger, clock)
    for minute in range(61):
        clock.us = START_US + minute * MINUTE_US
        reads.note(AUDITOR, "log", window_s=HOUR_S)
    assert [from_us for *_, from_us, _ in said(ledger)] == [START_US, START_US + 60 * MINUTE_US]


def test_another_process_gives_the_same_draft(clock: Clock) -> None:
    """The ledger keeps a read from being recorded twice, whatever a process remembers."""
    ledgers = KeptDrafts(), KeptDrafts()
    for ledger in ledgers:
        Reads(ledger, clock).note(AUDITOR, "ledger")
        clock.us += 1
    assert ledgers[0].drafts == ledgers[1].drafts


def test_a_read_that_was_not_recorded_is_not_remembered_as_one(clock: Clock) -> None:
    ledger = Away()
    reads = Reads(ledger, clock)
    for _ in range(2):
        with pytest.raises(LedgerTimeoutError):
            reads.note(AUDITOR, "ledger")
    ledger.away = False
    reads.note(AUDITOR, "ledger")
    assert len(ledger.drafts) == 1


def test_what_must_be_told_in_any_case_waits_briefly(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    ledger = Away()
    with caplog.at_level(logging.WARNING):
        Reads(ledger, clock).try_note(AUDITOR, "kill")
    assert ledger.waited_s == [TRIED_S]
    assert "regulator read kill, not on record" in caplog.text


def test_what_is_remembered_is_bounded(clock: Clock) -> None:
    reads = Reads(KeptDrafts(), clock)
    for number in range(REMEMBERED_MAX + 100):
        reads.note(AUDITOR, f"record/{number}")
    assert len(reads._noted) == REMEMBERED_MAX  # noqa: SLF001 - what is in memory


def test_the_same_name_in_another_role_reads_anew(clock: Clock) -> None:
    ledger = KeptDrafts()
    reads = Reads(ledger, clock)
    for role in (Role.AUDITOR, Role.OPERATOR, Role.AUDITOR):
        reads.note(Caller(name="ada", role=role), "ledger")
    assert [(who, role) for who, role, *_ in said(ledger)] == [
        ("ada", "auditor"),
        ("ada", "operator"),
    ]
