"""Officers' key files: the officer keeps the private half, the gateway gets the public one.

Each half is one line:

    countersign-officer-private ROLE NAME HEX     FILE, mode 0600
    countersign-officer-public ROLE NAME HEX      FILE with the ending .pub

A private key file of an earlier version has only the 64 hexadecimal digits.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.files import PRIVATE
from audit.signers.file import write_new
from gateway.errors import SettingsError
from gateway.installation.keys.roles import SigningRole
from gateway.installation.state import StateFolder

PRIVATE_WORD: Final = "countersign-officer-private"
PUBLIC_WORD: Final = "countersign-officer-public"
PUBLIC_SUFFIX: Final = ".pub"
_NAME: Final = re.compile(r"[a-z][a-z0-9-]{1,31}")
_HEX: Final = re.compile(r"[0-9a-f]{64}")
_LONGEST: Final = 1024
_PUBLIC_MODE: Final = 0o644


@dataclass(frozen=True, slots=True, kw_only=True)
class OfficerKey:
    """An officer's private key; `role` and `name` are empty in a file of an earlier version."""

    role: str
    name: str
    key: Ed25519PrivateKey


@dataclass(frozen=True, slots=True, kw_only=True)
class OfficerPublic:
    """An officer's public key, raw."""

    role: str
    name: str
    raw: bytes


def make_officer_key(
    state: StateFolder, path: Path, role: SigningRole, name: str, source: Path | None
) -> str:
    """Write both halves of a new key, or of the key in `source`; return what to do with them.

    Raises:
        SettingsError: the file lies in a folder of the gateway or exists, or the name is malformed.
    """
    name = name or f"{role}-officer"
    if not _NAME.fullmatch(name):
        raise SettingsError(
            name="--name", problem="use 2 to 32 of a-z, 0-9, - and start with a letter"
        )
    final, public = path.resolve(), path.resolve().with_suffix(PUBLIC_SUFFIX)
    for folder in (state.root, state.keys, state.vault):
        if final.is_relative_to(folder):
            problem = (
                f"{final} is inside {folder}, which the gateway reads: an officer's private key"
                " belongs elsewhere, such as a removable disk of the officer"
            )
            raise SettingsError(name="FILE", problem=problem)
    if final == public:
        raise SettingsError(
            name="FILE", problem=f"{path} would be the public half: choose a name such as risk.key"
        )
    for half in (final, public):
        if half.exists():
            problem = f"{half} exists; a key is never overwritten: choose another name"
            raise SettingsError(name="FILE", problem=problem)
    key = read_officer(source, "--from").key if source else Ed25519PrivateKey.generate()
    raw = key.public_key().public_bytes_raw()
    final.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_new(final, _line(PRIVATE_WORD, role, name, key.private_bytes_raw()), PRIVATE)
    # a crash here leaves a private key without its public half: delete it and repeat
    write_new(public, _line(PUBLIC_WORD, role, name, raw), _PUBLIC_MODE)
    return (
        f"public key of {role}:{name}: {raw.hex()}\n"
        f"{final}: private; only this officer keeps it, never on the gateway's machine\n"
        f"{public}: public; copy it to {state.keys / f'{role}{PUBLIC_SUFFIX}'} for the gateway\n"
    )


def read_officer(path: Path, setting: str, role: str = "") -> OfficerKey:
    """Return the private key in a file, which must be that of `role` if the file names its role.

    Raises:
        SettingsError: it cannot be read, holds no private key, or another role's; the error is
            about `setting` and shows nothing of the file.
    """
    words = _words(path, setting)
    if len(words) == 1 and _HEX.fullmatch(words[0]):
        words = [PRIVATE_WORD, "", "", *words]
    if words[:1] == [PUBLIC_WORD]:
        raise SettingsError(
            name=setting, problem=f"{path} holds a public key: name the officer's private key file"
        )
    if not _is_key(words, PRIVATE_WORD):
        raise SettingsError(
            name=setting,
            problem=f"{path} holds no signing key (64 hexadecimal digits): make one with"
            " `countersign officer-key`",
        )
    _, found, name, digits = words
    if role and found and found != role:
        problem = f"{path} is the key of {found}:{name}, and the key of the role {role} is needed"
        raise SettingsError(name=setting, problem=problem)
    key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(digits))
    return OfficerKey(role=found, name=name, key=key)


def read_public(path: Path, setting: str, role: str = "") -> OfficerPublic:
    """Return the public key in a file, which must be that of `role` if given.

    Raises:
        SettingsError: it cannot be read, holds no public key, or another role's.
    """
    words = _words(path, setting)
    if words[:1] == [PRIVATE_WORD]:
        problem = f"{path} holds a PRIVATE key: give it back to its officer and copy the .pub file"
        raise SettingsError(name=setting, problem=problem)
    if not _is_key(words, PUBLIC_WORD) or words[1] not in set(SigningRole):
        raise SettingsError(
            name=setting,
            problem=f"{path} line 1 is not `{PUBLIC_WORD} ROLE NAME HEX`: copy the .pub file that"
            " `countersign officer-key` wrote",
        )
    _, found, name, digits = words
    if role and found != role:
        problem = f"{path} is the key of {found}:{name}, and the key of the role {role} is needed"
        raise SettingsError(name=setting, problem=problem)
    return OfficerPublic(role=found, name=name, raw=bytes.fromhex(digits))


def refuse_officers_keys(state: StateFolder) -> None:
    """Refuse officers' private keys in the gateway's folders.

    Raises:
        SettingsError: names the first one and says how to part with it.
    """
    for folder in dict.fromkeys((state.keys, state.root)):
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            role = _private_role(path)
            if role:
                raise SettingsError(
                    name="COUNTERSIGN_KEYS",
                    problem=f"{path} is an officer's private key: with both, whoever reads this"
                    " folder could sign a policy and release a kill alone. Move it to its officer"
                    f" with `countersign officer-key FILE --role {role} --from {path}`, copy the"
                    f" .pub file to {state.keys / f'{role}{PUBLIC_SUFFIX}'} and delete {path}",
                )


def _private_role(path: Path) -> str:
    """Return the role if a file holds an officer's private key, else an empty text."""
    named = path.name in {f"{role}.key" for role in SigningRole}
    try:
        if not path.is_file() or path.stat().st_size > _LONGEST:
            return ""
        words = path.read_bytes().decode("ascii", "replace").split()
    except OSError:
        return path.stem if named else ""
    if _is_key(words, PRIVATE_WORD):
        return words[1]
    return path.stem if named else ""


def _line(word: str, role: str, name: str, raw: bytes) -> bytes:
    return f"{word} {role} {name} {raw.hex()}\n".encode()


def _words(path: Path, setting: str) -> list[str]:
    try:
        with path.open("rb") as file:
            return file.read(_LONGEST + 1).decode("ascii").split()
    except OSError as error:
        problem = f"cannot read {path}: {error.strerror}"
        raise SettingsError(name=setting, problem=problem) from error
    except ValueError:
        return []


def _is_key(words: list[str], word: str) -> bool:
    return len(words) == 4 and words[0] == word and bool(_HEX.fullmatch(words[3]))  # noqa: PLR2004
