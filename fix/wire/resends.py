"""Whether a resent execution report is older than what was heard about its order. Pure.

A broker resends messages unchanged, with 43=Y and OrigSendingTime (122). A resent answer to a
status request then gives an old total.

Not here: what a message says (`reports`).

Rules:
- Only a message with 43=Y can be old.
- A resent message without OrigSendingTime never counts as old.

Source: FIX 4.4 volume 2, PossDupFlag (43) and OrigSendingTime (122).
"""

import re
from dataclasses import dataclass

from fix.wire.fields import fields_in

_TIME = re.compile(r"([0-9]{8}-[0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,12}))?")
_NUMBER = re.compile(r"[0-9]{1,18}")

Said = tuple[str, int]
"""Time of the first sending, to picoseconds, and MsgSeqNum (34); compared in this order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """Which order an execution report is about, and when it was first sent.

    Attributes:
        name: the order's ClOrdID as the broker wrote it.
        resent: whether it has 43=Y.
        said: its first sending, None if unknown.
    """

    name: str
    resent: bool
    said: Said | None


def word_of(raw: str) -> Word | None:
    """Return the word in a message's bytes; None if it is not an execution report."""
    found = dict(reversed(fields_in(raw)))  # the first of each tag counts
    if found.get(35) != "8":
        return None
    resent = found.get(43) == "Y"
    time = _TIME.fullmatch(found.get(122 if resent else 52, ""))
    said: Said | None = None
    if time is not None and _NUMBER.fullmatch(found.get(34, "")):
        said = f"{time[1]}.{(time[2] or '').ljust(12, '0')}", int(found[34])
    return Word(name=found.get(41) or found.get(11, ""), resent=resent, said=said)


class Heard:
    """Keeps the newest word about each order."""

    def __init__(self) -> None:
        self._newest: dict[str, Said] = {}

    def take(self, word: Word | None) -> None:
        """Note a word."""
        if word is not None and word.said is not None:
            self._newest[word.name] = max(word.said, self._newest.get(word.name, word.said))

    def is_old(self, word: Word | None) -> bool:
        """Return whether a word is resent, and it or a later one about its order was heard."""
        if word is None or not word.resent or word.said is None:
            return False
        newest = self._newest.get(word.name)
        return newest is not None and word.said <= newest
