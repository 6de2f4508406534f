"""Ask both verifiers the same question, as an outsider does, and hold one against the other."""

import contextlib
import io
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
from tests.doubles.second_verifier import second

Change = Callable[[Draft], Draft]


def both(
    capsys: pytest.CaptureFixture[str], *arguments: str, verdict: bool = False
) -> tuple[int, str]:
    """Return the exit code and what was said, which must be the same of both.

    `verdict` compares the exit code and the last line only.
    """
    capsys.readouterr()
    code = main(arguments)
    first = capsys.readouterr().out
    other, others = second(arguments)
    lines = first.splitlines()
    if verdict:
        lines, others = lines[-1:], others[-1:]
    if (other, others) != (code, lines):
        differs = "\n".join(unified_diff(lines, others))
        raise AssertionError(f"{code} and {other}\n{differs}")
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

    Each comes with more options.
    """
    found: dict[str, tuple[int, str]] = {}
    dump = folder / "judged.dump"
    for name, (log, options) in asked.items():
        dump.write_bytes(b"".join(dump_of(log)))
        call = [str(dump), "--key", str(SIGNER.vkey), *options]
        with contextlib.redirect_stdout(io.StringIO()) as said:
            code = main(call)
        found[name] = (code, said.getvalue())
        other, lines = second(call)
        if (other, lines) != (code, said.getvalue().splitlines()):
            differs = "\n".join(unified_diff(said.getvalue().splitlines(), lines))
            raise AssertionError(f"{name}: {code} and {other}\n{differs}")
    dump.unlink(missing_ok=True)
    return found
