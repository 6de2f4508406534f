"""An instrument's name and an order's side, as requests, policies and intents write them."""

from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field

SYMBOL: Final = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
"""The one form of an instrument's name: in the table, the policy, requests, scopes and records."""
Symbol = Annotated[str, Field(pattern=f"^{SYMBOL}$", description="instrument symbol")]


class Side(StrEnum):
    """Side of an order."""

    BUY = "BUY"
    SELL = "SELL"

    @property
    def sign(self) -> int:
        """1 for a buy, -1 for a sell."""
        return 1 if self is Side.BUY else -1
