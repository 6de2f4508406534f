"""Which numbers a session goes on with: those of its last allowed beginning, and of no other."""

from typing import Any, cast

from audit.sequencer.ledger import Ledger
from audit.store.reader import LedgerReader
from fix.dialects.profile import Profile, Resets, simulator_profile
from fix.durable.resets import Reset, ResetCause
from fix.session.link import HandResult
from gateway.walk.journal.order import handed
from gateway.walk.journal.standing import Standing
from gateway.walk.projections.sequence import SessionNumbers, numbers, record_resets, recorded
from tests.doubles.memory_ledger import MemoryLedger

DAY_US = 86_400_000_000
PLAIN = simulator_profile(1)
NIGHTLY = PLAIN.model_copy(
    update={"resets": Resets.NIGHTLY, "session_start": "06:00:00", "session_end": "05:00:00"}
)
SIX_US = 6 * 3_600_000_000


class Wall:
    """A wall clock that a test sets."""

    def __init__(self) -> None:
        self.now_us = 10 * DAY_US + SIX_US

    def __call__(self) -> int:
        return self.now_us


def reset(number: int, *, allowed: bool = True, new_sender: int = 1) -> Reset:
    return Reset(
        reset_no=number,
        cause=ResetCause.BY_BROKER,
        allowed=allowed,
        old_sender=90,
        old_target=80,
        new_sender=new_sender,
        new_target=1,
        at_us=number,
    )


class World:
    """A log, and what left by it."""

    def __init__(self) -> None:
        self.wall = Wall()
        self.log = MemoryLedger(self.wall)
        self.any: Any = self.log

    def sent(self, number: int, epoch: int = 0) -> None:
        """Put an order on record that left under a number."""
        name = f"N{epoch}-{number}"
        order = Standing(decision_id=name, account="acct", cl_ord_id=name)
        said = HandResult(outcome="sent", msg_seq_num=number, raw="35=D", epoch=epoch)
        draft = handed(order, said, raw_digest="", decision_to_wire_us=1, market_time_us=0)
        self.log.append(draft)

    def record(self, *resets: Reset) -> None:
        record_resets(cast("Ledger", self.any), PLAIN.name, "run", resets)

    def stands(self, *found: Reset, profile: Profile = PLAIN) -> SessionNumbers:
        reader = cast("LedgerReader", self.any)
        return numbers(reader, profile, found, self.wall())


def test_a_session_goes_on_one_above_the_highest_number_of_its_present_beginning() -> None:
    world = World()
    world.sent(50)
    assert world.stands() == SessionNumbers(epoch=0, last_reset=0, next_sender=51, refused=None)
    world.record(reset(1), reset(2, new_sender=4))
    world.sent(7, epoch=1)
    assert world.stands() == SessionNumbers(epoch=2, last_reset=2, next_sender=4, refused=None)
    world.sent(6, epoch=2)
    world.sent(5, epoch=2)
    assert world.stands() == SessionNumbers(epoch=2, last_reset=2, next_sender=7, refused=None)


def test_a_beginning_that_was_refused_opens_no_epoch_and_stands_until_another_comes() -> None:
    world = World()
    world.sent(50)
    world.record(reset(1, allowed=False))
    refused = world.stands()
    assert (refused.epoch, refused.last_reset, refused.next_sender) == (0, 1, 51)
    assert refused.refused is not None
    assert refused.refused.reset_no == 1
    after = world.stands(reset(2, new_sender=3))
    assert (after.epoch, after.next_sender, after.refused) == (2, 3, None)


def test_what_the_folder_has_counts_like_what_is_on_record_and_the_record_wins() -> None:
    world = World()
    assert world.stands(reset(1, new_sender=9)).next_sender == 9, "a crash before its record"
    world.record(reset(1, new_sender=9))
    assert world.stands(reset(1, new_sender=30)).next_sender == 9
    world.record(reset(1, new_sender=9))
    (one,) = recorded(cast("LedgerReader", world.any), PLAIN.name)
    assert (one.reset_no, one.new_sender, one.allowed) == (1, 9, True)
    assert recorded(cast("LedgerReader", world.any), "another") == ()


def test_a_nightly_session_begins_at_one_again_once_its_start_has_passed() -> None:
    world = World()
    world.sent(50)
    world.wall.now_us += DAY_US - 1
    assert world.stands(profile=NIGHTLY).next_sender == 51
    world.wall.now_us += 1
    assert world.stands(profile=NIGHTLY).next_sender == 1
    assert world.stands().next_sender == 51, "one without a schedule never does"
