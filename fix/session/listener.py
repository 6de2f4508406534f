"""What a session tells of: where its callbacks go, and what was sent. No quickfix."""

from collections.abc import Callable
from dataclasses import dataclass

from fix.durable.inbox import Entry
from fix.durable.resets import Reset


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """Where callbacks go; each is quick, thread-safe and never waits for anybody.

    Attributes:
        received: an application message or reject stands in the inbox.
        logged_on: both logons were exchanged; the number of this logon, from 1.
        logged_off: the session ended, with the peer's reason where it gave one.
        fault: a callback raised; where and what.
        reset: the numbers began anew, or the session ended because they must not.
        heartbeat: the peer answered a TestRequest; its TestReqID (112).
    """

    received: Callable[[Entry], None]
    logged_on: Callable[[int], None]
    logged_off: Callable[[str], None]
    fault: Callable[[str, str], None]
    reset: Callable[[Reset], None]
    heartbeat: Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A message that ``toApp`` let pass: its epoch and sequence number, its text as written."""

    msg_seq_num: int
    raw: str
    epoch: int


def wire_view(text: str) -> str:
    """Return quickfix's text, which it decoded as UTF-8, as one character per wire byte."""
    return text.encode("utf-8", "surrogateescape").decode("latin-1")
