"""R46's inputs: whose model decided the firm's positions, and which strategies agree."""

from pathlib import Path
from typing import Any, cast

import pytest
from typing_extensions import override

from audit.store.reader import LedgerReader
from gateway.errors import ReplayDiffersError
from gateway.evidence.replay.replay import replay
from gateway.installation.policies import policy
from gateway.walk.projections.gathering import FirmBooks, ModelsBehind, crowd_of
from risk.forms.canonical import canonical_bytes
from risk.policy.policy import policy_document
from risk.state.inputs.firm import Crowd
from tests.doubles.full_policy import armed_without
from tests.doubles.memory_desk import AGENT_ACCOUNT, TABLE, MemoryDesk, memory_desk
from tests.doubles.small_desk import EQUITY_MINOR, RUN
from tests.doubles.walk_scenes import quantity


def desk_with(folder: Path, monkeypatch: pytest.MonkeyPatch, **numbers: int) -> MemoryDesk:
    signed = folder / "policy.json"
    armed = armed_without(("R30", "R43"), **numbers)
    signed.write_bytes(canonical_bytes(policy_document(armed)))
    monkeypatch.setattr(policy, "SHIPPED", signed)
    return memory_desk(folder)


def bought(desk: MemoryDesk) -> str:
    order = desk.rest(50)
    lots = quantity(order)
    whole = {"t32": str(lots), "t14": str(lots), "t151": "0", "t39": "2"}
    desk.settled(desk.report(order, **whole))
    return order.decision_id


def crowd_in(desk: MemoryDesk, decision_id: str) -> dict[str, Any]:
    found: dict[str, Any] = desk.verdict(decision_id).body["inputs"]["crowd"]
    return found


WIDE = {"families__account__model_share_max": 10_000}


def test_a_position_belongs_to_the_model_of_its_last_execution(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = desk_with(tmp_path, monkeypatch, **WIDE)
    decision = bought(desk)
    model = ModelsBehind(desk.log).of(decision)
    assert len(model) == 64
    response = desk.ask()
    crowd = crowd_in(desk, response.decision_id)
    held = desk.small.desk.own.section.book(AGENT_ACCOUNT).positions[0]
    assert crowd["models"] == [{"model_digest": model, "gross_minor": abs(held.value_minor)}]
    assert crowd["accounts"] == [RUN, AGENT_ACCOUNT]
    assert (crowd["pairs"], crowd["agreeing"]) == (0, 0)
    replay(cast("LedgerReader", desk.log), TABLE, response.decision_id)


def test_one_model_above_its_share_waits_for_a_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = desk_with(tmp_path, monkeypatch)
    response = desk.ask()
    assert response.result == "held"
    assert "MODEL_SHARE_ABOVE_MAXIMUM" in {one.reason for one in response.rules}


def test_strategies_with_intents_on_record_are_pairs_in_each_instrument() -> None:
    wished = {
        ("a", "overlay", "SPXN"): "BUY",
        ("b", "wish", "SPXN"): "BUY",
        ("c", "wish", "SPXN"): "SELL",
        ("a", "overlay", "NDXN"): "SELL",
    }
    firm = FirmBooks(
        basis_seq=3, books=(), differences=(), pasts=(), held=frozenset(), wished=wished
    )
    found = firm.crowd(lambda _: "")
    assert found == Crowd(basis_seq=3, models=(), pairs=3, agreeing=1, accounts=())


def test_the_records_alone_give_the_same_crowd(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = desk_with(tmp_path, monkeypatch, **WIDE)
    bought(desk)
    desk.small.play(2)
    response = desk.ask()
    said = crowd_in(desk, response.decision_id)
    again = crowd_of(desk.log, EQUITY_MINOR, said["accounts"], said["basis_seq"])
    assert (again.pairs, again.agreeing) == (said["pairs"], said["agreeing"])
    assert [one.gross_minor for one in again.models] == [
        one["gross_minor"] for one in said["models"]
    ]


def test_a_gateway_that_shrinks_a_models_share_is_found_by_a_replay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = desk_with(tmp_path, monkeypatch, **WIDE)
    bought(desk)

    class Others(ModelsBehind):
        @override
        def of(self, decision_id: str) -> str:
            """Name another model."""
            return f"another than that of {decision_id}"

    source = desk.small.desk.own.section._gathering  # noqa: SLF001 - plants the fault
    object.__setattr__(source, "models", Others(desk.log))
    response = desk.ask()
    with pytest.raises(ReplayDiffersError, match=r"inputs\.crowd"):
        replay(cast("LedgerReader", desk.log), TABLE, response.decision_id)
