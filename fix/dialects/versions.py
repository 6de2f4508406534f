"""The versions of FIX that a session may speak, and what differs by version alone.

Not here: what differs by broker (`profile`).

Source: FIX 4.2; FIX 4.4 volume 2; FIXT 1.1; FIX 5.0 SP2 volume 1, ApplVerID (1128).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Version(StrEnum):
    """A version of FIX's application messages."""

    FIX_42 = "FIX.4.2"
    FIX_44 = "FIX.4.4"
    FIX_50SP2 = "FIX.5.0SP2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Speech:
    """What a version fixes.

    Attributes:
        begin_string: BeginString (8).
        transport: our dictionary of session messages, where it is apart; else empty.
        application: our dictionary of application messages.
        market: our dictionary of a market data session.
        lacks: types of the messages that we could send and this version does not have.
    """

    begin_string: str
    application: str
    market: str
    transport: str = ""
    lacks: frozenset[str] = frozenset()


SPEECH: Final[Mapping[Version, Speech]] = {
    Version.FIX_42: Speech(
        begin_string="FIX.4.2",
        application="FIX42.xml",
        market="FIX42-market.xml",
        lacks=frozenset({"q", "AF"}),
    ),
    Version.FIX_44: Speech(
        begin_string="FIX.4.4", application="FIX44.xml", market="FIX44-market.xml"
    ),
    Version.FIX_50SP2: Speech(
        begin_string="FIXT.1.1",
        transport="FIXT11.xml",
        application="FIX50SP2.xml",
        market="FIX50SP2-market.xml",
    ),
}
