"""A desk of its own in an empty folder, made and served as its operator does: verbs and HTTP only.

`served_desk` makes the installation with `init`, lets both officers sign the draft policy, starts
the counterparty, the gateway and the feed as processes, and ends all of them. Shipped pair, shipped
policy, shipped number of paths: nothing is set but ports and the table of instruments.

Not here: the load (`callers`), what the feed delivers (`market`).
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from fix.simulator.control import SimulatorConfig
from gateway.installation.children.simulator import Simulator, free_port
from scripts.load.callers import OK, ask
from scripts.load.lifted import key_scope, lift
from scripts.load.market import broker_quotes, stretches, symbols, table_text

ROOT: Final = Path(__file__).resolve().parents[2]
COUNTERSIGN: Final = Path(sys.executable).with_name("countersign")
SCOPE: Final = "bench-scope.toml"
OWN_ACCOUNT: Final = 'account = "agent-1"\n'
"""Of the agent of `init`, whose name is taken by the account of keys without a scope."""
SENDER, TARGET = "COUNTERSIGN", "EMSSIM"
UP_WITHIN_S: Final = 300.0
"""The engine compiles at its first start."""
END_WITHIN_S: Final = 90.0
POLL_S: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedDesk:
    """A desk that is made; `gateway` is the process that serves it, `feed` posts its market."""

    top: Path
    address: str
    symbols: list[str]
    agents: list[str]
    tokens: dict[str, str]
    gateway: subprocess.Popen[bytes] = field(repr=False)
    feed: subprocess.Popen[bytes] = field(repr=False)

    def get(self, path: str, holder: str = "operator") -> tuple[int, dict[str, Any]]:
        """Read as the holder of a key."""
        return ask(self.address, path, self.tokens[holder])

    def wait(self, condition: Callable[[], bool], within_s: float, what: str) -> None:
        """Poll until a condition holds while the gateway lives.

        Raises:
            SystemExit: it does not in time, or the gateway has ended.
        """
        end_s = time.monotonic() + within_s
        while not condition():
            if self.gateway.poll() is not None or time.monotonic() > end_s:
                log = (self.top / "serve.log").read_text(errors="replace")
                raise SystemExit(f"bench: no {what} in {within_s:g} s\n{log[-3_000:]}")
            time.sleep(POLL_S)

    def ready(self) -> bool:
        """Return whether the gateway says that it takes orders."""
        return self.get("/readyz")[0] == OK

    def parts(self) -> dict[str, str]:
        """Return the state of each part of the gateway."""
        found: dict[str, str] = self.get("/readyz")[1].get("parts", {})
        return found

    def fed(self) -> bool:
        """Return whether every instrument has bars and a fresh quote."""
        return self.get("/readyz")[1].get("feeds") == "ready"

    def forecasts(self) -> dict[str, str]:
        """Return how the newest forecast of each instrument ended, by symbol."""
        _, said = self.get("/v1/forecasts")
        return {str(one["instrument"]): str(one["outcome"]) for one in said.get("forecasts", ())}

    def forecasts_ready(self) -> bool:
        """Return whether every instrument has a forecast."""
        found = self.forecasts()
        return all(found.get(symbol) == "made" for symbol in self.symbols)

    def ledger_bytes(self) -> int:
        """Return the size of the database's files, without its log of changes."""
        found = (self.top / "desk" / "gateway" / "state" / "pg" / "data" / "base").rglob("*")
        return sum(one.stat().st_size for one in found if one.is_file())


def verb(folder: Path, *words: str) -> str:
    """Run `countersign` in a folder, without a terminal; return what it printed.

    Raises:
        SystemExit: its exit code is not 0.
    """
    done = subprocess.run(
        [COUNTERSIGN, *words],
        cwd=folder,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(f"bench: countersign {' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout


def make_desk(
    top: Path, fix_port: int, table: str, agents: int, *, lifted: bool
) -> tuple[list[str], Path]:
    """Make an installation under `top`; return its agents' names and the gateway's folder.

    The agent of `init` has its key; the others have such keys, each with an account of its own.
    """
    (top / "instruments.toml").write_text(table, encoding="ascii")
    words = ("--origin", "bench.example/desk", "--broker", f"127.0.0.1:{fix_port}")
    ends = ("--sender", SENDER, "--target", TARGET, "--instruments", "instruments.toml")
    verb(top, "init", "desk", *words, *ends)
    folder = top / "desk" / "gateway"
    if lifted:
        lift(folder)
    verb(folder, "policy", "sign", "policy.toml", "--key", "../risk-officer/risk.key")
    second = ("--key", "../compliance-officer/compliance.key")
    verb(folder, "policy", "sign", "policy.bundle.json", *second)
    verb(folder, "policy", "activate", "policy.bundle.json")
    names = ["agent", *(f"agent-{number}" for number in range(2, agents + 1))]
    own = (folder / "agent.toml").read_text(encoding="utf-8")
    (folder / SCOPE).write_text(key_scope(own, lifted=lifted), encoding="utf-8")
    for name in names[1:]:
        verb(folder, "keygen", "--name", name, "--role", "agent", "--scope", SCOPE)
    if lifted:
        (folder / SCOPE).write_text(key_scope(own, lifted=True) + OWN_ACCOUNT, encoding="utf-8")
        token = verb(folder, "key", "replace", names[0], "--scope", SCOPE).strip()
        (top / "desk" / names[0] / f"{names[0]}.token").write_text(token, encoding="ascii")
    return names, folder


@contextmanager
def served_desk(
    top: Path,
    instruments: int,
    agents: int,
    *,
    lifted: bool = False,
    serve: Sequence[str] = (str(COUNTERSIGN), "serve"),
) -> Iterator[ServedDesk]:
    """Yield a desk that is up, has a feed, and is ready; `top` is an empty folder.

    With `lifted` its policy is the bench's (see `lifted`); `serve` is the command of its gateway.

    Raises:
        SystemExit: it does not start, or does not end within `END_WITHIN_S`.
    """
    top.chmod(0o755)  # PostgreSQL runs as another user, who must get through
    with ExitStack() as stack:
        bars = stretches(instruments)
        fix_port, own_port = free_port(), free_port()
        names, folder = make_desk(top, fix_port, table_text(bars), agents, lifted=lifted)
        counterparty(top / "broker", fix_port, broker_quotes(bars), stack)
        address = f"http://127.0.0.1:{own_port}"
        gateway = begun(
            top / "serve.log",
            [*serve],
            folder,
            COUNTERSIGN_API__PORT=str(own_port),
        )
        stack.callback(ended, gateway, "countersign serve")
        token = top / "desk" / "feed" / "feed.token"
        words = [sys.executable, "-m", "scripts.load.market", address, str(token), str(instruments)]
        feed = begun(top / "feed.log", words, ROOT)  # it tries until the gateway takes it
        stack.callback(ended, feed, "feed")
        found = ServedDesk(
            top=top,
            address=address,
            symbols=symbols(instruments),
            agents=names,
            tokens=_tokens(top / "desk", names),
            gateway=gateway,
            feed=feed,
        )
        found.wait(found.ready, UP_WITHIN_S, "ready gateway")
        found.wait(found.fed, UP_WITHIN_S, "bars and quotes")
        yield found


def counterparty(folder: Path, port: int, quotes: str, stack: ExitStack) -> None:
    """Start the product's simulator as a process of its own; it ends with the stack."""
    folder.mkdir()
    (folder / "quotes.jsonl").write_text(quotes, encoding="ascii")
    config = SimulatorConfig(
        folder=folder, port=port, sender=TARGET, target=SENDER, quotes=folder / "quotes.jsonl"
    )
    broker = Simulator(config, folder / "simulator.log")
    broker.start()
    stack.callback(broker.stop)


def ended(process: subprocess.Popen[bytes], what: str) -> None:
    """End a process as a person does, with Ctrl-C.

    Raises:
        SystemExit: it did not end in time, and was killed.
    """
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    try:
        process.wait(END_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise SystemExit(f"bench: {what} did not end within {END_WITHIN_S:g} s") from None


def verified(top: Path) -> str:
    """Return the last line of `countersign verify`, once nothing serves.

    Raises:
        SystemExit: the ledger is not intact.
    """
    words = ("verify", "--key", "keys/ledger.key.pub")
    return verb(top / "desk" / "gateway", *words).strip().splitlines()[-1]


def begun(log: Path, words: list[str], folder: Path, **settings: str) -> subprocess.Popen[bytes]:
    """Start a process, with further settings in its environment; what it says goes to `log`."""
    with log.open("ab") as file:
        return subprocess.Popen(
            words,
            cwd=folder,
            env={**_environment(), **settings},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,  # a person's Ctrl-C ends the bench, which ends the others
        )


def _environment() -> dict[str, str]:
    """Return the environment without settings of another gateway."""
    return {k: v for k, v in os.environ.items() if not k.startswith("COUNTERSIGN_")}


def _tokens(desk: Path, agents: list[str]) -> dict[str, str]:
    """Return the keys that `init` and `keygen` made, by holder."""
    files = [desk / name / f"{name}.token" for name in ("operator", "monitor", agents[0])]
    files += [desk / "gateway" / "keys" / f"{name}.token" for name in agents[1:]]
    return {one.stem: one.read_text(encoding="ascii").strip() for one in files}
