"""Each decision with a fitted scale has its GJR twin: recorded, judged, replayed, never sent."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest
from typing_extensions import override

from audit.records.kinds import Kind
from audit.records.record import Draft, Record
from audit.store.reader import LedgerReader
from gateway.errors import ReplayDiffersError
from gateway.evidence.replay.replay import replay
from gateway.installation.policies import policy
from gateway.walk.journal.decision import ForecastTaken, book_digest
from gateway.walk.ports import Afterwards, Begun, OrderedLedger
from gateway.walk.projections.book import Twin
from gateway.walk.projections.forecasts import decision_records
from gateway.walk.sampled import gjr
from gateway.walk.sampled.gjr import NO_FITTED_SCALE
from inference.engine.port import SampleRequest, Samples
from inference.errors import ForecastError
from inference.forecast.forecast import Sampled
from risk.forms.canonical import canonical_bytes
from risk.policy.policy import policy_document
from tests.doubles.full_policy import gathered_policy
from tests.doubles.memory_desk import TABLE, MemoryDesk, memory_desk
from tests.doubles.memory_ledger import MemoryLedger
from tests.doubles.remembered import forged, leaves
from tests.doubles.row_engine import RowEngine
from tests.doubles.scaled_desk import scaled_desk
from tests.doubles.small_desk import RUN

SESSIONS = 4
READINGS = {(Kind.GJR_JUDGED, ("market_now_us",))}
"""What the record says of a clock."""
_Made = TypeVar("_Made")


@dataclass(frozen=True, kw_only=True)
class Telling(RowEngine):
    """Says when it samples."""

    order: list[str]

    @override
    def sample(self, request: SampleRequest) -> Samples:
        self.order.append("sampled")
        return super().sample(request)


class Silent:
    """A ledger that leaves out one kind, as a gateway would that hides its twin."""

    def __init__(self, log: MemoryLedger, kind: Kind) -> None:
        """Write to a log."""
        self._log, self._kind = log, kind

    def append(self, *drafts: Draft, **how: Any) -> tuple[Record, ...]:  # noqa: ANN401 - as given
        """Append the others."""
        return self._log.append(*(one for one in drafts if one.kind is not self._kind), **how)

    def put_blob(self, data: bytes) -> str:
        """Store bytes."""
        return self._log.put_blob(data)


def replayed(desk: MemoryDesk, stream: str) -> tuple[str, ...]:
    """Replay a decision, or the first one that names a forecast."""
    if stream.startswith("forecast/"):
        named = desk.log.of_kind(Kind.FORECAST_TAKEN)
        stream = next(one.stream for one in named if ForecastTaken.of(one).named.stream == stream)
    reader = cast("LedgerReader", desk.log)
    return replay(reader, TABLE, stream.removeprefix("decision/")).lines


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> MemoryDesk:
    return scaled_desk(tmp_path_factory.mktemp("gjr"), SESSIONS)


def test_every_decision_has_a_simulation_of_gjr_beside_its_forecast(played: MemoryDesk) -> None:
    twins = played.log.of_kind(Kind.GJR_MADE)
    targets = {one.stream: one.body["forecast"] for one in played.log.of_kind(Kind.FORECAST_MADE)}
    assert len(twins) == len(targets) == SESSIONS
    for twin in twins:
        made, target = twin.body["forecast"], targets[twin.stream]
        assert made["source"] == "gjr"
        assert twin.body["fitter"].startswith("arch ")
        same = ("instrument", "as_of_us", "horizon", "bar_us", "n_paths", "codec_digest")
        assert {name: made[name] for name in same} == {name: target[name] for name in same}
        (asked,) = played.log.records(stream=twin.stream, kinds=(Kind.FORECAST_REQUESTED,))
        assert made["model_digest"] == asked.body["prompt"]["scale"]["fit"]


def test_it_is_judged_on_a_book_of_its_own_and_sends_nothing(played: MemoryDesk) -> None:
    judged = played.log.of_kind(Kind.GJR_JUDGED)
    assert len(judged) == SESSIONS
    filled = [one for one in judged if one.body["fill"] is not None]
    assert filled
    book = played.small.desk.own.section.twin_book(Twin.GJR, RUN)
    assert book.account == f"{RUN}.gjr"
    lots = {name: book.lots(name) for name in ("SPXN", "NDXN")}
    for name, held in lots.items():
        fills = (one.body["fill"] for one in filled)
        signs = {"BUY": 1, "SELL": -1}
        ours = [f for f in fills if f["instrument"] == name]
        assert held == sum(signs[f["side"]] * f["qty_lots"] for f in ours)
    own = played.small.desk.own.section.book(RUN)
    assert book_digest(book) != book_digest(own)
    assert all(one.body["account"] == RUN for one in judged)


def test_it_replays_to_the_same_bytes(played: MemoryDesk) -> None:
    for twin in played.log.of_kind(Kind.GJR_MADE):
        lines = replayed(played, twin.stream)
        assert any(line.startswith("gjr_made") for line in lines)
        assert any(line.startswith("gjr_judged") for line in lines)


def test_nothing_of_it_can_be_forged(played: MemoryDesk) -> None:
    stream = played.log.of_kind(Kind.GJR_JUDGED)[-1].stream
    free = set()
    for record in decision_records(
        cast("LedgerReader", played.log), stream.removeprefix("decision/")
    ):
        if record.kind not in {Kind.GJR_MADE, Kind.GJR_JUDGED}:
            continue
        for path in leaves(record.body, most=1):
            played.log.forged = forged(record, path)
            try:
                replayed(played, stream)
            except ReplayDiffersError:
                continue
            finally:
                played.log.forged = None
            free.add((record.kind, path))
    assert free <= READINGS


@pytest.mark.parametrize("kind", [Kind.GJR_MADE, Kind.GJR_JUDGED])
def test_a_replay_finds_that_it_is_missing(tmp_path: Path, kind: Kind) -> None:
    desk = scaled_desk(tmp_path)
    own = desk.small.desk.own
    silent = cast("OrderedLedger", Silent(desk.log, kind))
    desk.small.desk.own = replace(own, tools=replace(own.tools, ledger=silent))
    desk.small.play(1)
    (stream,) = [one.stream for one in desk.log.of_kind(Kind.FORECAST_MADE)]
    with pytest.raises(ReplayDiffersError, match=kind.value):
        replayed(desk, stream)


def test_its_paths_are_on_record_and_joined_with_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under a policy of format 2: the second instrument's twin rests on the first one's."""
    signed = tmp_path / "policy.json"
    signed.write_bytes(canonical_bytes(policy_document(gathered_policy())))
    monkeypatch.setattr(policy, "SHIPPED", signed)
    desk = scaled_desk(tmp_path, 4)
    assert all(desk.log.blob(one.body["paths_blob"]) for one in desk.log.of_kind(Kind.GJR_MADE))
    judged = [one.body.get("paths") or {} for one in desk.log.of_kind(Kind.GJR_JUDGED)]
    named = {one["joint"]["of_seq"] for one in judged if "joint" in one}
    sets = [one for one in desk.log.of_kind(Kind.PATHS_JOINED) if one.seq in named]
    assert sets
    for one in sets:
        assert {member["paths"] for member in one.body["members"]} == {Kind.GJR_MADE.value}
    for one in desk.log.of_kind(Kind.GJR_MADE):
        replayed(desk, one.stream)


def test_without_a_fitted_scale_the_record_says_why_there_is_none(tmp_path: Path) -> None:
    desk = memory_desk(tmp_path, live=False)
    desk.small.play(2)
    for twin in desk.log.of_kind(Kind.GJR_MADE):
        assert twin.body["missing"] == NO_FITTED_SCALE
        assert twin.body["detail"].startswith("does not apply, because return-codec-1")
        assert any("none: no_fitted_scale" in line for line in replayed(desk, twin.stream))
    assert not desk.log.of_kind(Kind.GJR_JUDGED)
    assert len(desk.log.of_kind(Kind.INTENT_PROPOSED)) == 2


@pytest.mark.parametrize(
    "error", [ForecastError("no"), OverflowError(), ZeroDivisionError(), ValueError("math domain")]
)
def test_a_simulation_that_fails_costs_the_decision_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(**_: object) -> Sampled:
        raise error

    monkeypatch.setattr(gjr, "sample_gjr", fail)
    desk = scaled_desk(tmp_path, 1)
    (twin,) = desk.log.of_kind(Kind.GJR_MADE)
    assert twin.body["missing"] == ForecastError.code
    assert len(desk.log.of_kind(Kind.INTENT_PROPOSED)) == 1
    assert replayed(desk, twin.stream)


def test_twins_are_begun_before_the_engine_samples_and_awaited_after(tmp_path: Path) -> None:
    order: list[str] = []

    def meanwhile(work: Callable[[], _Made]) -> Begun[_Made]:
        order.append("begun")

        def wait() -> _Made:
            order.append("awaited")
            return work()

        return Afterwards(wait)

    desk = scaled_desk(tmp_path)
    own = desk.small.desk.own
    engine = Telling(table=TABLE, codec=own.tools.codec, order=order)
    tools = replace(own.tools, engine=engine, meanwhile=meanwhile)
    desk.small.desk.own = replace(own, tools=tools)
    desk.small.play(1)
    assert order == ["begun", "begun", "sampled", "awaited", "awaited"]
