"""Ask both verifiers the same question, as an outsider does, and hold one against the other."""

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from difflib import unified_diff
from pathlib import Path
from typing import Any

import pytest

from audit.records.kinds import Kind
from audit.records.record import Draft
from audit.verifier.verify import main
from tests.doubles.audit_log import dump_of
from tests.doubles.broker_files import SIGNER, SignedLog

Change = Callable[[Draft], Draft]
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


def both_about(log: SignedLog, folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Ask both about a log as a dump, with the key of its signer."""
    dump = folder / "dump"
    dump.write_bytes(b"".join(dump_of(log)))
    return both(capsys, str(dump), "--key", str(SIGNER.vkey))


def told(kind: Kind, **changes: object) -> Change:
    """Return a change of the payload of one kind; a function is given the old value."""

    def change(draft: Draft) -> Draft:
        if draft.kind is not kind:
            return draft
        payload: dict[str, Any] = dict(draft.payload)
        for name, value in changes.items():
            payload[name] = value(payload.get(name)) if callable(value) else value
        return replace(draft, payload=payload)

    return change
