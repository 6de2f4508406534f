"""Gateways that are wrong on purpose: the campaign must catch each one, or it has no teeth."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Any, Final

import gateway.launch.app as start
import gateway.launch.threads.settler as settling
from fix.durable.kill_word import KillWord
from fix.wire.messages import parse
from gateway.desk import desk
from gateway.launch import parts
from gateway.walk import decision
from gateway.walk.journal.decision import forecast_taken
from gateway.walk.ports import Case, Tick, Tools
from gateway.walk.projections.forecasts import ForecastsOnRecord, StandingForecast
from gateway.walk.section import Section
from gateway.walk.settlement import settle
from risk.state.state import RiskState
from tests.crash.gateway_desk import FIRST_BEFORE_US, HOUR_US
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


def _other_inputs() -> None:
    """A decision names the forecast of another instrument."""

    def named(known: ForecastsOnRecord, symbol: str) -> str:
        others = (known.stands(one) for one in known.newest() if one != symbol)
        return next(filter(None, others), known.stands(symbol))

    _put(decision, "_taken", partial(_taken_of, named))


def _passed_over() -> None:
    """A decision names the forecast that stood before the one that stands."""

    def named(known: ForecastsOnRecord, symbol: str) -> str:
        lines = vars(known)["_stands"].get(symbol, []) if known.stands(symbol) else []
        return str(lines[-2][1]) if len(lines) > 1 else known.stands(symbol)

    _put(decision, "_taken", partial(_taken_of, named))


def _taken_of(
    named: Callable[[ForecastsOnRecord, str], str],
    case: Case,
    tools: Tools,
    section: Section,
    found: StandingForecast,
) -> tuple[Case, StandingForecast]:
    known = section.forecasts
    found = known.standing(named(known, case.instrument.symbol)) or found
    draft = forecast_taken(case, found.named, section.policy_named)
    (taken,) = tools.ledger.append(draft)
    return replace(case, taken_seq=taken.seq, snapshot=found.snapshot), found


def _expired() -> None:
    """Rules see every forecast as one of now."""
    real = vars(Section)["_state_now"]

    def young(*asked: Any, **how: Any) -> RiskState:  # noqa: ANN401 - as the real one
        state: RiskState = real(*asked, **how)
        old = state.forecast
        now = old if old is None else replace(old, as_of_us=state.now_us)
        return replace(state, forecast=now)

    _put(Section, "_state_now", young)


def _other_twin() -> None:
    """Twins are judged by the forecast of another instrument."""
    real = vars(decision)["_twins_judged"]

    def judged(case: Case, section: Section, found: StandingForecast, tick: Tick) -> Any:  # noqa: ANN401
        known = section.forecasts
        others = (known.stands(one) for one in known.newest() if one != case.instrument.symbol)
        other = known.standing(next(filter(None, others), "")) or found
        return real(case, section, other, tick)

    _put(decision, "_twins_judged", judged)


def _chosen_seed() -> None:
    """The root of a forecast's seeds is chosen."""
    real = parts.seed_root
    root = sha256(b"chosen").digest()
    _put(parts, "seed_root", lambda ledger, opened: (root, real(ledger, opened)[1]))


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
    "forecast of other inputs": _other_inputs,
    "forecast expired": _expired,
    "another's twin": _other_twin,
    "seed chosen": _chosen_seed,
    "newer forecast passed over": _passed_over,
}
AT: Final = "gateway at a failpoint"
EXPIRED_US: Final = 44 * HOUR_US


@dataclass(frozen=True, slots=True, kw_only=True)
class Bite:
    """What must be said of a mutant, and the round in which it has every chance to do wrong.

    Attributes:
        said: how a fault of the judge begins.
        verified: what the verifier's lines must have in them, where the judge sees nothing.
        bars_us: how long before the start the feed's newest bars closed.
    """

    said: str
    action: str
    faults: tuple[str, ...]
    failpoint: str = ""
    moment_s: float = 0.3
    fault_s: float = 0.2
    outcome: str = "fill"
    verified: str = ""
    bars_us: int = FIRST_BEFORE_US


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
    "forecast of other inputs": Bite(said="F1", action="intents", faults=("engine",)),
    "forecast expired": Bite(
        said="F2", action="intents", faults=("FIX child",), moment_s=0.6, bars_us=EXPIRED_US
    ),
    "another's twin": Bite(
        said="ledger: TAMPERED", action="intents", faults=("FIX child",), verified="joint"
    ),
    "seed chosen": Bite(
        said="ledger: TAMPERED", action="intents", faults=("engine",), verified="its seed"
    ),
    "newer forecast passed over": Bite(
        said="F1", action="intents", faults=("FIX child",), moment_s=0.6
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
        outcomes=(bite.outcome,) * 12,
    )
