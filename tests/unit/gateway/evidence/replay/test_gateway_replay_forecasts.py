"""A decision replays with its forecast: one of its own inputs, sealed before it, drawn once."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from typing_extensions import override

from audit.errors import LedgerWriteError
from audit.records.canonical import JSON, canonical
from audit.records.kinds import Kind
from audit.records.record import Draft, Record
from audit.store.reader import LedgerReader
from gateway.desk.bodies.requests import IntentRequest
from gateway.desk.officers import stops as stopping
from gateway.errors import ReplayDiffersError
from gateway.evidence.replay.forecasts.again import ForecastsAgain
from gateway.evidence.replay.replay import Steps, replay, replay_forecast
from gateway.installation.policies import policy as shipped
from gateway.walk.forecast import seal_open_forecasts
from gateway.walk.journal.decision import ForecastTaken
from gateway.walk.journal.run import model_loaded
from gateway.walk.projections.forecasts import ForecastsOnRecord, decision_records
from inference.codec.codec import ReturnCodec
from inference.codec.prompt import Prompt
from inference.engine.port import EngineDescription
from inference.errors import CodecError, EngineDeadError, ForecastError, LateTwinError
from inference.forecast.forecast import Sampled
from inference.forecast.placebo import TableModel
from inference.snapshot import Snapshot
from risk.policy.policy import policy_digest, policy_document
from risk.state.state import Stop
from tests.doubles.full_policy import gathered_policy
from tests.doubles.memory_desk import AGENT, TABLE, MemoryDesk, memory_desk
from tests.doubles.restarted_desk import NEXT, restarted
from tests.doubles.row_engine import RowEngine
from tests.doubles.walk_scenes import without_a_forecast


class Away(RowEngine):
    """The engine's process has ended."""

    @override
    def describe(self) -> EngineDescription:
        raise EngineDeadError("the process has ended")


class Wordless(ReturnCodec):
    """A codec that no snapshot suits."""

    @override
    def encode(self, snapshot: Snapshot) -> Prompt:
        raise CodecError(f"no words for {snapshot.instrument}")


def failing(error: ForecastError) -> TableModel:
    """A table whose paths cannot be stated, or are late."""

    class Failing(TableModel):
        @override
        def sample(self, **_: object) -> Sampled:
            raise error

    return Failing(TABLE, ReturnCodec())


def with_tools(desk: MemoryDesk, **tools: Any) -> None:  # noqa: ANN401 - tools are of any type
    own = desk.small.desk.own
    desk.small.desk.own = replace(own, tools=replace(own.tools, **tools))


def again(desk: MemoryDesk, decision_id: str, forecasts: ForecastsAgain | None = None) -> Steps:
    return replay(cast("LedgerReader", desk.log), TABLE, decision_id, forecasts=forecasts)


def differs(desk: MemoryDesk, decision_id: str) -> str:
    with pytest.raises(ReplayDiffersError) as found:
        again(desk, decision_id)
    return f"{found.value.step}: {found.value.detail}"


def taken_of(desk: MemoryDesk, decision_id: str) -> Record:
    stream, kinds = f"decision/{decision_id}", (Kind.FORECAST_TAKEN,)
    return list(desk.log.records(stream=stream, kinds=kinds))[-1]


def named(desk: MemoryDesk, decision_id: str) -> str:
    return ForecastTaken.of(taken_of(desk, decision_id)).named.stream.removeprefix("forecast/")


def forge(desk: MemoryDesk, record: Record, **fields: JSON) -> None:
    payload = canonical({**record.body, **fields})
    desk.log.forged = msgspec.structs.replace(record, payload=payload)


def names_that_of(desk: MemoryDesk, decision_id: str, other: str) -> None:
    """Let a decision name another one's forecast, as if it were its own."""
    said = ForecastTaken.of(taken_of(desk, other)).named
    forge(desk, taken_of(desk, decision_id), **said.document())


def engine_back_after(desk: MemoryDesk, fails: Callable[[MemoryDesk], object]) -> str:
    """Let an attempt fail, and return a decision that the next one made a forecast for."""
    engine = desk.small.desk.own.tools.engine
    fails(desk)
    with_tools(desk, engine=engine)
    return desk.ask().decision_id


def crashes(desk: MemoryDesk) -> None:
    """End the process before the forecast is on record, and start again."""

    def stop(drafts: tuple[Draft, ...]) -> None:
        if any(one.kind is Kind.FORECAST_MADE for one in drafts):
            raise LedgerWriteError("the gateway has died")

    desk.log.before = stop
    with pytest.raises(LedgerWriteError):
        desk.ask()
    desk.log.before = lambda _: None
    own = desk.small.desk.own
    known = ForecastsOnRecord(cast("LedgerReader", desk.log))
    assert seal_open_forecasts(own.tools.ledger, known, own.tags.mode) == 1


def table_alone(desk: MemoryDesk) -> str:
    """Ask while the engine is away; the policy lets the table answer."""
    with_tools(desk, engine=Away(table=TABLE, codec=ReturnCodec()))
    return desk.ask().decision_id


def answering_table(folder: Path, monkeypatch: pytest.MonkeyPatch) -> MemoryDesk:
    """A desk whose policy lets the table answer alone."""
    source = folder / "policy.json"
    policy = gathered_policy(families__modes__template_when_away=1)
    source.write_bytes(canonical(policy_document(policy)))
    monkeypatch.setattr(shipped, "SHIPPED", source)
    return memory_desk(folder)


def test_decisions_of_one_forecast_recompute_it_once(desk: MemoryDesk) -> None:
    first, second = desk.ask().decision_id, desk.ask().decision_id
    (made,) = desk.log.of_kind(Kind.FORECAST_MADE)
    assert named(desk, first) == named(desk, second) == made.stream.removeprefix("forecast/")
    known = ForecastsAgain()
    found = [again(desk, one, known) for one in (first, second)]
    assert found == [again(desk, one) for one in (first, second)]
    assert [one.rows[0].name for one in found] == [named(desk, first)] * 2
    assert found[0].rows[0].evidence is found[1].rows[0].evidence, "it was recomputed twice"
    shared = set(found[0].seqs) & set(found[1].seqs)
    assert shared == {one.seq for one in desk.log.records(stream=made.stream)}


def test_a_forecast_replays_by_itself(desk: MemoryDesk) -> None:
    decision_id = desk.ask().decision_id
    reader = cast("LedgerReader", desk.log)
    alone = replay_forecast(reader, TABLE, named(desk, decision_id))
    assert set(alone.lines) < set(again(desk, decision_id).lines)
    assert alone.rows == again(desk, decision_id).rows
    with pytest.raises(ReplayDiffersError, match="is not on record"):
        replay_forecast(reader, TABLE, f"{'A' * 26}.0")


@pytest.mark.parametrize(
    ("fails", "outcome"), [(without_a_forecast, "failed"), (crashes, "abandoned")]
)
def test_an_attempt_after_a_failure_has_the_root_of_the_first(
    desk: MemoryDesk, fails: Callable[[MemoryDesk], object], outcome: str
) -> None:
    decision_id = engine_back_after(desk, fails)
    forecast_id, _, attempt = named(desk, decision_id).rpartition(".")
    assert attempt == "1"
    first, second = desk.log.of_kind(Kind.SNAPSHOT_TAKEN)
    assert first.seq < second.seq
    lines = again(desk, decision_id).lines
    assert any(line.endswith(f"the last before record {first.seq}") for line in lines)
    earlier = replay_forecast(cast("LedgerReader", desk.log), TABLE, f"{forecast_id}.0")
    assert earlier.lines[-1].split() == ["forecast_sealed", outcome]


@pytest.mark.parametrize(
    ("missing", "why"),
    [
        (Kind.SNAPSHOT_TAKEN, "is not on record"),
        (Kind.FORECAST_FAILED, "has no failure"),
        (Kind.FORECAST_SEALED, "has no seal"),
    ],
)
def test_an_attempt_without_a_failure_before_it_differs(
    desk: MemoryDesk, missing: Kind, why: str
) -> None:
    decision_id = engine_back_after(desk, without_a_forecast)
    again(desk, decision_id)
    desk.log.disavowed = {desk.log.of_kind(missing)[0].seq}
    assert differs(desk, decision_id) == f"snapshot_taken: attempt 0 before it {why}"


def test_an_attempt_after_one_that_made_the_forecast_differs(
    desk: MemoryDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody draws until it fits."""
    first = desk.ask().decision_id
    monkeypatch.setattr(ForecastsOnRecord, "standing", lambda *_: None)
    second = desk.ask().decision_id
    assert named(desk, second).endswith(".1")
    again(desk, first)
    assert differs(desk, second) == "snapshot_taken: attempt 0 before it made the forecast"


def test_the_tables_own_forecast_gives_way_to_the_engines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = answering_table(tmp_path, monkeypatch)
    alone: list[str] = []
    second = engine_back_after(desk, lambda one: alone.append(table_alone(one)))
    assert [named(desk, one)[-2:] for one in (*alone, second)] == [".0", ".1"]
    again(desk, alone[0])
    again(desk, second)
    third = desk.ask().decision_id
    again(desk, third)
    names_that_of(desk, third, alone[0])
    assert differs(desk, third).endswith(".1 stood for its instrument")


def test_the_forecast_of_another_instrument_differs(desk: MemoryDesk) -> None:
    request = IntentRequest(client_key="other", instrument="NDXN", target_exposure_bp=1_000)
    other = desk.small.desk.submit(AGENT, request).decision_id
    own = desk.ask().decision_id
    again(desk, other)
    names_that_of(desk, own, other)
    assert differs(desk, own) == "forecast_taken: instrument"


def test_a_forecast_that_was_not_sealed_before_it_differs(desk: MemoryDesk) -> None:
    decision_id = desk.ask().decision_id
    desk.log.disavowed = {one.seq for one in desk.log.of_kind(Kind.FORECAST_SEALED)}
    assert differs(desk, decision_id) == "forecast_taken: its forecast was not sealed before it"


def test_a_forecast_of_other_terms_of_paths_differs(desk: MemoryDesk) -> None:
    policy = gathered_policy()
    (activated,) = desk.log.of_kind(Kind.POLICY_ACTIVATED)
    payload = {**activated.body, "policy": policy_document(policy)}
    desk.ask()
    desk.log.append(
        Draft(
            stream="control",
            kind=Kind.POLICY_ACTIVATED,
            payload=payload,
            actor="gateway",
            idem_key="policy:behind its back",
        )
    )
    decision_id = desk.ask().decision_id
    received = desk.log.of_kind(Kind.INTENT_RECEIVED)[-1]
    forge(desk, received, policy_digest=policy_digest(policy), policy_version=policy.version)
    assert differs(desk, decision_id).startswith("forecast_taken: terms")


@pytest.mark.parametrize("stopped", [True, False])
def test_a_forecast_that_denies_the_stops_of_its_time_differs(
    desk: MemoryDesk, monkeypatch: pytest.MonkeyPatch, *, stopped: bool
) -> None:
    own = desk.small.desk.own
    if stopped:
        stopping.begin_stop(own, "ada", Stop.SECURE, "odd drafts")
    monkeypatch.setattr(own.section, "stops_now", lambda: () if stopped else (Stop.SECURE,))
    word = "was" if stopped else "was not"
    decision_id = desk.ask().decision_id
    assert differs(desk, decision_id) == f"forecast_taken: secure reasoning {word} in force"


@pytest.mark.parametrize("seen", [True, False])
def test_a_stop_that_begins_meanwhile_may_be_seen_or_not(
    desk: MemoryDesk, monkeypatch: pytest.MonkeyPatch, *, seen: bool
) -> None:
    own = desk.small.desk.own

    def begins() -> tuple[Stop, ...]:
        stopping.begin_stop(own, "ada", Stop.SECURE, "odd drafts")
        return (Stop.SECURE,) if seen else ()

    monkeypatch.setattr(own.section, "stops_now", begins)
    again(desk, desk.ask().decision_id)


@pytest.mark.parametrize("error", [ForecastError("odd"), LateTwinError("late")])
def test_only_rounds_that_make_no_forecast_may_be_called_failed(
    desk: MemoryDesk, error: ForecastError
) -> None:
    """Another attempt would follow, with other seeds; a twin that is late is the clock's word."""
    with_tools(desk, placebo=failing(error))
    decision_id = desk.ask().decision_id
    assert taken_of(desk, decision_id).body["missing"] == error.code
    if isinstance(error, LateTwinError):
        assert again(desk, decision_id).rows == ()
    else:
        assert differs(desk, decision_id) == "forecast_failed: its rounds make a forecast"


def test_a_decision_that_nothing_was_asked_for_says_why(desk: MemoryDesk) -> None:
    with_tools(desk, codec=Wordless())
    decision_id = desk.ask().decision_id
    kinds = [line.split()[0] for line in again(desk, decision_id).lines]
    assert kinds == ["intent_received", "forecast_taken", "decision_sealed"]
    forge(desk, taken_of(desk, decision_id), missing="engine_dead")
    assert differs(desk, decision_id) == "forecast_taken: payload.missing"


def test_a_later_run_takes_the_forecast_of_an_earlier_one(desk: MemoryDesk) -> None:
    earlier = desk.ask().decision_id
    restarted(desk)
    later = desk.ask().decision_id
    assert taken_of(desk, later).body["run_id"] == NEXT
    assert named(desk, later) == named(desk, earlier)
    again(desk, later)
    described = replace(desk.small.desk.own.tools.engine.describe(), model_digest="1" * 64)
    desk.log.append(model_loaded(described, NEXT))
    assert differs(desk, later) == "forecast_taken: its model was not loaded in this run"
    again(desk, earlier)


def test_records_of_a_decision_and_its_forecast_stand_by_number(desk: MemoryDesk) -> None:
    desk.ask()
    second = desk.ask().decision_id
    steps = again(desk, second)
    assert sorted(steps.seqs) == [one.seq for one in decision_records(desk.log, second)]
