"""The world of a campaign: broker, line, feed and database, which outlive every gateway, and one.

One state folder goes through many rounds, so every start recovers what the round before left.
"""

import contextlib
import os
import signal
import time
from pathlib import Path
from typing import Any

import httpx

from audit.store.reader import LedgerReader
from fix.simulator.control import Control, read_control, write_control
from gateway.installation.children.postgres import EmbeddedPostgres
from gateway.installation.children.simulator import free_port
from tests.crash.gateway_desk import FIRST_BEFORE_US, Feed, made_desk
from tests.crash.gateway_plan import LINE_WAYS, Round
from tests.crash.gateway_process import Ask, Gateway, Start
from tests.crash.kill_line import Line
from tests.doubles.fix_world import Broker

START_WITHIN_S = 300.0
REPORT_DELAY_MS = 150


class World:
    """Broker, line, feed, database and installation; the gateway comes and goes."""

    def __init__(
        self,
        folder: Path,
        mutant: str = "",
        *,
        whole: bool = False,
        bars_us: int = FIRST_BEFORE_US,
        patience: float = 1.0,
    ) -> None:
        """Start what outlives the gateway; the feed's newest bars closed `bars_us` ago.

        `patience` is by how much longer than usual everything may take.
        """
        self.patience = patience
        self.folder = folder
        self._mutant, self._whole = mutant, whole
        self.broker = Broker(folder / "ems", partial_delay_ms=REPORT_DELAY_MS)
        (folder / "ems").mkdir()
        write_control(self.broker.config.control, Control())
        self.broker.start()
        self.line = Line(self.broker.config.port)
        self.desk = made_desk(folder, self.line.port)
        self.state = self.desk.state
        self.state.mkdir(mode=0o711)
        self._port = free_port()
        address = f"http://127.0.0.1:{self._port}"
        self.feed = Feed(address, self.desk.token("feed"), bars_us)
        self.feed.start()
        self.server = EmbeddedPostgres(self.state)
        self.dsn = ""
        self.gateway: Gateway | None = None
        self.starts = self.broker_deaths = 0
        self._reader: LedgerReader | None = None

    def close(self) -> None:
        """End everything."""
        self.feed.stop()
        if self.gateway is not None:
            self.gateway.kill()
        self._hang_up()
        self.line.close()
        self.broker.stop()
        with contextlib.suppress(Exception):
            self.server.start()
            self.server.stop()

    @property
    def alive(self) -> bool:
        """Whether a gateway runs."""
        return self.gateway is not None and self.gateway.alive

    def up(self) -> Gateway:
        """Return a running gateway over a running database; start what is down.

        Raises:
            RuntimeError: the gateway does not start.
        """
        if self.dsn:
            self.database_up()
        if self.gateway is None or not self.gateway.alive:
            self.down()
            self.starts += 1
            start = Start(
                folder=self.desk.gateway,
                api_port=self._port,
                mutant=self._mutant,
                said=self.folder / "gateway.log",
                whole=self._whole,
            )
            self.gateway = Gateway(start, START_WITHIN_S, self.patience)
            if not self.dsn:  # the first start made keys and database
                self.dsn = self.server.start()
        return self.gateway

    def broker_up(self) -> None:
        """Start the broker again if its process died; its store and its orders are kept."""
        process = self.broker.process
        if process is not None and process.poll() is not None:
            self.broker_deaths += 1
            self.broker.start()

    def down(self) -> None:
        """SIGKILL the gateway, if there is one; its children end with it."""
        if self.gateway is not None:
            self.gateway.kill()
            self.gateway = None

    def database_up(self) -> None:
        """Start the database server if it is down."""
        if self.server.pid is None:
            self._hang_up()
            with contextlib.suppress(Exception):
                self.server.stop()
            self.server.start()

    def reader(self) -> LedgerReader:
        """Return a reader of the ledger; call `database_up` before."""
        if self._reader is None:
            self._reader = LedgerReader(self.dsn)
        return self._reader

    def _hang_up(self) -> None:
        if self._reader is not None:
            with contextlib.suppress(Exception):
                self._reader.close()
            self._reader = None

    def caller(self, name: str) -> httpx.Client:
        """Return a client of the gateway with a name's key."""
        assert self.gateway is not None
        return httpx.Client(
            base_url=self.gateway.address,
            headers={"Authorization": f"Bearer {self.desk.token(name)}"},
            trust_env=False,
            verify=False,  # noqa: S501 - plain HTTP on loopback
            timeout=20.0,
        )

    def deal(self, *outcomes: str) -> None:
        """Say what becomes of the next orders; what was dealt before and not used is gone."""
        path = self.broker.config.control
        write_control(path, read_control(path)._replace(deal=()))
        time.sleep(0.05)
        write_control(path, read_control(path)._replace(deal=outcomes))
        time.sleep(0.05)

    def strike(self, fault: str, plan: Round) -> None:
        """Let one fault happen."""
        gateway = self.gateway
        match fault:
            case "gateway at a failpoint":
                pass  # armed before
            case "gateway":
                if gateway is not None:
                    gateway.kill()
            case "FIX child":
                self._kill(self.pids().get("fix"))
            case "engine":
                self._kill(self.pids().get("engine"))
            case "database":
                self._kill(self.server.pid)
                if plan.gateway_too and gateway is not None:
                    gateway.kill()
            case "broker at 1":
                path = self.broker.config.control
                now = read_control(path)
                changed = now._replace(resets=now.resets + 1, reset_flag=plan.flagged)
                write_control(path, changed)
            case _:
                self.line.silence(LINE_WAYS[fault])

    def lift(self, plan: Round) -> None:
        """End the faults that last."""
        if any(fault in LINE_WAYS for fault in plan.faults):
            self.line.restore()
        if "database" in plan.faults:
            self.database_up()

    def pids(self) -> dict[str, Any]:
        """Return the processes of the gateway; empty if it is gone."""
        return {} if self.gateway is None else self.gateway.ask(Ask.PIDS) or {}

    @staticmethod
    def _kill(pid: int | None) -> None:
        if pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
