"""Blobs: bytes that are too long for a record, stored under their SHA-256 before the record."""

import hashlib
from collections.abc import Sequence

from audit.errors import BlobMissingError, DraftError, LedgerTimeoutError, LedgerWriteError
from audit.records.record import Prepared
from audit.store.connection import Pool
from audit.store.tables import DatabaseError

BLOB_BYTES_MAX = 64 * 2**20
_KNOWN_MAX = 10_000


class Blobs:
    """Stores blobs, and remembers recent ones; safe for many threads."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._known: dict[str, None] = {}

    def put(self, data: bytes, timeout_s: float) -> str:
        """Store bytes under their SHA-256 and return it in hex; durable on return, idempotent.

        Raises:
            DraftError: the blob is too large.
            LedgerWriteError: the database refused or did not answer; safe to try again.
        """
        if len(data) > BLOB_BYTES_MAX:
            raise DraftError(f"blob of {len(data)} bytes")
        digest = hashlib.sha256(data).digest()
        try:
            with self._pool.connection(timeout_s) as connection:
                connection.execute(
                    "INSERT INTO ledger.blob (digest, data) VALUES (%b, %b)"
                    " ON CONFLICT (digest) DO NOTHING",
                    (digest, data),
                )
        except DatabaseError as error:
            raise LedgerWriteError(f"blob not stored: {error}") from error
        self._remember(digest.hex())
        return digest.hex()

    def unknown(self, prepared: Sequence[Prepared]) -> set[str]:
        """Return the blobs named by drafts that are not known to be stored."""
        return {blob for item in prepared for blob in item.blobs if blob not in self._known}

    def check(self, asked: set[str], timeout_s: float) -> None:
        """Check that blobs are stored.

        Raises:
            BlobMissingError: one is not stored.
            LedgerTimeoutError: unknown; nothing was written.
        """
        if not asked:
            return
        try:
            with self._pool.connection(timeout_s) as connection:
                rows = connection.execute(
                    "SELECT encode(digest, 'hex') FROM ledger.blob WHERE digest = ANY(%b)",
                    ([bytes.fromhex(blob) for blob in asked],),
                ).fetchall()
        except DatabaseError as error:
            raise LedgerTimeoutError(f"blobs not looked up: {error}", written=False) from error
        found = {row[0] for row in rows}
        if missing := sorted(asked - found):
            raise BlobMissingError(f"blob {missing[0]} is not stored; put it before its record")
        for blob in found:
            self._remember(blob)

    def _remember(self, blob: str) -> None:
        self._known[blob] = None
        while len(self._known) > _KNOWN_MAX:
            self._known.pop(next(iter(self._known)), None)
