"""A kill ends only when nothing is live, in whatever order things happen. No sockets, no clocks."""

from operator import methodcaller

import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from hypothesis.strategies import booleans, integers, sampled_from

from fix.orders.live import LiveOrder
from fix.orders.sweep import RETRY_DOUBLINGS_MAX, RETRY_US
from fix.orders.sweeper import RESEND_GRACE_US, Sweeper, SweepPhase, View
from fix.wire.messages import Fields
from tests.doubles.fix_world import PROFILE

NAMES = tuple(f"ORDER{number}" for number in range(6))
TICK_US = 5_000
SOON_US = 2_000_000


def live_order(name: str) -> LiveOrder:
    fields = ((35, "D"), (11, name), (55, "SPXN"), (54, "1"), (38, "5"), (44, "10"))
    return LiveOrder(cl_ord_id=name, fields=fields, inbox_offset=0)


class Kills(RuleBasedStateMachine):
    """A sweeper between a journal and a broker that hears it, or does not."""

    def __init__(self) -> None:
        super().__init__()
        self.sweeper = Sweeper(PROFILE)
        self.now_us = self.wall_us = 1_000_000
        self.epoch, self.killed = 0, False
        self.logons, self.up, self.silent = 0, False, False
        self.resent_us, self.proven_no, self.renewals = 0, 0, 0
        self.journal: dict[str, LiveOrder] = {name: live_order(name) for name in NAMES[:3]}
        self.at_broker: set[str] = set(NAMES[:3])
        self.refusing: set[str] = set()
        self.swallowing = False
        self.unheard: list[str] = []
        self.ids: set[str] = set()
        self.asked: dict[tuple[str, int, int, int], list[int]] = {}
        self.reopened = 0
        self.kills = 0
        self.answered_epoch = self.took_back = 0
        self.mass_of = (0, 0)

    # -- the world --------------------------------------------------------------------------------

    @rule()
    def press(self) -> None:
        self.kills += not self.killed
        self.epoch, self.killed = self.epoch + 1, True
        self.step()

    @precondition(lambda self: self.killed)
    @rule()
    def release(self) -> None:
        self.killed = False
        self.step()

    @rule()
    def log_on(self) -> None:
        if not self.up:
            self.logons, self.up, self.silent = self.logons + 1, True, False
            self.resent_us = 0
            self.hear(self.unheard)  # the broker sends again what we missed
            self.unheard = []
        self.step()

    @rule()
    def log_off(self) -> None:
        self.up = False
        self.step()

    @rule()
    def fall_silent(self) -> None:
        self.silent = True

    @precondition(lambda self: self.up and not self.silent)
    @rule()
    def ask_for_a_resend(self) -> None:
        self.resent_us, self.renewals = self.now_us, self.renewals + 1
        self.step()

    @precondition(lambda self: self.up and not self.silent)
    @rule()
    def prove_the_logon(self) -> None:
        if self.resent_us and self.proven_no != self.logons:
            self.renewals += 1
        self.proven_no = self.logons
        self.step()

    @rule(name=sampled_from(NAMES))
    def bust(self, name: str) -> None:
        """The broker lets an order live again; we hear of it when the line lets us."""
        self.at_broker.add(name)
        self.tell(f"+{name}")
        self.step()

    @rule(name=sampled_from(NAMES))
    def say_gone_and_then_that_it_works(self, name: str) -> None:
        """A broker's first word is wrong: the order works on, and it says so."""
        if name in self.at_broker and self.up and not self.silent:
            self.hear([f"-{name}"])
            self.step()
            self.hear([f"+{name}"])
        self.step()

    @rule(name=sampled_from(NAMES), ms=integers(0, 9_000))
    def revive_after_the_last_word(self, name: str, ms: int) -> None:
        """All is gone and told so; then one works again: cancelled at once, and told anew."""
        self.the_line_comes_back()
        if not self.killed:
            return
        self.wait(ms)
        self.prove_the_logon()  # or a swallowed gap may have a reason to begin anew later
        self.took_back = self.answered_epoch = 0
        self.bust(name)
        assert self.took_back == self.epoch, "its last word was not taken back"
        self.wait(200)
        assert name not in self.at_broker
        assert self.answered_epoch == self.epoch, "no new last word"

    @rule(name=sampled_from(NAMES))
    def trade(self, name: str) -> None:
        if name in self.at_broker:
            self.at_broker.discard(name)
            self.tell(f"-{name}")
        self.step()

    @rule(name=sampled_from(NAMES))
    def refuse_cancels_of(self, name: str) -> None:
        self.refusing ^= {name}

    @rule()
    def crash(self) -> None:
        """A new child has the journal and nothing else."""
        self.up = False
        self.sweeper = Sweeper(PROFILE)
        self.answered_epoch = 0
        self.wall_us += 1_000  # a process takes longer to start than two messages to leave

    @rule(ms=integers(1, 12_000))
    def wait(self, ms: int) -> None:
        until_us = self.now_us + ms * 1000
        while self.now_us < until_us:
            self.now_us += 10 * TICK_US
            self.wall_us += 10 * TICK_US
            self.step()

    @rule(ms=integers(0, 60_000))
    def press_into_silence(self, ms: int) -> None:
        """Cancels leave for some time, and nobody hears them."""
        self.log_on()
        self.silent = True
        self.press()
        self.wait(ms)
        self.the_line_comes_back()

    @rule(name=sampled_from(NAMES), proven=booleans())
    def swallow_what_has_just_left(self, name: str, *, proven: bool) -> None:
        """Cancels are swallowed until the next one is seconds away; then the peer tells of it."""
        self.crash()
        self.swallowing = True
        self.refusing.clear()
        self.log_on()
        self.press()
        if proven:
            self.ask_for_a_resend()
        self.bust(name)
        self.wait(3_500)
        assert name in self.at_broker
        self.swallowing = False
        if proven:
            self.prove_the_logon()
        else:
            self.ask_for_a_resend()
        self.wait(200)
        assert not self.at_broker, "alive although the peer told that cancels were swallowed"

    @rule(stays=sampled_from(NAMES), name=sampled_from(NAMES))
    def bust_while_another_one_stays(self, stays: str, name: str) -> None:
        """A sweep that goes on takes in what it does not know, and what it had confirmed."""
        if stays == name:
            return
        for one in NAMES:
            self.trade(one)
        self.crash()
        self.refusing = {stays}
        self.log_on()
        self.bust(stays)
        self.press()
        self.wait(100)
        for _ in range(2):  # unknown to the sweep, then confirmed by it
            assert name not in self.journal
            self.bust(name)
            self.wait(100)
            assert self.at_broker == {stays}, "what lives again is cancelled at once"
        self.refusing.clear()

    @rule(name=sampled_from(NAMES))
    def refuse_for_a_long_time(self, name: str) -> None:
        """It is asked for after one second, two, four and every eight, and goes on being so."""
        self.crash()
        self.refusing = {name}
        self.log_on()
        self.bust(name)
        self.press()
        self.wait(500)
        self.prove_the_logon()  # where no gap was, nothing is asked for anew
        self.wait(39_500)
        times_us = self.asked[self.key(name)]
        after_s = [round((one - times_us[0]) / 1_000_000) for one in times_us]
        assert after_s == [0, 1, 3, 7, 15, 23, 31, 39]
        self.refusing.clear()

    @rule()
    def the_line_comes_back(self) -> None:
        """What the issue asks for: 2 s after the logon nothing is alive."""
        self.refusing.clear()
        self.up = False
        self.log_on()
        end_us = self.now_us + SOON_US
        while self.now_us < end_us:
            self.now_us += TICK_US
            self.wall_us += TICK_US
            self.step()
        if self.killed:
            assert self.at_broker == set(), "alive 2 s after the logon"
            assert self.answered_epoch == self.epoch, "no last word on this kill"
            assert self.mass_of == (self.epoch, self.logons), "no mass cancel in this logon"

    # -- what happens ------------------------------------------------------------------------------

    def step(self) -> None:
        done = self.sweeper.step(
            View(
                kill_epoch=self.epoch,
                killed=self.killed,
                logon_no=self.logons if self.up else 0,
                resent_us=self.resent_us,
                proven_no=self.proven_no,
                live=tuple(self.journal.values()),
                now_us=self.now_us,
                wall_us=self.wall_us,
            )
        )
        assert self.up or not done.messages, "sent while logged off"
        assert self.killed or not done.messages, "sent without a kill or a command"
        for phase, outcome in done.told:
            if phase is SweepPhase.REVIVED:
                assert self.killed
                assert not outcome.is_done
                self.took_back = self.epoch
            if phase is SweepPhase.ENDED and self.killed:
                assert not self.journal, "ended while something may be live"
                assert outcome.is_done
                self.answered_epoch = self.epoch
        for message in done.messages:
            self.check(message)
            if dict(message)[35] == "q":
                self.mass_of = (self.epoch, self.logons)
        for message in done.messages:
            if not (self.silent or self.swallowing):
                self.receive(dict(message))

    def check(self, message: Fields) -> None:
        """No id twice, and no order cancelled again before its back-off is over."""
        sent = dict(message)
        if sent[35] == "H":
            return
        assert sent[11] not in self.ids, "an id was used twice"
        self.ids.add(sent[11])
        if sent[35] == "F":
            times_us = self.asked.setdefault(self.key(sent[41]), [])
            doublings = min(len(times_us) - 1, RETRY_DOUBLINGS_MAX)
            least_us = (RETRY_US << max(0, doublings)) - RESEND_GRACE_US
            assert not times_us or self.now_us - times_us[-1] >= least_us, "no back-off"
            times_us.append(self.now_us)

    def key(self, name: str) -> tuple[str, int, int, int]:
        """An order, and how often there was a reason to begin anew with all; a new kill is one."""
        return name, self.kills, self.logons, self.renewals + self.reopened

    def receive(self, sent: dict[int, str]) -> None:
        names = set(self.at_broker) if sent[35] == "q" else {sent.get(41, "")} & self.at_broker
        for name in sorted(names - self.refusing):
            if sent[35] in {"F", "q"}:
                self.at_broker.discard(name)
                self.tell(f"-{name}")
        if sent[35] == "F" and sent[41] not in self.at_broker:
            self.tell(f"-{sent[41]}")  # unknown or too late: nothing of it is left
        elif sent[35] == "F":
            self.sweeper.heard(methodcaller("answered", sent[41]))

    def tell(self, word: str) -> None:
        if self.up and not self.silent:
            self.hear([word])
        else:
            self.unheard.append(word)

    def hear(self, words: list[str]) -> None:
        for word in words:
            name = word[1:]
            self.sweeper.heard(methodcaller("answered", name))
            if word[0] == "-":
                self.journal.pop(name, None)
            elif name not in self.journal:
                self.journal[name] = live_order(name)
                self.reopened += 1

    @invariant()
    def nothing_is_forgotten(self) -> None:
        unheard = {word[1:] for word in self.unheard}
        assert self.at_broker - set(self.journal) <= unheard


@pytest.mark.parametrize("proven", [False, True])
def test_what_a_gap_fill_swallowed_is_asked_for_again_at_once(*, proven: bool) -> None:
    Kills().swallow_what_has_just_left(NAMES[4], proven=proven)


def test_a_sweep_takes_in_what_lives_again() -> None:
    Kills().bust_while_another_one_stays(NAMES[0], NAMES[5])


def test_what_works_after_the_last_word_takes_it_back() -> None:
    kills = Kills()
    kills.press()
    kills.revive_after_the_last_word(NAMES[2], 10)
    assert kills.took_back == kills.epoch


def test_the_back_off_doubles_up_to_eight_seconds() -> None:
    Kills().refuse_for_a_long_time(NAMES[1])


TestKills = Kills.TestCase
TestKills.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)
