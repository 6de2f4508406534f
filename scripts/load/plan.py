"""Who asks for what and when: the plan of a load, before anything is sent. Pure.

The load is open: the time of each intent is set in advance, however slow the answers are.

Not here: sending (`callers`).
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

HIGH_BP, LOW_BP, STEP_BP = 3_000, 100, 20
LEG_TURNS = 12
"""Turns of an instrument that go one way; then the agent goes back."""
LOTS_MAX, STEPS = 7, 5
"""Both prime to each other: neither a size nor a target comes again soon."""


class Beside(StrEnum):
    """What goes wrong beside a load."""

    STALLED = "event streams that nobody reads"
    STORM = "a hundred times the quotes"
    KILLED = "the engine killed in the middle"


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
        beside: what goes wrong meanwhile.
    """

    name: str
    agents: int
    rate: float
    seconds: float
    cancels: bool = False
    beside: Beside | None = None

    @property
    def said(self) -> str:
        """The load in words."""
        who = "one agent" if self.agents == 1 else f"{self.agents} agents"
        beside = "" if self.beside is None else f", {self.beside}"
        return f"{self.name}: {who}, {self.rate:g}/s for {self.seconds:g} s{beside}"


def wishes(
    scenario: Scenario, callers: Sequence[str], symbols: Sequence[str], run: str
) -> list[Wish]:
    """Return a scenario's intents by time; callers and instruments take turns.

    Every caller asks for every instrument, as one who rebalances does: its position follows a
    target that moves, in orders of different sizes. It builds up for two legs, then goes back and
    forth, so that its orders neither repeat nor end. `run` makes the keys of clients differ from
    those of other runs.
    """
    chosen = callers[: scenario.agents]
    found = []
    for number in range(int(scenario.rate * scenario.seconds)):
        turn, seat = divmod(number, len(chosen))
        at, round_ = (turn + seat) % len(symbols), turn // len(symbols)
        found.append(
            Wish(
                at_s=number / scenario.rate,
                caller=chosen[seat],
                body={
                    "client_key": f"{run}-{scenario.name}-{number}",
                    "instrument": symbols[at],
                    "target_exposure_bp": target_bp(round_),
                    "max_qty_lots": 1 + (round_ * STEPS + seat) % LOTS_MAX,
                },
            )
        )
    return found


def target_bp(turn: int) -> int:
    """Return an instrument's target in a turn: high for two legs, then low and high in turns."""
    leg = turn // LEG_TURNS
    base = HIGH_BP if leg == 0 or leg % 2 else LOW_BP
    return base + turn % STEPS * STEP_BP
