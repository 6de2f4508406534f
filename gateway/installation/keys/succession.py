"""One officer's key follows another: the verb, and which keys counted when.

Both present officers sign the change, and it is on record before a file changes. A start with
another key than the one on record is refused, and what was signed before a change is checked with
the keys of that time.
"""

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec.structs import replace

from audit.files import appearing
from audit.records.kinds import Kind
from audit.records.record import Record
from audit.records.record_kind import Filing, RecordKind
from audit.records.row_key import signed_by_all
from audit.store.reader import LedgerReader
from gateway.errors import RequestError, SettingsError
from gateway.installation.keys.keyring import SIGNING_ROLES, Keyring, role_key
from gateway.installation.keys.log_id import log_id
from gateway.installation.keys.officers import PUBLIC_SUFFIX, OfficerPublic, read_public
from gateway.installation.keys.roles import SigningRole
from gateway.installation.keys.rotation import open_ledger, stopped
from gateway.installation.settings import Settings

_ACTOR: Final = "cli"
_READABLE: Final = 0o644
_SHORT: Final = 8


class OfficerKeyChanged(RecordKind, frozen=True, kw_only=True):
    """An officer's key is followed by another; keys are raw, in hex."""

    filing = Filing("control", "officer_key:{number}", _ACTOR)

    role: str
    name: str
    before: str
    after: str
    reason: str
    signatures: dict[str, str]


class OfficerHistory:
    """The officers' public keys over the life of a log."""

    def __init__(self, reader: LedgerReader, present: Mapping[str, bytes], origin: str) -> None:
        """Read the changes on record, newest first, and check each one.

        Raises:
            SettingsError: a present key is not the one on record, or a change is not signed by both
                officers of its time.
        """
        self._spans: list[tuple[int, dict[str, bytes]]] = []
        keys, changes = dict(present), changes_on(reader)
        log = log_id(reader, origin) if changes else ""
        for number, (seq, change) in reversed(list(enumerate(changes))):
            if keys.get(change.role, b"").hex() != change.after:
                raise _not_on_record(change)
            self._spans.insert(0, (seq, dict(keys)))
            keys[change.role] = bytes.fromhex(change.before)
            if not signed_by_all(_statement(log, number, change), change.signatures, keys):
                problem = f"record {seq} changes an officer's key without both signatures"
                raise SettingsError(name="COUNTERSIGN_KEYS", problem=problem)
        self._first = keys

    def at(self, seq: int) -> dict[str, bytes]:
        """Return the keys that counted for a record: a change counts after its own record."""
        return next((keys for began, keys in reversed(self._spans) if began < seq), self._first)


def changes_on(reader: LedgerReader) -> list[tuple[int, OfficerKeyChanged]]:
    """Return the changes on record with their numbers, oldest first."""
    records: Iterable[Record] = reader.records(stream="control", kinds=(Kind.OFFICER_KEY_CHANGED,))
    return [(record.seq, OfficerKeyChanged.read(record.body)) for record in records]


def replace_officer(
    settings: Settings,
    role: SigningRole,
    public: Path,
    reason: str,
    key_files: dict[str, Path | None],
) -> int:
    """Record that an officer's key follows another, then change the gateway's file; repeatable.

    Raises:
        RequestError: it is the same key or the other officer's, a key is not the role's present
            one, or rows are disavowed by the present keys.
        SettingsError: a key file holds no key.
        AuditError: the ledger does not take the record.
    """
    with stopped(settings) as place:
        keyring, origin = Keyring(place.state.keys), settings.ledger.origin
        successor = read_public(public, "--public", role)
        present, signers = keyring.public_keys(), _signers(keyring, key_files)
        if successor.raw in {raw for other, raw in present.items() if other != role}:
            raise RequestError(problem=f"{public} is the other officer's key: each has his own")
        with open_ledger(place) as ledger:
            changes = [change for _, change in changes_on(place.reader)]
            if not _is_done(changes, role, successor):
                if successor.raw == present[role]:
                    raise RequestError(problem=f"{public} is the key of {role} already")
                OfficerHistory(place.reader, present, origin)
                if place.reader.disavowals():
                    problem = (
                        "rows are disavowed, which only the present keys prove: a change of"
                        " officers after a disavowal is not supported yet"
                    )
                    raise RequestError(problem=problem)
                change = OfficerKeyChanged(
                    role=role,
                    name=successor.name,
                    before=present[role].hex(),
                    after=successor.raw.hex(),
                    reason=reason,
                    signatures={},
                )
                statement = _statement(log_id(place.reader, origin), len(changes), change)
                signatures = {one: key.sign(statement).hex() for one, key in signers.items()}
                if not signed_by_all(statement, signatures, present):
                    raise RequestError(problem="both officers must sign with their present keys")
                signed = replace(change, signatures=signatures)
                ledger.append(signed.draft(number=len(changes)))
                # a crash here leaves the change on record and the old file: a start is refused,
                # and repeating the command changes the file
                ledger.checkpoint_now()
        _exchange(keyring.folder, role, present[role], public)
    sys.stdout.write(
        f"{role}:{successor.name} is the {role} officer from now on; on record\n"
        "both officers now sign the policy again: countersign policy new next.toml --from"
        f" {keyring.folder / 'policy.bundle.json'}\n"
    )
    return 0


def _signers(keyring: Keyring, key_files: dict[str, Path | None]) -> dict[str, Ed25519PrivateKey]:
    return {role: role_key(keyring, role, key_files.get(role)) for role in SIGNING_ROLES}


def _is_done(changes: list[OfficerKeyChanged], role: SigningRole, successor: OfficerPublic) -> bool:
    """Return whether the newest change of a role is to this key: an interrupted command."""
    newest = [change for change in changes if change.role == role][-1:]
    return any(change.after == successor.raw.hex() for change in newest)


def _exchange(folder: Path, role: SigningRole, before: bytes, public: Path) -> None:
    """Put the new public key into the folder; the old one stays beside it."""
    current = folder / f"{role}{PUBLIC_SUFFIX}"
    old, new = current.read_bytes(), public.read_bytes()
    if old == new:
        return
    with appearing(folder / f"retired-{role}-{before.hex()[:_SHORT]}.pub", _READABLE) as file:
        file.write(old)
    with appearing(current, _READABLE) as file:
        file.write(new)


def _statement(log: str, number: int, change: OfficerKeyChanged) -> bytes:
    """Return the bytes that both officers sign; `number` counts the log's earlier changes."""
    return (
        f"countersign statement v2\nofficer key\n{log}\nchange {number}\n"
        f"role {change.role}\nbefore {change.before}\nafter {change.after}\nname {change.name}\n"
    ).encode()


def _not_on_record(change: OfficerKeyChanged) -> SettingsError:
    return SettingsError(
        name="COUNTERSIGN_KEYS",
        problem=f"the public key of the role {change.role} is not the one on record,"
        f" {change.after[:_SHORT]}.. of {change.name}: put its .pub file back, or let both officers"
        " record the change with `countersign key replace-officer`",
    )
