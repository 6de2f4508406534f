"""Who asks for what and when: the plan of a load, before anything is sent. Pure.

The load is open: the time of each intent is set in advance, however slow the answers are.

Not here: sending (`callers`).
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

EXPOSURES_BP = (2_000, 1_000, 3_000, 500)
LOTS_MAX = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """One intent: when it is sent, in seconds from the load's start, by whom, and its body."""

    at_s: float
    caller: str
    body: dict[str, Any]

    @property
    def bytes(self) -> bytes:
        """The body as sent."""
        return json.dumps(self.body).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A load: `rate` intents a second in all, by so many agents in turn, for `seconds`.

    Attributes:
        cancels: whether an operator cancels a resting order every second meanwhile.
    """

    name: str
    agents: int
    rate: float
    seconds: float
    cancels: bool = False

    @property
    def said(self) -> str:
        """The load in words."""
        who = "one agent" if self.agents == 1 else f"{self.agents} agents"
        return f"{self.name}: {who}, {self.rate:g}/s for {self.seconds:g} s"


def wishes(
    scenario: Scenario, callers: Sequence[str], symbols: Sequence[str], run: str
) -> list[Wish]:
    """Return a scenario's intents by time; callers and instruments take turns.

    Every caller asks for every instrument, and a target follows another one of the same
    instrument. `run` makes the keys of clients differ from those of other runs.
    """
    chosen = callers[: scenario.agents]
    found = []
    for number in range(int(scenario.rate * scenario.seconds)):
        turn, seat = divmod(number, len(chosen))
        at = (turn + seat) % len(symbols)
        found.append(
            Wish(
                at_s=number / scenario.rate,
                caller=chosen[seat],
                body={
                    "client_key": f"{run}-{scenario.name}-{number}",
                    "instrument": symbols[at],
                    "target_exposure_bp": EXPOSURES_BP[turn // len(symbols) % len(EXPOSURES_BP)],
                    "max_qty_lots": LOTS_MAX,
                },
            )
        )
    return found
