"""Officers' signatures that wait in the key folder for the start or verb that uses them."""

import json
from pathlib import Path
from typing import Final

from audit.files import PRIVATE, appearing
from gateway.errors import SettingsError

SIGNED: Final = "mode.signatures.json"
"""The officers' signatures of a change of mode, hex by role."""
PROMOTED: Final = "promotion.signatures.json"
"""The same of a model pair's promotion."""


def kept_signatures(keys: Path, name: str = SIGNED) -> dict[str, str]:
    """Return the officers' signatures in a file of the key folder, hex by role; {} without it.

    Raises:
        SettingsError: the file is damaged.
    """
    path = keys / name
    try:
        found: object = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except ValueError:
        found = None
    if not isinstance(found, dict):
        problem = f"{path} is damaged: remove it, and let both officers sign again"
        raise SettingsError(name="COUNTERSIGN_KEYS", problem=problem)
    return {str(role): str(value) for role, value in found.items()}


def keep_signature(keys: Path, role: str, signature: str, name: str = SIGNED) -> Path:
    """Add one officer's signature to the file in the key folder, and return the file."""
    path = keys / name
    signatures = kept_signatures(keys, name) | {role: signature}
    with appearing(path, PRIVATE) as file:
        file.write(json.dumps(signatures, indent=1, sort_keys=True).encode() + b"\n")
    return path
