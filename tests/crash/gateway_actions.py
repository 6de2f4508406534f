"""What persons and agents do in a round, over HTTP, while something breaks under them.

`Told` has every answer that a caller got; the judge holds them against the broker's capture.
"""

import contextlib
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import httpx
from typing_extensions import override

from fix.durable.kill_word import KillWord
from gateway.desk.bodies.booking import AdjustRequest, ResolveRequest
from gateway.desk.officers.adjustment import adjustment_statement
from gateway.desk.officers.resolution import resolution_statement
from gateway.installation.keys.keyring import SIGNING_ROLES
from gateway.launch.setup.agent_scope import ACCOUNT as BOOK
from tests.crash.gateway_desk import AGENTS, MIDDLES, SYMBOLS
from tests.crash.gateway_plan import Round
from tests.crash.gateway_process import ACCOUNT
from tests.crash.gateway_world import World
from tests.doubles.fix_world import wall_us

TARGETS_BP: Final = (200, 800, 1_200)
FULL_BP: Final = 1_200
"""Just below what the policy's sizing lets one instrument have."""
FILLED_S: Final = 0.4
"""How long a person waits for a fill before he trades back, which needs another person."""
LOAD_EVERY_S: Final = 0.35
LOAD: Final = 2
"""Agents that ask while it breaks, besides the one of the action."""
BUSY_S: Final = 0.8
"""How long an agent goes on after a kill, or repeats a request."""
_TROUBLE = (httpx.HTTPError, OSError, ValueError, KeyError, RuntimeError)


@dataclass(slots=True)
class Told:
    """What callers were told.

    Attributes:
        answers: by client key, each answer to an intent.
        fees: references of the fees that a caller knows to be booked.
        pressed: a kill's acknowledgement (wall us) as its caller saw it, 0 without one.
        troubles: requests without an answer.
        held: whether an order of the action waited for a person.
    """

    answers: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    fees: set[str] = field(default_factory=set)
    pressed: int = 0
    troubles: int = 0
    held: bool = False


class Callers:
    """An agent, an approver and an operator of one running gateway, and its officers."""

    def __init__(self, world: World, agent: str = AGENTS[0]) -> None:
        """Open their connections."""
        self.world = world
        self.agent, self.approver, self.operator = map(
            world.caller, (agent, "approver", "operator")
        )

    def close(self) -> None:
        """Hang up."""
        for one in (self.agent, self.approver, self.operator):
            one.close()

    def intent(self, told: Told, key: str, lots: int, **more: Any) -> dict[str, Any]:  # noqa: ANN401
        """Ask for an order; the size makes it another order than the one before."""
        body = {
            "client_key": key,
            "instrument": more.pop("instrument", SYMBOLS[0]),
            "target_exposure_bp": more.pop("exposure_bp", FULL_BP),
            "max_qty_lots": lots,
        }
        told.answers.setdefault(key, [])
        answer: dict[str, Any] = self.agent.post("/v1/intents", json=body | more).json()
        told.answers[key].append(answer)
        return answer

    def cancel(self, name: str, key: str) -> None:
        """Ask for a cancel of one order."""
        body = {"client_key": key, "reason": "a round"}
        self.operator.post(f"/v1/orders/{name}/cancel", json=body)

    def replace(self, name: str, key: str, lots: int) -> None:
        """Ask for another quantity of one order."""
        body = {"client_key": key, "reason": "a round", "qty_lots": lots}
        self.operator.post(f"/v1/orders/{name}/replace", json=body)

    def cancel_all(self) -> None:
        """Ask for a cancel of every order."""
        self.operator.post("/v1/stops/cancel-all", json={"reason": "a round"})

    def press(self, told: Told) -> None:
        """Press the kill, on the word itself if nobody answers, as `countersign kill` does."""
        try:
            done = self.operator.post("/v1/kill", json={"reason": "a round"})
            done.raise_for_status()
        except httpx.HTTPError:
            word = KillWord(self.world.state / "kill.word", create=False)
            word.press()
            word.close()
        told.pressed = wall_us()

    def release(self) -> bool:
        """Release a kill with both officers' signatures; return whether none is in force."""
        state = self.operator.get("/v1/kill").json()
        if not state["killed"]:
            return True
        statement = state["to_sign"].encode()
        signed = {
            role: self.world.desk.officer(role).sign(statement).hex() for role in SIGNING_ROLES
        }
        body = {"kill_epoch": state["kill_epoch"], "signatures": signed, "reason": "a round"}
        body["live"] = state["live"]  # officers name what may still work, as documented
        done = self.operator.post("/v1/kill/release", json=body)
        return done.is_success and not done.json()["killed"]

    def approve(self, decision_id: str) -> None:
        """Say yes to a held order, to exactly what is on record."""
        shown = self.approver.get(f"/v1/decisions/{decision_id}").json()["records"]
        digests = [one["body"]["intent_digest"] for one in shown if one["kind"] == "verdict_given"]
        sheet = self.approver.get(f"/v1/decisions/{decision_id}/sheet").json()["sheet_digest"]
        body = {"approve": True, "intent_digest": digests[-1], "sheet_digest": sheet, "note": "ok"}
        self.approver.post(f"/v1/decisions/{decision_id}/approval", json=body)

    def fee(self, told: Told, ref: str, amount: str) -> None:
        """Book a fee that two officers signed."""
        log = self.operator.get("/v1/adjustments").json()["log_id"]
        given = {"ref": ref, "sort": "fee", "account": f"{ACCOUNT}.{BOOK}", "amount": amount}
        request = AdjustRequest.model_validate(
            given | {"reason": "a round", "evidence": "ticket 7"}
        )
        text = adjustment_statement(str(log), request)
        signed = {role: self.world.desk.officer(role).sign(text).hex() for role in SIGNING_ROLES}
        body = request.model_copy(update={"signatures": signed}).model_dump(mode="json")
        if self.operator.post("/v1/adjustments", json=body).is_success:
            told.fees.add(ref)

    def resolve(self) -> list[dict[str, Any]]:
        """Resolve every open difference for the broker, as two officers would; return them."""
        found = self.operator.get("/v1/differences").json()
        for one in found["open"]:
            wanted = ResolveRequest(
                right="broker",
                reason="the broker's own record",
                evidence="its capture",
                price="250.00" if one.get("lots") else "",
                account=one["account"] or "",
                lots=one.get("lots") or 0,
            )
            text = resolution_statement(str(found["log_id"]), one["seq"], str(one["leaf"]), wanted)
            signed = {
                role: self.world.desk.officer(role).sign(text).hex() for role in SIGNING_ROLES
            }
            body = wanted.model_copy(update={"signatures": signed}).model_dump(mode="json")
            self.operator.post(f"/v1/differences/{one['seq']}/resolve", json=body)
        return list(found["open"])


class Action(threading.Thread):
    """One action on a thread of its own; it ends when it is done or its gateway is gone."""

    def __init__(self, plan: Round, callers: Callers, seed: str) -> None:
        super().__init__(daemon=True, name="action")
        self.told = Told()
        self._plan, self._callers = plan, callers
        self._dice = random.Random(f"{seed}/{plan.number}/action")  # noqa: S311 - a printed seed
        self._name = f"r{plan.number}"

    def prepare(self) -> None:
        """Do what must stand before the fault: orders at rest."""
        rests = {"cancel": 1, "cancel all": 3, "kill": 2, "replace": 2}.get(self._plan.action, 0)
        for number in range(rests):
            self._ask(f"rests-{number}", exposure_bp=FULL_BP)

    @override
    def run(self) -> None:
        """Act."""
        try:
            self._acts()
        except _TROUBLE:
            self.told.troubles += 1

    def _acts(self) -> None:
        doing: dict[str, Callable[[], None]] = {
            "retries": self._retries,
            "cancel": self._cancel,
            "replace": self._replace,
            "cancel all": lambda: self._each(self._callers.cancel_all, self._order),
            "kill": self._kill,
            "hold": self._hold,
            "adjustment": lambda: self._each(self._fee, self._order, self._fee_again),
        }
        doing.get(self._plan.action, self._intents)()

    def _each(self, *steps: Callable[[], object]) -> None:
        """Do the steps in turn; one without an answer does not end the next."""
        for step in steps:
            try:
                step()
            except _TROUBLE:
                self.told.troubles += 1

    def _ask(self, key: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401
        lots = self._dice.randrange(10, 60)
        side = self._dice.choice(TARGETS_BP)
        given = {"exposure_bp": side, "instrument": self._dice.choice(self._plan.symbols), **more}
        return self._callers.intent(self.told, f"{self._name}-{key}", lots, **given)

    def _order(self) -> None:
        self._ask("last")

    def _intents(self) -> None:
        self._each(*(lambda key=key: self._ask(f"i{key}") for key in range(3)))

    def _retries(self) -> None:
        until = time.monotonic() + BUSY_S
        state = self._dice.getstate()
        while time.monotonic() < until:
            self._dice.setstate(state)  # the same request each time
            with contextlib.suppress(*_TROUBLE):
                self._ask("same")
            time.sleep(0.05)

    def _names(self) -> list[str]:
        """Return the orders that left, as their caller was told."""
        return [
            str(one["cl_ord_id"])
            for all_ in self.told.answers.values()
            for one in all_
            if one.get("cl_ord_id")
        ]

    def _cancel(self) -> None:
        names = self._names()
        for name in names:
            self._each(lambda: self._callers.cancel(name, f"{self._name}-c"))  # noqa: B023
        self._each(self._order)

    def _replace(self) -> None:
        names = self._names()
        for number, name in enumerate(names):
            key, lots = f"{self._name}-r{number}", self._dice.randrange(1, 60)
            self._each(lambda: self._callers.replace(name, key, lots))  # noqa: B023
        self._each(self._order)

    def _kill(self) -> None:
        self._each(self._order, lambda: self._callers.press(self.told))
        until = time.monotonic() + BUSY_S
        number = 0
        while time.monotonic() < until:
            number += 1
            self._each(lambda: self._ask(f"after-{number}"))  # noqa: B023

    def _hold(self) -> None:
        """Buy and trade back within a minute: a match with an own trade needs a person."""
        symbol, lots = self._plan.symbols[0], self._dice.randrange(10, 60)
        same = {"instrument": symbol, "max_qty_lots": lots, "limit_price": MIDDLES[symbol]}
        self._each(lambda: self._ask("bought", exposure_bp=FULL_BP, **same))
        time.sleep(FILLED_S)
        answer = self._ask("held", exposure_bp=0, **same)
        if answer.get("result") == "held":
            self.told.held = True
            self._callers.approve(answer["decision_id"])

    def _fee(self) -> None:
        self._callers.fee(self.told, f"{self._name}-fee", "1.25")

    _fee_again = _fee


class Load(threading.Thread):
    """An agent that goes on asking, whatever breaks, until it is stopped."""

    def __init__(self, world: World, plan: Round, agent: str, seed: str) -> None:
        super().__init__(daemon=True, name=agent)
        self.told = Told()
        self._callers = Callers(world, agent)
        self._dice = random.Random(f"{seed}/{plan.number}/{agent}")  # noqa: S311 - a printed seed
        self._name = f"r{plan.number}-{agent}"
        self._over = threading.Event()

    @override
    def run(self) -> None:
        """Ask for small orders of any instrument."""
        number = 0
        while not self._over.wait(LOAD_EVERY_S):
            number += 1
            lots, symbol = self._dice.randrange(1, 10), self._dice.choice(SYMBOLS)
            try:
                self._callers.intent(self.told, f"{self._name}-{number}", lots, instrument=symbol)
            except _TROUBLE:
                self.told.troubles += 1

    def stop(self, told: Told) -> None:
        """End it, and add what it was told."""
        self._over.set()
        self.join()
        self._callers.close()
        told.answers |= self.told.answers
        told.troubles += self.told.troubles
