"""Records of the scopes of agents' keys.

Not here: the scope itself (`gateway.installation.keys.scopes`).
"""

from typing import Any

from audit.records.record_kind import Filing, RecordKind


class AgentScoped(RecordKind, frozen=True, kw_only=True):
    """A key's scope as it is used for an account; the same scope again is one record."""

    filing = Filing("control", "scope:{account}:{key}:{scope_digest}")

    key: str
    account: str
    scope: dict[str, Any]
    scope_digest: str
