"""One day of a desk at a broker, step by step; `scene_oracle` judges after each.

Each step says what the broker does to its orders (words of `plain_broker`) and what is done and
waited for here.
"""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from audit.records.kinds import Kind
from fix.session.link import SessionState
from gateway.evidence.replay.replay import replay
from gateway.installation.children.fix_profiles import profile_record, read_profile
from gateway.installation.children.simulator import wait_for
from gateway.walk.journal.standing import Stage, Standing
from tests.doubles.fix_world import until
from tests.doubles.operator_page import do, edited
from tests.doubles.outside_broker import OutsideBroker
from tests.doubles.scene_desk import BACK_S, ServedDesk
from tests.doubles.scene_oracle import agrees

NIGHT_FROM_S, NIGHT_S = 15, 3
"""How long after the start the nightly session ends, and when it begins again."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A desk and its broker."""

    desk: ServedDesk
    broker: OutsideBroker

    def filled(self, exposure_bp: int = 2_000) -> Standing:
        """Let an order go and be filled."""
        over = self.desk.comes(self.desk.ask(exposure_bp), lambda s: s.sealed)
        assert over.order_state == "FILLED"
        return over

    def another_logon(self, breaks: Callable[[], None]) -> None:
        """Wait until the session, broken in this way, is back and reconciled."""
        fix = self.desk.app.fix
        before = fix.logon_no
        breaks()
        wait_for(lambda: fix.logon_no > before, BACK_S, part="a new logon")
        self.desk.ready()

    def resets(self) -> list[str]:
        """Return why sequence numbers began anew, of each time on record."""
        found = self.desk.app.reader.records(kinds=(Kind.SESSION_EVENT,))
        return [str(r.body["cause"]) for r in found if r.body["event"] == "sequence_reset"]


def logs_on(scene: Scene) -> None:
    scene.desk.start()
    scene.desk.ready()


def takes_bars_and_quotes(scene: Scene) -> None:
    scene.desk.post_bars()
    scene.desk.post_quote()


def fills_in_two_parts(scene: Scene) -> None:
    over = scene.filled()
    assert [trade.lots for trade in over.trades] == [over.filled_lots // 2] * 2


def fills_one_part(scene: Scene) -> None:
    half = scene.desk.comes(scene.desk.ask(), lambda s: s.filled_lots > 0)
    assert (half.stage, half.order_state) == (Stage.SENT, "PARTIAL")


def cancels(scene: Scene) -> None:
    desk = scene.desk
    resting = desk.comes(desk.ask(), lambda s: s.order_state == "NEW")
    wish = {"client_key": "cancel-1", "reason": "the scene says so"}
    desk.post("agent", f"/v1/orders/{resting.cl_ord_id}/cancel", wish)
    assert desk.comes(resting, lambda s: s.sealed).order_state == "CANCELED"


def is_replaced(scene: Scene) -> None:
    """Ask for two lots more, a cent lower; the broker then fills the order as replaced."""
    desk = scene.desk
    resting = desk.comes(desk.ask(), lambda s: s.order_state == "NEW")
    path = f"/v1/orders/{resting.cl_ord_id}"
    before = desk.get("agent", path)
    wanted = before["qty_lots"] + 2
    lower = str(Decimal(before["limit_price"]) - Decimal("0.01"))
    wish = {"client_key": "replace-1", "reason": "the scene says so"}
    with desk.quoted():
        desk.post("agent", f"{path}/replace", {**wish, "qty_lots": wanted, "limit_price": lower})
    over = desk.comes(resting, lambda s: s.sealed)
    assert (over.order_state, over.filled_lots) == ("FILLED", wanted)
    (replaced,) = scene.broker.wire("G")
    assert (replaced[41], replaced[38], replaced[44]) == (resting.cl_ord_id, str(wanted), lower)


def is_rejected(scene: Scene) -> None:
    over = scene.desk.comes(scene.desk.ask(), lambda s: s.sealed)
    assert over.order_state == "REJECTED"


def is_busted(scene: Scene) -> None:
    one = scene.desk.comes(scene.desk.ask(), lambda s: s.trades != () and s.filled_lots == 0)
    assert one.order_state == "NEW"


def is_corrected(scene: Scene) -> None:
    one = scene.desk.comes(
        scene.desk.ask(), lambda s: any(len(trade.exec_ids) > 1 for trade in s.trades)
    )
    assert one.order_state == "PARTIAL"


def line_drops(scene: Scene) -> None:
    scene.another_logon(scene.broker.drop)
    scene.filled()


def broker_restarts_at_1(scene: Scene) -> None:
    scene.another_logon(scene.broker.restart_at_1)
    assert scene.resets() in (["begun_again"], ["by_broker"])
    scene.filled()


def serve_restarts_and_the_night_comes(scene: Scene) -> None:
    """The profile's file says the new schedule; both sides begin at 1 when it says so."""
    before = scene.resets()
    scene.desk.stop()
    now = time.time()  # noqa: TID251 - a broker's schedule is wall time
    ends, begins = (
        time.strftime("%H:%M:%S", time.gmtime(now + after))
        for after in (NIGHT_FROM_S, NIGHT_FROM_S + NIGHT_S)
    )
    path = Path("broker.toml")
    schedule = {"resets": "nightly", "session_start": begins, "session_end": ends}
    path.write_text(edited(path.read_text(), **schedule))
    scene.desk.start()
    fix = scene.desk.app.fix
    assert until(lambda: _is_over(now + NIGHT_FROM_S) and fix.state is not SessionState.READY, 90.0)
    scene.broker.nightly()
    scene.desk.ready()
    assert scene.resets() == [*before, "nightly"]
    scene.filled()
    sold = scene.filled(0)
    assert sold.trades[0].fill is not None
    assert sold.trades[0].fill.side.sign == -1


def _is_over(at_s: float) -> bool:
    return time.time() > at_s  # noqa: TID251 - a broker's schedule is wall time


@dataclass(frozen=True, slots=True)
class Step:
    """One step: what the broker does to the orders that come in it, in turn, and what we do."""

    name: str
    broker: tuple[str, ...]
    act: Callable[[Scene], None]


STEPS = (
    Step("logon", (), logs_on),
    Step("bars and quotes", (), takes_bars_and_quotes),
    Step("a partial and a fill", ("fill",), fills_in_two_parts),
    Step("a partial that works on", ("half",), fills_one_part),
    Step("cancel", ("rest",), cancels),
    Step("replace", ("amend",), is_replaced),
    Step("reject", ("reject",), is_rejected),
    Step("bust", ("bust",), is_busted),
    Step("correction", ("correct",), is_corrected),
    Step("drop", ("fill",), line_drops),
    Step("the broker restarts at 1", ("fill",), broker_restarts_at_1),
    Step("nightly reset", ("fill", "fill"), serve_restarts_and_the_night_comes),
)
SCRIPT = tuple(word for step in STEPS for word in step.broker)


def play(scene: Scene) -> None:
    """Play every step and judge after each.

    Raises:
        AssertionError: names the step after which something does not hold.
    """
    for step in STEPS:
        try:
            step.act(scene)
            agrees(scene.desk, scene.broker)
        except BaseException as error:
            error.add_note(f"in the step: {step.name}; the broker: {scene.broker.log()[-2_000:]}")
            raise


def closes(scene: Scene) -> None:
    """Assert that every decision replays, and that the ledger is what the broker's log says.

    A log in which one trade has another price must fail.
    """
    app = scene.desk.app
    assert app.book_check.run("run_end") == 0
    for decision_id in scene.desk.decisions:
        replay(app.reader, app.desk.own.tools.table, decision_id)
    runs = list(app.reader.records(stream="control", kinds=(Kind.RUN_STARTED,)))
    used = profile_record(read_profile(Path("broker.toml").absolute()))
    assert [runs[-1].body["fix_profile"], len(runs)] == [used, 2]
    assert len(scene.broker.wire("D")) == len(SCRIPT)
    scene.desk.stop()
    log, told = Path("broker.log"), scene.broker.fix_log()
    check = ("verify", "--key", "keys/ledger.key.pub", "--broker-fills", log)
    log.write_text(told)
    do(*check)
    log.write_text(re.sub(r"\|31=[0-9]+\.[0-9]+", "|31=1.00", told, count=1))
    assert "price" in do(*check, code=1).stdout
    do("doctor")
