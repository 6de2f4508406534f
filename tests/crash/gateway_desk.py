"""The installation of the gateway campaign, and its market.

What `init` makes for eight instruments: keys with their rates and budgets, the draft policy that
both officers sign as it is, the shipped pair. Only the broker's profile is another one (behind the
campaign's line, which may begin its numbers at 1), there are more agents, and a forecast has
`PATHS` paths.

Not here: who acts (`gateway_actions`), the running gateway (`gateway_process`).
"""

import contextlib
import json
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from typing_extensions import override

from gateway.feeds.sessions import price_text, quote
from gateway.installation.keys.officers import read_officer
from gateway.installation.policies import policy
from gateway.installation.policies.policy import POLICIES
from gateway.installation.settings import PREFIX
from scripts.load.callers import OK, ask
from scripts.load.lifted import key_scope
from scripts.load.market import SOURCE, bar_lines, quotes_of, stretches, symbols, table_text
from tests.doubles.fix_world import wall_us
from tests.doubles.operator_page import do, edited

INSTRUMENTS: Final = 8
SYMBOLS: Final = tuple(symbols(INSTRUMENTS))
PATHS: Final = 128
"""As few as the shipped policy lets a verdict rest on (`joint_paths_min`); it ships with 1,024."""
AGENTS: Final = ("agent", *(f"agent-{number}" for number in range(2, 9)))
"""Each with an account of its own. The policy lets five orders of a side be executed in an
instrument in ten minutes: one agent would soon ask in vain."""
MIDDLES: Final = {
    symbol: price_text(sum(quote(rows[-1])) // 2) for symbol, rows in stretches(INSTRUMENTS).items()
}
"""The price in the middle of the feed's quotes, which stand."""
SENDER, TARGET = "COUNTERSIGN", "EMSSIM"
HOUR_US: Final = 3_600_000_000
FIRST_BEFORE_US: Final = 24 * HOUR_US
"""How long before the start the first bars' newest closed, less an hour; the campaign's own
bars come after it, one in each round and `BAR_EVERY_US` apart."""
BAR_EVERY_US: Final = HOUR_US // 2
QUOTE_EVERY_S: Final = 0.4
ANSWER_S: Final = 5.0


class Installation:
    """The folders that `init` made, as their holders have them."""

    def __init__(self, top: Path) -> None:
        """Take what `made_desk` copied to `top`."""
        self.top = top
        self.gateway = top / "desk" / "gateway"
        self.state = self.gateway / "state"

    def token(self, name: str) -> str:
        """Return the key of a holder."""
        own = self.top / "desk" / name / f"{name}.token"
        path = own if own.exists() else self.gateway / "keys" / f"{name}.token"
        return path.read_text(encoding="ascii").strip()

    def officer(self, role: str) -> Ed25519PrivateKey:
        """Return an officer's private key: `risk` or `compliance`."""
        path = self.top / "desk" / f"{role}-officer" / f"{role}.key"
        return read_officer(path, "--key", role).key

    @property
    def vkey(self) -> str:
        """The public key of the log."""
        return (self.gateway / "keys" / "ledger.key.pub").read_text(encoding="ascii").strip()


def made_desk(top: Path, line_port: int) -> Installation:
    """Put an installation into a folder, for a broker behind a port; nothing has run in it."""
    shutil.copytree(_template() / "desk", top / "desk", symlinks=True)
    found = Installation(top)
    profile = do("profile", "example", "simulator").stdout
    own = edited(profile, port=line_port, resets="by_broker")
    (found.gateway / "broker.toml").write_text(own, encoding="utf-8")
    return found


@cache
def _template() -> Path:
    """Make the installation once a process: a copy of one that never ran is another one."""
    top = Path(tempfile.mkdtemp(prefix="gateways-desk-"))
    top.chmod(0o711)
    with as_shipped(), contextlib.chdir(top):
        _make()
    return top


@contextlib.contextmanager
def as_shipped() -> Iterator[None]:
    """Leave out what tests set: the first pair, few paths, the first policy."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [one for one in os.environ if one.startswith(PREFIX)]:
            patch.delenv(name)
        patch.setattr(policy, "SHIPPED", POLICIES["desk"])
        yield


def _make() -> None:
    """Make the installation in the present folder."""
    Path("instruments.toml").write_text(table_text(stretches(INSTRUMENTS)), encoding="ascii")
    words = ("--origin", "crash.example/desk", "--broker", "127.0.0.1:9878")
    ends = ("--sender", SENDER, "--target", TARGET, "--instruments", "instruments.toml")
    do("init", "desk", *words, *ends)
    with contextlib.chdir("desk/gateway"):
        do("policy", "sign", "policy.toml", "--key", "../risk-officer/risk.key")
        second = ("--key", "../compliance-officer/compliance.key")
        do("policy", "sign", "policy.bundle.json", *second)
        do("policy", "activate", "policy.bundle.json")
        scope = key_scope(Path("agent.toml").read_text(encoding="utf-8"), lifted=False)
        Path("more.toml").write_text(scope, encoding="utf-8")
        for name in AGENTS[1:]:
            do("keygen", "--name", name, "--role", "agent", "--scope", "more.toml")


class Feed(threading.Thread):
    """Delivers bars at its start and on demand, and quotes all the time, whoever listens."""

    def __init__(self, address: str, token: str, before_us: int = FIRST_BEFORE_US) -> None:
        """Prepare bars that closed so long before now; `start` begins."""
        super().__init__(daemon=True, name="feed")
        self._address, self._token = address, token
        self._bars = stretches(INSTRUMENTS)
        self._closed_us = wall_us() - before_us
        self._more: dict[str, int] = dict.fromkeys(SYMBOLS, 0)
        self._left: list[str] = [
            lines
            for symbol, rows in self._bars.items()
            for lines in bar_lines(symbol, rows, self._closed_us)
        ]
        self._over = threading.Event()
        self._number = 0
        self.refused = ""

    def bar(self, symbol: str) -> None:
        """Deliver the next bar of an instrument: another forecast is due."""
        rows, number = self._bars[symbol], self._more[symbol] + 1
        self._more[symbol] = number
        close_us = self._closed_us - HOUR_US + number * BAR_EVERY_US
        close = rows[-1].close_ticks + 7 * number % 40  # ticks: it stays where it is
        prices = dict.fromkeys(("open", "high", "low", "close"), price_text(close))
        sequence = len(rows) + number
        told = {"source": SOURCE, "instrument": symbol, "sequence": sequence}
        self._left.append(json.dumps({**told, "close_time_us": close_us, **prices}))

    @override
    def run(self) -> None:
        """Post until told to stop; what was not taken is posted again."""
        while not self._over.wait(QUOTE_EVERY_S):
            while self._left and self._posted("bars", self._left[0].encode()):
                self._left.pop(0)
            self._number += 1
            body = json.dumps(quotes_of(self._bars, self._number, wall_us())).encode()
            self._posted("quotes", body)

    def stop(self) -> None:
        """End it."""
        self._over.set()
        self.join()

    def _posted(self, feed: str, body: bytes) -> bool:
        kind = "application/x-ndjson" if feed == "bars" else "application/json"
        path = f"/v1/market/{feed}"
        status, said = ask(
            self._address, path, self._token, body, wait_s=ANSWER_S, content_type=kind
        )
        if status not in {0, OK}:
            self.refused = f"{feed} {status} {said}"
        return status == OK
