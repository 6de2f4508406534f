"""Making checkpoints when answers come late or not at all: what was begun is brought to its end.

The database and the sequencer stand in: what they answer, and when, is the case.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.errors import LedgerError, LedgerTimeoutError, LedgerWriteError
from audit.sequencer.checkpointing import Checkpoints
from audit.sequencer.lanes import MapHeads
from audit.signers.file import FileSigner
from audit.store.connection import Pool
from audit.store.tables import DatabaseError
from audit.tlog.checkpoint import Checkpoint

SIGNER = FileSigner("log.test", Ed25519PrivateKey.from_private_bytes(b"c" * 32))


class World:
    """A sequencer that answers when it is told to, and a table of notes that may be away."""

    def __init__(self) -> None:
        self.size = 5
        self.away = False
        self.silent = False
        self.asked: list[MapHeads] = []
        self.notes: dict[int, bytes] = {}
        self.told: list[int] = []
        self.checkpoints = Checkpoints(
            last=None,
            signers=(SIGNER,),
            pool=cast("Pool", self),
            size=lambda: self.size,
            put=self.put,
            tell=lambda made: self.told.append(made.size),
        )

    def put(self, request: MapHeads, deadline: float) -> None:  # noqa: ARG002 - it is taken at once
        request.done.take()
        self.asked.append(request)
        self.size += 1
        if not self.silent:
            self.answer()

    def answer(self) -> None:
        """Let the map's commit be heard of."""
        self.asked[-1].done.set_result((self.size, bytes([self.size]) * 32))

    @contextmanager
    def connection(self, timeout_s: float) -> Iterator["World"]:  # noqa: ARG002 - it is there or not
        if self.away:
            raise DatabaseError("the server is away")
        yield self

    def execute(self, sql: str, values: tuple[Any, ...]) -> "World":
        if sql.startswith("INSERT"):
            self.notes.setdefault(values[0], values[1])
            self.found = None
        else:
            sizes = [size for size in self.notes if size <= values[0]]
            self.found = (self.notes[max(sizes)],) if sizes else None
        return self

    def fetchone(self) -> tuple[bytes] | None:
        return self.found

    def append(self, records: int = 1) -> int:
        """Commit records; return the last one's number."""
        self.size += records
        return self.size - 1

    def before(self, seq: int) -> int:
        """Return the size of the largest checkpoint not above a record, 0 without one."""
        found = self.checkpoints.not_above(seq, 0.05)
        return found.size if found else 0


@pytest.fixture
def world() -> World:
    return World()


def made(world: World) -> Checkpoint:
    checkpoint = world.checkpoints.now(0.05)
    assert checkpoint is not None
    return checkpoint


def test_the_largest_one_not_above_a_record_is_found_among_many(world: World) -> None:
    opened = world.append()
    assert world.before(opened) == 0
    sizes = []
    for _ in range(100):  # more than are remembered
        sizes.append(made(world).size)
        world.append()
    for size in (sizes[0], sizes[50], sizes[-1]):
        assert world.before(size) == size
        assert world.before(size - 1) < size
        assert world.before(size + 1) == size
    assert world.told == sizes


def test_a_note_that_could_not_be_stored_is_stored_before_anything_is_answered(
    world: World,
) -> None:
    world.away = True
    with pytest.raises(LedgerWriteError):
        world.checkpoints.now(0.05)
    opened = world.append()
    with pytest.raises(LedgerError):
        world.before(opened)
    world.away = False
    assert world.before(opened) == opened == 6
    assert (len(world.asked), list(world.notes), world.told) == (1, [6], [6])


def test_a_map_of_which_nobody_heard_is_waited_for_not_made_twice(world: World) -> None:
    world.silent = True
    with pytest.raises(LedgerTimeoutError):
        world.checkpoints.now(0.01)
    opened = world.append()
    with pytest.raises(LedgerTimeoutError):
        world.before(opened)
    with pytest.raises(LedgerTimeoutError):
        world.checkpoints.now(0.01)
    world.asked[-1].done.set_result((6, bytes(32)))
    assert world.before(opened) == 6
    assert len(world.asked) == 1


def test_a_map_that_was_refused_is_forgotten(world: World) -> None:
    first = made(world)
    opened = world.append()
    world.silent = True
    with pytest.raises(LedgerTimeoutError):
        world.checkpoints.now(0.01)
    world.asked[-1].done.set_exception(LedgerWriteError("refused"))
    with pytest.raises(LedgerWriteError):
        world.before(opened)
    assert world.before(opened) == first.size


def test_nothing_new_is_made_when_nothing_was_appended(world: World) -> None:
    assert made(world) is made(world)
    assert len(world.asked) == 1
