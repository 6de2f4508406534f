"""The verbs rotate-key and revoke-key, on a stopped installation.

They take its lock, start its database if it is down, write the record before they change a key, and
can be repeated after a crash at any point. Verifiers get the statements from rotation-ID.note and
revocation-ID.note beside the keys.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from audit.errors import NoteError
from audit.privacy.vault import Sealer, Vault
from audit.records.kinds import Kind
from audit.records.record import Draft
from audit.records.record_kind import Filing, RecordKind
from audit.sequencer.clock_watch import read_clock
from audit.sequencer.ledger import Ledger, LedgerConfig
from audit.signers.file import Signer
from audit.store.reader import LedgerReader
from audit.tlog.note import VerifierKey
from audit.tlog.rotation import Rotation, revoke, rotate
from gateway import clock
from gateway.errors import RequestError
from gateway.installation.keys.log_keys import (
    hand_over,
    keep_statement,
    load_signers,
    make_key,
    next_of,
    old_of,
    open_key,
    place_of,
    predecessors,
    retire,
    rotations_to,
    settle,
)
from gateway.installation.keys.row_keys import RowKeys, make_secret
from gateway.installation.place import Place, attached, require_ledger
from gateway.installation.settings import Settings
from gateway.installation.state import StateFolder


def open_ledger(place: Place, vault: Sealer | None = None) -> Ledger:
    """Open the ledger of a stopped installation with every key that signs.

    If it was restored to a state before a change of keys, that change is recorded again. Personal
    words go to `vault`, by default the installation's own.

    Raises:
        LedgerError: it cannot be opened.
        SettingsError: there is no key.
    """
    signer, *others = load_signers(place.state, place.settings.ledger, create=False)
    current = place.state.ledger_key
    if place.settings.ledger.dsn is None:
        make_secret(place.state.keys)  # the development profile's own database
    rows = RowKeys(place.state, signer.vkey.name)
    config = LedgerConfig(
        dsn=place.dsn,
        predecessors=predecessors(current, signer.vkey),
        clock_source=read_clock,
        mac=rows.begin().mac,
    )
    names = Vault(place.state.vault) if vault is None else vault
    ledger = Ledger.open(config, signer, clock.wall_us, co_signers=others, vault=names)
    try:
        rows.settle(ledger)
        record_changes(ledger, place.reader, current, signer.vkey)
    except BaseException:
        ledger.close()
        raise
    return ledger


@contextmanager
def held_against_key(place: Place) -> Iterator[LedgerReader]:
    """Yield a reader that refuses rows without our MAC, of a ledger that `open_ledger` opened."""
    rows = RowKeys(place.state, place.settings.ledger.origin)
    reader = LedgerReader(place.dsn, row_key=rows.key)
    try:
        yield reader
    finally:
        reader.close()


def record_changes(
    ledger: Ledger, reader: LedgerReader, current: Path, present: VerifierKey
) -> None:
    """Record the rotations that led to the present key, where a restored log lacks them.

    The statement that both keys signed is still valid: a holder of the earlier key follows it.

    Raises:
        AuditError: the ledger does not take a record, or a statement cannot be read.
    """
    chain = rotations_to(current, present)
    if not chain:
        return
    there = {(one.old_vkey, one.new_vkey) for one in _on_record(reader)}
    for rotation in chain:
        if (str(rotation.old), str(rotation.new)) not in there:
            ledger.append(_rotated(rotation))


def rotate_key(settings: Settings, to: str) -> int:
    """Rotate to a new key in a file or a device; the old one still signs beside it.

    Raises:
        RequestError: the overlap of an earlier rotation has not ended.
    """
    with stopped(settings) as place:
        current, origin = place.state.ledger_key, settings.ledger.origin
        settle(current, origin)
        if old_of(current).exists():
            raise _refused("the last rotation still overlaps: countersign rotate-key --finish")
        load_signers(place.state, settings.ledger, create=False)  # fail before a key is made
        if not next_of(current).exists():
            _say("making the new key")
            make_key(next_of(current), origin, to)
        # a crash here leaves a next key, which signs beside the present one; repeating uses it
        old, new = open_key(current, origin), open_key(next_of(current), origin)
        _say("recording the rotation, signed by both keys")
        with open_ledger(place) as ledger:
            statement = _record_rotation(place, ledger, old, new)
            # a crash here leaves the statement on record, where `_record_rotation` finds it
            ledger.checkpoint_now()
        note = current.with_name(f"rotation-{old.vkey.key_id.hex()}.note")
        keep_statement(note, statement.encode())
        hand_over(current)  # a crash between its renames is recovered by `settle`
        _say(f"the log's key is now\n  {new.vkey}")
        _say(f"verifiers that hold the old key follow it with\n  {note}")
        if place_of(current) != settings.ledger.signer:
            _say(f"before the next start set\n  COUNTERSIGN_LEDGER__SIGNER='{place_of(current)}'")
        _say("both keys sign until, when every reader has the new one:")
        _say("  countersign rotate-key --finish")
    return 0


def finish_rotation(settings: Settings) -> int:
    """End the overlap: record the end of the old private key, then destroy it.

    Raises:
        RequestError: no rotation overlaps.
    """
    with stopped(settings) as place:
        current = place.state.ledger_key
        if settle(current, settings.ledger.origin):
            _say("the old private key is destroyed now, as the ledger says")
            return 0
        if not old_of(current).exists():
            raise _refused("no rotation overlaps: countersign rotate-key begins one")
        old = open_key(old_of(current), settings.ledger.origin).vkey
        key_id = old.key_id.hex()
        _say("recording the end of the old key")
        with open_ledger(place) as ledger:
            ledger.append(KeyDestroyed(vkey=str(old)).draft(key_id=key_id))
            # a crash here leaves the end on record and the old key signing: repeat --finish
            ledger.checkpoint_now()
        retire(current, key_id)
        _say(f"the old private key {key_id} is destroyed; only the new one signs")
        _say(f"its verifier key stays in\n  {current.with_name(f'retired-{key_id}.pub')}")
        _say("keep rotation-*.note with the keys: without it an older backup can only be read")
    return 0


def revoke_key(settings: Settings, vkey: str, from_us: int | None, reason: str) -> int:
    """Record that another key of the log is not trusted from `from_us` on (UTC; None: now).

    Raises:
        RequestError: `vkey` is neither a verifier key nor a file with one.
        NoteError: it is the present key, or a key of another log.
    """
    key = _vkey(vkey)
    key_id = key.key_id.hex()
    with stopped(settings) as place:
        signer = load_signers(place.state, settings.ledger, create=False)[0]
        record = revoke(signer, key, clock.wall_us() if from_us is None else from_us)
        revoked = KeyRevoked(
            statement=record.statement.decode(),
            vkey=str(key),
            from_us=record.from_us,
            reason=reason,
        )
        draft = revoked.draft(key_id=key_id)
        _say("recording the revocation, signed by the present key")
        with open_ledger(place) as ledger:
            ledger.append(draft)
            # a crash here leaves no note beside the keys: repeat it; the earlier time counts
            ledger.checkpoint_now()
        note = place.state.ledger_key.with_name(f"revocation-{key_id}.note")
        keep_statement(note, record.statement)
        since = datetime.fromtimestamp(record.from_us / 1_000_000, tz=UTC).isoformat(
            timespec="seconds"
        )
        _say(f"key {key_id} is not trusted for signatures from {since} on")
        _say(f"verifiers need\n  {note}")
        if old_of(place.state.ledger_key).exists():
            _say("an old key still signs beside the present one: countersign rotate-key --finish")
    return 0


def _record_rotation(place: Place, ledger: Ledger, old: Signer, new: Signer) -> str:
    """Record a rotation, or find the record of an interrupted one; return its statement."""
    for found in _on_record(place.reader):
        if (found.old_vkey, found.new_vkey) == (str(old.vkey), str(new.vkey)):
            return found.statement
    rotation = rotate(old, new, ledger.size, clock.wall_us())
    ledger.append(_rotated(rotation))
    return rotation.statement.decode()


def _rotated(rotation: Rotation) -> Draft:
    return KeyRotated(
        statement=rotation.statement.decode(),
        old_vkey=str(rotation.old),
        new_vkey=str(rotation.new),
        from_size=rotation.from_size,
        from_us=rotation.from_us,
    ).draft(key_id=rotation.old.key_id.hex())


class KeyRotated(RecordKind, frozen=True, kw_only=True):
    """The log's key is followed by another."""

    filing = Filing("control", "rotated:{key_id}", "cli")

    statement: str
    old_vkey: str
    new_vkey: str
    from_size: int
    from_us: int


class KeyRevoked(RecordKind, frozen=True, kw_only=True):
    """A key of the log counts no more from a time on."""

    filing = Filing("control", "revoked:{key_id}:{from_us}", "cli", early="reason")

    statement: str
    vkey: str
    from_us: int
    reason: str


class KeyDestroyed(RecordKind, frozen=True, kw_only=True):
    """A key of the log is destroyed here."""

    filing = Filing("control", "destroyed:{key_id}", "cli")

    vkey: str


def _on_record(reader: LedgerReader) -> Iterator[KeyRotated]:
    records = reader.records(stream="control", kinds=(Kind.KEY_ROTATED,))
    return (KeyRotated.of(record) for record in records)


@contextmanager
def stopped(settings: Settings) -> Iterator[Place]:
    """Lock a stopped installation and yield its ledger.

    Raises:
        StateInUseError: a gateway runs on it.
        NoLedgerError: there is no ledger; nothing was made.
    """
    state = StateFolder.of(settings)
    require_ledger(settings)
    with state.lock(), attached(settings) as place:
        yield place


def _vkey(text: str) -> VerifierKey:
    path = Path(text)
    try:
        return VerifierKey.parse(path.read_text(encoding="utf-8") if path.is_file() else text)
    except (OSError, UnicodeDecodeError) as error:
        raise _refused(f"cannot read {path}: {error}") from error
    except NoteError as error:
        raise _refused(f"{text:.200} is neither a verifier key nor a file: {error}") from error


def _refused(problem: str) -> RequestError:
    return RequestError(problem=problem)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
