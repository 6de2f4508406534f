"""What each role may do: one table for the API, the pages and the command line."""

from enum import StrEnum
from typing import Final


class Role(StrEnum):
    """What a bearer key may do."""

    AGENT = "agent"
    OPERATOR = "operator"
    APPROVER = "approver"
    AUDITOR = "auditor"


MAY: Final[dict[str, frozenset[Role]]] = {
    "submit": frozenset({Role.AGENT, Role.OPERATOR}),
    "read": frozenset(Role),
    "watch": frozenset({Role.OPERATOR, Role.APPROVER, Role.AUDITOR}),
    "approve": frozenset({Role.APPROVER}),
    "kill": frozenset({Role.OPERATOR, Role.APPROVER}),
    "hold": frozenset({Role.OPERATOR, Role.APPROVER}),
    "resolve": frozenset({Role.OPERATOR}),
    "erase": frozenset({Role.OPERATOR}),
    "disclose": frozenset({Role.AUDITOR}),
    "mirror": frozenset({Role.AUDITOR}),
}
"""Action -> the roles that may; `watch` is to look at the pages, which show every decision."""
