"""Records of the scopes of agents' keys.

Not here: the scope itself (`gateway.installation.keys.scopes`).
"""

from collections.abc import Mapping
from typing import Any

from audit.records.canonical import JSON
from audit.records.kinds import Kind
from audit.records.record import Draft
from gateway.walk.journal.contents import Contents
from gateway.walk.journal.decision import GATEWAY


def agent_scoped(key: str, account: str, scope: Mapping[str, JSON], digest: str) -> Draft:
    """A key's scope as it is used for an account; the same scope again is one record."""
    return Draft(
        stream="control",
        kind=Kind.AGENT_SCOPED,
        payload={
            "key": key,
            "account": account,
            "scope": dict(scope),
            "scope_digest": digest,
        },
        actor=GATEWAY,
        idem_key=f"scope:{account}:{key}:{digest}",
    )


class AgentScoped(Contents, frozen=True, kw_only=True):
    key: str
    account: str
    scope: dict[str, Any]
    scope_digest: str
