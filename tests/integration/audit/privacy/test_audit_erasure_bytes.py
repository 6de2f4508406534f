"""No byte of an erased person is left: the bar is a search through every file, with its control.

After an erasure the name stands nowhere in PostgreSQL's folder, a copy or a backup made before, a
dump or the state folder, in any of the usual encodings; and every proof still verifies.
"""

import gzip
import shutil
import tempfile
from pathlib import Path

import psycopg
import pytest

from audit.store.tables import migrate
from audit.upkeep.backup.backup import backup
from audit.upkeep.dump import dump, verify_database, verify_dump
from tests.doubles.audit_log import TIME_US
from tests.doubles.open_postgres import OpenPostgres
from tests.doubles.privacy_world import NAME, OTHER, TRUSTED, forms, hits, world_at

pytestmark = pytest.mark.postgres


def test_no_byte_of_an_erased_person_is_left(tmp_path: Path) -> None:
    """Data directory, WAL, a copy made before, dumps and the state folder; with its control."""
    tmp_path.chmod(0o711)
    state = Path(tempfile.mkdtemp(prefix="countersign-erasure-"))
    state.chmod(0o711)
    server = OpenPostgres(state)
    copied = tmp_path / "copied"
    try:
        dsn = server.start()
        migrate(dsn)
        with world_at(dsn, state) as world:
            seq = world.said(NAME)
            world.said(OTHER)
            world.ledger.checkpoint_now()
            dump(dsn, tmp_path / "before.dump")
            backup(dsn, tmp_path / "before.backup", TIME_US, lambda *_: None)
            plain = gzip.decompress((tmp_path / "before.backup").read_bytes())
            (tmp_path / "before.plain").write_bytes(plain)
            with psycopg.connect(dsn, autocommit=True) as connection:
                connection.execute("CHECKPOINT")
            # the value is in the vault, and nowhere else: the search does find what is there
            assert {hit.split(" as ")[0] for hit in hits(NAME, state)} == {
                f"{world.vault.find(NAME)}.subject"
            }
            planted = tmp_path / "planted"
            for form in forms(NAME).values():
                planted.write_bytes(b"some text" + form + b"more")
                assert hits(NAME, planted)
            planted.unlink()
            shutil.copytree(
                state, copied, ignore=shutil.ignore_patterns("vault", "*.sock*", ".s.*")
            )
            world.privacy().erase(NAME, basis="GDPR art. 17(1)(b)", actor="operator")
            world.ledger.checkpoint_now()
            dump(dsn, tmp_path / "after.dump")
            assert verify_database(dsn, TRUSTED).exit_code == 0
            world.now_us += 1
            (gone,) = world.privacy().disclose(seq, reader="auditor", reason="check")
            assert gone.value is None
        for name in ("before.dump", "after.dump"):
            assert verify_dump(tmp_path / name, TRUSTED).exit_code == 0
        assert any(path.name == "pg_wal" for path in copied.rglob("*"))
        assert hits(NAME, state, tmp_path) == []
        assert hits(OTHER, state), "the other person stays"
    finally:
        server.stop()
        shutil.rmtree(state, ignore_errors=True)
