"""Two officers who sign whatever adjustment they are given."""

from typing import Any

from gateway.desk.bodies.booking import AdjustRequest
from gateway.desk.officers.adjustment import adjust, adjustment_statement, adjustments
from gateway.installation.keys.keyring import SIGNING_ROLES
from tests.doubles.memory_desk import AGENT_ACCOUNT, MemoryDesk


def adjustment(**changes: Any) -> AdjustRequest:  # noqa: ANN401 - any field
    """Return a request for the agents' account."""
    given = {"ref": "one", "account": AGENT_ACCOUNT, "reason": "notice", "evidence": "ticket 7"}
    return AdjustRequest.model_validate(given | changes)


def signed_adjustment(desk: MemoryDesk, **changes: Any) -> AdjustRequest:  # noqa: ANN401 - any field
    """Return it with the signatures of both officers."""
    own, request = desk.small.desk.own, adjustment(**changes)
    text = adjustment_statement(str(adjustments(own)["log_id"]), request)
    signatures = {role: own.keyring.signing_key(role).sign(text).hex() for role in SIGNING_ROLES}
    return request.model_copy(update={"signatures": signatures})


def adjusted(desk: MemoryDesk, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - any field
    """Adjust a book as an operator with both officers' signatures."""
    return adjust(desk.small.desk.own, "otto", signed_adjustment(desk, **changes))
