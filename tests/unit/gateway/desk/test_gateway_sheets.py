"""What an approver reads of a held order, and what the queue says of holds that ended."""

from collections.abc import Callable
from hashlib import sha256
from typing import Any, cast

import pytest

from audit.records.canonical import canonical
from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway.desk.holds.answering import sheet_in
from gateway.desk.holds.sheet import Sheet
from gateway.desk.holds.waiting import HoldLine, HoldList, hold_list
from gateway.desk.officers.governing.policies import follow_policy
from gateway.installation.keys.keyring import SIGNING_ROLES, Caller
from gateway.installation.keys.roles import Role
from gateway.installation.policies.policy import BUNDLE
from gateway.walk.projections.forecasts import decision_records
from gateway.walk.reconciliation.recovery import close_abandoned
from inference.errors import EngineDeadError
from risk.policy.policy import policy_digest, policy_document, policy_from_document
from risk.policy.signing import SignedPolicy, sign_policy, signed_policy_document
from tests.doubles.memory_desk import MemoryDesk
from tests.doubles.restarted_desk import restarted
from tests.doubles.row_engine import RowEngine

SHOWN: dict[Kind, set[str]] = {
    Kind.INTENT_RECEIVED: {"request", "author"},
    Kind.FORECAST_TAKEN: {"instrument", "narrative"},
    Kind.SNAPSHOT_TAKEN: {"instrument", "as_of_us", "bars_digest", "news_digest"},
    Kind.FORECAST_MADE: {"forecast"},
    Kind.PLACEBO_MADE: {"forecast"},
    Kind.QUOTE_TAKEN: {"bid_ticks", "ask_ticks", "market_time_us"},
    Kind.INTENT_PROPOSED: {"intent", "sizing"},
    Kind.VERDICT_GIVEN: {"intent", "intent_digest", "verdict", "policy_digest", "result"},
    Kind.APPROVAL_REQUESTED: {"author", "band", "expires_us"},
}
"""What a person must read before a yes, by record."""


def sheet_of(desk: MemoryDesk, decision_id: str) -> Sheet:
    found = sheet_in(cast("LedgerReader", desk.log), decision_id)
    assert found is not None
    return found


def test_a_sheet_shows_what_was_asked_forecast_priced_and_judged(desk: MemoryDesk) -> None:
    decision_id = desk.hold()
    sheet = sheet_of(desk, decision_id)
    records = list(decision_records(cast("LedgerReader", desk.log), decision_id))
    rows = cast("list[dict[str, Any]]", sheet.document["records"])
    assert [row["seq"] for row in rows] == [one.seq for one in records]
    assert {one.kind for one in records} >= SHOWN.keys()
    for row, record in zip(rows, records, strict=True):
        shown = {name: value for name, value in row.items() if name not in {"seq", "kind", "leaf"}}
        wanted = SHOWN.get(record.kind, set()) & record.body.keys()
        assert shown == {name: record.body[name] for name in wanted}, record.kind
        assert (row["kind"], row["leaf"]) == (record.kind.value, record.leaf.hex())
    assert sheet.digest == sha256(canonical(sheet.document)).hexdigest()


def test_a_sheet_stays_the_one_that_was_read_whatever_follows(desk: MemoryDesk) -> None:
    decision_id = desk.hold()
    read = sheet_of(desk, decision_id)
    restarted(desk)
    assert sheet_of(desk, decision_id) == read
    assert desk.answer(decision_id) == "approved"
    assert sheet_of(desk, decision_id) == read


def line(desk: MemoryDesk, decision_id: str) -> tuple[str, HoldLine]:
    """Return where the queue has a hold, and its line."""
    own = desk.small.desk.own
    found: HoldList = hold_list(own.reader, own.orders, own.dispatching.wall_us)
    ((place, one),) = [
        (name, one)
        for name, lines in (("waiting", found.waiting), ("ended", found.ended))
        for one in lines
        if one.decision_id == decision_id
    ]
    return place, one


def nothing(_: MemoryDesk, __: str) -> None:
    return


def agree(desk: MemoryDesk, decision_id: str) -> None:
    assert desk.answer(decision_id, note="fine") == "approved"


def refuse(desk: MemoryDesk, decision_id: str) -> None:
    assert desk.answer(decision_id, approve=False, note="too much") == "refused"


def expire(desk: MemoryDesk, _: str) -> None:
    desk.wall.ahead_us += int(desk.small.desk.own.section.policy.approval.ttl.value)
    assert desk.small.desk.holds.expire() == 1


def fall_at_renewal(desk: MemoryDesk, decision_id: str) -> None:
    """Other inputs came, and the engine ends after the yes is on record."""
    desk.other_inputs()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RowEngine, "sample", _dead)
        assert desk.answer(decision_id, note="fine") != "approved"


def _dead(*_: Any, **__: Any) -> None:  # noqa: ANN401 - as `sample`
    raise EngineDeadError("gone")


def start_anew(desk: MemoryDesk, _: str) -> None:
    own = desk.small.desk.own
    closed = close_abandoned(
        own.tools.ledger,
        own.orders,
        own.section.differences,
        market_time_us=own.market.now_us(),
    )
    assert closed == 1


@pytest.mark.parametrize(
    ("end", "place", "state", "by", "note"),
    [
        (nothing, "waiting", "waiting", "", ""),
        (agree, "ended", "approved", "approver", "fine"),
        (refuse, "ended", "refused", "approver", "too much"),
        (expire, "ended", "expired", "", ""),
        (fall_at_renewal, "ended", "renewal_refused", "approver", "fine"),
        (start_anew, "ended", "ended", "", ""),
    ],
)
def test_the_queue_says_how_each_hold_ended_and_who_answered(
    desk: MemoryDesk,
    end: Callable[[MemoryDesk, str], None],
    place: str,
    state: str,
    by: str,
    note: str,
) -> None:
    decision_id = desk.hold()
    end(desk, decision_id)
    found, one = line(desk, decision_id)
    assert (found, one.state, one.answered_by, one.note) == (place, state, by, note)
    assert (one.ended_us is None) == (one.left_s is not None) == (place == "waiting")


def test_the_queue_begins_with_what_ends_first(desk: MemoryDesk) -> None:
    """A policy that follows may let later holds end earlier."""
    first = desk.hold()
    own, keyring = desk.small.desk.own, desk.small.keyring
    document: Any = policy_document(own.section.policy)
    document["approval"]["ttl"]["value"] = 60_000_000
    again = {"version": own.section.policy.version + 1, "parent": policy_digest(own.section.policy)}
    new = policy_from_document({**document, **again})
    signed = tuple(
        sign_policy(new, role, f"dev-{role}", keyring.signing_key(role)) for role in SIGNING_ROLES
    )
    bundle = signed_policy_document(SignedPolicy(policy=new, signatures=signed))
    (keyring.folder / BUNDLE).write_bytes(canonical(bundle))
    follow_policy(desk.small.desk, Caller(name="operator", role=Role.OPERATOR), "shorter")
    held = desk.ask(1_000, exposure_bp=5_600)
    assert held.result == "held"
    second = held.decision_id
    queue = hold_list(own.reader, own.orders, own.dispatching.wall_us)
    assert [one.decision_id for one in queue.waiting] == [second, first]
    assert [one.left_s for one in queue.waiting] == sorted(one.left_s or 0 for one in queue.waiting)
