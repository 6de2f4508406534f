"""A day of odd reports at a broker on another engine, and three later starts.

Real: the commands of the page, PostgreSQL, ledger, FIX child, TCP, HTTP; the broker is another
process. The last start is on the next day, by the clocks of the gateway, its child and the broker.
"""

import re
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from gateway import clock
from gateway.evidence.replay.replay import replay
from tests.doubles.booked_or_told import (
    FIRST,
    MORNING,
    SCRIPT,
    SECOND,
    THIRD,
    ReportScene,
    play,
    starts_again,
)
from tests.doubles.both_verifiers import both
from tests.doubles.operator_page import do, edited
from tests.doubles.outside_broker import OTHER_ENGINE, OutsideBroker, outside_broker
from tests.doubles.scene_desk import served_desk
from tests.doubles.set_clock import ShimmedClock

pytestmark = [pytest.mark.walk, pytest.mark.timeout(400)]
DAY_S = 86_400


def next_morning(broker: OutsideBroker, folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Set every clock a day ahead, and begin the broker's session anew, as by night.

    The desk has the clock from its next start on.
    """
    shimmed = ShimmedClock(folder)
    shimmed.set(DAY_S)
    for name, value in shimmed.environment.items():
        patch.setenv(name, value)
    ahead = SimpleNamespace(
        time_ns=lambda: time.time_ns() + DAY_S * 10**9,  # noqa: TID251 - moved on purpose
        monotonic_ns=time.monotonic_ns,
        sleep=time.sleep,
    )
    patch.setattr(clock, "time", ahead)
    broker.restart_at_1()


def test_reports_are_booked_or_told_and_what_was_resolved_never_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Issue 27, items 1 to 3: repro r01, r03, r11, r12, r21 on a whole gateway."""
    engine = (*OTHER_ENGINE, "DESK")
    monkeypatch.setenv("COUNTERSIGN_FIX__CANCEL_AT_STOP", "false")
    with outside_broker(tmp_path / "broker", engine, *SCRIPT) as broker:
        profile = edited(
            do("profile", "example", "plain-4.4").stdout,
            name="broker",
            sender_comp_id="DESK",
            target_comp_id="BROKER",
            port=broker.port,
            resets="by_broker",
            reconnect_s=1,
        )
        with served_desk(tmp_path / "empty", broker.port, monkeypatch, profile) as desk:
            scene = ReportScene(desk, broker)
            scene.starts()
            desk.post_bars()
            play(scene, FIRST)
            starts_again(scene)
            play(scene, SECOND)
            starts_again(scene)
            play(scene, THIRD)
            desk.stop()
            next_morning(broker, tmp_path, monkeypatch)
            desk.start()
            desk.ready()
            play(scene, MORNING)
            for decision_id in desk.decisions:
                replay(desk.app.reader, desk.app.desk.own.tools.table, decision_id)
            desk.app.ledger.checkpoint_now()
            desk.stop()
            _is_proved(broker, capsys)


def _is_proved(broker: OutsideBroker, capsys: pytest.CaptureFixture[str]) -> None:
    """Assert that both verifiers find the broker's own log and ours to be one story.

    A log in which one trade has another price must fail.
    """
    log, told = Path("broker.log"), broker.fix_log()
    do("dump", "ledger.dump")
    officers = ("--officer", "keys/risk.pub", "--officer", "keys/compliance.pub")
    asked = ("ledger.dump", "--key", "keys/ledger.key.pub", "--broker-fills", "broker.log")
    log.write_text(told)
    code, said = both(capsys, *asked, *officers)
    assert code == 0, said
    log.write_text(re.sub(r"\|31=[0-9]+\.[0-9]+", "|31=1.00", told, count=1))
    code, said = both(capsys, *asked, *officers)
    assert (code, "price" in said) == (1, True), said
