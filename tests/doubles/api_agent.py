"""A caller of the gate over real HTTP, and what a test wants to know about its decisions."""

import itertools
from types import TracebackType
from typing import Any, Self

import httpx

from audit.records.kinds import Kind
from fix.wire.messages import parse
from gateway.installation.children.simulator import wait_for
from gateway.launch.app import App
from gateway.walk.journal.standing import Stage, Standing
from tests.doubles import live_desk

CL_ORD_ID = 11
HELD_BP = 2_700
"""270,000 USD: above the 250,000 that need a person, below the 400,000 that nobody may."""
SEAL_S = 60.0
"""A busy machine takes its time; what does not come then never comes."""
_sizes = itertools.count()


class Agent:
    """A caller with a key; each intent gets a client key of its own unless one is given."""

    def __init__(self, app: App, name: str = "agent") -> None:
        """Hold the name's key."""
        self.app = app
        token = app.plan.keyring.token(name)
        self.http = httpx.Client(
            base_url=app.server.address,
            headers={"Authorization": f"Bearer {token}"},
            trust_env=False,
            timeout=30.0,
        )

    def intent(self, key: str, exposure_bp: int, **more: object) -> httpx.Response:
        """Post an intent."""
        body = {"client_key": key, "instrument": "SPXN", "target_exposure_bp": exposure_bp, **more}
        return self.http.post("/v1/intents", json=body)

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Hang up."""
        self.http.close()


def standing_of(app: App, decision_id: str) -> Standing:
    """Return a decision's standing."""
    found = app.orders.get(decision_id)
    assert found is not None
    return found


def ended(app: App, decision_id: str) -> Standing:
    """Wait until a decision is sealed."""
    wait_for(lambda: standing_of(app, decision_id).stage is Stage.SEALED, SEAL_S, part="seal")
    return standing_of(app, decision_id)


def outcome(app: App, decision_id: str) -> str:
    """Return the outcome on the sealing record."""
    sealed = list(
        app.reader.records(stream=f"decision/{decision_id}", kinds=(Kind.DECISION_SEALED,))
    )
    assert len(sealed) == 1
    return str(sealed[0].body["outcome"])


def orders_at_broker(app: App) -> list[str]:
    """Return the ClOrdID of every new order that the broker received."""
    return [
        dict(parse(raw))[CL_ORD_ID] for raw in live_desk.received(live_desk.capture_of(app), "D")
    ]


def digest_of(app: App, decision_id: str) -> str:
    """Return the held intent's digest, as a person reads it."""
    verdict = standing_of(app, decision_id).verdict
    assert verdict is not None
    return str(verdict.body["intent_digest"])


def agreement(approver: Agent, app: App, decision_id: str) -> dict[str, str | bool]:
    """Open a held decision's sheet as its approver does; return the body of his yes."""
    shown = approver.http.get(f"/v1/decisions/{decision_id}/sheet").json()
    digests = {"intent_digest": digest_of(app, decision_id), "sheet_digest": shown["sheet_digest"]}
    return {"approve": True, "note": "read it", **digests}


def hold(agent: Agent, key: str, instrument: str = "NDXN") -> str:
    """Leave an intent waiting for a person and return its decision id."""
    # another size each time: the same order twice within a second is refused as a double click
    answer = agent.intent(key, HELD_BP + 13 * next(_sizes), instrument=instrument).json()
    assert (answer["result"], answer["verdict"]) == ("held", "HOLD"), answer
    return str(answer["decision_id"])


def reserved(app: App, decision_id: str) -> bool:
    """Whether the agents' book still reserves for a decision."""
    book = app.desk.own.section.book(f"{app.plan.tags.account}.agent")
    return book.reservation(decision_id) is not None


LATER = {"as_of_seq", "signed", "order_state"}
"""Fields of an answer that say when it was read and how its order stands then."""


def decided(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer without what another reading of the same decision may change."""
    return {name: one for name, one in answer.items() if name not in LATER}
