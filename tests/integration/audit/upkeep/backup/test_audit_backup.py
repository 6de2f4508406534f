"""A backup comes back as it was, or not at all; what the outside knows of the log decides."""

import gzip
import hashlib
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from audit.errors import BackupError, LedgerFencedError, LedgerUnsafeError
from audit.privacy.vault import Vault
from audit.sequencer.ledger import Ledger, LedgerConfig
from audit.store.tables import connect
from audit.tlog.checkpoint import make_checkpoint
from audit.tlog.cosignature import cosign
from audit.tlog.rotation import rotate
from audit.upkeep.backup.backup import backup
from audit.upkeep.backup.form import STAGES, TABLES
from audit.upkeep.backup.restore import Restored
from audit.verifier.verify import INCOMPLETE, NOT_CHECKABLE, OK, TAMPERED, Outside
from gateway.installation.children.postgres import EmbeddedPostgres
from tests.doubles.audit_log import OTHER_SIGNER, SIGNER, TIME_US, note
from tests.doubles.audit_spoiled import disarm, fill, silent, verify_database
from tests.doubles.backup_world import KEY, KEYED, back, content, empty_ledger, untouched
from tests.doubles.cosigners import WITNESSES

pytestmark = pytest.mark.postgres
POLICY = f"log {KEY}\nwitness w0 {WITNESSES[0].vkey}\nquorum w0\n".encode()


@pytest.fixture
def filled(postgres_dsn: str, tmp_path: Path) -> str:
    """A log with a witness's line and somebody's encrypted values."""
    fill(postgres_dsn, Vault(tmp_path / "vault"))
    with connect(postgres_dsn) as admin:
        row = admin.execute("SELECT size, note FROM ledger.checkpoint WHERE size = 27").fetchone()
        assert row is not None
        text = bytes(row[1]).decode().partition("\n\n")[0] + "\n"
        line = cosign(text, WITNESSES[0], 1_545_868_801)
        admin.execute(
            "INSERT INTO ledger.cosignature VALUES (27, %s, %s, %s, 5)",
            (line.name, line.key_id, str(line).encode()),
        )
    return postgres_dsn


@pytest.fixture
def empty(postgres: EmbeddedPostgres, filled: str) -> Iterator[str]:
    """A second, empty ledger on the same server."""
    assert filled
    with empty_ledger(postgres) as dsn:
        yield dsn


def refused(dsn: str, path: Path) -> bool:
    """Say whether a backup is not restored: damaged by itself, or by the verifier's word."""
    try:
        return back(dsn, path).report.exit_code != OK
    except BackupError:
        return True


def unpacks_to(changed: bytes, data: bytes) -> bool:
    """Say whether a change is of nothing: deflate has bits that say nothing, here and there."""
    try:
        return gzip.decompress(changed) == gzip.decompress(data)
    except (EOFError, OSError, zlib.error):
        return False


def kept(size: int) -> bytes:
    """Return a checkpoint of some size that this log never had, signed by its key."""
    return make_checkpoint(size, bytes(32), SIGNER).note


def test_a_backup_comes_back_as_it_was(filled: str, empty: str, tmp_path: Path) -> None:
    path = tmp_path / "backup.gz"
    before = content(filled)
    assert len(before["disclosure"]) == 3
    assert backup(filled, path, TIME_US, silent).size == 27
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["backup.gz", "vault"]
    assert path.stat().st_mode & 0o777 == 0o600
    with connect(filled) as reader:
        notes = [
            bytes(row[0])
            for row in reader.execute("SELECT note FROM ledger.checkpoint ORDER BY size")
        ]
    outside = Outside(vkeys=[KEY], notes=notes, policy=POLICY)
    result = back(empty, path, outside, vault=Vault(tmp_path / "vault"))
    assert (result.report.exit_code, result.lost) == (OK, 0), result.report.lines
    assert any("3 were opened" in line for line in result.report.lines), result.report.lines
    assert content(empty) == before
    assert result.root == before["head"][0][2]
    assert verify_database(empty, [KEY]).findings == 0
    with pytest.raises(LedgerUnsafeError, match="not empty"):
        back(empty, path)
    config = LedgerConfig(dsn=empty, checkpoint_every_s=0)
    with Ledger.open(config, SIGNER, lambda: TIME_US) as ledger:
        assert ledger.size == 27
        ledger.append(note("after"))
        with pytest.raises(LedgerFencedError):
            back(empty, path)
    assert verify_database(empty, [KEY]).findings == 0


def test_a_backup_ends_where_the_signatures_do(filled: str, empty: str, tmp_path: Path) -> None:
    path, before = tmp_path / "backup.gz", content(filled)
    admin_sql = "DELETE FROM ledger.{} WHERE size > 21"
    disarm(filled)
    with connect(filled) as admin:
        for table in ("checkpoint", "cosignature"):
            admin.execute(admin_sql.format(table).encode())
        row = admin.execute("SELECT max(size) FROM ledger.checkpoint").fetchone()
    assert row is not None
    size = int(row[0])
    assert 0 < size < 27
    assert backup(filled, path, TIME_US, silent).size == size
    result = back(empty, path)
    assert (result.report.exit_code, result.size) == (OK, size), result.report.lines
    assert content(empty)["entry"] == before["entry"][:size]
    assert verify_database(empty, [KEY]).findings == 0


def test_records_that_nobody_signed_are_not_restored(
    filled: str, empty: str, tmp_path: Path
) -> None:
    path, forged = tmp_path / "backup.gz", tmp_path / "forged.gz"
    backup(filled, path, TIME_US, silent)
    lines = gzip.decompress(path.read_bytes()).splitlines(keepends=True)[:-1]
    drop = (b'{"type":"checkpoint","size":27,', b'{"type":"cosignature","size":27,')
    lines = [line for line in lines if not line.startswith(drop)]
    digest = hashlib.sha256(b"".join(lines)).hexdigest()
    end = f'{{"type":"done","lines":{len(lines)},"sha256":"{digest}"}}\n'.encode()
    forged.write_bytes(gzip.compress(b"".join(lines) + end))
    result = back(empty, forged)  # the file's own time is that of its last record
    assert result.report.exit_code == INCOMPLETE, result.report.lines
    assert any("signed by nobody" in line for line in result.report.lines)
    assert untouched(empty)


def test_every_table_of_a_ledger_is_backed_up_but_the_tiles(filled: str) -> None:
    with connect(filled) as admin:
        rows = admin.execute(
            "SELECT table_name, column_name FROM information_schema.columns"
            " WHERE table_schema = 'ledger'"
        ).fetchall()
    left = {(table, column) for table, columns in TABLES.items() for column in columns}
    assert set(rows) - left == {
        ("head", "id"),
        ("head", "fence"),
        ("entry", "mac"),  # a restored ledger's rows count by their root
        *(("tile", column) for column in ("level", "n", "hashes")),
    }
    assert set(STAGES) == set(TABLES)


def test_what_the_outside_knows_decides(filled: str, empty: str, tmp_path: Path) -> None:
    path = tmp_path / "backup.gz"
    backup(filled, path, TIME_US, silent)
    strict = POLICY.replace(str(WITNESSES[0].vkey).encode(), str(WITNESSES[1].vkey).encode())
    stranger = make_checkpoint(30, bytes(32), OTHER_SIGNER).note
    for name, outside, code in (
        ("no key", Outside(), NOT_CHECKABLE),
        ("another key", Outside(vkeys=[str(OTHER_SIGNER.vkey)]), TAMPERED),
        ("a fork at 20", Outside(vkeys=[KEY], notes=[kept(20)]), TAMPERED),
        ("a fork at 27", Outside(vkeys=[KEY], notes=[kept(27)]), TAMPERED),
        ("older", Outside(vkeys=[KEY], notes=[kept(40)]), INCOMPLETE),
        ("a stranger's later one", Outside(vkeys=[KEY], notes=[stranger]), TAMPERED),
        ("no quorum", Outside(policy=strict), INCOMPLETE),
    ):
        result = back(empty, path, outside)
        assert result.report.exit_code == code, (name, result.report.lines)
        assert untouched(empty), name
    forked = Outside(vkeys=[KEY], notes=[kept(20), kept(40)])
    assert back(empty, path, forked, accept_older=True).report.exit_code == TAMPERED
    assert untouched(empty)
    older = back(empty, path, Outside(vkeys=[KEY], notes=[kept(40)]), accept_older=True)
    assert (older.report.exit_code, older.lost, older.known_size) == (OK, 13, 40)
    assert any("lacks the last 13" in line for line in older.report.lines)


def test_a_later_checkpoint_is_judged_across_a_change_of_keys(
    filled: str, empty: str, tmp_path: Path
) -> None:
    path = tmp_path / "backup.gz"
    backup(filled, path, TIME_US, silent)
    change = [rotate(SIGNER, OTHER_SIGNER, 44, TIME_US).statement.decode()]
    new, old = [str(OTHER_SIGNER.vkey)], [KEY]
    by_new = make_checkpoint(60, bytes(32), OTHER_SIGNER).note
    for name, outside, code in (
        ("by the old key, before", Outside(vkeys=new, rotations=change, notes=[kept(40)]), 2),
        ("by the new key, after", Outside(vkeys=old, rotations=change, notes=[by_new]), 2),
        ("by the old key, after", Outside(vkeys=new, rotations=change, notes=[kept(60)]), TAMPERED),
        ("an unknown change", Outside(vkeys=old, notes=[by_new]), TAMPERED),
    ):
        result = back(empty, path, outside)
        assert result.report.exit_code == code, (name, result.report.lines)
        dumped = verify_database(filled, outside.vkeys, outside=outside)
        assert dumped.exit_code == code, (name, dumped.lines)
        assert untouched(empty), name
    outside = Outside(vkeys=new, rotations=change, notes=[kept(40)])
    older = back(empty, path, outside, accept_older=True)
    assert (older.report.exit_code, older.lost) == (OK, 13), older.report.lines


def test_what_is_no_backup_at_all_is_called_so(empty: str, tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    for data in (b'{"type":"head"}\n', b"\x1f", b"\x1f\x8c", b"PK\x03\x04"):
        path.write_bytes(data)
        with pytest.raises(BackupError, match="cut off" if data == b"\x1f" else "not a backup"):
            back(empty, path)


def test_a_damaged_or_altered_backup_leaves_nothing_behind(
    filled: str, empty: str, tmp_path: Path
) -> None:
    path, spoiled = tmp_path / "backup.gz", tmp_path / "spoiled.gz"
    backup(filled, path, TIME_US, silent)
    data = path.read_bytes()
    for place in range(20, len(data), len(data) // 25):
        flipped = data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :]
        for other in (data[:place], *(() if unpacks_to(flipped, data) else (flipped,))):
            spoiled.write_bytes(other)
            assert refused(empty, spoiled), place
    for other in (b"", b"no gzip", gzip.compress(b""), gzip.compress(b"[]\n"), data + data):
        spoiled.write_bytes(other)
        with pytest.raises(BackupError):
            back(empty, spoiled)
        disarm(filled)
        for change, code in (
            ("UPDATE ledger.entry SET actor = 'x' WHERE seq = 9", TAMPERED),
            ("UPDATE ledger.entry SET header = header || '\\x20' WHERE seq = 9", TAMPERED),
            ("DELETE FROM ledger.entry WHERE seq = 26", TAMPERED),
            ("DELETE FROM ledger.blob", INCOMPLETE),
        ):
            with connect(filled) as one, one.transaction(force_rollback=False):
                one.execute(change.encode())
            backup(filled, spoiled, TIME_US, silent)
            result = back(empty, spoiled)
            assert result.report.exit_code in {code, TAMPERED}, (change, result.report.lines)
    assert untouched(empty)


WORKER = """
import os, resource, sys
from pathlib import Path
from audit.upkeep.backup.backup import backup
from audit.upkeep.backup.restore import restore
from audit.verifier.verify import Outside
dsn, path, key, verb, room = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_FSIZE, (int(room), int(room)))
def slow(stage, done, total):
    os.write(1, b"at\\n")
    sys.stdin.readline()
import audit.upkeep.backup.backup, audit.upkeep.backup.restore
audit.upkeep.backup.backup._SHOWN_EVERY = audit.upkeep.backup.restore._SHOWN_EVERY = 4
if verb == "backup":
    backup(dsn, Path(path), 0, slow)
else:
    restore(dsn, Path(path), Outside(vkeys=[key]), slow, accept_older=False)
"""


def started(dsn: str, path: Path, verb: str, room: int = 1 << 30) -> subprocess.Popen[bytes]:
    """Start a verb in a process whose files have so much room."""
    return subprocess.Popen(
        [sys.executable, "-c", WORKER, dsn, str(path), KEY, verb, str(room)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def stopped_in_the_middle(
    dsn: str, path: Path, verb: str, after: int, by: signal.Signals = signal.SIGKILL
) -> None:
    """Start a verb in a process and end it when it has come some way."""
    with started(dsn, path, verb) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        for _ in range(after):
            assert process.stdout.readline() == b"at\n"
            process.stdin.write(b"\n")
            process.stdin.flush()
        process.send_signal(by)
        process.wait()
        assert process.returncode == -by
    wait_until_left(dsn)


def wait_until_left(dsn: str) -> None:
    """Wait until a dead one's back end has left the lock; under load it takes its time."""
    deadline = time.monotonic() + 20
    with connect(dsn) as admin:
        while admin.execute(
            "SELECT FROM pg_locks JOIN pg_database ON pg_database.oid = database"
            " WHERE locktype = 'advisory' AND datname = current_database()"
        ).fetchone():
            assert time.monotonic() < deadline
            time.sleep(0.02)


def once_free(dsn: str, path: Path, outside: Outside) -> Restored:
    """Restore as soon as the dead one's back end has left the lock."""
    deadline = time.monotonic() + 20
    while True:
        try:
            return back(dsn, path, outside)
        except LedgerFencedError:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_killed_in_the_middle_there_is_no_backup_and_no_ledger(
    filled: str, empty: str, tmp_path: Path
) -> None:
    path = tmp_path / "to" / "backup.gz"
    path.parent.mkdir()
    path.write_bytes(b"the one before")
    stopped_in_the_middle(filled, path, "backup", 3)
    assert path.read_bytes() == b"the one before"
    for scratch in path.parent.glob("*.part"):
        assert refused(empty, scratch), "what a kill leaves behind is no backup"
        scratch.unlink()
    stopped_in_the_middle(filled, path, "backup", 3, signal.SIGINT)
    assert path.read_bytes() == b"the one before"
    assert [entry.name for entry in path.parent.iterdir()] == ["backup.gz"]
    backup(filled, path, TIME_US, silent)
    for after, outside, code in ((1, Outside(), NOT_CHECKABLE), (4, KEYED, OK)):
        stopped_in_the_middle(empty, path, "restore", after)
        assert untouched(empty)
        stopped_in_the_middle(empty, path, "restore", after, signal.SIGINT)
        assert untouched(empty)
        assert once_free(empty, path, outside).report.exit_code == code
    assert content(empty) == content(filled)


def test_a_full_disk_leaves_no_file_behind(filled: str, tmp_path: Path) -> None:
    path = tmp_path / "to" / "backup.gz"
    path.parent.mkdir()
    backup(filled, path, 0, silent)
    data = path.read_bytes()
    for there, room in ((b"", 0), (b"", len(data) // 2), (b"the one before", len(data) - 1)):
        path.unlink()
        if there:
            path.write_bytes(there)
        with started(filled, path, "backup", room) as process:
            said = process.communicate(b"\n" * 100)[1].decode()
        assert process.returncode == 1
        assert f"audit.errors.BackupError: cannot write {path}: File too large\n" in said
        assert [entry.read_bytes() for entry in path.parent.iterdir()] == [there] * bool(there)
        path.touch()
    with started(filled, path, "backup", len(data)) as process:
        process.communicate(b"\n" * 100)
    assert process.returncode == 0
    assert path.read_bytes() == data
