"""How often a session that is down is tried: by the profile, and every second while killed. Pure.

Not here: the engine, which tries once a second whenever it may. Each try costs a MsgSeqNum, so on
quiet days the profile's pause is kept by allowing it only then. Rules:

- While a kill is in force the engine may always try: cancels are worth the numbers.
- A try that gets no answer ends after a second, then another, then three, then the profile's own
  patience, and so on: a line that is silent must not keep us waiting on a try of its silent days,
  and a broker that answers slowly must get its chance.
- A connect that hangs (nobody answers the first packet) is abandoned in the same way: the kernel
  would ask again at ever longer pauses.
"""

from typing import NamedTuple

from fix.dialects.profile import Profile

_SECOND_US = 1_000_000
_WINDOW_US = 1_100_000
_HURRIED_S = (1, 1, 3)


class Advice(NamedTuple):
    """What the engine is to be told.

    Attributes:
        may_try: it may connect.
        patience_s: a logon without an answer, or a connect, ends after so long.
    """

    may_try: bool
    patience_s: int


class Redial:
    """Counts tries; call `step` a few times a second while the session is not logged on."""

    def __init__(self, profile: Profile) -> None:
        """Allow the first try at once."""
        self._pause_us = profile.reconnect_s * _SECOND_US
        self._patience_s = profile.logon_timeout_s
        self._next_us: int | None = None
        self._tries = 0
        self._was_trying = False

    def abandoned(self) -> None:
        """Count a connect that hung as a try."""
        self._tries += 1

    def step(self, now_us: int, *, hurry: bool, trying: bool) -> Advice:
        """Return what holds now.

        Args:
            now_us: monotonic microseconds.
            hurry: a kill is in force.
            trying: a logon has been sent and not been answered.
        """
        if self._next_us is None:
            self._next_us = now_us
        if trying and not self._was_trying:
            self._tries += 1
        if self._was_trying and not trying:
            self._next_us = now_us + self._pause_us
        self._was_trying = trying
        if hurry:
            steps = (*(min(one, self._patience_s) for one in _HURRIED_S), self._patience_s)
            return Advice(may_try=True, patience_s=steps[(self._tries - trying) % len(steps)])
        if not trying and now_us >= self._next_us + _WINDOW_US:
            self._next_us = now_us + self._pause_us
        may = trying or self._pause_us <= _SECOND_US or now_us >= self._next_us
        return Advice(may_try=may, patience_s=self._patience_s)
