"""What each role may do, for the API, the pages and the command line."""

from enum import StrEnum
from typing import Final


class Role(StrEnum):
    """The role of a bearer key."""

    AGENT = "agent"
    OPERATOR = "operator"
    APPROVER = "approver"
    AUDITOR = "auditor"
    FEED = "feed"
    MONITOR = "monitor"


class SigningRole(StrEnum):
    """The role of an officer, who signs policies, releases, adjustments and disavowals."""

    RISK = "risk"
    COMPLIANCE = "compliance"


MAY: Final[dict[str, frozenset[Role]]] = {
    "submit": frozenset({Role.AGENT, Role.OPERATOR}),
    "read": frozenset({Role.AGENT, Role.OPERATOR, Role.APPROVER, Role.AUDITOR}),
    "follow": frozenset({Role.AGENT, Role.OPERATOR, Role.APPROVER, Role.AUDITOR}),
    "watch": frozenset({Role.OPERATOR, Role.APPROVER, Role.AUDITOR}),
    "cancel": frozenset({Role.AGENT, Role.OPERATOR}),
    "approve": frozenset({Role.APPROVER}),
    "kill": frozenset({Role.OPERATOR, Role.APPROVER}),
    "stop": frozenset({Role.OPERATOR, Role.APPROVER}),
    "hold": frozenset({Role.OPERATOR, Role.APPROVER}),
    "resolve": frozenset({Role.OPERATOR}),
    "erase": frozenset({Role.OPERATOR}),
    "disclose": frozenset({Role.AUDITOR}),
    "feed": frozenset({Role.FEED}),
    "test": frozenset({Role.OPERATOR, Role.AUDITOR}),
    "measure": frozenset({Role.MONITOR, Role.OPERATOR, Role.AUDITOR}),
    "review": frozenset({Role.AUDITOR}),
    "annotate": frozenset({Role.OPERATOR, Role.APPROVER, Role.AUDITOR}),
    "mirror": frozenset({Role.AUDITOR}),
}
"""The roles that may do an action; `watch` is to see the pages, which show every decision."""
