"""The simulator's outside: its command line, quotes, clock and capture. No quickfix, no gateway.

The simulator keeps its own copy of the playback's quotes and is told only which session it is; it
never sees what the gateway thinks the market is. Files, all in one folder:

- quotes: JSON lines {session, instrument, market_time_us, bid, ask}, prices as decimal text.
- control: one JSON object {session, silent, resets, reset_flag}, replaced atomically by whoever
  runs the playback.
- capture: JSON lines {wall_us, direction, msg_type, raw}, fsynced, everything received and sent.
"""

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

DEFAULT_PORT = 9878
EXEC_DIGITS_MAX = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatorConfig:
    """Everything that can be asked of the simulator.

    Attributes:
        folder: where store, log, capture and control live.
        quotes: quotes file; None: every limit order trades at its limit.
        seed: of the published table.
        fee_bp: commission per fill, basis points of its value, half-even to the cent.
        partial_delay_ms: time between a partial fill and the rest.
        script: outcomes to use in this order before the seeded table, for tests.
        exec_after: ExecIDs go on behind this number at least: a lost capture had used them.
    """

    folder: Path
    port: int = DEFAULT_PORT
    sender: str = "EMSSIM"
    target: str = "COUNTERSIGN"
    seed: str = "countersign"
    quotes: Path | None = None
    fee_bp: int = 1
    partial_delay_ms: int = 20
    reset_on_logon: bool = False
    cancel_on_disconnect: bool = False
    silent: bool = False
    script: tuple[str, ...] = ()
    exec_after: int = 0

    @property
    def capture(self) -> Path:
        """The capture file."""
        return self.folder / "capture.jsonl"

    @property
    def control(self) -> Path:
        """The control file."""
        return self.folder / "control.json"

    def command(self) -> list[str]:
        """Return the command line that starts this simulator."""
        words = [sys.executable, "-m", "fix.simulator.acceptor", "--folder", str(self.folder)]
        words += ["--port", str(self.port), "--sender", self.sender, "--target", self.target]
        words += ["--seed", self.seed, "--fee-bp", str(self.fee_bp)]
        words += ["--partial-delay-ms", str(self.partial_delay_ms)]
        words += ["--quotes", str(self.quotes)] if self.quotes else []
        words += ["--script", ",".join(self.script)] if self.script else []
        words += ["--exec-after", str(self.exec_after)] if self.exec_after else []
        for flag in ("reset_on_logon", "cancel_on_disconnect", "silent"):
            words += [f"--{flag.replace('_', '-')}"] if getattr(self, flag) else []
        return words


class Control(NamedTuple):
    """What the simulator is told while it runs.

    Attributes:
        resets: raised by one: it ends the session and begins its numbers anew at the next logon.
        reset_flag: it says so then, by 141=Y; otherwise it just begins again at 1.
    """

    session: int = 0
    silent: bool = False
    resets: int = 0
    reset_flag: bool = True


class SimulatedQuote(NamedTuple):
    """The simulator's own two sides of an instrument."""

    market_time_us: int
    bid: Decimal
    ask: Decimal


class Captured(NamedTuple):
    """One message in the simulator's capture; direction ``in`` is from the gateway."""

    wall_us: int
    direction: str
    msg_type: str
    raw: str


def exec_number(exec_id: str) -> int:
    """Return the number in an ExecID of the simulator, 0 if it is none of its own."""
    digits = exec_id.removeprefix("X")
    own = exec_id.startswith("X") and digits.isascii() and digits.isdecimal()
    return int(digits) if own and len(digits) <= EXEC_DIGITS_MAX else 0


def read_quotes(path: Path) -> dict[tuple[int, str], SimulatedQuote]:
    """Return all quotes by session and instrument; the last line of a pair holds."""
    quotes: dict[tuple[int, str], SimulatedQuote] = {}
    with path.open(encoding="ascii") as file:
        for line in file:
            row = json.loads(line)
            key = (int(row["session"]), str(row["instrument"]))
            quotes[key] = SimulatedQuote(
                int(row["market_time_us"]), Decimal(str(row["bid"])), Decimal(str(row["ask"]))
            )
    return quotes


def write_control(path: Path, control: Control) -> None:
    """Replace the control file atomically."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    fresh.write_text(json.dumps(control._asdict()), encoding="ascii")
    fresh.replace(path)


def read_control(path: Path) -> Control:
    """Return what the control file says; without one, session 0 and not silent."""
    if not path.exists():
        return Control()
    document = json.loads(path.read_text(encoding="ascii"))
    return Control(
        session=int(document["session"]),
        silent=bool(document["silent"]),
        resets=int(document.get("resets", 0)),
        reset_flag=bool(document.get("reset_flag", True)),
    )


def set_session(path: Path, session: int) -> None:
    """Move the simulator's clock to a session."""
    write_control(path, read_control(path)._replace(session=session))


def read_capture(path: Path) -> Iterator[Captured]:
    """Yield what the simulator captured, oldest first; a line cut off by a crash is left out."""
    if not path.exists():
        return
    with path.open(encoding="ascii") as file:
        for line in file:
            if line.endswith("\n"):
                row = json.loads(line)
                yield Captured(row["wall_us"], row["direction"], row["msg_type"], row["raw"])
