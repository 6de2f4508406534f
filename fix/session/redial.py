"""How often a session that is down tries to log on. Pure.

The engine tries once a second while it may, and each try costs a MsgSeqNum. So it may try at the
profile's interval only: it may until it has tried, since on a busy machine its second is longer.

Not here: the engine.

Rules:
- While a kill is in force the engine may always try: cancels are worth the numbers.
- Then a try without an answer ends after 1, 1, 3 s and the profile's timeout, in turn: a dead
  connection must not hold up the next try, and a slow broker must get its chance.
- A connect that hangs is abandoned after the same times: the kernel repeats the first packet at
  growing intervals.
"""

from typing import NamedTuple

from fix.dialects.profile import Profile

_SECOND_US = 1_000_000
_WINDOW_US = 5 * _SECOND_US
"""How long the engine may try without being seen to: a connect that hangs uses no number."""
_HURRIED_S = (1, 1, 3)


class Advice(NamedTuple):
    """Whether the engine may connect, and the timeout of a connect or an unanswered logon."""

    may_try: bool
    patience_s: int


class Redial:
    """Counts tries; call `step` a few times a second while logged off."""

    def __init__(self, profile: Profile) -> None:
        self._pause_us = profile.reconnect_s * _SECOND_US
        self._patience_s = profile.logon_timeout_s
        self._next_us: int | None = None
        self._tries = 0
        self._was_trying = False
        self._number: int | None = None

    def abandoned(self) -> None:
        """Count a connect that hung as a try."""
        self._tries += 1

    def step(self, now_us: int, *, hurry: bool, trying: bool, number: int) -> Advice:
        """Return what the engine may do now (monotonic).

        `hurry`: a kill is in force; `trying`: a logon was sent and is unanswered; `number`: our
        next MsgSeqNum, which tells of a try that began and ended between two calls.
        """
        if self._next_us is None:
            self._next_us = now_us
        used, self._number = self._number not in (None, number), number
        if (trying or used) and not self._was_trying:
            self._tries += 1
        if (self._was_trying or used) and not trying:
            self._next_us = now_us + self._pause_us
        self._was_trying = trying
        if hurry:
            steps = (*(min(one, self._patience_s) for one in _HURRIED_S), self._patience_s)
            return Advice(may_try=True, patience_s=steps[(self._tries - trying) % len(steps)])
        if not trying and now_us >= self._next_us + _WINDOW_US:
            self._next_us = now_us + self._pause_us
        may = trying or self._pause_us <= _SECOND_US or now_us >= self._next_us
        return Advice(may_try=may, patience_s=self._patience_s)
