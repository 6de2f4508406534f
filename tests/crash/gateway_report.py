"""The tables of the gateway campaign, for the terminal and docs/measured/crash-gateways.md."""

import statistics
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gateway.installation.policies.policy import POLICIES
from gateway.installation.settings import EngineSettings
from risk.policy.policy import parse_policy
from tests.crash.gateway_desk import AGENTS, PATHS, SYMBOLS
from tests.crash.gateway_plan import ACTIONS, FAULTS
from tests.crash.gateway_round import Result
from tests.crash.ledger_report import table

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "measured" / "crash-gateways.md"
SECTIONS = ("kills", "whole gateways", "all faults")
HEAD = """# Gateways under faults

Written by `make crash-gateways`; do not edit. A desk as `init` makes it, with the shipped pair and
policy and a few more agents, is served and fed. In each round somebody acts over HTTP (an intent, a
cancel, a kill, a held order, a signed adjustment, ..) while two other agents go on asking, a new
bar makes a forecast due, and something breaks in the middle of it: a process is killed with
SIGKILL, the line to the broker is cut or swallows bytes, the broker begins its numbers at 1. In
every fifth round two things break at once. Then the desk must come back by itself, and a judge
(`tests/crash/gateway_judge.py`) holds the broker's own capture against the ledger: every order on
the wire has its earlier record (I1) and follows from one approval, once (I2); nothing new left
after a kill and nothing stayed live (I3); every report is on record (I4); a decision names the
forecast that stood, which is not expired (F1, F2); the book is the broker's, order by order. One
state folder goes through 100 rounds, so every start recovers the round before; then both verifiers
judge the whole ledger: chain, seeds, twins, joint paths, statements.

*Bit*: rounds in which the fault hurt (a failpoint may not be reached). *Orders*: new orders that
the broker received. *Resolved*: differences that two officers had to resolve for the broker, as
documented, because the broker lost its numbers and with them a report that the line had swallowed.
*Unheard*: orders with a trade, bust or correction that the broker sent into a bad line and then
forgot with its numbers: the desk finds it only by asking, also for orders that had ended.
*Back*: from the end of the fault to a session that is ready and a settled book, restart included,
on a busy machine. A row of the teeth is a gateway known to be wrong: it must be caught. 0 faults in
n rounds bound their rate below 3/n (95 %).
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tooth:
    """What became of one mutant: after how many rounds it was caught, None if never, and how."""

    mutant: str
    caught_after: int | None
    said: tuple[str, ...]


def page(
    results: Sequence[Result],
    teeth: Sequence[Tooth],
    seed: str,
    commit: str,
    *,
    whole: bool = False,
    patience: float = 1.0,
) -> str:
    """Return the figures of one run; `patience` is by how much longer all might take."""
    took_s = sum(one.took_s for one in results)
    about = (
        f"{len(results)} rounds, SEED={seed}, commit {commit}, {took_s / 60:.0f} min,"
        f" {statistics.median([one.took_s for one in results] or [0.0]):.1f} s a round"
        " (median).\n"
        f"{_used(whole=whole)}"
        f"{f' On a busy machine: {patience:g} times the usual limits of time.' * (patience != 1)}"
    )
    names = [
        "rounds",
        "bit",
        "broken",
        "orders",
        "kills",
        "resolved",
        "unheard",
        "back median s",
        "max s",
    ]
    faults = [_row(name, results, _struck(name)) for name in FAULTS]
    two = _row("two at once", results, lambda one: len(one.struck) > 1)
    actions = [_row(name, results, _acted(name)) for name in ACTIONS]
    every = _row("all", results, lambda _one: True)
    caught = [
        [one.mutant, str(one.caught_after or "never"), one.said[0] if one.said else "-"]
        for one in teeth
    ]
    return "\n\n".join(
        [
            about,
            table([["fault", *names], *faults, two, every]),
            table([["action", *names], *actions]),
            table([["wrong on purpose", "caught in round", "as"], *caught]),
        ]
    )


def _used(*, whole: bool) -> str:
    """Return pair, policy and paths of a run, as the page must name them."""
    shipped = EngineSettings()
    engine = "the engine child for real" if whole else "captures drawn from the pair's own rows"
    paths = shipped.paths if whole else PATHS
    policy = parse_policy(POLICIES["desk"].read_bytes())
    return (
        f"Pair `{shipped.model.name}`, {engine}; policy `{policy.name}` as `init` drafts it;"
        f" {paths} paths; {len(SYMBOLS)} instruments, {len(AGENTS)} agents, three ask at once."
    )


def _struck(name: str) -> Callable[[Result], bool]:
    return lambda one: name in one.struck


def _acted(name: str) -> Callable[[Result], bool]:
    return lambda one: one.action == name


def _row(name: str, results: Sequence[Result], chosen: Callable[[Result], bool]) -> list[str]:
    some = [one for one in results if chosen(one)]
    back = [one.back_s for one in some if not one.faults] or [0.0]
    return [
        name,
        str(len(some)),
        str(sum(one.bit for one in some)),
        str(sum(bool(one.faults) for one in some)),
        str(sum(one.orders for one in some)),
        str(sum(one.killed for one in some)),
        str(sum(one.resolved for one in some)),
        str(sum(one.unheard for one in some)),
        f"{statistics.median(back):.1f}",
        f"{max(back):.1f}",
    ]


def commit_of() -> str:
    """Return the commit of the tree."""
    ask = ["git", "rev-parse", "--short", "HEAD"]
    done = subprocess.run(ask, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def write_section(name: str, text: str) -> None:
    """Replace one section of the page; the others stay."""
    known = dict.fromkeys(SECTIONS, "Not run yet.\n")
    before = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    for one in known:
        begin, end = f"<!-- {one}: begin -->\n", f"<!-- {one}: end -->\n"
        if begin in before:
            known[one] = before.partition(begin)[2].partition(end)[0]
    known[name] = text.rstrip("\n") + "\n"
    parts = [HEAD]
    for one, kept in known.items():
        parts.append(f"## {one.capitalize()}\n\n<!-- {one}: begin -->\n{kept}<!-- {one}: end -->\n")
    PAGE.write_text("\n".join(parts), encoding="utf-8")
