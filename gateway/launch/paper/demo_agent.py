"""The demo agent: posts bad intents over HTTP, with an agent's bearer key and nothing else.

Its decisions are counted apart from the strategy's.
"""

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Final

import httpx

NAME: Final = "demo-agent"
TIMEOUT_S: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoAttempt:
    """One bad request: the bytes to send, and the outcome that the gate must give."""

    name: str
    body: bytes
    expected: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentReport:
    """The counts of outcomes; `refused` is HTTP 4xx, `let_through` any unexpected one, a fault."""

    attempts: int
    refused: int
    rejected: int
    held: int
    let_through: int
    outcomes: dict[str, str]

    def document(self) -> dict[str, object]:
        """Return the report for the run's summary."""
        return {"actor": NAME, **asdict(self)}


def bad_attempts(tag: str) -> tuple[DemoAttempt, ...]:
    """Return the agent's requests; `tag` separates the client keys of different runs."""

    def intent(name: str, fields: str) -> bytes:
        return f'{{"client_key": "demo-{tag}-{name}", {fields}}}'.encode()

    fair = '"instrument": "SPXN", "directional": false, "reason": "demo"'
    rejected = {
        "exposure_300_percent": intent("over", f'{fair}, "target_exposure_bp": 30000'),
        "short_200_percent": intent("short", f'{fair}, "target_exposure_bp": -20000'),
        "exposure_1000_percent": intent("most", f'{fair}, "target_exposure_bp": 100000'),
        "price_far_from_market": intent(
            "far", f'{fair}, "target_exposure_bp": 1000, "limit_price": "999.00"'
        ),
    }
    refused = {
        "unknown_instrument": intent("name", '"instrument": "NOPE", "target_exposure_bp": 1000'),
        "huge_quantity": intent(
            "huge", f'{fair}, "target_exposure_bp": 1000, "max_qty_lots": {10**18}'
        ),
        "not_json": b"{not json",
        "not_a_number": intent("nan", f'{fair}, "target_exposure_bp": NaN'),
        "negative_price": intent(
            "negative", f'{fair}, "target_exposure_bp": 10, "limit_price": "-1.00"'
        ),
        "unknown_field": intent(
            "bypass", f'{fair}, "target_exposure_bp": 10, "bypass_rules": true'
        ),
        "text_for_number": intent("text", f'{fair}, "target_exposure_bp": "1000"'),
    }
    return tuple(
        DemoAttempt(name=name, body=body, expected=expected)
        for expected, bodies in (("rejected", rejected), ("refused", refused))
        for name, body in bodies.items()
    )


def run_demo_agent(
    base_url: str, key: str, tag: str, *, transport: httpx.BaseTransport | None = None
) -> AgentReport:
    """Post every attempt, and one without a key; return the outcomes.

    An unreadable answer counts as let through. `transport` replaces the network in tests.
    """
    outcomes: dict[str, str] = {}
    headers = {"Content-Type": "application/json", "User-Agent": NAME}
    with httpx.Client(
        base_url=base_url, timeout=TIMEOUT_S, transport=transport, trust_env=False
    ) as client:
        for attempt in bad_attempts(tag):
            keyed = {**headers, "Authorization": f"Bearer {key}"}
            outcomes[attempt.name] = _post(client, attempt.body, keyed)
        nameless = bad_attempts(f"{tag}-nokey")[0].body
        outcomes["no_key"] = _post(client, nameless, headers)
    counts = Counter(outcomes.values())
    shut = counts["refused"] + counts["rejected"] + counts["held"]
    return AgentReport(
        attempts=len(outcomes),
        refused=counts["refused"],
        rejected=counts["rejected"],
        held=counts["held"],
        let_through=len(outcomes) - shut,
        outcomes=outcomes,
    )


def _post(client: httpx.Client, body: bytes, headers: dict[str, str]) -> str:
    try:
        response = client.post("/v1/intents", content=body, headers=headers)
        if 400 <= response.status_code < 500:  # noqa: PLR2004 - HTTP's client errors
            return "refused"
        result = response.json()["result"] if response.is_success else None
    except (httpx.HTTPError, ValueError, KeyError, TypeError):
        return "no_answer"
    return result if isinstance(result, str) else f"status_{response.status_code}"
