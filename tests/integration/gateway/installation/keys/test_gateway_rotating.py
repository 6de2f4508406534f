"""rotate-key and revoke-key on a real installation, cut off at every point, and into a device."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from audit.errors import AuditError, KeyFileError, LedgerUnsafeError, NoteError
from audit.privacy.vault import Vault
from audit.records.kinds import Kind
from audit.records.record import Draft
from audit.sequencer.ledger import Ledger
from audit.store.reader import LedgerReader
from audit.tlog.note import VerifierKey, parse_note
from audit.tlog.rotation import KeyRecord, open_trusted, parse_key_record, revoke, trusted_keys
from audit.upkeep.backup.backup import backup
from audit.upkeep.dump import verify_database
from audit.verifier.verify import Outside
from gateway.errors import RequestError, SettingsError, StateInUseError
from gateway.installation.children.postgres import EmbeddedPostgres
from gateway.installation.keys import log_keys
from gateway.installation.keys import rotation as rotating
from gateway.installation.keys.log_keys import load_signers, place_of
from gateway.installation.keys.row_keys import make_secret, permit_restored
from gateway.installation.place import Place
from gateway.installation.settings import LedgerSettings, Settings
from gateway.installation.state import StateFolder
from tests.doubles.audit_spoiled import silent
from tests.doubles.backup_world import back, empty_ledger
from tests.doubles.softhsm import Token

ORIGIN = "rotating.example/log"


class Desk:
    """One installation: a state folder, a key folder and a database."""

    def __init__(self, dsn: str, root: Path, **ledger: object) -> None:
        """Make the folders and the first key."""
        self.settings = Settings(
            state=root,
            ledger=LedgerSettings.model_validate({"dsn": dsn, "origin": ORIGIN, **ledger}),
        )
        self.dsn = dsn
        self.state = StateFolder.of(self.settings)
        self.state.create()
        self.keys = self.state.keys
        self.keys.mkdir()
        self.root_key = load_signers(self.state, self.settings.ledger, create=True)[0].vkey
        make_secret(self.state.keys)

    def moved(self, signer: str) -> None:
        """Name the other place of the key, as the operator is told to."""
        ledger = self.settings.ledger.model_copy(update={"signer": signer})
        self.settings = self.settings.model_copy(update={"ledger": ledger})

    def ledger(self) -> Ledger:
        """Open the ledger as a gateway would."""
        reader = LedgerReader(self.dsn)
        return rotating.open_ledger(
            Place(dsn=self.dsn, reader=reader, state=self.state, settings=self.settings)
        )

    def work(self, text: str) -> bytes:
        """Append a record and return the note of the checkpoint after it."""
        with self.ledger() as ledger:
            ledger.append(
                Draft(
                    stream="control",
                    kind=Kind.OPERATOR_NOTE,
                    payload={"text": text},
                    actor="cli",
                    idem_key=f"note:{text}",
                )
            )
            checkpoint = ledger.checkpoint_now()
        assert checkpoint is not None
        return checkpoint.note

    def records(self) -> list[KeyRecord]:
        """Read the key statements from the log."""
        reader = LedgerReader(self.dsn)
        kinds = (Kind.KEY_ROTATED, Kind.KEY_REVOKED)
        found = [r.body["statement"] for r in reader.records(stream="control", kinds=kinds)]
        reader.close()
        return [parse_key_record(str(statement).encode()) for statement in found]

    def count(self, kind: Kind) -> int:
        """Count a kind's records."""
        reader = LedgerReader(self.dsn)
        found = len(list(reader.records(stream="control", kinds=(kind,))))
        reader.close()
        return found


@pytest.fixture
def desk(postgres_dsn: str, tmp_path: Path) -> Desk:
    """An installation with one key in a file."""
    return Desk(postgres_dsn, tmp_path / "state")


def names(note: bytes) -> set[bytes]:
    return {line.key_id for line in parse_note(note).signatures if line.name == ORIGIN}


def test_a_rotation_overlaps_and_ends_and_readers_follow_it(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    before = desk.work("before")
    assert names(before) == {desk.root_key.key_id}
    assert rotating.rotate_key(desk.settings, "file") == 0
    new = load_signers(desk.state, desk.settings.ledger, create=False)[0].vkey
    assert str(new) in capsys.readouterr().out
    during = desk.work("during")
    assert names(during) == {desk.root_key.key_id, new.key_id}
    with pytest.raises(RequestError, match="--finish"):
        rotating.rotate_key(desk.settings, "file")
    assert rotating.finish_rotation(desk.settings) == 0
    after = desk.work("after")
    assert names(after) == {new.key_id}
    keys = trusted_keys([desk.root_key], desk.records())
    for note in (before, during, after):
        open_trusted(note, keys)
    with pytest.raises(NoteError):
        open_trusted(after, trusted_keys([desk.root_key], []))
    assert sorted(path.name for path in desk.keys.iterdir() if not path.match("rows.*")) == [
        "ledger.key",
        "ledger.key.pub",
        f"retired-{desk.root_key.key_id.hex()}.pub",
        f"rotation-{desk.root_key.key_id.hex()}.note",
    ]
    assert VerifierKey.parse((desk.keys / "ledger.key.pub").read_text()) == new
    statement = (desk.keys / f"rotation-{desk.root_key.key_id.hex()}.note").read_bytes()
    assert [parse_key_record(statement)] == desk.records()
    assert desk.count(Kind.KEY_DESTROYED) == 1
    assert set(log_keys.own_vkeys(desk.state.ledger_key)) == {str(new), str(desk.root_key)}
    with pytest.raises(RequestError, match="no rotation"):
        rotating.finish_rotation(desk.settings)


def test_a_rotation_without_the_present_key_makes_no_other(desk: Desk) -> None:
    (desk.keys / "ledger.key").rename(desk.keys / "elsewhere")
    before = sorted(desk.keys.iterdir())
    with pytest.raises(SettingsError, match="bring the log's key there"):
        rotating.rotate_key(desk.settings, "file")
    assert sorted(desk.keys.iterdir()) == before


def test_a_revoked_key_is_on_record_and_no_longer_counts(desk: Desk) -> None:
    early = desk.work("early")
    rotating.rotate_key(desk.settings, "file")
    rotating.finish_rotation(desk.settings)
    public = desk.keys / f"retired-{desk.root_key.key_id.hex()}.pub"
    assert rotating.revoke_key(desk.settings, str(public), 1_000_000, "laptop lost") == 0
    keys = trusted_keys([desk.root_key], desk.records())
    open_trusted(early, keys, made_us=999_999)
    with pytest.raises(NoteError):
        open_trusted(early, keys, made_us=1_000_000)
    open_trusted(desk.work("late"), keys)
    present = load_signers(desk.state, desk.settings.ledger, create=False)[0].vkey
    with pytest.raises(NoteError, match="itself"):
        rotating.revoke_key(desk.settings, str(present), None, "no")
    text = desk.keys / "notes.txt"
    text.write_text("notes of a meeting\n" * 100)
    for wrong in ("not a key", str(text)):
        with pytest.raises(
            RequestError, match=f"^{wrong} is neither a verifier key nor a file"
        ) as refused:
            rotating.revoke_key(desk.settings, wrong, None, "no")
        assert len(str(refused.value)) < 500


def test_words_of_the_verbs_name_nobody_who_is_known(desk: Desk) -> None:
    """With no gateway running too: the verb opens the vault beside the ledger."""
    known = Vault(desk.state.vault).subject("Ada Byron")
    rotating.rotate_key(desk.settings, "file")
    rotating.finish_rotation(desk.settings)
    public = desk.keys / f"retired-{desk.root_key.key_id.hex()}.pub"
    assert rotating.revoke_key(desk.settings, str(public), 1, "Ada Byron lost her laptop") == 0
    reader = LedgerReader(desk.dsn)
    (revoked,) = reader.records(kinds=(Kind.KEY_REVOKED,))
    reader.close()
    assert revoked.body["reason"] == known
    assert b"Ada" not in revoked.payload


class Cut(Exception):  # noqa: N818 - a crash, not an error
    """The process dies here."""


def _die(*_args: object, **_named: object) -> None:
    raise Cut


def _write_and_die(*args: Any) -> None:  # noqa: ANN401 - passed on
    RECORD(*args)
    raise Cut


RECORD = rotating._record_rotation  # noqa: SLF001 - the crash comes right after it
CUTS = {
    "before the record": (rotating, "_record_rotation", _die),
    "after the record": (rotating, "_record_rotation", _write_and_die),
    "before the renames": (rotating, "hand_over", _die),
    "after the renames": (log_keys, "sync_folder", _die),
}


@pytest.mark.parametrize("cut", CUTS)
def test_a_rotation_cut_off_anywhere_is_taken_up_again(
    desk: Desk, cut: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.work("before")
    with monkeypatch.context() as patch:
        patch.setattr(*CUTS[cut])
        with pytest.raises(Cut):
            rotating.rotate_key(desk.settings, "file")
    between = desk.work("between")
    open_trusted(between, trusted_keys([desk.root_key], desk.records()))
    if not log_keys.old_of(desk.state.ledger_key).exists():
        rotating.rotate_key(desk.settings, "file")
    assert desk.count(Kind.KEY_ROTATED) == 1
    rotating.finish_rotation(desk.settings)
    open_trusted(desk.work("after"), trusted_keys([desk.root_key], desk.records()))


def test_a_crash_between_the_two_renames_is_made_good(desk: Desk) -> None:
    rotating.rotate_key(desk.settings, "file")
    current = desk.state.ledger_key
    new = current.read_bytes()
    current.rename(log_keys.next_of(current))
    Path(f"{current}.pub").rename(f"{log_keys.next_of(current)}.pub")
    load_signers(desk.state, desk.settings.ledger, create=False)
    assert current.read_bytes() == new
    assert Path(f"{current}.pub").exists()


def test_a_finish_cut_off_before_the_key_is_gone_is_taken_up_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    rotating.rotate_key(desk.settings, "file")
    with monkeypatch.context() as patch:
        patch.setattr(rotating, "retire", _die)
        with pytest.raises(Cut):
            rotating.finish_rotation(desk.settings)
    assert log_keys.old_of(desk.state.ledger_key).exists()
    rotating.finish_rotation(desk.settings)
    assert desk.count(Kind.KEY_DESTROYED) == 1
    assert not log_keys.old_of(desk.state.ledger_key).exists()


def test_a_running_installation_is_left_alone(desk: Desk) -> None:
    verbs: tuple[Callable[[], int], ...] = (
        lambda: rotating.rotate_key(desk.settings, "file"),
        lambda: rotating.finish_rotation(desk.settings),
        lambda: rotating.revoke_key(desk.settings, str(desk.root_key), None, "x"),
    )
    with desk.state.lock():
        for verb in verbs:
            with pytest.raises(StateInUseError):
                verb()
    there = [path.name for path in sorted(desk.keys.iterdir())]
    assert there == ["ledger.key", "ledger.key.pub", "rows.key"]


def test_the_log_cosigns_with_its_own_ml_dsa_key_where_asked(
    postgres_dsn: str, tmp_path: Path
) -> None:
    desk = Desk(postgres_dsn, tmp_path / "state", ml_dsa=True)
    signers = load_signers(desk.state, desk.settings.ledger, create=False)
    assert [signer.vkey.key_type for signer in signers] == [1, 6]
    note = desk.work("quantum")
    assert names(note) == {signer.vkey.key_id for signer in signers}
    open_trusted(note, trusted_keys([signers[1].vkey], []))


def test_a_key_moves_from_a_file_into_a_device_and_between_devices(
    desk: Desk, tmp_path: Path
) -> None:
    folder = tmp_path / "device"
    folder.mkdir()
    with Token.create(folder) as token:
        desk.work("before")
        rotating.rotate_key(desk.settings, token.uri("first"))
        assert place_of(desk.state.ledger_key) == token.uri("first")
        with pytest.raises(SettingsError, match="rotate-key --to"):
            desk.ledger()
        desk.moved(token.uri("first"))
        assert len(names(desk.work("during"))) == 2
        rotating.finish_rotation(desk.settings)
        rotating.rotate_key(desk.settings, token.uri("second"))
        desk.moved(token.uri("second"))
        assert len(names(desk.work("between devices"))) == 2
        rotating.finish_rotation(desk.settings)
        after = desk.work("after")
        open_trusted(after, trusted_keys([desk.root_key], desk.records()))
        assert len(names(after)) == 1
        with pytest.raises(AuditError, match="0 keys"):
            log_keys.open_key(_file_of(tmp_path, token.uri("first")), ORIGIN)


def _file_of(folder: Path, uri: str) -> Path:
    path = folder / "again.key"
    path.write_text(uri + "\n")
    path.chmod(0o600)
    return path


def test_a_backup_from_before_a_change_of_keys_is_gone_on_from(
    desk: Desk, tmp_path: Path, postgres: EmbeddedPostgres
) -> None:
    desk.work("before")
    backup(desk.dsn, tmp_path / "old.backup", 1, silent)
    for _ in range(2):
        rotating.rotate_key(desk.settings, "file")
        rotating.finish_rotation(desk.settings)
    present = load_signers(desk.state, desk.settings.ledger, create=False)[0].vkey
    last = desk.work("lost")
    first = desk.keys / f"rotation-{desk.root_key.key_id.hex()}.note"
    with empty_ledger(postgres) as dsn:
        known = Outside(vkeys=[str(desk.root_key)])
        result = back(dsn, tmp_path / "old.backup", known)
        assert result.report.exit_code == 0
        permit_restored(desk.state, result.size, result.root)  # as the verb does
        desk.dsn = dsn
        statement = first.read_bytes()
        first.unlink()  # without it nothing leads from the one key to the other
        with pytest.raises(LedgerUnsafeError, match="last checkpoint"):
            desk.work("refused")
        first.write_bytes(b"x")
        with pytest.raises(KeyFileError, match="rotation-"):
            desk.work("refused")
        first.write_bytes(statement)
        revocation = desk.keys / "revocation-1.note"
        revocation.write_bytes(revoked_by(desk, 1))
        with pytest.raises(LedgerUnsafeError, match="no longer count"):
            desk.work("refused")
        revocation.unlink()
        assert names(desk.work("after")) == {present.key_id}
        desk.work("and again")
        assert desk.records()[0].statement == statement
        assert len(desk.records()) == 2
        for key in (desk.root_key, present):
            report = verify_database(dsn, [str(key)])
            assert report.exit_code == 0, report.lines
        assert verify_database(dsn, [str(desk.root_key)], [last]).exit_code != 0


def revoked_by(desk: Desk, from_us: int) -> bytes:
    """Return a statement of the present key that the first one is revoked."""
    signer = load_signers(desk.state, desk.settings.ledger, create=False)[0]
    return revoke(signer, desk.root_key, from_us).statement
