"""What is committed while a verdict gathers its inputs is in all of them, or in none."""

from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from audit.records.kinds import Kind
from audit.records.record import Draft
from audit.store.connection import LogHead
from audit.store.reader import LedgerReader
from gateway.evidence.replay.replay import replay
from gateway.walk.journal.verdict import VerdictBasis
from tests.doubles.full_policy import gathered_policy
from tests.doubles.memory_desk import AGENT_ACCOUNT, TABLE, MemoryDesk
from tests.unit.gateway.desk.test_gateway_format_2 import desk_under

ALL = gathered_policy()


def commit_at(desk: MemoryDesk, monkeypatch: pytest.MonkeyPatch, number: int) -> list[int]:
    """Commit a mark and a press when a verdict asks for the log's end for this time."""
    section, head = desk.small.desk.own.section, desk.log.head
    judge, asked, judging = section.judge, list[int](), list[bool]()

    def asked_head() -> LogHead:
        if judging:
            asked.append(len(asked))
            if len(asked) == number:
                for draft in (a_mark(desk), a_press()):
                    desk.log.append(draft)
        return head()

    def judged(*given: object, **named: object) -> object:
        judging.append(True)
        try:
            return judge(*given, **named)  # type: ignore[arg-type]
        finally:
            judging.clear()

    monkeypatch.setattr(desk.log, "head", asked_head)
    monkeypatch.setattr(section, "judge", judged)
    return asked


def a_mark(desk: MemoryDesk) -> Draft:
    return Draft(
        stream="market/SPXN",
        kind=Kind.MARK_TAKEN,
        payload={
            **replace(desk.small.tags, account=AGENT_ACCOUNT).document(),
            "instrument": "SPXN",
            "market_time_us": 1,
            "price_ticks": 26_800,
            "kind": "open",
            "session_index": 1,
            "session_date": "2018-01-02",
        },
        actor="playback",
        idem_key="meanwhile",
    )


def a_press() -> Draft:
    return Draft(
        stream="control",
        kind=Kind.KILL_PRESSED,
        payload={"kill_epoch": 9, "actor_name": "ops", "reason": "now", "confirmed": True},
        actor="ops",
        idem_key="kill:9",
    )


@pytest.mark.parametrize("number", range(1, 4))
def test_whenever_the_book_moves_a_verdict_rests_on_its_basis(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    desk = desk_under(tmp_path, ALL, monkeypatch)
    order = desk.rest(200)
    desk.settled(desk.report(order, t32="100", t14="100"))
    asked = commit_at(desk, monkeypatch, number)
    response = desk.ask(60)
    given = desk.verdict(response.decision_id)
    pressed = desk.log.of_kind(Kind.KILL_PRESSED)
    seen = [one for one in pressed if one.seq <= VerdictBasis.of(given).basis_seq]
    assert given.body["state"]["kill_epoch"] == (9 if seen else 0)
    assert len(asked) < number or seen, "the guard moves with it"
    replay(cast("LedgerReader", desk.log), TABLE, response.decision_id)
