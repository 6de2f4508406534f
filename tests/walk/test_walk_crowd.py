"""Eight agents at once, round after round: the book is the broker's, and no batch is told late."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import pytest

from audit.records.record import Record
from fix.simulator.control import read_capture
from gateway.launch.app import App
from tests.doubles.api_agent import Agent, ended
from tests.doubles.live_desk import capture_of

pytestmark = [pytest.mark.walk, pytest.mark.timeout(240)]
ROUNDS = 12
AGENTS = 8
SYMBOL = "SPXN"
EXPOSURES_BP = (500, 2_300)


@contextmanager
def tidied(app: App) -> Iterator[None]:
    """Housekeep twice a second, as a run does: it moves guards beside the agents' intents."""
    stop = threading.Event()

    def keep() -> None:
        while not stop.wait(0.5):
            app.housekeeping.round()

    thread = threading.Thread(target=keep)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def brokers_lots(app: App) -> int:
    """Return what the broker's own capture says that it traded, each ExecID once."""
    trades: dict[str, int] = {}
    for message in read_capture(capture_of(app)):
        if (message.direction, message.msg_type) == ("out", "8"):
            fields = dict(pair.split("=", 1) for pair in message.raw.split("\x01") if "=" in pair)
            if fields.get("150") == "F" and fields.get("55") == SYMBOL:
                sign = 1 if fields["54"] == "1" else -1
                trades[fields["17"]] = sign * int(fields["32"])
    return sum(trades.values())


def test_agents_at_once_leave_the_brokers_lots_in_the_book(app: App) -> None:
    late: list[int] = []
    newest = -1

    def watch(batch: tuple[Record, ...]) -> None:
        nonlocal newest
        if batch[0].seq < newest:
            late.append(batch[0].seq)
        newest = max(newest, batch[-1].seq)

    app.ledger.subscribe(watch)
    approved = 0
    with ExitStack() as open_now, tidied(app), ThreadPoolExecutor(AGENTS) as pool:
        agents = [open_now.enter_context(Agent(app)) for _ in range(AGENTS)]
        for turn in range(ROUNDS):
            level = EXPOSURES_BP[turn % 2]
            asked = [
                pool.submit(one.intent, f"crowd-{turn}-{place}", level + place * 7 + turn)
                for place, one in enumerate(agents)
            ]
            for answer in (a.result() for a in asked):
                if answer.status_code == 200 and answer.json()["result"] == "approved":
                    approved += 1
                    ended(app, answer.json()["decision_id"])
    assert approved
    assert late == []
    book = app.desk.own.section.book(f"{app.plan.tags.account}.agent")
    assert book.lots(SYMBOL) == brokers_lots(app)
    held = {standing.decision_id for standing in app.orders.held()}
    assert {reservation.decision_id for reservation in book.reservations} <= held
    assert app.orders.state == "ready"
