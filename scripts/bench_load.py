"""Measure a served desk under an open load: `make bench-load` prints Markdown tables.

The desk is made and served as its operator does it, with the shipped pair, policy and paths, and
agents ask for exposure at planned times, however slow the answers are; a latency counts from the
planned time. A bare FastAPI + INSERT + quickfix loop is asked at the same rates in the same run.

    python -m scripts.bench_load [--quick] [--rate 10] [--seconds 60] [--only steady burst ..]

- `--lifted`: the bench policy, both officers of the bench sign it: eight agents at twice the rate,
  whose orders leave and are filled.
- `--memory`: one load of half an hour (`--seconds`), memory sampled each minute.
- `--cold` does not wait for forecasts; `--busy` puts a busy loop on each core beside it.
- `--page` also puts what was found into `docs/measured/load.md`.

Not here: a slow disk.
"""

import argparse
import os
import platform
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from gateway.clock import wall_us
from gateway.installation.children.simulator import free_port, wait_for
from scripts.load.callers import OK, ask, sent
from scripts.load.figures import Answer, by_answer, table
from scripts.load.lifted import LIFTED
from scripts.load.market import broker_quotes, stretches, symbols
from scripts.load.page import replaced, titled
from scripts.load.plan import Beside, Scenario, wishes
from scripts.load.runs import Found, played
from scripts.load.served import ROOT, ServedDesk, begun, counterparty, ended, served_desk, verified

HEAD = ("load", "answer", "count", "p50, ms", "p99, ms", "p99.9, ms", "longest, ms")
INSTRUMENTS, AGENTS = 4, 8
BURST_PER_S, SUSTAINED_PER_S = 50.0, 60.0
LOAD_S, MEMORY_S = 60.0, 1_800.0
PAGE = ROOT / "docs" / "measured" / "load.md"
FORECASTS_WITHIN_S, BARE_WITHIN_S = 300.0, 120.0
QUICK_S = 5.0
BARE = "bare"
EXIT_ENDED = 143


def scenarios(rate: float, seconds: float) -> list[Scenario]:
    """Return the loads of a desk's own policy.

    An agent at the rate beside an operator who cancels, a burst, eight agents at the rate together
    and each at the rate, and the rate again while something goes wrong.
    """
    one = Scenario(name="steady", agents=1, rate=rate, seconds=seconds)
    wrong = {"stalled": Beside.STALLED, "storm": Beside.STORM, "killed": Beside.KILLED}
    return [
        replace(one, cancels=True),
        replace(one, name="burst", rate=BURST_PER_S),
        replace(one, name="shared", agents=AGENTS),
        replace(one, name="crowd", agents=AGENTS, rate=AGENTS * rate),
        *(replace(one, name=name, beside=beside) for name, beside in wrong.items()),
    ]


def lifted_scenarios(rate: float, seconds: float) -> list[Scenario]:
    """Return the loads of the bench policy: so many agents that each stays inside its rate."""
    each = Scenario(name="filled", agents=AGENTS, rate=2 * rate, seconds=seconds)
    return [each, replace(each, name="sustained", rate=SUSTAINED_PER_S)]


def memory_scenarios(rate: float, seconds: float) -> list[Scenario]:
    """Return the load whose memory is watched."""
    return [Scenario(name="memory", agents=AGENTS, rate=rate, seconds=seconds)]


def on_a_desk(
    top: Path, plan: Sequence[Scenario], *, cold: bool, lifted: bool
) -> tuple[list[Found], list[str]]:
    """Play scenarios on a desk of its own; return what they found, and words about the desk."""
    run = f"r{wall_us() // 1_000_000 % 10**6}"
    agents = max(one.agents for one in plan)
    with served_desk(top, INSTRUMENTS, agents, lifted=lifted) as desk:
        if not cold:
            desk.wait(desk.forecasts_ready, FORECASTS_WITHIN_S, "forecasts")
        found, told_seq = list[Found](), 0
        for scenario in plan:
            print(f"bench: {scenario.said}", file=sys.stderr, flush=True)
            found.append(played(desk, scenario, run, told_seq))
            told_seq = found[-1].told_seq
        about = about_desk(desk)
    rules = (
        f"not armed for the bench, signed by both officers: {', '.join(LIFTED)}; no throttle of"
        " orders in the broker's profile; a day's budget of each key that no load uses up"
    )
    return found, [*about, *[rules] * lifted, f"ledger after Ctrl-C: {verified(top)}"]


def about_desk(desk: ServedDesk) -> list[str]:
    """Return what the desk says of itself: model pair, paths, policy."""
    log = (desk.top / "serve.log").read_text(errors="replace").splitlines()
    engine = [" ".join(line.split()) for line in log if line.startswith("engine ")][:1]
    lines = desk.get("/v1/forecasts")[1].get("forecasts", [])
    paths = {f"{one['n_paths']} x {one['horizon']}" for one in lines if one["n_paths"]}
    policy = desk.get("/v1/policy")[1]
    named = f"policy {policy.get('name', '')}, digest {policy.get('policy_digest', '')}"
    return [*engine, f"paths {', '.join(sorted(paths)) or 'none yet'}", named]


def on_the_bare_loop(top: Path, plan: Sequence[Scenario]) -> list[tuple[Scenario, list[Answer]]]:
    """Ask the yardstick at the same rates."""
    top.chmod(0o755)
    with ExitStack() as stack:
        fix_port, port = free_port(), free_port()
        counterparty(top / "broker", fix_port, broker_quotes(stretches(INSTRUMENTS)), stack)
        words = [sys.executable, "-m", "scripts.load.bare", str(top), str(port), str(fix_port)]
        process = begun(top / "bare.log", words, ROOT)
        stack.callback(ended, process, BARE)
        address = f"http://127.0.0.1:{port}"
        wait_for(lambda: ask(address, "/readyz", "")[0] == OK, BARE_WITHIN_S, part="bare loop")
        callers = [f"{BARE}-{number}" for number in range(AGENTS)]
        tokens = dict.fromkeys(callers, "")
        return [
            (one, sent(address, wishes(one, callers, symbols(INSTRUMENTS), BARE), tokens))
            for one in plan
            if one.beside is None
        ]


@contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """Keep so many cores busy meanwhile."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for one in loops:
            one.kill()
            one.wait()


def said(
    found: Sequence[Found], bare: Sequence[tuple[Scenario, list[Answer]]], about: Sequence[str]
) -> str:
    """Return the tables."""
    rows = []
    for one in found:
        rows += [[one.scenario.said, *row] for row in by_answer([*one.answers, *one.cancels])]
    for scenario, answers in bare:
        rows += [[f"{BARE}, {scenario.said}", *row] for row in by_answer(answers)]
    facts = [[one.scenario.name, *fact] for one in found for fact in one.facts]
    words = "\n".join(f"- {one}" for one in about)
    return "\n\n".join((table(HEAD, rows), table(("load", "measure", "value"), facts), words))


def machine(load_before: float) -> str:
    """Return what it ran on: commit, cores, load average before and after."""
    words = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    return (
        f"commit {commit.strip() or 'unknown'}, {os.cpu_count()} cores ({platform.machine()}),"
        f" Python {platform.python_version()}; load {load_before:.1f} before,"
        f" {os.getloadavg()[0]:.1f} after"
    )


def parsed() -> argparse.Namespace:
    """Read the command line."""
    plans = (*scenarios(1, 1), *lifted_scenarios(1, 1), *memory_scenarios(1, 1))
    arguments = argparse.ArgumentParser(prog="python -m scripts.bench_load")
    arguments.add_argument("--quick", action="store_true", help="show that it works: seconds")
    arguments.add_argument("--rate", type=float, default=10.0, help="intents a second")
    arguments.add_argument("--seconds", type=float, help="of each load: 60, with --memory 1800")
    names = [one.name for one in plans]
    arguments.add_argument("--only", nargs="+", choices=names, default=names, help="these loads")
    arguments.add_argument("--lifted", action="store_true", help="a policy with rates lifted")
    arguments.add_argument("--memory", action="store_true", help="memory a decision, half an hour")
    arguments.add_argument("--cold", action="store_true", help="do not wait for forecasts")
    arguments.add_argument("--busy", action="store_true", help="a busy loop on each core beside it")
    arguments.add_argument("--page", action="store_true", help=f"write {PAGE.name} too")
    return arguments.parse_args()


def planned(given: argparse.Namespace) -> list[Scenario]:
    """Return the loads that the command line asks for."""
    seconds = QUICK_S if given.quick else given.seconds or (MEMORY_S if given.memory else LOAD_S)
    if given.memory:
        return memory_scenarios(given.rate, seconds)
    every = (lifted_scenarios if given.lifted else scenarios)(given.rate, seconds)
    return [one for one in every if one.name in given.only]


def main() -> int:
    """Measure and print."""
    given, load_before = parsed(), os.getloadavg()[0]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(EXIT_ENDED))  # what it started ends too
    if not (plan := planned(given)):
        raise SystemExit("bench: --only names no load of this way of running")
    with ExitStack() as stack:
        desk, bare = (
            Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=f"bench-load-{name}-")))
            for name in ("desk", BARE)
        )
        if given.busy:
            stack.enter_context(busy_loops(os.cpu_count() or 1))
        found, about = on_a_desk(desk, plan, cold=given.cold, lifted=given.lifted)
        yardstick = on_the_bare_loop(bare, plan)
    text = said(found, yardstick, [*about, machine(load_before)])
    title = titled(lifted=given.lifted, cold=given.cold, busy=given.busy, memory=given.memory)
    print(f"## {title}\n\n{text}")
    if given.page:
        before = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
        PAGE.write_text(replaced(before, title, text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
