"""A second process over the log of a desk in memory: what a start makes of what it finds."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, cast

from audit.records.kinds import Kind
from audit.records.record import Draft
from audit.store.reader import LedgerReader
from gateway.desk.desk import Desk
from gateway.installation.policies.policy import development_policy
from gateway.walk.projections.outbox import Orders, history_of
from gateway.walk.reconciliation.recovery import close_abandoned, stop_baskets
from gateway.walk.section import Section
from tests.doubles.memory_desk import MemoryDesk
from tests.doubles.small_desk import EQUITY_MINOR, RUN

NEXT: Final = "run-2"
SECOND_US: Final = 1_000_000
Change = Callable[[dict[str, Any]], None]


def restarted(desk: MemoryDesk, change: Change = lambda _: None, *, run_id: str = NEXT) -> int:
    """Put a second process over the same log; return how many decisions its start ended."""
    old, log = desk.small.desk.own, desk.log
    (begun,) = [r for r in log.of_kind(Kind.RUN_STARTED) if r.body["run_id"] == RUN]
    terms = {**begun.body, "run_id": run_id}
    change(terms)
    log.append(
        Draft(
            stream="control",
            kind=Kind.RUN_STARTED,
            payload=terms,
            actor="gateway",
            idem_key=f"run_started:{run_id}",
        )
    )
    log.checkpoint_now()
    orders, reader = Orders(), cast("LedgerReader", log)
    log.subscribe(orders.follow)
    orders.begin(history_of(reader))
    section = Section(
        ledger=old.tools.ledger,
        reader=reader,
        bundle=development_policy(desk.small.keyring),
        policy_keys=desk.small.keyring.public_keys(),
        kill=old.word.read,
        wall_us=desk.wall,
        send_within_us=10 * SECOND_US,
    )
    for account in (RUN, f"{RUN}.agent"):
        section.open_account(account, EQUITY_MINOR)
    log.subscribe(section.differences.follow)
    own = replace(
        old,
        tags=replace(old.tags, run_id=run_id),
        section=section,
        orders=orders,
        dispatching=replace(
            old.dispatching,
            orders=orders,
            deadlines=section.deadlines,
            whole=set(),
            section=lambda: section,
            scopes=lambda: desk.small.desk.scopes,
        ),
    )
    desk.small = replace(desk.small, desk=Desk(own=own))
    stop_baskets(own.tools.ledger, reader)
    return close_abandoned(
        own.tools.ledger,
        orders,
        section.differences,
        market_time_us=own.market.now_us(),
        keep=desk.small.desk.holds.resume,
    )
