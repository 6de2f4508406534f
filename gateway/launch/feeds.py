"""The market of `serve`: its board, what brings it back after a restart, and who takes items."""

from contextlib import ExitStack

from audit.sequencer.ledger import Ledger
from gateway import clock
from gateway.desk.feeding import Feeding
from gateway.feeds.board import FedMarket
from gateway.feeds.conditions import FeedLimits
from gateway.feeds.items import BARS
from gateway.feeds.kept import KeptTables
from gateway.feeds.market import Market
from gateway.feeds.news.fed import NEWS_US
from gateway.feeds.series import KEPT
from gateway.launch.plan import Plan
from gateway.walk.section import Section

Kept = tuple[str, ExitStack]
"""The DSN of the database that keeps bars, and the stack that closes its table."""


def make_market(plan: Plan) -> Market:
    """Return the market: what feeds deliver, or the playback's."""
    if not plan.fed:
        return Market()
    given = plan.settings.feeds
    limits = FeedLimits(
        stale_us=int(given.stale_after_s * 1_000_000),
        late_us=int(given.late_after_s * 1_000_000),
        bar_age_us=int(given.bar_age_h * 3_600_000_000),
        apart_bp=given.apart_bp,
    )
    return FedMarket(plan.instruments, limits)


def make_feeding(
    plan: Plan, market: Market, ledger: Ledger, section: Section, kept_in: Kept
) -> Feeding | None:
    """Return what takes the feeds' items, after the kept bars; None where the market is played.

    Raises:
        NotReadyError: the kept bars cannot be read.
    """
    if not isinstance(market, FedMarket):
        return None
    dsn, stack = kept_in
    table = KeptTables(plan.settings.feeds.dsn or dsn)
    stack.callback(table.close)
    market.bring_back(table.newest(plan.instruments, KEPT[BARS]))
    market.narrative.bring_back(table.events(clock.wall_us() - NEWS_US))
    return Feeding(
        market=market,
        ledger=ledger,
        tags=plan.tags,
        wall_us=clock.wall_us,
        monotonic_us=clock.monotonic_us,
        accounts=lambda: section.accounts,
        mark_every_us=int(plan.settings.feeds.mark_every_s * 1_000_000),
        table=table,
    )
