"""What the writers saw, read from their event files: the only witness of the crash tests.

An operation is one key, whoever tried it how often: it starts before its first try and is
acknowledged when any try returned.
"""

import base64
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

Places: TypeAlias = tuple[tuple[int, bytes], ...]
"""Sequence number and leaf of each record of an operation."""


@dataclass(slots=True)
class Operation:
    """One key: its drafts, its first try, its first acknowledgement, and as what."""

    parts: int
    started_ns: int
    acked_ns: int | None = None
    places: Places = ()

    @property
    def numbers(self) -> list[int]:
        """The sequence numbers that were acknowledged."""
        return [seq for seq, _ in self.places]


@dataclass(slots=True)
class Session:
    """A ledger from its opening on, and the start of the last append that was its own work."""

    opened_ns: int
    wrote_ns: int = 0


@dataclass(slots=True)
class Voice:
    """One writer's event file as far as it was read."""

    path: Path
    at: int = 0
    opened_ns: int | None = None
    acks: int = 0
    last_ack_ns: int = 0
    refused: int = 0
    opened: int = 0
    stopped: str | None = None
    sessions: list[Session] = field(default_factory=list)


def met(voices: Sequence[Voice]) -> bool:
    """Say whether two writers both wrote what they began after both had opened the log.

    A ledger that keeps its promise to be the only one lets that never happen; of one that does not
    it shows, without a look at the log, that there was something to catch.
    """
    return any(
        max(one.opened_ns, two.opened_ns) < min(one.wrote_ns, two.wrote_ns)
        for mine, other in itertools.combinations(voices, 2)
        for one, two in itertools.product(mine.sessions, other.sessions)
    )


@dataclass(slots=True)
class History:
    """All operations on one log, and everything else that was promised about it."""

    operations: dict[str, Operation] = field(default_factory=dict)
    blobs: set[bytes] = field(default_factory=set)
    notes: dict[bytes, None] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)

    @property
    def acked(self) -> int:
        """How many operations were acknowledged."""
        return sum(1 for one in self.operations.values() if one.acked_ns is not None)

    def pending(self) -> tuple[str, ...]:
        """Return the keys that were tried and never acknowledged."""
        return tuple(key for key, one in self.operations.items() if one.acked_ns is None)

    def read(self, voice: Voice) -> None:
        """Take in what a writer has said since the last time; half a line waits."""
        try:
            with voice.path.open("rb") as file:
                file.seek(voice.at)
                data = file.read()
        except FileNotFoundError:
            return
        whole = data[: data.rfind(b"\n") + 1]
        voice.at += len(whole)
        for line in whole.decode().splitlines():
            word, at_ns, *rest = line.split(" ", 2)
            self._take(voice, word, int(at_ns), rest[0] if rest else "")

    def _take(self, voice: Voice, word: str, at_ns: int, rest: str) -> None:
        match word:
            case "start":
                key, parts = rest.split(" ")
                self.operations.setdefault(key, Operation(int(parts), at_ns))
            case "ack":
                voice.acks += 1
                voice.last_ack_ns = at_ns
                self._own_work(voice, rest.partition(" ")[0])
                self.acknowledge(at_ns, *rest.split(" "))
            case "blob":
                self.blobs.add(bytes.fromhex(rest))
            case "note":
                self.notes.setdefault(base64.b64decode(rest))
            case "open":
                voice.opened_ns = at_ns
                voice.opened += 1
                voice.sessions.append(Session(at_ns))
            case "refused":
                voice.refused += 1
            case "stop":
                voice.stopped = rest
            case _:
                self.broken.append(f"{voice.path.stem}: {rest}")

    def _own_work(self, voice: Voice, key: str) -> None:
        """Note an append that nobody but this session of this writer can have written."""
        operation, session = self.operations[key], voice.sessions[-1]
        if operation.acked_ns is None and operation.started_ns > session.opened_ns:
            session.wrote_ns = max(session.wrote_ns, operation.started_ns)

    def acknowledge(self, at_ns: int, key: str, said: str) -> None:
        """Take an answer: the same for every try of a key."""
        parts = (place.split(":") for place in said.split(","))
        places = tuple((int(seq), bytes.fromhex(leaf)) for seq, leaf in parts)
        operation = self.operations[key]
        if operation.acked_ns is None:
            operation.acked_ns = at_ns
            operation.places = places
        elif operation.places != places:
            self.broken.append(f"{key} was acknowledged as {operation.places} and as {places}")
