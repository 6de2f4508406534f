"""A desk under a policy of format 2: its inputs are on record, and a replay agrees."""

from collections.abc import Iterable
from pathlib import Path
from typing import cast

import pytest
from msgspec.structs import replace

from audit.records.canonical import canonical
from audit.records.kinds import Kind
from audit.records.record import Record
from audit.store.reader import LedgerReader
from gateway.errors import ReplayDiffersError
from gateway.evidence.replay.replay import replay
from gateway.installation.keys.keyring import Caller
from gateway.installation.keys.roles import Role
from gateway.installation.policies import policy
from gateway.surfaces.web.views.decision import decision_view
from gateway.walk.journal.control.difference import DifferenceCause, Found, book_difference
from gateway.walk.projections.forecasts import ForecastsOnRecord
from gateway.walk.sampled.joint import JointPaths
from risk.forms.canonical import canonical_bytes
from risk.policy.policy import Policy, policy_document
from risk.rules.catalogue import CONDUCT
from tests.doubles.full_policy import gathered_policy
from tests.doubles.memory_desk import AGENT, AGENT_ACCOUNT, TABLE, MemoryDesk, memory_desk
from tests.doubles.memory_ledger import MemoryLedger

ALL = gathered_policy()


class NoBlobs:
    """A reader that has the records and none of the blobs."""

    def __init__(self, reader: MemoryLedger) -> None:
        """Read this log."""
        self._reader = reader

    def records(
        self,
        *,
        stream: str | None = None,
        kinds: Iterable[Kind] | None = None,
        after_seq: int = -1,
        before_seq: int | None = None,
    ) -> Iterable[Record]:
        """Yield records in order."""
        return self._reader.records(
            stream=stream, kinds=kinds, after_seq=after_seq, before_seq=before_seq
        )

    def blob(self, digest: str) -> bytes | None:
        """Return nothing."""
        del digest
        return None


def desk_under(
    folder: Path, under: Policy, monkeypatch: pytest.MonkeyPatch, *, live: bool = True
) -> MemoryDesk:
    signed = folder / "policy.json"
    signed.write_bytes(canonical_bytes(policy_document(under)))
    monkeypatch.setattr(policy, "SHIPPED", signed)
    return memory_desk(folder, live=live)


def test_inputs_are_on_record_and_a_replay_agrees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = desk_under(tmp_path, ALL, monkeypatch)
    response = desk.ask()
    assert response.result == "approved"
    given = desk.verdict(response.decision_id)
    assert given.body["inputs"]["reference"]["listed"][0]["adv_lots"] == 1_000_000
    assert {one["rule_id"] for one in given.body["verdict"]["results"]} >= {"R15"}
    replay(cast("LedgerReader", desk.log), TABLE, response.decision_id)


def test_a_share_above_the_policys_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = desk_under(tmp_path, gathered_policy(families__liquidity__adv_share_max=0), monkeypatch)
    response = desk.ask()
    assert response.result == "held"
    assert {one.reason for one in response.rules if one.action == "HOLD"} == {
        "VOLUME_SHARE_ABOVE_MAXIMUM"
    }
    replay(cast("LedgerReader", desk.log), TABLE, response.decision_id)


@pytest.mark.parametrize("others", [False, True])
def test_a_difference_elsewhere_stops_its_account_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, others: bool
) -> None:
    desk = desk_under(tmp_path, ALL, monkeypatch)
    apart = Found(
        cause=DifferenceCause.ACCOUNT_LOTS,
        account="another" if others else AGENT_ACCOUNT,
        instrument="NDXN",
        cl_ord_id="",
        book_lots=0,
        broker_lots=1,
    )
    desk.log.append(book_difference(apart, session="EMSSIM", source="report", number=1))
    again = desk.ask(lots=49)
    stopped = {one.reason for one in again.rules if one.action == "HALT"}
    assert stopped == (set() if others else {"ACCOUNT_DIFFERS"})
    assert (again.result == "rejected") != others
    replay(cast("LedgerReader", desk.log), TABLE, again.decision_id)


def test_the_paths_of_the_whole_book_are_on_record_and_a_replay_makes_them_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second instrument's decision reads the first one's paths; so does its twin."""
    desk = desk_under(tmp_path, ALL, monkeypatch, live=False)
    desk.small.play(6)
    proposed = [*desk.log.records(kinds=(Kind.INTENT_PROPOSED,))]
    named = [one.body["paths"].get("joint") for one in proposed]
    assert [one is not None for one in named] == [False, True, True, True, True, True]
    joined = {one.seq: one for one in desk.log.of_kind(Kind.PATHS_JOINED)}
    made = {one.seq: one for one in desk.log.of_kind(Kind.FORECAST_MADE)}
    for one, said in zip(proposed, named, strict=True):
        if said is not None:
            record = joined[said["of_seq"]]
            assert (record.leaf.hex(), record.seq < one.seq) == (said["of_leaf"], True)
            assert record.body["digest"] == one.body["paths"]["digest"]
            members = record.body["members"]
            assert [member["instrument"] for member in members] == ["NDXN", "SPXN"]
            assert all(made[m["of_seq"]].leaf.hex() == m["of_leaf"] for m in members)
    budgets = proposed[-1].body["sizing"]["budgets"]
    assert budgets["paths_digest"] == proposed[-1].body["paths"]["digest"]
    for one in proposed:
        replay(cast("LedgerReader", desk.log), TABLE, one.stream.removeprefix("decision/"))


def test_the_page_of_a_decision_says_how_its_book_moves_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = desk_under(tmp_path, ALL, monkeypatch, live=False)
    desk.small.play(2)
    found = []
    for one in desk.log.of_kind(Kind.INTENT_PROPOSED):
        name, records = (
            one.stream.removeprefix("decision/"),
            tuple(desk.log.records(stream=one.stream)),
        )
        found.append(decision_view(name, records, cast("LedgerReader", desk.log), None, 0).joint)
    alone, joint = found
    assert alone is None
    assert joint is not None
    assert [name for name, _ in joint.members] == ["NDXN", "SPXN"]
    ((one_name, other_name, value),) = joint.pairs
    assert (one_name, other_name) == ("NDXN", "SPXN")
    assert 0.8 < float(value) <= 1, "both are indices of one market"


def test_a_replay_finds_a_sizing_that_rested_on_other_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = desk_under(tmp_path, ALL, monkeypatch, live=False)
    desk.small.play(4)
    last = [*desk.log.records(kinds=(Kind.INTENT_PROPOSED,))][-1]
    paths = {**last.body["paths"], "digest": "0" * 64}
    desk.log.forged = replace(last, payload=canonical({**last.body, "paths": paths}))
    with pytest.raises(ReplayDiffersError, match="paths"):
        replay(cast("LedgerReader", desk.log), TABLE, last.stream.removeprefix("decision/"))


def test_without_paths_of_what_is_held_the_strategy_makes_no_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other instrument's forecast is on record, and its paths cannot be read."""
    desk = desk_under(tmp_path, ALL, monkeypatch, live=False)
    section = desk.small.desk.own.section
    forecasts = ForecastsOnRecord(cast("LedgerReader", NoBlobs(desk.log)))
    blind = JointPaths(forecasts, lambda: section.policy, lambda draft: desk.log.append(draft)[0])
    monkeypatch.setattr(section, "paths", blind)
    desk.small.play(2)
    first, second = desk.log.records(kinds=(Kind.INTENT_PROPOSED,))
    assert first.body["intent"] is not None
    assert second.body["intent"] is None
    assert second.body["sizing"]["reason"] == "NO_JOINT_PATHS"


def test_a_submitter_is_told_one_code_for_conduct_and_the_record_has_the_rule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = desk_under(tmp_path, gathered_policy(families__conduct__ladder_max=0), monkeypatch)
    answer = desk.ask()
    (line,) = (one for one in answer.rules if one.action == "REJECT")
    assert (answer.result, line.rule, line.reason) == ("rejected", "conduct", "CONDUCT")
    assert (line.observed, line.limit, line.margin) == (None, None, None)
    results = desk.verdict(answer.decision_id).body["verdict"]["results"]
    assert "OWN_LEVELS_STACKED" in {one["reason"] for one in results}
    told = answer.model_dump_json()
    for role in (Role.AGENT, Role.AUDITOR):
        shown = desk.small.desk.decision(
            answer.decision_id, reader=Caller(name=AGENT.name, role=role)
        )
        names = any(one in str(shown) for one in ("'R53'", "OWN_LEVELS_STACKED"))
        assert names is (role is Role.AUDITOR)
        assert [one for one in shown["records"] if "withheld" in one] or role is Role.AUDITOR
    assert not [one for one in CONDUCT if one.value in told]
    replay(cast("LedgerReader", desk.log), TABLE, answer.decision_id)


def test_an_order_that_waits_for_a_person_meets_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A yes has it judged again; until then nothing of it is at the broker."""
    desk = desk_under(tmp_path, gathered_policy(families__liquidity__adv_share_max=0), monkeypatch)
    assert desk.ask(exposure_bp=2_000).result == "held"
    sale = desk.ask(exposure_bp=-2_000)
    assert "WOULD_MEET_AN_OWN_ORDER" not in {one.reason for one in sale.rules}
    orders = desk.verdict(sale.decision_id).body["inputs"]["firm"]["orders"]
    assert orders == []
