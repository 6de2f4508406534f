"""What somebody brings to check a log, read with words for what people mistake for it.

Not here: what it proves (`audit.verifier.verify`).
"""

import contextlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from audit.signers.file import public_file
from audit.verifier.verify import TAMPERED, WORDS, Bad, Outside, Report, Trust, read_keys, read_text

_UNTRUSTED: Final = re.compile(r"(checkpoint of [0-9]+ is )?signed by no trusted key")
_TAMPERED: Final = f"{WORDS[TAMPERED]}: "
_PRIVATE: Final = (b"PRIVATE KEY-----", b"pkcs11:")
_BEGINNING: Final = 10_000


def read_outside(
    keys: Sequence[str],
    policy: Path | None = None,
    kept: Sequence[Path] = (),
    rotations: Sequence[Path] = (),
) -> Outside:
    """Read what a verifier brings along.

    Args:
        keys: trusted log keys, each a vkey line or a file with some.
        policy: a C2SP tlog-policy.
        kept: checkpoints kept outside, which the log must contain.
        rotations: signed changes of the log's keys.

    Raises:
        Bad: one of them is not what it should be.
        OSError: a file cannot be read.
    """
    for key in keys:
        _refuse_private(Path(key))
    given = Outside(
        vkeys=[line for key in keys for line in _keys_of(key)],
        policy=None if policy is None else policy.read_bytes(),
        notes=[path.read_bytes() for path in kept],
        rotations=[read_text(path) for path in rotations],
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
    """Say once that keys are another log's, in place of each checkpoint that they did not sign.

    The exit code stays: whoever renames a log must not turn "tampered" into anything else.

    Args:
        report: not concluded yet.
        given: with the keys.
        origin: the name that the log has for itself; None: unknown.
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
    """Refuse what is no dump at all, as verify.py does: of another file nothing can be said.

    Raises:
        Bad: it is no regular file, or does not begin as one.
        OSError: it cannot be read.
    """
    if path.exists() and not path.is_file():  # it can be read only once, and is read again
        raise Bad(f"{path} is a pipe or a device: save what comes from it to a file first")
    with path.open("rb") as file:
        start = file.read(1)
    if start and start != b"{":
        raise Bad(f"{path} is no dump: `countersign dump` writes one")


def origin_of_dump(path: Path) -> str | None:
    """Return the name that a dump's head states, unjudged; None if there is none."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError), path.open("rb") as file:
        return str(json.loads(file.readline(_BEGINNING))["origin"])
    return None


def origin_of_tiles(folder: Path) -> str | None:
    """Return the name that a folder's checkpoint states, unjudged; None if there is none."""
    with contextlib.suppress(OSError, ValueError), (folder / "checkpoint").open("rb") as file:
        return file.readline(_BEGINNING).decode().strip() or None
    return None


def _check_alone(name: str, given: Outside) -> None:
    """Refuse one thing that cannot be read, by its name.

    Raises:
        Bad: it cannot.
    """
    try:
        given.check()
    except Bad as error:
        raise Bad(f"{name}: {error}") from error


def _keys_of(given: str) -> tuple[str, ...]:
    """Read a trusted key or a file with some, and say of which one it is none.

    Raises:
        Bad: it is none, or there is no such file.
    """
    try:
        return read_keys(given)
    except Bad as error:
        raise Bad(f"--key {given:.100}: {error}") from error
    except OSError as error:
        raise Bad(f"--key {given:.100}: no key, and as a file: {error.strerror}") from error


def _refuse_private(path: Path) -> None:
    """Refuse a private key where a public one belongs.

    Raises:
        Bad: it is one.
    """
    beginning = b""
    with contextlib.suppress(OSError):  # most often it is no path, but the key itself
        if path.is_file():
            with path.open("rb") as file:
                beginning = file.read(_BEGINNING)
    if any(word in beginning for word in _PRIVATE):
        raise Bad(f"{path} is the private key, its owner's alone: give {public_file(path)}")
