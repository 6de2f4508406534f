"""Outside paper mode a policy follows only after a trial that both officers signed."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from audit.records.canonical import canonical
from audit.records.kinds import Kind
from gateway.desk.bodies.governing import TrialBody
from gateway.desk.officers.governing.policies import follow_policy
from gateway.desk.officers.governing.trials import record_trial, trials_document
from gateway.errors import PolicyRefusedError, RequestError
from gateway.evidence.answers.policy_trial import Trial, newest_verdicts, trial_of
from gateway.evidence.replay.pairs import Pairs
from gateway.installation.keys.keyring import SIGNING_ROLES, Caller
from gateway.installation.keys.roles import Role
from gateway.installation.policies.policy import BUNDLE
from gateway.installation.policies.trials import never_tried_said, untried_said
from gateway.walk.journal.session import session_opened, session_reconciled
from gateway.walk.ports import Tags
from risk.policy.policy import Policy, policy_digest, policy_document, policy_from_document
from risk.policy.signing import SignedPolicy, sign_policy, signed_policy_document
from tests.doubles.memory_desk import MemoryDesk, memory_desk

OPERATOR = Caller(name="operator", role=Role.OPERATOR)
PAIR = Path(__file__).parents[4] / "inference/models/pair_v1"


@pytest.fixture
def desk(tmp_path: Path) -> MemoryDesk:
    """A desk with two verdicts on record."""
    made = memory_desk(tmp_path)
    made.ask(20)
    made.hold()
    return made


def next_policy(policy: Policy, human_minor: int = 1) -> Policy:
    """Return a tighter successor: it need not wait."""
    document: Any = policy_document(policy)
    document["approval"]["human_notional"]["value"] = human_minor
    succession = {"version": policy.version + 1, "parent": policy_digest(policy)}
    return policy_from_document({**document, **succession})


def put(desk: MemoryDesk, policy: Policy, *trials: str) -> SignedPolicy:
    keys = desk.small.keyring
    signed = SignedPolicy(
        policy=policy,
        signatures=tuple(
            sign_policy(policy, role, f"dev-{role}", keys.signing_key(role), trial)
            for role, trial in zip(SIGNING_ROLES, trials, strict=True)
        ),
    )
    (keys.folder / BUNDLE).write_bytes(canonical(signed_policy_document(signed)))
    return signed


def trial(desk: MemoryDesk, policy: Policy) -> Trial:
    reader, own = desk.small.reader, desk.small.desk.own
    return trial_of(reader, Pairs(PAIR), own.origin, policy, newest_verdicts(reader, 100))


def record(desk: MemoryDesk, made: Trial, **changed: object) -> str:
    body = TrialBody(policy=policy_document(made.draft), trial={**made.document, **changed})
    return str(record_trial(desk.small.desk.own, "operator", body)["trial"])


def follow(desk: MemoryDesk, mode: str = "shadow") -> dict[str, Any]:
    whole = desk.small.desk
    whole.own = replace(whole.own, tags=replace(whole.own.tags, mode=mode))
    return follow_policy(whole, OPERATOR, "tested")


def test_a_signed_trial_on_record_lets_a_policy_follow(desk: MemoryDesk) -> None:
    draft = next_policy(desk.small.desk.own.section.policy)
    made = trial(desk, draft)
    digest = record(desk, made)
    assert digest == made.digest
    put(desk, draft, digest, digest)
    seq = follow(desk)["seq"]
    (tried,) = trials_document(desk.small.reader)["trials"]
    assert (tried["trial_blob"], tried["flips"]) == (digest, 1)
    activated = desk.log.record(seq)
    assert activated is not None
    assert {one["trial"] for one in activated.body["signatures"]} == {digest}
    assert tried["seq"] < seq


@pytest.mark.parametrize(
    ("trials", "says"),
    [
        (("", ""), "both officers sign a trial"),
        (("own", ""), "both officers sign a trial"),
        (("f" * 64, "f" * 64), "has no such trial"),
    ],
)
def test_without_a_trial_that_both_signed_nothing_follows(
    desk: MemoryDesk, trials: tuple[str, str], says: str
) -> None:
    before = desk.small.desk.own.section.policy
    digest = record(desk, trial(desk, next_policy(before)))
    put(desk, next_policy(before), *(digest if one == "own" else one for one in trials))
    with pytest.raises(PolicyRefusedError, match=says):
        follow(desk)
    assert desk.small.desk.own.section.policy == before
    assert not list(desk.log.records(kinds=(Kind.POLICY_ANNOUNCED,)))
    assert follow(desk, "paper")["seq"] is not None, "no order leaves for a market"


def test_under_money_a_policy_follows_only_with_the_sessions_that_it_asks_for(
    desk: MemoryDesk,
) -> None:
    draft = next_policy(desk.small.desk.own.section.policy)
    assert draft.deployment is not None
    digest = record(desk, trial(desk, draft))
    put(desk, draft, digest, digest)
    with pytest.raises(PolicyRefusedError, match="mode live needs 20 reconciled sessions"):
        follow(desk, "live")
    tags = Tags(account="desk", run_id="r", mode="paper", dev=False)
    for number in range(draft.deployment.sessions_min.value):
        desk.log.append(
            session_opened("broker", tags, logon_no=number),
            session_reconciled(
                "broker",
                tags,
                logon_no=number,
                span_us=draft.deployment.session_span_min.value,
                orders=1,
                positions=0,
                trading_day=f"2026-01-{number + 1:02}",
            ),
        )
    assert follow(desk, "live")["seq"] is not None


def test_a_policy_in_force_is_untried_until_both_signed_a_trial_of_it_with_verdicts(
    desk: MemoryDesk, tmp_path: Path
) -> None:
    """A policy that followed in paper mode untried does not serve with money (sec_pilot)."""
    policy, reader = desk.small.desk.own.section.policy, desk.small.reader
    assert "name no trial" in never_tried_said(put(desk, policy, "", ""), reader)
    strange = "f" * 64
    assert "has no trial" in never_tried_said(put(desk, policy, strange, strange), reader)
    made = trial(desk, policy)
    digest = record(desk, made)
    assert not never_tried_said(put(desk, policy, digest, digest), reader)
    other = put(desk, next_policy(policy), digest, digest)
    assert "has no trial" in never_tried_said(other, reader)
    idle = memory_desk(tmp_path / "idle")
    nothing = record(idle, trial(idle, policy))
    said = never_tried_said(put(idle, policy, nothing, nothing), idle.small.reader)
    assert "judged no recorded verdict" in said


def test_a_trial_of_another_draft_or_against_another_policy_does_not_count(
    desk: MemoryDesk,
) -> None:
    before = desk.small.desk.own.section.policy
    digest = record(desk, trial(desk, next_policy(before)))
    other = put(desk, next_policy(before, 2), digest, digest)
    with pytest.raises(PolicyRefusedError, match="has no such trial"):
        follow(desk)
    same = put(desk, next_policy(before), digest, digest)
    reader = desk.small.reader
    assert not untried_said(policy_digest(before), same, "live", reader)
    assert untried_said(policy_digest(other.policy), same, "live", reader)


def test_a_trial_that_the_ledger_contradicts_is_not_recorded(desk: MemoryDesk) -> None:
    desk.ask(20)
    made = trial(desk, next_policy(desk.small.desk.own.section.policy))
    rows: Any = made.document["verdicts"]
    (first, _, _), (second, action, after), last = rows
    size = desk.log.size
    for changed, says in (
        ({"verdicts": [rows[0], [second, "ALLOW", after], last]}, f"record {second} is another"),
        ({"verdicts": [rows[0], last]}, f"record {second} is another verdict"),
        ({"verdicts": [[first, "ALLOW", "ALLOW"], [second + 1, action, after]]}, "left out"),
        ({"log": "elsewhere"}, "another ledger"),
        ({"draft": "0" * 64}, "another draft"),
        ({"follows": "0" * 64}, "another policy"),
        ({"verdicts": rows[::-1]}, "order of their records"),
        ({"verdicts": [[first, "SOON", "ALLOW"]]}, "no trial"),
        ({"format": "x"}, "no trial"),
    ):
        with pytest.raises(RequestError, match=says):
            record(desk, made, **changed)
    assert desk.log.size == size
