"""The mark of a state folder: which mode and CompIDs its FIX store belongs to.

A store of another mode has its sequence numbers, its orders and its journal. Beside it, in the key
folder, officers' signatures wait for the start that uses them.
"""

import json
from pathlib import Path
from typing import Final

from audit.files import PRIVATE, appearing
from gateway.errors import SettingsError

MARK: Final = "mode.json"
SIGNED: Final = "mode.signatures.json"
"""In the key folder: the officers' signatures of a change of mode, hex by role."""
PROMOTED: Final = "promotion.signatures.json"
"""The same of a model pair's promotion."""


def mark_mode(root: Path, mode: str, sender: str, target: str) -> None:
    """Mark a folder without a mark with its mode and session.

    Raises:
        SettingsError: it is another's (see `refuse_other_mode`).
    """
    refuse_other_mode(root, mode, sender, target)
    path = root / MARK
    if not path.exists():
        wanted = {"mode": mode, "sender": sender, "target": target}
        with appearing(path, PRIVATE) as file:
            file.write(json.dumps(wanted, indent=1, sort_keys=True).encode() + b"\n")


def refuse_other_mode(root: Path, mode: str, sender: str, target: str) -> None:
    """Refuse a state folder of another mode or session; nothing is written.

    A folder of an earlier version has a store and no mark: its mode is paper.

    Raises:
        SettingsError: says whose the folder is, and what to set.
    """
    wanted = {"mode": mode, "sender": sender, "target": target}
    found = _read(root / MARK)
    if found is None and mode != "paper" and any((root / "fix").glob("*")):
        found = wanted | {"mode": "paper"}
    if found is not None and found != wanted:
        named = ", ".join(f"{name} {value}" for name, value in found.items())
        raise SettingsError(
            name="COUNTERSIGN_STATE",
            problem=f"{root} is the state folder of {named}, and this start asks for mode {mode},"
            f" {sender} -> {target}: each mode has its own folder, account and CompIDs; name"
            " another folder, or set these back",
        )


def _read(path: Path) -> dict[str, str] | None:
    try:
        found: object = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValueError:
        found = None
    if not isinstance(found, dict):
        problem = f"{path} is damaged: restore it, or name another folder"
        raise SettingsError(name="COUNTERSIGN_STATE", problem=problem)
    return {str(name): str(value) for name, value in found.items()}


def signed_mode(keys: Path, name: str = SIGNED) -> dict[str, str]:
    """Return the officers' signatures of a change of mode, hex by role; empty without a file."""
    return _read(keys / name) or {}


def keep_signature(keys: Path, role: str, signature: str, name: str = SIGNED) -> Path:
    """Add one officer's signature to the file in the key folder, and return the file."""
    path = keys / name
    signatures = signed_mode(keys, name) | {role: signature}
    with appearing(path, PRIVATE) as file:
        file.write(json.dumps(signatures, indent=1, sort_keys=True).encode() + b"\n")
    return path
