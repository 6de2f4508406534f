"""Ask both verifiers the same question, as an outsider does, and hold one against the other."""

import shutil
import subprocess
from difflib import unified_diff
from pathlib import Path

import pytest

from audit.verifier.verify import main

SECOND = Path(__file__).resolve().parents[2] / "audit/verifier/verify.mjs"


def both(
    capsys: pytest.CaptureFixture[str], *arguments: str, verdict: bool = False
) -> tuple[int, str]:
    """Return the exit code and what was said, which must be the same of both.

    `verdict` compares the exit code and the last line only.
    """
    node = shutil.which("node")
    if node is None:
        raise AssertionError("the second verifier's tests need Node 18 or later")
    capsys.readouterr()
    code = main(arguments)
    first = capsys.readouterr().out
    call = [node, "--no-warnings", str(SECOND), *arguments]
    done = subprocess.run(call, capture_output=True, text=True, timeout=120, check=False)
    lines, others = first.splitlines(), done.stdout.splitlines()
    if verdict:
        lines, others = lines[-1:], others[-1:]
    if (done.returncode, others) != (code, lines):
        differs = "\n".join(unified_diff(lines, others))
        raise AssertionError(f"{code} and {done.returncode}\n{differs}{done.stderr}")
    return code, first
