"""The log's key files: which sign, and how one replaces another.

    ledger.key         signs checkpoints: PEM, or one line `pkcs11:...` that names a key in a device
    ledger.key.next    a rotation has begun: signs beside the present key
    ledger.key.old     a rotation overlaps: still signs beside the new key
    ledger.key.dying   a replaced key that is being destroyed: signs nothing
    ledger.mldsa.key   ML-DSA-44: also cosigns, if the setting asks for it
    FILE.pub           the verifier key of each; it stays when the private key is gone

After a crash between two renames, `settle` completes the change at the next start or command.
"""

from pathlib import Path
from typing import Final

from audit.errors import KeyFileError, NoteError
from audit.files import appearing, sync_folder
from audit.signers.file import FileSigner, MlDsaSigner, Signer, destroy_key, public_file, write_new
from audit.signers.pkcs11 import SCHEME, Pkcs11Signer
from audit.tlog.note import VerifierKey
from audit.tlog.rotation import KeyRecord, Rotation, TrustedKey, parse_key_record, trusted_keys
from gateway.errors import SettingsError
from gateway.installation.settings import LedgerSettings
from gateway.installation.state import StateFolder
from gateway.installation.trial import holds_database

FILE: Final = "file"
REVOKED: Final = "revocation-*.note"


def load_signers(state: StateFolder, ledger: LedgerSettings, *, create: bool) -> tuple[Signer, ...]:
    """Return the keys that sign checkpoints, the present one first; may `create` a missing key.

    Raises:
        SettingsError: the key is missing, or not where the setting says.
        KeyFileError: a key cannot be read.
    """
    current = state.ledger_key
    settle(current, ledger.origin)
    if not current.exists():
        if not create:
            problem = (
                f"no {current.name} in {current.parent}: bring the log's key there, or name the"
                " folder that has it"
            )
            raise SettingsError(name="COUNTERSIGN_KEYS", problem=problem)
        make_key(current, ledger.origin, ledger.signer)
    if place_of(current) != ledger.signer:
        raise SettingsError(
            name="COUNTERSIGN_LEDGER__SIGNER",
            problem=f"{current} is {place_of(current)}; to change it: countersign rotate-key --to",
        )
    beside = (path for path in (next_of(current), old_of(current)) if path.exists())
    signers = [open_key(path, ledger.origin) for path in (current, *beside)]
    if ledger.ml_dsa:
        path = current.with_name("ledger.mldsa.key")
        if create and not path.exists():
            MlDsaSigner.generate(path, ledger.origin)
        signers.append(MlDsaSigner.load(path, ledger.origin))
    return tuple(signers)


def make_log_key(state: StateFolder, ledger: LedgerSettings) -> str:
    """Make the log's key unless there is one; return its verifier key, for outsiders.

    Raises:
        SettingsError: the folder holds a ledger without its key, which a new key cannot continue.
        KeyFileError: the key cannot be made or read.
    """
    refuse_without_key(state)
    state.keys.mkdir(parents=True, exist_ok=True, mode=0o700)
    return str(load_signers(state, ledger, create=True)[0].vkey)


def refuse_without_key(state: StateFolder) -> None:
    """Refuse a restored folder without the log's key: a new key could not continue that log.

    Raises:
        SettingsError: it is so.
    """
    if holds_database(state.root) and not has_key(state.ledger_key):
        raise SettingsError(
            name="COUNTERSIGN_KEYS",
            problem=f"{state.root} holds a ledger, and {state.keys} not its key: copy keys/ of the"
            " old state folder there",
        )


def has_key(current: Path) -> bool:
    """Return whether the log has a key, also in the middle of a handover."""
    return current.exists() or (next_of(current).exists() and old_of(current).exists())


def own_vkeys(current: Path) -> tuple[str, ...]:
    """Return the verifier keys of this log, present and past, to check our own ledger.

    An outsider needs one of them: the log's records lead to the others.
    """
    files = (public_file(current), public_file(old_of(current)))
    found = [*files, *sorted(current.parent.glob("retired-*.pub"))]
    return tuple(path.read_text(encoding="utf-8").strip() for path in found if path.exists())


def rotations_to(current: Path, present: VerifierKey) -> tuple[Rotation, ...]:
    """Return the rotations that lead to the present key, oldest first.

    Raises:
        KeyFileError: a statement in the key folder cannot be read.
    """
    found = [one for one in _statements(current) if isinstance(one, Rotation)]
    chain: list[Rotation] = []
    key: VerifierKey | None = present
    while key is not None:
        step = next((one for one in found if one.new == key), None)
        if step is not None:
            found.remove(step)
            chain.insert(0, step)
        key = None if step is None else step.old
    return tuple(chain)


def predecessors(current: Path, present: VerifierKey) -> tuple[TrustedKey, ...]:
    """Return the log's earlier keys and up to where each is trusted, by the statements on disk.

    A revoked key is not trusted at all: nothing proves when it signed.

    Raises:
        KeyFileError: a statement cannot be read.
    """
    records = sorted(_statements(current), key=lambda one: one.from_us)
    return tuple(one for one in trusted_keys([present], records) if one.key != present)


def _statements(current: Path) -> list[KeyRecord]:
    found: list[KeyRecord] = []
    for path in sorted((*current.parent.glob("rotation-*.note"), *current.parent.glob(REVOKED))):
        try:
            found.append(parse_key_record(path.read_bytes()))
        except (OSError, NoteError) as error:
            raise KeyFileError(f"cannot read {path}: {error}") from error
    return found


def next_of(current: Path) -> Path:
    """Return the path of the next key."""
    return current.with_name(current.name + ".next")


def old_of(current: Path) -> Path:
    """Return the path of the replaced key that still signs."""
    return current.with_name(current.name + ".old")


def dying_of(current: Path) -> Path:
    """Return the path of a replaced key that is being destroyed."""
    return current.with_name(current.name + ".dying")


def place_of(path: Path) -> str:
    """Return the PKCS#11 URI in a key file, or `file` if the file holds the key itself.

    Raises:
        KeyFileError: it cannot be read.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise KeyFileError(f"cannot read {path}: {error.strerror}") from error
    return data.decode().strip() if data.startswith(SCHEME.encode()) and data.isascii() else FILE


def open_key(path: Path, origin: str) -> Signer:
    """Return the signer of a key file, whose key is in the file or in a device.

    Raises:
        KeyFileError: the key cannot be read or reached.
    """
    place = place_of(path)
    return FileSigner.load(path, origin) if place == FILE else Pkcs11Signer(place, origin)


def make_key(path: Path, origin: str, place: str) -> None:
    """Make a key in a file or a device; an existing key is never replaced.

    A key of that name in the device is used: it was made by hand, or by a rotation that was
    interrupted before its file was written.

    Raises:
        KeyFileError: the file exists or cannot be written, or the device refuses.
    """
    if place == FILE:
        FileSigner.generate(path, origin)
        return
    if not Pkcs11Signer.exists(place):
        Pkcs11Signer.generate(place, origin)
    vkey = Pkcs11Signer(place, origin).vkey
    try:
        write_new(path, f"{place}\n".encode(), 0o600)
        write_new(public_file(path), f"{vkey}\n".encode(), 0o644)
    except OSError as error:
        raise KeyFileError(f"cannot write {path}: {error.strerror}") from error


def keep_statement(path: Path, statement: bytes) -> None:
    """Write a statement beside the keys, atomically and durably.

    Raises:
        OSError: it cannot be written.
    """
    with appearing(path) as file:
        file.write(statement)


def hand_over(current: Path) -> None:
    """Make the next key the present one and the present one the old one."""
    for path, after in ((current, old_of(current)), (next_of(current), current)):
        if path.exists():
            if public_file(path).exists():  # it was moved if a crash came here
                public_file(path).replace(public_file(after))
            path.replace(after)
        # a crash here leaves no present key: `settle` goes on, because next and old key exist
    sync_folder(current.parent)


def settle(current: Path, origin: str) -> bool:
    """Finish an interrupted change of keys; return whether an old key was destroyed.

    Raises:
        KeyFileError: a key cannot be read, or its files cannot be changed.
    """
    dying = dying_of(current)
    found = dying.exists()
    try:
        for left in current.parent.glob(f"{current.name}*.part"):
            left.unlink(missing_ok=True)
        if found:
            _bury(dying)
        if not current.exists() and has_key(current):
            hand_over(current)
        for path in (current, next_of(current), old_of(current)):
            if path.exists() and not public_file(path).exists():
                vkey = open_key(path, origin).vkey
                write_new(public_file(path), f"{vkey}\n".encode(), 0o644)
    except OSError as error:
        raise KeyFileError(f"cannot settle {current.parent}: {error.strerror}") from error
    return found


def retire(current: Path, key_id: str) -> None:
    """Destroy the old private key; its verifier key stays as `retired-ID.pub`.

    Raises:
        KeyFileError: it cannot be destroyed.
    """
    old, dying = old_of(current), dying_of(current)
    if public_file(old).exists():
        public_file(old).replace(old.with_name(f"retired-{key_id}.pub"))
    # a crash here leaves an old key without its verifier key, which `settle` writes
    old.replace(dying)  # a half destroyed key could not be opened to sign
    sync_folder(current.parent)  # a crash here leaves a dying key, which `settle` destroys
    _bury(dying)


def _bury(dying: Path) -> None:
    place = place_of(dying)
    if place != FILE:
        Pkcs11Signer.destroy(place)
    destroy_key(dying)
