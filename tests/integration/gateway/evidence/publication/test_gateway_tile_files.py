"""A mirror that was changed: `tiles` names it as `fsck --tiles` does, and heals it only if told."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from typer.testing import CliRunner

from audit.errors import FileError, LedgerUnsafeError
from audit.store.reader import LedgerReader
from audit.tlog.checkpoint import make_checkpoint
from audit.tlog.note import parse_note
from audit.verifier.verify import INCOMPLETE, NOT_CHECKABLE, OK, TAMPERED
from gateway.cli.main import app
from gateway.evidence.integrity import Given, fsck_tiles
from gateway.evidence.publication.mirror import ASIDE, write_tree
from gateway.evidence.publication.published import LogFiles
from tests.doubles.audit_log import OTHER_SIGNER, SIGNER, note
from tests.doubles.audit_server import opened

pytestmark = pytest.mark.postgres
GIVEN = Given(keys=[str(SIGNER.vkey)])
FULL, ABOVE, BUNDLE = "tile/0/001", "tile/1/000.p/2", "tile/entries/000"
Change = Callable[[Path], object]


@pytest.fixture
def log(postgres_dsn: str) -> Iterator[LogFiles]:
    """A log of 700 records under a checkpoint."""
    with opened(postgres_dsn) as ledger:
        ledger.append(*(note(str(n)) for n in range(700)))
        ledger.checkpoint_now()
    reader = LedgerReader(postgres_dsn)
    yield LogFiles(reader=reader, keys=[SIGNER.vkey])
    reader.close()


def flipped(name: str, place: int = 20) -> Change:
    def change(folder: Path) -> None:
        data = bytearray((folder / name).read_bytes())
        data[place] ^= 1
        (folder / name).write_bytes(data)

    return change


def cut(name: str, left: int) -> Change:
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes()[:left])


def copied(name: str, to: str) -> Change:
    return lambda folder: (folder / to).write_bytes((folder / name).read_bytes())


def gone(name: str) -> Change:
    return lambda folder: (folder / name).unlink()


def partial(folder: Path, kind: str = "0") -> str:
    """The name of the last tile, or of the last bundle."""
    return str(next((folder / "tile" / kind / "002.p").iterdir()).relative_to(folder))


def changes(folder: Path) -> tuple[tuple[str, Change, int], ...]:
    last, last_bundle = partial(folder), partial(folder, "entries")
    return (
        (FULL, flipped(FULL), TAMPERED),
        (FULL, flipped(FULL, 8191), TAMPERED),
        (FULL, cut(FULL, 8160), TAMPERED),
        (FULL, copied("tile/0/000", FULL), TAMPERED),
        (last, flipped(last), TAMPERED),
        (last, cut(last, 0), TAMPERED),
        (ABOVE, flipped(ABOVE), TAMPERED),
        (BUNDLE, flipped(BUNDLE), TAMPERED),
        (BUNDLE, cut(BUNDLE, 5000), TAMPERED),
        (BUNDLE, copied("tile/entries/001", BUNDLE), TAMPERED),
        (last_bundle, flipped(last_bundle), TAMPERED),
        ("checkpoint", cut("checkpoint", 60), TAMPERED),
        ("checkpoint", cut("checkpoint", 0), TAMPERED),
        ("checkpoint", flipped("checkpoint", 3), TAMPERED),  # the log's name
        ("checkpoint", flipped("checkpoint", 30), TAMPERED),  # its root
        (FULL, gone(FULL), INCOMPLETE),
        (ABOVE, gone(ABOVE), INCOMPLETE),
        (BUNDLE, gone(BUNDLE), INCOMPLETE),
        ("checkpoint", gone("checkpoint"), NOT_CHECKABLE),
    )


def files(folder: Path) -> dict[str, bytes]:
    """Everything in a folder but what was set aside."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ASIDE not in path.parts
    }


def test_a_changed_file_is_named_and_kept_and_a_missing_one_written(
    log: LogFiles, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sound = tmp_path / "sound"
    assert write_tree(log, sound) == OK
    assert fsck_tiles(sound, GIVEN) == OK
    for number, (name, change, code) in enumerate(changes(sound)):
        folder = tmp_path / str(number)
        shutil.copytree(sound, folder)
        change(folder)
        before = files(folder)
        assert fsck_tiles(folder, GIVEN) == code, (number, name)
        capsys.readouterr()
        if code == TAMPERED:
            assert write_tree(log, folder) == TAMPERED, (number, name)
            said = capsys.readouterr().out.splitlines()
            assert said[0] == said[-1]
            assert said[-1].startswith(f"TAMPERED: {name} is not what the log signed")
            assert files(folder) == before, "something was written"
            assert write_tree(log, folder, repair=True) == OK
            assert (folder / ASIDE / name).read_bytes() == before[name]
        else:
            assert write_tree(log, folder) == OK, (number, name)
            assert not (folder / ASIDE).exists()
        assert fsck_tiles(folder, GIVEN) == OK
        assert files(folder) == files(sound)


def test_a_signature_that_was_changed_is_seen_as_far_as_it_is_the_logs(
    log: LogFiles, tmp_path: Path
) -> None:
    folder = tmp_path / "mirror"
    assert write_tree(log, folder) == OK
    sound = (folder / "checkpoint").read_bytes()
    own = next(one for one in parse_note(sound).signatures if one.key_id == SIGNER.vkey.key_id)
    other = replace(own, signature=own.signature[::-1])
    (folder / "checkpoint").write_bytes(sound.replace(str(own).encode(), str(other).encode()))
    assert fsck_tiles(folder, GIVEN) == TAMPERED
    assert write_tree(log, folder) == TAMPERED
    newest = log.reader.checkpoints(limit=1)[0]
    forged = make_checkpoint(newest.size, bytes(32), OTHER_SIGNER)
    (folder / "checkpoint").write_bytes(forged.note)
    assert write_tree(log, folder) == TAMPERED
    signed = make_checkpoint(newest.size, bytes(32), SIGNER).note
    (folder / "checkpoint").write_bytes(signed)
    for repair in (False, True):
        with pytest.raises(LedgerUnsafeError, match="does not extend"):
            write_tree(log, folder, repair=repair)
    assert (folder / "checkpoint").read_bytes() == signed, "it is proof of a fork"


def test_a_mirror_grows_past_a_change_only_unchecked_or_repaired(
    log: LogFiles, postgres_dsn: str, tmp_path: Path
) -> None:
    folder = tmp_path / "mirror"
    assert write_tree(log, folder) == OK
    changed = {FULL, partial(folder)}
    for name in changed:
        flipped(name)(folder)
    with opened(postgres_dsn) as ledger:
        ledger.append(*(note(str(n)) for n in range(700, 800)))
        ledger.checkpoint_now()
    before = files(folder)
    assert write_tree(log, folder) == TAMPERED
    assert files(folder) == before
    unchecked = tmp_path / "unchecked"
    shutil.copytree(folder, unchecked)
    assert write_tree(log, unchecked, check=False) == OK
    assert fsck_tiles(unchecked, GIVEN) == TAMPERED
    assert write_tree(log, unchecked) == TAMPERED, "it is covered by the new checkpoint too"
    assert write_tree(log, folder, repair=True) == OK
    assert fsck_tiles(folder, GIVEN) == OK
    aside = [path for path in (folder / ASIDE).rglob("*") if path.is_file()]
    assert {str(path.relative_to(folder / ASIDE)) for path in aside} == changed


def test_a_record_that_was_changed_does_not_reach_a_mirror(
    log: LogFiles, postgres_dsn: str, tmp_path: Path
) -> None:
    with psycopg.connect(postgres_dsn) as admin:
        admin.execute("ALTER TABLE ledger.entry DISABLE TRIGGER ALL")
        admin.execute("ALTER TABLE ledger.entry DROP CONSTRAINT entry_leaf_is_hash")
        admin.execute("UPDATE ledger.entry SET header = header || ' ' WHERE seq = 300")
    folder = tmp_path / "mirror"
    with pytest.raises(LedgerUnsafeError, match="tile/entries/001 do not have the signed hashes"):
        write_tree(log, folder)
    assert not (folder / "checkpoint").exists()


def test_a_file_is_no_folder_to_write_into(log: LogFiles, tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("notes")
    with pytest.raises(FileError, match="notes is not a folder"):
        write_tree(log, tmp_path / "notes")
    assert (tmp_path / "notes").read_text() == "notes"


def test_repair_goes_with_the_check() -> None:
    result = CliRunner().invoke(app, ["tiles", "x", "--no-check", "--repair"])
    assert result.exit_code == 2
    assert "--repair and --no-check exclude each other" in result.output
