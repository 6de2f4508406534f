"""Stored tiles of every level against the tree: tiles made narrow, so that a small log has many."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from audit.sequencer.ledger import Ledger, LedgerConfig
from audit.store.tables import TupleConnection, connect
from audit.tlog.tiles import perfect_root
from audit.upkeep.fsck import database
from audit.upkeep.fsck import tiles as fsck_tiles
from audit.verifier.verify import OK, TAMPERED, Report
from tests.doubles.audit_log import SIGNER, TIME_US, note
from tests.doubles.audit_spoiled import disarm, fsck_database, plan_of, silent

pytestmark = pytest.mark.postgres
KEY = str(SIGNER.vkey)
HEIGHT = 2
RECORDS = 300
INSERT = "INSERT INTO ledger.tile VALUES (%s, %s, %s)"


@pytest.fixture
def tiled(
    postgres_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[str, TupleConnection, dict[tuple[int, int], bytes]]]:
    """A log with all its tiles of four hashes, which it gives as well."""
    monkeypatch.setattr(database, "TILE_HEIGHT", HEIGHT)
    for name, value in (("HEIGHT", HEIGHT), ("WIDTH", 1 << HEIGHT), ("BYTES", 32 << HEIGHT)):
        monkeypatch.setattr(fsck_tiles, f"TILE_{name}", value)
    config = LedgerConfig(dsn=postgres_dsn, checkpoint_every_s=0)
    with Ledger.open(config, SIGNER, lambda: TIME_US) as ledger:
        ledger.append(*(note(str(number)) for number in range(RECORDS)))
    disarm(postgres_dsn)
    with connect(postgres_dsn) as admin:
        rows = admin.execute("SELECT leaf FROM ledger.entry ORDER BY seq").fetchall()
        tiles = dict(tiles_of([row[0] for row in rows]))
        for (level, n), hashes in tiles.items():
            admin.execute(INSERT, (level, n, hashes))
        yield postgres_dsn, admin, tiles


def tiles_of(hashes: Sequence[bytes]) -> Iterator[tuple[tuple[int, int], bytes]]:
    """Yield place and bytes of every full tile."""
    level = 0
    while len(hashes) >= 1 << HEIGHT:
        parts = [hashes[at : at + 4] for at in range(0, len(hashes) & ~3, 4)]
        for n, part in enumerate(parts):
            yield (level, n), b"".join(part)
        hashes = [perfect_root(part) for part in parts]
        level += 1


def test_tiles_of_every_level_are_held_against_the_tree(
    tiled: tuple[str, TupleConnection, dict[tuple[int, int], bytes]], tmp_path: Path
) -> None:
    dsn, admin, tiles = tiled
    assert max(tiles) == (3, 0)

    def check(width: int) -> Report:
        return fsck_database(dsn, plan_of(tmp_path, KEY, width=width), silent, None)

    spoils: Iterator[Callable[[bytes], bytes]] = itertools.cycle(
        (
            lambda tile: tile[:-1] + bytes([tile[-1] ^ 1]),
            lambda tile: tile[:-32],
            lambda _: b"",
            lambda tile: tile + bytes(32),
            lambda tile: bytes([tile[0] ^ 1]) + tile[1:],
        )
    )
    for width in (16, 64, 1024):
        assert check(width).exit_code == OK, check(width).lines
        for level, n in ((0, 1), (1, 3), (2, 0), (2, 3), (3, 0)):
            sound, wrong = tiles[level, n], next(spoils)(tiles[level, n])
            admin.execute("DELETE FROM ledger.tile WHERE level = %s AND n = %s", (level, n))
            if level == 2:
                assert check(width).exit_code == OK  # it can be made from the leaves
            admin.execute(INSERT, (level, n, wrong))
            report = check(width)
            assert report.exit_code == TAMPERED, (width, level, n, len(wrong))
            assert f"tile {level}/{n} is not that of the tree" in report.reason
            assert report.first_bad_seq in range(n << 2 * level + 2, n + 1 << 2 * level + 2)
            admin.execute("DELETE FROM ledger.tile WHERE level = %s AND n = %s", (level, n))
            admin.execute(INSERT, (level, n, sound))


def test_a_tile_stored_twice_or_in_another_place_is_found(
    tiled: tuple[str, TupleConnection, dict[tuple[int, int], bytes]], tmp_path: Path
) -> None:
    dsn, admin, tiles = tiled
    for width, places in ((16, ((0, 70), (3, 0))), (1024, ((1, 2), (2, 1)))):
        plan = plan_of(tmp_path, KEY, width=width)
        for (level, n), many in itertools.product(places, (1, 600)):
            for _ in range(many):
                admin.execute(INSERT, (level, n, tiles[level, n]))
            report = fsck_database(dsn, plan, silent, None)
            assert report.exit_code == TAMPERED
            assert f"tile {level}/{n} is stored twice" in report.reason, report.lines
            admin.execute("DELETE FROM ledger.tile WHERE level = %s AND n = %s", (level, n))
            admin.execute(INSERT, (level, n, tiles[level, n]))
        for level, n in ((4, 0), (3, 1), (9, 0), (32767, 0), (-1, 0), (2, -1), (2, 4)):
            admin.execute(INSERT, (level, n, tiles[2, 0]))
        report = fsck_database(dsn, plan, silent, None)
        for level, n in ((4, 0), (3, 1), (9, 0), (32767, 0), (-1, 0), (2, -1), (2, 4)):
            text = f"tile {level}/{n} is of records that are not there"
            assert text in "\n".join(report.lines), text
            admin.execute("DELETE FROM ledger.tile WHERE level = %s AND n = %s", (level, n))
