"""Where the session's callbacks report, and what was sent. Not here: quickfix."""

from collections.abc import Callable
from dataclasses import dataclass

from fix.durable.inbox import Entry
from fix.durable.resets import Reset


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """Event handlers; each must be quick, thread-safe and never wait.

    Attributes:
        received: an application message or reject is in the inbox.
        logged_on: both logons were exchanged; the logon's number, from 1.
        logged_off: the session ended; the broker's reason, if it gave one.
        fault: a callback raised; where and what.
        reset: the numbers were reset, or a reset was refused and the session ended.
        heartbeat: the broker answered a TestRequest; its TestReqID (112).
    """

    received: Callable[[Entry], None]
    logged_on: Callable[[int], None]
    logged_off: Callable[[str], None]
    fault: Callable[[str, str], None]
    reset: Callable[[Reset], None]
    heartbeat: Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A message that ``toApp`` let pass, with its epoch, MsgSeqNum and text."""

    msg_seq_num: int
    raw: str
    epoch: int


def wire_view(text: str) -> str:
    """Return quickfix's text, which it decoded as UTF-8, as one character per wire byte."""
    return text.encode("utf-8", "surrogateescape").decode("latin-1")
