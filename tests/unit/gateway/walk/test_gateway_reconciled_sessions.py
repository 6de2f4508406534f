"""A reconciled session needs a logon, time, and something to reconcile (repro sec_sessions)."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.records.kinds import Kind
from audit.records.record import Draft, Record
from audit.sequencer.ledger import Ledger
from gateway.desk.officers.governing.modes import sessions_needed
from gateway.installation.policies.policy import POLICIES
from gateway.launch.threads.sessions import SessionProof, SessionTools
from gateway.walk.journal.control.difference import DifferenceCause, Found, book_difference
from gateway.walk.journal.session import session_opened, session_reconciled
from gateway.walk.ports import Tags
from gateway.walk.projections.modes import MODE_KINDS, ModeHistory, mode_history
from risk.policy.policy import parse_policy
from tests.doubles.memory_desk import MemoryDesk, memory_desk
from tests.doubles.memory_ledger import MemoryLedger
from tests.doubles.whole_records import whole

HOUR_US = 3_600_000_000
TAGS = Tags(account="desk", run_id="r0", mode="paper", dev=False)
SHIPPED = parse_policy(POLICIES["desk"].read_bytes()).deployment


def run_of(number: int, mode: str = "paper") -> Tags:
    return replace(TAGS, run_id=f"r{number}", mode=mode)


def started(log: MemoryLedger, tags: Tags) -> None:
    """Record a start as `serve` does."""
    (first, *_) = log.of_kind(Kind.RUN_STARTED)
    log.append(
        Draft(
            stream="control",
            kind=Kind.RUN_STARTED,
            payload={**first.body, **tags.document()},
            actor="gateway",
            idem_key=f"run_started:{tags.run_id}",
        )
    )


def reconciled(tags: Tags, **changes: Any) -> Draft:  # noqa: ANN401 - its fields
    said: dict[str, Any] = {
        "logon_no": 1,
        "span_us": HOUR_US,
        "orders": 1,
        "positions": 0,
        "trading_day": "2026-01-05",
    }
    return session_reconciled("broker", tags, **(said | changes))


def history_of(log: MemoryLedger) -> ModeHistory:
    return mode_history(log.records(kinds=MODE_KINDS))


def test_the_shipped_numbers_refuse_twenty_starts_in_a_row(tmp_path: Path) -> None:
    log = memory_desk(tmp_path).log
    for number in range(20):
        started(log, run_of(number))
    need = sessions_needed(history_of(log), SHIPPED)
    assert not need.met
    assert need.what.endswith("found 0 on 0")


@pytest.mark.parametrize(
    ("days", "met", "said"),
    [(20, True, "20 on 20"), (19, False, "20 on 19"), (1, False, "20 on 1")],
)
def test_the_shipped_numbers_ask_for_twenty_days(
    tmp_path: Path, days: int, said: str, *, met: bool
) -> None:
    log = memory_desk(tmp_path).log
    for number in range(20):
        tags = run_of(number)
        started(log, tags)
        log.append(session_opened("broker", tags, logon_no=1))
        log.append(reconciled(tags, trading_day=f"2026-01-{number % days + 1:02}"))
    need = sessions_needed(history_of(log), SHIPPED)
    assert (need.met, need.what.endswith(f"found {said}")) == (met, True)


@pytest.mark.parametrize(
    "changes", [{"orders": 0}, {"trading_day": ""}, {"logon_no": 2}, {"span_us": HOUR_US - 1}]
)
def test_a_session_without_one_of_its_parts_does_not_count(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    assert SHIPPED is not None
    log = memory_desk(tmp_path).log
    started(log, TAGS)
    log.append(session_opened("broker", TAGS, logon_no=1), reconciled(TAGS, **changes))
    assert history_of(log).meeting(SHIPPED) == (0, 0)


@pytest.mark.parametrize("mode", ["shadow", "live"])
def test_sessions_of_paper_and_pilot_count_alone(tmp_path: Path, mode: str) -> None:
    log = memory_desk(tmp_path).log
    for number, one in enumerate(("paper", "pilot", mode)):
        tags = run_of(number, one)
        started(log, tags)
        log.append(session_opened("broker", tags, logon_no=1), reconciled(tags))
    assert [one.mode for one in history_of(log).reconciled_sessions] == ["paper", "pilot"]


def test_a_session_counts_neither_without_its_logon_nor_with_an_open_difference(
    tmp_path: Path,
) -> None:
    log = memory_desk(tmp_path).log
    started(log, TAGS)
    log.append(reconciled(TAGS))
    assert history_of(log).reconciled == 0
    log.append(session_opened("broker", TAGS, logon_no=2), reconciled(TAGS, logon_no=2))
    assert history_of(log).reconciled == 1
    found = Found(
        cause=DifferenceCause.ACCOUNT_LOTS,
        account="desk",
        instrument="SPXN",
        cl_ord_id="",
        book_lots=1,
        broker_lots=2,
    )
    log.append(book_difference(found, session="broker", source="report", number=1))
    assert history_of(log).reconciled == 0


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["start", "logon", "reconciled", "idle"]),
        st.integers(1, 2),
        st.sampled_from(["paper", "shadow", "pilot", "live"]),
    ),
    max_size=14,
)


@dataclass(frozen=True)
class Told:
    """A record as the fold reads it."""

    kind: Kind
    body: dict[str, Any] = field(default_factory=dict)
    seq: int = 0


def told_of(sort: str, number: int, mode: str) -> Record:
    tags = run_of(number, mode)
    if sort == "start":
        return cast("Record", Told(Kind.RUN_STARTED, whole(Kind.RUN_STARTED, tags.document())))
    draft = session_opened("broker", tags, logon_no=number)
    if sort != "logon":
        draft = reconciled(tags, logon_no=number, orders=int(sort != "idle"))
    return cast("Record", Told(Kind.SESSION_EVENT, dict(draft.payload)))


@given(steps=STEPS)
def test_no_order_of_records_counts_a_session_more_than_once(
    steps: list[tuple[str, int, str]],
) -> None:
    """Each counted session has its logon, of the same run and number, before it."""
    expected, open_for = 0, None
    for sort, number, mode in steps:
        if sort in {"start", "logon"}:
            open_for = number if sort == "logon" else None
        elif sort == "reconciled" and open_for == number and mode in {"paper", "pilot"}:
            expected, open_for = expected + 1, None
    assert mode_history(told_of(*one) for one in steps).reconciled == expected


@dataclass
class Asked:
    """What a proof is given, as a test sets it."""

    logon: int = 1
    open_differences: int = 0
    positions: dict[tuple[str, str], int] = field(default_factory=dict)
    closed: str = ""
    now_us: int = 0
    span_us: int | None = HOUR_US
    checks: int = 0

    def check(self, source: str) -> int:
        assert source == "session"
        self.checks += 1
        return self.open_differences


def proof_of(desk: MemoryDesk, asked: Asked, tags: Tags = TAGS) -> SessionProof:
    return SessionProof(
        SessionTools(
            ledger=cast("Ledger", desk.log),
            orders=desk.small.desk.own.orders,
            tags=tags,
            session="broker",
            logon=lambda: asked.logon,
            check=asked.check,
            positions=lambda: asked.positions,
            span_us=lambda: asked.span_us,
            closed=lambda _: asked.closed,
            wall_us=lambda: 1_767_623_400_000_000,  # 2026-01-05
            monotonic_us=lambda: asked.now_us,
        )
    )


def told(desk: MemoryDesk) -> list[tuple[str, int, int, int, str]]:
    return [
        (
            str(one.body["event"]),
            int(one.body.get("span_us", 0)),
            int(one.body.get("orders", 0)),
            int(one.body.get("positions", 0)),
            str(one.body.get("trading_day", "")),
        )
        for one in desk.log.of_kind(Kind.SESSION_EVENT)
    ]


def test_a_session_is_proven_once_by_an_order_that_the_broker_answered(tmp_path: Path) -> None:
    desk, asked = memory_desk(tmp_path), Asked()
    proof = proof_of(desk, asked)
    proof.opened(1)
    asked.now_us = HOUR_US
    proof.look()
    assert told(desk) == [("session_opened", 0, 0, 0, "")], "nothing to reconcile"
    order = desk.rest(50)
    proof.look()
    assert len(told(desk)) == 1, "the broker has not answered"
    desk.settled(desk.report(order))
    for _ in range(3):
        proof.look()
    assert told(desk)[1:] == [("session_reconciled", HOUR_US, 1, 0, "2026-01-05")]
    assert asked.checks == 1


def too_early(asked: Asked) -> None:
    asked.now_us -= 1


def logged_on_again(asked: Asked) -> None:
    asked.logon = 2


def down(asked: Asked) -> None:
    asked.logon = 0


def shut(asked: Asked) -> None:
    asked.closed = "market closed"


def unequal(asked: Asked) -> None:
    asked.open_differences = 1


def no_numbers(asked: Asked) -> None:
    asked.span_us = None


def flat(asked: Asked) -> None:
    asked.positions = {("desk", "SPXN"): 0}


@pytest.mark.parametrize(
    "spoil", [too_early, logged_on_again, down, shut, unequal, no_numbers, flat]
)
def test_a_session_is_not_proven(tmp_path: Path, spoil: Callable[[Asked], None]) -> None:
    desk = memory_desk(tmp_path)
    for spoiled in (True, False):
        asked = Asked(positions={("desk", "SPXN"): 3})
        proof = proof_of(desk, asked, run_of(int(spoiled)))
        proof.opened(1)
        asked.now_us = HOUR_US
        if spoiled:
            spoil(asked)
        proof.look()
        proven = [one for one in told(desk) if one[0] == "session_reconciled"]
        assert proven == ([] if spoiled else [("session_reconciled", HOUR_US, 0, 1, "2026-01-05")])


def test_a_development_run_is_no_session(tmp_path: Path) -> None:
    desk, asked = memory_desk(tmp_path), Asked(positions={("desk", "SPXN"): 3})
    proof = proof_of(desk, asked, replace(TAGS, dev=True))
    proof.opened(1)
    asked.now_us = HOUR_US
    proof.look()
    assert told(desk) == []
