"""Key files and bearer tokens of one installation.

Layout of the folder (0700, files 0600):
    ledger.key             Ed25519 seed that signs checkpoints; ledger.key.pub beside it is public
    rows.key               for the MACs beside the ledger's rows (see `row_keys`)
    risk.pub, compliance.pub   public keys of the two officers (see `officers`)
    risk.key, compliance.key   their private keys: `run` only; `serve` does not start with them
    bearer.json            name -> {role, sha256 of the token, scope of an agent's key}; the token
                           itself is in NAME.token

`run` makes both roles' keys in one folder, for one person; its pages and exports say so.

Not here: what a signature covers (`gateway.desk.controls.statements`).
"""

import hashlib
import hmac
import json
import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.files import PRIVATE, appearing
from gateway.errors import SettingsError
from gateway.installation.keys.officers import PUBLIC_SUFFIX, read_officer, read_public
from gateway.installation.keys.roles import MAY, Role, SigningRole
from gateway.installation.keys.scopes import KeyScope

SIGNING_ROLES: Final = tuple(role.value for role in SigningRole)
_NAME: Final = re.compile(r"^[a-z][a-z0-9-]{1,31}$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """An authenticated caller of the API; `scope` narrows what an agent may ask for."""

    name: str
    role: Role
    scope: KeyScope | None = None

    def sees(self, author: str) -> bool:
        """Return whether the caller may see what `author` asked for: an agent sees its own only."""
        return self.role in MAY["watch"] or self.name == author

    def expired(self, now_us: int) -> bool:
        """Return whether the life of the key is over, at a steady wall time."""
        return self.scope is not None and now_us >= self.scope.expires_us


class Keyring:
    """The key folder of one installation."""

    def __init__(self, folder: Path) -> None:
        """Open an existing folder.

        Raises:
            SettingsError: there is no such folder.
        """
        if not folder.is_dir():
            raise SettingsError(
                name="COUNTERSIGN_KEYS",
                problem=f"no folder {folder}; make one with `countersign keygen`",
            )
        self.folder = folder

    @classmethod
    def create(cls, folder: Path) -> "Keyring":
        """Make the folder and every missing key.

        Raises:
            SettingsError: the folder is that of a gateway whose officers keep their own keys.
        """
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        ring = cls(folder)
        for role in SIGNING_ROLES:
            path = folder / f"{role}.key"
            if not path.exists():
                if path.with_suffix(PUBLIC_SUFFIX).exists():
                    problem = (
                        f"{folder} has the public key of an officer: `run` makes keys of its own,"
                        " so give it another state folder"
                    )
                    raise SettingsError(name="COUNTERSIGN_STATE", problem=problem)
                _write_private(path, Ed25519PrivateKey.generate().private_bytes_raw().hex())
        for name, role in (
            ("operator", Role.OPERATOR),
            ("approver", Role.APPROVER),
            ("auditor", Role.AUDITOR),
            ("feed", Role.FEED),
            ("monitor", Role.MONITOR),
            ("demo-agent", Role.AGENT),
            ("agent", Role.AGENT),
        ):
            if name not in ring._bearers():
                ring.issue(name, role)
        return ring

    @classmethod
    def issue_in(
        cls, folder: Path, name: str, role: Role, *, replace: bool, scope: Path | None = None
    ) -> str:
        """Issue a token in a folder, which is made if it is missing; see `issue`.

        Raises:
            SettingsError: `scope` names a file that is no scope, or the role has none.
        """
        _check_name(name)
        narrowed = None if scope is None else KeyScope.read(scope, name)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return cls(folder).issue(name, role, replace=replace, scope=narrowed)

    def issue(
        self, name: str, role: Role, *, replace: bool = True, scope: KeyScope | None = None
    ) -> str:
        """Make a bearer token for `name`, store its hash and scope, and return the token.

        Raises:
            SettingsError: the name is malformed, or taken and `replace` is false; or a scope would
                be given to another role than an agent, or dropped.
        """
        _check_name(name)
        if scope is not None and role is not Role.AGENT:
            raise SettingsError(name="--scope", problem=f"a key of role {role} has no scope")
        token = f"cs_{secrets.token_urlsafe(32)}"
        bearers = self._bearers()
        if name in bearers and not replace:
            problem = f"{name} has a key, of role {bearers[name]['role']}: --replace ends it"
            raise SettingsError(name="--name", problem=problem)
        if role is Role.AGENT and scope is None and "scope" in bearers.get(name, {}):
            problem = f"the key of {name} has a scope, and a new one without would be wider: say it"
            raise SettingsError(name="--scope", problem=problem)
        bearers[name] = {"role": role.value, "sha256": digest_of(token)}
        if scope is not None:
            bearers[name]["scope"] = scope.document()
        _write_private(self.folder / f"{name}.token", token)
        _write_private(self.folder / "bearer.json", json.dumps(bearers, indent=1, sort_keys=True))
        return token

    def renew(self, name: str, scope: Path | None = None) -> str:
        """Give `name` another token of the same role, and of the same scope unless one is given.

        Raises:
            SettingsError: the name has no key, or `scope` names a file that is no scope.
        """
        role = Role(self._entry(name)["role"])
        narrowed = self.scope(name) if scope is None else KeyScope.read(scope, name)
        return self.issue(name, role, scope=narrowed)

    def revoke(self, name: str) -> None:
        """End the key of `name`; a running gateway reads that with the next request.

        Raises:
            SettingsError: the name has no key.
        """
        self._entry(name)
        bearers = {other: entry for other, entry in self._bearers().items() if other != name}
        _write_private(self.folder / "bearer.json", json.dumps(bearers, indent=1, sort_keys=True))
        # a crash here leaves a token's file that opens nothing
        (self.folder / f"{name}.token").unlink(missing_ok=True)

    def _entry(self, name: str) -> dict[str, Any]:
        found = self._bearers().get(name)
        if found is None:
            problem = f"{name} has no key; `countersign key list` names who has one"
            raise SettingsError(name="NAME", problem=problem)
        return found

    def authenticate(self, token: str) -> Caller | None:
        """Return the holder of a token, or None; compares in constant time."""
        return self.holder(digest_of(token))

    def holder(self, digest: str) -> Caller | None:
        """Return the holder of the token with this SHA-256 (hex), or None, in constant time."""
        found: Caller | None = None
        for name, entry in self._bearers().items():
            if hmac.compare_digest(digest, entry["sha256"]):
                found = Caller(name=name, role=Role(entry["role"]), scope=_scope_of(entry))
        return found

    def caller(self, name: str) -> Caller | None:
        """Return the holder of the key of this name, or None."""
        entry = self._bearers().get(name)
        if entry is None:
            return None
        return Caller(name=name, role=Role(entry["role"]), scope=_scope_of(entry))

    def scope(self, name: str) -> KeyScope | None:
        """Return the scope of the key of `name`; None without one."""
        return _scope_of(self._bearers().get(name, {}))

    def digest(self, name: str) -> str | None:
        """Return the SHA-256 (hex) of the token of `name`, or None."""
        entry = self._bearers().get(name)
        return None if entry is None else str(entry["sha256"])

    def names_of(self, role: Role) -> list[str]:
        """Return who has a bearer key of a role."""
        return [name for name, entry in self._bearers().items() if entry["role"] == role]

    def token(self, name: str) -> str:
        """Return the stored development token of `name`.

        Raises:
            SettingsError: this folder has none.
        """
        file = self.folder / f"{name}.token"
        if not file.exists():
            there = ", ".join(sorted(one.stem for one in self.folder.glob("*.token"))) or "none"
            problem = f"no key {name!r:.40} here, only {there}; `countersign keygen` makes one"
            raise SettingsError(name="--as", problem=problem)
        return file.read_text().strip()

    def signing_key(self, role: str) -> Ed25519PrivateKey:
        """Return the private key of a signing role that this folder holds.

        Raises:
            SettingsError: the key file is missing or holds no key.
        """
        path = self.folder / f"{role}.key"
        if role not in SIGNING_ROLES or not path.exists():
            raise SettingsError(
                name="COUNTERSIGN_KEYS",
                problem=f"no key of role {role!r} in {self.folder}: name the officer's key file"
                f" with --{role}-key",
            )
        return read_officer(path, "COUNTERSIGN_KEYS", role).key

    def public_keys(self) -> dict[str, bytes]:
        """Return the raw 32-byte Ed25519 public keys by role.

        Raises:
            SettingsError: one is missing or malformed, or both roles have the same key.
        """
        found = {role: self._public_key(role) for role in SIGNING_ROLES}
        if len(set(found.values())) < len(found):
            problem = (
                f"both roles have the same key in {self.folder}: each officer makes a key of"
                " his own with `countersign officer-key`"
            )
            raise SettingsError(name="COUNTERSIGN_KEYS", problem=problem)
        return found

    def _public_key(self, role: str) -> bytes:
        public, private = self.folder / f"{role}{PUBLIC_SUFFIX}", self.folder / f"{role}.key"
        if not public.exists():
            if not private.exists():
                problem = (
                    f"no public key of the role {role}: let the officer make one with `countersign"
                    f" officer-key` and copy the .pub file to {public}"
                )
                raise SettingsError(name="COUNTERSIGN_KEYS", problem=problem)
            return self.signing_key(role).public_key().public_bytes_raw()
        raw = read_public(public, "COUNTERSIGN_KEYS", role).raw
        if private.exists() and self.signing_key(role).public_key().public_bytes_raw() != raw:
            problem = f"{public} and {private} are of different keys: remove the one that is wrong"
            raise SettingsError(name="COUNTERSIGN_KEYS", problem=problem)
        return raw

    def _bearers(self) -> dict[str, dict[str, Any]]:
        path = self.folder / "bearer.json"
        if not path.exists():
            return {}
        loaded: dict[str, dict[str, Any]] = json.loads(path.read_text())
        return loaded


def _scope_of(entry: dict[str, Any]) -> KeyScope | None:
    return KeyScope.model_validate(entry["scope"]) if "scope" in entry else None


def digest_of(token: str) -> str:
    """Return the SHA-256 (hex) of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def officers_of(folder: Path) -> dict[str, bytes]:
    """Return the signing roles' public keys, or none if a key file is missing.

    Raises:
        SettingsError: a file holds no key, or both roles have the same.
    """
    halves = (PUBLIC_SUFFIX, ".key")
    if not all(any((folder / f"{r}{h}").exists() for h in halves) for r in SIGNING_ROLES):
        return {}
    return Keyring(folder).public_keys()


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise SettingsError(
            name="--name", problem="use 2 to 32 of a-z, 0-9, - and start with a letter"
        )


def _write_private(path: Path, text: str) -> None:
    with appearing(path, PRIVATE) as file:
        file.write(f"{text}\n".encode())


def role_key(keyring: Keyring, role: str, path: Path | None) -> Ed25519PrivateKey:
    """Return a signing role's key from `path`, or from the key folder if `path` is None.

    Raises:
        SettingsError: the file cannot be read, holds no key, or the other role's.
    """
    if path is None:
        return keyring.signing_key(role)
    return read_officer(path, f"--{role}-key", role).key
