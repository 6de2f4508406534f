"""Modes by the signed policy: on record before the request, chosen again by replay."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from fastapi.testclient import TestClient
from typing_extensions import override

from audit.records.canonical import canonical
from audit.records.kinds import Kind
from audit.records.record import Record
from audit.store.reader import LedgerReader
from gateway.desk.officers import stops as stopping
from gateway.errors import ReplayDiffersError
from gateway.evidence.replay.replay import replay
from gateway.installation.policies import policy as shipped
from gateway.surfaces.api.app import build_api
from gateway.surfaces.web.views.body import Body
from gateway.surfaces.web.views.oversight.verdicts import trajectory_verdicts
from inference.engine.port import EngineDescription, SampleRequest, Samples
from inference.errors import EngineDeadError, EngineDeadlineError
from inference.forecast.verdicts import counted
from inference.snapshot import Snapshot
from risk.policy.policy import policy_document
from risk.state.state import Stop
from tests.doubles.full_policy import gathered_policy
from tests.doubles.memory_desk import TABLE, MemoryDesk, memory_desk
from tests.doubles.row_engine import RowEngine

MODES = "families__modes__"


class Away(RowEngine):
    """The engine's process has ended."""

    @override
    def describe(self) -> EngineDescription:
        raise EngineDeadError("the process has ended")


class Late(RowEngine):
    """No answer comes within the deadline."""

    @override
    def sample(self, request: SampleRequest) -> Samples:
        raise EngineDeadlineError(f"{request.request_id}: late")


def desk_of(folder: Path, monkeypatch: pytest.MonkeyPatch, **numbers: int) -> MemoryDesk:
    """A desk whose policy has these numbers of the modes; the budget of pages is not their test."""
    policy = gathered_policy(**{f"{MODES}{name}": value for name, value in numbers.items()})
    source = folder / "policy.json"
    source.write_bytes(canonical(policy_document(policy)))
    monkeypatch.setattr(shipped, "SHIPPED", source)
    return memory_desk(folder)


def storm(desk: MemoryDesk) -> None:
    """Let the last bars before the next snapshot move three percent each."""
    market = desk.small.desk.own.market
    usual = market.snapshot("SPXN")
    bars = list(usual.bars)
    for back in range(1, 13):
        bar, up = bars[-back], 1.03 if back % 2 else 1.0
        low, high = sorted((bar.open_ticks, int(bar.close_ticks * up)))
        bars[-back] = replace(
            bar, close_ticks=int(bar.close_ticks * up), low_ticks=low, high_ticks=high
        )

    def stormy(instrument: str) -> Snapshot:
        return replace(usual, instrument=instrument, bars=tuple(bars))

    market.snapshot = stormy  # type: ignore[method-assign]


def with_body(record: Record, body: dict[str, Any]) -> Record:
    return msgspec.structs.replace(record, payload=canonical(body))


def with_engine(desk: MemoryDesk, kind: type[RowEngine]) -> MemoryDesk:
    own = desk.small.desk.own
    engine = kind(table=TABLE, codec=own.tools.codec)
    desk.small.desk.own = replace(own, tools=replace(own.tools, engine=engine))
    return desk


def again(desk: MemoryDesk, decision_id: str) -> None:
    replay(cast("LedgerReader", desk.log), TABLE, decision_id)


def modes_of(desk: MemoryDesk) -> list[Record]:
    return desk.log.of_kind(Kind.MODE_CHOSEN)


def test_a_mode_is_on_record_before_its_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = desk_of(tmp_path, monkeypatch)
    answer = desk.ask()
    (chosen,), (asked,) = modes_of(desk), desk.log.of_kind(Kind.FORECAST_REQUESTED)
    assert chosen.seq == asked.seq - 1
    assert chosen.body["chosen"] in {"standard", "fast"}
    assert asked.body["spec_k"] == chosen.body["look_ahead"]
    assert asked.body["paths"] == chosen.body["paths"]
    again(desk, answer.decision_id)


def test_a_turbulent_market_is_forecast_fast(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = desk_of(tmp_path, monkeypatch, fast_divisor=2, fast_look_ahead=1)
    storm(desk)
    answer = desk.ask()
    (chosen,), (asked,) = modes_of(desk), desk.log.of_kind(Kind.FORECAST_REQUESTED)
    assert (chosen.body["chosen"], chosen.body["cause"]) == ("fast", "turbulent")
    assert (asked.body["paths"], asked.body["spec_k"]) == (48, 1)
    again(desk, answer.decision_id)


def test_a_replay_finds_a_mode_that_was_not_the_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = desk_of(tmp_path, monkeypatch)
    answer = desk.ask()
    (chosen,) = modes_of(desk)
    desk.log.forged = with_body(chosen, {**chosen.body, "chosen": "deep", "cause": "conflict"})
    with pytest.raises(ReplayDiffersError, match="mode_chosen"):
        again(desk, answer.decision_id)


def test_secure_reasoning_is_a_mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = desk_of(tmp_path, monkeypatch)
    stopping.begin_stop(desk.small.desk.own, "ada", Stop.SECURE, "odd drafts")
    answer = desk.ask()
    (chosen,) = modes_of(desk)
    assert (chosen.body["chosen"], chosen.body["look_ahead"]) == ("secure", 0)
    again(desk, answer.decision_id)


@pytest.mark.parametrize("kind", [Away, Late])
def test_without_the_engine_there_is_no_forecast_unless_the_policy_permits_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type[RowEngine]
) -> None:
    desk = with_engine(desk_of(tmp_path, monkeypatch), kind)
    assert desk.ask().result == "no_forecast"
    assert not desk.log.of_kind(Kind.FORECAST_MADE)


@pytest.mark.parametrize("kind", [Away, Late])
def test_the_table_answers_alone_where_the_policy_permits_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type[RowEngine]
) -> None:
    desk = with_engine(desk_of(tmp_path, monkeypatch, template_when_away=1), kind)
    answer = desk.ask()
    assert answer.result in {"approved", "held", "no_trade"}
    (made,), (failed,) = (
        desk.log.of_kind(one) for one in (Kind.FORECAST_MADE, Kind.FORECAST_FAILED)
    )
    assert failed.seq < made.seq
    assert made.body["forecast"]["source"] == "table"
    assert made.body["forecast"]["model_digest"] == TABLE.digest
    again(desk, answer.decision_id)


def test_the_tables_forecast_does_not_serve_under_a_policy_that_forbids_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = with_engine(desk_of(tmp_path, monkeypatch, template_when_away=1), Away)
    assert desk.ask().result != "no_forecast"
    assert desk.ask().result != "no_forecast"
    assert len(desk.log.of_kind(Kind.FORECAST_MADE)) == 1, "it stands"
    monkeypatch.setattr("gateway.walk.forecast.template_permitted", lambda _: False)
    assert desk.ask().result == "no_forecast"


def test_a_template_without_the_engines_failure_does_not_replay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = desk_of(tmp_path, monkeypatch, template_when_away=1)
    answer = desk.ask()
    (made,) = desk.log.of_kind(Kind.FORECAST_MADE)
    (twin,) = desk.log.of_kind(Kind.PLACEBO_MADE)
    desk.log.forged = with_body(made, {**made.body, "forecast": twin.body["forecast"]})
    with pytest.raises(ReplayDiffersError, match="engine has failed"):
        again(desk, answer.decision_id)


def test_health_shows_the_template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = desk_of(tmp_path, monkeypatch, template_when_away=1)
    own = desk.small.desk.own
    desk.small.desk.own = replace(own, parts=lambda: {"ledger": "ready", "engine": "stopped"})
    browser = TestClient(build_api(desk.small.desk, desk.small.keyring))
    answer = browser.get("/readyz")
    assert answer.json()["level"] == "template"
    assert answer.status_code == 503, "the engine is a part that is not ready"


def test_each_path_has_a_verdict_on_record_and_nothing_is_dropped_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = desk_of(tmp_path, monkeypatch)
    answer = desk.ask()
    (made,) = desk.log.of_kind(Kind.FORECAST_MADE)
    document = json.loads(desk.log.blob(made.body["verdicts_blob"]) or b"")
    assert document["verdicts"] == ["kept"] * made.body["forecast"]["n_paths"]
    assert len(document["target_mnat"]) == len(document["ends_1e8"]) == len(document["verdicts"])
    again(desk, answer.decision_id)
    desk.log.forged = with_body(made, {**made.body, "verdicts_blob": made.body["paths_blob"]})
    with pytest.raises(ReplayDiffersError, match="verdicts_blob"):
        again(desk, answer.decision_id)


def test_a_path_that_moves_too_far_is_dropped_with_its_reason_and_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = desk_of(tmp_path, monkeypatch, path_move_max=2_000_000)
    answer = desk.ask()
    (made,) = desk.log.of_kind(Kind.FORECAST_MADE)
    document = json.loads(desk.log.blob(made.body["verdicts_blob"]) or b"")
    forecast, counts = made.body["forecast"], counted(document)
    assert set(counts) == {"kept", "move_too_large"}
    assert (counts["kept"], counts["move_too_large"]) == (
        forecast["n_paths"],
        forecast["n_dropped"],
    )
    shown = trajectory_verdicts(cast("LedgerReader", desk.log), Body(made.body))
    assert shown is not None
    assert shown.dropped == forecast["n_dropped"]
    # the page's is of rounded ends, the forecast's was rounded last: they may differ by one 1e-8
    assert abs(shown.kept_1e8[0] - forecast["interval_low_1e8"]) <= 1
    assert shown.dropped_1e8[0] < shown.kept_1e8[0] < shown.kept_1e8[-1] < shown.dropped_1e8[-1]
    again(desk, answer.decision_id)
