"""What the child's desk does with a proof of its logon; the session is a double, no engine runs."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from fix.durable.inbox import Inbox
from fix.durable.journal import Journal
from fix.durable.kill_word import KillWord
from fix.orders.live import LiveOrder
from fix.session.guard import Gate
from fix.session.initiator import InitiatorSession
from fix.session.link import Frame
from fix.session.listener import Sent
from fix.session.sweep_worker import Parts
from fix.session.worker import SessionWorker
from fix.wire.fields import MSG_TYPE
from fix.wire.messages import MASS_CANCEL, Fields
from tests.doubles.fix_world import PROFILE

NOW_US = 5_000_000
ORDER = LiveOrder(
    cl_ord_id="ORDER",
    fields=((35, "D"), (11, "ORDER"), (55, "SPXN"), (54, "1"), (38, "5"), (44, "10")),
    inbox_offset=0,
)


@dataclass
class Session:
    """A session that is up and notes what leaves; the peer asks for a resend after the first."""

    asks: bool
    resent_us: int = 0
    sent: list[str] = field(default_factory=list)
    probes: list[str] = field(default_factory=list)
    is_logged_on: bool = True
    is_started: bool = True

    def send(self, fields: Fields) -> Sent:
        self.sent.append(dict(fields)[MSG_TYPE])
        self.resent_us = NOW_US if self.asks else 0
        return Sent(msg_seq_num=len(self.sent), raw="", epoch=0)

    def probe(self, test_req_id: str) -> None:
        self.probes.append(test_req_id)

    def redial(self, now_us: int, *, hurry: bool) -> None:
        assert (now_us, hurry) == (NOW_US, True)

    def numbers(self) -> tuple[int, int]:
        return 1, 1

    def stop(self) -> None:
        self.is_logged_on = False


@pytest.mark.parametrize("asks", [False, True])
def test_a_proof_asks_again_for_what_a_gap_fill_may_have_swallowed(
    tmp_path: Path, *, asks: bool
) -> None:
    """The clock stands still, so neither back-off nor grace can be what asks again."""
    word, journal = KillWord(tmp_path / "kill.word", create=True), Journal(tmp_path / "journal")
    journal.opened(ORDER)
    epoch = word.press()
    session, told = Session(asks=asks), list[Frame]()
    gate = Gate(word.read, lambda: NOW_US, lambda: NOW_US)
    desk = SessionWorker(
        Parts(
            profile=PROFILE,
            session=cast("InitiatorSession", session),
            gate=gate,
            journal=journal,
            inbox=Inbox(tmp_path / "inbox"),
            word=word,
            post=told.append,
            monotonic_us=lambda: NOW_US,
            wall_us=lambda: NOW_US,
        )
    )
    desk.logged_on(gate.begin_logon())
    desk.wake()
    desk.heartbeat("logon-1-1")
    desk.wake()
    desk.command({"op": "stop", "n": 1})
    desk.run()
    assert epoch == 1
    assert session.probes == ["logon-1-1"]
    assert session.sent == [MASS_CANCEL] * (2 if asks else 1)
    assert [one["state"] for one in told if one["ev"] == "session"] == ["RECONCILING"]
    word.close()
