"""The judge of a policy change, on records made by hand."""

from dataclasses import dataclass
from typing import Any, cast

import pytest

from audit.records.kinds import Kind
from audit.records.record import Record
from tests.crash.policy_judge import judged

LIMITS = {"old": 10, "new": 20}


@dataclass(frozen=True)
class Row:
    """What the judge reads of a record."""

    seq: int
    kind: Kind
    stream: str
    body: dict[str, Any]


def activated(seq: int, digest: str) -> Row:
    return Row(seq, Kind.POLICY_ACTIVATED, "control", {"policy_digest": digest})


def taken(seq: int, name: str, digest: str) -> Row:
    return Row(seq, Kind.FORECAST_TAKEN, f"decision/{name}", {"policy_digest": digest})


def given(seq: int, name: str, digest: str, limit: int = 0, by: str = "") -> Row:
    result = {
        "rule_id": "R31",
        "check": "notional",
        "limit": limit or LIMITS[digest],
        "outcome": "BREACH" if digest == "old" else "PASS",
    }
    verdict = {"policy_digest": by or digest, "results": [result]}
    body = {"policy_digest": digest, "verdict": verdict}
    return Row(seq, Kind.VERDICT_GIVEN, f"decision/{name}", body)


SOUND = (
    activated(0, "old"),
    taken(1, "a", "old"),
    given(2, "a", "old"),
    activated(3, "new"),
    activated(4, "new"),  # a start after a crash says it again
    taken(5, "b", "new"),
    given(6, "b", "new"),
)


def test_a_sound_change_is_counted() -> None:
    found = judged(cast("tuple[Record, ...]", SOUND), LIMITS)
    assert found.broken == []
    assert (found.changes, found.by_policy) == (1, {"old": 1, "new": 1})
    assert found.held == {"old": 1, "new": 0}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ((*SOUND[:2], activated(2, "new"), given(3, "a", "new")), "judged by 2 policies"),
        ((*SOUND[:2], given(2, "a", "new")), "names another policy"),
        ((*SOUND, given(7, "c", "old")), "names another policy"),
        ((*SOUND[:2], given(2, "a", "old", limit=20)), "the limit of another policy"),
        ((*SOUND[:2], given(2, "a", "old", by="new")), "another policy than it names"),
    ],
    ids=["mixed", "early", "late", "limit", "verdict"],
)
def test_what_is_not_all_or_nothing_is_said(wrong: tuple[Row, ...], said: str) -> None:
    found = judged(cast("tuple[Record, ...]", wrong), LIMITS)
    assert any(said in one for one in found.broken), found.broken
