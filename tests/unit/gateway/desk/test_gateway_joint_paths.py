"""Joint paths: of the forecasts that stood, joined once, by a seed that nobody chose, on record."""

from pathlib import Path
from typing import cast

import pytest
from msgspec.structs import replace

from audit.records.canonical import JSON, canonical
from audit.records.kinds import Kind
from audit.records.record import Record
from audit.store.reader import LedgerReader
from gateway.errors import ReplayDiffersError
from gateway.evidence.replay.replay import replay
from gateway.installation.policies import policy
from gateway.walk.journal.decision import ForecastTaken
from gateway.walk.journal.forecast import ForecastListed, ForecastRequested, PathsJoined
from inference.forecast.joint import joint_seed
from inference.speculation.seeds import decision_seed, prompt_label
from risk.forms.canonical import canonical_bytes
from risk.policy.policy import policy_document
from tests.doubles.full_policy import gathered_policy
from tests.doubles.memory_desk import TABLE, MemoryDesk, memory_desk


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MemoryDesk:
    """Three sessions of two instruments under a policy of format 2."""
    signed = tmp_path / "policy.json"
    signed.write_bytes(canonical_bytes(policy_document(gathered_policy())))
    monkeypatch.setattr(policy, "SHIPPED", signed)
    desk = memory_desk(tmp_path, live=False)
    desk.small.play(6)
    return desk


def sets(desk: MemoryDesk) -> list[tuple[Record, PathsJoined]]:
    return [(one, PathsJoined.of(one)) for one in desk.log.of_kind(Kind.PATHS_JOINED)]


def test_each_member_stood_when_the_decision_took_its_forecast(desk: MemoryDesk) -> None:
    lines = [(one.seq, ForecastListed.of(one)) for one in desk.log.of_kind(Kind.FORECAST_LISTED)]
    named = desk.log.of_kind(Kind.FORECAST_TAKEN)
    taken = {ForecastTaken.of(one).decision_id: one.seq for one in named}
    by_seq = {record.seq: said for record, said in sets(desk)}
    judged = 0
    for one in desk.log.of_kind(Kind.INTENT_PROPOSED):
        joint = one.body["paths"].get("joint")
        before = taken[one.stream.removeprefix("decision/")]
        for member in by_seq[joint["of_seq"]].members if joint else ():
            stood = [
                (said.forecast_id, said.attempt)
                for seq, said in lines
                if said.stands and said.instrument == member["instrument"] and seq < before
            ]
            assert stood[-1] == (member["forecast_id"], member["attempt"])
            judged += 1
    assert judged == 10, "five of six decisions have a book of two"


def test_a_set_is_joined_once_by_the_seed_of_its_forecasts(desk: MemoryDesk) -> None:
    found = sets(desk)
    assert len({said.joint_id for _, said in found}) == len(found)
    seeds = {}
    for one in desk.log.of_kind(Kind.FORECAST_REQUESTED):
        said = ForecastRequested.of(one)
        label = prompt_label(said.prompt_ids)
        seed = decision_seed(bytes.fromhex(said.seed_root), label, said.attempt)
        seeds[one.stream.removeprefix("forecast/")] = seed
    for _, joined in found:
        own = [seeds[f"{one['forecast_id']}.{one['attempt']}"] for one in joined.members]
        assert joined.seed == joint_seed(own).hex()


def test_a_replay_joins_again_and_finds_a_set_that_says_otherwise(desk: MemoryDesk) -> None:
    reader = cast("LedgerReader", desk.log)
    *_, last = desk.log.of_kind(Kind.INTENT_PROPOSED)
    name = last.stream.removeprefix("decision/")
    replay(reader, TABLE, name)
    named = last.body["paths"]["joint"]["of_seq"]
    (record,) = [one for one, _ in sets(desk) if one.seq == named]
    changes: dict[str, JSON] = {
        "correlation_1e6": [0],
        "seed": "0" * 64,
        "shrunk_bp": 1,
        "n_paths": 1,
    }
    for field, value in changes.items():
        desk.log.forged = replace(record, payload=canonical({**record.body, field: value}))
        with pytest.raises(ReplayDiffersError, match=f"paths_joined.*{field}"):
            replay(reader, TABLE, name)
