"""Countersign as its user has it: verbs and plays in processes of their own."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from gateway.installation.policies import policy

ROOT = Path(__file__).resolve().parents[2]
WITHIN_S = 120
PAIR_V1 = ROOT / "inference" / "models" / "pair_v1"
"""The scripted engine's rows are made for this pair's codec: on a fitted scale they run away."""
FIRST_PARTS = {
    "COUNTERSIGN_ENGINE__MODEL": str(PAIR_V1),
    "COUNTERSIGN_ENGINE__PATHS": "32",
    "COUNTERSIGN_ENGINE__DEADLINE_S": "300",  # a busy machine takes long, and loses no forecast
    "COUNTERSIGN_POLICY": "first",
}


def use_first_parts() -> None:
    """Let this process and those it starts run with pair v1, 32 paths, the first policy, patiently.

    A test of what ships says so by itself.
    """
    policy.SHIPPED = policy.FIRST
    for name, value in FIRST_PARTS.items():
        os.environ.setdefault(name, value)


def verb(
    state: Path, *arguments: str, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run one verb of the command line on a state folder."""
    return subprocess.run(
        [sys.executable, "-m", "gateway.cli", *arguments],
        cwd=ROOT,
        env={**os.environ, "COUNTERSIGN_STATE": str(state), **(env or {})},
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )


def start_play(
    state: Path, decisions: int, *, behaviour: str = "well", env: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    """Start the walk in a process group of its own, as a terminal's foreground job is."""
    return subprocess.Popen(
        [sys.executable, "-u", "-m", "tests.doubles.walk_driver", str(state), str(decisions)]
        + (["none", behaviour] if behaviour != "well" else []),
        cwd=ROOT,
        env={**os.environ, **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def play(state: Path, decisions: int, *, behaviour: str = "well") -> tuple[int, str]:
    """Play the walk to its end; returns exit code and what it printed."""
    with start_play(state, decisions, behaviour=behaviour) as process:
        printed, _ = process.communicate(timeout=WITHIN_S)
    return process.returncode, printed
