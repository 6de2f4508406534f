"""Four days' worth of odd reports at one broker: what comes wrong is booked right, or told.

The steps of a first start and of three later ones. After each step the book is the broker's; what
was told is open until both officers have resolved it, and never comes back. The words that orders
take are those of `misreporting_broker`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from audit.records.kinds import Kind
from fix.session.link import SessionState
from gateway.clock import pause
from gateway.installation.children.simulator import wait_for
from gateway.walk.journal.control.difference import DifferenceCause
from gateway.walk.journal.standing import Standing
from tests.doubles.misreporting_broker import DUE, IN_PERCENT, PHONED
from tests.doubles.operator_page import do
from tests.doubles.outside_broker import OutsideBroker
from tests.doubles.scene_desk import BACK_S, SYMBOL, WITHIN_S, ServedDesk
from tests.doubles.scene_oracle import (
    PAUSE_S,
    TRIES,
    agents_account,
    booked,
    nothing_left_twice,
    sums,
)

OFFICERS: Final = (
    *("--risk-key", "../risk-officer/risk.key"),
    *("--compliance-key", "../compliance-officer/compliance.key"),
)
PAPER: Final = ("--reason", "the broker's confirmation", "--evidence", "statement 7")
OUT: Final = 0
"""The exposure of a wish to sell."""
IN: Final = 2_000


@dataclass(frozen=True, slots=True)
class ReportScene:
    """A desk and its broker."""

    desk: ServedDesk
    broker: OutsideBroker

    def starts(self) -> None:
        """Serve, with what was known before: no old difference may come back with the start."""
        self.desk.start()
        self.desk.ready()

    def filled(self, exposure_bp: int = IN) -> Standing:
        """Let an order go, which ends filled."""
        over = self.desk.comes(self.desk.ask(exposure_bp), lambda one: one.sealed)
        assert over.order_state == "FILLED", over
        return over

    def open(self) -> list[dict[str, Any]]:
        """Return the open differences, as the operator is told them."""
        listed: list[dict[str, Any]] = self.desk.get("operator", "/v1/differences")["open"]
        return listed

    def told(self, *causes: DifferenceCause) -> dict[str, Any]:
        """Wait until exactly these causes are told; return the first difference."""
        wait_for(lambda: len(self.open()) >= len(causes), WITHIN_S, part=f"{causes} among the told")
        found = self.open()
        assert [one["reason"] for one in found] == list(causes), found
        do("differences", code=1)
        return found[0]

    def refused(self) -> None:
        """Assert that the instrument takes no order."""
        answer = self.desk.wish()
        assert answer["result"] == "rejected", answer
        assert "BOOK_DIFFERS" in str(answer), answer

    def resolved(self, one: Mapping[str, Any], right: str, *more: object) -> None:
        """Let the officers resolve a difference."""
        signed = OFFICERS if right == "broker" else ()
        do("resolve", one["seq"], "--right", right, *more, *PAPER, *signed)
        assert self.open() == []
        do("differences")

    def agrees(self) -> None:
        """Assert that the book is the broker's, and that nothing waits for anybody."""
        for _ in range(TRIES):  # the broker's last words may still be on their way
            if booked(self.desk) == sums(self.broker):
                break
            pause(PAUSE_S)
        assert booked(self.desk) == sums(self.broker)
        nothing_left_twice(self.desk, self.broker)
        assert self.open() == []
        assert self.desk.app.desk.parts()["book"] == "ready"

    def trade(self, number: int = -1) -> tuple[str, str]:
        """Return ExecID and price of a trade of the broker's newest order that came by FIX."""
        orders = [one for one in self.broker.orders().values() if one["word"]]
        exec_id, (_, price) = list(orders[-1]["trades"].items())[number]
        return exec_id.removesuffix(" again"), price

    def recorded(self, kind: Kind) -> int:
        """Return how many records of a kind the ledger has."""
        return len(list(self.desk.app.reader.records(kinds=(kind,))))


def is_booked(scene: ReportScene) -> None:
    scene.filled()


def is_told_and_resolved(scene: ReportScene) -> None:
    """What the report says of its order counts: the resolution ends it."""
    over = told_and_resolved(scene, DifferenceCause.UNBOOKABLE)
    assert scene.desk.comes(over, lambda one: one.sealed).order_state == "FILLED"


def is_told_and_works_on(scene: ReportScene) -> None:
    """A report that cannot be read says nothing of its order's state: the next status does."""
    over = told_and_resolved(scene, DifferenceCause.UNREADABLE)
    assert scene.desk.standing(over.decision_id).is_live


def told_and_resolved(scene: ReportScene, cause: DifferenceCause) -> Standing:
    """Book by both officers what no report could book; until then the instrument stands still."""
    over = scene.desk.ask()
    one = scene.told(cause)
    assert one["cl_ord_id"] == over.cl_ord_id
    scene.refused()
    exec_id, price = scene.trade()
    assert one["exec_id"] == exec_id
    scene.resolved(one, "broker", "--price", price, "--exec-id", exec_id)
    return over


def leaves_a_fee_open(word: str) -> Callable[[ReportScene], None]:
    """Return the step that books the fee which the broker then names."""

    def step(scene: ReportScene) -> None:
        over = scene.filled()
        one = scene.told(DifferenceCause.FEE_OPEN)
        assert one["cl_ord_id"] == over.cl_ord_id
        account = ("--account", agents_account(scene.desk))
        named = ("--ref", f"fee-{word.replace(' ', '-')}", "--amount", DUE.get(word, ""))
        do("adjust", "fee", *named, *account, *PAPER, *OFFICERS)
        scene.resolved(one, "book")

    return step


def is_rejected_after_a_part(scene: ReportScene) -> None:
    over = scene.desk.comes(scene.desk.ask(OUT), lambda one: one.sealed)
    assert (over.order_state, over.filled_lots > 0) == ("REJECTED", True)


def is_filled_under_its_cancel(scene: ReportScene) -> None:
    desk = scene.desk
    resting = desk.comes(desk.ask(OUT), lambda one: one.order_state == "NEW")
    wish = {"client_key": "cancel-under", "reason": "the scene says so"}
    desk.post("agent", f"/v1/orders/{resting.cl_ord_id}/cancel", wish)
    over = desk.comes(resting, lambda one: one.sealed)
    assert (over.order_state, over.filled_lots > 0) == ("CANCELED", True)


def ends_by_a_reused_exec_id(scene: ReportScene) -> None:
    over = scene.desk.ask(OUT)
    one = scene.told(DifferenceCause.EXEC_ID_REUSED)
    assert scene.desk.standing(over.decision_id).order_state == "FILLED"
    exec_id, price = scene.trade()
    scene.resolved(one, "broker", "--price", price, "--exec-id", exec_id)
    assert scene.desk.comes(over, lambda one: one.sealed).order_state == "FILLED"


def stops_one_instrument(scene: ReportScene) -> None:
    """An order that nobody here sent: the account trades on, its instrument does not."""
    scene.filled(OUT)
    one = scene.told(DifferenceCause.UNKNOWN_ORDER)
    assert (one["instrument"], one["account"], one["broker_lots"]) == (SYMBOL, "", PHONED)
    scene.refused()
    (phoned,) = (o for o in scene.broker.orders().values() if not o["word"] and o["trades"])
    ((exec_id, (_, price)),) = phoned["trades"].items()
    ours = ("--account", agents_account(scene.desk), "--side", "BUY", "--lots", PHONED)
    scene.resolved(one, "broker", *ours, "--price", price, "--exec-id", exec_id)


def stops_another_instrument(scene: ReportScene) -> None:
    scene.filled(OUT)
    wait_for(lambda: len(scene.open()) > 0, WITHIN_S, part="the stranger's order")
    (one,) = scene.open()
    assert (one["reason"], one["instrument"]) == ("UNKNOWN_ORDER", "MSFT")
    scene.resolved(one, "book")


def rests_over_the_stop(scene: ReportScene) -> None:
    """Leave an order at work that has traded a part."""
    scene.desk.comes(scene.desk.ask(OUT), lambda one: one.filled_lots > 0)


def rests_overnight(scene: ReportScene) -> None:
    scene.desk.comes(scene.desk.ask(OUT), lambda one: one.order_state == "NEW")


def ended_before(*states: str) -> Callable[[ReportScene], None]:
    """Return the step that looks for the ends of the orders that were left at work."""

    def step(scene: ReportScene) -> None:
        left = [scene.desk.standing(one) for one in scene.desk.decisions[-len(states) :]]
        now = [scene.desk.comes(one, lambda one: one.sealed).order_state for one in left]
        assert now == list(states)

    return step


@dataclass(frozen=True, slots=True)
class Step:
    """One step: the words of the orders that come in it, in turn, and what is done."""

    name: str
    broker: tuple[str, ...]
    act: Callable[[ReportScene], None]


FIRST: Final = (
    Step("an empty field", ("empty",), is_booked),
    Step("a data field with the delimiter", ("data",), is_booked),
    Step("a field twice", ("same twice",), is_booked),
    Step("a price with two values", ("two prices",), is_told_and_resolved),
    Step("pence", ("pence",), is_told_and_resolved),
    Step("settled in another currency", ("settled elsewhere",), is_told_and_resolved),
    Step("a commission for each share", ("per unit",), is_booked),
    Step(f"a commission in percent of {IN_PERCENT} shares", ("percent",), is_booked),
    Step("a commission that is waived", ("waived",), leaves_a_fee_open("waived")),
    Step("MiscFees", ("misc",), is_booked),
    Step("a fee in another currency", ("fee elsewhere",), leaves_a_fee_open("fee elsewhere")),
    Step("a rejection after a part", ("rejects",), is_rejected_after_a_part),
    Step("a fill under its cancel", ("under the cancel",), is_filled_under_its_cancel),
    Step("an ExecID again", ("reuse",), ends_by_a_reused_exec_id),
    Step("an unknown order", ("phoned",), stops_one_instrument),
    Step("an unknown order elsewhere", ("elsewhere",), stops_another_instrument),
    Step("a trade without a price", ("no price",), is_told_and_works_on),
    Step("an order at work", ("ends unseen",), rests_over_the_stop),
)
SECOND: Final = (
    Step("ended by a status report", (), ended_before("FILLED", "CANCELED")),
    Step("an order after the second start", ("fill",), is_booked),
)
THIRD: Final = (
    Step("an order after the third start", ("fill",), is_booked),
    Step("an order of the day", ("rest",), rests_overnight),
)
MORNING: Final = (
    Step("unknown next morning", (), ended_before("EXPIRED")),
    Step("an order of the next day", ("fill",), is_booked),
)
SCRIPT: Final = tuple(
    word for steps in (FIRST, SECOND, THIRD, MORNING) for step in steps for word in step.broker
)


def play(scene: ReportScene, steps: tuple[Step, ...]) -> None:
    """Play steps and judge after each.

    Raises:
        AssertionError: names the step after which something does not hold.
    """
    for step in steps:
        try:
            step.act(scene)
            scene.agrees()
        except BaseException as error:
            error.add_note(f"in the step: {step.name}; the broker: {scene.broker.log()[-2_000:]}")
            raise


def starts_again(scene: ReportScene) -> None:
    """Stop and start; nothing that was resolved comes back, and nothing is asked."""
    known = scene.recorded(Kind.BOOK_DIFFERENCE)
    before = scene.desk.app.fix
    scene.desk.stop()
    scene.starts()
    assert scene.desk.app.fix is not before
    assert scene.desk.app.fix.wait_for(SessionState.READY, BACK_S)
    assert scene.desk.app.book_check.run("reconciliation") == 0
    assert scene.recorded(Kind.BOOK_DIFFERENCE) == known
    scene.agrees()
