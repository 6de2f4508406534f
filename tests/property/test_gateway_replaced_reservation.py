"""Whatever happens to an order, what is reserved covers what the broker could still fill.

Replaces, restatements, fills and a cancel come in any order; the broker here is a few numbers.
"""

import itertools
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from gateway.desk.bodies.order_requests import ReplaceRequest
from gateway.errors import NotReplaceableError
from gateway.evidence.replay.replay import replay
from gateway.walk.journal.standing import Standing
from tests.doubles.answering_broker import framed
from tests.doubles.memory_desk import AGENT, MemoryDesk, memory_desk

LOTS = 60
_numbers = itertools.count(1)


@dataclass
class Broker:
    """One order as the broker works it; `asked` is a replace that it has not answered."""

    desk: MemoryDesk
    order: Standing
    total: int
    done: int = 0
    live: bool = True
    asked: list[int] = field(default_factory=list)

    @property
    def could_fill(self) -> int:
        """The most lots that it could still fill."""
        return max([self.total, *self.asked]) - self.done if self.live else 0

    def say(self, exec_type: str, **more: str) -> None:
        left = self.total - self.done if self.live else 0
        status = {"4": "4"}.get(exec_type, "0" if not self.done else "1" if left else "2")
        told = {"t150": exec_type, "t39": status, "t38": str(self.total), "t14": str(self.done)}
        quiet = {} if exec_type == "F" else {"t32": "0", "t31": "0"}
        now = self.desk.standing(self.order.decision_id)
        self.desk.settled(self.desk.report(now, **(quiet | told | {"t151": str(left)} | more)))

    def fill(self, lots: int) -> None:
        lots = min(lots, self.total - self.done)
        self.done += lots
        self.live = self.done < self.total
        self.say("F", t32=str(lots))
        if not self.live:
            self.asked.clear()

    def restate(self, lots: int) -> None:
        self.total = max(lots, self.done + 1)
        self.say("D", t378="5")

    def cancel(self, _lots: int) -> None:
        self.live = False
        self.asked.clear()
        self.say("4")

    def ask(self, lots: int) -> None:
        """Let the agent ask for so many lots; the desk may refuse."""
        request = ReplaceRequest(client_key=f"r-{next(_numbers)}", reason="tested", qty_lots=lots)
        try:
            done = self.desk.small.desk.order_desk.replace(AGENT, self.order.cl_ord_id, request)
        except NotReplaceableError:
            return
        assert done.result == "sent"
        self.asked = [lots]

    def confirm(self, _lots: int) -> None:
        if not self.asked or self.asked[0] <= self.done:
            self.refuse(0)
            return
        self.total = self.asked.pop()
        newest = self.desk.standing(self.order.decision_id).replaces[-1]
        self.say("5", t11=newest.replace_id, t41=newest.orig_name)

    def refuse(self, _lots: int) -> None:
        if not self.asked:
            return
        self.asked.clear()
        self.desk.messages += 1
        newest = self.desk.standing(self.order.decision_id).replaces[-1]
        fields = {49: "EMSSIM", 56: "COUNTERSIGN", 34: str(self.desk.messages), 37: "X1"}
        fields |= {52: "20180102-15:00:00", 11: newest.replace_id, 41: newest.orig_name}
        status = {39: "1" if self.done else "0", 434: "2", 102: "3"}
        self.desk.settled(framed("9", tuple((fields | status).items())))


WORDS = ("ask", "ask", "confirm", "refuse", "fill", "restate", "cancel")
steps = st.lists(
    st.tuples(st.sampled_from(WORDS), st.integers(1, 2 * LOTS)), min_size=2, max_size=9
)


@settings(max_examples=25, deadline=None)
@given(steps)
@example([("ask", 40), ("restate", 20), ("confirm", 1)])
@example([("restate", 20), ("ask", 40), ("fill", 9), ("refuse", 1), ("restate", 70)])
@example([("ask", 1), ("restate", 62)])
@example([("ask", 40), ("restate", 90), ("restate", 30), ("refuse", 1)])
@example([("restate", 90), ("ask", 30), ("confirm", 1), ("fill", 5), ("restate", 40)])
def test_the_reservation_covers_what_the_broker_could_fill(
    steps: list[tuple[str, int]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        desk = memory_desk(Path(folder))
        order = desk.rest(LOTS)
        assert order.approving is not None
        broker = Broker(desk, order, int(order.approving.body["intent"]["qty_lots"]))
        broker.say("0")
        for word, lots in steps:
            if not broker.live:
                break
            getattr(broker, word)(lots)
            assert desk.reserved() >= broker.could_fill, (word, lots)
            assert desk.lots() == broker.done
        if broker.live:
            broker.cancel(0)
        assert desk.reserved() == 0, "nothing is left behind"
        replay(desk.small.reader, desk.small.table, order.decision_id)
