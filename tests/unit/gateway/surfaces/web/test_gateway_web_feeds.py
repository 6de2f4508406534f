"""The feeds page: each feed's condition, age, sequence and gaps, and what a played market says."""

from pathlib import Path
from typing import cast

from fastapi import FastAPI
from fastapi.testclient import TestClient

from audit.store.reader import LedgerReader
from gateway.feeds.live.items import BARS, QUOTES, PostedBar, PostedQuote, bar_item, quote_item
from gateway.surfaces.web.actions import DeskActions
from gateway.surfaces.web.pages import register
from gateway.surfaces.web.views.lists import Views
from tests.doubles.feeds import bars, fed_desk, quote
from tests.doubles.memory_desk import MemoryDesk, memory_desk
from tests.doubles.page_person import entrance, sign_in
from tests.doubles.small_desk import INSTRUMENTS

HOME = "http://127.0.0.1:8700"
SPXN = INSTRUMENTS["SPXN"]


def shown(desk: MemoryDesk, folder: Path) -> str:
    """The page as an auditor sees it."""
    door, app = entrance(folder / "door"), FastAPI()
    views = Views(cast("LedgerReader", desk.log), desk.small.table)
    register(app, views, DeskActions(desk.small.desk), door)
    client = TestClient(app, base_url=HOME, client=("127.0.0.1", 40_000), follow_redirects=False)
    sign_in(client, door.keyring.token("auditor"))
    return client.get("/feeds").text


def test_a_played_market_has_no_feeds(tmp_path: Path) -> None:
    assert "plays its own market" in shown(memory_desk(tmp_path / "desk"), tmp_path)


def test_each_feed_is_shown_with_what_is_wrong_with_it(tmp_path: Path) -> None:
    fed = fed_desk(memory_desk(tmp_path / "desk", live=False))
    posted = [bar_item(PostedBar(**one), SPXN) for one in bars(60, fed.clock.wall_us())]
    del posted[30]
    fed.feeding.take(BARS, posted)
    crossed = PostedQuote(**quote(7, fed.clock.wall_us(), bid="300.00"))
    fed.feeding.take(QUOTES, [quote_item(crossed, SPXN)])
    page = shown(fed.desk, tmp_path)
    assert "alpha <small>leads</small>" in page
    assert "bid 30000 is above ask" in page
    assert page.count("nothing delivered") == 3, "NDXN's quotes and bars, and the events"
    assert '<td class="num">59</td>' in page, "bars held"
    assert "<script" not in page
