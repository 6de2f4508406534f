"""Loosen a policy while agents ask: `python -m tests.crash.policy_change`, or `make policy-change`.

Each round is a desk of an empty folder, served as its own process with the scripted engine, a
simulated broker, a feed, and agents that post 1,000 intents a minute. In the middle two officers'
signatures put a looser policy in force; in most rounds the gateway is killed at a step of that, and
served again while the agents go on. The judge reads the ledger.
"""

import argparse
import json
import random
import secrets
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from gateway.cli.main import app as countersign
from gateway.clock import pause
from risk.policy.policy import policy_digest
from risk.policy.signing import signed_policy_from_document
from tests.crash.ledger_report import table
from tests.crash.policy_judge import Found, judged
from tests.doubles.fix_world import broker_at
from tests.doubles.operator_page import do, edited
from tests.doubles.programs import ROOT, use_first_parts
from tests.doubles.scene_desk import SYMBOL, ServedDesk, served_desk
from tests.doubles.served_process import MUTANTS, served_apart

PAGE = ROOT / "docs" / "measured" / "policy-change.md"
PER_MINUTE = 1_100
AGENTS = 8
LOAD_S = 8.0
POINTS = ("policy.checked", "policy.recorded")
OLD, NEW = 25_000_000, 40_000_000
"""The threshold above which a person is asked: 250,000 and 400,000 USD."""
LOTS = 1_100
"""An intent's largest order: about 300,000 USD, between the two thresholds."""
BITES = 6
ABOUT = f"""# A policy loosened under load

Written by `make policy-change`; do not edit. A served gateway (PostgreSQL, FIX child, simulated
broker, scripted engine), agents that post {PER_MINUTE:,} intents a minute, quotes five times a
second. In the middle `countersign policy activate` puts a policy in force whose threshold for a
person is {NEW // 100:,} instead of {OLD // 100:,} USD. The gateway lives on, or is killed at a step
of the change or at a drawn time, and is served again under the same load. The judge reads the whole
ledger: every record of a decision names the policy of the last activation before it, no decision
names two, and each verdict's limit is its policy's."""
HEAD = ("the gateway", "a minute", "answers", "activation, ms", "decisions old / new", "broken")
WRITTEN_FROM = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What one round showed.

    Attributes:
        how: "served on", a failpoint, or the ms after the press at which SIGKILL came.
        per_minute: Intents answered with a decision, while the first gateway lived.
        answers: HTTP answers by status; "gone" for a request that nobody answered.
        pressed_ms: How long the activation took, None if the gateway died first.
    """

    how: str
    per_minute: float
    answers: Counter[str]
    pressed_ms: float | None
    found: Found


class Agents:
    """Threads that post intents at an even pace, and one that posts quotes, until told to stop."""

    def __init__(self, desk: ServedDesk) -> None:
        self._desk, self._over = desk, threading.Event()
        self._lock = threading.Lock()
        self._begun = time.monotonic()
        self.answers: Counter[str] = Counter()
        token = (desk.top / "desk" / "agent" / "agent.token").read_text().strip()
        self._key = {"Authorization": f"Bearer {token}"}
        self._pool = ThreadPoolExecutor(AGENTS + 1)
        self._running = [self._pool.submit(self._feed)]
        self._running += [self._pool.submit(self._ask, number) for number in range(AGENTS)]

    def stop(self) -> float:
        """End all; return the intents per minute that were answered with a decision."""
        took_s = time.monotonic() - self._begun
        self._over.set()
        for one in self._running:
            one.result()
        self._pool.shutdown()
        return 60 * self.answers["200"] / took_s

    def _feed(self) -> None:
        while not self._over.wait(0.2):
            with suppress(httpx.TransportError, AssertionError):
                self._desk.post_quote()

    def _ask(self, agent: int) -> None:
        """Ask for much and for little in turn, so that there is always an order to judge."""
        with httpx.Client(base_url=self._desk.address, trust_env=False, timeout=30.0) as client:
            for number in range(10_000):
                at = self._begun + 60.0 * (number * AGENTS + agent) / PER_MINUTE
                if self._over.wait(max(0.0, at - time.monotonic())):
                    return
                wish: dict[str, Any] = {
                    "client_key": f"{self._begun:.0f}-{agent}-{number}",
                    "instrument": SYMBOL,
                    "target_exposure_bp": 9_000 if (number + agent) % 2 else 500,
                    "max_qty_lots": LOTS + 3 * (number * AGENTS + agent),
                }
                try:
                    said = client.post("/v1/intents", json=wish, headers=self._key)
                    self._count(str(said.status_code))
                except httpx.TransportError:
                    self._count("gone")
                    self._over.wait(0.2)

    def _count(self, answer: str) -> None:
        with self._lock:
            self.answers[answer] += 1


def play(how: str, after_ms: int, mutant: str = "") -> Round:
    """Play one round; `how` is "" for a gateway that lives, a failpoint, or "kill"."""
    with (
        tempfile.TemporaryDirectory(prefix="policy-change-") as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        top = Path(folder)
        top.chmod(0o711)
        for name, value in (("DRAFTER", "network"), ("PATHS", "16"), ("HORIZON", "4")):
            patch.setenv(f"COUNTERSIGN_ENGINE__{name}", value)
        with broker_at(top) as broker:
            port = broker.config.port
            profile = edited(do("profile", "example", "simulator").stdout, port=port)
            with served_desk(top / "empty", port, patch, profile) as desk:
                return _served(desk, top, how, after_ms, mutant)


def _served(desk: ServedDesk, top: Path, how: str, after_ms: int, mutant: str) -> Round:
    limits = {_digest(Path("keys/policy.bundle.json")): OLD}
    bundle = _looser()
    limits[_digest(bundle)] = NEW
    armed = [f"fail:{how}:kill@1"] if how in POINTS else []
    armed += [f"mutant:{mutant}"] if mutant else []
    answers: Counter[str] = Counter()
    with served_apart(desk, top / "serve.log", *armed) as first:
        desk.post_bars()
        agents = Agents(desk)
        pause(LOAD_S / 2)
        killer = threading.Timer(after_ms / 1_000, first.kill) if how == "kill" else None
        if killer is not None:
            killer.start()
        pressed = time.monotonic()
        done = CliRunner().invoke(countersign, ["policy", "activate", str(bundle)])
        pressed_ms = (time.monotonic() - pressed) * 1_000 if done.exit_code == 0 else None
        if killer is not None:
            killer.join()
        if pressed_ms is None:  # nobody answered: the kernel has its end in a moment
            with suppress(subprocess.TimeoutExpired):
                first.wait(5.0)
        lived = first.poll() is None and how != "kill"
        pause(LOAD_S / 2 if lived else 0.5)
        per_minute = agents.stop()
        answers += agents.answers
    with served_apart(desk, top / "serve.log"):
        desk.post_quote()
        agents = Agents(desk)
        pause(LOAD_S / 4)
        agents.stop()
        answers += agents.answers
    desk.start()
    found = judged(desk.app.reader.records(), limits)
    if not mutant and set(found.by_policy) != set(limits) and done.exit_code == 0:
        found.broken.append(f"decisions under {len(found.by_policy)} policies only")
    if pressed_ms is not None and found.changes != 1:
        found.broken.append(f"the press was answered, and {found.changes} changes are on record")
    if how in POINTS and lived:
        found.broken.append("the failpoint was not reached")
    said = f"SIGKILL after {after_ms} ms" if how == "kill" else how or "served on"
    return Round(
        how=said, per_minute=per_minute, answers=answers, pressed_ms=pressed_ms, found=found
    )


def _looser() -> Path:
    """Write the next policy, with one limit loosened, and sign it by both officers."""
    do("policy", "new", "next.toml", "--from", "keys/policy.bundle.json")
    source, name = Path("next.toml"), "[approval.human_notional]\nvalue = "
    text = source.read_text()
    if f"{name}{OLD}\n" not in text:
        raise AssertionError("the draft's threshold is another one")
    source.write_text(text.replace(f"{name}{OLD}\n", f"{name}{NEW}\n"))
    homes = Path.cwd().parent
    do("policy", "sign", "next.toml", "--key", homes / "risk-officer/risk.key")
    do("policy", "sign", "next.bundle.json", "--key", homes / "compliance-officer/compliance.key")
    return Path("next.bundle.json")


def _digest(bundle: Path) -> str:
    return policy_digest(signed_policy_from_document(json.loads(bundle.read_bytes())).policy)


def drawn(rounds: int, seed: int) -> list[tuple[str, int]]:
    """Return what each round does: first all kinds in turn, the times of kills by the seed."""
    dice = random.Random(seed)  # noqa: S311 - a printed seed
    kinds = ("", *POINTS, "kill")
    return [(kinds[number % len(kinds)], dice.randrange(600)) for number in range(rounds)]


def biting(mutant: str) -> int:
    """Return after how many rounds a gateway that is wrong on purpose was caught; 0 for never."""
    for number in range(1, BITES + 1):
        if play("", 0, mutant).found.broken:
            return number
    return 0


def page(rounds: Sequence[Round], teeth: dict[str, int], seed: int) -> str:
    """Return docs/measured/policy-change.md."""
    pressed = [one.pressed_ms for one in rounds if one.pressed_ms is not None]
    rates = [one.per_minute for one in rounds if one.pressed_ms is not None]
    broken = sum(bool(one.found.broken) for one in rounds)
    rows = [
        (
            one.how,
            f"{one.per_minute:.0f}",
            ", ".join(f"{name}: {count}" for name, count in sorted(one.answers.items())),
            "-" if one.pressed_ms is None else f"{one.pressed_ms:.0f}",
            " / ".join(str(one.found.by_policy[d]) for d in one.found.by_policy),
            "; ".join(one.found.broken[:2]) or "none",
        )
        for one in rounds
    ]
    caught = ", ".join(
        f"`{name}`: " + (f"round {n}" if n else "never") for name, n in teeth.items()
    )
    lived = (
        f"{len(rounds)} rounds, seed {seed}: **{broken} broken**. Where the gateway lived agents"
        f" got\n{statistics.median(rates):.0f} decisions a minute (median), and the activation took"
        f" {statistics.median(pressed):.0f} ms\n(longest {max(pressed):.0f} ms)."
    )
    wrong = f"Gateways that are wrong on purpose, caught in: {caught}.\n"
    return "\n\n".join((ABOUT, lived, table((HEAD, *rows)), wrong))


def main(words: Sequence[str]) -> int:
    """Play, judge, say; 1 if a round is broken or a mutant got through."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash.policy_change")
    parser.add_argument("--rounds", type=int, default=WRITTEN_FROM)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000))
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    parser.add_argument("--mutant", choices=tuple(MUTANTS), help="one gateway, wrong on purpose")
    given = parser.parse_args(words)
    use_first_parts()
    if given.mutant:
        return biting(given.mutant)
    rounds = []
    for how, after_ms in drawn(given.rounds, given.seed):
        rounds.append(play(how, after_ms))
        sys.stdout.write(f"{rounds[-1]}\n")
        sys.stdout.flush()
    teeth = {}
    for mutant in MUTANTS:  # in a process of its own: nothing of it stays
        command = [sys.executable, "-m", "tests.crash.policy_change", "--mutant", mutant]
        teeth[mutant] = subprocess.run(command, cwd=ROOT, check=False).returncode
    text = page(rounds, teeth, given.seed)
    sys.stdout.write(text)
    if given.write:
        PAGE.write_text(text, encoding="utf-8")
    return int(any(one.found.broken for one in rounds) or not all(teeth.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
