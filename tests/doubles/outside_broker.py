"""A broker of another make as a process: start, drop the line, restart at 1, read its wire."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fix.dialects.profile import Profile, parse_profile
from fix.dialects.profile_text import parse_profile_text
from fix.session.dictionaries import SHIPPED
from tests.doubles.fix_world import ROOT, free_port, until

Message = dict[int, str]
OTHER_ENGINE = ("tests.doubles.other_engine",)
QUICKFIX = "tests.doubles.quickfix_engine"
BROKERS = {
    "plain-4.2": (QUICKFIX, "FIX.4.2"),
    "plain-4.4": OTHER_ENGINE,
    "plain-4.4 on quickfix": (QUICKFIX, "FIX.4.4"),
    "plain-5.0sp2": (QUICKFIX, "FIX.5.0SP2"),
}
"""An engine for each plain profile; the first word is the profile."""


def plain(name: str, port: int, **changes: object) -> Profile:
    """Return a shipped profile for a port, quick to log on again."""
    shipped = parse_profile_text((SHIPPED / f"{name}.toml").read_text())
    known = shipped.model_dump(mode="json") | {"port": port, "reconnect_s": 1}
    return parse_profile(json.dumps(known | changes))


class OutsideBroker:
    """The broker's process and its files; `engine` is its module, and the version if needed."""

    def __init__(self, folder: Path, engine: tuple[str, ...], *script: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.port = free_port()
        self._engine = engine
        self._script = script
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        module, *version = self._engine
        words = (str(self.folder), str(self.port), ",".join(self._script), *version)
        with (self.folder / "broker.log").open("ab") as log:
            self._process = subprocess.Popen(
                (sys.executable, "-m", module, *words),
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        assert until(self._listens, 60.0), self.log()

    def stop(self) -> None:
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            self._process.kill()
            self._process.wait()
            self._process = None

    def drop(self) -> None:
        """Break the line; the broker goes on listening."""
        self._order("drop")

    def nightly(self) -> None:
        """Begin both numbers at 1, as the schedule says, without a restart."""
        self._order("nightly")

    def restart_at_1(self) -> None:
        """Restart the engine without its numbers; the orders stay."""
        self.stop()
        for path in (*self.folder.glob("journal.sqlite*"), *self.folder.glob("store/*")):
            path.unlink()
        self.start()

    def wire(self, msg_type: str, direction: str = "in") -> list[Message]:
        """Return the messages of a type in a direction, oldest first."""
        messages = [_fields(text) for text in self._raw(direction)]
        return [one for one in messages if one[35] == msg_type]

    def fix_log(self) -> str:
        """Return what the broker said as a FIX log, one message a line."""
        return "".join(text.replace("\x01", "|") + "\n" for text in self._raw("out"))

    def _raw(self, direction: str) -> list[str]:
        path = self.folder / "wire.jsonl"
        rows = path.read_text().splitlines() if path.exists() else []
        found = [json.loads(row) for row in rows if row.endswith("}")]
        return [one["raw"] for one in found if one["direction"] == direction]

    def orders(self) -> dict[str, dict[str, Any]]:
        """Return the broker's orders by ClOrdID."""
        path = self.folder / "orders.json"
        saved = json.loads(path.read_text()) if path.exists() else {"orders": []}
        return {one["cl_ord_id"]: one for one in saved["orders"]}

    def log(self) -> str:
        return (self.folder / "broker.log").read_text()[-4_000:]

    def _order(self, word: str) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(f"{word}\n".encode())
        self._process.stdin.flush()

    def _listens(self) -> bool:
        hexed = f"{self.port:04X}"
        rows = Path("/proc/net/tcp").read_text().splitlines()[1:]
        return any(row.split()[1].endswith(f":{hexed}") and row.split()[3] == "0A" for row in rows)


def _fields(raw: str) -> Message:
    """Return the fields of a message; of a repeated one the first."""
    pairs = [part.partition("=") for part in reversed(raw.split("\x01")) if part]
    return {int(tag): text for tag, _, text in pairs}


@contextlib.contextmanager
def outside_broker(folder: Path, engine: tuple[str, ...], *script: str) -> Iterator[OutsideBroker]:
    """Yield a broker that listens; it ends with the test."""
    broker = OutsideBroker(folder, engine, *script)
    broker.start()
    try:
        yield broker
    finally:
        broker.stop()
