"""The writers of one log: the one at work, and those that were left behind stopped."""

import itertools
import multiprocessing
import os
import signal
import time
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path

from tests.crash.ledger_history import History, Voice, met
from tests.crash.ledger_mutants import Mutant
from tests.crash.ledger_world import signal_process
from tests.crash.ledger_writer import Plan, write

_POLL_S = 0.005
GHOST_WITHIN_S = 30.0
"""A writer that lost its log must have given up by then."""


@dataclass(slots=True)
class Writer:
    """One writer process and its voice."""

    process: BaseProcess
    voice: Voice
    left_at: float = field(default=0.0)

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self.process.pid is not None
        return self.process.pid

    def kill(self) -> None:
        """Kill it and collect it."""
        signal_process(self.pid, signal.SIGKILL)
        self.process.join()


class Crew:
    """Starts writers on one log and listens to them."""

    def __init__(
        self, dsn: str, folder: Path, seed: int, mutant: Mutant = Mutant.NONE, **plan: float
    ) -> None:
        """Keep what every writer's plan says; `plan` are further numbers of `Plan`."""
        folder.mkdir()
        self.dsn = dsn
        self.history = History()
        self._folder = folder
        self._seed = seed
        self._mutant = mutant
        self._plan = plan
        self._names = itertools.count()
        self._ghosts: list[Writer] = []
        self.voices: list[Voice] = []
        self.current: Writer | None = None

    def start(self) -> Writer:
        """Start a writer, which tries first what nobody was told about."""
        self.listen()
        number = next(self._names)
        plan = Plan(
            dsn=self.dsn,
            events=self._folder / f"w{number}.events",
            name=f"w{number}",
            seed=self._seed + number,
            pending=self.history.pending(),
            mutant=self._mutant,
            **self._plan,  # type: ignore[arg-type]  # numbers, some whole
        )
        process = multiprocessing.get_context("fork").Process(
            target=write, args=(plan,), daemon=True
        )
        process.start()
        writer = Writer(process, Voice(plan.events))
        self.voices.append(writer.voice)
        return writer

    def ensure_writer(self) -> Writer:
        """Return the writer at work; start one if there is none."""
        if self.current is None or not self.current.process.is_alive():
            self.current = self.start()
        return self.current

    def kill(self) -> None:
        """Kill the writer at work."""
        if self.current is not None:
            self.current.kill()
            self.current = None

    def leave(self) -> Writer:
        """Let go of the writer at work, which goes on by itself, and return it."""
        assert self.current is not None
        ghost, self.current = self.current, None
        ghost.left_at = time.monotonic()
        self._ghosts.append(ghost)
        return ghost

    def listen(self) -> None:
        """Take in what all writers have said."""
        for voice in self.voices:
            self.history.read(voice)

    def met(self) -> bool:
        """Say whether two of all writers wrote at the same time."""
        self.listen()
        return met(self.voices)

    def wait_for_acks(self, count: int, within_s: float) -> bool:
        """Wait until the writer at work has had so many more answers; say whether it has."""
        writer = self.ensure_writer()
        self.history.read(writer.voice)
        goal = writer.voice.acks + count
        deadline = time.monotonic() + within_s
        while writer.voice.acks < goal:
            if time.monotonic() > deadline or not writer.process.is_alive():
                self.history.read(writer.voice)
                return writer.voice.acks >= goal
            time.sleep(_POLL_S)
            self.history.read(writer.voice)
        return True

    def check_ghosts(self) -> None:
        """Hold against writers left behind that they give up in time."""
        for ghost in list(self._ghosts):
            if not ghost.process.is_alive():
                ghost.process.join()
                self._ghosts.remove(ghost)
            elif time.monotonic() > ghost.left_at + GHOST_WITHIN_S:
                ghost.kill()
                self._ghosts.remove(ghost)
                self.history.broken.append(f"{ghost.voice.path.stem} was replaced and goes on")

    def finish(self, within_s: float) -> bool:
        """Let the writer close its ledger and end the others; say whether it closed by itself."""
        for ghost in self._ghosts:
            ghost.kill()
        writer = self.ensure_writer()
        deadline = time.monotonic() + within_s
        while writer.voice.opened_ns is None and time.monotonic() < deadline:
            time.sleep(_POLL_S)
            self.listen()
        os.kill(writer.pid, signal.SIGTERM)
        writer.process.join(max(0.0, deadline - time.monotonic()))
        closed = writer.process.exitcode == 0
        writer.kill()
        self.listen()
        return closed and writer.voice.stopped == "None"

    def close(self) -> None:
        """Kill everybody."""
        for writer in (*self._ghosts, *([self.current] if self.current else [])):
            writer.kill()
