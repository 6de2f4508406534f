"""The alarms of a gateway: what is watched, and where notices go."""

import logging
import os
import shutil
import stat
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from fastapi import FastAPI

from audit.errors import AuditError
from audit.records.kinds import Kind
from audit.records.record import Record
from audit.sequencer.ledger import Ledger
from fix.orders.state import OrderState
from gateway import clock
from gateway.desk.desk import Desk
from gateway.errors import SettingsError
from gateway.evidence.answers.outcomes import DRIFTED_MILLI
from gateway.feeds.live.board import FedMarket
from gateway.feeds.live.conditions import Condition
from gateway.installation.settings import AlarmSettings
from gateway.launch.plan import Plan
from gateway.launch.threads.sampler import SamplerWatch
from gateway.launch.threads.scoring import ForecastWatch
from gateway.telemetry.alarms.alarms import Alarms
from gateway.telemetry.alarms.catalogue import READY, Alarm, Notice, of_parts
from gateway.telemetry.alarms.watch import Burst, Lately, Watch
from gateway.telemetry.alarms.webhook import Lost, Sink, Webhook
from gateway.walk.journal.control.oversight.alarm import AlarmLost
from gateway.walk.journal.order import OrderReported
from gateway.walk.journal.standing import Standing
from gateway.walk.ports import LedgerPort

LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
SECRET_BYTES_MIN: Final = 32
MIB: Final = 1_048_576
HEARD_LATELY_US: Final = 600_000_000
"""How long an alarm stands after the last report of an order not ours, or of a trade undone."""
ANSWERED_WITHIN_US: Final = 30_000_000
"""How long a broker may take to acknowledge an order."""
_READ_AGAIN: Final = 500
"""Reports that a start reads again for trades undone lately."""


_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """What is known of the model that forecasts."""

    scores: ForecastWatch
    sampler: SamplerWatch


def start_alarms(
    plan: Plan,
    stack: ExitStack,
    desk: Desk,
    ledger: Ledger,
    site: FastAPI,
    models: Watched,
) -> FastAPI:
    """Start the alarms and show them to the site's `/metrics`; they stop before any part does.

    Raises:
        SettingsError: the webhook's address or secret cannot be used.
    """
    given = plan.settings.alarms
    sink = sink_of(given)
    run_id = plan.tags.run_id
    lost = partial(record_lost, ledger, run_id)
    webhook = None if sink is None else Webhook(sink, lost, run_id, clock.wall_us)
    rejects = Burst(given.rejects_max, clock.monotonic_us)
    ledger.subscribe(partial(count_rejects, rejects))
    undone = Lately(Alarm.TRADE_UNDONE, HEARD_LATELY_US, clock.wall_us)
    reports = (Kind.ORDER_REPORTED,)
    newest = desk.own.reader.records(kinds=reports, newest_first=True, limit=_READ_AGAIN)
    note_undone(undone, tuple(newest)[::-1])
    ledger.subscribe(partial(note_undone, undone))
    watch = Watch(
        (
            lambda: of_parts(desk.parts()),
            lambda: stale_feeds(desk),
            lambda: foreign_orders(desk),
            lambda: slow_engine(desk),
            lambda: unanswered(desk.own.orders.live(), clock.wall_us()),
            undone.conditions,
            lambda: drifted(models.scores),
            lambda: differing(models.sampler),
            rejects.conditions,
            lambda: little_room(plan.state.root, given.disk_free_min_mib),
        ),
        _nobody if webhook is None else webhook.offer,
        clock.wall_us,
        clock.monotonic_us,
    )
    site.state.alarms = alarms = Alarms(watch=watch, webhook=webhook)
    stack.callback(alarms.stop)
    alarms.start()
    return site


def slow_engine(desk: Desk) -> dict[Alarm, str]:
    """Return the alarm if the engine is there and does not keep up."""
    there = desk.own.parts().get("engine") == READY
    slow = desk.load().slow if there else ""
    return {Alarm.ENGINE_SLOW: slow} if slow else {}


def record_lost(ledger: LedgerPort, run_id: str, lost: Lost) -> None:
    """Put an alarm that reached nobody on record; if that fails too, the log has it."""
    notice = lost.notice
    said = AlarmLost(
        alarm=notice.alarm.value,
        event=notice.event,
        detail=notice.detail,
        at_us=notice.at_us,
        tries=lost.tries,
        reason=lost.reason,
        run_id=run_id,
    )
    draft = said.draft(number=lost.number)
    try:
        # a crash here leaves a lost alarm that only the operators' log names
        ledger.append(draft)
    except AuditError as error:
        _log.critical("alarm_lost %s, not on record: %s", lost.notice.alarm.value, error)


def count_rejects(rejects: Burst, batch: Sequence[Record]) -> None:
    """Count the orders that the broker or the session refused, from the ledger's notifier."""
    for record in batch:
        if record.kind is Kind.ORDER_REFUSED or (
            record.kind is Kind.ORDER_REPORTED
            and OrderReported.of(record).order_state == OrderState.REJECTED
        ):
            rejects.happened()


def note_undone(undone: Lately, batch: Sequence[Record]) -> None:
    """Note the trades that the broker took back or corrected, from the ledger's notifier."""
    for record in batch:
        if record.kind is not Kind.ORDER_REPORTED:
            continue
        report = OrderReported.of(record)
        if report.undoes_seq is None:
            continue
        what = "taken back" if report.fill is None else "corrected"
        said = f"{report.cl_ord_id}: the trade of record {report.undoes_seq} was {what}"
        undone.happened(record.recorded_at_us, f"{said} (record {record.seq})")


def unanswered(live: Sequence[Standing], now_us: int) -> dict[Alarm, str]:
    """Return the alarm if an order left some time ago and no report of it ever came."""
    waiting = [
        f"{one.cl_ord_id} of {one.account}, {(now_us - one.sending.recorded_at_us) // 1_000_000} s"
        for one in live
        if one.report_status is None
        and one.sending is not None
        and now_us - one.sending.recorded_at_us >= ANSWERED_WITHIN_US
    ]
    return {Alarm.ORDER_UNANSWERED: "; ".join(waiting)[:500]} if waiting else {}


def drifted(scores: ForecastWatch) -> dict[Alarm, str]:
    """Return the alarm if the ranks of what came speak against the newest model."""
    found = scores.newest
    if found is None or found.evidence_milli < DRIFTED_MILLI:
        return {}
    return {Alarm.MODEL_DRIFTED: f"evidence {found.evidence_milli / 1_000:.1f}: see /scores"}


def differing(sampler: SamplerWatch) -> dict[Alarm, str]:
    """Return the alarm if direct forecasts have another law than the engine's."""
    found = sampler.differs
    return {Alarm.SAMPLER_DIFFERS: found} if found else {}


def stale_feeds(desk: Desk) -> dict[Alarm, str]:
    """Return the alarm if a source that has delivered is stale."""
    market = desk.own.market
    if not isinstance(market, FedMarket):
        return {}
    stale = [
        f"{feed} of {instrument} from {source}: {finding.detail}"
        for feed, instrument, source in market.feeds()
        if (finding := market.finding(feed, instrument, source)).condition is Condition.STALE
    ]
    return {Alarm.FEED_STALE: "; ".join(stale)[:500]} if stale else {}


def foreign_orders(desk: Desk) -> dict[Alarm, str]:
    """Return the alarm while an order that is not ours may trade, or was heard of lately."""
    found = () if desk.own.foreign is None else desk.own.foreign.listed()
    since_us = clock.wall_us() - HEARD_LATELY_US
    shown = [
        f"{one.name} {one.side} {one.quantity} {one.instrument}: {one.state}, {one.filled} filled"
        for one in found
        if one.works or one.said_us >= since_us
    ]
    return {Alarm.FOREIGN_ORDER: "; ".join(shown)[:500]} if shown else {}


def little_room(folder: Path, free_min_mib: int) -> dict[Alarm, str]:
    """Return the alarm if the folder's disk has less room than this."""
    free_mib = shutil.disk_usage(folder).free // MIB
    if free_mib >= free_min_mib:
        return {}
    return {Alarm.DISK: f"{free_mib} MiB free, at least {free_min_mib} are wanted"}


def sink_of(given: AlarmSettings) -> Sink | None:
    """Return where notices go; None without a webhook, and then nothing connects outward.

    Raises:
        SettingsError: the address is not https (or http on this machine), or there is no secret.
    """
    if given.webhook is None:
        return None
    asked = urlsplit(given.webhook)
    if not (asked.scheme == "https" or (asked.scheme == "http" and asked.hostname in LOOPBACK)):
        raise SettingsError(
            name="COUNTERSIGN_ALARMS__WEBHOOK",
            problem="must be an https address, or http on this machine",
        )
    return Sink(
        address=given.webhook,
        secret=_secret(given.secret_file),
        give_up_after_s=given.give_up_after_s,
    )


def _secret(file: Path | None) -> bytes:
    name = "COUNTERSIGN_ALARMS__SECRET_FILE"
    advice = "make one with `umask 077; openssl rand -hex 32 > FILE`"
    if file is None:
        raise SettingsError(name=name, problem=f"the webhook needs a secret: {advice}")
    try:
        with file.open("rb") as opened:
            mode, secret = os.fstat(opened.fileno()).st_mode, opened.read(1_024).strip()
    except OSError as error:
        raise SettingsError(name=name, problem=f"{file}: {error.strerror}; {advice}") from None
    if len(secret) < SECRET_BYTES_MIN or mode & (stat.S_IRWXG | stat.S_IRWXO):
        problem = f"{file} must have at least {SECRET_BYTES_MIN} characters and mode 0600; {advice}"
        raise SettingsError(name=name, problem=problem)
    return secret


def _nobody(_: Notice) -> None:
    """Tell nobody: the log and `/metrics` have the alarm."""
