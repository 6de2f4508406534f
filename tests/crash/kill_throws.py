"""Throw kills at lines that go silent: ``python -m tests.crash.kill_throws --throws N``.

Real FIX children under their real supervisor, real simulators as the peer, a real TCP relay between
them; many at once, since a throw mostly waits. Children that are wrong on purpose go through the
same throws: each must be caught, or a green run says nothing.
"""

import argparse
import platform
import random
import secrets
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.crash.kill_line import WAYS
from tests.crash.kill_throw import Plan, Result, drawn, throw

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "measured" / "kill-throws.md"
SILENCE_S = 60.0
MUTANTS = ("sweeps_once", "busts_forgotten", "kill_word_ignored")
HEAD = """# Kills with a silent line

Written by `make kill-throws`; do not edit. In each throw the real FIX child, under its real
supervisor, trades with the simulator over a line that goes silent up to 60 s before a press of the
kill and comes back up to 60 s after it. Orders leave until the press, and somebody goes on trying
to send them; fills are busted or corrected before, in and after the silence; in every fourth throw
the child is killed with SIGKILL while the line is silent; every second one knows no mass cancel.
The judge reads the broker's own capture and nothing else (`tests/crash/kill_judge.py`): no new
order left after the acknowledgement, by the time that it carries; and no order was alive later than
2 s after the logon that followed the line's return (or after the return itself, where the session
had outlived the silence), nor longer than 2 s after a bust let it live again.

*Late* are orders that left before the press and stood in the line: nobody can call them back, and
they are cancelled. *Gone* is the time from that logon to the end of the last order, busts included.
A row of the teeth is a child known to be wrong: it must be caught. 0 faults in n throws bound their
rate below 3/n (95 %). All files lie in memory where there is room, since the simulator notes every
message on disk before it acts, and its replay after a logon would wait for the machine's disk.
"""


def campaign(plans: Sequence[Plan], seed: int, parallel: int) -> list[Result]:
    """Play these throws, so many at once, and say how each ended."""
    with (
        tempfile.TemporaryDirectory(prefix="throws-", dir=_memory()) as folder,
        ThreadPoolExecutor(parallel) as pool,
    ):

        def play(plan: Plan) -> Result:
            time.sleep(0.4 * (plan.number % parallel) if plan.number < parallel else 0.0)
            name = f"{plan.mutant or 'sound'}-{plan.number}"
            result = throw(plan, Path(folder) / name, seed)
            what = "; ".join(result.faults) or "ok"
            if result.faults and not plan.mutant:
                what += f"; kept in {kept(Path(folder) / name, seed)}"
            sys.stdout.write(
                f"{name:>24} {plan.way:5} -{plan.before_s:4.1f}s +{plan.after_s:4.1f}s"
                f" crash {plan.crash_s:5.1f}  ack {result.ack_ms:4} ms"
                f" logon {result.logon_ms:6} ms gone {result.gone_ms:5} ms"
                f" alive {result.alive} late {result.late} cancels {result.cancels}: {what}\n"
            )
            sys.stdout.flush()
            return result

        return list(pool.map(play, plans))


def kept(folder: Path, seed: int) -> Path:
    """Keep what a faulty throw left: both engines' logs, capture, journal, and what was told."""
    place = Path(tempfile.mkdtemp(prefix=f"kill-throw-{seed}-")) / folder.name
    shutil.copytree(folder, place)
    return place


def _memory() -> str | None:
    """Return a folder in memory where there is one: the peer's capture waits for every disk."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def biting(mutant: str, number: int) -> Plan:
    """Return a throw in which this mutant has every chance to do wrong."""
    way = ("drop", "reset")[number % 2]
    return Plan(
        number=number,
        way=way,
        before_s=1.0,
        after_s=9.0,
        orders=6,
        bust_ms=5_000 if mutant == "busts_forgotten" else 50,
        crash_s=-1.0,
        mass=mutant != "busts_forgotten",
        mutant=mutant,
    )


def page(results: Sequence[Result], teeth: Sequence[Result], seed: int, took_s: float) -> str:
    """Return the figures as the page that is kept."""
    rows = [_row(way, [r for r in results if r.plan.way == way]) for way in WAYS]
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    about = (
        f"{len(results)} throws, seed {seed}, {took_s / 60:.0f} min, commit {commit},"
        f" Python {platform.python_version()}. Times are median / longest in ms, on a busy machine;"
        " in brackets how often a logon was needed."
    )
    return "\n".join(
        [
            HEAD,
            about,
            "",
            "| line | throws | faults | crashed | alive | late | acknowledged | logon | gone |",
            "|---|---|---|---|---|---|---|---|---|",
            *rows,
            _row("all", results),
            "",
            "| wrong on purpose | throws | caught |",
            "|---|---|---|",
            *(
                f"| `{mutant}` | {len(own)} | {sum(bool(r.faults) for r in own)} |"
                for mutant in MUTANTS
                if (own := [r for r in teeth if r.plan.mutant == mutant])
            ),
            "",
        ]
    )


def _row(name: str, results: Sequence[Result]) -> str:
    logons = [r.logon_ms for r in results if r.logon_ms >= 0]
    cells = [
        name,
        str(len(results)),
        str(sum(bool(r.faults) for r in results)),
        str(sum(r.plan.crash_s >= 0 for r in results)),
        str(sum(r.alive for r in results)),
        str(sum(r.late for r in results)),
        _spread(r.ack_ms for r in results),
        f"{_spread(logons)} ({len(logons)})",
        _spread(r.gone_ms for r in results),
    ]
    return f"| {' | '.join(cells)} |"


def _spread(values: Iterable[int]) -> str:
    found = list(values)
    return f"{statistics.median(found):.0f} / {max(found)}" if found else "-"


def main(words: Sequence[str]) -> int:
    """Throw, judge, say; 1 if anything was broken or a mutant got through."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash.kill_throws")
    parser.add_argument("--throws", type=int, default=100)
    parser.add_argument("--parallel", type=int, default=16)
    parser.add_argument("--silence", type=float, default=SILENCE_S, help="seconds at most")
    parser.add_argument("--teeth", type=int, default=3, help="throws per mutant")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000))
    parser.add_argument("--write", action="store_true", help="write docs/measured/kill-throws.md")
    given = parser.parse_args(words)
    sys.stdout.write(f"seed {given.seed}\n")
    dice = random.Random(given.seed)  # noqa: S311 - a printed seed
    began = time.monotonic()
    plans = [drawn(number, dice, given.silence) for number in range(given.throws)]
    bites = [biting(name, number) for name in MUTANTS for number in range(given.teeth)]
    results = campaign([*plans, *bites], given.seed, given.parallel)
    sound, teeth = results[: len(plans)], results[len(plans) :]
    text = page(sound, teeth, given.seed, time.monotonic() - began)
    sys.stdout.write(text)
    if given.write:
        PAGE.write_text(text, encoding="utf-8")
    caught = all(
        any(r.faults for r in teeth if r.plan.mutant == mutant) for mutant in MUTANTS if given.teeth
    )
    return int(any(r.faults for r in sound) or not caught)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
