"""Whether an override is spent, and what a restart still knows of those that were."""

from itertools import combinations
from pathlib import Path

import pytest

from gateway.desk.bodies.governing import OverrideRequest, OverrideTerms
from gateway.desk.officers.governing.overrides import (
    end_overrides,
    grant_override,
    override_statement,
    withdraw_override,
)
from gateway.installation.keys.log_id import log_id
from gateway.walk.journal.control.oversight.overrides import (
    OverrideEnd,
    OverrideGranted,
    Overrides,
)
from gateway.walk.projections.stops import Stops
from risk.evaluate import evaluate
from risk.policy.policy import Policy, policy_digest
from risk.state.book import DayStarted, Marked
from risk.verdict import Action, RuleId
from tests.doubles.memory_desk import AGENT_ACCOUNT, MemoryDesk, memory_desk
from tests.doubles.memory_ledger import MemoryLedger
from tests.doubles.risk_cases import (
    INTENT,
    NOW_US,
    bought,
    fold,
    policy_with,
    state_with,
)


@pytest.fixture
def desk(tmp_path: Path) -> MemoryDesk:
    """A desk with no room left for another order."""
    made = memory_desk(tmp_path)
    for _ in range(2):
        assert made.ask(850, exposure_bp=9_900).result == "approved"
    return made


def grant(desk: MemoryDesk, number: int) -> str:
    """Grant an override that lets one more order pass the position's limit."""
    own = desk.small.desk.own
    now_us = own.dispatching.wall_us()
    terms = OverrideTerms(
        override_id=f"{number:032x}",
        account=AGENT_ACCOUNT,
        instrument="SPXN",
        side="BUY",
        rule="R06",
        check="position",
        qty_max_lots=4_000,
        notional_max_minor=10**12,
        policy_digest=own.section.status().policy_digest,
        not_before_us=now_us - 1_000_000,
        expires_us=now_us + 3_600_000_000,
        reason="the index is rebalanced tonight",
    )
    statement = override_statement(log_id(own.reader, own.origin), terms)
    signed = {
        role: own.keyring.signing_key(role).sign(statement).hex() for role in ("risk", "compliance")
    }
    request = OverrideRequest.model_validate({**terms.model_dump(), "signatures": signed})
    grant_override(own, "operator", request)
    return terms.override_id


@pytest.mark.parametrize("story", ["gu", "gug", "ggu", "gwg", "guwg", "guggu", "ggwu"])
def test_a_restart_knows_of_each_override_what_the_desk_knew(desk: MemoryDesk, story: str) -> None:
    """Here g grants one, u uses the oldest free one, w withdraws the newest, used or not."""
    granted: list[str] = []
    for step in story:
        if step == "g":
            granted.append(grant(desk, len(granted)))
        elif step == "w":
            withdraw_override(desk.small.desk.own, "ada", granted[-1], "not needed")
        else:
            assert desk.ask(850, exposure_bp=9_900).result == "approved"
    own = desk.small.desk.own
    own.section.stops.read(own.reader.head().size)
    known = own.section.stops.overrides.known
    assert sum(bool(one.used_by) for one in known) == story.count("u")
    again = Stops(desk.log)
    again.read(desk.log.head().size)
    assert again.overrides.known == known
    ended_before = {one.granted.override_id: one.ended for one in known if one.ended}
    desk.wall.ahead_us = 3_600_000_001
    assert end_overrides(own) == len(known) - len(ended_before), "what ended before ends no more"
    assert end_overrides(own) == 0
    for one in own.section.stops.overrides.known:
        before = ended_before.get(one.granted.override_id)
        now = OverrideEnd.USED if one.used_by else OverrideEnd.EXPIRED
        assert one.ended is (before or now)


LIMITS = {
    (RuleId.R11, "day_loss"): ("account__day_loss_max", 1_000, Action.HALT),
    (RuleId.R04, "notional"): ("account__order_notional_max", 10**9, Action.REJECT),
    (RuleId.R06, "position"): ("instruments__0__position_max", 10**6, Action.REJECT),
    (RuleId.R31, "notional"): ("approval__human_notional", 10**9, Action.HOLD),
}
"""Limits with the number of the policy that each reads, a number that lets everything pass, and
what a breach leads to."""
LOSS = fold(
    DayStarted(day="2018-03-01", time_us=NOW_US - 3_000_000),
    bought(100, 29_000, time_us=NOW_US - 2_000_000),
    Marked(instrument="SPXN", price_ticks=26_958, time_us=NOW_US - 1_000_000),
)
NONE_BROKEN = {place: number for place, number, _ in LIMITS.values()}
BROKEN = [found for count in range(1, 5) for found in combinations(LIMITS, count)]


def open_override(policy: Policy, rule_id: RuleId, check: str) -> Overrides:
    """Return a fold in which one override is open: for this limit, and wide in all else."""
    log, found = MemoryLedger(), Overrides()
    granted = OverrideGranted(
        account=INTENT.account,
        override_id="0f" * 16,
        instrument=INTENT.instrument,
        side=INTENT.side,
        rule_id=rule_id,
        check=check,
        qty_max_lots=10**6,
        notional_max_minor=10**12,
        policy_digest=policy_digest(policy),
        not_before_us=0,
        expires_us=1 << 52,
        reason="tested",
        log_id="memory.test",
        signatures={},
        granted_by="operator",
    )
    (record,) = log.append(granted.draft())
    found.take(record)
    return found


@pytest.mark.parametrize("named", [one for one in LIMITS if one[0] is not RuleId.R31])
@pytest.mark.parametrize("broken", BROKEN, ids=lambda found: "-".join(one[0] for one in found))
def test_an_override_is_spent_only_by_an_order_that_then_passes_or_waits_for_a_person(
    broken: tuple[tuple[RuleId, str], ...], named: tuple[RuleId, str]
) -> None:
    """One that leaves the order refused for another reason stays free for the next."""
    policy = policy_with(**NONE_BROKEN | {LIMITS[one][0]: 1 for one in broken})
    state = state_with(policy, book=LOSS)
    before = max(LIMITS[one][2] for one in broken)
    assert evaluate(policy, state, INTENT).action is before
    left = max((LIMITS[one][2] for one in broken if one != named), default=Action.WARN)
    under, verdict = open_override(policy, *named).judge(policy, state, INTENT)
    acts = named in broken and left < before and left <= Action.HOLD
    assert (under.override is not None, verdict.action) == (acts, left if acts else before)
