"""The sequence numbers in use and every sequence reset of a session, durable before it counts.

MsgSeqNums continue for ever unless the broker or the schedule resets them. After a reset a number
names another message, so each allowed reset opens an *epoch*: (epoch, MsgSeqNum) names a message of
ours. The file ``resets`` has one fsynced JSON line for each reset; the gateway records them.

Not here: which resets are allowed (`fix.dialects.profile`).

Rules:
- A reset, allowed or refused, is in the file before the session goes on or ends.
- A logon of ours under a used number shows a reset that was not announced: the schedule's or, in
  reset mode, our own.
- If only our own logon was counted, nothing is lost, and it is no reset.
"""

import json
import os
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

from typing_extensions import override

from fix.dialects.profile import Profile, Resets, SessionMode
from fix.durable.kill_word import sync_folder

DAY_US = 86_400_000_000


class ResetCause(StrEnum):
    """Why the numbers were reset."""

    BY_BROKER = "by_broker"
    BEGUN_AGAIN = "begun_again"
    NIGHTLY = "nightly"
    AT_LOGON = "at_logon"
    AFTER_REFUSAL = "after_refusal"


_WORDS = {
    ResetCause.BY_BROKER: "the broker begins its numbers anew (141=Y in its logon)",
    ResetCause.BEGUN_AGAIN: (
        "the broker's logon has a number that was used: it has lost its numbers"
    ),
    ResetCause.NIGHTLY: "the session's schedule begins the numbers anew",
    ResetCause.AFTER_REFUSAL: "after a refusal the session goes on, theirs asked for from 1 on",
    ResetCause.AT_LOGON: "the numbers begin anew at each logon, as the profile says",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reset:
    """One sequence reset, allowed or refused.

    Attributes:
        reset_no: from 1 within a session; an allowed reset opens the epoch of this number.
        old_sender: our next number before it; `new_sender` after it.
        old_target: the broker's next number before it; `new_target` after it.
        at_us: wall clock, microseconds.
    """

    reset_no: int
    cause: ResetCause
    allowed: bool
    old_sender: int
    old_target: int
    new_sender: int
    new_target: int
    at_us: int

    @override
    def __str__(self) -> str:
        """Return the text for operators and the record."""
        after = f"now {self.new_sender} and {self.new_target}" if self.allowed else "refused"
        return (
            f"{_WORDS[self.cause]}; next were {self.old_sender} of ours and {self.old_target} of"
            f" theirs, {after}"
        )


def last_start_us(profile: Profile, now_us: int) -> int:
    """Return when a nightly session last began, in microseconds UTC; 0 without a schedule."""
    if profile.resets is not Resets.NIGHTLY:
        return 0
    hours, minutes, seconds = (int(part) for part in profile.session_start.split(":"))
    begins_us = (hours * 3600 + minutes * 60 + seconds) * 1_000_000
    return now_us - (now_us - begins_us) % DAY_US


def resets_of(folder: Path) -> tuple[Reset, ...]:
    """Return every reset in a session's folder, without a line that a crash cut off."""
    path = folder / "resets"
    if not path.exists():
        return ()
    return tuple(_reset(line) for line in path.read_bytes().split(b"\n")[:-1])


class Sequence:
    """The numbers of one session while one child runs; safe from any thread."""

    def __init__(
        self,
        folder: Path,
        profile: Profile,
        wall_us: Callable[[], int],
        *,
        stored: tuple[int, int],
        on_record: int,
    ) -> None:
        """Continue from the folder's state.

        `stored` has the store's next numbers, ours and the broker's, before the engine opened it.
        `on_record` is the number of the ledger's last reset, 0 without one.
        """
        self._path = folder / "resets"
        self._profile = profile
        self._wall_us = wall_us
        self._lock = threading.RLock()
        found = resets_of(folder)
        self._last_no = max([on_record, *(one.reset_no for one in found)])
        self._epoch = max([on_record, *(one.reset_no for one in found if one.allowed)])
        self.last_refused = None if not found or found[-1].allowed else found[-1]
        """The last reset, if it was refused; the numbers before it hold."""
        self._sent, self._received = stored[0] - 1, stored[1] - 1
        self._agreeing = False
        self.accept_once = False
        """Whether a person allowed the broker one reset."""

    @property
    def epoch(self) -> int:
        """The present epoch: number of the last allowed reset, 0 without one."""
        return self._epoch

    def sent(self, number: int) -> None:
        """Note a MsgSeqNum that we used."""
        with self._lock:
            self._sent = max(self._sent, number)

    def received(self, number: int) -> None:
        """Note a MsgSeqNum that the broker used."""
        with self._lock:
            self._received = max(self._received, number)

    def opened(self, next_sender: int) -> Reset | None:
        """Return the reset that the engine made as it opened the store, if it did."""
        with self._lock:
            return self._begin(ResetCause.NIGHTLY, 1) if next_sender <= self._sent else None

    def logging_on(self, number: int, expected: int) -> Reset | None:
        """Note a logon of ours; return the reset that its number shows, if any.

        `expected` is the broker's next number, as the engine has it.
        """
        with self._lock:
            found = None
            if self._agreeing:
                self._sent = 0  # as agreed: this logon has 141=Y itself
            if number <= self._sent:
                own = self._profile.mode is SessionMode.RESET
                found = self._begin(ResetCause.AT_LOGON if own else ResetCause.NIGHTLY, number)
            self.sent(number)
            self._received = expected - 1
            return found

    def goes_on(self) -> Reset | None:
        """Return the reset by which a session goes on after a refused one, or None if it must not.

        The profile or a person must allow it. The broker's messages are requested from 1 on: its
        numbers may fit ours by chance, and earlier messages would be lost.
        """
        with self._lock:
            if self._profile.resets is not Resets.BY_BROKER and not self.accept_once:
                return None
            self.last_refused = None
            return self._begin(ResetCause.AFTER_REFUSAL, self._sent + 1)

    def flagged(self) -> Reset | None:
        """Judge the broker's logon with 141=Y; None if nothing was counted before.

        Our next logon agrees to an allowed reset by 141=Y (`logged_on` ends that): two engines that
        answer each other's logon directly never stop.
        """
        with self._lock:
            nothing = self._sent <= 1 and self._received == 0
            found = None if nothing else self._judge(ResetCause.BY_BROKER, 1)
            self._agreeing = found is None or found.allowed
            return found

    def logged_on(self) -> bool:
        """Note that both logons were exchanged; return whether that agreed to a reset."""
        with self._lock:
            agreed, self._agreeing = self._agreeing, False
            return agreed

    def too_low(self, expected: int) -> Reset:
        """Judge the broker's logon under a used number; our numbers continue."""
        with self._lock:
            self._received = expected - 1
            return self._judge(ResetCause.BEGUN_AGAIN, self._sent + 1)

    def _judge(self, cause: ResetCause, new_sender: int) -> Reset:
        if self._profile.resets is Resets.BY_BROKER or self.accept_once:
            self.accept_once = False
            return self._begin(cause, new_sender)
        return self._keep(cause, allowed=False, new=(self._sent + 1, self._received + 1))

    def _begin(self, cause: ResetCause, new_sender: int) -> Reset:
        made = self._keep(cause, allowed=True, new=(new_sender, 1))
        self._epoch = made.reset_no
        self._sent, self._received = new_sender - 1, 0
        return made

    def _keep(self, cause: ResetCause, *, allowed: bool, new: tuple[int, int]) -> Reset:
        """Append an entry to the file and return it; durable on return.

        Raises:
            OSError: the disk refused; the numbers stay as they are.
        """
        entry = Reset(
            reset_no=self._last_no + 1,
            cause=cause,
            allowed=allowed,
            old_sender=self._sent + 1,
            old_target=self._received + 1,
            new_sender=new[0],
            new_target=new[1],
            at_us=self._wall_us(),
        )
        line = json.dumps(asdict(entry), separators=(",", ":")).encode("ascii") + b"\n"
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            whole = self._path.read_bytes()
            os.ftruncate(descriptor, whole.rfind(b"\n") + 1)  # what a crash cut off
            os.pwrite(descriptor, line, whole.rfind(b"\n") + 1)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        sync_folder(self._path.parent)
        self._last_no = entry.reset_no
        return entry


def _reset(line: bytes) -> Reset:
    row = json.loads(line)
    return Reset(**{**row, "cause": ResetCause(row["cause"])})
