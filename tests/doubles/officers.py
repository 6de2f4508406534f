"""Two officers with key files of their own, apart from the gateway's folder."""

import shutil
from pathlib import Path

from gateway.installation.keys.officers import make_officer_key
from gateway.installation.keys.roles import SigningRole
from gateway.installation.settings import LiabilitySettings, load
from gateway.installation.state import StateFolder

LIABLE = LiabilitySettings(deployer="a firm", compute_operator="a firm")
"""What `serve` needs to know of who answers for decisions."""


def part_with_officers(keys: Path, home: Path) -> dict[str, Path]:
    """Carry the development keys of `run` over to their officers; return the private files."""
    state = StateFolder.of(load(state=keys.parent, keys=keys))
    files: dict[str, Path] = {}
    for role in SigningRole:
        held = keys / f"{role}.key"
        files[role.value] = home / f"of-{role}" / f"{role}.key"
        make_officer_key(state, files[role.value], role, f"dev-{role}", held)
        shutil.copy(files[role.value].with_suffix(".pub"), keys / f"{role}.pub")
        held.unlink()
    return files
