"""Cancels and fills that cross on the wire: one table, read by the gateway and by its child.

After each story: the order's state, the trades booked, what is reserved, how the cancel ended, and
that gateway and child agree on whether the order may still trade.

Source: FIX 4.4 volume 4, appendix D, order state change matrices A, B and F.
"""

import pytest

from audit.records.kinds import Kind
from fix.orders.hearing import Hearing
from fix.wire.reports import parse_inbound
from gateway.desk.bodies.order_requests import CancelRequest
from gateway.evidence.replay.replay import replay
from tests.doubles.answering_broker import framed
from tests.doubles.fix_world import PROFILE
from tests.doubles.memory_desk import AGENT, MemoryDesk

NOTHING = {"t32": "0", "t31": "0"}
STORIES = [
    # (what happens, state, lots filled, whether something is reserved, how the cancel ended)
    ("ask ack gone", "CANCELED", 0, False, "confirmed"),
    ("ack ask pend gone", "CANCELED", 0, False, "confirmed"),
    ("ack ask pend part gone", "CANCELED", 3, False, "confirmed"),
    ("ack part ask gone", "CANCELED", 3, False, "confirmed"),
    ("ack part ask pend fill late", "FILLED", 9, False, "too_late"),
    ("ack ask fill late", "FILLED", 9, False, "too_late"),
    ("ack ask fill pend late", "FILLED", 9, False, "too_late"),
    ("ack ask pend refused fill", "FILLED", 9, False, "rejected"),
    ("ack ask pend refused", "NEW", 0, True, "rejected"),
    ("ack ask pend part refused", "PARTIAL", 3, True, "rejected"),
    ("ack ask refused part gone", "CANCELED", 3, False, "rejected"),
    ("ack gone ask", "CANCELED", 0, False, ""),
    ("ack ask late fill", "FILLED", 9, False, "too_late"),
    ("ack ask late gone", "CANCELED", 0, False, "too_late"),
    ("ack ask expired", "EXPIRED", 0, False, "too_late"),
    ("ack suspended ask gone", "CANCELED", 0, False, "confirmed"),
    ("ack suspended ask refused resumed fill", "FILLED", 9, False, "rejected"),
    ("ack part done ask gone", "CANCELED", 3, False, "confirmed"),
    ("ack part done", "DONE_FOR_DAY", 3, True, None),
    ("ack part done resumed fill", "FILLED", 9, False, None),
    ("ack part done fill", "FILLED", 9, False, None),
    ("ack part done unknown", "EXPIRED", 3, False, None),
    ("ack part calculated", "CALCULATED", 3, True, None),
    ("ack part done calculated unknown", "EXPIRED", 3, False, None),
    ("ack fill done calculated", "FILLED", 9, False, None),
    ("ack stopped fill", "FILLED", 9, False, None),
    ("ack stopped ask pend part gone", "CANCELED", 3, False, "confirmed"),
    ("waiting ack fill", "FILLED", 9, False, None),
    ("fill ack waiting", "FILLED", 9, False, None),
    ("ack expired", "EXPIRED", 0, False, None),
]

CHILD_IN_DOUBT = {"fill ack waiting"}
"""The child knows no totals: an acknowledgement after the fill may mean a quantity that works."""


class Story:
    """One order, its broker's words, and the child that hears the same."""

    def __init__(self, desk: MemoryDesk) -> None:
        self.desk = desk
        self.order = desk.rest(8)
        assert self.order.approving is not None
        self.whole = int(self.order.approving.body["intent"]["qty_lots"])
        assert self.whole == 9
        self.hearing = Hearing(PROFILE.capabilities)
        self.child_live = True
        self.cum = 0

    def play(self, words: str) -> None:
        for word in words.split():
            getattr(self, word)()

    def hear(self, raw: str) -> None:
        self.desk.settled(raw)
        effect = self.hearing.take(parse_inbound(raw))
        if effect.is_news and effect.works:
            self.child_live = True
        if effect.is_news and effect.ends:
            self.child_live = False

    def say(self, exec_type: str, status: str, leaves: int | None = None, **more: str) -> None:
        now = self.desk.standing(self.order.decision_id)
        left = self.whole - self.cum if leaves is None else leaves
        fields = NOTHING | {"t150": exec_type, "t39": status, "t151": str(left)}
        self.hear(self.desk.report(now, **(fields | {"t14": str(self.cum)} | more)))

    def ask(self) -> None:
        live = self.desk.standing(self.order.decision_id).is_live
        if live:
            request = CancelRequest(client_key="c-1", reason="")
            self.desk.small.desk.order_desk.cancel(AGENT, self.order.cl_ord_id, request)

    def waiting(self) -> None:
        self.say("A", "A")

    def ack(self) -> None:
        self.say("0", "0", self.whole, t14="0")

    def part(self) -> None:
        self.cum += 3
        self.trade(3, "1")

    def fill(self) -> None:
        lots, self.cum = self.whole - self.cum, self.whole
        self.trade(lots, "2")

    def trade(self, lots: int, status: str) -> None:
        now = self.desk.standing(self.order.decision_id)
        left = str(self.whole - self.cum)
        more = {"t32": str(lots), "t39": status, "t14": str(self.cum), "t151": left}
        self.hear(self.desk.report(now, **more))

    def pend(self) -> None:
        self.say("6", "6")

    def gone(self) -> None:
        self.say("4", "4", 0)

    def expired(self) -> None:
        self.say("C", "C", 0)

    def suspended(self) -> None:
        self.say("9", "9")

    def resumed(self) -> None:
        self.say("D", "1" if self.cum else "0", t378="99")

    def done(self) -> None:
        self.say("3", "3", 0)

    def calculated(self) -> None:
        self.say("B", "B", 0)

    def stopped(self) -> None:
        self.say("7", "7")

    def unknown(self) -> None:
        self.say("I", "8", 0, t17="0", t14="0", t103="5")

    def late(self) -> None:
        self.reject("2" if self.cum == self.whole else "0", "0")

    def refused(self) -> None:
        self.reject("1" if self.cum else "0", "3")

    def reject(self, status: str, reason: str) -> None:
        now = self.desk.standing(self.order.decision_id)
        self.desk.messages += 1
        head = ((49, "EMSSIM"), (56, "COUNTERSIGN"), (34, str(self.desk.messages)))
        named = ((11, now.cancels[0].cancel_id), (41, now.cl_ord_id))
        self.hear(framed("9", (*head, (37, "X1"), *named, (39, status), (434, "1"), (102, reason))))


@pytest.mark.parametrize(("words", "state", "filled", "reserves", "cancel"), STORIES)
def test_cancels_and_fills_that_cross(
    desk: MemoryDesk, words: str, state: str, filled: int, *, reserves: bool, cancel: str | None
) -> None:
    story = Story(desk)
    story.play(words)
    now = desk.standing(story.order.decision_id)
    assert (now.order_state, now.filled_lots) == (state, filled)
    assert desk.lots() == now.filled_lots
    assert desk.reserved() == (story.whole - now.filled_lots if reserves else 0)
    assert now.is_live == reserves
    assert story.child_live == (reserves or words in CHILD_IN_DOUBT)
    if cancel:
        assert [one.outcome for one in now.cancels] == [cancel]
    assert not list(desk.log.records(kinds=(Kind.BOOK_DIFFERENCE,)))
    if not reserves:
        assert now.sealed
        assert replay(desk.small.reader, desk.small.table, now.decision_id).lines
