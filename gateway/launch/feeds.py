"""The market of `serve`: its board, what a restart brings back, who takes items, fixed terms."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Final

from audit.records.kinds import Kind
from audit.sequencer.ledger import Ledger
from audit.store.reader import LedgerReader
from gateway import clock
from gateway.desk.intake.feeding import Feeding
from gateway.errors import InstrumentsError, IntakeError
from gateway.feeds.broker.line import BrokerLine, LineConfig
from gateway.feeds.instruments.fit import changes
from gateway.feeds.live.board import FedMarket
from gateway.feeds.live.calendars import Calendars
from gateway.feeds.live.conditions import FeedLimits
from gateway.feeds.live.items import BARS
from gateway.feeds.live.kept import KeptTables
from gateway.feeds.live.series import KEPT
from gateway.feeds.market import Market
from gateway.feeds.news.fed import NEWS_US
from gateway.feeds.scales import scales_for
from gateway.launch.plan import Plan
from gateway.launch.threads.files import states_of
from gateway.walk.journal.run import InstrumentListed
from gateway.walk.journal.verdict import VerdictGiven
from gateway.walk.projections.outbox import Orders
from gateway.walk.section import Section
from risk.policy.policy import Policy
from risk.state.instrument import Instrument

BAND_MOVES: Final = 4
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
        missed_max=given.missed_sessions,
        wide_bp=given.wide_bp,
        band_bp=given.band_bp,
    )
    names = {one.instrument.symbol: one.calendar for one in plan.table.listings}
    calendars = Calendars(names) if plan.keeps_hours else None
    market = FedMarket(plan.instruments, limits, calendars=calendars)
    market.files = states_of(plan.sources)
    market.scales = scales_for(plan.settings.engine.model)
    return market


def said_hours(plan: Plan) -> Iterator[str]:
    """Yield which market hours end soon.

    Raises:
        InstrumentsError: an instrument's calendar does not exist.
    """
    names = {one.instrument.symbol: one.calendar for one in plan.table.listings}
    try:
        yield from Calendars(names if plan.keeps_hours else {}).ending(clock.wall_us())
    except IntakeError as error:
        file = str(plan.settings.instruments)
        raise InstrumentsError(file=file, faults=(str(error),)) from error


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
    market.band_bp = lambda: band_bp(section.policy)
    table = KeptTables(plan.settings.feeds.dsn or dsn)
    stack.callback(table.close)
    market.bring_back(table.newest(plan.instruments, KEPT[BARS]), table.waiting())
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
        waits=table,
    )


def band_bp(policy: Policy) -> int | None:
    """Return how far from the last close a quote may be, by the policy; None if it is silent.

    That is several moves after which R27 asks a person: marks must follow a real fall.
    """
    families = policy.families
    return None if families is None else BAND_MOVES * families.liquidity.move_max.value


def start_line(plan: Plan, feeding: Feeding | None, stack: ExitStack) -> dict[str, BrokerLine]:
    """Start the broker's market data if the profile has them; return them by the part's name."""
    profile = plan.profile(plan.settings.fix.port or 1)
    if feeding is None or profile.market_data is None:
        return {}
    line = BrokerLine(
        LineConfig(
            profile=profile,
            folder=plan.state.root / "fix-market",
            log_path=plan.state.logs / "fix-market.log",
            prefix=plan.tags.run_id,
        ),
        feeding,
        plan.instruments,
    )
    stack.callback(line.stop)
    line.start()
    return {"market_data": line}


def changed_terms(
    instruments: Mapping[str, Instrument], reader: LedgerReader, orders: Orders
) -> tuple[str, ...]:
    """Return what a table changes or drops of the instruments that have orders on record."""
    listed = reader.records(kinds=[Kind.INSTRUMENT_LISTED])
    ordered = {
        VerdictGiven.of(standing.verdict).instrument
        for name in orders.names()
        if (standing := orders.by_cl_ord_id(name)) is not None and standing.verdict is not None
    }
    return tuple(changes(instruments, map(InstrumentListed.of, listed), ordered))
