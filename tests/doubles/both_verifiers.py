"""Ask both verifiers the same question, as an outsider does, and hold one against the other."""

import contextlib
import io
import json
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
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


def checked(
    log: SignedLog, fills: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str], *more: str
) -> tuple[int, str]:
    """Run both verifiers as an outsider does; return the exit code and what they said."""
    dump, file = tmp_path / "ledger.dump", tmp_path / "fills"
    dump.write_bytes(b"".join(dump_of(log)))
    file.write_bytes(fills)
    asked = [str(dump), "--key", str(SIGNER.vkey), "--broker-fills", str(file), *more]
    return both(capsys, *asked)


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


def judged_by_both(
    asked: Mapping[str, tuple[SignedLog, Sequence[str]]], folder: Path
) -> dict[str, tuple[int, str]]:
    """Return exit code and what was said of each log, which must be the same of both.

    Each comes with more options. The second verifier judges all in one process.
    """
    node = shutil.which("node")
    if node is None:
        raise AssertionError("the second verifier's tests need Node 18 or later")
    calls: list[list[str]] = []
    found: dict[str, tuple[int, str]] = {}
    for number, (name, (log, options)) in enumerate(asked.items()):
        dump = folder / f"log-{number}.dump"
        dump.write_bytes(b"".join(dump_of(log)))
        calls.append([str(dump), "--key", str(SIGNER.vkey), *options])
        with contextlib.redirect_stdout(io.StringIO()) as said:
            code = main(calls[-1])
        found[name] = (code, said.getvalue())
    many = [node, "--no-warnings", str(Path(__file__).with_name("many_verdicts.mjs"))]
    done = subprocess.run(
        many, input=json.dumps(calls), capture_output=True, text=True, timeout=600, check=True
    )
    for (name, (code, text)), (second, lines) in zip(
        found.items(), json.loads(done.stdout), strict=True
    ):
        if (second, lines) != (code, text.splitlines()):
            differs = "\n".join(unified_diff(text.splitlines(), lines))
            raise AssertionError(f"{name}: {code} and {second}\n{differs}")
    for call in calls:
        Path(call[0]).unlink()
    return found
