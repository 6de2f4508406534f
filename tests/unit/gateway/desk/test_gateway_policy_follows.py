"""A policy follows another while decisions go on: all or nothing, at one record."""

import threading
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from audit.errors import LedgerTimeoutError, LedgerWriteError
from audit.records.canonical import canonical
from audit.records.kinds import Kind
from audit.records.record import Draft
from gateway.clock import wall_us
from gateway.desk.bodies.order_requests import ReplaceRequest
from gateway.desk.controls.turns import Turns
from gateway.desk.officers.governing.policies import follow_policy, policy_state
from gateway.errors import (
    ApprovalRefusedError,
    BusyError,
    NotReadyError,
    NotReplaceableError,
    PolicyRefusedError,
)
from gateway.evidence.replay.replay import replay
from gateway.installation.keys.keyring import SIGNING_ROLES, Caller
from gateway.installation.keys.roles import Role
from gateway.installation.policies.cooling import WAIT_US, early_said, wait_us
from gateway.installation.policies.policy import BUNDLE
from risk.policy.policy import Policy, policy_digest, policy_document, policy_from_document
from risk.policy.signing import SignedPolicy, sign_policy, signed_policy_document
from tests.doubles.memory_desk import AGENT, MemoryDesk

OPERATOR = Caller(name="operator", role=Role.OPERATOR)
NEXT_YEAR_US = wall_us() + 366 * 86_400 * 1_000_000
LOOSER = 35_000_000
"""No person is asked below 350,000; the shipped policy asks from 250,000 on."""


def next_policy(policy: Policy, human_minor: int = LOOSER, **changes: object) -> Policy:
    document: Any = policy_document(policy)
    document["approval"]["human_notional"]["value"] = human_minor
    succession = {"version": policy.version + 1, "parent": policy_digest(policy)}
    return policy_from_document({**document, **succession, **changes})


def put(desk: MemoryDesk, policy: Policy, roles: tuple[str, ...] = SIGNING_ROLES) -> None:
    """Put a bundle into the key folder, as `policy activate` does."""
    keys = desk.small.keyring
    signed = tuple(sign_policy(policy, r, f"dev-{r}", keys.signing_key(r)) for r in roles)
    document = signed_policy_document(SignedPolicy(policy=policy, signatures=signed))
    (keys.folder / BUNDLE).write_bytes(canonical(document))


def follow(desk: MemoryDesk) -> dict[str, Any]:
    return follow_policy(desk.small.desk, OPERATOR, "review of March")


def policies_of(desk: MemoryDesk, decision_id: str) -> set[str]:
    """Return the digests that a decision's records name."""
    records = desk.log.records(stream=f"decision/{decision_id}")
    return {str(one.body["policy_digest"]) for one in records if "policy_digest" in one.body}


def test_a_looser_policy_counts_from_its_record_on(desk: MemoryDesk) -> None:
    waits = desk.hold()
    old = desk.small.desk.own.section.policy
    put(desk, next_policy(old))
    told = follow(desk)
    (activated,) = desk.log.records(after_seq=int(told["seq"]) - 1, before_seq=int(told["seq"]) + 1)
    assert activated.kind is Kind.POLICY_ACTIVATED
    assert activated.body["reason"] == "review of March"
    assert "approval.human_notional.value: 25000000 -> 35000000 (loosens)" in told["changes"]
    passed = desk.ask(1_000, exposure_bp=2_800)
    assert passed.result == "approved", "what was held before needs nobody now"
    assert policies_of(desk, passed.decision_id) == {policy_digest(next_policy(old))}
    for decision_id in (waits, passed.decision_id):
        replay(desk.small.reader, desk.small.table, decision_id)
    with pytest.raises(ApprovalRefusedError, match="policy"):
        desk.answer(waits)
    assert follow(desk)["seq"] is None, "the same one again changes nothing"


def test_an_order_of_an_earlier_policy_is_reduced_but_not_raised(desk: MemoryDesk) -> None:
    order = desk.rest(60)
    put(desk, next_policy(desk.small.desk.own.section.policy))
    follow(desk)
    desk.settled(desk.report(order, t150="0", t39="0", t32="0", t31="0", t14="0"))

    def ask(key: str, lots: int) -> None:
        request = ReplaceRequest(client_key=key, reason="tested", qty_lots=lots)
        desk.small.desk.order_desk.replace(AGENT, order.cl_ord_id, request)

    with pytest.raises(NotReplaceableError, match="cannot judge it"):
        ask("more", 100)
    ask("less", 20)


@pytest.mark.parametrize(
    ("changes", "roles", "says"),
    [
        ({"parent": "0" * 64}, SIGNING_ROLES, "parent is not the active policy"),
        ({"version": 1}, SIGNING_ROLES, "version does not rise"),
        ({}, ("risk",), "UNSIGNED"),
        ({"not_before_us": NEXT_YEAR_US}, SIGNING_ROLES, "NOT_YET_VALID"),
    ],
)
def test_what_may_not_follow_changes_nothing(
    desk: MemoryDesk, changes: dict[str, Any], roles: tuple[str, ...], says: str
) -> None:
    before, size = policy_state(desk.small.desk), desk.log.size
    put(desk, next_policy(desk.small.desk.own.section.policy, **changes), roles)
    with pytest.raises(PolicyRefusedError, match=says):
        follow(desk)
    (desk.small.keyring.folder / BUNDLE).write_bytes(b"{")
    with pytest.raises(PolicyRefusedError, match="no signed policy"):
        follow(desk)
    assert (policy_state(desk.small.desk), desk.log.size) == (before, size)


@pytest.mark.parametrize(
    ("error", "result"),
    [
        (LedgerWriteError("refused"), "approved"),
        (LedgerTimeoutError("in doubt", written=None), "rejected"),
    ],
)
def test_without_its_record_no_policy_follows(
    desk: MemoryDesk, error: Exception, result: str
) -> None:
    old = desk.small.desk.own.section.policy
    put(desk, next_policy(old))

    def refuse(drafts: tuple[Draft, ...]) -> None:
        if any(one.kind is Kind.POLICY_ACTIVATED for one in drafts):
            raise error

    desk.log.before = refuse
    with pytest.raises(type(error)):
        follow(desk)
    assert desk.small.desk.own.section.policy == old
    assert desk.ask(50).result == result, "in doubt about the policy, nothing is approved"


def test_a_decision_is_under_one_policy_whatever_the_threads_do(desk: MemoryDesk) -> None:
    """Three agents ask, without a pause unless told to wait, while six policies follow."""
    over, failed = threading.Event(), list[str]()

    def asking(number: int) -> None:
        count = 0
        while not over.is_set():
            count += 1
            try:
                desk.ask(20, key=f"a{number}-{count}")
            except BusyError:
                over.wait(0.005)
            except Exception as error:  # noqa: BLE001 - the test says which
                failed.append(repr(error))
                return

    threads = [threading.Thread(target=asking, args=(n,)) for n in range(3)]
    for one in threads:
        one.start()
    for step in range(6):
        _until(lambda: len(ids_of(desk)) > 4 * len(activations(desk)) or failed)
        put(desk, next_policy(desk.small.desk.own.section.policy, LOOSER + step))
        follow(desk)
    _until(lambda: len(ids_of(desk)) > 28 or failed)
    over.set()
    for one in threads:
        one.join(60)
    assert not failed
    began = [(r.seq, str(r.body["policy_digest"])) for r in activations(desk)]
    assert len(began) == 7
    ends = [*(seq for seq, _ in began[1:]), desk.log.size]
    seen = set()
    for decision_id in ids_of(desk):
        records = list(desk.log.records(stream=f"decision/{decision_id}"))
        (digest,) = policies_of(desk, decision_id)
        number = [d for _, d in began].index(digest)
        assert began[number][0] < records[0].seq, "begun under the policy that it names"
        assert records[-1].seq < ends[number], "and ended before another one"
        seen.add(number)
    assert len(seen) > 3, "the policies changed while agents asked"
    assert all(earlier < later for earlier, later in pairwise(seq for seq, _ in began))


def test_a_looser_policy_waits_from_its_announcement_on(desk: MemoryDesk) -> None:
    section = desk.small.desk.own.section
    put(desk, next_policy(section.policy, loosening_wait_us=60_000_000))
    follow(desk)
    waiting = section.policy
    put(desk, next_policy(waiting, LOOSER + 1))
    for _ in range(2):
        with pytest.raises(PolicyRefusedError, match="60 s after record"):
            follow(desk)
    (announced,) = desk.log.records(kinds=(Kind.POLICY_ANNOUNCED,))
    assert announced.body["loosens"] == [
        "approval.human_notional.value: 35000000 -> 35000001 (loosens)"
    ]
    assert section.policy == waiting
    reader, looser = desk.small.reader, next_policy(waiting, LOOSER + 1)
    from_us = announced.recorded_at_us + 60_000_000
    assert early_said(waiting, looser, "paper", reader, from_us - 1)
    assert not early_said(waiting, looser, "paper", reader, from_us)
    put(desk, next_policy(waiting, LOOSER - 1))
    assert follow(desk)["seq"] is not None, "a tighter one does not wait"
    put(desk, next_policy(section.policy, LOOSER))
    with pytest.raises(PolicyRefusedError, match="60 s after record"):
        follow(desk)
    desk.wall.ahead_us += 61_000_000
    assert follow(desk)["seq"] is not None


def test_the_mode_sets_the_cooling_time_of_a_policy_without_one(desk: MemoryDesk) -> None:
    policy = desk.small.desk.own.section.policy
    looser, tighter = next_policy(policy), next_policy(policy, 1)
    assert [wait_us(policy, looser, mode) for mode in ("paper", "live")] == [0, WAIT_US]
    assert wait_us(policy, tighter, "live") == 0
    assert wait_us(policy, next_policy(policy, 1, name="other"), "live") == 0


def test_nobody_is_alone_while_a_turn_is_taken() -> None:
    turns = Turns()
    with turns.one(), turns.one(), pytest.raises(NotReadyError, match="longer than"):
        _alone(turns)
    with turns.alone(0.01), pytest.raises(NotReadyError, match="another policy"):
        _alone(turns)
    with turns.one():
        pass


def _alone(turns: Turns) -> None:
    with turns.alone(0.01):
        raise AssertionError("it is nobody's turn to be alone")


def ids_of(desk: MemoryDesk) -> list[str]:
    """Return the decisions on record."""
    opened = desk.log.records(kinds=(Kind.INTENT_RECEIVED,))
    return [one.stream.removeprefix("decision/") for one in opened]


def activations(desk: MemoryDesk) -> list[Any]:
    return list(desk.log.records(kinds=(Kind.POLICY_ACTIVATED,)))


def _until(done: Callable[[], object]) -> None:
    waited = threading.Event()
    for _ in range(1_200):
        if done():
            return
        waited.wait(0.05)
    raise AssertionError("nothing happened for a minute")
