"""When a message was said first and about which order: one that is sent again may be old.

Pure. A broker that is asked for its messages again sends them as they were, marked 43=Y and with
the time at which they were sent first (122); an answer to a status request then tells an old total
as if it were the order's total now. Not here: what a message says (`reports`). Rules:

- Only what is marked as sent again can be old; what is said now is the newest word, whatever it is.
- A message that is sent again and does not say when it was sent first is never taken for old.

Source: FIX 4.4 volume 2, PossDupFlag (43) and OrigSendingTime (122).
"""

import re
from dataclasses import dataclass

_TAGS = re.compile(r"(?:\A|\x01)(11|34|35|41|43|52|122)=([^\x01]*)")
_TIME = re.compile(r"([0-9]{8}-[0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,12}))?")
_NUMBER = re.compile(r"[0-9]{1,18}")

Said = tuple[str, int]
"""The time of the first sending, to picoseconds, and the MsgSeqNum (34); compared in this order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """Which order an execution report is about, and when it was said.

    Attributes:
        name: the order's ClOrdID as the broker wrote it.
        resent: whether it is marked as sent again (43=Y).
        said: when it was sent first, None if that cannot be told.
    """

    name: str
    resent: bool
    said: Said | None


def word_of(raw: str) -> Word | None:
    """Return what a message's own bytes say of this; None if it is no execution report."""
    found: dict[str, str] = {}
    for tag, text in _TAGS.findall(raw):
        found.setdefault(tag, text)
    if found.get("35") != "8":
        return None
    resent = found.get("43") == "Y"
    time = _TIME.fullmatch(found.get("122" if resent else "52", ""))
    said: Said | None = None
    if time is not None and _NUMBER.fullmatch(found.get("34", "")):
        said = f"{time[1]}.{(time[2] or '').ljust(12, '0')}", int(found["34"])
    return Word(name=found.get("41") or found.get("11", ""), resent=resent, said=said)


class Heard:
    """The newest word about each order."""

    def __init__(self) -> None:
        """Start with nothing heard."""
        self._newest: dict[str, Said] = {}

    def take(self, word: Word | None) -> None:
        """Note a word."""
        if word is not None and word.said is not None:
            self._newest[word.name] = max(word.said, self._newest.get(word.name, word.said))

    def is_old(self, word: Word | None) -> bool:
        """Whether a word is sent again, and it or a later one about its order was heard before."""
        if word is None or not word.resent or word.said is None:
            return False
        newest = self._newest.get(word.name)
        return newest is not None and word.said <= newest
