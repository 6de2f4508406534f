"""The installation's witness policy: a tlog-policy file that the settings name."""

from hashlib import sha256

from audit.errors import TrustPolicyError
from audit.tlog.policy import QuorumPolicy
from gateway.errors import SettingsError
from gateway.installation.settings import LedgerSettings

POLICY_SETTING = "COUNTERSIGN_LEDGER__WITNESS_POLICY"


def read_policy(settings: LedgerSettings) -> tuple[str, QuorumPolicy | None]:
    """Return the policy with the SHA-256 (hex) of its file; empty and None if none is set.

    Raises:
        SettingsError: when it cannot be read.
    """
    path = settings.witness_policy
    if path is None:
        return "", None
    try:
        data = path.read_bytes()
        return sha256(data).hexdigest(), QuorumPolicy.parse(data)
    except OSError as error:
        problem = f"cannot read {path}: {error.strerror}"
    except TrustPolicyError as error:
        problem = f"{path}: {error}"
    raise SettingsError(name=POLICY_SETTING, problem=problem)
