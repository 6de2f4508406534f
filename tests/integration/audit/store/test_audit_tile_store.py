"""Tiles in a real database, against tiles made from all leaves at once."""

import random

import psycopg
import pytest

from audit.errors import LedgerError, LedgerUnsafeError, ProofError
from audit.store.connection import Pool
from audit.store.reader import LedgerReader
from audit.store.tiles import TileStore, TileWriter, pooled
from audit.store.watchdog import Watchdog
from audit.tlog.merkle import leaf_hash, root_of, verify_consistency, verify_inclusion
from audit.tlog.tiles import Tile, decode_bundle, root_from, tiles_of
from tests.doubles.audit_log import note
from tests.doubles.audit_server import opened
from tests.doubles.memory_tree import tile_hashes

pytestmark = pytest.mark.postgres
LARGE = 66_100

FILL = """
INSERT INTO ledger.entry (seq, stream, stream_seq, kind, version, recorded_at_us, actor, idem_key,
  prev, payload_digest, header, payload, leaf)
SELECT n, 'control', n, 'operator_note', 1, n, 'test', n::text, sha256(''), sha256('{}'),
  convert_to(n::text, 'UTF8'), '{}', sha256('\\x00'::bytea || convert_to(n::text, 'UTF8'))
FROM generate_series(0::bigint, %s - 1) AS n
"""


def filled(dsn: str, size: int) -> list[bytes]:
    """Put entries in place that have leaves and nothing else, and return the leaves."""
    with psycopg.connect(dsn) as connection:
        connection.execute(FILL, (size,))
    return [leaf_hash(str(n).encode()) for n in range(size)]


def test_tiles_of_every_size_rebuild_every_root(postgres_dsn: str) -> None:
    leaves = filled(postgres_dsn, 600)
    reader = LedgerReader(postgres_dsn)
    watchdog = Watchdog()
    pool = Pool(postgres_dsn, watchdog)
    rows = pooled(pool, 10.0)
    writer = TileWriter(rows, TileStore(rows))
    some = random.Random(1)  # noqa: S311 - which proofs are tried, not a secret
    for size in range(1, 601):
        writer.write(size)
        root = root_of(leaves[:size])
        assert root_from(reader.tiles.reader(size), size) == root
        seq, old = some.randrange(size), some.randint(0, size)
        path = reader.inclusion_proof(seq, size)
        verify_inclusion(leaves[seq], seq, size, path, root)
        path = reader.consistency_proof(old, size)
        verify_consistency(old, root_of(leaves[:old]), size, root, path)
        for tile in tiles_of(size, size - 1):
            expected = tile_hashes(leaves[:size])[tile]
            assert reader.tiles.fetch(tile) == expected
            if tile.level == 0:
                bundle = decode_bundle(
                    reader.tiles.fetch(Tile(level=None, index=tile.index, width=tile.width))
                )
                assert b"".join(map(leaf_hash, bundle)) == expected
    with psycopg.connect(postgres_dsn) as connection:
        stored = connection.execute("SELECT level, n, hashes FROM ledger.tile ORDER BY n")
        oracle = tile_hashes(leaves)
        full = [(0, n, oracle[Tile(level=0, index=n)]) for n in (0, 1)]
        assert stored.fetchall() == full
    with pytest.raises(LedgerError):
        reader.tiles.fetch(Tile(level=0, index=2, width=89))
    with pytest.raises(LedgerError):
        reader.inclusion_proof(3, 601)
    with pytest.raises(ProofError):
        reader.inclusion_proof(600, 600)
    reader.close()
    pool.close()
    watchdog.close()


def test_a_large_log_is_tiled_at_once_and_again_without_change(postgres_dsn: str) -> None:
    leaves = filled(postgres_dsn, LARGE)
    expected = tile_hashes(leaves)
    root = root_of(leaves)
    untiled = LedgerReader(postgres_dsn)
    verify_inclusion(leaves[5], 5, LARGE, untiled.inclusion_proof(5, LARGE), root)
    untiled.close()
    watchdog = Watchdog()
    pool = Pool(postgres_dsn, watchdog)
    rows = pooled(pool, 30.0)
    assert TileWriter(rows, TileStore(rows)).write(LARGE) == 259
    assert TileWriter(rows, TileStore(rows)).write(LARGE) == 0
    reads = 0

    def counted(query: str, values: object) -> object:
        nonlocal reads
        reads += 1
        return rows(query, values)  # type: ignore[arg-type]  # passed on as it came

    store = TileStore(counted)  # type: ignore[arg-type]  # as above
    assert root_from(store.reader(LARGE), LARGE) == root
    assert reads <= 8, "a root is read from a few tiles, not from the log"
    assert all(store.fetch(tile) == data for tile, data in expected.items())
    with psycopg.connect(postgres_dsn) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute("ALTER TABLE ledger.tile DISABLE TRIGGER ALL")
        connection.execute("DELETE FROM ledger.tile WHERE level = 0 AND n = 7")
    assert TileWriter(rows, TileStore(rows)).write(LARGE) == 258, "a gap begins the level anew"
    with psycopg.connect(postgres_dsn) as connection:
        connection.execute("UPDATE ledger.tile SET hashes = overlay(hashes PLACING '\\x00' FROM 9)")
        connection.execute("DELETE FROM ledger.tile WHERE level = 0 AND n = 8")
    with pytest.raises(LedgerUnsafeError, match="does not match the leaves"):
        TileWriter(rows, TileStore(rows)).write(LARGE)
    pool.close()
    watchdog.close()


def test_partial_tiles_are_there_for_every_published_size(postgres_dsn: str) -> None:
    with opened(postgres_dsn) as ledger:
        for number in range(25):
            ledger.append(*(note(f"{number}.{n}") for n in range(number + 1)))
            ledger.checkpoint_now()
    reader = LedgerReader(postgres_dsn)
    published = reader.checkpoints(newest_first=False)
    assert len(published) > 20
    for checkpoint in published:
        held = {tile: reader.tiles.fetch(tile) for tile in tiles_of(checkpoint.size)}
        leaves = b"".join(
            held[tile] for tile in sorted(held, key=lambda t: t.index) if not tile.level
        )
        split = [leaves[at : at + 32] for at in range(0, len(leaves), 32)]
        assert root_of(split) == checkpoint.root
        assert root_from(reader.tiles.reader(checkpoint.size), checkpoint.size) == checkpoint.root
    reader.close()
