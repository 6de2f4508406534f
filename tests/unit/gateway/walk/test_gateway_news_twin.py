"""Every decision says what words did to it, and a twin that fails stops none."""

from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

import pytest
from typing_extensions import override

from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway.desk.bodies.requests import IntentRequest
from gateway.desk.intake.answers import intent_response
from gateway.errors import ReplayDiffersError
from gateway.evidence.replay.replay import replay
from gateway.surfaces.web.views.body import Body
from gateway.surfaces.web.views.tables import words_view
from gateway.walk.journal.forecast import NO_NEWS, snapshot_bytes
from gateway.walk.projections.forecasts import decision_records
from inference.codec import vocabulary as words
from inference.codec.prompt import prompt_digest
from inference.engine.port import SampleRequest, Samples
from inference.errors import EngineDeadlineError, EngineError
from inference.speculation.evidence import judge
from inference.speculation.evidence_bytes import decode_evidence
from inference.speculation.rounds import row_bytes, row_values
from tests.doubles.memory_desk import AGENT, TABLE, MemoryDesk, memory_desk
from tests.doubles.remembered import forged, leaves
from tests.doubles.row_engine import RowEngine

SILENT = set(words.NO_NEWS)
FREE = {(Kind.NEWS_TWIN_MADE, ("elapsed_us",)), (Kind.NEWS_TWIN_MADE, ("detail",))}
SESSIONS = 12


class Hearing(RowEngine):
    """Words flatten the target's rows: more volatility."""

    @override
    def _target(self, token_ids: tuple[int, ...]) -> bytes:
        row = super()._target(token_ids)
        if not words.NARRATIVE_IDS - SILENT & set(token_ids):
            return row
        values = row_values(row)
        return row_bytes(tuple(0.5 * value + 0.5 / len(values) for value in values))


class Failing(RowEngine):
    """The twin's request misses its deadline."""

    @override
    def sample(self, request: SampleRequest) -> Samples:
        if request.request_id.endswith(".news"):
            raise EngineDeadlineError(f"{request.request_id}: late")
        return super().sample(request)


class Once(RowEngine):
    """Has no twin to give."""

    @override
    def sample_beside(
        self, request: SampleRequest, twin: SampleRequest
    ) -> tuple[Samples, Samples | EngineError]:
        raise AssertionError(f"a twin was asked for: {twin.request_id}")


def played(folder: Path, engine: type[RowEngine], sessions: int = SESSIONS) -> MemoryDesk:
    """Play the first sessions with an engine."""
    desk = memory_desk(folder, live=False)
    with_engine(desk, engine)
    desk.small.play(sessions)
    return desk


def with_engine(desk: MemoryDesk, engine: type[RowEngine], *, drafts_first: bool = False) -> None:
    own = desk.small.desk.own
    made = engine(table=own.tools.table, codec=own.tools.codec, drafts_first=drafts_first)
    desk.small.desk.own = replace(own, tools=replace(own.tools, engine=made))


def said(desk: MemoryDesk) -> dict[str, dict[str, Any]]:
    """Return what words did to each decision, by its stream."""
    proposed = desk.log.records(kinds=(Kind.INTENT_PROPOSED,))
    return {one.stream: one.body["words"] for one in proposed}


def replayed(desk: MemoryDesk, stream: str) -> tuple[str, ...]:
    reader = cast("LedgerReader", desk.log)
    return replay(reader, TABLE, stream.removeprefix("decision/")).lines


def test_words_that_are_heard_change_forecast_and_order(tmp_path: Path) -> None:
    desk = played(tmp_path, Hearing)
    measured = {name: one for name, one in said(desk).items() if one["result"] == "measured"}
    assert len(measured) >= SESSIONS // 2
    for stream, one in measured.items():
        heard, blanked, less = one["heard"], one["blanked"], one["difference"]
        assert all(less[name] == heard[name] - blanked[name] for name in heard)
        assert less["step_vol_1e8"] > 0
        assert less["target_exposure_bp"] <= 0
        assert less["mean_error_1e8"] > 0
        assert any(line.startswith("news_twin_made") for line in replayed(desk, stream))
    assert any(one["difference"]["lots"] < 0 for one in measured.values())


def test_the_twin_is_the_forecast_of_a_day_without_news(tmp_path: Path) -> None:
    """It has the forecast's seeds and numbers, and was asked for before anything was sampled."""
    desk = played(tmp_path, Hearing)
    codec = desk.small.desk.own.tools.codec
    snapshots = {
        sha256(snapshot_bytes(one.snapshot)).hexdigest(): one.snapshot
        for one in desk.small.playback.sessions(SESSIONS)
    }
    opened = {
        one.stream: one.body["snapshot_blob"] for one in desk.log.of_kind(Kind.SNAPSHOT_TAKEN)
    }
    twins = list(desk.log.records(kinds=(Kind.NEWS_TWIN_MADE,)))
    assert len(twins) >= SESSIONS // 2
    for twin in twins:
        snapshot = snapshots[opened[twin.stream]]
        silent = codec.encode(replace(snapshot, news=()))
        (asked,) = desk.log.records(stream=twin.stream, kinds=(Kind.FORECAST_REQUESTED,))
        digest = prompt_digest(silent)
        assert asked.body["news_twin"] == twin.body["prompt_digest"] == digest
        assert asked.body["prompt_digest"] != digest


def test_words_that_nobody_hears_change_nothing(tmp_path: Path) -> None:
    """The rows of this engine do not read the narrative: the same seeds give the same paths."""
    desk = played(tmp_path, RowEngine)
    measured = [one for one in said(desk).values() if one["result"] == "measured"]
    assert measured
    assert all(set(one["difference"].values()) == {0} for one in measured)


def test_a_decision_without_news_says_so_and_asks_for_no_twin(tmp_path: Path) -> None:
    desk = memory_desk(tmp_path)
    with_engine(desk, Once)
    response = desk.ask()
    stream = f"decision/{response.decision_id}"
    assert response.result == "approved"
    assert said(desk)[stream] == {"result": NO_NEWS}
    assert Kind.NEWS_TWIN_MADE not in desk.kinds(response.decision_id)
    (asked,) = desk.log.of_kind(Kind.FORECAST_REQUESTED)
    assert asked.body["news_twin"] == NO_NEWS
    replayed(desk, stream)


def test_a_twin_that_fails_stops_no_decision(tmp_path: Path) -> None:
    without, with_ = played(tmp_path / "a", Failing), played(tmp_path / "b", RowEngine)
    missing = {"result": "missing", "reason": "engine_deadline"}
    results = {name: one["result"] for name, one in said(with_).items()}
    assert said(without) == {
        name: missing if result == "measured" else {"result": result}
        for name, result in results.items()
    }
    for stream, result in results.items():
        name = stream.removeprefix("decision/")
        assert without.outcome(name) == with_.outcome(name)
        assert without.kinds(name) == with_.kinds(name)
        lines = replayed(without, stream)
        assert (result == "measured") == any("missing: engine_deadline" in one for one in lines)


def test_a_first_bar_that_was_drafted_replays_and_must_follow_from_the_prompt(
    tmp_path: Path,
) -> None:
    desk = memory_desk(tmp_path, live=False)
    with_engine(desk, Hearing, drafts_first=True)
    desk.small.play(8)
    assert any(one["result"] == "measured" for one in said(desk).values())
    for stream in said(desk):
        replayed(desk, stream)
    rounds = desk.log.of_kind(Kind.ROUNDS_CAPTURED)[0]
    evidence = decode_evidence(cast("bytes", desk.log.blob(rounds.body["capture_blob"])))
    first = [r for r in evidence.rounds if r.step == 0]
    assert all(r.drafts for r in first)
    assert judge(evidence, TABLE) == ()
    rows = tuple(reversed(evidence.first_row))
    faults = judge(replace(evidence, first_row=rows), TABLE)
    assert [one.split(": ")[1] for one in faults] == ["first row"] * len(first)


def test_nothing_of_a_twin_can_be_forged(tmp_path: Path) -> None:
    desk = played(tmp_path, Hearing, 8)
    (stream, *_) = [name for name, one in said(desk).items() if one["result"] == "measured"]
    free = set()
    told_of = {Kind.NEWS_TWIN_MADE, Kind.INTENT_PROPOSED, Kind.FORECAST_REQUESTED}
    reader = cast("LedgerReader", desk.log)
    for record in decision_records(reader, stream.removeprefix("decision/")):
        if record.kind not in told_of:
            continue
        for path in leaves(record.body, most=1):
            told = record.kind is Kind.NEWS_TWIN_MADE or path[0] in {"words", "news_twin"}
            if not told:
                continue
            desk.log.forged = forged(record, path)
            try:
                replayed(desk, stream)
            except ReplayDiffersError:
                continue
            free.add((record.kind, path))
    desk.log.forged = None
    assert free <= FREE
    replayed(desk, stream)


def test_an_agent_is_told_what_words_did(tmp_path: Path) -> None:
    desk = memory_desk(tmp_path, live=False)
    with_engine(desk, Hearing)
    played_ = list(desk.small.playback.sessions(SESSIONS))
    session = next(one for one in played_ if one.snapshot.news)
    desk.small.desk.own.market.open_session(session)
    request = IntentRequest(
        client_key="one", instrument=session.instrument, target_exposure_bp=500, max_qty_lots=40
    )
    response = desk.small.desk.submit(AGENT, request)
    assert response.words is not None
    assert response.words.result == "measured"
    told = intent_response(cast("LedgerReader", desk.log), response.decision_id)
    assert told.words == response.words
    stream = f"decision/{response.decision_id}"
    assert said(desk)[stream]["difference"] == response.words.difference


@pytest.mark.parametrize(
    ("told", "sentence", "rows"),
    [
        ({"result": NO_NEWS}, "No news: no words reached this forecast.", 0),
        ({}, None, 0),
        (
            {
                "result": "measured",
                "heard": {"lots": 5},
                "blanked": {"lots": -2},
                "difference": {"lots": 7, "mean_error_1e8": 1_000},
            },
            "Words changed the order: buy 5 lots with them, sell 2 lots without.",
            7,
        ),
        (
            {"result": "measured", "heard": {"lots": 0}, "blanked": {"lots": 0}},
            "Words did not change the order: none with and without them.",
            7,
        ),
    ],
)
def test_the_page_says_it_in_one_sentence(
    told: dict[str, Any], sentence: str | None, rows: int
) -> None:
    view = words_view(Body(told))
    assert (None if view is None else view.sentence) == sentence
    assert len(() if view is None else view.rows) == rows


def test_a_missing_twin_is_said_on_the_page() -> None:
    view = words_view(Body({"result": "missing", "reason": "engine_deadline"}))
    assert view is not None
    assert "missing (engine deadline)" in view.sentence
