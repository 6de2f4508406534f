"""The progress of a check, on disk: it makes a check resumable and its memory constant.

A SQLite file holds what grows with the log: a row for each stream, each blob, and each record of a
dump (its idempotency key; a database has a constraint for those), and the rest as one JSON text.
`save` commits all in one transaction, so a check killed at any moment resumes from its last save.
A file of another check is refused.
"""

import contextlib
import json
import sqlite3
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

from typing_extensions import override

from audit.errors import FsckStateError

FORMAT = "countersign-fsck/4"
CACHED_MAX = 20_000
_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (id INTEGER PRIMARY KEY CHECK (id = 1), text TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS stream
  (name TEXT PRIMARY KEY, number INTEGER NOT NULL, leaf BLOB NOT NULL, seq INTEGER NOT NULL)
  WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS blob (digest TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS idem_key (digest BLOB PRIMARY KEY) WITHOUT ROWID;
"""
_ADD_SQL = "INSERT INTO stream VALUES (?, ?, ?, ?)"
_ASKED_MAX = 500

Head = tuple[int, bytes, int]


def _storable(name: str) -> str:
    """Return a name that SQLite accepts; a forged dump's may contain lone surrogates."""
    return name if name.isascii() else name.encode(errors="backslashreplace").decode()


class StreamEnds(dict[str, Head]):
    """The last record of every stream: a dictionary that keeps at most `CACHED_MAX` in memory."""

    def __init__(self, database: sqlite3.Connection) -> None:
        super().__init__()
        self._database = database
        self.passing: dict[str, Head] = {}
        """The streams' ends at the map that is being judged; only `[]` reads it."""

    @override
    def get(self, name: str, default: Any = None, /) -> Any:  # as a dictionary's
        held = super().get(name)
        if held is not None:
            return held
        row = self._database.execute(
            "SELECT number, leaf, seq FROM stream WHERE name = ?", (_storable(name),)
        ).fetchone()
        return default if row is None else tuple(row)

    def many(self, names: Iterable[str]) -> dict[str, Head]:
        """Return the heads of those streams that have one, in few queries."""
        found: dict[str, Head] = {}
        asked = []
        for name in names:
            held = super().get(name)
            if held is None:
                asked.append(name)
            else:
                found[name] = held
        for start in range(0, len(asked), _ASKED_MAX):
            part = asked[start : start + _ASKED_MAX]
            marks = ",".join("?" * len(part))
            query = f"SELECT name, number, leaf, seq FROM stream WHERE name IN ({marks})"  # noqa: S608
            found.update(
                (row[0], row[1:]) for row in self._database.execute(query, [*map(_storable, part)])
            )
        return found

    def add(self, rows: Sequence[tuple[str, int, bytes, int]]) -> bool:
        """Add new streams (name, number, leaf, record), all or none; return whether it did."""
        self.flush()
        if not "".join([row[0] for row in rows]).isascii():
            rows = [(_storable(row[0]), *row[1:]) for row in rows]
        self._database.execute("SAVEPOINT adding")
        try:
            self._database.executemany(_ADD_SQL, rows)
        except sqlite3.IntegrityError:
            self._database.execute("ROLLBACK TO adding")
            return False
        finally:
            self._database.execute("RELEASE adding")
        return True

    @override
    def __getitem__(self, name: str, /) -> Head:
        found: Head | None = self.passing.get(name) or self.get(name)
        if found is None:
            raise KeyError(name)
        return found

    @override
    def __setitem__(self, name: str, head: Head, /) -> None:
        super().__setitem__(name, head)
        if super().__len__() > CACHED_MAX:
            self.flush()

    @override
    def __len__(self) -> int:
        self.flush()
        return int(self._database.execute("SELECT count(*) FROM stream").fetchone()[0])

    def flush(self) -> None:
        """Move all heads in memory to the table."""
        self._database.executemany(
            _ADD_SQL.replace("INSERT", "INSERT OR REPLACE"),
            ((_storable(name), *head) for name, head in self.items()),
        )
        self.clear()


class NamedBlobs(set[str]):
    """The digests of stored blobs, on disk only."""

    def __init__(self, database: sqlite3.Connection) -> None:
        super().__init__()
        self._database = database

    @override
    def add(self, digest: str, /) -> None:
        self._database.execute("INSERT OR IGNORE INTO blob VALUES (?)", (_storable(digest),))

    def __rsub__(self, others: AbstractSet[str], /) -> set[str]:  # as a set's
        return {
            name
            for name in others
            if not self._database.execute(
                "SELECT 1 FROM blob WHERE digest = ?", (_storable(name),)
            ).fetchone()
        }

    @override
    def __len__(self) -> int:
        return int(self._database.execute("SELECT count(*) FROM blob").fetchone()[0])


class IdemKeys(set[bytes]):
    """Digests of a dump's idempotency keys with their streams, on disk only."""

    def __init__(self, database: sqlite3.Connection) -> None:
        super().__init__()
        self._database = database

    @override
    def __contains__(self, digest: object, /) -> bool:
        query = "SELECT 1 FROM idem_key WHERE digest = ?"
        return self._database.execute(query, (digest,)).fetchone() is not None

    @override
    def add(self, digest: bytes, /) -> None:
        self._database.execute("INSERT OR IGNORE INTO idem_key VALUES (?)", (digest,))


def was_saved(path: Path) -> bool:
    """Return whether an interrupted check can be resumed from this file."""
    if not path.exists():  # connecting would create it
        return False
    try:
        with contextlib.closing(sqlite3.connect(path)) as database:
            return database.execute("SELECT 1 FROM meta").fetchone() is not None
    except sqlite3.Error:
        return False


class FsckState:
    """One check's state file."""

    def __init__(self, path: Path, about: Iterable[str], *, resume: bool) -> None:
        """Open the file of a check to resume it, or replace it.

        `about` states the check's log, keys and options: another check's file is refused.

        Raises:
            FsckStateError: there is nothing to resume, or it is of another check.
        """
        self.path = path
        self._about = list(about)
        self.saved: dict[str, Any] | None = None
        self._worth_keeping = resume
        if not resume:
            self._unlink()
        elif not path.exists():
            raise FsckStateError(f"nothing to resume: {path} does not exist")
        try:
            self._database = sqlite3.connect(path, isolation_level=None)
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = NORMAL")
            self._database.executescript(_SCHEMA)
            row = self._database.execute("SELECT text FROM meta").fetchone()
            self._database.execute("BEGIN")
        except sqlite3.Error as error:
            raise FsckStateError(f"cannot use {path}: {error}") from error
        if resume:
            self.saved = self._held(row)
        self.heads = StreamEnds(self._database)
        self.blobs = NamedBlobs(self._database)
        self.keys = IdemKeys(self._database)

    def _held(self, row: tuple[str] | None) -> dict[str, Any]:
        try:
            held: dict[str, Any] = json.loads(row[0]) if row else {}
        except ValueError as error:
            raise FsckStateError(f"{self.path} is not the state of a check") from error
        if not held:
            raise FsckStateError(f"nothing to resume: {self.path} was not saved yet")
        if held.get("format") != FORMAT or held.get("about") != self._about:
            raise FsckStateError(
                f"{self.path} is of another check (other log, keys or options): begin without"
                " --resume"
            )
        state: dict[str, Any] = held["state"]
        return state

    def save(self, state: dict[str, Any]) -> None:
        """Commit streams, blobs and the rest in one transaction."""
        text = json.dumps({"format": FORMAT, "about": self._about, "state": state})
        self.heads.flush()
        self._database.execute("INSERT OR REPLACE INTO meta VALUES (1, ?)", (text,))
        self._database.execute("COMMIT")
        self._worth_keeping = True
        self._database.execute("BEGIN")

    def close(self, *, keep: bool) -> None:
        """Close the file; remove it unless `keep` is set and there is something to resume."""
        if self._database.in_transaction:  # a full disk ends it
            self._database.execute("ROLLBACK")
        self._database.close()
        if not (keep and self._worth_keeping):
            self._unlink()

    def _unlink(self) -> None:
        for suffix in ("", "-journal", "-wal", "-shm"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
