"""What a superuser puts in a table's place, so that checkers see other rows than everybody else."""

# ruff: noqa: S608 - statements are this file's own constants

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from audit.errors import LedgerWriteError
from audit.sequencer.ledger import Ledger, LedgerConfig
from audit.store.catalog import changed_schema
from audit.store.tables import connect
from audit.verifier.verify import OK, TAMPERED, Report
from tests.doubles.audit_log import SIGNER, TIME_US, note
from tests.doubles.audit_spoiled import (
    disarm,
    fill,
    fsck_database,
    plan_of,
    silent,
    verify_database,
)

pytestmark = pytest.mark.postgres
KEY = str(SIGNER.vkey)
HIDES = "current_setting('application_name') <> 'countersign-fsck'"
ENTRY = "ALTER TABLE ledger.entry "
FORGED = "INSERT INTO ledger.entry SELECT * FROM ledger.entry WHERE seq = 5"
UNKEYED = (
    "UPDATE ledger.entry SET seq = NULL"
    " WHERE ctid = (SELECT max(ctid) FROM ledger.entry WHERE seq = 5)"
)
VIEWED = (
    "ALTER TABLE ledger.entry RENAME TO forged",
    f"CREATE VIEW ledger.entry AS SELECT * FROM ledger.forged WHERE seq < 5 OR {HIDES}",
    "GRANT SELECT ON ledger.entry TO countersign_reader",
)
TRICKS: dict[str, tuple[str, ...]] = {
    "ledger.entry: row-level security": (
        f"CREATE POLICY p ON ledger.entry USING (seq < 5 OR {HIDES})",
        ENTRY + "ENABLE ROW LEVEL SECURITY",
    ),
    "ledger.entry: a view": VIEWED,
    "ledger.tile: gone": ("ALTER TABLE ledger.tile RENAME TO gone",),
    "ledger.disclosure: unlogged": ("ALTER TABLE ledger.disclosure SET UNLOGGED",),
    "ledger.blob: a rule": ("CREATE RULE r AS ON INSERT TO ledger.blob DO INSTEAD NOTHING",),
    "ledger.checkpoint: a child": ("CREATE TABLE ledger.child () INHERITS (ledger.checkpoint)",),
    "ledger.entry: padded texts": (ENTRY + "ALTER actor TYPE char(60)",),
    "ledger.entry: another collation": (ENTRY + 'ALTER kind TYPE text COLLATE "POSIX"',),
    "ledger.entry: numbers beyond all": (ENTRY + "ALTER stream_seq TYPE numeric",),
    "ledger.entry: a column more": (ENTRY + "ADD shadow text",),
    "ledger.tile: a computed column": (
        "ALTER TABLE ledger.tile DROP hashes",
        "ALTER TABLE ledger.tile ADD hashes bytea GENERATED ALWAYS AS (int8send(n)) STORED",
    ),
    "casts of numbers to text: one": (
        "CREATE FUNCTION public.lie(bigint) RETURNS text LANGUAGE sql AS $$SELECT '5'$$",
        "CREATE CAST (bigint AS text) WITH FUNCTION public.lie(bigint)",
    ),
}
"""What is changed, by its part of the catalogue, and how."""
KEYLESS: dict[str, tuple[Sequence[str], Sequence[str]]] = {
    "entry has a row without seq": (
        (FORGED, UNKEYED),
        ("DELETE FROM ledger.entry WHERE seq IS NULL",),
    ),
    "checkpoint has a row without size": (
        ("INSERT INTO ledger.checkpoint VALUES (NULL, 'forged')",),
        ("DELETE FROM ledger.checkpoint WHERE size IS NULL",),
    ),
    "blob has a row without digest": (
        ("INSERT INTO ledger.blob VALUES (NULL, 'forged')",),
        ("DELETE FROM ledger.blob WHERE digest IS NULL",),
    ),
    "head has a row without id": (
        ("UPDATE ledger.head SET id = NULL",), ("UPDATE ledger.head SET id = 1",),
    ),
    "cosignature has a row without size or name or key_id": (
        ("INSERT INTO ledger.cosignature VALUES (27, 'w', NULL, '', 0)",),
        ("DELETE FROM ledger.cosignature",),
    ),
    "disclosure has a row without seq or position": (
        ("INSERT INTO ledger.disclosure VALUES (1, NULL, 'forged', '')",),
        ("DELETE FROM ledger.disclosure",),
    ),
    "tile has a row without level or n": (
        ("INSERT INTO ledger.tile VALUES (NULL, 0, '')",), ("DELETE FROM ledger.tile",),
    ),
}  # fmt: skip
"""What is found, how it is done and undone, in a database whose columns are said to be NOT NULL."""


def both(dsn: str, folder: Path) -> tuple[Report, Report]:
    """Return what verify and fsck say."""
    return (
        verify_database(dsn, [KEY]),
        fsck_database(dsn, plan_of(folder, KEY), silent, None),
    )


def test_what_stands_in_a_tables_place_is_found(postgres_dsn: str) -> None:
    fill(postgres_dsn)
    with connect(postgres_dsn) as admin:
        for trick, statements in TRICKS.items():
            part = trick.partition(":")[0]
            with admin.transaction(force_rollback=True):
                for statement in statements:
                    admin.execute(statement.encode())
                assert f"{part}: not as the migrations made it" in changed_schema(admin), trick
            assert changed_schema(admin) == []


def test_no_checker_reads_from_what_stands_in_a_tables_place(
    postgres_dsn: str, tmp_path: Path
) -> None:
    fill(postgres_dsn)
    with connect(postgres_dsn) as admin:
        for statement in VIEWED:
            admin.execute(statement.encode())
    verified, checked = both(postgres_dsn, tmp_path)
    assert (verified.exit_code, checked.exit_code) == (TAMPERED, TAMPERED)
    assert verified.lines == checked.lines
    assert "ledger.entry: not as the migrations made it" in verified.lines[0]


def test_a_row_without_a_key_is_found_by_both(postgres_dsn: str, tmp_path: Path) -> None:
    fill(postgres_dsn)
    disarm(postgres_dsn)
    with connect(postgres_dsn) as admin:
        for found, (done, undone) in KEYLESS.items():
            for statement in done:
                admin.execute(statement.encode())
            verified, checked = both(postgres_dsn, tmp_path)
            assert (verified.exit_code, verified.lines) == (TAMPERED, checked.lines), found
            assert re.search(found, verified.reason), (found, verified.reason)
            for statement in undone:
                admin.execute(statement.encode())
            for report in both(postgres_dsn, tmp_path):
                assert (report.exit_code, report.findings) == (OK, 0), (found, report.lines)


def test_functions_that_the_search_path_puts_first_are_not_asked(
    postgres_dsn: str, tmp_path: Path
) -> None:
    fill(postgres_dsn)
    disarm(postgres_dsn)
    lie = "LANGUAGE sql AS $$SELECT coalesce(s || d, '') || replace(t, 'mallory', 'ada')$$"
    with connect(postgres_dsn) as admin:
        row = admin.execute("SELECT current_database(), actor FROM ledger.entry LIMIT 1").fetchone()
        assert row is not None
        for statement in (
            "UPDATE ledger.entry SET actor = 'person:mallory' WHERE seq = 2",
            "CREATE SCHEMA evil; GRANT USAGE ON SCHEMA evil TO public",
            f"CREATE FUNCTION evil.join(s text, t text, d text) RETURNS text {lie}",
            "CREATE AGGREGATE evil.string_agg(text, text) (sfunc = evil.join, stype = text)",
            f"ALTER DATABASE {row[0]} SET search_path = evil, pg_catalog",
        ):
            admin.execute(statement.encode())
    with connect(postgres_dsn) as admin:
        assert admin.execute("SHOW search_path").fetchone() == ("pg_catalog",)
    for report in both(postgres_dsn, tmp_path):
        assert (report.exit_code, report.first_bad_seq) == (TAMPERED, 2)


def test_what_a_login_trigger_changes_is_changed_back(postgres_dsn: str, tmp_path: Path) -> None:
    """It runs after the options of a connection, with all that a session may set and make."""
    fill(postgres_dsn)
    disarm(postgres_dsn)
    lie = "LANGUAGE sql AS $$SELECT coalesce(s || d, '') || replace(t, 'mallory', 'ada')$$"
    hidden = "CREATE TEMP VIEW pg_rewrite AS SELECT * FROM pg_catalog.pg_rewrite WHERE false"
    path = "PERFORM set_config('search_path', 'evil, pg_catalog', false)"
    body = f"LANGUAGE plpgsql AS $$BEGIN {path}; {hidden}; END$$"
    with connect(postgres_dsn) as admin:
        for statement in (
            "UPDATE ledger.entry SET actor = 'person:mallory' WHERE seq = 2",
            "CREATE SCHEMA evil; GRANT USAGE ON SCHEMA evil TO public",
            f"CREATE FUNCTION evil.join(s text, t text, d text) RETURNS text {lie}",
            "CREATE AGGREGATE evil.string_agg(text, text) (sfunc = evil.join, stype = text)",
            f"CREATE FUNCTION evil.login() RETURNS event_trigger {body}",
            "CREATE EVENT TRIGGER evil ON login EXECUTE FUNCTION evil.login()",
        ):
            admin.execute(statement.encode())
    for report in both(postgres_dsn, tmp_path):
        assert (report.exit_code, report.first_bad_seq) == (TAMPERED, 2), report.lines
    with connect(postgres_dsn) as admin:
        admin.execute("CREATE RULE evil AS ON INSERT TO ledger.head DO ALSO NOTHING")
    for report in both(postgres_dsn, tmp_path):
        assert "ledger.head: not as the migrations made it" in report.reason


def test_another_revisions_tables_are_no_finding_and_not_judged(
    postgres_dsn: str, tmp_path: Path
) -> None:
    fill(postgres_dsn)
    with connect(postgres_dsn) as admin:
        admin.execute("ALTER TABLE ledger.entry DROP commitments")
        admin.execute("UPDATE public.alembic_version SET version_num = '0001'")
    with pytest.raises(LedgerWriteError, match="schema is 0001, expected"):
        verify_database(postgres_dsn, [KEY])
    with pytest.raises(LedgerWriteError, match="schema is 0001, expected"):
        fsck_database(postgres_dsn, plan_of(tmp_path, KEY), silent, None)


@pytest.mark.parametrize("statistics", ["none", "one stream in order, its keys at random"])
def test_no_statistics_of_the_planner_make_a_whole_ledger_a_false_one(
    postgres_dsn: str, tmp_path: Path, statistics: str
) -> None:
    """With one stream, sorting what is sorted by stream is cheaper than an index without order."""
    config = LedgerConfig(dsn=postgres_dsn, checkpoint_every_s=0)
    with Ledger.open(config, SIGNER, lambda: TIME_US) as ledger:
        keys = [hashlib.sha256(bytes([number])).hexdigest() for number in range(240)]
        ledger.append(*(note(key) for key in keys))
        ledger.checkpoint_now()
    if statistics != "none":
        with connect(postgres_dsn) as admin:
            admin.execute("ANALYZE ledger.entry")
    assert verify_database(postgres_dsn, [KEY]).exit_code == OK
    assert fsck_database(postgres_dsn, plan_of(tmp_path, KEY), silent, None).exit_code == OK
