"""Whether a logon is proven: the broker answered a TestRequest sent after it. Pure.

A broker that saw a gap at the logon requests a resend up to "infinity". The engine answers with a
gap fill to its next number, which swallows what left in between: an order counts as sent but never
arrives. The FIX session protocol therefore advises a TestRequest after the logon. Its Heartbeat is
processed in sequence and so proves that no gap is left. A TestRequest can be swallowed too, so it
is repeated until one is answered.
"""

from typing import Final

PROBE_AGAIN_US: Final = 1_000_000
RESENT_US: Final = 100_000
"""How long after a ResendRequest the next probe leaves: the one before may be swallowed."""
_PREFIX: Final = "logon"


class LogonProbe:
    """The probes of one child's logons, one logon at a time."""

    def __init__(self) -> None:
        self._logon_no = 0
        self._count = 0
        self._next_us = self._sent_us = 0
        self._is_open = False

    def logged_on(self, logon_no: int) -> None:
        """Begin with a new logon; answers to earlier probes no longer count."""
        self._logon_no, self._count, self._is_open = logon_no, 0, True
        self._next_us = self._sent_us = 0

    def logged_off(self) -> None:
        """Stop probing."""
        self._is_open = False

    def due(self, now_us: int, resent_us: int = 0) -> str | None:
        """Return the TestReqID (112) to send now, or None; times are monotonic.

        `resent_us` is the time of the last ResendRequest, 0 if none.
        """
        if resent_us and self._sent_us < resent_us + RESENT_US:
            self._next_us = min(self._next_us, resent_us + RESENT_US)
        if not self._is_open or now_us < self._next_us:
            return None
        self._count, self._sent_us = self._count + 1, now_us
        self._next_us = now_us + PROBE_AGAIN_US
        return f"{_PREFIX}-{self._logon_no}-{self._count}"

    def answered(self, test_req_id: str) -> bool:
        """Return whether this Heartbeat is the first to prove the present logon."""
        if not self._is_open or not test_req_id.startswith(f"{_PREFIX}-{self._logon_no}-"):
            return False
        self._is_open = False
        return True
