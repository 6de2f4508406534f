"""A forecast is made once, by its inputs: attempts, seeds, waiting, and what a crash leaves."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cache
from typing import cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import override

from audit.errors import LedgerTimeoutError, LedgerWriteError
from audit.records.kinds import Kind
from audit.records.record import Draft, Record
from audit.store.reader import LedgerReader
from gateway.desk.officers import stops as stopping
from gateway.evidence.replay.replay import replay
from gateway.feeds.sessions import load_playback
from gateway.walk.forecast import forecast, seal_open_forecasts
from gateway.walk.journal.decision import ForecastNamed, ForecastTaken
from gateway.walk.journal.forecast import (
    ForecastListed,
    ForecastSealed,
    SnapshotTaken,
    forecast_id,
    inputs_of,
    seeds_digest,
)
from gateway.walk.ports import OrderedLedger
from gateway.walk.projections.forecasts import ForecastsOnRecord, StandingForecast
from inference.codec.codec import ReturnCodec
from inference.engine.port import SampleRequest, Samples
from inference.errors import EngineDeadlineError
from inference.snapshot import Snapshot
from inference.speculation.seeds import decision_seed, prompt_label, trajectory_seeds
from risk.state.state import Stop
from tests.doubles.memory_desk import AGENT, TABLE, MemoryDesk
from tests.doubles.row_engine import RowEngine
from tests.doubles.walk_scenes import without_a_forecast


@dataclass(frozen=True, slots=True, kw_only=True)
class Counting(RowEngine):
    """Counts what is asked, and waits for leave before it answers."""

    asked: list[str] = field(default_factory=list)
    leave: threading.Event = field(default_factory=threading.Event)

    @override
    def sample(self, request: SampleRequest) -> Samples:
        self.asked.append(request.request_id)
        if not self.leave.wait(timeout=60):
            raise EngineDeadlineError(request.request_id)
        return RowEngine.sample(self, request)


def counting(desk: MemoryDesk, *, at_once: bool = True) -> Counting:
    own = desk.small.desk.own
    engine = Counting(table=TABLE, codec=own.tools.codec)
    if at_once:
        engine.leave.set()
    desk.small.desk.own = replace(own, tools=replace(own.tools, engine=engine))
    return engine


def taken(desk: MemoryDesk) -> list[ForecastTaken]:
    return [ForecastTaken.of(one) for one in desk.log.of_kind(Kind.FORECAST_TAKEN)]


def listed(desk: MemoryDesk) -> list[ForecastListed]:
    return [ForecastListed.of(one) for one in desk.log.of_kind(Kind.FORECAST_LISTED)]


def sealed(desk: MemoryDesk) -> list[tuple[str, str]]:
    """Return attempt and outcome of each seal."""
    return [
        (one.stream.rpartition(".")[2], ForecastSealed.of(one).outcome)
        for one in desk.log.of_kind(Kind.FORECAST_SEALED)
    ]


def test_decisions_of_the_same_inputs_rest_on_one_forecast(desk: MemoryDesk) -> None:
    engine = counting(desk)
    answers = [desk.ask(50), desk.ask(60, exposure_bp=1_000), desk.ask(70)]
    assert {one.result for one in answers} == {"approved"}
    (made,) = desk.log.of_kind(Kind.FORECAST_MADE)
    assert len(engine.asked) == 1
    assert [one.of_seq for one in taken(desk)] == [made.seq] * 3
    assert {one.of_leaf for one in taken(desk)} == {made.leaf.hex()}
    assert made.stream == f"forecast/{engine.asked[0]}"


def test_other_inputs_have_another_forecast_and_the_first_still_stands(desk: MemoryDesk) -> None:
    usual = desk.small.desk.own.market.session("SPXN")
    desk.ask()
    desk.other_inputs()
    desk.ask()
    desk.small.desk.own.market.open_session(usual)
    desk.ask()
    first, second, third = (one.forecast_id for one in taken(desk))
    assert first == third != second
    assert len(desk.log.of_kind(Kind.FORECAST_MADE)) == 2
    assert [(one.event, one.forecast_id, one.again) for one in listed(desk) if one.stands] == [
        ("made", first, 0),
        ("made", second, 0),
        ("again", first, 1),
    ]


def test_what_is_named_is_what_stands_when_it_is_named(desk: MemoryDesk) -> None:
    """Newer inputs came after a decision had looked, and before it was on record what it took."""
    market = desk.small.desk.own.market
    stale, sound = market.session("SPXN"), ForecastsOnRecord.naming
    desk.ask()
    with pytest.MonkeyPatch.context() as patch:

        def naming(
            known: ForecastsOnRecord, instrument: str, ledger: OrderedLedger
        ) -> AbstractContextManager[None]:
            patch.undo()
            desk.other_inputs()
            desk.ask()
            market.open_session(stale)
            return sound(known, instrument, ledger)

        patch.setattr(ForecastsOnRecord, "naming", naming)
        desk.ask()
    *_, newer, last = taken(desk)
    assert last.forecast_id == newer.forecast_id
    replay(cast("LedgerReader", desk.log), TABLE, last.decision_id)
    standing = [one.forecast_id for one in listed(desk) if one.stands]
    assert standing[-1] == last.forecast_id


def test_inputs_that_were_looked_at_before_newer_ones_stood_do_not_stand_again(
    desk: MemoryDesk,
) -> None:
    """A basket's later leg was looked at before another wish had a newer forecast made."""
    own, market = desk.small.desk.own, desk.small.desk.own.market
    usual = market.session("SPXN")
    desk.ask()
    early = desk.small.desk.case_of(AGENT, desk.request())
    desk.other_inputs()
    desk.ask()
    newer = taken(desk)[-1].forecast_id
    lines = len(listed(desk))
    found = forecast(early, own.tools, own.section)
    assert isinstance(found, StandingForecast)
    assert (found.named.forecast_id, len(listed(desk))) == (newer, lines)
    market.open_session(usual)
    desk.ask()
    assert [one.event for one in listed(desk)[lines:]] == ["again"], "who looks now finds them back"


def test_nobody_lists_or_names_while_an_append_is_in_doubt(
    desk: MemoryDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, log = desk.small.desk.own.section.forecasts, cast("OrderedLedger", desk.log)
    asked = list[tuple[str, str]]()

    def resolve(stream: str, idem_key: str) -> None:
        asked.append((stream, idem_key))
        if len(asked) == 1:
            raise LedgerTimeoutError("not known yet", written=None)

    monkeypatch.setattr(log, "resolve", resolve)
    for written, doubtful in ((False, False), (None, True)):
        with pytest.raises(LedgerTimeoutError), known.naming("SPXN", log):
            raise LedgerTimeoutError("late", written=written)
        if doubtful:
            with (
                pytest.raises(LedgerTimeoutError, match="not known yet"),
                known.naming("SPXN", log),
            ):
                raise AssertionError("looked while it was in doubt")
        with known.naming("SPXN", log), known.naming("NDXN", log):
            pass
    assert len(asked) == 2


def test_who_asks_meanwhile_waits_for_the_one_that_is_made(desk: MemoryDesk) -> None:
    engine = counting(desk, at_once=False)
    with ThreadPoolExecutor(2) as threads:
        wishes = [desk.request() for _ in range(2)]
        asked = [threads.submit(desk.small.desk.submit, AGENT, one) for one in wishes]
        engine.leave.set()
        answers = [one.result(timeout=60) for one in asked]
    assert {one.result for one in answers} == {"approved"}
    assert len(engine.asked) == 1


def test_who_waited_too_long_is_told_and_asks_for_nothing(desk: MemoryDesk) -> None:
    known = desk.small.desk.own.section.forecasts
    with known.one_maker("one", 1) as first, known.one_maker("other", 1) as other:
        assert first
        assert other, "another forecast does not wait"
    found = []

    def ask() -> None:
        with known.one_maker("one", 0.01) as turn:
            found.append(turn)

    with known.one_maker("one", 1):
        late = threading.Thread(target=ask)
        late.start()
        late.join()
    ask()
    assert found == [False, True]


def test_an_attempt_rises_after_a_recorded_failure_and_keeps_the_root(desk: MemoryDesk) -> None:
    own = desk.small.desk.own
    without_a_forecast(desk)
    desk.log.checkpoint_now()
    desk.small.desk.own = own
    assert desk.ask().result == "approved"
    assert sealed(desk) == [("0", "failed"), ("1", "made")]
    first, second = desk.log.of_kind(Kind.FORECAST_REQUESTED)
    named = [one.body[name] for one in (first, second) for name in ("seed_root", "seed_size")]
    assert named[:2] == named[2:], "a later root would be a draw of one's own"
    root, label = bytes.fromhex(second.body["seed_root"]), prompt_label(second.body["prompt_ids"])
    seeds = trajectory_seeds(decision_seed(root, label, 1), second.body["paths"])
    assert second.body["seeds_digest"] == seeds_digest(seeds) != first.body["seeds_digest"]
    assert [(one.missing, one.forecast_attempt) for one in taken(desk)] == [
        ("engine_deadline", 0),
        ("", 1),
    ]


def stop_at(kind: Kind) -> Callable[[tuple[Draft, ...]], None]:
    def stop(drafts: tuple[Draft, ...]) -> None:
        if any(one.kind is kind for one in drafts):
            raise LedgerWriteError("power")

    return stop


@pytest.mark.parametrize(
    "kind", [Kind.FORECAST_REQUESTED, Kind.ROUNDS_CAPTURED, Kind.FORECAST_MADE]
)
@pytest.mark.parametrize("started", [True, False])
def test_what_a_crash_left_is_abandoned_and_counted(
    desk: MemoryDesk, kind: Kind, *, started: bool
) -> None:
    """A start seals it; so does the next attempt of the same inputs, where none came between."""
    desk.log.before = stop_at(kind)
    with pytest.raises(LedgerWriteError):
        desk.ask()
    desk.log.before = lambda _: None
    own = desk.small.desk.own
    if started:
        known = ForecastsOnRecord(cast("LedgerReader", desk.log))
        assert seal_open_forecasts(own.tools.ledger, known, own.tags.mode) == 1
        assert seal_open_forecasts(own.tools.ledger, known, own.tags.mode) == 0
        assert sealed(desk) == [("0", "abandoned")]
    assert desk.ask().result == "approved"
    assert sealed(desk) == [("0", "abandoned"), ("1", "made")]


def test_another_process_reads_the_same_forecast_from_its_records(desk: MemoryDesk) -> None:
    desk.ask()
    own, (named,) = desk.small.desk.own, taken(desk)
    kept = own.section.forecasts.standing(named.forecast_id)
    read = ForecastsOnRecord(cast("LedgerReader", desk.log)).standing(named.forecast_id)
    assert read == kept is not None
    assert ForecastsOnRecord(cast("LedgerReader", desk.log)).standing("A" * 26) is None


def test_no_more_forecasts_are_kept_than_are_read_again(
    desk: MemoryDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.walk.projections.forecasts.KEPT", 1)
    usual = desk.small.desk.own.market.session("SPXN")
    for _ in range(2):
        desk.ask()
        desk.other_inputs()
        desk.ask()
        desk.small.desk.own.market.open_session(usual)
    assert len(desk.log.of_kind(Kind.FORECAST_MADE)) == 2


def test_a_newer_attempt_is_read_though_an_earlier_one_is_kept(desk: MemoryDesk) -> None:
    desk.ask()
    own, (named,) = desk.small.desk.own, taken(desk)
    known, forecast_id = own.section.forecasts, named.forecast_id
    kept = known.standing(forecast_id)
    assert kept is not None
    known.keep(replace(kept, named=replace_named(kept, attempt=7)))
    assert known.standing(forecast_id) == kept


def replace_named(kept: StandingForecast, *, attempt: int) -> ForecastNamed:
    return msgspec.structs.replace(kept.named, forecast_attempt=attempt)


def test_secure_reasoning_has_a_forecast_of_its_own(desk: MemoryDesk) -> None:
    desk.ask()
    stopping.begin_stop(desk.small.desk.own, "ada", Stop.SECURE, "odd drafts")
    desk.ask()
    usual, secure = (SnapshotTaken.of(one) for one in desk.log.of_kind(Kind.SNAPSHOT_TAKEN))
    assert (usual.inputs["secure"], secure.inputs["secure"]) == (False, True)
    assert desk.log.of_kind(Kind.FORECAST_REQUESTED)[-1].body["spec_k"] == 0


def test_its_stream_ends_with_a_seal_and_its_id_follows_from_what_it_names(
    desk: MemoryDesk,
) -> None:
    desk.ask()
    (opened,) = desk.log.of_kind(Kind.SNAPSHOT_TAKEN)
    stream = list[Record](desk.log.records(stream=opened.stream))
    assert [one.stream_seq for one in stream] == list(range(len(stream)))
    assert (stream[0], stream[-1].kind) == (opened, Kind.FORECAST_SEALED)
    said = SnapshotTaken.of(opened)
    assert opened.stream == f"forecast/{forecast_id(said.inputs)}.0"
    assert said.inputs["snapshot"] == said.snapshot_blob
    assert "account" not in opened.body


@cache
def first_snapshot() -> Snapshot:
    (session,) = load_playback().sessions(1)
    return session.snapshot


NUMBERS = st.integers(min_value=1, max_value=10**6)


def test_what_no_token_tells_moves_the_id_and_not_the_draws() -> None:
    """A time moved by a microsecond would otherwise draw until a sample suits."""
    usual, codec = first_snapshot(), ReturnCodec()
    moved = replace(usual, as_of_us=usual.as_of_us + 1)
    ids = {
        forecast_id(
            inputs_of(one, codec.encode(one), model="m", table="t", terms=None, secure=False)
        )
        for one in (usual, moved)
    }
    labels = {prompt_label(codec.encode(one).token_ids) for one in (usual, moved)}
    assert (len(ids), len(labels)) == (2, 1)
    other = replace(usual, bars=usual.bars[:-1])
    assert prompt_label(codec.encode(other).token_ids) not in labels


@given(paths=NUMBERS, moved=NUMBERS, terms=st.booleans(), secure=st.booleans())
def test_its_id_is_of_its_inputs_and_of_nothing_else(
    paths: int, moved: int, *, terms: bool, secure: bool
) -> None:
    usual = first_snapshot()
    prompt = ReturnCodec().encode(usual)

    def named(**other: object) -> str:
        given_ = {"model": "m", "table": "t", "terms": None, "secure": False, **other}
        snapshot = given_.pop("snapshot", usual)
        return forecast_id(inputs_of(snapshot, prompt, **given_))  # type: ignore[arg-type] # any of them

    first = usual.bars[0]
    other = replace(first, close_time_us=first.close_time_us - moved)
    assert named() == named()
    assert named(model=f"m{paths}") != named()
    assert named(table=f"t{paths}") != named()
    assert named(snapshot=replace(usual, bars=(other, *usual.bars[1:]))) != named()
    assert (named(terms={"kept": True} if terms else None) != named()) is terms
    assert (named(secure=secure) != named()) is secure
