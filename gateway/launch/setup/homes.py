"""The keys of a new installation, by role: who takes which folder away, and what is in it."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from audit.files import PRIVATE
from audit.signers.file import write_new
from gateway.installation.keys.keyring import Keyring
from gateway.installation.keys.log_keys import make_log_key
from gateway.installation.keys.officers import PUBLIC_SUFFIX, make_officer_key, read_public
from gateway.installation.keys.roles import Role, SigningRole
from gateway.installation.keys.row_keys import make_secret
from gateway.installation.settings import LedgerSettings
from gateway.installation.state import StateFolder

GATEWAY: Final = "gateway"
OPERATOR: Final = "operator"
_README: Final = "README.txt"
_READABLE: Final = 0o644


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """A folder for one holder."""

    name: str
    said: str


OFFICERS: Final = {
    SigningRole.RISK: Home(
        name="risk-officer",
        said="the risk officer takes it away: risk.key signs policies and releases; no copy stays",
    ),
    SigningRole.COMPLIANCE: Home(
        name="compliance-officer",
        said="the compliance officer takes it away: compliance.key is the second signature",
    ),
}
CALLERS: Final = {
    Role.OPERATOR: Home(
        name=OPERATOR,
        said="the operator: pages, kill (verbs of this machine use the gateway's copy)",
    ),
    Role.APPROVER: Home(name="approver", said="who approves orders that wait for a person"),
    Role.AUDITOR: Home(name="auditor", said="who reads and discloses, and changes nothing"),
    Role.AGENT: Home(name="agent", said="the agent's machine: asks for trades"),
    Role.FEED: Home(name="feed", said="the market data's machine: posts quotes and bars"),
    Role.MONITOR: Home(name="monitor", said="Prometheus: reads figures and nothing else"),
}


def make_homes(
    top: Path, origin: str, publics: dict[str, Path], agent_scope: Path
) -> tuple[str, list[Home]]:
    """Make every key below `top`; return the log's public line and the homes to hand out.

    Args:
        top: the new installation.
        origin: the log's name.
        publics: public key files of officers who have a key already: they get no home.
        agent_scope: file of what the agent's key may ask for.

    Raises:
        SettingsError: a public key file holds none, or another role's.
        KeyFileError: a key cannot be written.
    """
    own = StateFolder(
        root=top / GATEWAY / "state",
        keys=top / GATEWAY / "keys",
        vault=top / GATEWAY / "state" / "vault",
    )
    given = {role: read_public(path, f"--{role}-public", role) for role, path in publics.items()}
    log = make_log_key(own, LedgerSettings(origin=origin))
    make_secret(own.keys)
    homes: list[Home] = []
    for officer, home in OFFICERS.items():
        public = own.keys / f"{officer}{PUBLIC_SUFFIX}"
        if officer in given:
            shutil.copyfile(publics[officer], public)
            continue
        private = _made(top, home) / f"{officer}.key"
        make_officer_key(own, private, officer, "", None)
        shutil.copyfile(private.with_suffix(PUBLIC_SUFFIX), public)
        homes.append(home)
    for role, home in CALLERS.items():
        scope = agent_scope if role is Role.AGENT else None
        token = Keyring.issue_in(own.keys, home.name, role, replace=False, scope=scope)
        write_new(_made(top, home) / f"{home.name}.token", f"{token}\n".encode(), PRIVATE)
        if role is not Role.OPERATOR:
            (own.keys / f"{home.name}.token").unlink()
        homes.append(home)
    return log, homes


def _made(top: Path, home: Home) -> Path:
    folder = top / home.name
    folder.mkdir(mode=0o700)
    write_new(folder / _README, f"{home.said}\n".encode(), _READABLE)
    return folder
