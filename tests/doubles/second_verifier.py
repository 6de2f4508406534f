"""The second verifier, kept: one process of Node answers every question of a test process.

Node takes a fifth of a second to start, more than a verdict takes. That the command itself says the
same is a test of its own (`test_audit_verify_js`).
"""

import atexit
import json
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

SECOND = Path(__file__).resolve().parents[2] / "audit/verifier/verify.mjs"
ANSWERING = Path(__file__).with_name("many_verdicts.mjs")
WITHIN_S = 10.0


def second(arguments: Sequence[str]) -> tuple[int, list[str]]:
    """Return the exit code and the lines that the second verifier says."""
    process = _kept()
    assert process.stdin is not None
    assert process.stdout is not None
    question = {"folder": str(Path.cwd()), "args": list(arguments)}
    process.stdin.write(f"{json.dumps(question)}\n")
    process.stdin.flush()
    answer = process.stdout.readline()
    if not answer:
        _kept.cache_clear()  # the next question finds another one
        raise AssertionError(f"the second verifier ended with {process.wait(WITHIN_S)}")
    code, lines = json.loads(answer)
    if code is None:
        raise AssertionError(f"the second verifier failed: {lines[0]}")
    return int(code), [str(line) for line in lines]


@cache
def _kept() -> subprocess.Popen[str]:
    node = shutil.which("node")
    if node is None:
        raise AssertionError("the second verifier's tests need Node 18 or later")
    process = subprocess.Popen(
        [node, "--no-warnings", str(ANSWERING)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    atexit.register(_end, process)
    return process


def _end(process: subprocess.Popen[str]) -> None:
    """End it with its input."""
    process.communicate(timeout=WITHIN_S)
