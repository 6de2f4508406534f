"""A start with a table that contradicts earlier orders is refused before anything is recorded."""

from dataclasses import replace
from pathlib import Path

import pytest

from audit.records.kinds import Kind
from gateway.errors import InstrumentsError
from gateway.feeds.instruments.table import PLAYED_TABLE, parse_table
from gateway.installation.children.simulator import wait_for
from gateway.launch.app import running
from tests.doubles.live_desk import decide, desk, plan_for, sessions

pytestmark = [pytest.mark.postgres, pytest.mark.broker, pytest.mark.timeout(180)]


def test_a_traded_instrument_keeps_its_lot_and_stays_in_the_table(tmp_path: Path) -> None:
    with desk(tmp_path) as app:
        for session in sessions(6):
            decide(app, session)
        wait_for(lambda: bool(app.orders.traded()), 20.0, part="a fill")
    text = PLAYED_TABLE.read_text()
    dropped = "[[instrument]]" + text.split("[[instrument]]")[2]
    larger = text.replace("lot = 1", "lot = 10")
    for changed in (dropped, larger):
        table = parse_table(changed.encode(), name="changed")
        with (
            pytest.raises(InstrumentsError, match=r"orders (on record|in it)"),
            running(replace(plan_for(tmp_path), table=table), lambda _: None),
        ):
            pass
    with desk(tmp_path) as app:
        runs = tuple(app.reader.records(stream="control", kinds=(Kind.RUN_STARTED,)))
        assert len(runs) == 2, "the refused starts recorded no run"
