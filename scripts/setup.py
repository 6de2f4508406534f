"""Build the virtual environment `.venv` from the lock (`make setup`).

Needs the system's Python 3.11 and its standard library only. Each step leaves a stamp (a digest of
its inputs), so a second call does nothing and an interrupted one continues where it stopped.

The steps:
  1. the environment, with the two packages that building from source needs;
  2. quickfix is compiled in the background, because that takes longest;
  3. everything in requirements/lock.txt, each file checked against its hash;
  4. torch, which is not in the lock because its build differs by machine (`--torch-index`);
  5. quickfix from our own cache, once it is compiled;
  6. Countersign itself, so that `.venv/bin/countersign` exists.

Not here: resolving versions (`lock.py`), compiling quickfix (`build_quickfix.py`).
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMPS = VENV / "countersign"
LOCK = ROOT / "requirements" / "lock.txt"
TORCH = ROOT / "requirements" / "torch.txt"
QUICKFIX = ROOT / "scripts" / "build_quickfix.py"
DISK_BYTES_MIN = 6 * 1024**3
REPORT_EVERY_S = 15.0
TAIL_LINES = 12
LINE_CHARS = 200
# Needed before anything else can be built.
BUILD_TOOLS = ("setuptools", "wheel")
KNOWN_CAUSES = (
    ("No space left on device", "the disk is full"),
    ("DO NOT MATCH THE HASHES", "a downloaded file is not the one that was locked; see the log"),
    ("Failed to establish a new connection", "the package index cannot be reached"),
    ("No matching distribution found", "the package index does not have a locked version"),
    ("no C++ compiler found", "no C++ compiler: install g++ (Debian: apt-get install g++)"),
)


class SetupError(Exception):
    """Something that the operator must put right; its text is printed as one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupStep:
    """One step; `made_from` is the digest of its inputs."""

    name: str
    title: str
    made_from: str
    commands: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What decides whether set-up can succeed on a machine."""

    python: str
    system: str
    processor: str
    compiler: str | None
    free_bytes: int
    installed: bool


def say(text: str) -> None:
    """Print one progress line at once, also into a pipe."""
    print(text, flush=True)


def digest_of(*parts: str | Path) -> str:
    """Return the SHA-256 over this Python's version, texts and file contents."""
    total = hashlib.sha256(sys.version.encode())
    for part in parts:
        total.update(part.read_bytes() if isinstance(part, Path) else part.encode())
    return total.hexdigest()


def machine_here() -> Machine:
    """Return this machine's properties."""
    return Machine(
        python=platform.python_version(),
        system=sys.platform,
        processor=platform.machine(),
        compiler=shutil.which("g++"),
        free_bytes=shutil.disk_usage(ROOT).free,
        installed=(STAMPS / "libraries").exists(),
    )


def problem_with(machine: Machine) -> str | None:
    """Return why set-up would fail on this machine, or None."""
    if not machine.python.startswith("3.11."):
        hint = "make setup PYTHON=/path/to/python3.11"
        return f"Python 3.11 is needed, this is {machine.python}: {hint}"
    if (machine.system, machine.processor) != ("linux", "x86_64"):
        found = f"{machine.system} {machine.processor}"
        return f"the lock is for Linux x86_64 only, this is {found}"
    if machine.compiler is None:
        return "no C++ compiler: install g++ (Debian: apt-get install g++)"
    if machine.free_bytes < DISK_BYTES_MIN and not machine.installed:
        gib = 1024**3
        free, needed = machine.free_bytes / gib, DISK_BYTES_MIN / gib
        return f"{free:.1f} GiB free for .venv, {needed:.0f} GiB needed"
    return None


def pip_install(*arguments: str) -> tuple[str, ...]:
    """Return the command that runs the environment's own pip."""
    return (str(PYTHON), "-m", "pip", "install", "--disable-pip-version-check", *arguments)


def locked(names: tuple[str, ...]) -> str:
    """Return the lock's lines for some packages, as the text of a requirements file."""
    lines = LOCK.read_text().splitlines()
    return "\n".join(line for line in lines if line.partition("==")[0] in names) + "\n"


def cause_of(log: Path, fallback: str) -> str:
    """Print the end of a failed step's log; return the cause if it is known, else `fallback`."""
    text = log.read_text(errors="replace")
    say("\n".join(line[:LINE_CHARS] for line in text.splitlines()[-TAIL_LINES:]))
    return next((cause for sign, cause in KNOWN_CAUSES if sign in text), fallback)


def wait_for(process: subprocess.Popen[bytes], log: Path, title: str, started: float) -> None:
    """Wait for a child; report its progress every few seconds."""
    said = time.monotonic()
    while process.poll() is None:
        time.sleep(0.2)
        if time.monotonic() - said >= REPORT_EVERY_S:
            said = time.monotonic()
            text = log.read_text(errors="replace")
            packages = len(re.findall(r"^(?:Collecting|Processing) ", text, re.MULTILINE))
            seen = f", {packages} packages" if packages else ""
            say(f"      {title}: {said - started:.0f} s{seen}")


def run_step(step: SetupStep, position: str) -> None:
    """Do a step unless its stamp shows that it was done from the same inputs.

    Raises:
        SetupError: when one of its commands fails.
    """
    stamp = STAMPS / step.name
    if stamp.is_file() and stamp.read_text() == step.made_from:
        return
    say(f"[{position}] {step.title}")
    started = time.monotonic()
    log = STAMPS / f"{step.name}.log"
    with log.open("wb") as out:
        for command in step.commands:
            with subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=out) as process:
                wait_for(process, log, step.name, started)
            if process.returncode:
                raise SetupError(cause_of(log, f"{step.name} failed, see {log}"))
    stamp.write_text(step.made_from)
    say(f"      {step.name}: done in {time.monotonic() - started:.0f} s")


def make_environment() -> None:
    """Create `.venv` if it is missing, broken or of another Python.

    Raises:
        SetupError: when the environment cannot be created.
    """
    if PYTHON.exists():
        probe = "import sys, pip; print(sys.version)"
        found = subprocess.run([PYTHON, "-c", probe], check=False, capture_output=True, text=True)
        if found.stdout.strip() == sys.version:
            STAMPS.mkdir(exist_ok=True)
            return
    say(f"[1/6] environment in {VENV}")
    command = [sys.executable, "-m", "venv", "--clear", str(VENV)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        last = (done.stdout + done.stderr).strip().splitlines()[-1:] or ["no output"]
        message = f"cannot create {VENV}: {last[0]} (Debian: apt-get install python3-venv)"
        raise SetupError(message)
    STAMPS.mkdir(exist_ok=True)


def plan(torch_index: str, pip_arguments: tuple[str, ...]) -> tuple[SetupStep, ...]:
    """Return the steps in order."""
    tools = STAMPS / "build-tools.txt"
    tools.write_text(locked(BUILD_TOOLS))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    facts = repr((project["project"], project["build-system"], project["tool"]["hatch"]))
    index = ("--extra-index-url", torch_index) if torch_index else ()
    hashed = ("--no-deps", "--require-hashes", *pip_arguments)
    count = sum("==" in line for line in LOCK.read_text().splitlines())
    return (
        SetupStep(
            name="tools",
            title="build tools",
            made_from=digest_of(tools),
            commands=(pip_install(*hashed, "-r", str(tools)),),
        ),
        SetupStep(
            name="libraries",
            title=f"libraries: {count} packages, each checked against its hash",
            made_from=digest_of(LOCK),
            commands=(pip_install(*hashed, "-r", str(LOCK)),),
        ),
        SetupStep(
            name="torch",
            title="torch",
            made_from=digest_of(TORCH),
            commands=(pip_install(*index, *pip_arguments, "-r", str(TORCH)),),
        ),
        SetupStep(
            name="quickfix",
            title="quickfix, from our cache or compiled (about 3 minutes on 2 cores)",
            made_from=digest_of(QUICKFIX),
            commands=((str(PYTHON), str(QUICKFIX)),),
        ),
        SetupStep(
            name="countersign",
            title="countersign",
            made_from=digest_of(facts),
            commands=(
                pip_install("--no-deps", "--no-build-isolation", "--no-index", "-e", str(ROOT)),
            ),
        ),
    )


def compile_in_background(step: SetupStep) -> subprocess.Popen[bytes] | None:
    """Start compiling quickfix beside the downloads; None if there is nothing to compile."""
    stamp = STAMPS / step.name
    if stamp.is_file() and stamp.read_text() == step.made_from:
        return None
    log = (STAMPS / "quickfix-compile.log").open("wb")
    command = [str(PYTHON), str(QUICKFIX), "--no-install"]
    # A process group of its own, so that killing it also kills its compilers.
    return subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log, start_new_session=True)


def end(process: subprocess.Popen[bytes] | None, title: str) -> None:
    """Wait for the background compilation, whose wheel the quickfix step installs.

    Raises:
        SetupError: when it failed.
    """
    log = STAMPS / "quickfix-compile.log"
    if process is not None:
        wait_for(process, log, title, time.monotonic())
        if process.returncode:
            raise SetupError(cause_of(log, f"quickfix could not be compiled, see {log}"))


def check_result() -> None:
    """Check that the foreign libraries import and that torchvision is absent.

    Raises:
        SetupError: when one does not import; it is named.
    """
    probe = (
        "import importlib.util as u, torch, quickfix, psycopg, sqlalchemy;"
        "assert u.find_spec('vllm'), 'vllm is missing';"
        "assert not u.find_spec('torchvision'), 'torchvision breaks transformers on CPU torch'"
    )
    done = subprocess.run([PYTHON, "-c", probe], check=False, capture_output=True, text=True)
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no output"]
        message = f"the environment does not work: {last[0]}"
        raise SetupError(message)


def set_up(torch_index: str, pip_arguments: tuple[str, ...]) -> bool:
    """Do the steps that are not done yet; return whether there were any.

    Raises:
        SetupError: when the machine lacks something, or a step fails.
    """
    problem = problem_with(machine_here())
    if problem:
        raise SetupError(problem)
    make_environment()
    steps = plan(torch_index, pip_arguments)
    undone = [
        step
        for step in steps
        if not (STAMPS / step.name).is_file() or (STAMPS / step.name).read_text() != step.made_from
    ]
    if not undone:
        return False
    compiling: subprocess.Popen[bytes] | None = None
    try:
        for number, step in enumerate(steps, start=2):
            if step.name == "quickfix":
                end(compiling, "quickfix")
            run_step(step, f"{number}/{len(steps) + 1}")
            if step.name == "tools":
                quickfix = next(later for later in steps if later.name == "quickfix")
                compiling = compile_in_background(quickfix)
    finally:
        if compiling is not None and compiling.poll() is None:
            os.killpg(compiling.pid, signal.SIGTERM)
    check_result()
    return True


def main() -> int:
    """Set up; return 0, 1 after a line that says why not, or 130 if interrupted."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--torch-index", default="", help="index that carries the CPU torch builds")
    parser.add_argument("--pip-args", default="", help="further arguments for every pip install")
    arguments = parser.parse_args()
    started = time.monotonic()
    os.environ.setdefault("PIP_ROOT_USER_ACTION", "ignore")
    try:
        changed = set_up(arguments.torch_index, tuple(arguments.pip_args.split()))
    except (SetupError, OSError) as error:
        say(f"setup: {error}")
        return 1
    except KeyboardInterrupt:
        say("setup: stopped; the next call continues from here")
        return 130
    if changed:
        say(f"setup: done in {time.monotonic() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
