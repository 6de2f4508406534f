"""The settler takes the inbox in order, waits for a ledger that is away, and never skips."""

import threading
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from hashlib import sha256
from typing import cast

import pytest

from audit.errors import LedgerStoppedError, LedgerWriteError
from audit.records.kinds import Kind
from audit.sequencer.ledger import Ledger
from audit.store.reader import LedgerReader
from fix.durable.inbox import Entry
from gateway.clock import monotonic_us
from gateway.errors import ReplayDiffersError
from gateway.evidence.replay.compared import matches
from gateway.launch.threads.settler import LASTING_US, READY, Settler
from gateway.telemetry.spans import Telemetry
from gateway.walk.journal.control.own_keys import OwnKeys
from gateway.walk.journal.session import fix_inbound
from tests.doubles.memory_desk import MemoryDesk
from tests.doubles.memory_ledger import MemoryLedger

WAIT_S = 20.0


class Inbox:
    """An inbox of whole messages."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.asked: list[int] = []
        self.broken: Exception | None = None

    def put(self, raw: str) -> Entry:
        begin = self.entries[-1].next_offset if self.entries else 0
        self.entries.append(Entry(offset=begin, next_offset=begin + len(raw) + 8, raw=raw))
        return self.entries[-1]

    def inbox_since(self, offset: int) -> list[Entry]:
        self.asked.append(offset)
        if self.broken is not None:
            raise self.broken
        return [one for one in self.entries if one.offset >= offset]


@pytest.fixture
def inbox() -> Inbox:
    return Inbox()


def settler_of(
    desk: MemoryDesk,
    inbox: Inbox,
    forget: Callable[[int], None] = lambda _: None,
    monotonic: Callable[[], int] = monotonic_us,
) -> Settler:
    reader = cast("LedgerReader", desk.log)
    own = OwnKeys(desk.small.ledger, reader)
    tools = replace(desk.small.settling, forget=forget, ledger=own)
    return Settler(inbox, tools, reader, Telemetry(), monotonic)


def offsets(desk: MemoryDesk) -> list[int]:
    return [int(one.body["offset"]) for one in desk.log.of_kind(Kind.FIX_INBOUND)]


def test_what_is_in_the_inbox_is_settled_in_order_and_once(desk: MemoryDesk, inbox: Inbox) -> None:
    order = desk.rest()
    places = [inbox.put(desk.report(order, t14=str(lots))).offset for lots in (1, 2, 3)]
    settler = settler_of(desk, inbox)
    assert settler.session == "EMSSIM"
    assert settler.offset == 0
    assert settler.drain()
    assert (offsets(desk), desk.lots()) == (places, 3)
    assert settler.offset == inbox.entries[-1].next_offset
    assert settler.drain()
    assert (offsets(desk), desk.lots()) == (places, 3)
    assert inbox.asked == [0, settler.offset]


def test_a_restart_goes_on_behind_the_last_message_on_record(
    desk: MemoryDesk, inbox: Inbox
) -> None:
    order = desk.rest()
    inbox.put(desk.report(order))
    last = inbox.put(desk.report(order, t14="2"))
    assert settler_of(desk, inbox).drain()
    later = inbox.put(desk.report(order, t14="3"))
    forgotten: list[int] = []
    again = settler_of(desk, inbox, forgotten.append)
    assert again.offset == last.offset, "the last one is looked at once more"
    size = desk.log.size
    assert again.drain()
    assert forgotten == [last.offset], "its names are overwritten, should a crash have come between"
    fresh = [one.body["offset"] for one in desk.log.of_kind(Kind.FIX_INBOUND) if one.seq >= size]
    assert fresh == [later.offset]
    assert desk.lots() == 3


def test_the_inbox_of_another_session_is_no_measure(desk: MemoryDesk, inbox: Inbox) -> None:
    order = desk.rest()
    inbox.put(desk.report(order))
    assert settler_of(desk, inbox).drain()
    desk.small = replace(desk.small, settling=replace(desk.small.settling, session="OTHER"))
    assert settler_of(desk, inbox).offset == 0


def test_a_ledger_that_is_away_delays_a_report_and_loses_none(
    desk: MemoryDesk, inbox: Inbox
) -> None:
    order = desk.rest()
    inbox.put(desk.report(order))
    second = inbox.put(desk.report(order, t14="2"))
    settler = settler_of(desk, inbox)
    desk.log.before = lambda drafts: away(drafts[0].payload.get("offset") == second.offset)
    assert not settler.drain()
    assert (settler.offset, desk.lots()) == (second.offset, 1)
    assert settler.state == READY, "a ledger that is away is waited for"
    assert not settler.drain()
    desk.log.before = lambda _: None
    assert settler.drain()
    assert (settler.offset, desk.lots()) == (second.next_offset, 2)


def test_a_report_that_waits_for_long_stops_new_orders_until_it_is_settled(
    desk: MemoryDesk, inbox: Inbox
) -> None:
    order, now = desk.rest(), [1]
    inbox.put(desk.report(order))
    settler = settler_of(desk, inbox, monotonic=lambda: now[0])
    desk.log.refuses = LedgerStoppedError("stopped for good")
    assert not settler.drain()
    now[0] += LASTING_US
    assert settler.ready, "a short wait stops nothing"
    now[0] += 1
    assert not settler.ready, "also while an append hangs"
    assert not settler.drain()
    assert settler.state == "stuck at 0: the report waits for the ledger"
    desk.log.refuses = None
    assert settler.drain()
    assert (settler.state, desk.lots()) == (READY, 1)
    now[0] += 10 * LASTING_US
    assert settler.ready, "nothing waits"


@pytest.mark.parametrize("same", [False, True])
def test_a_disavowed_row_that_holds_the_key_of_a_fill_hides_no_fill(
    desk: MemoryDesk, inbox: Inbox, *, same: bool
) -> None:
    order = desk.rest()
    entry = inbox.put(desk.report(order))
    squat(desk, entry, raw=entry.raw if same else "squat")
    desk.log.disavowed = {desk.log.size - 1}
    settler = settler_of(desk, inbox)
    assert settler.drain()
    assert (settler.state, desk.lots()) == (READY, 1)
    (inbound,) = desk.log.of_kind(Kind.FIX_INBOUND)
    assert (inbound.idem_key, inbound.body["raw"]) == ("inbound:0#1", entry.raw)
    again = settler_of(desk, inbox)
    again._skip = -1  # noqa: SLF001 - as if nobody knew that it is on record
    assert again.drain()
    assert (desk.lots(), offsets(desk)) == (1, [0]), "the same key at each try"


def test_a_fill_whose_key_another_record_holds_stops_new_orders(
    desk: MemoryDesk, inbox: Inbox
) -> None:
    entry = inbox.put(desk.report(desk.rest()))
    settler = settler_of(desk, inbox)
    squat(desk, entry, raw="not what the broker sent")
    assert not settler.drain()
    assert (settler.offset, settler.ready, desk.lots()) == (0, False, 0)
    assert "key 'inbound:0' is record" in settler.state
    assert "countersign fsck" in settler.state


@pytest.mark.parametrize(
    ("recorded", "same"),
    [("inbound:5", True), ("inbound:5#1", True), ("inbound:5#", False), ("inbound:51", False)],
)
def test_a_replay_takes_a_key_that_stood_in(recorded: str, *, same: bool) -> None:
    digest = sha256(b"raw").hexdigest()
    draft = fix_inbound("EMSSIM", offset=5, raw="raw", msg_type="8", digest=digest)
    (record,) = MemoryLedger().append(replace(draft, idem_key=recorded))
    with nullcontext() if same else pytest.raises(ReplayDiffersError, match="idem_key"):
        matches(record, draft)


def squat(desk: MemoryDesk, entry: Entry, *, raw: str) -> None:
    """Put a row under the key that the record of a message will want."""
    digest = sha256(raw.encode("latin-1")).hexdigest()
    draft = fix_inbound("EMSSIM", offset=entry.offset, raw=raw, msg_type="8", digest=digest)
    desk.log.append(draft)


def away(now: object) -> None:
    if now:
        raise LedgerWriteError("the database is away")


def test_a_fault_that_nobody_foresaw_stands_until_its_report_is_settled(
    desk: MemoryDesk, inbox: Inbox
) -> None:
    order = desk.rest()
    entry = inbox.put(desk.report(order))
    settler = settler_of(desk, inbox)
    assert settler.ready
    inbox.broken = ZeroDivisionError("nobody foresaw it")
    assert not settler.drain()
    assert (settler.state, settler.ready) == ("stuck at 0: ZeroDivisionError", False)
    inbox.broken = None
    assert settler.drain()
    assert (settler.state, settler.ready) == (READY, True)
    assert (settler.offset, desk.lots()) == (entry.next_offset, 1)


def test_a_message_on_record_at_another_market_time_is_not_settled_again(
    desk: MemoryDesk, inbox: Inbox
) -> None:
    order = desk.rest()
    raw = desk.report(order)
    entry = inbox.put(raw)
    forgotten: list[int] = []
    settler = settler_of(desk, inbox, forgotten.append)
    desk.settled(raw, offset=entry.offset)
    desk.small = replace(
        desk.small, settling=replace(desk.small.settling, market_now_us=lambda: 1_600_000_000_000)
    )
    moved = settler_of(desk, inbox, forgotten.append)
    moved._skip = -1  # noqa: SLF001 - as if the record had come in between
    assert moved.drain()
    assert (moved.offset, desk.lots()) == (entry.next_offset, 1)
    assert settler.offset == 0


def test_the_thread_settles_what_comes_and_ends_with_an_empty_inbox(
    desk: MemoryDesk, inbox: Inbox
) -> None:
    order = desk.rest()
    settler = settler_of(desk, inbox)
    assert settler.state == READY, "not started yet"
    booked = threading.Event()
    cast("Ledger", desk.log).subscribe(lambda _: booked.set() if desk.lots() else None)
    settler.start()
    inbox.put(desk.report(order))
    settler.wake()
    assert booked.wait(WAIT_S)
    assert settler.ready
    inbox.put(desk.report(order, t14="2"))
    settler.stop()
    assert desk.lots() == 2, "what was in the inbox is finished first"
    assert (settler.state, settler.ready) == ("stopped", False)


def test_a_stop_ends_although_a_report_cannot_be_settled(desk: MemoryDesk, inbox: Inbox) -> None:
    inbox.put(desk.report(desk.rest()))
    inbox.broken = ZeroDivisionError("nobody foresaw it")
    settler = settler_of(desk, inbox)
    settler.start()
    settler.stop()
    assert settler.state == "stuck at 0: ZeroDivisionError"
