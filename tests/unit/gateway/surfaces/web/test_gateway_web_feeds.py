"""The feeds page: each feed's condition, age, sequence and gaps, and what a played market says."""

from pathlib import Path

from gateway.feeds.live.items import BARS, QUOTES, PostedBar, PostedQuote, bar_item, quote_item
from tests.doubles.feeds import bars, fed_desk, quote
from tests.doubles.memory_desk import memory_desk
from tests.doubles.page_desk import PageDesk, page_desk
from tests.doubles.small_desk import INSTRUMENTS

SPXN = INSTRUMENTS["SPXN"]


def test_a_played_market_has_no_feeds(pages: PageDesk) -> None:
    assert "plays its own market" in pages.read("/feeds")


def test_each_feed_is_shown_with_what_is_wrong_with_it(tmp_path: Path) -> None:
    fed = fed_desk(memory_desk(tmp_path / "desk", live=False))
    posted = [bar_item(PostedBar(**one), SPXN) for one in bars(60, fed.clock.wall_us())]
    del posted[30]
    fed.feeding.take(BARS, posted)
    crossed = PostedQuote(**quote(7, fed.clock.wall_us(), bid="300.00"))
    fed.feeding.take(QUOTES, [quote_item(crossed, SPXN)])
    page = page_desk(tmp_path, fed.desk).read("/feeds")
    assert "alpha <small>leads</small>" in page
    assert "bid 30000 is above ask" in page
    assert page.count("nothing delivered") == 3, "NDXN's quotes and bars, and the events"
    assert '<td class="num">59</td>' in page, "bars held"
    assert "<script" not in page
