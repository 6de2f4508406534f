"""The simulator's command line and files.

The simulator has its own copy of the playback's quotes and is told only the session's number. Its
files, all in one folder:

- quotes: JSON lines {session, instrument, market_time_us, bid, ask}, prices as decimal text.
- control: one JSON object with the fields of `Control`, replaced atomically.
- capture: JSON lines {wall_us, direction, msg_type, raw}, fsynced, every message.

Not here: quickfix and the gateway.
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
    """Options of the simulator.

    Attributes:
        quotes: quotes file; None: every limit order trades at its limit.
        seed: of the published table.
        fee_bp: commission per fill, basis points of its value, half-even to the cent.
        partial_delay_ms: time between a partial fill and the rest.
        script: outcomes that precede the table, for tests.
        market_target: the gateway's CompID of the market data session; empty: there is none.
        prices: planted prices, JSON lines {instrument, bid, ask}; None: those of `quotes`.
        tick_ms: time between two prices of an instrument.
        exec_after: highest ExecID number in use, where a capture was lost.
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
    market_target: str = ""
    prices: Path | None = None
    tick_ms: int = 200

    @property
    def capture(self) -> Path:
        """The capture file."""
        return self.folder / "capture.jsonl"

    @property
    def dictionary(self) -> Path:
        """The data dictionary that the engine checks messages with."""
        return self.folder / "FIX44.xml"

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
        if self.market_target:
            words += ["--market-target", self.market_target, "--tick-ms", str(self.tick_ms)]
            words += ["--prices", str(self.prices)] if self.prices else []
        words += ["--exec-after", str(self.exec_after)] if self.exec_after else []
        for flag in ("reset_on_logon", "cancel_on_disconnect", "silent"):
            words += [f"--{flag.replace('_', '-')}"] if getattr(self, flag) else []
        return words


class Control(NamedTuple):
    """The control file.

    Attributes:
        resets: raising it ends the session and resets the numbers at the next logon.
        reset_flag: whether that logon has 141=Y; otherwise it is just number 1.
        cancels: how cancels are answered, and `replaces` replaces (`fix.simulator.acts.MANNERS`).
        deal: outcomes of coming orders, and `acts` what is done: each entry is played once, in
            order. What is in the lists when the simulator starts counts as played.
    """

    session: int = 0
    silent: bool = False
    resets: int = 0
    reset_flag: bool = True
    cancels: str = "confirm"
    replaces: str = "confirm"
    deal: tuple[str, ...] = ()
    acts: tuple[tuple[str, str, int, str], ...] = ()


class SimulatedQuote(NamedTuple):
    """The simulator's bid and ask of an instrument."""

    market_time_us: int
    bid: Decimal
    ask: Decimal


class Captured(NamedTuple):
    """One captured message; direction ``in`` is from the gateway."""

    wall_us: int
    direction: str
    msg_type: str
    raw: str


def exec_number(exec_id: str) -> int:
    """Return the number in an ExecID of the simulator, 0 for any other ExecID."""
    digits = exec_id.removeprefix("X")
    own = exec_id.startswith("X") and digits.isascii() and digits.isdecimal()
    return int(digits) if own and len(digits) <= EXEC_DIGITS_MAX else 0


def read_quotes(path: Path) -> dict[tuple[int, str], SimulatedQuote]:
    """Return all quotes by (session, instrument); a later line replaces an earlier one."""
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
    """Return the control file's content, or the defaults without one."""
    if not path.exists():
        return Control()
    document = json.loads(path.read_text(encoding="ascii"))
    return Control(
        session=int(document["session"]),
        silent=bool(document["silent"]),
        resets=int(document.get("resets", 0)),
        reset_flag=bool(document.get("reset_flag", True)),
        cancels=str(document.get("cancels", "confirm")),
        replaces=str(document.get("replaces", "confirm")),
        deal=tuple(str(word) for word in document.get("deal", ())),
        acts=tuple(
            (str(what), str(order), int(qty), str(price))
            for what, order, qty, price in document.get("acts", ())
        ),
    )


def set_session(path: Path, session: int) -> None:
    """Move the simulator's clock to a session."""
    write_control(path, read_control(path)._replace(session=session))


def read_capture(path: Path) -> Iterator[Captured]:
    """Yield the captured messages, oldest first, without a line cut off by a crash."""
    if not path.exists():
        return
    with path.open(encoding="ascii") as file:
        for line in file:
            if line.endswith("\n"):
                row = json.loads(line)
                yield Captured(row["wall_us"], row["direction"], row["msg_type"], row["raw"])
