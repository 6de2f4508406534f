"""Bodies about a basket: what an agent asks for as a whole, and what became of it."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from gateway.desk.bodies.model import RequestModel
from gateway.desk.bodies.requests import IntentRequest, IntentResponse

LEGS_MAX = 8


def _apart(legs: list[IntentRequest]) -> list[IntentRequest]:
    if len({one.client_key for one in legs}) != len(legs):
        raise ValueError("each leg has a client_key of its own")
    if len({one.instrument for one in legs}) != len(legs):
        raise ValueError("each instrument stands in one leg only")
    return legs


class BasketRequest(RequestModel):
    """Intents that are judged as a whole: either every order may leave, or none does."""

    client_key: Annotated[
        str,
        Field(
            pattern=r"^[A-Za-z0-9._-]{1,64}$",
            description="idempotency key: the same key again returns the same basket",
        ),
    ]
    legs: Annotated[
        list[IntentRequest],
        Field(min_length=2, max_length=LEGS_MAX, description="in the order of their verdicts"),
        AfterValidator(_apart),
    ]


class BasketLeg(RequestModel):
    """One leg of a basket; `answer` is that of its intent, none if it was never judged."""

    decision_id: str
    result: Annotated[
        str, Field(description="as of an intent; abandoned: no verdict was given on it")
    ]
    answer: IntentResponse | None


class BasketResponse(RequestModel):
    """What became of a basket and of each of its legs."""

    basket_id: str
    result: Annotated[
        Literal["approved", "stopped", "no_trade", "partly_sent", "unknown"],
        Field(
            description="approved: every order left for the broker; stopped: none did and none"
            " will; no_trade: every target is held already; partly_sent: at least one order left,"
            " then a stop, a kill, the session or a restart kept back another and every order"
            " after it; unknown: nobody can say yet of an order whether it left"
        ),
    ]
    reason: Annotated[str | None, Field(description="which leg stopped it, and how")] = None
    legs: tuple[BasketLeg, ...]
    digest: Annotated[str, Field(description="SHA-256 of the legs' requests as recorded, hex")]
    permalink: str
    record_seq: Annotated[int, Field(description="record basket_decided")]
    record_leaf: str
