"""An exceptional override: both officers, one limit, one intent, once, over on record."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pytest

from audit.evidence.bundle import overrides_of
from audit.records.kinds import Kind
from audit.records.record import Draft
from audit.store.reader import LedgerReader
from gateway.desk.bodies.governing import OverrideRequest, OverrideTerms
from gateway.desk.bodies.requests import IntentResponse
from gateway.desk.holds.waiting import hold_list
from gateway.desk.officers.governing.overrides import (
    LIFE_MAX_US,
    end_overrides,
    grant_override,
    override_statement,
    overrides_state,
    withdraw_override,
)
from gateway.desk.officers.stops import begin_stop
from gateway.errors import OverrideRefusedError, ReplayDiffersError
from gateway.evidence.answers.governance import overrides_answer
from gateway.evidence.answers.trades import approval_answer
from gateway.evidence.replay.replay import replay
from gateway.installation.keys.log_id import log_id
from gateway.installation.policies import policy
from gateway.walk.journal.control.oversight.overrides import Overrides
from gateway.walk.projections.stops import Stops
from risk.forms.canonical import canonical_bytes
from risk.policy.policy import policy_document
from risk.state.state import Stop
from tests.doubles.full_policy import gathered_policy
from tests.doubles.memory_desk import AGENT_ACCOUNT, TABLE, MemoryDesk, memory_desk
from tests.doubles.page_desk import page_desk
from tests.doubles.small_desk import RUN


def terms(desk: MemoryDesk, **changes: Any) -> OverrideTerms:  # noqa: ANN401 - any field
    """The terms that let one large order of the agents' account pass R06's position."""
    own = desk.small.desk.own
    now_us = own.dispatching.wall_us()
    given = {
        "override_id": "0f" * 16,
        "account": AGENT_ACCOUNT,
        "instrument": "SPXN",
        "side": "BUY",
        "rule": "R06",
        "check": "position",
        "qty_max_lots": 4_000,
        "notional_max_minor": 10**12,
        "policy_digest": own.section.status().policy_digest,
        "not_before_us": now_us - 1_000_000,
        "expires_us": now_us + 3_600_000_000,
        "reason": "the index is rebalanced tonight",
    }
    return OverrideTerms.model_validate({**given, **changes})


def signed(desk: MemoryDesk, wanted: OverrideTerms, *roles: str) -> OverrideRequest:
    """The request with the signatures of these officers, by default of both."""
    own = desk.small.desk.own
    statement = override_statement(log_id(own.reader, own.origin), wanted)
    signatures = {
        role: own.keyring.signing_key(role).sign(statement).hex()
        for role in roles or ("risk", "compliance")
    }
    return OverrideRequest.model_validate({**wanted.model_dump(), "signatures": signatures})


def grant(desk: MemoryDesk, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - any field
    return grant_override(desk.small.desk.own, "operator", signed(desk, terms(desk, **changes)))


def full(desk: MemoryDesk) -> None:
    """Let two resting orders take up the room that the policy gives the instrument."""
    for _ in range(2):
        assert ask(desk).result == "approved"


def ask(desk: MemoryDesk) -> IntentResponse:
    """Ask for one more order of the same size, which R06 refuses."""
    return desk.ask(850, exposure_bp=9_900)


def replayed(desk: MemoryDesk, decision_id: str) -> None:
    replay(cast("LedgerReader", desk.log), TABLE, decision_id)


def state_of(desk: MemoryDesk) -> str:
    (one,) = overrides_state(desk.small.desk.own)["overrides"]
    return str(one["state"])


def test_one_order_leaves_under_an_override_and_the_next_is_refused(desk: MemoryDesk) -> None:
    full(desk)
    assert ask(desk).result == "rejected"
    granted = grant(desk)
    first, second = ask(desk), ask(desk)
    assert (first.result, second.result) == ("approved", "rejected")
    (line,) = [one for one in first.rules if one.action == "WARN"]
    assert (line.rule, line.reason) == ("R06.position", "OVERRIDDEN")
    assert line.observed is not None
    assert line.limit == "2500"
    verdict = desk.verdict(first.decision_id)
    assert verdict.body["state"]["override"]["override_id"] == "0f" * 16
    assert verdict.seq > granted["seq"], "it is on record before it acts"
    assert len(desk.small.broker.orders) == 3
    (listed,) = overrides_state(desk.small.desk.own)["overrides"]
    assert (listed["state"], listed["used_by"]) == ("used", first.decision_id)
    assert listed["used_seq"] == verdict.seq
    for one in (first, second):
        replayed(desk, one.decision_id)


def test_of_two_orders_at_once_one_leaves_under_it(desk: MemoryDesk) -> None:
    full(desk)
    grant(desk)
    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(ask, desk) for _ in range(2)]
        found = [one.result() for one in asked]
    assert sorted(one.result for one in found) == ["approved", "rejected"]
    assert len(desk.small.broker.orders) == 3


def test_a_restart_remembers_who_used_it(desk: MemoryDesk) -> None:
    full(desk)
    grant(desk)
    used = ask(desk).decision_id
    stops = Stops(desk.log)
    stops.read(desk.log.head().size)
    (found,) = stops.overrides.open
    assert found.used_by == used
    assert not stops.overrides.may_act(found.granted.terms, "another")


def test_one_that_is_not_needed_is_not_spent(desk: MemoryDesk) -> None:
    grant(desk)
    assert desk.ask(50).result == "approved"
    assert state_of(desk) == "open"


def test_one_that_makes_the_verdict_no_milder_is_not_spent(desk: MemoryDesk) -> None:
    grant(desk)
    given = desk.verdict(desk.hold()).body  # R31 asks a person either way
    assert (given["state"].get("override"), state_of(desk)) == (None, "open")


@pytest.mark.parametrize(
    "changes",
    [
        {"side": "SELL"},
        {"account": RUN},
        {"rule": "R04", "check": "notional"},
        {"check": "short"},
        {"qty_max_lots": 800},
        {"notional_max_minor": 20_000_000},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_what_is_for_another_order_lifts_nothing(desk: MemoryDesk, changes: dict[str, Any]) -> None:
    full(desk)
    grant(desk, **changes)
    response = ask(desk)
    assert response.result == "rejected"
    assert "override" not in desk.verdict(response.decision_id).body["state"]
    assert state_of(desk) == "open"


def test_it_acts_from_its_beginning_until_its_end(desk: MemoryDesk) -> None:
    full(desk)
    now_us = desk.small.desk.own.dispatching.wall_us()
    grant(desk, not_before_us=now_us + 1_800_000_000)
    assert ask(desk).result == "rejected"
    assert end_overrides(desk.small.desk.own) == 0
    desk.wall.ahead_us = 3_600_000_001
    assert ask(desk).result == "rejected"
    assert end_overrides(desk.small.desk.own) == 1
    (ended,) = desk.log.of_kind(Kind.OVERRIDE_ENDED)
    assert (ended.body["outcome"], ended.actor) == ("expired", "gateway")
    assert end_overrides(desk.small.desk.own) == 0, "its end is on record once"
    desk.wall.ahead_us = 1_900_000_000
    assert ask(desk).result == "rejected", "a clock that is set back revives nothing"


def test_the_end_of_a_used_one_names_its_decision(desk: MemoryDesk) -> None:
    full(desk)
    grant(desk)
    used = ask(desk).decision_id
    desk.wall.ahead_us = 3_600_000_001
    assert end_overrides(desk.small.desk.own) == 1
    (ended,) = desk.log.of_kind(Kind.OVERRIDE_ENDED)
    assert (ended.body["outcome"], ended.body["used_by"]) == ("used", used)
    stops = Stops(desk.log)
    stops.read(desk.log.head().size)
    assert [one.used_by for one in stops.overrides.known] == [used]
    replayed(desk, used)


def test_a_withdrawn_one_lifts_nothing(desk: MemoryDesk) -> None:
    full(desk)
    grant(desk)
    withdraw_override(desk.small.desk.own, "ada", "0f" * 16, "not needed")
    assert ask(desk).result == "rejected"
    assert state_of(desk) == "withdrawn"
    with pytest.raises(OverrideRefusedError):
        withdraw_override(desk.small.desk.own, "ada", "0f" * 16, "again")


def test_one_withdrawn_before_the_verdict_commits_lifts_nothing(desk: MemoryDesk) -> None:
    """The verdict's compare-and-swap fails, and the intent is judged again."""
    full(desk)
    grant(desk)

    def before(drafts: tuple[Draft, ...]) -> None:
        if any(one.kind is Kind.VERDICT_GIVEN for one in drafts):
            desk.log.before = lambda _: None
            withdraw_override(desk.small.desk.own, "ada", "0f" * 16, "not needed")

    desk.log.before = before
    response = ask(desk)
    assert response.result == "rejected"
    assert "override" not in desk.verdict(response.decision_id).body["state"]


def test_a_pause_refuses_under_an_override_and_spends_none(desk: MemoryDesk) -> None:
    full(desk)
    grant(desk)
    begin_stop(desk.small.desk.own, "ada", Stop.PAUSE, "a test")
    assert ask(desk).result == "rejected"
    assert state_of(desk) == "open"


def test_a_person_is_still_asked_and_his_yes_uses_the_same_override(desk: MemoryDesk) -> None:
    """R04 is lifted, R31 asks: the renewal is the same intent, so it is judged as before."""
    grant(desk, rule="R04", check="notional")
    held = desk.ask(1_500, exposure_bp=9_900)
    assert held.result == "held"
    other = desk.ask(1_500, exposure_bp=9_800)
    assert other.result == "rejected"
    assert desk.answer(held.decision_id) == "approved"
    assert desk.verdict(held.decision_id).body["renewal"] is True
    assert desk.verdict(held.decision_id).body["state"]["override"]["rule_id"] == "R04"
    for one in (held, other):
        replayed(desk, one.decision_id)


def test_a_yes_after_its_end_is_refused(desk: MemoryDesk) -> None:
    now_us = desk.small.desk.own.dispatching.wall_us()
    grant(desk, rule="R04", check="notional", expires_us=now_us + 20_000_000)
    held = desk.ask(1_500, exposure_bp=9_900)
    assert held.result == "held"
    desk.wall.ahead_us = 21_000_000
    assert desk.answer(held.decision_id) != "approved"
    assert desk.small.broker.orders == []


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"account": "nobody"}, "not open here"),
        ({"instrument": "NONE"}, "not in this gateway's table"),
        ({"policy_digest": "0" * 64}, "another policy"),
        ({"expires_us": 1}, "its end must come after"),
        ({"not_before_us": 1, "expires_us": 1 + LIFE_MAX_US}, "over already"),
        ({"not_before_us": 1}, "at most a day later"),
        ({"rule": "R01", "check": "killed"}, "no limit that an override can lift"),
        ({"rule": "R18", "check": "restricted"}, "no limit that an override can lift"),
        ({"rule": "R37", "check": "withdrawn"}, "no limit that an override can lift"),
        ({"rule": "R06", "check": "unknown"}, "no limit that an override can lift"),
    ],
)
def test_what_could_never_act_is_refused(
    desk: MemoryDesk, changes: dict[str, Any], why: str
) -> None:
    with pytest.raises(OverrideRefusedError, match=why):
        grant(desk, **changes)
    assert desk.log.of_kind(Kind.OVERRIDE_GRANTED) == []


@pytest.mark.parametrize("longer_us", [0, 1, LIFE_MAX_US, 365 * LIFE_MAX_US])
def test_an_override_lives_a_day_and_not_a_microsecond_more(
    desk: MemoryDesk, longer_us: int
) -> None:
    began = terms(desk).not_before_us
    changes = {"not_before_us": began, "expires_us": began + LIFE_MAX_US + longer_us}
    if not longer_us:
        grant(desk, **changes)
        assert LIFE_MAX_US == 24 * 3_600_000_000
        return
    with pytest.raises(OverrideRefusedError, match="at most a day later"):
        grant(desk, **changes)


def test_both_officers_must_sign_these_very_terms(desk: MemoryDesk) -> None:
    own, wanted = desk.small.desk.own, terms(desk)
    one = signed(desk, wanted, "risk")
    twice = signed(desk, wanted)
    same = {**twice.signatures, "compliance": twice.signatures["risk"]}
    for request in (
        one,
        twice.model_copy(update={"signatures": same}),
        twice.model_copy(update={"qty_max_lots": wanted.qty_max_lots + 1}),
        twice.model_copy(update={"reason": "another"}),
    ):
        with pytest.raises(OverrideRefusedError, match="both officers"):
            grant_override(own, "operator", request)
    assert desk.log.of_kind(Kind.OVERRIDE_GRANTED) == []


def test_the_queue_says_what_an_override_lifts(desk: MemoryDesk, tmp_path: Path) -> None:
    grant(desk, rule="R04", check="notional")
    assert desk.ask(1_500, exposure_bp=9_900).result == "held"
    own = desk.small.desk.own
    (line,) = hold_list(own.reader, own.orders, own.dispatching.wall_us).waiting
    assert line.lifted == ("R04 notional",)
    assert "exceptional override</span> lifts R04 notional" in page_desk(tmp_path, desk).read(
        "/approvals", "approver"
    )


def test_ask_and_page_and_bundle_say_under_what_the_order_left(
    desk: MemoryDesk, tmp_path: Path
) -> None:
    full(desk)
    seq = grant(desk)["seq"]
    used = ask(desk).decision_id
    reader = cast("LedgerReader", desk.log)
    told = "\n".join(fact.text for fact in overrides_answer(reader).facts)
    assert "R06 position may be lifted once: BUY at most 4000 lots of SPXN" in told
    assert "signed by compliance and risk" in told
    assert f"decision {used} used override {'0f' * 16}, for R06 position" in told
    said = "\n".join(fact.text for fact in approval_answer(reader, used).facts)
    assert f"with R06 position lifted by override {'0f' * 16}" in said
    records = tuple(desk.log.records(stream=f"decision/{used}"))
    assert [one.seq for one in overrides_of(reader, records)] == [seq]
    page = page_desk(tmp_path, desk).read(f"/decisions/{used}", "approver")
    assert "R06 position was lifted once for this order: compliance and risk signed" in page
    assert f'href="/records/{seq}"' in page
    assert "the index is rebalanced tonight" in page


def test_it_acts_under_a_policy_of_format_2_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The digest of the state is another one there, and covers the override as well."""
    small = gathered_policy(account__order_notional_max=100_000)
    signed_file = tmp_path / "policy.json"
    signed_file.write_bytes(canonical_bytes(policy_document(small)))
    monkeypatch.setattr(policy, "SHIPPED", signed_file)
    desk = memory_desk(tmp_path)
    assert desk.ask(50).result == "rejected"
    grant(desk, rule="R04", check="notional")
    first, second = desk.ask(50), desk.ask(50)
    assert (first.result, second.result) == ("held", "rejected"), "R20 counts from R04's limit"
    assert desk.answer(first.decision_id) == "approved"
    assert desk.verdict(first.decision_id).body["verdict"]["digest_version"] == 3
    for one in (first, second):
        replayed(desk, one.decision_id)


def test_it_is_granted_once(desk: MemoryDesk) -> None:
    own, request = desk.small.desk.own, signed(desk, terms(desk))
    first, again = (grant_override(own, "operator", request) for _ in range(2))
    assert (first["seq"], first["again"], again["again"]) == (again["seq"], False, True)
    with pytest.raises(OverrideRefusedError, match="draft another"):
        grant(desk, qty_max_lots=1)


def test_a_replay_finds_an_override_that_is_not_on_record(
    desk: MemoryDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    full(desk)
    grant(desk)
    used = ask(desk).decision_id
    monkeypatch.setattr(Overrides, "may_act", lambda *_: False)
    with pytest.raises(ReplayDiffersError, match="override"):
        replayed(desk, used)
