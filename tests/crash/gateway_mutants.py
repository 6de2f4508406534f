"""Gateways that are wrong on purpose: the campaign must catch each one, or it has no teeth."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import gateway.launch.app as start
import gateway.launch.threads.settler as settling
from fix.durable.kill_word import KillWord
from fix.wire.messages import parse
from gateway.desk import desk
from gateway.walk.settlement import settle
from tests.crash.gateway_plan import Round
from tests.doubles.fix_world import program
from tests.doubles.walk_driver import send_before_commit

REPORT_TYPE, TRADE = 35, 150


def _send_before_record() -> None:
    """The order is handed out first and announced afterwards."""
    _put(desk, "dispatch", send_before_commit)


def _resend_when_unsure() -> None:
    """The FIX engine keeps what it sent and sends it again when the broker misses it."""
    _child_program("resends_kept_and_no_guard")


def _fence_forgotten() -> None:
    """Neither the gateway nor its FIX child looks at the kill word."""
    _put(KillWord, "read", lambda word: _read(word)._replace(killed=False))
    _child_program("kill_word_ignored")


def _fill_dropped() -> None:
    """Every second trade is taken from the inbox and forgotten."""
    seen = [0]

    def some(received: Any, tools: Any) -> None:  # noqa: ANN401
        fields = dict(parse(received.raw))
        if fields.get(REPORT_TYPE) == "8" and fields.get(TRADE) == "F":
            seen[0] += 1
            if seen[0] % 2 == 0:
                return
        settle(received, tools)

    _put(settling, "settle", some)


_read = KillWord.read


def _child_program(mutation: str) -> None:
    """Let every FIX child be one that is wrong on purpose."""
    real = vars(start)["make_session"]

    def made(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401
        child = real(*arguments, **named)
        _put(child, "_config", replace(child._config, program=program(mutation)))  # noqa: SLF001
        return child

    _put(start, "make_session", made)


def _put(owner: object, name: str, value: object) -> None:
    setattr(owner, name, value)


MUTANTS: Final[dict[str, Callable[[], None]]] = {
    "send before record": _send_before_record,
    "resend when unsure": _resend_when_unsure,
    "fence forgotten": _fence_forgotten,
    "fill dropped": _fill_dropped,
}
AT: Final = "gateway at a failpoint"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bite:
    """What must be said of a mutant, and the round in which it has every chance to do wrong."""

    said: str
    action: str
    faults: tuple[str, ...]
    failpoint: str = ""
    moment_s: float = 0.3
    fault_s: float = 0.2
    outcome: str


BITING: Final = {
    "send before record": Bite(
        said="I1",
        action="intents",
        faults=(AT,),
        failpoint="dispatch.sending_committed",
        outcome="fill",
    ),
    "resend when unsure": Bite(  # the line swallows the order, and the broker finds a gap
        said="I2",
        action="intents",
        faults=("desk unheard",),
        moment_s=0.0,
        fault_s=1.0,
        outcome="fill",
    ),
    "fence forgotten": Bite(said="I3", action="kill", faults=("FIX child",), outcome="rest"),
    "fill dropped": Bite(
        said="I4", action="intents", faults=("disconnect",), moment_s=0.6, outcome="fill"
    ),
}


def apply(name: str) -> None:
    """Put a mistake in place; none for an empty name."""
    if name:
        MUTANTS[name]()


def biting(mutant: str, number: int) -> Round:
    """Return a round in which this mutant has every chance to do wrong."""
    bite = BITING[mutant]
    return Round(
        number=number,
        action=bite.action,
        faults=bite.faults,
        failpoint=f"{bite.failpoint}:kill@1" if bite.failpoint else "",
        moment_s=bite.moment_s,
        fault_s=bite.fault_s,
        flagged=False,
        gateway_too=False,
        outcomes=(bite.outcome,) * 6,
    )
