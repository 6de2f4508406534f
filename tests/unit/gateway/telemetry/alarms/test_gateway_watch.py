"""An alarm is raised when its condition has held, cleared when it is away, and told once each."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest

from gateway.feeds.live.items import QUOTES, PostedQuote, quote_item
from gateway.installation.settings import AlarmSettings
from gateway.launch.threads.alarms import (
    ANSWERED_WITHIN_US,
    HEARD_LATELY_US,
    count_rejects,
    little_room,
    note_undone,
    sink_of,
    stale_feeds,
    unanswered,
)
from gateway.telemetry.alarms.alarms import Alarms
from gateway.telemetry.alarms.catalogue import MEANING, Alarm, Notice, of_parts
from gateway.telemetry.alarms.watch import AWAY_S, Burst, Lately, Watch
from tests.doubles.feeds import fed_desk, quote
from tests.doubles.memory_desk import memory_desk
from tests.doubles.small_desk import INSTRUMENTS

SECOND = 1_000_000


class Scene:
    """A watch over a condition that a test sets, with a clock of its own."""

    def __init__(self) -> None:
        """Start with nothing wrong."""
        self.holds: dict[Alarm, str] = {}
        self.now_us = 0
        self.told: list[Notice] = []
        self.watch = Watch((self.read,), self.told.append, lambda: 7, lambda: self.now_us)

    def read(self) -> Mapping[Alarm, str]:
        """Return what holds."""
        return dict(self.holds)

    def after(self, seconds: float) -> list[tuple[str, str]]:
        """Let time pass and look once; return what was told so far."""
        self.now_us += int(seconds * SECOND)
        self.watch.round()
        return [(one.alarm.value, one.event) for one in self.told]


def test_a_kill_is_told_at_once_and_cleared_after_it_was_away() -> None:
    scene = Scene()
    scene.holds = {Alarm.KILL: "kill: in force, epoch 3"}
    assert scene.after(0) == [("kill", "raised")]
    assert scene.watch.standing() == {Alarm.KILL: "kill: in force, epoch 3"}
    scene.holds = {}
    assert scene.after(AWAY_S - 1) == [("kill", "raised")]
    assert scene.after(1) == [("kill", "raised"), ("kill", "cleared")]
    assert scene.watch.standing() == {}
    assert scene.told[0].document() == {
        "alarm": "kill",
        "event": "raised",
        "meaning": "a kill is in force",
        "detail": "kill: in force, epoch 3",
        "at_us": 7,
    }


def test_a_short_interruption_is_not_told_and_a_flapping_one_once() -> None:
    scene = Scene()
    down, up = {Alarm.SESSION_DOWN: "fix: CONNECTING"}, dict[Alarm, str]()
    scene.holds = down
    assert scene.after(0) == []
    scene.holds = up
    assert scene.after(4) == []
    scene.holds = down
    assert scene.after(1) == [], "its time begins again"
    assert scene.after(5) == [("session_down", "raised")]
    for _ in range(20):
        scene.holds = up
        scene.after(1)
        scene.holds = down
        scene.after(1)
    assert len(scene.told) == 1


def test_a_condition_that_cannot_be_read_is_an_alarm_and_stops_no_other() -> None:
    told: list[Notice] = []

    def broken() -> Mapping[Alarm, str]:
        raise OSError

    now = [0]
    watch = Watch((broken, lambda: {Alarm.DISK: "full"}), told.append, lambda: 0, lambda: now[0])
    watch.round()
    now[0] = 6 * SECOND
    watch.round()
    assert {one.alarm for one in told} == {Alarm.DISK, Alarm.PART_DOWN}


def test_every_part_that_is_not_ready_is_some_alarm() -> None:
    parts = {"ledger": "stopped", "database": "no answer", "fix": "DOWN", "settler": "stuck"}
    assert of_parts({**parts, "book": "ready", "witnesses": "waiting for the first quorum"}) == {
        Alarm.LEDGER_DOWN: "ledger: stopped; database: no answer",
        Alarm.SESSION_DOWN: "fix: DOWN",
        Alarm.PART_DOWN: "settler: stuck",
    }
    assert set(MEANING) == set(Alarm)


def test_a_burst_of_rejects_is_an_alarm_until_a_minute_has_passed(tmp_path: Path) -> None:
    desk, now = memory_desk(tmp_path), [0]
    rejects = Burst(2, lambda: now[0])
    desk.log.subscribe(partial(count_rejects, rejects))
    for _ in range(3):
        assert rejects.conditions() == {}
        desk.settled(desk.report(desk.rest(), t39="8", t150="8", t32="0", t14="0", t151="0"))
    assert Alarm.REJECT_BURST in rejects.conditions()
    now[0] = 61 * SECOND
    assert rejects.conditions() == {}


@pytest.mark.parametrize(
    ("sort", "price", "said"), [("H", "0", "taken back"), ("G", "10.00", "corrected")]
)
def test_a_bust_and_a_correction_ring_for_a_while(
    tmp_path: Path, sort: str, price: str, said: str
) -> None:
    desk = memory_desk(tmp_path)
    now = [desk.wall()]
    undone = Lately(Alarm.TRADE_UNDONE, HEARD_LATELY_US, lambda: now[0])
    desk.log.subscribe(partial(note_undone, undone))
    order = desk.rest()
    desk.settled(desk.report(order, t17="T1"))
    assert undone.conditions() == {}
    last = "1" if sort == "G" else "0"
    done = {"t14": last, "t32": last, "t31": price, "t6": price}
    desk.settled(desk.report(order, t17="U1", t19="T1", t150=sort, t39="1", **done))
    (detail,) = undone.conditions().values()
    assert said in detail
    assert order.cl_ord_id in detail
    now[0] += HEARD_LATELY_US + 60 * SECOND
    assert undone.conditions() == {}


def test_an_order_that_nobody_answers_rings_and_an_answer_ends_it(tmp_path: Path) -> None:
    desk = memory_desk(tmp_path)
    order, orders = desk.rest(), desk.small.desk.own.orders
    assert order.sending is not None
    late = order.sending.recorded_at_us + ANSWERED_WITHIN_US
    assert unanswered(orders.live(), late - 1) == {}
    assert order.cl_ord_id in unanswered(orders.live(), late)[Alarm.ORDER_UNANSWERED]
    desk.settled(desk.report(order, t150="0", t39="0", t32="0", t14="0"))
    assert unanswered(orders.live(), late) == {}


def test_the_page_has_every_alarm_the_raised_ones_first() -> None:
    scene = Scene()
    scene.holds = {Alarm.DISK: "3 MiB free"}
    scene.after(0)
    lines = Alarms(watch=scene.watch, webhook=None).lines()
    assert {line.alarm for line in lines} == set(Alarm)
    assert (lines[0].alarm, lines[0].detail) == (Alarm.DISK, "3 MiB free")
    assert not any(line.detail for line in lines[1:])


def test_a_feed_that_went_quiet_is_an_alarm(tmp_path: Path) -> None:
    fed = fed_desk(memory_desk(tmp_path, live=False))
    assert stale_feeds(fed.desk.small.desk) == {}
    posted = PostedQuote.model_validate(quote(1, fed.clock.wall_us()))
    fed.feeding.take(QUOTES, [quote_item(posted, INSTRUMENTS["SPXN"])])
    assert stale_feeds(fed.desk.small.desk) == {}
    fed.clock.passes(60 * SECOND)
    assert "SPXN" in stale_feeds(fed.desk.small.desk)[Alarm.FEED_STALE]


def test_a_disk_with_little_room_is_an_alarm(tmp_path: Path) -> None:
    assert little_room(tmp_path, 0) == {}
    assert "MiB free" in little_room(tmp_path, 1 << 40)[Alarm.DISK]


def test_without_a_webhook_there_is_no_sink() -> None:
    assert sink_of(AlarmSettings()) is None


@pytest.mark.parametrize(
    ("address", "secret", "said"),
    [
        ("http://example.org/hook", "x" * 32, "must be an https address"),
        ("ftp://127.0.0.1/", "x" * 32, "must be an https address"),
        ("https://example.org/hook", None, "needs a secret"),
        ("https://example.org/hook", "short", "at least 32 characters"),
    ],
)
def test_a_sink_that_cannot_be_used_stops_the_start(
    tmp_path: Path, address: str, secret: str | None, said: str
) -> None:
    file = None
    if secret is not None:
        file = tmp_path / "secret"
        file.write_text(secret)
        file.chmod(0o600)
    with pytest.raises(Exception, match=said):
        sink_of(AlarmSettings(webhook=address, secret_file=file))


def test_a_secret_that_others_may_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("x" * 32)
    file.chmod(0o640)
    given = AlarmSettings(webhook="https://example.org/hook", secret_file=file)
    with pytest.raises(Exception, match="mode 0600"):
        sink_of(given)
    file.chmod(0o600)
    sink = sink_of(given)
    assert sink is not None
    assert sink.secret == b"x" * 32
