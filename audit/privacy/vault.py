"""Subject keys, outside PostgreSQL: a pseudonym's names, and the only key to its values.

One file per subject, named by the pseudonym, in a folder of mode 0700: a random 256-bit key and the
person's names. Safe for many threads of one process; the gateway's state lock keeps other processes
out.

Rules:

- A key is durable on disk before anything is encrypted under it.
- A value leaves this process only encrypted (AES-256-GCM) and padded, bound to its log, record,
  path, position and subject. A row moved elsewhere does not decrypt.
- A process that opens a vault, and its children, write no core files from then on.
- `destroy` renames a subject's file, overwrites it, fsyncs, unlinks and fsyncs the folder. A crash
  leaves the renamed file, which the next opening overwrites. Backups, WAL and page slack then hold
  bytes that nobody can read.
- Keep the folder out of the database's backups, and on an encrypted disk: flash and copy-on-write
  keep old blocks.
"""

import base64
import hmac
import json
import os
import resource
import secrets
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from audit.errors import DisclosureError, SubjectRetiredError, VaultError
from audit.files import shred, sync_folder
from audit.privacy.names import Mention, likened, mention_of, plain_name
from audit.privacy.retention import Retention
from audit.records.canonical import canonical
from audit.records.personal import (
    FIELD,
    WORDS,
    Personal,
    Sealed,
    commitment,
    described,
    disclosure,
    is_subject,
    parse_disclosure,
)
from audit.records.record import Draft

FILE_BYTES = 4096
NAME_CHARS_MAX = 200
WORDS_CHARS_MAX = 2_000
"""The part of a free text that is searched for names."""
_KEY_BYTES = 32
_NONCE_BYTES = 12
_TAG_BYTES = 16
_PAD_BYTES = 64
_FORM = b"\x01"
_SUFFIX = ".subject"
_NEW, _DYING = ".new", ".dying"


class Sealer(Protocol):
    """The methods of `Vault` that a ledger needs to take personal values."""

    def shield(self, draft: Draft) -> Draft:
        """Return the draft with text that names a known person as a personal value."""

    def seal(self, log: str, draft: Draft) -> tuple[Draft, tuple[Sealed, ...]]:
        """Return the draft with commitments instead of values, and the encrypted values."""

    def check_open(self, subjects: frozenset[str]) -> None:
        """Refuse values of a person who is being erased; does not block."""


@dataclass(frozen=True, slots=True)
class _Subject:
    key: bytes
    names: tuple[str, ...]
    is_words: bool = False

    def is_called(self, name: str) -> bool:
        said = [likened(one) for one in self.names]
        mention = mention_of(name, within_words=False)  # "market" does not name Mark
        if self.is_words and mention is not None:
            return any(map(mention.is_in, said))
        return likened(name) in said


class Vault:
    """The key folder; one per installation."""

    def __init__(self, folder: Path) -> None:
        """Open the folder, or make it; destroy what a crash left half destroyed.

        Raises:
            VaultError: others may read it, or a file in it is damaged.
        """
        self._folder = folder
        self._lock = threading.RLock()
        self._subjects: dict[str, _Subject] = {}
        self._by_name: dict[str, str] = {}
        self._by_words: dict[str, str] = {}
        self._retired: dict[str, str] = {}
        self._closed: frozenset[str] = frozenset()
        self._mentions: dict[str, Mention | None] = {}
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if folder.stat().st_mode & 0o077:
                raise VaultError(f"{folder} is open to others: chmod 700 it")
            for path in sorted(folder.iterdir()):
                self._load(path)
        except OSError as error:
            raise VaultError(f"cannot use {folder}: {error.strerror}") from error

    def _load(self, path: Path) -> None:
        if path.suffix != _SUFFIX:
            if path.suffix in {_NEW, _DYING}:  # a crash left it: unused so far, or to be destroyed
                shred(path, FILE_BYTES)
            return
        try:
            found = json.loads(path.read_bytes())
            names = tuple(map(str, found["names"]))
            subject = _Subject(bytes.fromhex(found["key"]), names, found.get("words") is True)
        except (ValueError, KeyError, TypeError) as error:
            raise VaultError(f"{path.name} is damaged; restore it or destroy it") from error
        if len(subject.key) != _KEY_BYTES or not is_subject(path.stem):
            raise VaultError(f"{path.name} is not a subject's file")
        self._know(path.stem, subject)

    def subjects(self) -> frozenset[str]:
        """Return every pseudonym whose key exists."""
        with self._lock:
            return frozenset(self._subjects)

    def names_of(self, subject: str) -> tuple[str, ...]:
        """Return the names of a subject, none after its key is destroyed."""
        with self._lock:
            found = self._subjects.get(subject)
            return () if found is None else found.names

    def find(self, name: str) -> str | None:
        """Return a name's pseudonym, or the given pseudonym if its key exists; None if unknown."""
        with self._lock:
            plain = plain_name(name)
            found = self._by_name.get(plain) or self._retired.get(plain)
            return name if name in self._subjects else found

    def find_all(self, name: str) -> tuple[str, ...]:
        """Return every pseudonym of a name, the one in use last, or the given pseudonym.

        Letter case does not matter: brokers write in capitals. Texts that name the person have
        pseudonyms of their own, which are returned too.
        """
        with self._lock:
            if name in self._subjects:
                return (name,)
            plain = plain_name(name)
            found = [key for key, one in self._subjects.items() if one.is_called(plain)]
            return tuple(sorted(found, key=lambda key: key == self._by_name.get(plain)))

    def subject(self, name: str) -> str:
        """Return a name's pseudonym; a new one is durable on return.

        Raises:
            VaultError: the name is empty or too long, or the disk refused.
        """
        plain = plain_name(name)
        if not plain or len(plain) > NAME_CHARS_MAX:
            raise VaultError(f"a name has 1 to {NAME_CHARS_MAX} characters")
        with self._lock:
            found = name if name in self._subjects else self._by_name.get(plain)
            return found or self._new(plain, is_words=False)

    def subject_of_words(self, text: str) -> str:
        """Return the pseudonym of a text that may name an unknown person; durable on return.

        The text does not count as a name: another text that contains it names nobody.

        Raises:
            VaultError: the disk refused.
        """
        plain = plain_name(text)[:WORDS_CHARS_MAX]
        with self._lock:
            return self._by_words.get(plain) or self._new(plain, is_words=True)

    def _new(self, plain: str, *, is_words: bool) -> str:
        made = f"psn-{base64.b32encode(secrets.token_bytes(10)).decode().lower()}"
        subject = _Subject(secrets.token_bytes(_KEY_BYTES), (plain,), is_words)
        self._store(made, subject)
        self._know(made, subject)
        return made

    def _know(self, pseudonym: str, subject: _Subject) -> None:
        self._subjects[pseudonym] = subject
        self._index(subject).update(dict.fromkeys(subject.names, pseudonym))

    def _index(self, subject: _Subject) -> dict[str, str]:
        return self._by_words if subject.is_words else self._by_name

    def named_in(self, text: str) -> str | None:
        """Return a subject whose name a text mentions, or None.

        Raises:
            VaultError: the name's subject is being erased, and a new one could not be stored.
        """
        words = likened(text)
        with self._lock:
            for name, subject in self._by_name.items():
                if self._is_named(name, words):
                    return subject
            for name in self._retired:
                if self._is_named(name, words):
                    return self.subject(name)
        return None

    def _is_named(self, name: str, words: str) -> bool:
        if name not in self._mentions:
            self._mentions[name] = mention_of(name)
        mention = self._mentions[name]
        return mention is not None and mention.is_in(words)

    def shield(self, draft: Draft) -> Draft:
        """Return the draft with text that names a known person as a personal value."""
        for path in WORDS.get(draft.kind.value, ()):
            text = draft.payload.get(path)
            who = self.named_in(text) if isinstance(text, str) else None
            if who is not None:
                said = Personal(
                    subject=who, path=path, value=str(text), retention=Retention.SUPERVISION.value
                )
                draft = replace(
                    draft,
                    payload={**draft.payload, path: who},
                    personal=(*draft.personal, said),
                )
        return draft

    def seal(self, log: str, draft: Draft) -> tuple[Draft, tuple[Sealed, ...]]:
        """Return the draft with commitments instead of values, and the encrypted values.

        Raises:
            VaultError: a subject has no key here.
            DisclosureError: a value is too long or not text.
        """
        commitments: list[str] = list(draft.commitments)
        if commitments:
            raise DisclosureError("a draft has commitments or personal values, not both")
        rows: list[Sealed] = []
        for position, one in enumerate(draft.personal):
            bound = _bound(log, draft.stream, draft.idem_key, one.path, position, one.subject)
            text = disclosure(self._salt(one, bound), one.path, one.value)
            commitments.append(commitment(text))
            sealed = self._encrypt(one.subject, text.encode("ascii"), bound)
            rows.append(Sealed(position=position, subject=one.subject, sealed=sealed))
        payload = {**draft.payload, FIELD: described(draft.personal)}
        if draft.payload.get(FIELD, payload[FIELD]) != payload[FIELD]:
            raise DisclosureError("the payload names other personal fields than the draft has")
        plain = replace(draft, payload=payload, commitments=tuple(commitments), personal=())
        return plain, tuple(rows)

    def open(self, row: Sealed, *, log: str, stream: str, idem_key: str, path: str) -> str:
        """Decrypt a row's disclosure.

        Raises:
            VaultError: the subject's key is gone, or the row does not belong to this place.
        """
        bound = _bound(log, stream, idem_key, path, row.position, row.subject)
        nonce = row.sealed[1 : 1 + _NONCE_BYTES]
        with self._lock:
            found = self._subjects.get(row.subject)
        if found is None:
            raise VaultError(f"the key of {row.subject} is gone: its values are erased")
        try:
            padded = AESGCM(found.key).decrypt(nonce, row.sealed[1 + _NONCE_BYTES :], bound)
            text = padded.rstrip(b"\0").decode("ascii")
            parse_disclosure(text)
        except (InvalidTag, ValueError, DisclosureError) as error:
            raise VaultError(f"a value of {row.subject} does not decrypt in its place") from error
        return text

    def retire(self, subject: str) -> None:
        """Take a pseudonym out of use; its names get a new one when they occur again.

        Until the key is destroyed, text with the old names is still shielded.
        """
        with self._lock:
            self._closed |= {subject}
            for name in self.names_of(subject):
                known = self._index(self._subjects[subject])
                if known.get(name) == subject:
                    del known[name]
                if known is self._by_name:
                    self._retired[name] = subject

    def restore(self, subject: str) -> None:
        """Undo `retire`, because the erasure did not happen."""
        with self._lock:
            self._closed -= {subject}
            for name in self.names_of(subject):
                self._index(self._subjects[subject]).setdefault(name, subject)
                if self._retired.get(name) == subject:
                    del self._retired[name]

    def check_open(self, subjects: frozenset[str]) -> None:
        """Refuse values sealed under a pseudonym that has been retired meanwhile.

        The sequencer calls this when it builds a batch, so it takes no lock.

        Raises:
            SubjectRetiredError: one of them is being erased; nothing is written.
        """
        for subject in self._closed & subjects:
            raise SubjectRetiredError(
                f"{subject} is being erased: append again, under a new pseudonym"
            )

    def destroy(self, subject: str) -> bool:
        """Destroy a subject's key and names; return False if they were gone already.

        Raises:
            VaultError: the disk refused; assume that nothing is destroyed.
        """
        with self._lock:
            self.retire(subject)
            path = self._path(subject)
            dying = path.with_suffix(_DYING)
            try:
                if path.exists():
                    path.rename(dying)
                    sync_folder(self._folder)  # a crash here leaves the dying file: `_load` shreds
                there = dying.exists()
                if there:
                    shred(dying, FILE_BYTES)
            except OSError as error:
                raise VaultError(f"cannot destroy {path.name}: {error.strerror}") from error
            gone = self._subjects.pop(subject, None)
            for name in () if gone is None else gone.names:
                self._mentions.pop(name, None)
                if self._retired.get(name) == subject:
                    del self._retired[name]
                for other, one in self._subjects.items():
                    if name in one.names and not (one.is_words or gone is None or gone.is_words):
                        self._by_name.setdefault(name, other)
            return gone is not None or there

    def _salt(self, one: Personal, bound: bytes) -> bytes:
        """Return a value's salt: the same each time, and as secret as the key."""
        key = hmac.digest(self._key_of(one.subject), b"countersign-salt/1", "sha256")
        value = one.value.encode("utf-8", "surrogatepass")
        return hmac.digest(key, len(bound).to_bytes(8) + bound + value, "sha256")

    def _encrypt(self, subject: str, text: bytes, bound: bytes) -> bytes:
        nonce = secrets.token_bytes(_NONCE_BYTES)
        padded = text.ljust(-(-len(text) // _PAD_BYTES) * _PAD_BYTES, b"\0")
        return _FORM + nonce + AESGCM(self._key_of(subject)).encrypt(nonce, padded, bound)

    def _key_of(self, subject: str) -> bytes:
        with self._lock:
            found = self._subjects.get(subject)
        if found is None:
            raise VaultError(f"there is no key of {subject}")
        return found.key

    def _path(self, subject: str) -> Path:
        if not is_subject(subject):
            raise VaultError(f"{subject!r:.40} is not a pseudonym")
        return self._folder / f"{subject}{_SUFFIX}"

    def _store(self, subject: str, content: _Subject) -> None:
        said: dict[str, object] = {"key": content.key.hex(), "names": list(content.names)}
        data = json.dumps(said | ({"words": True} if content.is_words else {})).encode()
        path, scratch = self._path(subject), self._path(subject).with_suffix(_NEW)
        try:
            handle = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(data.ljust(FILE_BYTES))
                file.flush()
                os.fsync(file.fileno())
            scratch.rename(path)
            sync_folder(self._folder)
        except OSError as error:
            raise VaultError(f"cannot store a new key: {error.strerror}") from error


def has_sealed_form(data: bytes) -> bool:
    """Return whether bytes have the form of an encrypted value: version, nonce, padded text."""
    text = len(data) - 1 - _NONCE_BYTES - _TAG_BYTES
    return data.startswith(_FORM) and text > 0 and text % _PAD_BYTES == 0


def _bound(log: str, stream: str, key: str, path: str, position: int, subject: str) -> bytes:
    """Return the associated data that binds a value to its place."""
    return canonical(["countersign-disclosure/1", log, stream, key, path, position, subject])
