"""`serve` is killed with open orders, a half-fed bar and a held decision at once: none is lost.

Real: the commands of the page, PostgreSQL, ledger, FIX child, simulator, TCP, HTTP. The first life
is another process, which SIGKILL ends; only its model is scripted.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from threading import Event

import httpx
import pytest

from audit.records.kinds import Kind
from fix.simulator.acts import BrokerAct
from fix.simulator.fills import write_fill_file
from fix.simulator.play import deal, play
from fix.wire.identity import cl_ord_id
from gateway.clock import pause, wall_us
from gateway.evidence.replay.replay import replay
from gateway.feeds.live.board import FedMarket
from gateway.installation.children.simulator import wait_for
from gateway.walk.deadlines import hold_of
from gateway.walk.journal.standing import Stage, Standing
from gateway.walk.journal.verdict import ApprovalRequested, VerdictGiven
from tests.doubles.feeds import bars
from tests.doubles.fix_world import Broker, broker_at
from tests.doubles.operator_page import do, edited
from tests.doubles.scene_desk import BARS, SYMBOL, WITHIN_S, ServedDesk, served_desk
from tests.doubles.scene_oracle import Fills, agents_account, ours
from tests.doubles.served_process import killed, served_apart

pytestmark = [pytest.mark.walk, pytest.mark.timeout(400)]
FOLLOWED = '[[source]]\nname = "vendor"\nfeed = "bars"\npath = "bars.csv"\n'
CELLS = ("instrument", "close_time_us", "open", "high", "low", "close")
HELD_BP = 1_500
HALF = 11
"""How much of the last line is there when the gateway dies."""


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    """The simulator; it outlives every gateway."""
    with broker_at(tmp_path) as one:
        yield one


@pytest.fixture
def desk(tmp_path: Path, broker: Broker, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServedDesk]:
    """A desk of the operator's page at the simulator, whose bars come by file."""
    port = broker.config.port
    profile = edited(do("profile", "example", "simulator").stdout, port=port)
    with served_desk(tmp_path / "empty", port, monkeypatch, profile, a_person_sooner) as one:
        Path("feeds.toml").write_text(FOLLOWED)
        monkeypatch.setenv("COUNTERSIGN_FEEDS__FILES", "feeds.toml")
        yield one


def a_person_sooner() -> None:
    """Let the policy ask for a person above 100,000 USD: its draft stops orders of 650 lots."""
    path, name = Path("policy.toml"), "[approval.human_notional]\nvalue = "
    text = path.read_text()
    assert f"{name}25000000\n" in text
    path.write_text(text.replace(f"{name}25000000\n", f"{name}10000000\n"))


def lines() -> list[str]:
    """Return the lines of a file of bars, the head first."""
    posted = [{**one, "instrument": SYMBOL} for one in bars(BARS, wall_us())]
    rows = [",".join(str(one[cell]) for cell in CELLS) for one in posted]
    return [f"{row}\n" for row in (",".join(("instrument", "time", *CELLS[2:])), *rows)]


def theirs(broker: Broker) -> Fills:
    """Return the trades that the broker reported, each once."""
    said = [one for one in broker.fields("8", "out") if one[150] == "F"]
    return {one[17]: (int(one[32]), Decimal(one[31])) for one in said}


def order(desk: ServedDesk, name: str) -> dict[str, object]:
    return desk.get("agent", f"/v1/orders/{name}")


def feed_faults(desk: ServedDesk) -> dict[str, str]:
    """Return what is wrong with the feeds, as everybody is told."""
    told: dict[str, str] | str = desk.get("agent", "/readyz")["feeds"]
    return {} if isinstance(told, str) else told


def rested(desk: ServedDesk, broker: Broker) -> str:
    """Let an order go that rests at the broker; return its ClOrdID."""
    deal(broker.config.control, "rest")
    pause(0.1)  # the simulator reads its control every 20 ms
    answers = []
    for _ in range(20):  # a machine that stood still made a quote too old
        answers.append(desk.wish())
        if answers[-1]["result"] == "approved":
            break
    name = str(answers[-1]["cl_ord_id"])
    wait_for(lambda: order(desk, name)["state"] == "NEW", WITHIN_S, part="the resting order")
    desk.decisions.append(str(answers[-1]["decision_id"]))
    return name


def held(desk: ServedDesk) -> str:
    """Leave an intent waiting for a person; return its decision id."""
    wish = {"instrument": SYMBOL, "target_exposure_bp": HELD_BP, "max_qty_lots": 600}
    answers = []
    for number in range(20):
        desk.post_quote()
        answers.append(desk.post("agent", "/v1/intents", {"client_key": f"h-{number}", **wish}))
        if answers[-1]["result"] == "held":
            break
    assert answers[-1]["result"] == "held", answers[-3:]
    desk.decisions.append(str(answers[-1]["decision_id"]))
    return desk.decisions[-1]


def answered(desk: ServedDesk, decision_id: str, digest: str) -> httpx.Response:
    """Open a hold's sheet and say yes to it, as the approver."""
    path = f"/v1/decisions/{decision_id}"
    sheet = desk.get("approver", f"{path}/sheet")["sheet_digest"]
    token = (desk.top / "desk" / "approver" / "approver.token").read_text().strip()
    digests = {"intent_digest": digest, "sheet_digest": sheet}
    return httpx.post(
        f"{desk.address}{path}/approval",
        json={"approve": True, "note": "read and agreed", **digests},
        headers={"Authorization": f"Bearer {token}"},
        timeout=30.0,
        trust_env=False,
    )


def agreed(desk: ServedDesk, decision_id: str, digest: str) -> httpx.Response:
    """Say yes while quotes come in, as they do at a desk: the renewal prices what it sampled.

    One quote before the answer is too old for it on a machine that stands still for two seconds.
    """
    with ThreadPoolExecutor(1) as feed:
        over = Event()
        quoting = feed.submit(quotes_until, over, desk)
        try:
            for _ in range(20):
                said = answered(desk, decision_id, digest)
                if said.is_success:
                    return said
        finally:
            over.set()
            quoting.result()
    raise AssertionError("no quote is fresh enough")


def quotes_until(over: Event, desk: ServedDesk) -> None:
    """Post a quote five times a second."""
    while not over.wait(0.2):
        desk.post_quote()


def followed(desk: ServedDesk) -> list[int]:
    """Return the sequences of the bars that the served market has."""
    market = desk.app.market
    assert isinstance(market, FedMarket)
    series = market.series("bars", SYMBOL)
    return [] if series is None else [one.sequence for one in series.last_run()]


@pytest.mark.parametrize("whole", [True, False], ids=["with its FIX child", "alone"])
def test_a_killed_desk_loses_no_order_no_bar_and_no_hold(
    desk: ServedDesk, broker: Broker, tmp_path: Path, *, whole: bool
) -> None:
    """Alone, its FIX child cancels what is live before it ends; both are known afterwards."""
    feed, file = lines(), Path("bars.csv")
    file.write_text("".join(feed[:-1]) + feed[-1][:HALF])
    with served_apart(desk, tmp_path / "serve.log") as first_life:
        wait_for(lambda: f"{SYMBOL} bars" not in feed_faults(desk), WITHIN_S, part="the bars")
        untouched, filling = rested(desk, broker), rested(desk, broker)
        play(broker.config.control, BrokerAct("fill", filling, 5))
        wait_for(lambda: order(desk, filling)["filled_lots"] == 5, WITHIN_S, part="the fill")
        waiting = held(desk)
        killed(first_life, whole=whole)
    if whole:
        play(broker.config.control, BrokerAct("fill", untouched, 3))  # nobody is there to hear it
        wait_for(lambda: len(theirs(broker)) == 2, WITHIN_S, part="the unheard fill")
    with file.open("a") as there:
        there.write(feed[-1][HALF:])
    desk.start()
    desk.ready()

    assert set(broker.order_ids()) == {untouched, filling}, "nothing left by the start"
    known = {untouched: ("PARTIAL" if whole else "CANCELED", 3 if whole else 0)}
    known[filling] = ("PARTIAL" if whole else "CANCELED", 5)
    for name, stands in known.items():
        part = f"what the broker says of {name}"
        wait_for(lambda: stands == told_of(desk, name), WITHIN_S, part=part)  # noqa: B023
        assert order(desk, name)["live"] is whole
    the_hold_waits_on(desk, waiting)
    wait_for(lambda: followed(desk) == [*range(1, BARS + 1)], WITHIN_S, part="the last bar")
    wait_for(lambda: file_items(desk) > 0, WITHIN_S, part="its count")  # after the bar itself
    assert file_items(desk) == 1, "what was read before is not read again"

    given = desk.standing(waiting).verdict
    assert given is not None
    digest = str(given.body["intent_digest"])
    early = answered(desk, waiting, digest)
    assert early.status_code == httpx.codes.BAD_REQUEST, "no quote yet: it waits on"
    the_hold_waits_on(desk, waiting)
    deal(broker.config.control, "fill")
    said = agreed(desk, waiting, digest)
    assert (said.status_code, said.json()["result"]) == (200, "approved"), (
        said.text,
        desk.standing(waiting).verdict,
    )
    over = desk.comes(desk.standing(waiting), lambda one: one.sealed)
    the_yes_was_judged_anew_and_sent_once(desk, broker, over)
    if whole:
        ends(desk, broker, untouched, filling)
    closes(desk, broker)


def told_of(desk: ServedDesk, name: str) -> tuple[object, object]:
    """Return the state and the filled lots of an order, as its agent is told."""
    found = order(desk, name)
    return found["state"], found["filled_lots"]


def file_items(desk: ServedDesk) -> int:
    """Return how many items this life of the gateway read from the followed file."""
    market = desk.app.market
    assert isinstance(market, FedMarket)
    (state,) = market.files
    return state.items


def the_hold_waits_on(desk: ServedDesk, decision_id: str) -> None:
    """Assert that a hold stands with the end that was told, and with what its verdict reserved."""
    one = desk.standing(decision_id)
    assert (one.stage, one.verdict is not None) == (Stage.HELD, True)
    assert one.verdict is not None
    section, stream = desk.app.desk.own.section, f"decision/{decision_id}"
    (asked,) = desk.app.reader.records(stream=stream, kinds=(Kind.APPROVAL_REQUESTED,))
    end = section.deadlines.end(hold_of(decision_id))
    assert end is not None
    assert end.wall_us == ApprovalRequested.of(asked).expires_us, "not a new life"
    given = VerdictGiven.of(one.verdict).reservation
    kept = section.book(one.account).reservation(decision_id)
    assert given is not None
    assert kept is not None
    assert (kept.side, kept.open_lots) == (given.side, given.qty_lots)


def the_yes_was_judged_anew_and_sent_once(desk: ServedDesk, broker: Broker, over: Standing) -> None:
    """Assert that the renewal named a forecast, judged and sent, each once."""
    records = list(desk.app.reader.records(stream=f"decision/{over.decision_id}"))
    attempts = [r.body["attempt"] for r in records if r.kind is Kind.FORECAST_TAKEN]
    verdicts = [r for r in records if r.kind is Kind.VERDICT_GIVEN]
    assert attempts == [0, 1]
    assert [one.body["result"] for one in verdicts] == ["held", "approved"]
    assert broker.order_ids().count(cl_ord_id(verdicts[1].leaf)) == 1
    assert over.order_state == "FILLED"


def ends(desk: ServedDesk, broker: Broker, untouched: str, filling: str) -> None:
    """Let one order be filled, cancel the other."""
    play(broker.config.control, BrokerAct("fill", untouched))
    wish = {"client_key": "cancel-1", "reason": "the day ends"}
    desk.post("agent", f"/v1/orders/{filling}/cancel", wish)
    for name, state in ((untouched, "FILLED"), (filling, "CANCELED")):
        wait_for(lambda: told_of(desk, name)[0] == state, WITHIN_S, part=name)  # noqa: B023


def closes(desk: ServedDesk, broker: Broker) -> None:
    """Assert that book, ledger and the broker's own file agree, and every decision replays."""
    wait_for(lambda: ours(desk) == theirs(broker), WITHIN_S, part="the same fills")
    app = desk.app
    assert app.book_check.run("run_end") == 0
    book = app.desk.own.section.book(agents_account(desk))
    assert book.lots(SYMBOL) == sum(qty for qty, _ in theirs(broker).values())
    assert book.reservations == ()
    assert app.orders.live() == app.orders.held() == ()
    for decision_id in desk.decisions:
        replay(app.reader, app.desk.own.tools.table, decision_id)
    desk.stop()
    fills = Path("fills.csv")
    write_fill_file(broker.config.capture, fills)
    do("verify", "--key", "keys/ledger.key.pub", "--broker-fills", fills)
