"""What one round of the gateway campaign throws.

It is drawn from a seed and a number alone, so any round can be played again, alone or after those
before it.
"""

import random
from dataclasses import dataclass
from typing import Final

from gateway.walk.failpoints import NAMES
from tests.crash.gateway_desk import AGENTS, SYMBOLS

IN_THE_WALK: Final = tuple(name for name in NAMES if not name.startswith(("policy.", "basket.")))
FAULTS: Final = {
    "gateway at a failpoint": "SIGKILL of the gateway where a step of the walk ends",
    "gateway": "SIGKILL of the gateway at a random time",
    "FIX child": "SIGKILL of the FIX child",
    "engine": "SIGKILL of the engine child",
    "database": "SIGKILL of the database server",
    "disconnect": "the line is cut, connects are refused",
    "blackhole": "the line swallows both directions",
    "broker unheard": "the line swallows the broker's bytes; ours arrive",
    "desk unheard": "the line swallows our bytes; the broker's arrive",
    "stalled": "the line holds all bytes and hands them on later",
    "broker at 1": "the broker cuts the line and begins both numbers at 1, with or without 141=Y",
}
LINE_WAYS: Final = {
    "disconnect": "reset",
    "blackhole": "drop",
    "broker unheard": "mute",
    "desk unheard": "gag",
    "stalled": "hold",
}
"""What the line does in each of its faults (`kill_line`)."""
KILLS: Final = ("gateway at a failpoint", "gateway", "engine", "FIX child", "database")
"""Faults that are a SIGKILL, in the turn that a run of kills takes them."""
ENDS_GATEWAY: Final = frozenset({"gateway at a failpoint", "gateway", "database"})
ACTIONS: Final = {
    "intents": "three intents, one after the other",
    "retries": "one intent, sent again and again under its key",
    "cancel": "an order at rest is cancelled",
    "replace": "orders at rest get another quantity",
    "cancel all": "every live order is cancelled",
    "kill": "the kill is pressed while orders rest and an agent goes on",
    "hold": "an order back within a minute, which needs a person, and the person's yes",
    "adjustment": "a fee, signed by two officers, and an intent",
    "bust": "a fill that the broker takes back or corrects",
    "odd endings": "orders that the broker ignores, rejects, expires, stops or repeats",
}
OUTCOMES: Final = {
    "intents": ("fill", "partial", "reject", "rest", "silence", "pending"),
    "retries": ("fill", "partial", "rest"),
    "cancel": ("rest",),
    "replace": ("rest", "rest", "partial"),
    "cancel all": ("rest",),
    "kill": ("rest", "rest", "partial", "bust"),
    "hold": ("fill", "fill", "partial"),
    "adjustment": ("fill", "partial"),
    "bust": ("bust", "correct"),
    "odd endings": ("ignore", "expire", "stop", "repeat", "done_for_day", "session_reject"),
}
"""What the broker does with the orders of each action."""
TWO_AT_ONCE: Final = 0.2
MOMENT_MAX_S: Final = 0.6
FAULT_MAX_S: Final = 1.5
ORDERS: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What is thrown.

    Attributes:
        faults: one, or two at once.
        failpoint: where the gateway is killed, as `failpoints.arm` reads it.
        moment_s: when after the action's beginning the fault comes; a failpoint is armed before.
        fault_s: how long the line stays bad, or the database away.
        flagged: whether the broker that begins at 1 says so (141=Y).
        gateway_too: whether the gateway is killed while its database is away.
        outcomes: what the broker does with the next orders.
        symbols: what the action trades; for the first a new bar comes as it begins, so that a
            forecast is made meanwhile.
        agents: who acts, and who asks besides.
    """

    number: int
    action: str
    faults: tuple[str, ...]
    failpoint: str
    moment_s: float
    fault_s: float
    flagged: bool
    gateway_too: bool
    outcomes: tuple[str, ...]
    symbols: tuple[str, ...] = SYMBOLS[:2]
    agents: tuple[str, ...] = AGENTS[:3]

    @property
    def said(self) -> str:
        """The round in one line."""
        where = f" ({self.failpoint})" if "gateway at a failpoint" in self.faults else ""
        return f"{self.action} / {' + '.join(self.faults)}{where} at {self.moment_s:.2f} s"


def drawn(seed: str, number: int, *, kills: bool = False) -> Round:
    """Return a round; every fault comes in turn, with `kills` every SIGKILL."""
    dice = random.Random(f"{seed}/{number}")  # noqa: S311 - a printed seed
    names = list(KILLS if kills else FAULTS)
    first = names[number % len(names)]
    second = dice.choice([name for name in names if not _clash(name, first)])
    action, point = dice.choice(list(ACTIONS)), dice.choice(IN_THE_WALK)
    if first == "gateway at a failpoint" and point.startswith("replace."):
        action = "replace"  # nobody else gets there
    failpoint = f"{point}:kill@{dice.choice((1, 1, 1, 2))}"
    return Round(
        number=number,
        action=action,
        faults=(first, second) if dice.random() < TWO_AT_ONCE else (first,),
        failpoint=failpoint,
        moment_s=dice.uniform(0.0, MOMENT_MAX_S),
        fault_s=dice.uniform(0.05, FAULT_MAX_S),
        flagged=dice.random() < 0.5,
        gateway_too=dice.random() < 0.5,
        outcomes=tuple(dice.choice(OUTCOMES[action]) for _ in range(ORDERS)),
        symbols=tuple(dice.sample(SYMBOLS, 2)),
        agents=tuple(dice.sample(AGENTS, 3)),
    )


def _clash(one: str, other: str) -> bool:
    """Return whether two faults cannot happen at once: the line has one way of being bad."""
    gateways = {"gateway at a failpoint", "gateway"}
    lines = {*LINE_WAYS}
    return one == other or {one, other} <= gateways or {one, other} <= lines
