"""Whether a policy may be used, as its verification found it.

Not here: the verification (`risk/policy/signing.py`).
"""

from dataclasses import dataclass
from enum import StrEnum


class PolicyStanding(StrEnum):
    """Whether a policy may be used for verdicts."""

    ACTIVE = "ACTIVE"
    UNSIGNED = "UNSIGNED"
    NOT_YET_VALID = "NOT_YET_VALID"
    EXPIRED = "EXPIRED"


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyStatus:
    """Result of verification.

    Attributes:
        policy_digest: The policy verified; `evaluate` refuses under any other.
        checked_at_us: Wall-clock time of the check.
        signed_by: Valid signers as "role:signer", sorted.
    """

    policy_digest: str
    standing: PolicyStanding
    checked_at_us: int
    signed_by: tuple[str, ...] = ()
