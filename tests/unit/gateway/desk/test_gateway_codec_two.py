"""A decision on codec 2: its record has the scale, and its replay takes it from there."""

import json
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway.evidence.replay.replay import replay
from gateway.feeds.live.items import BARS, QUOTES, PostedBar, PostedQuote, bar_item, quote_item
from gateway.feeds.scales import Scales
from inference.codec.scaled import ScaledCodec
from inference.forecast.placebo import TableModel
from inference.scale import fitting
from inference.scale.fitted import ScaleFit
from inference.snapshot import Snapshot, snapshot_from_document
from tests.doubles.feeds import FedDesk, bars, fed_desk, quote
from tests.doubles.memory_desk import TABLE, memory_desk
from tests.doubles.small_desk import INSTRUMENTS

SPXN = INSTRUMENTS["SPXN"]


@pytest.fixture
def fed(tmp_path: Path) -> FedDesk:
    found = fed_desk(memory_desk(tmp_path, live=False))
    own, codec = found.desk.small.desk.own, ScaledCodec()
    tools = replace(own.tools, codec=codec, placebo=TableModel(TABLE, codec))
    found.desk.small.desk.own = replace(own, tools=tools)
    found.market.scales = Scales()
    return found


def decided(fed: FedDesk, count: int) -> tuple[str, Snapshot]:
    now_us = fed.clock.wall_us()
    fed.feeding.take(BARS, [bar_item(PostedBar(**one), SPXN) for one in bars(count, now_us)])
    fed.feeding.take(QUOTES, [quote_item(PostedQuote(**quote(1, now_us)), SPXN)])
    fed.market.snapshot("SPXN")  # a first fit loads scipy: seconds, on a busy machine
    again = quote(2, fed.clock.wall_us())
    fed.feeding.take(QUOTES, [quote_item(PostedQuote(**again), SPXN)])
    answer = fed.desk.ask()
    assert answer.result == "approved"
    (taken,) = fed.desk.log.of_kind(Kind.SNAPSHOT_TAKEN)
    told = fed.desk.log.blob(taken.body["snapshot_blob"])
    return answer.decision_id, snapshot_from_document(json.loads(told or b""))


@pytest.mark.parametrize("count", [60, 300])
def test_a_decision_records_its_scale_and_replays_without_a_fit(
    fed: FedDesk, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    decision_id, snapshot = decided(fed, count)
    fit = snapshot.scale
    assert fit is not None
    assert fit.fitted_us <= snapshot.bars[-1].close_time_us
    (asked,) = fed.desk.log.of_kind(Kind.FORECAST_REQUESTED)
    assert asked.body["template"] == "return-codec-2"
    assert asked.body["codec_digest"] == ScaledCodec().digest
    assert asked.body["prompt"]["scale"]["fit"] == fit.digest

    def refuse(*_: object, **__: object) -> ScaleFit:
        raise AssertionError("a replay fits nothing")

    monkeypatch.setattr(fitting, "fit_scale", refuse)
    assert replay(cast("LedgerReader", fed.desk.log), TABLE, decision_id).lines
