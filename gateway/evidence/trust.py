"""Keys, policies, checkpoints and rotations from outside, read for a verifier.

Errors name the wrong one and the usual mistake. Not here: what a log proves
(`audit.verifier.verify`).
"""

import contextlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from audit.signers.file import public_file
from audit.verifier.verify import (
    TAMPERED,
    WORDS,
    Bad,
    BrokerFile,
    Outside,
    Report,
    Trust,
    read_keys,
    read_officers,
    read_text,
)

_UNTRUSTED: Final = re.compile(r"(checkpoint of [0-9]+ is )?signed by no trusted key")
_TAMPERED: Final = f"{WORDS[TAMPERED]}: "
_PRIVATE: Final = (b"PRIVATE KEY-----", b"pkcs11:")
_BEGINNING: Final = 10_000


def read_outside(
    keys: Sequence[str],
    policy: Path | None = None,
    kept: Sequence[Path] = (),
    rotations: Sequence[Path] = (),
    fills: BrokerFile | None = None,
    officers: Sequence[Path] = (),
) -> Outside:
    """Read vkey lines or files of them, a C2SP tlog-policy, kept checkpoints, key changes.

    `fills` is what `read_fills` of the verifier read; `officers` are both officers' `.pub` files.

    Raises:
        Bad: when one of them does not parse.
        OSError: when a file cannot be read.
    """
    for key in keys:
        _refuse_private(Path(key))
    given = Outside(
        vkeys=[line for key in keys for line in _keys_of(key)],
        policy=None if policy is None else policy.read_bytes(),
        notes=[path.read_bytes() for path in kept],
        rotations=[read_text(path) for path in rotations],
        fills=fills,
        officers=read_officers((path.name, read_text(path)) for path in officers),
    )
    if policy is not None:
        _check_alone(f"--policy {policy}", Outside(policy=given.policy))
    for path, note in zip(kept, given.notes, strict=True):
        _check_alone(f"--checkpoint {path}", Outside(notes=[note]))
    for path, text in zip(rotations, given.rotations, strict=True):
        _check_alone(f"--rotation {path}", Outside(rotations=[text]))
    given.check()
    return given


def say_whose_keys(report: Report, given: Outside, origin: str | None) -> None:
    """Replace the lines about untrusted checkpoints by one, if the keys are another log's.

    The exit code stays: renaming a log must not turn "tampered" into anything else. `origin` is the
    log's own name, or None if it is unknown.
    """
    names = {key.name for key in Trust(given.vkeys, given.policy).keys}
    others = [line for line in report.lines if not _UNTRUSTED.match(line.removeprefix(_TAMPERED))]
    if not names or origin is None or origin in names or len(others) == len(report.lines):
        return
    said = f"the key is for log {', '.join(sorted(names))}, this log is {origin}"
    report.lines.clear()
    report.say(_TAMPERED + said)
    report.lines += others
    if _UNTRUSTED.match(report.reason):
        report.reason = said


def refuse_no_dump(path: Path) -> None:
    """Refuse a file that is no dump, as verify.py does.

    Raises:
        Bad: when it is no regular file, or does not begin like a dump.
        OSError: when it cannot be read.
    """
    if path.exists() and not path.is_file():  # it can be read only once; the check reads again
        raise Bad(f"{path} is a pipe or a device: save what comes from it to a file first")
    with path.open("rb") as file:
        start = file.read(1)
    if start and start != b"{":
        raise Bad(f"{path} is not a dump: `countersign dump` writes one")


def origin_of_dump(path: Path) -> str | None:
    """Return the log's name from a dump's head, unverified, or None."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError), path.open("rb") as file:
        return str(json.loads(file.readline(_BEGINNING))["origin"])
    return None


def origin_of_tiles(folder: Path) -> str | None:
    """Return the log's name from a folder's checkpoint, unverified, or None."""
    with contextlib.suppress(OSError, ValueError), (folder / "checkpoint").open("rb") as file:
        return file.readline(_BEGINNING).decode().strip() or None
    return None


def _check_alone(name: str, given: Outside) -> None:
    """Check one input; a `Bad` error names it."""
    try:
        given.check()
    except Bad as error:
        raise Bad(f"{name}: {error}") from error


def _keys_of(given: str) -> tuple[str, ...]:
    """Read trusted keys from text or a file; a `Bad` error names the line that is not a key."""
    try:
        return read_keys(given)
    except Bad as error:
        raise Bad(f"--key {given:.100}: {error}") from error
    except OSError as error:
        raise Bad(
            f"--key {given:.100}: not a key, and not a readable file: {error.strerror}"
        ) from error


def _refuse_private(path: Path) -> None:
    """Raise `Bad` for a private key where a public one belongs."""
    beginning = b""
    with contextlib.suppress(OSError):  # usually it is the key itself, not a path
        if path.is_file():
            with path.open("rb") as file:
                beginning = file.read(_BEGINNING)
    if any(word in beginning for word in _PRIVATE):
        raise Bad(
            f"{path} is a private key, which only its owner may use: give {public_file(path)}"
        )
